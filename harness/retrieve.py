"""Dataset + Config → Candidates: both retrievers' lists, built once and cached by content."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import given, keyword, semantic, spread
from harness.analyzers import make_analyzer
from harness.blocks import DEFAULT_BACKEND
from harness.bm25 import VARIANTS
from harness.candidates import merge_lists
from harness.cluster import open_cluster
from harness.config import Config
from harness.errors import HarnessError
from harness.fields import content_to_index, texts_to_index
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.indexing import index_texts
from harness.languages import say_unfit
from harness.postings import BLOCK
from harness.progress import Progress
from harness.types import Candidates, Dataset, FloatArray, IndexChoice, Postings, RankedLists, Retrieved, Vectors

LARGEST = 1e100  # of what is in postings
FORMAT = 2  # of the cached candidates: raise it when what they hold, or how it is computed, changes
TINY_CORPUS = 20  # below this, rank-bm25's idf is 0 or negative for words in a handful of documents
CANDIDATE_ARRAYS = ("rows", "keyword_scores", "semantic_scores", "keyword_ranks", "semantic_ranks")
OTHER = "index{}_"  # before the names of another index's arrays
POSTING_ARRAYS = ("query", "row", "frequency", "length_ratio", "weight", "base")


def pack(retrieved: Retrieved) -> dict[str, np.ndarray[Any, Any]]:
    """The candidates (and postings) as named arrays for an npz file without pickle; other indexes' under a prefix each."""
    arrays = {name: getattr(retrieved.candidates, name) for name in CANDIDATE_ARRAYS}
    meta: dict[str, Any] = {"format": FORMAT, "facts": retrieved.facts, "warnings": retrieved.warnings}
    if retrieved.postings is not None:
        arrays |= {f"postings_{name}": getattr(retrieved.postings, name) for name in POSTING_ARRAYS}
        meta["postings"] = {"variant": retrieved.postings.variant, "delta": retrieved.postings.delta}
    if retrieved.others:
        meta["others"] = list(retrieved.others)
        for number, other in enumerate(retrieved.others.values(), 1):
            arrays |= {f"{OTHER.format(number)}{name}": array for name, array in pack(other).items()}
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
    others = {}
    for number, choice in enumerate(meta.get("others", ()), 1):
        if [type(part) for part in choice] != [str, str, str, int, int]:
            raise ValueError(f"others must name indexes, got {choice!r:.80}")
        prefix = OTHER.format(number)
        one = {name.removeprefix(prefix): array for name, array in stored.items() if name.startswith(prefix)}
        others[_choice(choice)] = unpack(one)
    if any(other.others for other in others.values()) or any(
        len(other.candidates.rows) != len(candidates.rows) for other in others.values()
    ):
        raise ValueError("others must be indexes of the same prompts")
    return Retrieved(candidates, postings, meta["facts"], tuple(meta["warnings"]), others)


def _choice(parts: Sequence[Any]) -> IndexChoice:
    analyzer, variant, model, size, overlap = parts
    return str(analyzer), str(variant), str(model), int(size), int(overlap)


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


def retrieve(
    dataset: Dataset,
    config: Config,
    progress: Progress,
    *,
    depth: int,
    keep_postings: bool,
    made: dict[str, Side] | None = None,
) -> Retrieved:
    """The candidates of the used queries at this depth; with postings, so that k1 and b can change, where asked for.

    They come from the cache where they are there. What a live engine answered is never cached: the database changes. `made`
    remembers sides by what they depend on, for several calls with the same prompts and depth.
    """
    assert set(dataset.fetched) == set(config.live.statements if config.live is not None else ())  # harness.live sees to it
    path, made = None, {} if made is None else made
    if config.live is None:
        keys = side_keys(dataset, config)
        path = Path(config.cache) / "candidates" / f"{_candidates_key(dataset, config, keys, depth, keep_postings)}.npz"
        cached = load_retrieved(path)
        if cached is not None:
            return cached
    if config.searches_vectors:
        semantic.check_index(config.semantic.index)
    keep = path if len(dataset.texts) > BLOCK else None  # sides that take long stay, until the candidates do
    with open_crew(config, progress) as crew:

        def fill(side: str) -> Side:
            return _fill(side, dataset, config, progress, depth, made, crew, keep_postings=keep_postings, path=keep)

        if not config.encodes:
            fill("semantic")  # what was given is looked at before an index is built
        by_keyword, by_meaning = fill("keyword"), fill("semantic")
    retrieved = Retrieved(
        merge_lists(by_keyword.lists, by_meaning.lists),
        by_keyword.postings,
        {"keyword": by_keyword.facts, "semantic": by_meaning.facts},
        (*by_keyword.warnings, *by_meaning.warnings),
    )
    if path is not None:
        write_arrays(path, pack(retrieved))
        for side in ("keyword", "semantic"):
            _side_path(path, side).unlink(missing_ok=True)
    return retrieved


def _fill(
    side: str,
    dataset: Dataset,
    config: Config,
    progress: Progress,
    depth: int,
    made: dict[str, Side],
    crew: spread.Crew | None,
    *,
    keep_postings: bool = False,
    path: Path | None = None,
) -> Side:
    """One side's lists, remembered in `made`, and beside the candidates' `path` where there is one and no postings are kept."""
    key = f"{side} {dataset.hashes.corpus} {getattr(config, side).model_dump_json()}"
    if key in made:
        return made[key]
    kept = _side_path(path, side) if path is not None and not (side == "keyword" and keep_postings) else None
    found = load_side(kept) if kept is not None else None
    if found is None:
        if side == "keyword":
            found = keyword_side(dataset, config, progress, depth, crew, keep_postings=keep_postings)
        else:
            found = semantic_side(dataset, config, progress, depth, crew)
        if kept is not None:
            save_side(found, kept)
    made[key] = found
    return found


def _side_path(path: Path, side: str) -> Path:
    """Where one side of these candidates stays while the other is made."""
    return path.with_name(f"{hashlib.sha256(f'{side} {path.stem}'.encode()).hexdigest()}.npz")


def save_side(side: Side, path: Path) -> None:
    """Write lists, facts and warnings, without pickle."""
    meta = json.dumps({"facts": side.facts, "warnings": side.warnings}).encode()
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "rows": side.lists.rows,
        "scores": side.lists.scores,
        "meta": np.frombuffer(meta, dtype=np.uint8),
    }
    write_arrays(path, arrays)


def load_side(path: Path) -> Side | None:
    """The side in this file; None where it is not there or not what it should be (then it is made anew)."""
    try:
        stored = read_arrays(path)
        meta = json.loads(stored["meta"].tobytes())
        return Side(RankedLists(stored["rows"], stored["scores"]), meta["facts"], tuple(meta["warnings"]))
    except (DamagedFileError, KeyError, ValueError, TypeError, RecursionError):
        return None


def open_crew(config: Config, progress: Progress) -> contextlib.AbstractContextManager[spread.Crew | None]:
    """The workers that the config's `scale` names; None where everything is computed here."""
    if config.scale is None or not config.spreads:
        return contextlib.nullcontext()
    return open_cluster(config.scale.ray, progress)


def side_keys(dataset: Dataset, config: Config) -> dict[str, str]:
    """What each side's lists depend on, hashed; no index is built and no model loaded for it."""
    if config.keyword.run is not None:
        by_keyword = f"run {given.hash_file(Path(config.keyword.run))}"
    else:
        by_keyword = keyword.index_key(content_to_index(dataset, config.keyword), config.keyword)
    if config.semantic.run is not None:
        by_meaning = {"semantic": f"run {given.hash_file(Path(config.semantic.run))}"}
    else:
        by_meaning = embedding_keys(dataset, config)
    return {**by_meaning, "keyword": by_keyword}


def keyword_side(
    dataset: Dataset,
    config: Config,
    progress: Progress,
    depth: int,
    crew: spread.Crew | None = None,
    *,
    keep_postings: bool = False,
) -> Side:
    """The keyword retriever's lists: BM25's, or those of a live engine or a run; BM25's with postings where asked for."""
    if "keyword" in dataset.fetched:
        return fetched_side(dataset, config, "keyword", depth)
    if config.keyword.run is not None:
        return run_side(config.keyword.run, dataset, "keyword", depth)
    found = keyword_lists(dataset, config, progress, depth, crew, keep_postings=keep_postings)
    return Side(found.lists, _keyword_facts(config, found), tuple(_keyword_warnings(dataset, config, found)), found.postings)


def keyword_lists(
    dataset: Dataset, config: Config, progress: Progress, depth: int, crew: spread.Crew | None, *, keep_postings: bool
) -> spread.Found:
    """BM25's lists, by the index of the whole corpus or by the crew's shards: the same, bit for bit."""
    texts = texts_to_index(dataset, config.keyword)
    if crew is not None:
        assert config.scale is not None
        analyze = make_analyzer(config.keyword.analyzer)
        return spread.keyword_lists(
            crew,
            texts,
            [analyze(query.text) for query in dataset.queries],
            config.keyword,
            depth=depth,
            shards=config.scale.shards,
            keep_postings=keep_postings,
            progress=progress,
        )
    key = keyword.index_key(content_to_index(dataset, config.keyword), config.keyword)
    analyze, index = keyword_index(texts, config, key, progress)
    query_tokens = [analyze(query.text) for query in dataset.queries]
    postings = None
    if keep_postings:
        keyword.check_size(index, query_tokens)
        postings = keyword.select_postings(index, query_tokens, config.keyword)
    with progress("keyword search", len(query_tokens)) as advance:
        lists = keyword.rank(index, query_tokens, config.keyword, depth=depth, advance=advance)
    weak, single = keyword.find_weak_terms(index, query_tokens), int((index.lengths == 1).sum())
    return spread.Found(lists, postings, len(index.terms), index.bytes, weak, single)


def semantic_side(dataset: Dataset, config: Config, progress: Progress, depth: int, crew: spread.Crew | None = None) -> Side:
    """The semantic retriever's lists: by the model's vectors, by vectors from elsewhere, or a live engine's or a run's."""
    if "semantic" in dataset.fetched:
        return fetched_side(dataset, config, "semantic", depth)
    if config.semantic.run is not None:
        return run_side(config.semantic.run, dataset, "semantic", depth)
    documents, queries = embeddings(dataset, config, progress, crew)
    rows = rows_with_text(dataset.texts)
    if crew is not None:
        assert config.scale is not None
        shards, recall = config.scale.shards, 1.0
        lists = spread.semantic_lists(
            crew, documents.vectors, queries.vectors, depth=depth, rows=rows, shards=shards, progress=progress
        )
    else:
        lists, recall = semantic.rank_semantic(
            documents.vectors, queries.vectors, depth=depth, factory=config.semantic.index, rows=rows, progress=progress
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
    options = config.keyword.model_dump(exclude={"run", "fields"}) | {"index": config.semantic.index, "depth": depth}
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
        index = index_texts(texts, config.keyword, path, progress)
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


def embeddings(
    dataset: Dataset, config: Config, progress: Progress, crew: spread.Crew | None = None
) -> tuple[semantic.Encoded, semantic.Encoded]:
    """The vectors of documents and used queries: given ones, or from the cache, or encoded and cached.

    The model is loaded only in the last case; where there is a crew, it encodes the documents.
    """
    if config.semantic.vectors is not None:
        documents, queries, facts = given.read_given_vectors(
            config.semantic.vectors, dataset, normalize=config.semantic.normalize
        )
        return semantic.Encoded(documents, facts), semantic.Encoded(queries, facts)
    keys = embedding_keys(dataset, config)
    texts = [query.text for query in dataset.queries]
    kinds: list[tuple[semantic.Kind, Sequence[str], str]] = [
        ("document", dataset.texts, keys["documents"]),
        ("query", texts, keys["queries"]),
    ]
    found = encode_cached(kinds, config, progress, crew)
    dimensions = [one.vectors.shape[1] for one in found]
    if dimensions[0] != dimensions[1] and 0 not in dimensions:  # 0: there was no text
        raise HarnessError(
            f"semantic.embedder: {config.semantic.embedder} must give documents and prompts vectors of one dimension, got"
            f" {dimensions[0]} for documents and {dimensions[1]} for prompts"
        )
    return found[0], found[1]


def query_embeddings(dataset: Dataset, config: Config, progress: Progress) -> semantic.Encoded:
    """The vectors of the used queries alone, as `embeddings` gives them: what a live engine is asked with."""
    if config.semantic.vectors is not None:
        return semantic.Encoded(*given.read_given_queries(config.semantic.vectors, dataset, normalize=config.semantic.normalize))
    texts = [query.text for query in dataset.queries]
    key = semantic.encoding_key(semantic.find_model(config.semantic), config.semantic, "query", texts)
    return encode_cached([("query", texts, key)], config, progress)[0]


def encode_cached(
    kinds: Sequence[tuple[semantic.Kind, Sequence[str], str]],
    config: Config,
    progress: Progress,
    crew: spread.Crew | None = None,
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
            elsewhere = None
            if crew is not None and kind == "document" and config.semantic.embedder is None:
                assert config.scale is not None
                model, device = semantic.find_model(config.semantic), str(loaded.device).split(":")[0]
                elsewhere = spread.encode_batches(crew, model, config.semantic, kind, device, config.scale.shards)
            encoded = semantic.encode(loaded, texts, kind, config.semantic, progress, elsewhere)
            semantic.save_encoded(encoded, path)
        found.append(encoded)
    return found


def _keyword_facts(config: Config, found: spread.Found) -> dict[str, Any]:
    options = config.keyword
    return {
        "variant": options.variant,
        "k1": options.k1,
        "b": options.b,
        "epsilon": options.epsilon,
        "delta": keyword.DELTAS[options.variant] if options.delta is None else options.delta,
        "analyzer": options.analyzer,
        **({"fields": options.fields.model_dump()} if options.fields is not None else {}),
        "terms": found.terms,
        "index_bytes": found.index_bytes,
        "queries_without_results": int((found.lists.rows[:, 0] < 0).sum()),
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
    if config.semantic.embedder is not None:
        named = {"embedder": model.name, "embedder_sha256": model.fingerprint, "dimension": documents.facts["dimension"]}
        return {**named, **searched}
    return {
        "model": model.name,
        "model_sha256": model.fingerprint,
        **({"backend": config.semantic.backend} if config.semantic.backend != DEFAULT_BACKEND else {}),
        "dimension": documents.facts["dimension"],
        "max_seq_length": documents.facts["max_seq_length"],
        "document_prompt": documents.facts["prompt"],
        "query_prompt": queries.facts["prompt"],
        "documents_cut": documents.facts["cut"],
        "queries_cut": queries.facts["cut"],
        **searched,
    }


def _sha256(array: FloatArray | Vectors) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def say_tiny(n: int) -> str:
    """What a corpus of fewer than TINY_CORPUS documents makes worth saying."""
    return f"the corpus is tiny ({n} documents): BM25's idf says little, and every score is coarse"


def _keyword_warnings(dataset: Dataset, config: Config, found: spread.Found) -> list[str]:
    said: list[str] = []
    counts, n = dataset.counts, dataset.counts.documents
    if n < TINY_CORPUS:
        said.append(say_tiny(n))
    weak, single = found.weak, found.single
    if weak:
        said.append(
            f"{len(weak)} prompt terms have an idf of 0 or below and cannot tell documents apart ({', '.join(weak[:5])}"
            f"{' …' if len(weak) > 5 else ''}); keyword.variant: lucene has no such case"
        )
    unfit = say_unfit(dataset.texts, config.keyword.analyzer)
    if unfit is not None:
        said.append(unfit)
    elif config.keyword.analyzer != "cjk" and single * 2 > n - len(counts.empty_documents) > 0:
        said.append(
            f"{single} of {n} documents are a single token to the analyzer {config.keyword.analyzer}: for Chinese, Japanese or"
            " Korean take cjk"
        )
    without = int((found.lists.rows[:, 0] < 0).sum())
    if without:
        said.append(f"the keyword retriever returns nothing for {without} prompts: they score 0 and count in its means")
    return said


def _semantic_warnings(
    dataset: Dataset, config: Config, documents: semantic.Encoded, queries: semantic.Encoded, recall: float
) -> list[str]:
    said: list[str] = []
    if config.semantic.embedder is not None:
        sides = {"documents": documents.facts, "queries": queries.facts}
        facts = {f"{side}_norms": found["norms"] or [1.0, 1.0] for side, found in sides.items()}
        said += given.say_norms(facts, normalize=config.semantic.normalize)
    elif config.semantic.vectors is None:
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
