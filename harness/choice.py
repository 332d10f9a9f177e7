"""Which weight to run on prompts that were not seen. Pure.

The best trial is the weight that was luckiest on these prompts. This rule asks for less, in three steps, and each takes
its size from the prompts at hand:

1. *How far off can the optimum be?* Resample the prompts (whole units) and find each resample's best weight; the standard
   deviation of these is the `spread`.
2. *A plateau, not a spike.* Average the curve with a Gaussian of that width: what a weight is worth when the true curve
   lies that far to the left or right. The candidate is the mean of the maxima of the resamples' smoothed curves.
3. *As far as unseen prompts carry it.* Each resample's own candidate is scored, against home (.5, or today's weight), on
   the prompts that the resample left out; z is the mean of these gains over its standard error, `evidence` when above 0.
   From home the weight goes the share `z² / (1 + z²)` of the way to the candidate. Few labels or a flat curve: stay near
   home; a gain of three standard errors: nine tenths of the way.

benchmarks/decision.py measures what it is worth against the best weight on the prompts at hand, and against .5.

Notation: `scores` (n_queries, n_weights) each prompt's score on the interval that holds the middle of each cell of
`GRID`; `home_weight` where the weight stays without evidence; `traffic` (n_queries,) what each prompt counts in a mean, above 0
here (None: all alike). A resample draws units, its prompts keep their traffic, and its mean is a ratio of sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.inference import SAME, standard_error
from harness.splits import resample_counts
from harness.traffic import column_means, weighted_mean
from harness.types import FloatArray, IntArray

CELLS = 200
GRID: FloatArray = (np.arange(CELLS) + 0.5) / CELLS  # middles of cells: no crossing of a round weight falls on one
RESAMPLES = 200
LEVEL = 1e-9  # share of a curve's range within which two of its values are one


@dataclass(frozen=True)
class Choice:
    """The weight to run, and how it came about: the candidate, the optimum's spread, the gain's z, and the pull in [0, 1]."""

    weight: float
    candidate: float
    spread: float
    evidence: float
    pull: float


def smoothing(targets: FloatArray, width: float, grid: FloatArray = GRID) -> FloatArray:
    """Gaussian weights of the grid around each target, (n_targets, n_weights), rows sum to 1; a width of 0: the nearest cell."""
    distance = np.abs(targets[:, None] - grid[None, :])
    if width < 0.5 / CELLS:
        kernel = (distance <= distance.min(axis=1, keepdims=True) + SAME).astype(np.float64)
    else:
        kernel = np.exp(-0.5 * (distance / width) ** 2)
    weights: FloatArray = kernel / kernel.sum(axis=1, keepdims=True)
    return weights


def best_weights(means: FloatArray, grid: FloatArray = GRID) -> FloatArray:
    """Each row's best weight, the mean of all that share the maximum; means is (n_curves, n_weights)."""
    highest, lowest = means.max(axis=1, keepdims=True), means.min(axis=1, keepdims=True)
    best = means >= highest - LEVEL * (highest - lowest) - SAME
    middles: FloatArray = (best * grid).sum(axis=1) / best.sum(axis=1)
    return middles


def choose_weight(
    scores: FloatArray,
    units: IntArray,
    rng: np.random.Generator,
    home_weight: float = 0.5,
    grid: FloatArray = GRID,
    traffic: FloatArray | None = None,
) -> Choice:
    """The weight that is expected to do well on unseen prompts (see the module's text).

    `grid` (n_weights,) are the weights of the columns of `scores`, where the search may not use all of GRID. With a single
    unit there is no evidence, and the weight is home.
    """
    counts = resample_counts(units, RESAMPLES, rng)  # (n_queries, RESAMPLES)
    weighed = weigh(counts, traffic)
    spread = float(best_weights(mean_curves(weighed, scores), grid).std())
    smoothed = multiply(scores, smoothing(grid, spread, grid))
    best = best_weights(mean_curves(weighed, smoothed), grid)  # each resample's candidate
    place = np.interp(best, grid, np.arange(grid.size))  # between two cells: the line between their values
    lower, share = place.astype(int), place % 1
    at_best = (1 - share) * smoothed[:, lower] + share * smoothed[:, np.minimum(lower + 1, grid.size - 1)]
    at_home = multiply(scores, smoothing(np.asarray([home_weight]), spread, grid))[:, 0]
    left_out = counts == 0
    times = left_out.sum(axis=1)
    gains = np.where(left_out, at_best - at_home[:, None], 0.0).sum(axis=1) / np.maximum(times, 1)
    negligible = LEVEL * float(scores.max() - scores.min())
    evidence = evidence_of(gains, units, negligible, traffic) if (times > 0).all() else 0.0
    pull = 1.0 if np.isinf(evidence) else evidence**2 / (1 + evidence**2)
    candidate = float(best.mean())
    return Choice(home_weight + pull * (candidate - home_weight), candidate, spread, evidence, pull)


def weigh(counts: FloatArray, traffic: FloatArray | None) -> FloatArray:
    """How much each prompt counts in each resample, (n_queries, n_resamples): as often as it was drawn, times its traffic."""
    return counts if traffic is None else counts * (traffic / traffic.mean())[:, None]


def mean_curves(counts: FloatArray, scores: FloatArray) -> FloatArray:
    """The mean curve of every resample, (n_resamples, n_weights); `counts` is (n_queries, n_resamples)."""
    means: FloatArray = np.einsum("qr,qw->rw", counts, scores) / counts.sum(axis=0)[:, None]
    return means


def multiply(scores: FloatArray, kernel: FloatArray) -> FloatArray:
    """Every row's weighted sums, (n_rows, n_targets), for scores (n_rows, n_weights) and a kernel (n_targets, n_weights).

    By einsum: BLAS, behind `@`, adds in an order that depends on the processor, and so would the last digits.
    """
    sums: FloatArray = np.einsum("qw,tw->qt", scores, kernel)
    return sums


def evidence_of(gain: FloatArray, units: IntArray, negligible: float = SAME, traffic: FloatArray | None = None) -> float:
    """The mean gain over its standard error: 0 for a negligible gain or a single unit, inf for one without any spread."""
    mean, error = weighted_mean(gain, traffic), standard_error(gain, units, traffic)
    if error is None or mean <= negligible:
        return 0.0
    return float("inf") if error <= negligible else mean / error


def choose_setting(
    all_scores: list[FloatArray],
    units: IntArray,
    rng: np.random.Generator,
    grid: FloatArray = GRID,
    traffic: FloatArray | None = None,
) -> int:
    """Which discrete setting to run: the first within one standard error of the best.

    `all_scores` holds each setting's grid scores, the setting of home first, then in the order of preference. Each is
    judged at the maximum of its smoothed curve, all with the first one's spread.
    """
    counts = weigh(resample_counts(units, RESAMPLES, rng), traffic)
    spread = float(best_weights(mean_curves(counts, all_scores[0]), grid).std())
    kernel = smoothing(grid, spread, grid)
    tops = [int(np.argmax(multiply(column_means(scores, traffic)[None, :], kernel))) for scores in all_scores]
    at_best = [multiply(scores, kernel[top : top + 1])[:, 0] for scores, top in zip(all_scores, tops, strict=True)]
    best = at_best[int(np.argmax([weighted_mean(scores, traffic) for scores in at_best]))]
    for i, scores in enumerate(at_best):
        if evidence_of(best - scores, units, traffic=traffic) < 1:
            return i
    raise AssertionError("the best setting is within any distance of itself")


def find_interval(
    scores: FloatArray,
    at_pick: FloatArray,
    pick: float,
    units: IntArray,
    *,
    t_quantile: float,
    traffic: FloatArray | None = None,
) -> tuple[float, float]:
    """The weights around the pick that these prompts cannot tell from it.

    The widest range around the pick on whose every grid cell the mean difference to the pick has a 95 % interval that
    reaches 0. `at_pick` (n_queries,) are the pick's own scores, `t_quantile` Student's .975 quantile for the units that count.
    """
    alike = np.ones(CELLS, dtype=bool)
    for cell in range(CELLS):
        difference = scores[:, cell] - at_pick
        error = standard_error(difference, units, traffic)
        alike[cell] = error is None or abs(weighted_mean(difference, traffic)) <= t_quantile * error + SAME
    here = min(CELLS - 1, int(pick * CELLS))
    low = high = here
    while low > 0 and alike[low - 1]:
        low -= 1
    while high < CELLS - 1 and alike[high + 1]:
        high += 1
    return min(pick, low / CELLS), max(pick, (high + 1) / CELLS)
