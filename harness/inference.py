"""What per-prompt scores say about prompts that were not seen: intervals, tests, and how many labels it takes. Pure.

Notation: `d` (n_queries,) per-prompt scores or differences; `units` the unit of each prompt (`harness.splits`); k the number of
units. With one prompt a unit all of it is the usual one-sample statistics; with clusters the standard error is the
cluster-robust one, se² = k / (k − 1) · Σ over units (Σ over its prompts (d − mean))² / n², with k − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from harness.types import FloatArray, IntArray

SAME = 1e-12  # a difference of sums of the same numbers
FEWEST_DIFFERING = 10  # below this many differing units no interval is to be believed
FLIPS = 9_999


def standard_error(d: FloatArray, units: IntArray) -> float | None:
    """The standard error of the mean; None with a single unit, which has no spread."""
    k = int(units.max()) + 1
    if k < 2:
        return None
    sums = np.bincount(units, weights=d - d.mean(), minlength=k)
    return math.sqrt(k / (k - 1) * float((sums**2).sum())) / d.size


def mean_interval(d: FloatArray, units: IntArray, confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval of the mean, by units; None with a single one.

    Chosen by measured coverage (benchmarks/calibration.py): bootstrap intervals cover less at 30 prompts.
    """
    error = standard_error(d, units)
    if error is None:
        return None
    mean = float(d.mean())
    reach = float(stdtrit(int(units.max()), 0.5 + confidence / 2)) * error
    return mean - reach, mean + reach


def randomisation_test(d: FloatArray, units: IntArray, rng: np.random.Generator) -> float:
    """Two-sided p of a mean difference of 0, by flipping the signs of whole units; (1 + as extreme) / (1 + flips)."""
    sums = np.bincount(units, weights=d)
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
    """One system minus another over the same prompts; wins, ties and losses count prompts, `differing` counts units."""

    mean: float
    interval: tuple[float, float] | None
    p_value: float
    wins: int
    ties: int
    losses: int
    differing: int
    units: int


def compare(d: FloatArray, units: IntArray, rng: np.random.Generator) -> Comparison:
    """Mean difference with its 95 % interval, the randomisation test's p, and who wins how often."""
    wins, losses = int((d > SAME).sum()), int((d < -SAME).sum())
    return Comparison(
        mean=float(d.mean()),
        interval=mean_interval(d, units),
        p_value=randomisation_test(d, units, rng),
        wins=wins,
        ties=d.size - wins - losses,
        losses=losses,
        differing=int(np.unique(units[np.abs(d) > SAME]).size),
        units=int(units.max()) + 1,
    )


def prompts_to_prove(d: FloatArray, units: IntArray, gain: float, power: float = 0.8) -> int | None:
    """How many prompts like these show a mean gain of this size with this power (two-sided 5 %); None without a spread.

    n = ((z_.975 + z_power) · s / gain)², s² = n · se², so that clusters count as they do in the interval.
    """
    error = standard_error(d, units)
    if error is None or error == 0 or gain <= 0:
        return None
    spread = error * math.sqrt(d.size)
    return max(2, math.ceil(((float(ndtri(0.975)) + float(ndtri(power))) * spread / gain) ** 2))
