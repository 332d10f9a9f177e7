"""Has something changed since a study was made? Tests that do not cry wolf. Pure.

Notation: `now` and `then` are per-prompt scores; where both are of the same prompts they are compared in pairs, else as two
samples. `units` number the independent units (`harness.splits`). Every test is one-sided, in the direction of harm. `traffic` is
what each prompt counts (`harness.traffic`); two samples have their own, each taken relative to its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from harness.inference import SAME, mean_interval, standard_error
from harness.traffic import leave_out, weighted_mean
from harness.types import FloatArray, IntArray

LEVEL = 0.05  # false alarms of a whole watch where nothing has changed; its checks on new prompts share it
DRAWS = 9_999
NEARLY = 1e-12  # of a sum of squares: the rounding of its parts


@dataclass(frozen=True)
class Change:
    """The mean change (now minus then), its interval (None: no spread to judge by), and the one-sided p of harm."""

    mean: float
    interval: tuple[float, float] | None
    p_value: float
    paired: bool

    def harmful(self, level: float) -> bool:
        """Whether both the interval and the test speak of a fall: the interval lies below 0 and p is at most the level."""
        return self.interval is not None and self.interval[1] < 0 and self.p_value <= level


def compare_pairs(now: FloatArray, then: FloatArray, units: IntArray, traffic: FloatArray | None = None) -> Change:
    """The same prompts, now and then: the 95 % interval of the mean difference, and Student's one-sided p.

    Which prompts there are is not in question here, so identical scores are no change at all (p = 1).
    """
    difference = np.where(np.abs(now - then) <= SAME, 0.0, now - then)
    difference, units, traffic = leave_out(difference, units, traffic)
    error = standard_error(difference, units, traffic)
    mean = weighted_mean(difference, traffic)
    if error is None:
        return Change(mean, None, 1.0, True)
    p_value = float(stdtr(int(units.max()), mean / error)) if error > 0 else (0.0 if mean < 0 else 1.0)
    return Change(mean, mean_interval(difference, units, traffic=traffic), p_value, True)


def compare_samples(
    now: FloatArray,
    then: FloatArray,
    now_units: IntArray,
    then_units: IntArray,
    rng: np.random.Generator,
    *,
    level: float,
    now_traffic: FloatArray | None = None,
    then_traffic: FloatArray | None = None,
) -> Change:
    """Other prompts than then: Welch's interval at 1 − 2 · level, and the permutation test over whole units."""
    now, now_units, now_traffic = leave_out(now, now_units, now_traffic)
    then, then_units, then_traffic = leave_out(then, then_units, then_traffic)
    errors = standard_error(now, now_units, now_traffic), standard_error(then, then_units, then_traffic)
    mean = weighted_mean(now, now_traffic) - weighted_mean(then, then_traffic)
    if errors[0] is None or errors[1] is None:
        return Change(mean, None, 1.0, False)
    variances = [errors[0] ** 2, errors[1] ** 2]
    freedom = [int(now_units.max()), int(then_units.max())]
    total = sum(variances)
    if total == 0:
        interval = (mean, mean)
    else:
        df = total**2 / sum(v**2 / f for v, f in zip(variances, freedom, strict=True))
        reach = float(stdtrit(df, 1 - level)) * math.sqrt(total)
        interval = (mean - reach, mean + reach)
    p_value = permutation_test(now, then, now_units, then_units, rng, now_traffic, then_traffic)
    return Change(mean, interval, p_value, False)


def permutation_test(
    now: FloatArray,
    then: FloatArray,
    now_units: IntArray,
    then_units: IntArray,
    rng: np.random.Generator,
    now_traffic: FloatArray | None = None,
    then_traffic: FloatArray | None = None,
) -> float:
    """One-sided p that `now` has a mean as far below `then` by chance: units are dealt out anew, (1 + as low) / (1 + draws)."""
    sides = [_sum_units(now, now_units, now_traffic), _sum_units(then, then_units, then_traffic)]
    sums, sizes = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    n_now = int(now_units.max()) + 1
    observed = weighted_mean(now, now_traffic) - weighted_mean(then, then_traffic)
    as_low = 0
    for start in range(0, DRAWS, 1000):
        rows = min(1000, DRAWS - start)
        order = np.argsort(rng.random((rows, sums.size)), axis=1)[:, :n_now]
        picked, counted = sums[order].sum(axis=1), sizes[order].sum(axis=1)
        means = picked / counted - (sums.sum() - picked) / (sizes.sum() - counted)
        as_low += int((means <= observed + SAME).sum())
    return (1 + as_low) / (1 + DRAWS)


def _sum_units(scores: FloatArray, units: IntArray, traffic: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Each unit's sum of scores, and how much it counts, (n_units,) each: its prompts, or their traffic relative to the mean."""
    if traffic is None:
        traffic = np.ones(scores.size)
    share = traffic / traffic.mean()
    sums: FloatArray = np.bincount(units, weights=share * scores).astype(np.float64)
    sizes: FloatArray = np.bincount(units, weights=share).astype(np.float64)
    return sums, sizes


@dataclass(frozen=True)
class Rival:
    """The alternative that leads most clearly: its number, its mean gain, and p of the largest lead among all of them."""

    index: int
    gain: float
    interval: tuple[float, float] | None
    p_value: float


def find_rival(gains: FloatArray, units: IntArray, rng: np.random.Generator, traffic: FloatArray | None = None) -> Rival | None:
    """The alternative with the largest t, and how often chance makes any of them lead so clearly.

    `gains` (n_queries, n_alternatives) are each alternative's scores less the deployed one's. The signs of whole units are
    flipped, for all alternatives at once, and the largest t of each flip is compared (Westfall and Young's max-T), so
    that looking at many alternatives raises no false alarm. None where there is a single unit, or nothing leads.
    """
    gains, units, traffic = leave_out(gains, units, traffic)
    k = int(units.max()) + 1
    if k < 2 or gains.shape[1] == 0:
        return None
    sums: FloatArray = np.stack([_sum_units(g, units, traffic)[0] for g in gains.T], axis=1)  # (k, n_alternatives)
    sizes = _sum_units(gains[:, 0], units, traffic)[1]
    observed = _t_values(np.ones((1, k)), sums, sizes)[0]
    best = int(np.argmax(observed))
    if observed[best] <= 0:
        return None
    as_clear = 0
    for start in range(0, DRAWS, 250):
        rows = min(250, DRAWS - start)
        signs: FloatArray = (rng.integers(0, 2, size=(rows, k)) * 2 - 1).astype(np.float64)
        as_clear += int((_t_values(signs, sums, sizes).max(axis=1) >= observed[best] * (1 - NEARLY)).sum())
    gain = gains[:, best]
    interval = mean_interval(gain, units, traffic=traffic)
    return Rival(best, weighted_mean(gain, traffic), interval, (1 + as_clear) / (1 + DRAWS))


def _t_values(signs: FloatArray, sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """Mean over cluster-robust standard error, (n_draws, n_alternatives), of the units' sums with these signs (n_draws, k).

    No gain at all is 0, a gain without spread inf. The squared residuals Σ (s · sum − mean · size)² are multiplied out, so
    that no array is larger than draws × alternatives.
    """
    k, n = sizes.size, sizes.sum()
    means = np.einsum("dk,ka->da", signs, sums) / n
    squares = (sums**2).sum(axis=0)
    crossed = np.einsum("dk,ka->da", signs, sums * sizes[:, None])
    residuals = squares - 2 * means * crossed + means**2 * (sizes**2).sum()
    flat = residuals <= NEARLY * squares
    errors = np.sqrt(k / (k - 1) * np.where(flat, 1.0, residuals)) / n
    t: FloatArray = np.where(flat, np.where(means > SAME, np.inf, 0.0), means / errors)
    return t
