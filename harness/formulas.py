"""The engines' formulas: how each normalises a list, and how two lists become lines. Pure. `harness.engines` has the table.

Notation as in `harness.fusion`: `w` the semantic weight, `x` one list's scores, (n_queries, width), `held` where it holds the
document, `n` a normalised score, `r` a rank from 1. A normaliser gives 0 to a document that the list does not hold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.fusion import LOWEST, Lines, divide, highest, l2, lowest, minmax, moments, reciprocal
from harness.types import BoolArray, Candidates, FloatArray

Normalise = Callable[[FloatArray, BoolArray], FloatArray]
MakeLines = Callable[[Candidates, float], Lines]

OPENSEARCH_FLOOR = 0.001  # MIN_SCORE of its normalisers: a document that was found never scores 0
ELASTICSEARCH_EPSILON = 1e-6  # a range below it is a constant list, a norm below it keeps the raw scores


# --- the engines' own normalisers; the rest are those of harness.fusion ---------------------------------------------


def opensearch_min_max(x: FloatArray, held: BoolArray) -> FloatArray:
    """minmax, a constant list 1; a result of 0 becomes .001 (MinMaxScoreNormalizationTechnique)."""
    scaled = minmax(x, held)
    return np.where(held & (scaled == 0), OPENSEARCH_FLOOR, scaled)


def opensearch_z_score(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − μ) / sample σ, at most 0 becomes .001; σ = 0 gives the raw minimum, x = μ the raw maximum.

    (ZScoreNormalizationTechnique, which compares x and μ in single precision.)
    """
    mean, deviation = moments(x, held, sample=True)
    high, low = (np.broadcast_to(end, x.shape) for end in (highest(x, held), lowest(x, held)))
    z = divide(x - mean, np.broadcast_to(deviation, x.shape), 0.0)
    z = np.where(z <= 0, OPENSEARCH_FLOOR, z)
    z = np.where(
        np.broadcast_to(deviation, x.shape) == 0, low, np.where(x.astype(np.float32) == mean.astype(np.float32), high, z)
    )
    return np.where(held, z, 0.0)


def elasticsearch_minmax(x: FloatArray, held: BoolArray) -> FloatArray:
    """minmax; a range below 1e-6 gives 1 (MinMaxScoreNormalizer since 8.18.3 and 9.1; before, it kept the raw minimum)."""
    low, high = (np.where(np.isfinite(end), end, 0.0) for end in (lowest(x, held), highest(x, held)))
    return np.where(held, np.where(high - low < ELASTICSEARCH_EPSILON, 1.0, minmax(x, held)), 0.0)


def elasticsearch_l2_norm(x: FloatArray, held: BoolArray) -> FloatArray:
    """x / ‖x‖; a norm below 1e-6 keeps the raw score (L2ScoreNormalizer)."""
    norm = np.sqrt((np.where(held, x, 0.0) ** 2).sum(axis=1, keepdims=True))
    return np.where(held, np.where(norm < ELASTICSEARCH_EPSILON, x, l2(x, held)), 0.0)


def vespa_normalize_linear(x: FloatArray, held: BoolArray) -> FloatArray:
    """minmax, a constant list .5 (LinearNormalizer)."""
    low = lowest(x, held)
    return np.where(held, divide(x - low, highest(x, held) - low, 0.5), 0.0)


def llamaindex_relative_score(x: FloatArray, held: BoolArray) -> FloatArray:
    """minmax, a constant list 1 where its score is above 0, else 0 (QueryFusionRetriever._relative_score_fusion)."""
    low, high = lowest(x, held), highest(x, held)
    flat = np.where(high > 0, 1.0, 0.0)
    return np.where(held, np.where(high > low, minmax(x, held), flat), 0.0)


def llamaindex_dist_based_score(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − (μ − 3σ)) / 6σ with the population σ, not cut off; a constant list as in relative_score.

    LlamaIndex tells a constant list by a mean in floats: where that is rounded (.1 three times) it gives 1/3 or 2/3 instead.
    """
    mean, deviation = moments(x, held, sample=False)
    flat = np.where(highest(x, held) > 0, 1.0, 0.0)
    six = np.broadcast_to(6 * deviation, x.shape)
    return np.where(held, np.where(six > 0, divide(x - (mean - 3 * deviation), six, 0.0), flat), 0.0)


def haystack_distribution(x: FloatArray, held: BoolArray) -> FloatArray:
    """(x − (μ − 3σ)) / 6σ with the population σ; a constant list keeps its raw scores."""
    mean, deviation = moments(x, held, sample=False)
    six = np.broadcast_to(6 * deviation, x.shape)
    return np.where(held, np.where(six > 0, divide(x - (mean - 3 * deviation), six, 0.0), x), 0.0)


# --- from two normalised lists, or two lists of ranks, to lines ---------------------------------------------------------


def _normalised(candidates: Candidates, normalise: Normalise) -> tuple[FloatArray, FloatArray]:
    return (
        normalise(candidates.keyword_scores, candidates.keyword_ranks > 0),
        normalise(candidates.semantic_scores, candidates.semantic_ranks > 0),
    )


def weighted_sum(normalise: Normalise, *, alone: bool = False) -> MakeLines:
    """(1 − w) · n_keyword + w · n_semantic; a missing document adds 0 and its weight still divides."""

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        return Lines(*_normalised(candidates, normalise), candidates.keyword_ranks, candidates.semantic_ranks, alone=alone)

    return lines


def opensearch_arithmetic_mean(normalise: Normalise) -> MakeLines:
    """`weighted_sum`, but that a normalised score below 0 is left out with its weight (ArithmeticMeanScoreCombinationTechnique).

    Only a list with scores below 0 can have one (by l2, or by z_score where it is constant), and no Lucene query gives these.
    """

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        keyword, semantic = _normalised(candidates, normalise)
        return Lines(
            np.where(keyword < 0, np.maximum(semantic, 0.0), keyword),
            np.where(semantic < 0, np.maximum(keyword, 0.0), semantic),
            candidates.keyword_ranks,
            candidates.semantic_ranks,
            alone=False,
            own_ends=(np.maximum(keyword, 0.0), np.maximum(semantic, 0.0)),
        )

    return lines


def skipping_mean(normalise: Normalise, mean: str) -> MakeLines:
    """The geometric or harmonic mean over the lists that score the document above 0: a missing one is skipped, not punished.

    The lines are those of ln n or −1 / n, so a document of one list is level at every weight between 0 and 1; where
    all the weight is on a list that does not score it, its score is 0.
    """

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        own = []
        for n in _normalised(candidates, normalise):
            usable = n > 0
            value = np.log(np.where(usable, n, 1.0)) if mean == "geometric" else -1 / np.where(usable, n, 1.0)
            own.append(np.where(usable, np.maximum(value, LOWEST / 2), LOWEST))
        keyword, semantic = own
        return Lines(
            np.where(keyword > LOWEST, keyword, semantic),
            np.where(semantic > LOWEST, semantic, keyword),
            candidates.keyword_ranks,
            candidates.semantic_ranks,
            alone=False,
            mean=mean,
            own_ends=(keyword, semantic),
        )

    return lines


def unweighted_sum(normalise: Normalise) -> MakeLines:
    """n_keyword + n_semantic at every weight."""

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        total = np.add(*_normalised(candidates, normalise))
        return Lines(total, total, candidates.keyword_ranks, candidates.semantic_ranks, alone=False)

    return lines


def highest_of(normalise: Normalise) -> MakeLines:
    """The higher of the lists' normalised scores, at every weight; a missing document has the other list's."""

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        keyword, semantic = _normalised(candidates, normalise)
        keyword = np.where(candidates.keyword_ranks > 0, keyword, -np.inf)
        semantic = np.where(candidates.semantic_ranks > 0, semantic, -np.inf)
        best = np.maximum(keyword, semantic)
        best = np.where(np.isfinite(best), best, 0.0)
        return Lines(best, best, candidates.keyword_ranks, candidates.semantic_ranks, alone=False)

    return lines


def rank_sum(*, factor: float = 1.0, weighted: bool = True, alone: bool = False) -> MakeLines:
    """factor · ((1 − w) / (rrf_k + r_keyword) + w / (rrf_k + r_semantic)), a missing document adds 0.

    Without weights it is the plain sum of both reciprocals at every weight.
    """

    def lines(candidates: Candidates, rrf_k: float) -> Lines:
        ends = [factor * reciprocal(ranks, rrf_k=rrf_k) for ranks in (candidates.keyword_ranks, candidates.semantic_ranks)]
        if not weighted:
            ends = [ends[0] + ends[1]] * 2
        return Lines(ends[0], ends[1], candidates.keyword_ranks, candidates.semantic_ranks, alone=alone)

    return lines


def opensearch_rank_sum(candidates: Candidates, rrf_k: float) -> Lines:
    """The usual sum of reciprocals, each rounded to 10 decimals first, halves up (RRFNormalizationTechnique)."""
    ends = []
    for ranks in (candidates.keyword_ranks, candidates.semantic_ranks):
        n = int(rrf_k) + np.maximum(ranks.astype(np.int64), 1)
        ends.append(np.where(ranks > 0, (2 * 10**10 + n) // (2 * n) / 10**10, 0.0))
    return Lines(ends[0], ends[1], candidates.keyword_ranks, candidates.semantic_ranks, alone=False)


def absolute_rank_sum(candidates: Candidates, rrf_k: float) -> Lines:
    """1 / (r_keyword / (1 − w) + rrf_k) + 1 / (r_semantic / w + rrf_k): no line, and halving both weights changes the order."""
    ends = [reciprocal(ranks, rrf_k=rrf_k) for ranks in (candidates.keyword_ranks, candidates.semantic_ranks)]
    return Lines(ends[0], ends[1], candidates.keyword_ranks, candidates.semantic_ranks, alone=False, rank_constant=float(rrf_k))
