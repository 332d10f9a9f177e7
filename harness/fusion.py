"""Fusion: two scored lists become lines in the semantic weight.

Notation: `w` the semantic weight; `x` a retriever's scores, (n_queries, width), NaN where its list does not hold the
document; `held` where it does; `end` the normalised score: what the document is worth when that retriever has all the
weight. A candidate's fused score is `(1 − w) · keyword_end + w · semantic_end` in float64, in that order, rounded to 12
decimals so that sums that are equal as fractions tie. By the harness's own rules a weight of exactly 0 or 1 is that
retriever alone: its own list in its own order. Engines have other rules (`harness.engines`); `Lines` says which hold.

Unless its docstring says otherwise a function gives 0 to a document that the list does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.types import BoolArray, Candidates, FloatArray, IntArray

DECIMALS = 12
BM25_FLOOR, COSINE_FLOOR = 0.0, -1.0  # the lowest scores there can be (Bruch, Gai and Ingber 2023, TM2C2)
LOWEST = -1e290  # below every logarithm and every −1/x: the value of a document whose engine's score is 0


@dataclass(frozen=True)
class Lines:
    """Every candidate's two ends, (n_queries, width); ranks are 0 where that list does not hold the document.

    `held` is False for padding: such a column is never returned. Among equal scores the lower column goes first.

    `alone`: at a weight of exactly 0 or 1 only that retriever's list is returned; otherwise the formula holds there too.
    `mean`: the line is the fused score itself (arithmetic), its logarithm (geometric) or −1 / it (harmonic); the last two
    order as the score does. `own_ends`: the values at exactly 0 and 1 where they are not the line's ends.
    `rank_constant`: set where the score is no line but 1 / (rank / weight + constant) summed over both lists (Qdrant's RRF).
    """

    keyword_end: FloatArray
    semantic_end: FloatArray
    keyword_ranks: IntArray
    semantic_ranks: IntArray
    alone: bool = True
    mean: str = "arithmetic"
    own_ends: tuple[FloatArray, FloatArray] | None = None
    rank_constant: float | None = None

    @property
    def held(self) -> BoolArray:
        """True where at least one list holds the document."""
        return (self.keyword_ranks > 0) | (self.semantic_ranks > 0)


def lowest(x: FloatArray, held: BoolArray) -> FloatArray:
    """Each list's minimum, (n_queries, 1); inf for an empty list."""
    low: FloatArray = np.where(held, x, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    return low


def highest(x: FloatArray, held: BoolArray) -> FloatArray:
    """Each list's maximum, (n_queries, 1); -inf for an empty list."""
    high: FloatArray = np.where(held, x, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    return high


def moments(x: FloatArray, held: BoolArray, *, sample: bool) -> tuple[FloatArray, FloatArray]:
    """Each list's mean and standard deviation (population, or sample), (n_queries, 1).

    The deviation is exactly 0 for a list of one value, however its mean rounds, and for an empty list.
    """
    n = held.sum(axis=1, keepdims=True)
    mean = np.where(held, x, 0.0).sum(axis=1, keepdims=True) / np.maximum(n, 1)
    squares = np.where(held, x - mean, 0.0) ** 2
    deviation = np.sqrt(squares.sum(axis=1, keepdims=True) / np.maximum(n - (1 if sample else 0), 1))
    constant = lowest(x, held) >= highest(x, held)
    return mean, np.where(constant, 0.0, deviation)


def divide(numerator: FloatArray, denominator: FloatArray, otherwise: float) -> FloatArray:
    """numerator / denominator, and `otherwise` where the denominator is 0 (or not a number)."""
    usable = np.isfinite(denominator) & (denominator != 0)
    return np.where(usable, numerator / np.where(usable, denominator, 1.0), otherwise)


def minmax(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − min) / (max − min); a constant list gives 1: it was retrieved, the list just does not tell it apart.

    The last document of a list gets 0, level with one that the list does not hold.
    """
    low = lowest(x, held)
    return np.where(held, divide(x - low, highest(x, held) - low, 1.0), 0.0)


def theoretical(x: FloatArray, held: BoolArray, *, floor: float) -> FloatArray:
    """(x − floor) / (max − floor); max = floor gives 1; a score below the floor counts as the floor (Bruch et al.)."""
    x = np.where(held, np.maximum(x, floor), floor)
    return np.where(held, divide(x - floor, highest(x, held) - floor, 1.0), 0.0)


def zscore(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − mean) / population σ; σ = 0 gives 0. A document not held gets the list's minimum: 0 would be the mean."""
    mean, deviation = moments(x, held, sample=False)
    z = np.where(held, divide(x - mean, np.broadcast_to(deviation, x.shape), 0.0), np.inf)
    minimum = z.min(axis=1, keepdims=True, initial=np.inf)
    return np.where(held, z, np.where(np.isfinite(minimum), minimum, 0.0))


def dbsf(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − (μ − 3σ)) / 6σ with the sample σ; σ = 0 gives .5 (Qdrant's distribution-based score fusion)."""
    mean, deviation = moments(x, held, sample=True)
    six = np.broadcast_to(6 * deviation, x.shape)
    return np.where(held, divide(x - (mean - 3 * deviation), six, 0.5), 0.0)


def l2(x: FloatArray, held: BoolArray) -> FloatArray:
    """x / ‖x‖; norm 0 gives 0."""
    norm = np.sqrt((np.where(held, x, 0.0) ** 2).sum(axis=1, keepdims=True))
    return np.where(held, divide(x, np.broadcast_to(norm, x.shape), 0.0), 0.0)


def raw(x: FloatArray, held: BoolArray) -> FloatArray:
    """The scores as they are: only for retrievers that share a scale."""
    return np.where(held, x, 0.0)


def reciprocal(ranks: IntArray, *, rrf_k: float) -> FloatArray:
    """1 / (rrf_k + rank), rank from 1 (Cormack, Clarke and Büttcher 2009)."""
    return np.where(ranks > 0, 1.0 / (rrf_k + np.maximum(ranks, 1)), 0.0)


def _by_score(normalise: Callable[..., FloatArray], **floors: tuple[float, float]) -> Callable[..., Lines]:
    def fuse(candidates: Candidates, rrf_k: float) -> Lines:
        ends = [
            normalise(x, ranks > 0, **{name: pair[side] for name, pair in floors.items()})
            for side, (x, ranks) in enumerate(
                [
                    (candidates.keyword_scores, candidates.keyword_ranks),
                    (candidates.semantic_scores, candidates.semantic_ranks),
                ]
            )
        ]
        return Lines(ends[0], ends[1], candidates.keyword_ranks, candidates.semantic_ranks)

    return fuse


def _rrf(candidates: Candidates, rrf_k: float) -> Lines:
    return Lines(
        reciprocal(candidates.keyword_ranks, rrf_k=rrf_k),
        reciprocal(candidates.semantic_ranks, rrf_k=rrf_k),
        candidates.keyword_ranks,
        candidates.semantic_ranks,
    )


FUSIONS: dict[str, Callable[[Candidates, float], Lines]] = {
    "minmax": _by_score(minmax),
    "theoretical": _by_score(theoretical, floor=(BM25_FLOOR, COSINE_FLOOR)),
    "zscore": _by_score(zscore),
    "dbsf": _by_score(dbsf),
    "l2": _by_score(l2),
    "none": _by_score(raw),
    "rrf": _rrf,
}


def mix(lines: Lines, weight: float | FloatArray, queries: IntArray | slice = slice(None)) -> FloatArray:
    """What orders the candidates at a weight between 0 and 1, rounded; -inf for padding, (n_rows, width).

    With `queries` one row a listed query, and `weight` one number or (n_rows, 1).
    """
    if lines.rank_constant is None:
        values = (1 - weight) * lines.keyword_end[queries] + weight * lines.semantic_end[queries]
    else:
        values = weighted_reciprocal(lines.keyword_ranks[queries], 1 - weight, lines.rank_constant) + weighted_reciprocal(
            lines.semantic_ranks[queries], weight, lines.rank_constant
        )
    return np.where(lines.held[queries], np.round(values, DECIMALS), -np.inf)


def weighted_reciprocal(ranks: IntArray, weight: float | FloatArray, rank_constant: float) -> FloatArray:
    """1 / (rank / weight + constant) for a weight above 0, 0 where the list does not hold the document."""
    return np.where(ranks > 0, 1.0 / (np.maximum(ranks, 1) / weight + rank_constant), 0.0)


def fuse(lines: Lines, semantic_weight: float) -> FloatArray:
    """Every candidate's fused score at this weight, (n_queries, width); -inf where it is not returned."""
    if semantic_weight in (0, 1):
        ranks, end = (
            (lines.keyword_ranks, lines.keyword_end) if semantic_weight == 0 else (lines.semantic_ranks, lines.semantic_end)
        )
        if lines.alone:
            return np.where(ranks > 0, end, -np.inf)
        return _as_scores(lines, _at_end(lines, semantic_weight))
    return _as_scores(lines, mix(lines, semantic_weight))


def _at_end(lines: Lines, semantic_weight: float) -> FloatArray:
    """What orders the candidates at exactly 0 or 1 where the formula holds there too."""
    side = int(semantic_weight)
    values = (lines.keyword_end, lines.semantic_end)[side] if lines.own_ends is None else lines.own_ends[side]
    return np.where(lines.held, np.round(values, DECIMALS), -np.inf)


def _as_scores(lines: Lines, values: FloatArray) -> FloatArray:
    """The engine's scores from the values that order: the exponential of a logarithm, −1 / x; 0 for LOWEST."""
    if lines.mean == "arithmetic":
        return values
    usable = np.isfinite(values) & (values > LOWEST)
    shown = np.exp(np.where(usable, values, 0.0)) if lines.mean == "geometric" else -1 / np.where(usable, values, -1.0)
    return np.where(usable, shown, np.where(np.isfinite(values), 0.0, -np.inf))


def order_keys(lines: Lines, semantic_weight: float) -> FloatArray:
    """What the order is made from, larger first, (n_queries, width); -inf where a document is not returned.

    Between 0 and 1 it is the fused score (or what orders as it does). At 0 and 1 it is the list's own rank, or the
    score where the engine's formula holds there too.
    """
    if semantic_weight not in (0, 1):
        return mix(lines, semantic_weight)
    if not lines.alone:
        return _at_end(lines, semantic_weight)
    ranks = lines.keyword_ranks if semantic_weight == 0 else lines.semantic_ranks
    return np.where(ranks > 0, -ranks.astype(np.float64), -np.inf)


def rank_columns(keys: FloatArray) -> tuple[IntArray, IntArray]:
    """Each column's rank from 1 (larger key first, then lower column: the total order), 0 where the key is -inf; and how
    many were returned, (n_queries,)."""
    order = np.argsort(-keys, axis=1, kind="stable")
    ranks = np.empty(keys.shape, dtype=np.int32)
    np.put_along_axis(ranks, order, np.arange(1, keys.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    returned = keys > -np.inf
    return np.where(returned, ranks, np.int32(0)), returned.sum(axis=1, dtype=np.int32)
