"""The mean score as an exact function of the semantic weight. Pure.

Notation, for one query: candidate `i` is the line `f_i(w) = (1 − w) · a_i + w · b_i` (`a` the keyword end, `b` the
semantic end). A judged document `j` changes its rank only where its line crosses another's, at
`w* = A / (A − B)` with `A = a_i − a_j`, `B = b_i − b_j`; Qdrant's RRF is no line (`_cross_ranks`). So a query's score is
constant on open intervals with points between them. A *point* is a weight at which at least one query's score may change;
crossings within `SAME_POINT` of each other are one point, and those that close to 0 or 1 belong to that end. At a point,
and at 0 and 1, the score is what direct evaluation gives (rounding ties the crossing lines, and the lower column goes
first; at 0 and 1 the engine's rule holds, by the harness's own a retriever stands alone).

Profile and direct evaluation agree at the points and at every weight further than
`SAME_POINT + 1e-12 / |difference of slopes|` from a crossing; a nearer weight counts as the point.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from harness.fusion import DECIMALS, Lines, mix, order_keys
from harness.measures import Judgements, Measure, Ranking, score_queries
from harness.types import BoolArray, FloatArray, IntArray

SAME_POINT = 1e-9
ROUNDING = 0.5 * 10.0**-DECIMALS  # two ends this close are one value after rounding
SAME_SCORE = 1e-12  # sums of the same numbers in another order
AnyInts = np.ndarray[tuple[int], np.dtype[Any]]
BISECTIONS = 48  # halvings of [0, 1]: 3.6e-15
BLOCK = 2_000_000  # elements of (judged document × candidate) at work at once: memory does not grow with the prompts


@dataclass(frozen=True)
class Profiles:
    """Every query's score as a step function of the weight; nothing is averaged yet.

    `points` (n_points,) ascends from 0 to 1, both included. `first` (n_queries,) is the score on the first interval. The
    steps, sorted by query, then point, are (n_steps,): at `points[point]` the query's score is `at`, on the interval
    behind it `after`. `ends` is (2, n_queries): the scores at weights 0 and 1.
    """

    points: FloatArray
    first: FloatArray
    query: IntArray
    point: IntArray
    at: FloatArray
    after: FloatArray
    ends: FloatArray

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return int(self.first.size)

    @property
    def middles(self) -> FloatArray:
        """The middle of every interval, (n_points − 1,)."""
        return (self.points[:-1] + self.points[1:]) / 2

    def before(self) -> FloatArray:
        """The score in front of each step, (n_steps,)."""
        starts = np.ones(self.query.size, dtype=bool)
        starts[1:] = self.query[1:] != self.query[:-1]
        shifted = np.concatenate([[0.0], self.after[:-1]]) if self.after.size else self.after
        return np.where(starts, self.first[self.query], shifted)

    def sums(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted sums over the queries on every interval (n_points − 1, …) and at every point (n_points, …).

        `counts` is (n_queries,) or (n_queries, n_resamples): how much each query counts.
        """
        shape = (self.points.size, self.n_queries)
        before = self.before()
        jumps = np.asarray(sparse.csr_array((self.after - before, (self.point, self.query)), shape=shape) @ counts)
        spikes = np.asarray(sparse.csr_array((self.at - before, (self.point, self.query)), shape=shape) @ counts)
        intervals = _weigh(self.first, counts) + np.cumsum(jumps, axis=0)[:-1]
        points = np.concatenate([intervals[:1], intervals]) + spikes
        points[0], points[-1] = _weigh(self.ends[0], counts), _weigh(self.ends[1], counts)
        return intervals, points

    def scores_at(self, weights: FloatArray) -> FloatArray:
        """Each query's score at these weights, (n_queries, n_weights); a weight within SAME_POINT of a point is the point."""
        where = np.searchsorted(self.points, weights, side="right") - 1  # the interval, or the point itself
        near = np.clip(np.searchsorted(self.points, weights), 1, self.points.size - 1)
        near = np.where(weights - self.points[near - 1] < self.points[near] - weights, near - 1, near)
        on_point = np.abs(weights - self.points[near]) <= SAME_POINT
        scores = np.repeat(self.first[:, None], len(weights), axis=1)
        bounds = np.searchsorted(self.query, np.arange(self.n_queries + 1))
        for q in range(self.n_queries):
            part = slice(bounds[q], bounds[q + 1])
            steps, after = self.point[part], np.concatenate([[self.first[q]], self.after[part]])
            scores[q] = after[np.searchsorted(steps, where, side="right")]
            place = np.searchsorted(steps, near)
            hit = on_point & (place < steps.size) & (np.append(steps, -1)[place] == near)
            left = after[place]  # in front of the point: no step of this query at it changes nothing
            scores[q] = np.where(on_point, left, scores[q])
            scores[q, hit] = self.at[part][place[hit]]
        scores[:, on_point & (near == 0)] = self.ends[0][:, None]
        scores[:, on_point & (near == self.points.size - 1)] = self.ends[1][:, None]
        return scores


def _weigh(scores: FloatArray, counts: FloatArray) -> FloatArray:
    """Σ scores · counts over the queries, by numpy's own sum: BLAS adds in an order that depends on the processor."""
    total: FloatArray = (scores.reshape(-1, *(1,) * (counts.ndim - 1)) * counts).sum(axis=0)
    return total


@dataclass(frozen=True)
class Curve:
    """A mean score over the weight: constant on the interval behind each point, with a value of its own at each point.

    `points` is (n_points,) from 0 to 1, `at` (n_points,), `on` (n_points − 1,). Neighbours of one score are merged: an
    inner point differs from at least one of its neighbours.
    """

    points: FloatArray
    at: FloatArray
    on: FloatArray

    def rows(self) -> Iterator[tuple[float, float, float]]:
        """weight_from, weight_to, score from 0 to 1: points (from = to) and the open intervals between them."""
        for i, (point, score) in enumerate(zip(self.points, self.at, strict=True)):
            left = self.on[i - 1] if i else None
            right = self.on[i] if i < self.on.size else None
            if left is None or right is None or score != left or score != right:
                yield float(point), float(point), float(score)
            if right is not None:
                yield float(point), float(self.points[i + 1]), float(right)


@dataclass(frozen=True)
class Optimum:
    """The best interval of a curve: `weight` is its middle. `better_point` is a single weight that beats it, if any."""

    weight: float
    weight_from: float
    weight_to: float
    score: float
    better_point: float | None = None


def profile(lines: Lines, columns: IntArray, judgements: Judgements, measure: Measure, *, top_k: int | None = None) -> Profiles:
    """Every query's exact step function of the weight for this measure.

    `columns` (n_queries, most_judged) holds the judged documents' columns among the candidates, -1 where they are none.
    With `top_k` the list is cut there first, as an objective sees it.
    """
    return profile_cuts(lines, columns, judgements, measure, [top_k])[0]


def profile_cuts(
    lines: Lines, columns: IntArray, judgements: Judgements, measure: Measure, all_top_k: Sequence[int | None]
) -> list[Profiles]:
    """`profile` for several top_k: the crossings are followed once, the scores are taken for each."""
    measures = [measure.at(top_k or 0) for top_k in all_top_k]
    within = max(_within(m, top_k) for m, top_k in zip(measures, all_top_k, strict=True))
    ends = [_rank_end(lines, columns, weight) for weight in (0.0, 1.0)]
    of_ends = judgements
    columns, judgements = _compact(columns, judgements, _matters(measure, judgements) & (columns >= 0))
    matters = columns >= 0
    n_queries, width = lines.keyword_end.shape
    parts = [_follow(lines, columns, matters, block, within) for block in _blocks(matters.sum(axis=1) * width, n_queries)]
    first_ranks = np.concatenate([part.first_ranks for part in parts])
    events = _Events.join([part.events for part in parts])
    points, point = _cluster(events.weight)

    # one row for each (query, point) with an event: the ranks behind the point, and at it
    # events come in order of query, document and weight, and points ascend with the weights
    rows, row = np.unique(events.query.astype(np.int64) * points.size + point, return_inverse=True)
    steps = _Steps((rows // points.size).astype(np.int32), (rows % points.size).astype(np.int32), row)
    behind = _fill_forward(first_ranks, steps, events)
    at_point = _ranks_at_points(lines, columns, points, steps, events, behind)
    returned = lines.held.sum(axis=1, dtype=np.int32)
    everyone = np.arange(n_queries, dtype=np.int32)

    def score(measure: Measure, top_k: int | None) -> Profiles:
        def values(ranks: FloatArray, queries: IntArray) -> FloatArray:
            found = [np.zeros(0)]
            chunk = max(1, BLOCK // max(1, judgements.ideal_gains.shape[1]))
            for start in range(0, queries.size, chunk):
                part = queries[start : start + chunk]
                ranking = Ranking(ranks[start : start + chunk], returned[part])
                found.append(
                    score_queries(measure, ranking if top_k is None else ranking.cut(top_k), _of_queries(judgements, part))
                )
            return np.concatenate(found)

        return Profiles(
            points=points,
            first=values(first_ranks, everyone),
            query=steps.query,
            point=steps.point,
            at=values(at_point, steps.query),
            after=values(behind, steps.query),
            ends=np.stack([score_queries(measure, end if top_k is None else end.cut(top_k), of_ends) for end in ends]),
        )

    return [score(m, top_k) for m, top_k in zip(measures, all_top_k, strict=True)]


def _compact(columns: IntArray, judgements: Judgements, matters: BoolArray) -> tuple[IntArray, Judgements]:
    """Columns and judgements of the documents that matter alone, packed to the left; the others cost nothing further on.

    Totals and ideal gains stay those of all judgements.
    """
    most = max(1, int(matters.sum(axis=1).max(initial=0)))
    place = np.argsort(~matters, axis=1, kind="stable")[:, :most]
    kept = np.take_along_axis(matters, place, axis=1)

    def pick(array: BoolArray) -> BoolArray:
        return np.take_along_axis(array, place, axis=1) & kept

    def numbers(array: IntArray) -> IntArray:
        return np.where(kept, np.take_along_axis(array, place, axis=1), np.int32(-1)).astype(np.int32)

    sources = None if judgements.sources is None else numbers(judgements.sources)
    gains = np.where(kept, np.take_along_axis(judgements.gains, place, axis=1), 0.0)
    packed = replace(judgements, judged=pick(judgements.judged), relevant=pick(judgements.relevant), gains=gains, sources=sources)
    return numbers(columns), packed


def _within(measure: Measure, top_k: int | None) -> float:
    """The last rank that this measure reads."""
    cutoff = np.inf if measure.cutoff is None else float(measure.cutoff)
    return min(cutoff, np.inf if top_k is None else float(top_k))


def _rank_end(lines: Lines, columns: IntArray, weight: float) -> Ranking:
    """The judged documents' ranks where one retriever stands alone."""
    keys = order_keys(lines, weight)
    query, judged = np.nonzero(columns >= 0)
    column = columns[query, judged]
    ranks = np.full(columns.shape, np.inf)
    own = keys[query, column]
    ranks[query, judged] = np.where(own > -np.inf, 1.0 + _count_above(keys[query], own, column), np.inf)
    return Ranking(ranks, (keys > -np.inf).sum(axis=1, dtype=np.int32))


def _count_above(keys: FloatArray, own: FloatArray, column: AnyInts) -> AnyInts:
    """How many of each row's keys stand before the key `own` in this column: larger ones, and equal ones in a lower column."""
    others = np.arange(keys.shape[1])
    above: AnyInts = ((keys > own[:, None]) | ((keys == own[:, None]) & (others < column[:, None]))).sum(axis=1)
    return above


def _matters(measure: Measure, judgements: Judgements) -> BoolArray:
    """The judged documents whose ranks this measure reads."""
    if measure.name == "nDCG":
        return judgements.gains > 0
    return judgements.judged if measure.name == "Judged" else judgements.relevant


def _of_queries(judgements: Judgements, queries: IntArray) -> Judgements:
    return replace(
        judgements,
        judged=judgements.judged[queries],
        relevant=judgements.relevant[queries],
        relevant_total=judgements.relevant_total[queries],
        gains=judgements.gains[queries],
        ideal_gains=judgements.ideal_gains[queries],
        sources=None if judgements.sources is None else judgements.sources[queries],
    )


def _blocks(sizes: IntArray, n_queries: int) -> Iterator[slice]:
    """Runs of queries whose sizes add up to at most BLOCK (a single query may be larger)."""
    start, total = 0, 0
    for i in range(n_queries):
        if i > start and total + sizes[i] > BLOCK:
            yield slice(start, i)
            start, total = i, 0
        total += int(sizes[i])
    yield slice(start, n_queries)


@dataclass(frozen=True)
class _Events:
    """Crossings that may change a score, (n_events,), sorted by query, judged document, weight: the query, the document's
    place in the qrels, the weight, and its rank behind the crossing."""

    query: IntArray
    judged: IntArray
    weight: FloatArray
    rank: IntArray

    @staticmethod
    def join(parts: list[_Events]) -> _Events:
        return _Events(*(np.concatenate(arrays) for arrays in zip(*(vars(part).values() for part in parts), strict=True)))


@dataclass(frozen=True)
class _Part:
    first_ranks: FloatArray
    events: _Events


def _follow(lines: Lines, columns: IntArray, matters: BoolArray, block: slice, within: float) -> _Part:
    """The judged documents' ranks on the first interval, and the crossings that touch a rank of at most `within`."""
    query, judged = np.nonzero(matters[block])
    query = query + block.start
    column = columns[query, judged]  # of the judged document; from here on one row a judged document: (p, width)
    starts_above, p, when, change = (_cross_lines if lines.rank_constant is None else _cross_ranks)(lines, query, column)
    starts_above[np.arange(column.size), column] = False  # a document is not above itself
    first = 1 + starts_above.sum(axis=1)
    first_ranks = np.full((block.stop - block.start, matters.shape[1]), np.inf)
    first_ranks[query - block.start, judged] = first

    always_above = starts_above.sum(axis=1) - np.bincount(p[change < 0], minlength=column.size)
    near = always_above[p] < within  # the others stay beyond `within` whatever the weight
    p, when, change = p[near], when[near], change[near]
    order = _by_row_and_weight(p, when)
    p, when, change = p[order], when[order], change[order]
    total = np.cumsum(change)
    offset = np.concatenate([[0], total])[np.searchsorted(p, np.arange(column.size))]
    rank = first[p] + total - offset[p]
    kept = _lowest_at_points(p, when, rank, change) <= within
    return _Part(
        first_ranks,
        _Events(
            query[p[kept]].astype(np.int32),
            judged[p[kept]].astype(np.int32),
            when[kept],
            rank[kept].astype(np.int32),
        ),
    )


def _by_row_and_weight(p: AnyInts, when: FloatArray) -> AnyInts:
    """The order by row, then weight. Among equal weights of one row any order will do: what counts is the rank behind all."""
    order = np.argsort(when)
    rows = p[order]
    small = rows.astype(np.uint16) if rows.size and rows.max() < 1 << 16 else rows  # numpy sorts 16 bits by their digits
    by_row: AnyInts = order[np.argsort(small, kind="stable")]
    return by_row


def _cross_lines(lines: Lines, query: AnyInts, column: AnyInts) -> tuple[BoolArray, AnyInts, FloatArray, AnyInts]:
    """Which candidates are above each judged document at first, (n_judged, width), and its crossings, (n_crossings,).

    A crossing has the judged document's row, the weight, and what it does to its rank: 1 where the other rises above it.
    """
    held = lines.held[query]
    a = lines.keyword_end[query] - lines.keyword_end[query, column][:, None]
    b = lines.semantic_end[query] - lines.semantic_end[query, column][:, None]
    a_above, b_above = a > 0, b > 0
    tied_row, tied_column = np.nonzero((np.abs(a) <= ROUNDING) & (np.abs(b) <= ROUNDING))
    lower = tied_column < column[tied_row]
    a_above[tied_row, tied_column] = b_above[tied_row, tied_column] = lower
    starts_above = a_above & held
    p, i = np.nonzero((a_above != b_above) & held)
    a_i, rises = a[p, i], b_above[p, i]
    spread = a_i - b[p, i]
    weight = a_i / np.where(spread == 0, 1.0, spread)
    at_zero = weight < SAME_POINT
    starts_above[p[at_zero], i[at_zero]] = rises[at_zero]
    inside = ~at_zero & (weight <= 1 - SAME_POINT)
    return starts_above, p[inside], weight[inside], np.where(rises[inside], 1, -1)


def _cross_ranks(lines: Lines, query: AnyInts, column: AnyInts) -> tuple[BoolArray, AnyInts, FloatArray, AnyInts]:
    """As `_cross_lines` where a score is 1 / (r / (1 − w) + c) + 1 / (s / w + c), r and s the ranks (Qdrant's RRF).

    With u = 1 − w the difference of two documents, times all its denominators, is a cubic in w:
    u · (r_j − r_i) · B_i B_j + w · (s_j − s_i) · A_i A_j, A = r + c u, B = s + c w; in a list that does not hold a document
    its A (B) is 1 and the difference is that of 1 and 0. Where one document leads in both lists it has no root; else it
    has one or three, found by bisection between the cubic's turning points.
    """
    c = float(lines.rank_constant or 0.0)
    held = lines.held[query]
    r, s = lines.keyword_ranks[query].astype(np.float64), lines.semantic_ranks[query].astype(np.float64)
    own = np.arange(column.size)
    r_j, s_j = (np.broadcast_to(ranks[own, column][:, None], ranks.shape) for ranks in (r, s))
    lead_r, lead_s = _lead(r, r_j), _lead(s, s_j)  # above 0 where the candidate leads the judged document in that list
    starts_above = held & ((lead_r > 0) | ((lead_r == 0) & (lead_s > 0)))
    p, i = np.nonzero(held & (lead_r * lead_s < 0))
    r, r_j, s, s_j, lead_r, lead_s = (array[p, i] for array in (r, r_j, s, s_j, lead_r, lead_s))

    def difference(w: FloatArray) -> FloatArray:
        u = 1 - w
        below_r = np.where(r > 0, r + c * u, 1.0) * np.where(r_j > 0, r_j + c * u, 1.0)
        below_s = np.where(s > 0, s + c * w, 1.0) * np.where(s_j > 0, s_j + c * w, 1.0)
        value: FloatArray = u * lead_r * below_s + w * lead_s * below_r
        return value

    bounds = [np.zeros(p.size), *_turning_points(difference, p.size), np.ones(p.size)]
    parts = []
    for low, high in itertools.pairwise(bounds):
        before, after = difference(low), difference(high)
        crosses = (before > 0) != (after > 0)
        rises = (after > 0).astype(np.int64) * 2 - 1
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            same = (difference(middle) > 0) == (before > 0)
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        parts.append((p[crosses], ((low + high) / 2)[crosses], rises[crosses]))
    p, when, change = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return starts_above, p, when, change


def _lead(ranks: FloatArray, other: FloatArray) -> FloatArray:
    """By how much a rank leads another (other − rank); 1 or −1 against a document that the list does not hold."""
    lead: FloatArray = np.where((ranks > 0) & (other > 0), other - ranks, np.sign(ranks) - np.sign(other))
    return lead


def _turning_points(cubic: Callable[[FloatArray], FloatArray], n: int) -> list[FloatArray]:
    """Where each of n cubics turns inside [0, 1], ascending, two each; a turn outside is at the nearer end.

    The coefficients come from the values at 0, 1/3, 2/3 and 1.
    """
    at = [cubic(np.full(n, w)) for w in (0.0, 1 / 3, 2 / 3, 1.0)]
    x3 = 4.5 * (at[3] - 3 * at[2] + 3 * at[1] - at[0])
    x2 = 4.5 * (2 * at[0] - 5 * at[1] + 4 * at[2] - at[3])
    x1 = -5.5 * at[0] + 9 * at[1] - 4.5 * at[2] + at[3]
    root = np.sqrt(np.maximum(4 * x2**2 - 12 * x3 * x1, 0.0))
    q = -0.5 * (2 * x2 + np.where(x2 < 0, -root, root))  # the stable form of both roots of 3 x3 w² + 2 x2 w + x1
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.stack([np.nan_to_num(q / (3 * x3)), np.nan_to_num(x1 / q)])
    ordered: FloatArray = np.sort(np.clip(turns, 0.0, 1.0), axis=0)
    return [ordered[0], ordered[1]]


def _lowest_at_points(p: AnyInts, when: FloatArray, rank: AnyInts, change: AnyInts) -> AnyInts:
    """For each crossing, the lowest rank its document can have at its point: all who fall behind there have, nobody passed."""
    if p.size == 0:
        return rank
    _, cluster = _cluster(when)
    fresh = np.ones(p.size, dtype=bool)
    fresh[1:] = (np.diff(p) != 0) | (np.diff(cluster) != 0)
    starts = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    before = rank[starts] - change[starts]
    falling = np.add.reduceat((change < 0).astype(np.int64), starts)
    lowest: AnyInts = (before - falling)[group]
    return lowest


def _cluster(weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """0, the points that these crossings make, and 1; and each crossing's point. A point is the median of its crossings."""
    order = np.argsort(weights)  # equal weights are one point, in whatever order
    ordered = weights[order]
    fresh = np.ones(ordered.size, dtype=bool)
    fresh[1:] = np.diff(ordered) > SAME_POINT
    number = np.cumsum(fresh)  # from 1: point 0 is the weight 0
    starts = np.flatnonzero(fresh)
    sizes = np.diff(np.append(starts, ordered.size))
    middle = ordered[starts + (sizes - 1) // 2] if starts.size else ordered
    point = np.empty(weights.size, dtype=np.int32)
    point[order] = number
    return np.concatenate([[0.0], middle, [1.0]]), point


@dataclass(frozen=True)
class _Steps:
    """Where a query's score may change, (n_steps,): its query and point; and each event's step, (n_events,)."""

    query: IntArray
    point: IntArray
    of_event: np.ndarray[tuple[int], np.dtype[np.intp]]


def _fill_forward(first_ranks: FloatArray, steps: _Steps, events: _Events) -> FloatArray:
    """The ranks behind every step, (n_steps, most_judged): a document keeps its rank until its next event."""
    step_query, row = steps.query, steps.of_event
    n_steps, most = step_query.size, first_ranks.shape[1]
    last = np.full((n_steps, most), -1, dtype=np.int64)
    last[row, events.judged] = np.arange(row.size)  # of several events at one point the last one stays
    starts = np.ones(n_steps, dtype=bool)
    starts[1:] = step_query[1:] != step_query[:-1]
    begin = np.maximum.accumulate(np.where(starts, np.arange(n_steps), 0))
    seen_at = np.maximum.accumulate(np.where(last >= 0, np.arange(n_steps)[:, None], -1), axis=0)
    fresh = seen_at >= begin[:, None]  # an event of this query, not of the one before
    event = last[np.maximum(seen_at, 0), np.arange(most)[None, :]]
    return np.where(fresh, events.rank[np.maximum(event, 0)] if row.size else 0.0, first_ranks[step_query])


def _ranks_at_points(
    lines: Lines, columns: IntArray, points: FloatArray, steps: _Steps, events: _Events, behind: FloatArray
) -> FloatArray:
    """The ranks at every step's point: by direct evaluation for the documents that cross there, else as behind it."""
    ranks = behind.copy()
    pairs = np.unique(steps.of_event.astype(np.int64) * columns.shape[1] + events.judged)
    chunk = max(1, BLOCK // max(1, lines.keyword_end.shape[1]))
    for start in range(0, pairs.size, chunk):
        step, judged = np.divmod(pairs[start : start + chunk], columns.shape[1])
        query, weight = steps.query[step], points[steps.point[step]][:, None]
        column = columns[query, judged]
        scores = mix(lines, weight, query)
        ranks[step, judged] = 1 + _count_above(scores, scores[np.arange(column.size), column], column)
    return ranks


def mean_curve(profiles: Profiles, traffic: FloatArray | None = None) -> Curve:
    """The mean over the queries, by their traffic where there is one; neighbours of one score merged."""
    n = profiles.n_queries
    on, at = profiles.sums(np.full(n, 1.0 / n) if traffic is None else traffic / traffic.sum())
    return merge(profiles.points, at, on)


def merge(points: FloatArray, at: FloatArray, on: FloatArray) -> Curve:
    """The same curve without the inner points that differ from neither neighbour (by more than SAME_SCORE)."""
    inner = np.arange(1, points.size - 1)
    same = (np.abs(at[inner] - on[inner - 1]) <= SAME_SCORE) & (np.abs(at[inner] - on[inner]) <= SAME_SCORE)
    kept = np.concatenate([[0], inner[~same], [points.size - 1]]).astype(np.intp)
    merged_on, merged_at = on[kept[:-1]].copy(), at[kept].copy()
    for values in (merged_at[:-1], merged_at[1:]):  # a score that differs by rounding alone is the neighbour's
        close = np.abs(values - merged_on) <= SAME_SCORE
        values[close] = merged_on[close]
    return Curve(points[kept], merged_at, merged_on)


def restrict(curve: Curve, low: float, high: float) -> Curve:
    """The curve between these two weights, low < high; a cut through an interval becomes a point of its score."""
    if low <= 0 and high >= 1:
        return curve
    inside = (curve.points > low) & (curve.points < high)
    first, last = np.searchsorted(curve.points, [low, high], side="right") - 1  # the intervals that hold the ends
    on_low, on_high = low == curve.points[first], high == curve.points[last]
    last_on = last - 1 if on_high else last
    points = np.concatenate([[low], curve.points[inside], [high]])
    at_low = curve.at[first] if on_low else curve.on[first]
    at_high = curve.at[last] if on_high else curve.on[last]
    on = curve.on[first : last_on + 1]
    return Curve(points, np.concatenate([[at_low], curve.at[inside], [at_high]]), on)


def find_optimum(curve: Curve) -> Optimum:
    """The best interval at least SAME_POINT wide; among equals the widest, then the lowest."""
    width = np.diff(curve.points)
    wide = width >= min(SAME_POINT, float(width.max()))
    best = curve.on[wide].max()
    level = wide & (curve.on >= best - SAME_SCORE)
    at = int(np.flatnonzero(level)[np.argmax(width[level])])
    low, high = float(curve.points[at]), float(curve.points[at + 1])
    point = int(np.argmax(curve.at))
    better = float(curve.points[point]) if curve.at[point] > best + SAME_SCORE else None
    return Optimum((low + high) / 2, low, high, float(curve.on[at]), better)


def find_plateau(curve: Curve, loss: float) -> list[tuple[float, float]]:
    """The weights whose score is within `loss` of the best interval's, as closed ranges, ascending."""
    enough = find_optimum(curve).score - loss - SAME_SCORE
    ranges: list[tuple[float, float]] = []
    joined = False
    for low, high, score in curve.rows():
        if score >= enough:
            if joined:
                ranges[-1] = (ranges[-1][0], high)
            else:
                ranges.append((low, high))
        joined = score >= enough
    return ranges
