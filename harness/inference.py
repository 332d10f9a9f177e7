"""What per-prompt scores say about prompts that were not seen: intervals, tests, and how many labels it takes. Pure.

Notation: `d` (n_queries,) per-prompt scores or differences; `units` the unit of each prompt (`harness.splits`); k the number of
units. With one prompt a unit all of it is the usual one-sample statistics; with clusters the standard error is the
cluster-robust one, se² = k / (k − 1) · Σ over units (Σ over its prompts (d − mean))² / n², with k − 1 degrees of freedom.

With `traffic` w (n_queries,) the mean is Σ w·d / Σ w, a ratio of two sums over the units. Its standard error is the linearised
one of a ratio (Cochran 1977, section 6; the weights are taken as given): in the place of d − mean stands the influence
w · (d − mean) / w̄, w̄ the mean weight. With equal weights that is the same number. Prompts of weight 0 are left out, and so
are units of nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from harness.traffic import leave_out, weighted_mean
from harness.types import FloatArray, IntArray

SAME = 1e-12  # a difference of sums of the same numbers
FEWEST_DIFFERING = 10  # below this many differing units no interval is to be believed
FLIPS = 9_999


def standard_error(d: FloatArray, units: IntArray, traffic: FloatArray | None = None) -> float | None:
    """The standard error of the mean; None with a single unit, which has no spread."""
    d, units, traffic = leave_out(d, units, traffic)
    k = int(units.max()) + 1
    if k < 2:
        return None
    centred = d - weighted_mean(d, traffic)
    influence = centred if traffic is None else traffic / traffic.mean() * centred
    sums = np.bincount(units, weights=influence, minlength=k)
    return math.sqrt(k / (k - 1) * float((sums**2).sum())) / d.size


def mean_interval(
    d: FloatArray, units: IntArray, confidence: float = 0.95, traffic: FloatArray | None = None
) -> tuple[float, float] | None:
    """Student's t interval of the mean, by units; None with a single one.

    Chosen by measured coverage (benchmarks/calibration.py): bootstrap intervals cover less at 30 prompts.
    """
    d, units, traffic = leave_out(d, units, traffic)
    error = standard_error(d, units, traffic)
    if error is None:
        return None
    mean = weighted_mean(d, traffic)
    reach = float(stdtrit(int(units.max()), 0.5 + confidence / 2)) * error
    return mean - reach, mean + reach


def randomisation_test(d: FloatArray, units: IntArray, rng: np.random.Generator, traffic: FloatArray | None = None) -> float:
    """Two-sided p of a mean difference of 0, by flipping the signs of whole units; (1 + as extreme) / (1 + flips).

    Flipped are the units' sums of d, with traffic those of w · d.
    """
    d, units, traffic = leave_out(d, units, traffic)
    sums = np.bincount(units, weights=d if traffic is None else traffic / traffic.mean() * d)
    observed = abs(float(sums.sum()))
    extreme = 0
    for start in range(0, FLIPS, 1000):
        signs = rng.integers(0, 2, size=(min(1000, FLIPS - start), sums.size)) * 2 - 1
        extreme += int((np.abs((signs * sums).sum(axis=1)) >= observed - SAME * max(1, sums.size)).sum())
    return (1 + extreme) / (1 + FLIPS)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values, by name: each at most 1 and not below a smaller one's."""
    adjusted, floor = {}, 0.0
    ordered = sorted(p_values, key=lambda name: (p_values[name], name))
    for i, name in enumerate(ordered):
        floor = max(floor, min(1.0, (len(ordered) - i) * p_values[name]))
        adjusted[name] = floor
    return {name: adjusted[name] for name in p_values}


@dataclass(frozen=True)
class Comparison:
    """One system minus another over the same prompts; wins, ties and losses count prompts, `differing` counts units.

    Counted is only what has a weight.
    """

    mean: float
    interval: tuple[float, float] | None
    p_value: float
    wins: int
    ties: int
    losses: int
    differing: int
    units: int


def compare(d: FloatArray, units: IntArray, rng: np.random.Generator, traffic: FloatArray | None = None) -> Comparison:
    """Mean difference with its 95 % interval, the randomisation test's p, and who wins how often."""
    d, units, traffic = leave_out(d, units, traffic)
    wins, losses = int((d > SAME).sum()), int((d < -SAME).sum())
    return Comparison(
        mean=weighted_mean(d, traffic),
        interval=mean_interval(d, units, traffic=traffic),
        p_value=randomisation_test(d, units, rng, traffic),
        wins=wins,
        ties=d.size - wins - losses,
        losses=losses,
        differing=int(np.unique(units[np.abs(d) > SAME]).size),
        units=int(units.max()) + 1,
    )


def prompts_to_prove(
    d: FloatArray, units: IntArray, gain: float, power: float = 0.8, traffic: FloatArray | None = None
) -> int | None:
    """How many prompts like these show a mean gain of this size with this power (two-sided 5 %); None without a spread.

    n = ((z_.975 + z_power) · s / gain)², s² = n · se², so that clusters and weights count as they do in the interval.
    """
    d, units, traffic = leave_out(d, units, traffic)
    error = standard_error(d, units, traffic)
    if error is None or error == 0 or gain <= 0:
        return None
    spread = error * math.sqrt(d.size)
    return max(2, math.ceil(((float(ndtri(0.975)) + float(ndtri(power))) * spread / gain) ** 2))
