"""BM25 scores from postings: one small function a variant.

Notation: `f` the term's frequency in the document, `l` the document's length over the average length, `k1` and `b` the
usual parameters, `delta` the lower bound of L and plus. Each function gives the factor that the idf is multiplied with.
Sources: rank-bm25 0.2.2 (`BM25Okapi`, `BM25L`, `BM25Plus`, `get_scores`), after Trotman, Puurula and Burgess (2014);
Lucene ≥ 8 `BM25Similarity` (no factor k1 + 1; document lengths are kept exact here, Lucene rounds those above 40).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.types import FloatArray, IntArray, Postings, RankedLists


def okapi(f: FloatArray, l: FloatArray, *, k1: float, b: float, delta: float) -> FloatArray:  # noqa: E741 – the paper's symbol
    """f (k1 + 1) / (f + k1 (1 − b + b l))."""
    return f * (k1 + 1) / (f + k1 * (1 - b + b * l))


def bm25l(f: FloatArray, l: FloatArray, *, k1: float, b: float, delta: float) -> FloatArray:  # noqa: E741
    """f (k1 + 1) (c + δ) / (k1 + c + δ) with c = f / (1 − b + b l): rank-bm25's form, with its extra factor f."""
    c = f / (1 - b + b * l)
    return f * (k1 + 1) * (c + delta) / (k1 + c + delta)


def plus(f: FloatArray, l: FloatArray, *, k1: float, b: float, delta: float) -> FloatArray:  # noqa: E741
    """f (k1 + 1) / (k1 (1 − b + b l) + f); the δ that every document gets is added per query (`Postings.base`)."""
    return f * (k1 + 1) / (k1 * (1 - b + b * l) + f)


def lucene(f: FloatArray, l: FloatArray, *, k1: float, b: float, delta: float) -> FloatArray:  # noqa: E741
    """f / (f + k1 (1 − b + b l))."""
    return f / (f + k1 * (1 - b + b * l))


VARIANTS: dict[str, Callable[..., FloatArray]] = {"okapi": okapi, "l": bm25l, "plus": plus, "lucene": lucene}


def score_documents(postings: Postings, *, k1: float, b: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Query, row and BM25 score of every document that contains a query term, sorted by query, then row; (n,) each."""
    factor = VARIANTS[postings.variant](postings.frequency, postings.length_ratio, k1=k1, b=b, delta=postings.delta)
    first = np.ones(postings.query.size, dtype=bool)  # the first entry of each (query, row)
    first[1:] = (np.diff(postings.query) != 0) | (np.diff(postings.row) != 0)
    starts = np.flatnonzero(first)
    query = postings.query[starts]
    scores = np.add.reduceat(postings.weight * factor, starts) if starts.size else np.zeros(0)
    if postings.variant == "plus":
        scores = scores + postings.delta * postings.base[query]
    return query, postings.row[starts], scores


def rank_keyword(postings: Postings, *, k1: float, b: float, depth: int) -> RankedLists:
    """Each query's best `depth` documents that contain a query term, by score, then row; (n_queries, depth)."""
    n_queries = postings.base.size
    query, row, scores = score_documents(postings, k1=k1, b=b)
    bounds = np.searchsorted(query, np.arange(n_queries + 1))
    lists = RankedLists(np.full((n_queries, depth), -1, dtype=np.int32), np.full((n_queries, depth), np.nan, dtype=np.float64))
    for i in range(n_queries):
        part = slice(bounds[i], bounds[i + 1])
        best = best_first(scores[part], depth)
        lists.rows[i, : best.size] = row[part][best]
        lists.scores[i, : best.size] = scores[part][best]
    return lists


def best_first(scores: FloatArray, depth: int) -> NDIndex:
    """Positions of the best `depth` scores, best first; among equals the lower position, also at the cut."""
    if scores.size > depth:
        threshold = np.partition(scores, scores.size - depth)[scores.size - depth]
        above = np.flatnonzero(scores > threshold)
        equal = np.flatnonzero(scores == threshold)[: depth - above.size]
        kept = np.sort(np.concatenate([above, equal]))
    else:
        kept = np.arange(scores.size)
    return kept[np.argsort(-scores[kept], kind="stable")]


NDIndex = np.ndarray[tuple[int], np.dtype[np.intp]]
