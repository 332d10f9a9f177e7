"""The keyword retriever: the postings and idf behind BM25. Home of rank_bm25.

Frequencies, document lengths and idf (with okapi's floor, epsilon times the mean idf) come from rank-bm25's own classes;
`lucene`'s idf is log(1 + (N − df + .5) / (df + .5)).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.analyzers import library_version
from harness.blocks import Keyword
from harness.errors import HarnessError
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.types import FloatArray, IntArray, Postings

DELTAS = {"okapi": 0.0, "l": 0.5, "plus": 1.0, "lucene": 0.0}  # rank-bm25's defaults


@dataclass(frozen=True)
class KeywordIndex:
    """Postings by term: term t's documents are rows[indptr[t]:indptr[t + 1]], ascending, with their frequencies.

    `lengths` is (n_documents,), in tokens; `idf` is (n_terms,).
    """

    terms: dict[str, int]
    idf: FloatArray
    indptr: np.ndarray[tuple[int], np.dtype[np.int64]]
    rows: IntArray
    frequencies: IntArray
    lengths: IntArray

    @property
    def bytes(self) -> int:
        """Size of the arrays and of the terms' text."""
        arrays = (self.idf, self.indptr, self.rows, self.frequencies, self.lengths)
        return sum(array.nbytes for array in arrays) + sum(len(term.encode()) for term in self.terms)


def build_index(documents: Sequence[Sequence[str]], options: Keyword) -> KeywordIndex:
    """The index over documents given as lists of tokens; TypeError where a string stands in place of a list.

    An empty corpus is refused (HarnessError); documents without a token are kept and never found.
    """
    for row, tokens in enumerate(documents):
        if isinstance(tokens, str):
            raise TypeError(f"document {row} must be a list of tokens, got a string: use the analyzer for it")
    if not documents:
        raise HarnessError("keyword index: must have at least one document, got none")
    frequencies, lengths, idf_of = _count(documents, options)
    terms = {term: number for number, term in enumerate(idf_of)}
    numbers = np.fromiter((terms[t] for doc in frequencies for t in doc), dtype=np.int64)
    rows = np.repeat(np.arange(len(documents), dtype=np.int32), [len(doc) for doc in frequencies])
    counts = np.fromiter((n for doc in frequencies for n in doc.values()), dtype=np.int32)
    order = np.argsort(numbers, kind="stable")  # by term; rows stay ascending
    return KeywordIndex(
        terms=terms,
        idf=np.fromiter(idf_of.values(), dtype=np.float64),
        indptr=np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(terms)))]).astype(np.int64),
        rows=rows[order],
        frequencies=counts[order],
        lengths=np.asarray(lengths, dtype=np.int32),
    )


def _count(documents: Sequence[Sequence[str]], options: Keyword) -> tuple[list[dict[str, int]], list[int], dict[str, float]]:
    """Each document's term frequencies and length, and each term's idf."""
    import rank_bm25

    if not any(documents):  # rank-bm25 divides by the number of terms
        return [{} for _ in documents], [0] * len(documents), {}
    if options.variant == "okapi":
        bm25 = rank_bm25.BM25Okapi(documents, epsilon=options.epsilon)
    elif options.variant == "l":
        bm25 = rank_bm25.BM25L(documents)
    else:
        bm25 = rank_bm25.BM25Plus(documents)
    idf = dict(bm25.idf)
    if options.variant == "lucene":
        n = len(documents)
        found_in = dict.fromkeys(idf, 0)
        for doc in bm25.doc_freqs:
            for term in doc:
                found_in[term] += 1
        idf = {term: math.log(1 + (n - df + 0.5) / (df + 0.5)) for term, df in found_in.items()}
    return bm25.doc_freqs, bm25.doc_len, idf


def select_postings(index: KeywordIndex, queries: Sequence[Sequence[str]], options: Keyword) -> Postings:
    """The entries of the queries' terms, sorted by query, then row, then the term's place in the query."""
    average = float(index.lengths.mean()) or 1.0
    parts: list[tuple[Any, ...]] = []
    base = np.zeros(len(queries))
    for q, tokens in enumerate(queries):
        if isinstance(tokens, str):
            raise TypeError(f"query {q} must be a list of tokens, got a string: use the analyzer for it")
        counts: dict[str, int] = {}
        for token in tokens:
            counts[token] = counts.get(token, 0) + 1
        for token, count in counts.items():
            number = index.terms.get(token)
            if number is None:
                continue
            part = slice(int(index.indptr[number]), int(index.indptr[number + 1]))
            weight = float(index.idf[number]) * count
            base[q] += weight
            rows = index.rows[part]
            parts.append((np.full(rows.size, q, dtype=np.int32), rows, index.frequencies[part], np.full(rows.size, weight)))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 4
    query, row = columns[0].astype(np.int32), columns[1].astype(np.int32)
    order = np.lexsort((row, query))  # stable: terms keep their order in the query
    return Postings(
        variant=options.variant,
        delta=DELTAS[options.variant] if options.delta is None else options.delta,
        query=query[order],
        row=row[order],
        frequency=columns[2][order].astype(np.float64),
        length_ratio=index.lengths[row[order]] / average,
        weight=columns[3][order].astype(np.float64),
        base=base,
    )


def find_weak_terms(index: KeywordIndex, queries: Sequence[Sequence[str]]) -> list[str]:
    """The queries' terms whose idf is 0 or below: they add nothing, or take away."""
    used = {token for tokens in queries for token in tokens if token in index.terms}
    return sorted(term for term in used if index.idf[index.terms[term]] <= 0)


def index_key(corpus_hash: str, options: Keyword) -> str:
    """What the index depends on, hashed: the corpus, the analyzer, the variant and its idf."""
    import importlib.metadata

    libraries = library_version(options.analyzer)
    parts = ["keyword 1", corpus_hash, options.analyzer, libraries, options.variant, options.epsilon]
    return hashlib.sha256(json.dumps([*parts, importlib.metadata.version("rank-bm25")]).encode()).hexdigest()


def save_index(index: KeywordIndex, path: Path) -> None:
    """Write the index without pickle: the terms are one array of UTF-8 bytes, newline-separated (no token holds one)."""
    text = np.frombuffer("\n".join(index.terms).encode(), dtype=np.uint8)
    arrays = {name: array for name, array in vars(index).items() if name != "terms"}
    write_arrays(path, {"terms": text, **arrays})


def load_index(path: Path) -> KeywordIndex | None:
    """The index from the cache; None where it is not there or is not what it should be (it is then built anew)."""
    try:
        stored = read_arrays(path)
        text = stored["terms"].tobytes().decode()
        terms = {term: number for number, term in enumerate(text.split("\n"))} if text else {}
        index = KeywordIndex(terms, *(stored[name] for name in ("idf", "indptr", "rows", "frequencies", "lengths")))
    except (DamagedFileError, KeyError, ValueError):
        return None
    sound = len(index.terms) == index.idf.size == index.indptr.size - 1 and index.rows.size == index.frequencies.size
    return index if sound else None
