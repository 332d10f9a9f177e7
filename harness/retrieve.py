"""Dataset + Config → Candidates: both retrievers' lists, built once and cached by content."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import given, keyword, semantic
from harness.analyzers import make_analyzer
from harness.bm25 import VARIANTS, rank_keyword
from harness.candidates import merge_lists
from harness.config import Config
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.languages import say_unfit
from harness.progress import Progress
from harness.types import Candidates, Dataset, FloatArray, Postings, RankedLists, Retrieved, Vectors

LARGEST = 1e100  # of what is in postings
FORMAT = 2  # of the cached candidates: raise it when what they hold, or how it is computed, changes
TINY_CORPUS = 20  # below this, rank-bm25's idf is 0 or negative for words in a handful of documents
CANDIDATE_ARRAYS = ("rows", "keyword_scores", "semantic_scores", "keyword_ranks", "semantic_ranks")
POSTING_ARRAYS = ("query", "row", "frequency", "length_ratio", "weight", "base")


def pack(retrieved: Retrieved) -> dict[str, np.ndarray[Any, Any]]:
    """The candidates (and postings) as named arrays for an npz file without pickle."""
    arrays = {name: getattr(retrieved.candidates, name) for name in CANDIDATE_ARRAYS}
    meta: dict[str, Any] = {"format": FORMAT, "facts": retrieved.facts, "warnings": retrieved.warnings}
    if retrieved.postings is not None:
        arrays |= {f"postings_{name}": getattr(retrieved.postings, name) for name in POSTING_ARRAYS}
        meta["postings"] = {"variant": retrieved.postings.variant, "delta": retrieved.postings.delta}
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)  # facts keep their order: it is summary.json's
    return arrays


def unpack(stored: Any) -> Retrieved:
    """What `pack` packed; ValueError or KeyError where something is missing or of another format."""
    meta = json.loads(stored["meta"].tobytes())
    if meta["format"] != FORMAT:
        raise ValueError(f"format must be {FORMAT}, got {meta['format']!r:.40}")
    candidates = Candidates(**{name: stored[name] for name in CANDIDATE_ARRAYS})
    _check_candidates(candidates)
    postings = None
    if "postings" in meta:
        postings = Postings(**meta["postings"], **{name: stored[f"postings_{name}"] for name in POSTING_ARRAYS})
        _check_postings(postings, len(candidates.rows))
    if not isinstance(meta["facts"], dict) or not all(isinstance(line, str) for line in meta["warnings"]):
        raise ValueError("facts must be an object and warnings texts")
    return Retrieved(candidates, postings, meta["facts"], tuple(meta["warnings"]))


def _check_candidates(candidates: Candidates) -> None:
    """ValueError where these arrays are not what `merge_lists` makes."""
    for name, array in vars(candidates).items():
        kind = np.float64 if name.endswith("scores") else np.int32
        if array.dtype != kind:
            raise ValueError(f"{name} must be {np.dtype(kind)}, got {array.dtype}")
    held = np.zeros(candidates.rows.shape, dtype=bool)
    for side in ("keyword", "semantic"):
        ranks, scores = getattr(candidates, f"{side}_ranks"), getattr(candidates, f"{side}_scores")
        n = (ranks > 0).sum(axis=1)
        listed = np.sort(ranks, axis=1)[:, ::-1]  # n, n − 1, … 1, then 0
        wanted = np.maximum(n[:, None] - np.arange(ranks.shape[1])[None, :], 0)
        if not np.array_equal(listed, wanted) or not np.array_equal(np.isfinite(scores), ranks > 0):
            raise ValueError(f"{side}_ranks must count from 1, and {side}_scores be finite where there is one")
        held |= ranks > 0
    ordered = np.where(held, candidates.rows, np.iinfo(np.int32).max)
    rising = (np.diff(ordered.astype(np.int64), axis=1) > 0) | ~held[:, 1:]
    if not np.array_equal(held, candidates.rows >= 0) or not rising.all():
        raise ValueError("rows must ascend, each once, and be held by a list")


def _check_postings(postings: Postings, n_queries: int) -> None:
    """ValueError where these are not what `keyword.select_postings` makes."""
    if postings.variant not in VARIANTS or not isinstance(postings.delta, (int, float)):
        raise ValueError("postings must name a variant and a delta")
    arrays = {name: getattr(postings, name) for name in POSTING_ARRAYS}
    for name, array in arrays.items():
        kind = np.int32 if name in ("query", "row") else np.float64
        size = n_queries if name == "base" else postings.query.size
        if array.dtype != kind or array.shape != (size,) or not (np.abs(array) < LARGEST).all():
            raise ValueError(f"postings_{name} must be {size} numbers below {LARGEST}, {np.dtype(kind)}")
    where = postings.query.astype(np.int64) * (1 << 32) + postings.row
    if where.size and (np.diff(where).min(initial=0) < 0 or postings.query.min() < 0 or postings.query.max() >= n_queries):
        raise ValueError("postings must be in the order of prompts and rows")
    if where.size and (postings.row.min() < 0 or (postings.frequency <= 0).any() or (postings.length_ratio < 0).any()):
        raise ValueError("postings must have rows, frequencies above 0 and lengths")


def load_retrieved(path: Path) -> Retrieved | None:
    """The candidates in this file; None where it is not there or not what it should be (then they are built anew)."""
    try:
        return unpack(read_arrays(path))
    except (DamagedFileError, KeyError, ValueError, TypeError, RecursionError):
        return None


@dataclass(frozen=True)
class Side:
    """One retriever's lists for the used queries, what there is to report, what to warn of; postings on the keyword side.

    `postings` are None where the lists were made elsewhere: then k1 and b cannot change.
    """

    lists: RankedLists
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    postings: Postings | None = None


def retrieve(dataset: Dataset, config: Config, progress: Progress, *, depth: int, keep_postings: bool) -> Retrieved:
    """The candidates of the used queries at this depth; with postings, so that k1 and b can change, where asked for.

    They come from the cache where they are there. What a live engine answered is never cached: the database changes.
    """
    assert set(dataset.fetched) == set(config.live.statements if config.live is not None else ())  # harness.live sees to it
    path = None
    if config.live is None:
        keys = side_keys(dataset, config)
        path = Path(config.cache) / "candidates" / f"{_candidates_key(dataset, config, keys, depth, keep_postings)}.npz"
        cached = load_retrieved(path)
        if cached is not None:
            return cached
    if config.searches_vectors:
        semantic.check_index(config.semantic.index)
    given_first = semantic_side(dataset, config, progress, depth) if not config.encodes else None  # before an index is built
    by_keyword = keyword_side(dataset, config, progress, depth)
    by_meaning = given_first or semantic_side(dataset, config, progress, depth)
    retrieved = Retrieved(
        merge_lists(by_keyword.lists, by_meaning.lists),
        by_keyword.postings if keep_postings else None,
        {"keyword": by_keyword.facts, "semantic": by_meaning.facts},
        (*by_keyword.warnings, *by_meaning.warnings),
    )
    if path is not None:
        write_arrays(path, pack(retrieved))
    return retrieved


def side_keys(dataset: Dataset, config: Config) -> dict[str, str]:
    """What each side's lists depend on, hashed; no index is built and no model loaded for it."""
    if config.keyword.run is not None:
        by_keyword = f"run {given.hash_file(Path(config.keyword.run))}"
    else:
        by_keyword = keyword.index_key(dataset.hashes.corpus, config.keyword)
    if config.semantic.run is not None:
        by_meaning = {"semantic": f"run {given.hash_file(Path(config.semantic.run))}"}
    else:
        by_meaning = embedding_keys(dataset, config)
    return {**by_meaning, "keyword": by_keyword}


def keyword_side(dataset: Dataset, config: Config, progress: Progress, depth: int) -> Side:
    """The keyword retriever's lists: BM25's, or those of a live engine or a run."""
    if "keyword" in dataset.fetched:
        return fetched_side(dataset, config, "keyword", depth)
    if config.keyword.run is not None:
        return run_side(config.keyword.run, dataset, "keyword", depth)
    key = keyword.index_key(dataset.hashes.corpus, config.keyword)
    analyze, index = keyword_index(dataset.texts, config, key, progress)
    query_tokens = [analyze(query.text) for query in dataset.queries]
    postings = keyword.select_postings(index, query_tokens, config.keyword)
    lists = rank_keyword(postings, k1=config.keyword.k1, b=config.keyword.b, depth=depth)
    warnings = _keyword_warnings(dataset, config, index, query_tokens, lists)
    return Side(lists, _keyword_facts(config, index, lists), tuple(warnings), postings)


def semantic_side(dataset: Dataset, config: Config, progress: Progress, depth: int) -> Side:
    """The semantic retriever's lists: by the model's vectors, by vectors from elsewhere, or a live engine's or a run's."""
    if "semantic" in dataset.fetched:
        return fetched_side(dataset, config, "semantic", depth)
    if config.semantic.run is not None:
        return run_side(config.semantic.run, dataset, "semantic", depth)
    documents, queries = embeddings(dataset, config, progress)
    lists, recall = semantic.rank_semantic(
        documents.vectors,
        queries.vectors,
        depth=depth,
        factory=config.semantic.index,
        rows=rows_with_text(dataset.texts),
    )
    facts = _semantic_facts(config, documents, queries, recall)
    return Side(lists, facts, tuple(_semantic_warnings(dataset, config, documents, queries, recall)))


def fetched_side(dataset: Dataset, config: Config, side: str, depth: int) -> Side:
    """The lists that a live engine gave, cut at the depth; said where they are shorter than it or empty."""
    fetched, statement = dataset.fetched[side], getattr(config.live, side)
    lists = given.cut_lists(given.list_rows([fetched.lists[q.query_id] for q in dataset.queries], dataset.doc_ids), depth)
    longest, without = int((lists.rows >= 0).sum(axis=1).max()), int((lists.rows[:, 0] < 0).sum())
    facts = {
        "live": True,
        "statement_sha256": hashlib.sha256(statement.encode()).hexdigest(),
        "lists_sha256": fetched.sha256,
        **fetched.server,
        **fetched.vectors,
        "longest_list": longest,
        "queries_without_results": without,
    }
    said = [f"the server gives nothing for {without} prompts on the {side} side: they score 0 there and count in its means"]
    short = f"the server's {side} lists hold at most {longest} documents a prompt: depth {depth} is {longest} there"
    if side == "semantic" and "pgvector" in fetched.server:
        short += " (an HNSW index gives hnsw.ef_search documents at most, 40 by default)"
    return Side(lists, facts, (*said[: 1 if without else 0], *([short] if longest < depth else [])))


def run_side(run: str, dataset: Dataset, side: str, depth: int) -> Side:
    """The lists of a run, cut at the depth; said where they are shorter than it."""
    made = given.read_given_run(Path(run), dataset, side)
    longest = made.lists.rows.shape[1]
    said = (
        [f"the {side} run holds at most {longest} documents a prompt: depth {depth} is {longest} there"]
        if longest < depth
        else []
    )
    return Side(given.cut_lists(made.lists, depth), made.facts, (*made.warnings, *said))


def _candidates_key(dataset: Dataset, config: Config, keys: dict[str, str], depth: int, keep_postings: bool) -> str:
    options = config.keyword.model_dump(exclude={"run"}) | {"index": config.semantic.index, "depth": depth}
    ids = [query.query_id for query in dataset.queries]
    faiss = importlib.metadata.version("faiss-cpu")
    parts = [FORMAT, np.__version__, faiss, config.semantic.model, keys, options, keep_postings, ids, dataset.hashes.corpus]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def rows_with_text(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The rows that can be found at all: an empty document is counted and never returned."""
    return np.asarray([row for row, text in enumerate(texts) if text], dtype=np.int32)


def keyword_index(
    texts: Sequence[str], config: Config, key: str, progress: Progress
) -> tuple[Callable[[str], list[str]], keyword.KeywordIndex]:
    """The analyzer and the keyword index over these texts, from the cache or built and cached."""
    analyze = make_analyzer(config.keyword.analyzer)
    path = Path(config.cache) / "keyword" / f"{key}.npz"
    index = keyword.load_index(path)
    if index is None:
        documents = []
        with progress("indexing documents", len(texts)) as advance:
            for text in texts:
                documents.append(analyze(text))
                advance(1)
        index = keyword.build_index(documents, config.keyword)
        keyword.save_index(index, path)
    return analyze, index


def embedding_keys(dataset: Dataset, config: Config) -> dict[str, str]:
    """The cache keys of both sides' vectors, `documents` and `queries`; no model is loaded for them."""
    vectors = config.semantic.vectors
    if vectors is not None:
        hashes = [given.hash_file(Path(path)) for path in vectors.model_dump().values() if path is not None]
        key = " ".join(["given", str(config.semantic.normalize), *hashes])
        return {"documents": key, "queries": key}
    model = semantic.find_model(config.semantic)
    texts = [query.text for query in dataset.queries]
    return {
        "documents": semantic.encoding_key(model, config.semantic, "document", dataset.texts),
        "queries": semantic.encoding_key(model, config.semantic, "query", texts),
    }


def embeddings(dataset: Dataset, config: Config, progress: Progress) -> tuple[semantic.Encoded, semantic.Encoded]:
    """The vectors of documents and used queries: given ones, or from the cache, or encoded and cached.

    The model is loaded only in the last case.
    """
    if config.semantic.vectors is not None:
        documents, queries, facts = given.read_given_vectors(
            config.semantic.vectors, dataset, normalize=config.semantic.normalize
        )
        return semantic.Encoded(documents, facts), semantic.Encoded(queries, facts)
    keys = embedding_keys(dataset, config)
    texts = [query.text for query in dataset.queries]
    found = encode_cached([("document", dataset.texts, keys["documents"]), ("query", texts, keys["queries"])], config, progress)
    return found[0], found[1]


def query_embeddings(dataset: Dataset, config: Config, progress: Progress) -> semantic.Encoded:
    """The vectors of the used queries alone, as `embeddings` gives them: what a live engine is asked with."""
    if config.semantic.vectors is not None:
        return semantic.Encoded(*given.read_given_queries(config.semantic.vectors, dataset, normalize=config.semantic.normalize))
    texts = [query.text for query in dataset.queries]
    key = semantic.encoding_key(semantic.find_model(config.semantic), config.semantic, "query", texts)
    return encode_cached([("query", texts, key)], config, progress)[0]


def encode_cached(
    kinds: Sequence[tuple[semantic.Kind, Sequence[str], str]], config: Config, progress: Progress
) -> list[semantic.Encoded]:
    """The vectors of each of these texts, from the cache by their key, or encoded and cached by the model, loaded only then."""
    loaded: Any = None
    found: list[semantic.Encoded] = []
    for kind, texts, key in kinds:
        path = Path(config.cache) / "embeddings" / f"{key}.npz"
        encoded = semantic.load_encoded(path, len(texts))
        if encoded is None:
            if loaded is None:
                with progress("loading the model", 1) as advance:
                    loaded = semantic.load_model(semantic.find_model(config.semantic), config.semantic)
                    advance(1)
            encoded = semantic.encode(loaded, texts, kind, config.semantic, progress)
            semantic.save_encoded(encoded, path)
        found.append(encoded)
    return found


def _keyword_facts(config: Config, index: keyword.KeywordIndex, lists: RankedLists) -> dict[str, Any]:
    options = config.keyword
    return {
        "variant": options.variant,
        "k1": options.k1,
        "b": options.b,
        "epsilon": options.epsilon,
        "delta": keyword.DELTAS[options.variant] if options.delta is None else options.delta,
        "analyzer": options.analyzer,
        "terms": len(index.terms),
        "index_bytes": index.bytes,
        "queries_without_results": int((lists.rows[:, 0] < 0).sum()),
    }


def _semantic_facts(config: Config, documents: semantic.Encoded, queries: semantic.Encoded, recall: float) -> dict[str, Any]:
    searched = {
        "index": config.semantic.index,
        "recall_against_exact": recall,
        "index_bytes": documents.vectors.nbytes,
        "documents_sha256": _sha256(documents.vectors),
        "queries_sha256": _sha256(queries.vectors),
    }
    if config.semantic.vectors is not None:
        return {**documents.facts, **searched}
    model = semantic.find_model(config.semantic)
    return {
        "model": model.name,
        "model_sha256": model.fingerprint,
        "dimension": documents.facts["dimension"],
        "max_seq_length": documents.facts["max_seq_length"],
        "document_prompt": documents.facts["prompt"],
        "query_prompt": queries.facts["prompt"],
        "documents_cut": documents.facts["cut"],
        "queries_cut": queries.facts["cut"],
        **searched,
    }


def _sha256(array: FloatArray | Vectors) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def say_tiny(n: int) -> str:
    """What a corpus of fewer than TINY_CORPUS documents makes worth saying."""
    return f"the corpus is tiny ({n} documents): BM25's idf says little, and every score is coarse"


def _keyword_warnings(
    dataset: Dataset, config: Config, index: keyword.KeywordIndex, query_tokens: list[list[str]], lists: RankedLists
) -> list[str]:
    said: list[str] = []
    counts, n = dataset.counts, dataset.counts.documents
    if n < TINY_CORPUS:
        said.append(say_tiny(n))
    weak = keyword.find_weak_terms(index, query_tokens)
    if weak:
        said.append(
            f"{len(weak)} prompt terms have an idf of 0 or below and cannot tell documents apart ({', '.join(weak[:5])}"
            f"{' …' if len(weak) > 5 else ''}); keyword.variant: lucene has no such case"
        )
    single = int((index.lengths == 1).sum())
    unfit = say_unfit(dataset.texts, config.keyword.analyzer)
    if unfit is not None:
        said.append(unfit)
    elif config.keyword.analyzer != "cjk" and single * 2 > n - len(counts.empty_documents) > 0:
        said.append(
            f"{single} of {n} documents are a single token to the analyzer {config.keyword.analyzer}: for Chinese, Japanese or"
            " Korean take cjk"
        )
    without = int((lists.rows[:, 0] < 0).sum())
    if without:
        said.append(f"the keyword retriever returns nothing for {without} prompts: they score 0 and count in its means")
    return said


def _semantic_warnings(
    dataset: Dataset, config: Config, documents: semantic.Encoded, queries: semantic.Encoded, recall: float
) -> list[str]:
    said: list[str] = []
    if config.semantic.vectors is None:
        cut = documents.facts["cut"]
        if cut:
            said.append(semantic.say_cut(cut, dataset.counts.documents, documents.facts["max_seq_length"]))
        name = semantic.find_model(config.semantic).name
        if semantic.wants_prompts(name, queries.facts.get("prompt")):
            said.append(semantic.say_prompt(name))
    else:
        said += given.say_norms(documents.facts, normalize=config.semantic.normalize)
    if recall < 1:
        said.append(
            f"the index {config.semantic.index} finds {recall:.1%} of the exact nearest documents: the tuned weight"
            " makes up for what it misses"
        )
    return said
