"""Whether the verdict means what it says: how often it adopts where nothing differs, and what its intervals cover.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/calibration.py [--simulations 2000]

The generator: per-prompt differences of a measure between two settings of the hybrid search (minmax at semantic weights .8
and .5) on the handbook and, where the folder is given, on Cranfield. *No difference*: the labels of the pair are swapped
per prompt at random, so that the true mean difference is 0, and the verdict is asked; `adopt` should come in at most 5 %.
*Coverage*: n differences are drawn from the real ones, whose mean is the truth; the 95 % interval should hold it in 93 to
97 %. At 30 prompts the population is thinned so that a third of the prompts differ. `percentile` is a bootstrap interval,
for comparison.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from decision import collections, prepare_collection

from harness.config import Config, parse_config
from harness.decide import CrossFit, decide, objective_scores
from harness.inference import mean_interval
from harness.measures import parse_measure
from harness.prepare import Prepared
from harness.splits import make_rng
from harness.types import FloatArray, Params

PAIR = (0.8, 0.5)
MEASURES = ("MAP@10", "MRR@10", "Recall@10")
NAMES = ("handbook", "cranfield")


def score_pair(prepared: Prepared, measure: str) -> tuple[FloatArray, FloatArray]:
    """Each prompt's score at the two settings, (n_queries,) each."""
    parsed = parse_measure(measure)
    first, second = (objective_scores(prepared.hybrid, Params(semantic_weight=w), parsed, 100) for w in PAIR)
    return first, second


def adopt_rate(first: FloatArray, second: FloatArray, config: Config, n: int, simulations: int) -> float:
    """How often the verdict adopts the first setting when the pair's labels are swapped per prompt at random."""
    units = np.arange(n, dtype=np.int32)
    adopted = 0
    for i in range(simulations):
        rng = make_rng(1, n, i)
        rows = rng.permutation(first.size)[:n]
        swap = rng.integers(0, 2, size=n).astype(bool)
        a, b = np.where(swap, second[rows], first[rows]), np.where(swap, first[rows], second[rows])
        verdict = decide(CrossFit(a, {}, (), 5), float(a.mean()), {"equal": b}, "equal", {}, config, units)
        adopted += verdict.decision == "adopt"
    return adopted / simulations


def coverage(differences: FloatArray, n: int, simulations: int) -> tuple[float, float]:
    """How often Student's t and the percentile bootstrap hold the population's mean, at n prompts."""
    truth, units = float(differences.mean()), np.arange(n, dtype=np.int32)
    hits = np.zeros(2)
    for i in range(simulations):
        rng = make_rng(2, n, i)
        sample = differences[rng.integers(0, differences.size, size=n)]
        interval = mean_interval(sample, units)
        assert interval is not None
        hits[0] += interval[0] - 1e-12 <= truth <= interval[1] + 1e-12
        means = sample[rng.integers(0, n, size=(400, n))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        hits[1] += low - 1e-12 <= truth <= high + 1e-12
    return float(hits[0] / simulations), float(hits[1] / simulations)


def thin(differences: FloatArray, share: float) -> FloatArray:
    """A population in which this share of the prompts differ: differing ones, and as many zeros as that takes."""
    differing = differences[np.abs(differences) > 1e-12]
    return np.concatenate([differing, np.zeros(round(differing.size * (1 / share - 1)))])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    options = parser.parse_args()
    config = parse_config({"name": "x", "collection": dict.fromkeys(("corpus", "queries", "qrels"), "x")})
    folders: dict[str, Path] = {name: folder for name, folder in collections() if name in NAMES}
    pairs = {}
    for name, folder in folders.items():
        prepared = prepare_collection(folder)
        pairs |= {(name, measure): score_pair(prepared, measure) for measure in MEASURES}
    print(f"adopt where nothing differs, {options.simulations // 4} simulations a cell")
    for (name, measure), (first, second) in pairs.items():
        rates = [adopt_rate(first, second, config, n, options.simulations // 4) for n in (30, 100, first.size)]
        print(
            f"  {name:<12}{measure:<11}"
            + "".join(f"{n:>6} prompts {rate:6.1%}" for n, rate in zip((30, 100, first.size), rates, strict=True))
        )
    print(f"coverage of 95 % intervals (t, then percentile bootstrap), {options.simulations} simulations a cell")
    for (name, measure), (first, second) in pairs.items():
        differences = first - second
        cells = [("30, a third differ", thin(differences, 1 / 3), 30), ("100", differences, 100), ("300", differences, 300)]
        shown = []
        for label, population, n in cells:
            t, percentile = coverage(population, n, options.simulations)
            shown.append(f"{label}: {t:.1%} {percentile:.1%}")
        print(f"  {name:<12}{measure:<11}" + "   ".join(shown), flush=True)


if __name__ == "__main__":
    main()
