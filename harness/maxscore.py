"""Each query's best documents from an index's postings, without scoring every document that holds a query term. Pure.

MaxScore (Turtle and Flood, 1995), in arrays. Notation: `weight` is a term's idf times its count in the query, `bound` the most
that the term can add to a document's score: its weight times BM25's factor at the term's largest frequency in the shortest
document (each variant's factor rises with the frequency and falls with the length). Terms are taken in order of their bounds,
largest first, and added up in single precision for every document that has them. Once the `depth`-th best sum is above what all
terms that are left can add together, no new document can come in: the long lists of common words are then only looked up for the
documents that are still in question. What is left at last, a few more than `depth`, is scored exactly, by the formula of
`bm25.score_documents`, term by term in the order of the query: the lists are those of `bm25.rank_keyword`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.bm25 import VARIANTS, best_first, score_documents
from harness.postings import Counted
from harness.types import FloatArray, IntArray, Postings, RankedLists

SLACK = 1e-4  # of the sum of the bounds: more than sums in single precision can be off
REMEMBERED = 128 << 20  # bytes of factors that are kept for the next query
FEW = 4  # times `depth` documents are scored exactly at once
DENSE = 20  # a term in more than a DENSEth of all documents is added to all of them: faster than to those that have it
SAMPLE = 1 << 13  # documents of one list give the first threshold
LONG = 8  # a list of a LONGth of all documents is long: before it is added, the sums so far are looked at
SEARCHED = 32  # entries of a list can be added in the time of one binary search in it
Rows = np.ndarray[Any, np.dtype[np.intp]]
Singles = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Weighted:
    """A query's terms in the order of their first place in it, with their weights; `base` is the sum of all weights.

    Terms that the corpus lacks are left out.
    """

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    base: float


def weigh(query: Sequence[str], idf_of: Mapping[str, float]) -> Weighted:
    """The query's terms with idf times count."""
    counts: dict[str, int] = {}
    for token in query:
        counts[token] = counts.get(token, 0) + 1
    weights = {term: float(idf_of[term]) * count for term, count in counts.items() if term in idf_of}
    base = 0.0
    for weight in weights.values():
        base += weight
    return Weighted(tuple(weights), tuple(weights.values()), base)


@dataclass(frozen=True)
class Formula:
    """BM25 with its parameters; `average` is the mean document length of the whole corpus, in tokens."""

    variant: str
    k1: float
    b: float
    delta: float
    average: float


@dataclass(frozen=True)
class Listed:
    """A query's term with its weight, where its postings are, and the most (or least) that it can add to a score."""

    term: int
    weight: float
    part: slice
    bound: float

    @property
    def size(self) -> int:
        """In how many documents it is."""
        return int(self.part.stop - self.part.start)


class Searcher:
    """Searches the postings of a corpus, or of a part of one, by one formula; keeps some arrays between queries."""

    def __init__(self, counted: Counted, formula: Formula) -> None:
        self.counted, self.formula = counted, formula
        self.n_documents = counted.lengths.size
        self.length_ratio = counted.lengths / formula.average
        filled = self.length_ratio[counted.lengths > 0]
        self.shortest = float(filled.min()) if filled.size else 1.0
        self.single_ratio = self.length_ratio.astype(np.float32)
        self.sums: Singles = np.zeros(self.n_documents, dtype=np.float32)
        self.spare = np.empty_like(self.sums)
        self.bounds: dict[int, float] = {}
        self.factors: dict[int, tuple[Rows | None, Singles]] = {}
        self.room = REMEMBERED

    def rank(self, query: Weighted, depth: int) -> tuple[IntArray, FloatArray]:
        """Rows and scores of the best `depth` documents that hold a query term, by score, then row."""
        known = [
            Listed(term, weight, self._slice(term), weight * self._bound(term))
            for name, weight in zip(query.terms, query.weights, strict=True)
            if (term := self.counted.terms.get(name)) is not None
        ]
        if not known:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        rows = self._candidates(known, depth)
        scores = self._score(known, rows, query.base)
        best = best_first(scores, depth)
        return rows[best], scores[best]

    def _factor(self, f: Any, ratio: Any) -> Any:
        """BM25's factor of the formula."""
        formula = self.formula
        return VARIANTS[formula.variant](f, ratio, k1=formula.k1, b=formula.b, delta=formula.delta)

    def _slice(self, term: int) -> slice:
        return slice(int(self.counted.indptr[term]), int(self.counted.indptr[term + 1]))

    def _bound(self, term: int) -> float:
        """The largest factor that the term can have in a document."""
        if term not in self.bounds:
            most = float(self.counted.frequencies[self._slice(term)].max())
            self.bounds[term] = float(self._factor(most, self.shortest))
        return self.bounds[term]

    def _factors(self, one: Listed) -> tuple[Rows | None, Singles]:
        """A term's rows and their factors in single precision; of a long list the factors of all documents, and no rows."""
        found = self.factors.get(one.term)
        if found is None:
            rows: Rows | None = self.counted.rows[one.part].astype(np.intp)
            factors = self._factor(self.counted.frequencies[one.part].astype(np.float32), self.single_ratio[rows])
            if one.size * DENSE > self.n_documents:
                everywhere = np.zeros(self.n_documents, dtype=np.float32)
                everywhere[rows] = factors
                rows, factors = None, everywhere
            found = rows, factors
            size = factors.nbytes + (0 if rows is None else rows.nbytes)
            if size <= self.room:
                self.room -= size
                self.factors[one.term] = found
        return found

    def _add(self, one: Listed) -> None:
        """Add the term to the sums of the documents that have it."""
        rows, factors = self._factors(one)
        if rows is None:
            self.sums += np.multiply(factors, np.float32(one.weight), out=self.spare)
        else:
            self.sums[rows] += np.float32(one.weight) * factors

    def _candidates(self, known: Sequence[Listed], depth: int) -> IntArray:
        """The rows, ascending, that may be among the best `depth`; all that are, and mostly a few more."""
        # what takes away comes first: from then on sums only grow
        order = sorted(known, key=lambda one: (one.weight >= 0, -one.bound))
        slack = SLACK * sum(abs(one.bound) for one in order)
        left = sum(max(one.bound, 0.0) for one in order)  # what the terms that are not added yet can add together
        added, sums = 0.0, self.sums
        sums.fill(0.0)
        # documents of the first list that is long enough: the depth-th best of them is no better than that of all
        first = next((one.part for one in order if one.size >= depth and one.weight > 0), None)
        some = None if first is None else self.counted.rows[first][: max(SAMPLE, depth)]
        rows: IntArray | None = None  # of the documents that are still in question; None: of all
        for one in order:
            if rows is None and some is not None and added > left and one.size * LONG > self.n_documents:
                threshold = nth_best(sums[some], depth)
                if threshold - slack > left:  # no other document can come in
                    rows = np.flatnonzero(sums >= threshold - left - slack).astype(np.int32)
            if rows is None or rows.size * SEARCHED > one.size:
                self._add(one)
            elif rows.size > FEW * depth:
                frequencies, has = self._look_up(one, rows)
                found = rows[has]
                factor = self._factor(frequencies[has].astype(np.float32), self.single_ratio[found])
                sums[found] += np.float32(one.weight) * factor
            else:
                break  # few enough
            left -= max(one.bound, 0.0)
            added += max(one.bound, 0.0)
            if rows is not None:
                kept = sums[rows]
                rows = rows[kept >= nth_best(kept, depth) - max(left, 0.0) - slack]
        if rows is not None:
            return rows
        threshold = nth_best(sums if some is None else sums[some], depth)
        if threshold - slack > 0:  # all of these have a term: what has none has the sum 0
            rows = np.flatnonzero(sums >= threshold - slack).astype(np.int32)
            kept = sums[rows]
            return rows[kept >= nth_best(kept, depth) - slack]
        return np.unique(np.concatenate([self.counted.rows[one.part] for one in known]))

    def _look_up(self, one: Listed, rows: IntArray) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.bool_]]]:
        """The term's frequency in each of these documents, and whether it is there."""
        listed = self.counted.rows[one.part]
        place = np.searchsorted(listed, rows)
        np.minimum(place, listed.size - 1, out=place)
        return self.counted.frequencies[one.part][place], listed[place] == rows

    def _score(self, known: Sequence[Listed], rows: IntArray, base: float) -> FloatArray:
        """The exact scores of these rows, which ascend and hold a query term each."""
        frequency = np.empty((rows.size, len(known)))
        has = np.empty((rows.size, len(known)), dtype=bool)
        for i, one in enumerate(known):
            frequency[:, i], has[:, i] = self._look_up(one, rows)
        row, term = np.nonzero(has)  # by row, then place in the query
        postings = Postings(
            variant=self.formula.variant,
            delta=self.formula.delta,
            query=np.zeros(row.size, dtype=np.int32),
            row=rows[row],
            frequency=frequency[has],
            length_ratio=self.length_ratio[rows[row]],
            weight=np.asarray([one.weight for one in known])[term],
            base=np.asarray([base]),
        )
        return score_documents(postings, k1=self.formula.k1, b=self.formula.b)[2]


def nth_best(scores: Singles, n: int) -> float:
    """The n-th largest score; with fewer than n, none is good enough to leave others out."""
    if scores.size < n:
        return -np.inf
    return float(np.partition(scores, scores.size - n)[scores.size - n])


def rank_queries(
    searcher: Searcher,
    queries: Sequence[Weighted],
    *,
    depth: int,
    advance: Callable[[int], None] = lambda _steps: None,
) -> RankedLists:
    """Each query's best `depth` documents that hold a query term, by score, then row; (n_queries, depth)."""
    lists = RankedLists(np.full((len(queries), depth), -1, dtype=np.int32), np.full((len(queries), depth), np.nan))
    for i, query in enumerate(queries):
        rows, scores = searcher.rank(query, depth)
        lists.rows[i, : rows.size], lists.scores[i, : rows.size] = rows, scores
        advance(1)
    return lists
