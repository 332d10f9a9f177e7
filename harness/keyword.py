"""The keyword retriever: the index behind BM25. Home of rank_bm25, which gives the idf.

From tokens:    build_index(documents, options) → KeywordIndex
From blocks:    index_blocks(blocks, options), where `postings.count_block` or `count_texts` made the blocks, anywhere
Lists:          rank(index, queries, options, depth=…) → RankedLists; no more memory than a few arrays of the corpus' length
Every k1 and b: select_postings(index, queries, options), then `bm25.rank_keyword(postings, k1=…, b=…, depth=…)` as often as
                wanted; both give the same lists, bit for bit

A corpus in parts, on several machines: `index_blocks` over each part's blocks and its `statistics_of`; `merge_statistics` adds
these up, `weigh_terms` makes the whole's idf of them; `take_statistics` puts both into each part; `weigh_queries` by the whole's
idf, then `rank_weighted` over each part. The best of all parts' lists, by score, then row, are the lists of the whole.

idf (okapi's floor is epsilon times the mean idf) comes from rank-bm25's own classes, which are told in how many documents a term
is, as `postings` counted; `lucene`'s is log(1 + (N − df + .5) / (df + .5)).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.analyzers import library_version
from harness.blocks import Keyword
from harness.errors import HarnessError
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.maxscore import Formula, Searcher, Weighted, rank_queries, weigh
from harness.postings import Block, Counted, Numbers, count_block, merge, place_terms, split
from harness.types import FloatArray, IntArray, Postings, RankedLists

DELTAS = {"okapi": 0.0, "l": 0.5, "plus": 1.0, "lucene": 0.0}  # rank-bm25's defaults
POSTING_BYTES = 32  # of one entry in `Postings`
MOST_POSTINGS = 2 << 30  # bytes that are kept for k1 and b


@dataclass(frozen=True)
class Statistics:
    """What BM25 has to know of a whole corpus: in how many documents each term is (terms as first seen), and the lengths."""

    found_in: Mapping[str, int]
    n_documents: int
    n_tokens: int

    @property
    def average(self) -> float:
        """The mean document length in tokens; 1 for a corpus without any."""
        return self.n_tokens / max(1, self.n_documents) or 1.0


@dataclass(frozen=True)
class KeywordIndex(Counted):
    """Postings by term with each term's idf, (n_terms,), and the mean document length, in tokens.

    `lengths` is (n_documents,). Of a part of a corpus, idf and mean are the whole's once `take_statistics` has put them there.
    """

    idf: FloatArray
    average: float

    @property
    def bytes(self) -> int:
        """Size in plain numbers: four bytes for a row, frequency or length, eight for an idf or a start, and the terms' text."""
        return count_bytes(self.terms, self.rows.size, self.lengths.size)


def count_bytes(terms: Collection[str], n_entries: int, n_documents: int) -> int:
    """`KeywordIndex.bytes` of an index with these terms and so many entries and documents."""
    return 4 * (2 * n_entries + n_documents) + 8 * (2 * len(terms) + 1) + sum(len(term.encode()) for term in terms)


def build_index(documents: Sequence[Sequence[str]], options: Keyword) -> KeywordIndex:
    """The index over documents given as lists of tokens; TypeError where a string stands in place of a list.

    An empty corpus is refused (HarnessError); documents without a token are kept and never found.
    """
    for row, tokens in enumerate(documents):
        if isinstance(tokens, str):
            raise TypeError(f"document {row} must be a list of tokens, got a string: use the analyzer for it")
    if not documents:
        raise HarnessError("keyword index: must have at least one document, got none")
    return index_blocks((count_block(documents[part]) for part in split(len(documents))), options)


def index_blocks(blocks: Iterable[Block], options: Keyword) -> KeywordIndex:
    """The index over the documents of these blocks, in their order."""
    counted = merge(blocks)
    idf = idf_of(counted.found_in, counted.lengths.size, options)
    return KeywordIndex(**vars(counted), idf=idf, average=mean_length(counted.lengths))


def mean_length(lengths: IntArray) -> float:
    """The mean document length in tokens; 1 for a corpus without any."""
    return int(lengths.sum(dtype=np.int64)) / max(1, lengths.size) or 1.0


def statistics_of(counted: Counted) -> Statistics:
    """What these documents add to the statistics of a corpus."""
    found_in = dict(zip(counted.terms, counted.found_in.tolist(), strict=True))
    return Statistics(found_in, counted.lengths.size, int(counted.lengths.sum(dtype=np.int64)))


def merge_statistics(parts: Iterable[Statistics]) -> Statistics:
    """The statistics of the whole of which these are the parts, in the order of the documents."""
    numbers, found_in, n_documents, n_tokens = Numbers(), np.zeros(0, dtype=np.int64), 0, 0
    for part in parts:
        places = place_terms(tuple(part.found_in), numbers)
        found_in = np.concatenate([found_in, np.zeros(len(numbers) - found_in.size, dtype=np.int64)])
        found_in[places] += np.fromiter(part.found_in.values(), dtype=np.int64, count=places.size)
        n_documents, n_tokens = n_documents + part.n_documents, n_tokens + part.n_tokens
    return Statistics(dict(zip(numbers, found_in.tolist(), strict=True)), n_documents, n_tokens)


def take_statistics(index: KeywordIndex, idf: Mapping[str, float], whole: Statistics) -> KeywordIndex:
    """A part's index with the idf and the mean length of the whole."""
    values = np.fromiter((idf[term] for term in index.terms), dtype=np.float64, count=len(index.terms))
    return replace(index, idf=values, average=whole.average)


def weigh_terms(whole: Statistics, options: Keyword) -> dict[str, float]:
    """Each term's idf in a whole corpus, in the order of the terms."""
    found_in = np.fromiter(whole.found_in.values(), dtype=np.int64, count=len(whole.found_in))
    return dict(zip(whole.found_in, idf_of(found_in, whole.n_documents, options).tolist(), strict=True))


def idf_of(found_in: np.ndarray[Any, Any], n_documents: int, options: Keyword) -> FloatArray:
    """The idf of terms that are in so many documents each, (n_terms,), terms as first seen: rank-bm25's own, or Lucene's.

    Terms that are in equally many documents share an idf, so it is asked for once a number. Okapi's floor needs the mean over
    the terms, which is summed as rank-bm25 sums it: one after the other, in their order.
    """
    numbers, which = np.unique(found_in, return_inverse=True)
    if options.variant == "lucene":
        shared = [math.log(1 + (n_documents - df + 0.5) / (df + 0.5)) for df in numbers.tolist()]
    else:
        shared = [_ask_rank_bm25(df, n_documents, options.variant) for df in numbers.tolist()]
    idf = np.asarray(shared, dtype=np.float64)[which]
    if options.variant == "okapi" and idf.size:
        mean = float(np.cumsum(idf)[-1]) / idf.size  # cumsum adds one after the other
        idf[idf < 0] = options.epsilon * mean
    return idf


def _ask_rank_bm25(df: int, n_documents: int, variant: str) -> float:
    """What rank-bm25 makes of one term that is in `df` of the documents."""
    import rank_bm25

    base = {"okapi": rank_bm25.BM25Okapi, "l": rank_bm25.BM25L, "plus": rank_bm25.BM25Plus}[variant]
    asked = base.__new__(base)
    asked.corpus_size, asked.idf, asked.epsilon = n_documents, {}, 1  # with one term, the floor of a negative idf is itself
    asked._calc_idf({"": df})
    return float(asked.idf[""])


def weigh_queries(queries: Sequence[Sequence[str]], idf: Mapping[str, float]) -> list[Weighted]:
    """The queries' terms that this idf knows, with their weights; TypeError where a string stands in place of a list."""
    for q, tokens in enumerate(queries):
        if isinstance(tokens, str):
            raise TypeError(f"query {q} must be a list of tokens, got a string: use the analyzer for it")
    return [weigh(tokens, idf) for tokens in queries]


def _known_idf(index: KeywordIndex, queries: Sequence[Sequence[str]]) -> dict[str, float]:
    """The idf of the queries' terms that the index has."""
    return {token: float(index.idf[index.terms[token]]) for tokens in queries for token in tokens if token in index.terms}


def make_searcher(index: KeywordIndex, options: Keyword, k1: float | None = None, b: float | None = None) -> Searcher:
    """What searches the index by the options' BM25, at another k1 and b where they are given; for `rank`."""
    delta = DELTAS[options.variant] if options.delta is None else options.delta
    k1, b = options.k1 if k1 is None else k1, options.b if b is None else b
    return Searcher(index, Formula(options.variant, k1, b, delta, index.average))


def rank(
    index: KeywordIndex,
    queries: Sequence[Sequence[str]],
    options: Keyword,
    *,
    depth: int,
    searcher: Searcher | None = None,
    advance: Callable[[int], None] = lambda _steps: None,
) -> RankedLists:
    """Each query's best `depth` documents that contain a query term, by score, then row; (n_queries, depth).

    The lists of `bm25.rank_keyword`, bit for bit, without the postings of all queries at once. `searcher` is one that
    `make_searcher` made of this index (for another k1 and b, or to be used again); without it one is made by the options.
    """
    weighted = weigh_queries(queries, _known_idf(index, queries))
    return rank_weighted(index, weighted, options, depth=depth, searcher=searcher, advance=advance)


def rank_weighted(
    index: KeywordIndex,
    queries: Sequence[Weighted],
    options: Keyword,
    *,
    depth: int,
    searcher: Searcher | None = None,
    advance: Callable[[int], None] = lambda _steps: None,
) -> RankedLists:
    """`rank` for queries that are weighed already, by the idf of a corpus of which this index may be a part."""
    return rank_queries(searcher or make_searcher(index, options), queries, depth=depth, advance=advance)


def check_size(index: KeywordIndex, queries: Sequence[Sequence[str]]) -> None:
    """HarnessError where the postings of these queries' terms would not fit in a reasonable memory."""
    counts = index.found_in
    asked = {term: int(counts[index.terms[term]]) for tokens in queries for term in tokens if term in index.terms}
    check_entries(asked, index.lengths.size, queries)


def check_entries(found_in: Mapping[str, int], n_documents: int, queries: Sequence[Sequence[str]]) -> None:
    """`check_size` by the number of documents that each term is in."""
    entries = sum(found_in.get(term, 0) for tokens in queries for term in set(tokens))
    if entries * POSTING_BYTES > MOST_POSTINGS:
        raise HarnessError(
            f"search.space: k1 and b are searched over the postings of all prompts' terms, which must fit in"
            f" {MOST_POSTINGS / 1e9:.1f} GB, got {entries * POSTING_BYTES / 1e9:.1f} GB for {len(queries)} prompts and"
            f" {n_documents} documents; fix k1 and b, tune them on fewer prompts, or take an analyzer that leaves"
            " stop words out"
        )


def select_postings(index: KeywordIndex, queries: Sequence[Sequence[str]], options: Keyword) -> Postings:
    """The entries of the queries' terms, sorted by query, then row, then the term's place in the query."""
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
        length_ratio=index.lengths[row[order]] / index.average,
        weight=columns[3][order].astype(np.float64),
        base=base,
    )


def find_weak_terms(index: KeywordIndex, queries: Sequence[Sequence[str]]) -> list[str]:
    """The queries' terms whose idf is 0 or below: they add nothing, or take away."""
    return weak_among(_known_idf(index, queries))


def weak_among(idf: Mapping[str, float]) -> list[str]:
    """The terms whose idf is 0 or below."""
    return sorted(term for term, value in idf.items() if value <= 0)


def index_key(corpus_hash: str, options: Keyword) -> str:
    """What the index depends on, hashed: the corpus, the analyzer, the variant and its idf."""
    import importlib.metadata

    libraries = library_version(options.analyzer)
    parts = ["keyword 2", corpus_hash, options.analyzer, libraries, options.variant, options.epsilon]
    return hashlib.sha256(json.dumps([*parts, importlib.metadata.version("rank-bm25")]).encode()).hexdigest()


def save_index(index: KeywordIndex, path: Path) -> None:
    """Write the index without pickle."""
    arrays = {name: array for name, array in vars(index).items() if name not in ("terms", "average")}
    write_arrays(path, {"terms": pack_terms(index.terms), **arrays})


def pack_terms(terms: Iterable[str]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Terms as one array of UTF-8 bytes, newline-separated (no token holds one)."""
    return np.frombuffer("\n".join(terms).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack_terms(stored: np.ndarray[Any, Any]) -> list[str]:
    """What `pack_terms` packed; ValueError where it is no UTF-8."""
    text = stored.tobytes().decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


def load_index(path: Path) -> KeywordIndex | None:
    """The index from the cache; None where it is not there or is not what it should be (it is then built anew)."""
    try:
        stored = read_arrays(path)
        terms = {term: number for number, term in enumerate(unpack_terms(stored["terms"]))}
        lengths = stored["lengths"]
        index = KeywordIndex(
            terms=terms,
            indptr=stored["indptr"],
            rows=stored["rows"],
            frequencies=stored["frequencies"],
            lengths=lengths,
            idf=stored["idf"],
            average=mean_length(lengths),
        )
    except (DamagedFileError, KeyError, ValueError):
        return None
    sound = len(index.terms) == index.idf.size == index.indptr.size - 1 and index.rows.size == index.frequencies.size
    return index if sound else None
