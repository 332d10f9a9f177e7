"""BM25 scores from postings: one small function a variant.

Notation: `f` the term's frequency in the document, `l` the document's length over the average length, `k1` and `b` the
usual parameters, `delta` the lower bound of L and plus. Each function gives the factor that the idf is multiplied with.
Sources: rank-bm25 0.2.2 (`BM25Okapi`, `BM25L`, `BM25Plus`, `get_scores`), after Trotman, Puurula and Burgess (2014);
Lucene ≥ 8 `BM25Similarity` (no factor k1 + 1; document lengths are kept exact here, Lucene rounds those above 40).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace

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


ENTRIES = ("query", "row", "frequency", "length_ratio", "weight")  # of Postings, (n_entries,) each
ROUNDING = 1e-9  # of a score: more than sums of rounded numbers can be off


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


def keep_reachable(postings: Postings, *, k1: tuple[float, float], b: tuple[float, float], depth: int) -> Postings:
    """The postings without the documents that at no k1 and b within these bounds are among a query's best `depth`.

    `rank_keyword` gives the same lists, bit for bit, there. Every variant's factor rises or falls throughout with k1, and with
    b, so its extremes lie in the corners: a document's score is at most the sum of its terms' largest, at least that of their
    smallest values there. Who can never reach the `depth`-th best of the smallest is left out.
    """
    bounds = np.searchsorted(postings.query, np.arange(postings.base.size + 1))
    kept = np.ones(postings.query.size, dtype=bool)
    for start, end in itertools.pairwise(bounds.tolist()):
        part = slice(start, end)
        rows = postings.row[part]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if starts.size <= depth:
            continue
        least, most = _extremes(postings, part, k1, b)
        low, high = np.add.reduceat(least, starts), np.add.reduceat(most, starts)
        threshold = np.partition(low, low.size - depth)[low.size - depth]
        reachable = high >= threshold - ROUNDING * max(1.0, abs(float(threshold)))
        kept[part] = np.repeat(reachable, np.diff(starts, append=rows.size))
    return replace(postings, **{name: getattr(postings, name)[kept] for name in ENTRIES})


def _extremes(postings: Postings, part: slice, k1: tuple[float, float], b: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest value of these entries in the corners."""
    factor, f, l = VARIANTS[postings.variant], postings.frequency[part], postings.length_ratio[part]  # noqa: E741
    corners = [
        postings.weight[part] * factor(f, l, k1=one, b=other, delta=postings.delta)
        for one, other in itertools.product(sorted(set(k1)), sorted(set(b)))
    ]
    return functools.reduce(np.minimum, corners), functools.reduce(np.maximum, corners)


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
