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

from harness import keyword, semantic
from harness.bm25 import VARIANTS, rank_keyword
from harness.candidates import merge_lists
from harness.config import ANALYZERS, Config
from harness.files import DamagedFileError, read_arrays, write_arrays
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


def retrieve(dataset: Dataset, config: Config, progress: Progress, *, depth: int, keep_postings: bool) -> Retrieved:
    """The candidates of the used queries at this depth; with postings, so that k1 and b can change, where asked for."""
    model = semantic.find_model(config.semantic)
    texts = [query.text for query in dataset.queries]
    keys = {
        **embedding_keys(dataset.texts, texts, config),
        "keyword": keyword.index_key(dataset.hashes.corpus, config.keyword),
    }
    path = Path(config.cache) / "candidates" / f"{_candidates_key(dataset, config, keys, depth, keep_postings)}.npz"
    cached = load_retrieved(path)
    if cached is not None:
        return cached
    semantic.check_index(config.semantic.index)
    analyze, index = keyword_index(dataset.texts, config, keys["keyword"], progress)
    query_tokens = [analyze(text) for text in texts]
    postings = keyword.select_postings(index, query_tokens, config.keyword)
    keyword_lists = rank_keyword(postings, k1=config.keyword.k1, b=config.keyword.b, depth=depth)
    documents, queries = embeddings(dataset.texts, texts, config, progress)
    semantic_lists, recall = semantic.rank_semantic(
        documents.vectors,
        queries.vectors,
        depth=depth,
        factory=config.semantic.index,
        rows=rows_with_text(dataset.texts),
    )
    made = Made(model, index, query_tokens, documents, queries, recall, keyword_lists)
    retrieved = Retrieved(
        merge_lists(keyword_lists, semantic_lists),
        postings if keep_postings else None,
        _facts(config, made),
        tuple(_warnings(dataset, config, made)),
    )
    write_arrays(path, pack(retrieved))
    return retrieved


def _candidates_key(dataset: Dataset, config: Config, keys: dict[str, str], depth: int, keep_postings: bool) -> str:
    options = config.keyword.model_dump() | {"index": config.semantic.index, "depth": depth}
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
    analyze = keyword.make_analyzer(config.keyword.analyzer)
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


def embedding_keys(documents: Sequence[str], queries: Sequence[str], config: Config) -> dict[str, str]:
    """The cache keys of both sides' vectors, `documents` and `queries`; no model is loaded for them."""
    model = semantic.find_model(config.semantic)
    return {
        "documents": semantic.encoding_key(model, config.semantic, "document", documents),
        "queries": semantic.encoding_key(model, config.semantic, "query", queries),
    }


def embeddings(
    documents: Sequence[str], queries: Sequence[str], config: Config, progress: Progress
) -> tuple[semantic.Encoded, semantic.Encoded]:
    """The vectors of documents and queries, from the cache or encoded and cached; the model is loaded only if needed."""
    keys = embedding_keys(documents, queries, config)
    loaded: Any = None
    found: list[semantic.Encoded] = []
    kinds: tuple[tuple[semantic.Kind, Sequence[str], str], ...] = (
        ("document", documents, keys["documents"]),
        ("query", queries, keys["queries"]),
    )
    for kind, texts, key in kinds:
        path = Path(config.cache) / "embeddings" / f"{key}.npz"
        encoded = semantic.load_encoded(path, len(texts))
        if encoded is None:
            if loaded is None:
                loaded = semantic.load_model(semantic.find_model(config.semantic), config.semantic)
            encoded = semantic.encode(loaded, texts, kind, config.semantic, progress)
            semantic.save_encoded(encoded, path)
        found.append(encoded)
    return found[0], found[1]


@dataclass(frozen=True)
class Made:
    """What building the candidates brought to light, for facts and warnings."""

    model: semantic.Model
    index: keyword.KeywordIndex
    query_tokens: list[list[str]]
    documents: semantic.Encoded
    queries: semantic.Encoded
    recall: float
    keyword_lists: RankedLists


def _facts(config: Config, made: Made) -> dict[str, Any]:
    options = config.keyword
    return {
        "keyword": {
            "variant": options.variant,
            "k1": options.k1,
            "b": options.b,
            "epsilon": options.epsilon,
            "delta": keyword.DELTAS[options.variant] if options.delta is None else options.delta,
            "analyzer": options.analyzer,
            "terms": len(made.index.terms),
            "index_bytes": made.index.bytes,
            "queries_without_results": int((made.keyword_lists.rows[:, 0] < 0).sum()),
        },
        "semantic": {
            "model": made.model.name,
            "model_sha256": made.model.fingerprint,
            "dimension": made.documents.facts["dimension"],
            "max_seq_length": made.documents.facts["max_seq_length"],
            "document_prompt": made.documents.facts["prompt"],
            "query_prompt": made.queries.facts["prompt"],
            "documents_cut": made.documents.facts["cut"],
            "queries_cut": made.queries.facts["cut"],
            "index": config.semantic.index,
            "recall_against_exact": made.recall,
            "index_bytes": made.documents.vectors.nbytes,
            "documents_sha256": _sha256(made.documents.vectors),
            "queries_sha256": _sha256(made.queries.vectors),
        },
    }


def _sha256(array: FloatArray | Vectors) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _warnings(dataset: Dataset, config: Config, made: Made) -> list[str]:
    said: list[str] = []
    counts, n = dataset.counts, dataset.counts.documents
    if n < TINY_CORPUS:
        said.append(f"the corpus is tiny ({n} documents): BM25's idf says little, and every score is coarse")
    weak = keyword.find_weak_terms(made.index, made.query_tokens)
    if weak:
        said.append(
            f"{len(weak)} prompt terms have an idf of 0 or below and cannot tell documents apart ({', '.join(weak[:5])}"
            f"{' …' if len(weak) > 5 else ''}); keyword.variant: lucene has no such case"
        )
    single = int((made.index.lengths == 1).sum())
    if config.keyword.analyzer != "cjk" and single * 2 > n - len(counts.empty_documents) > 0:
        said.append(
            f"{single} of {n} documents are a single token to the analyzer {config.keyword.analyzer}: for a script without"
            f" spaces take one of the others ({', '.join(a for a in ANALYZERS if a != config.keyword.analyzer)})"
        )
    without = int((made.keyword_lists.rows[:, 0] < 0).sum())
    if without:
        said.append(f"the keyword retriever returns nothing for {without} prompts: they score 0 and count in its means")
    cut = made.documents.facts["cut"]
    if cut:
        said.append(
            f"{cut} documents ({cut / n:.1%}) are longer than the model's {made.documents.facts['max_seq_length']} tokens:"
            " the semantic side sees only their beginning, the keyword side all of them"
        )
    if semantic.wants_prompts(made.model, made.queries.facts):
        said.append(f"models like {made.model.name} expect a query prompt and none is set: see semantic.query_prompt")
    if made.recall < 1:
        said.append(
            f"the index {config.semantic.index} finds {made.recall:.1%} of the exact nearest documents: the tuned weight"
            " makes up for what it misses"
        )
    return said
