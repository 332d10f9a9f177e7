"""How often the 95 % interval of a weighted mean holds the truth, by how unevenly the prompts are weighed.

    python benchmarks/weights.py

The prompts are drawn from an endless population: clusters of 1 to 3 prompts, weights e^(spread · z), and differences that have
to do with the weights, d = .1 + .05 · ln w + noise, so that the weighted mean is another than the plain one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.inference import mean_interval
from harness.splits import make_rng
from harness.traffic import effective_number
from harness.types import FloatArray, IntArray

SPREADS = (0.0, 0.5, 0.75, 1.0, 1.5)
CLUSTERS = (30, 100, 300)


def draw(spread: float, n_clusters: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Differences, units and weights of one sample."""
    units = np.repeat(np.arange(n_clusters), rng.integers(1, 4, n_clusters)).astype(np.int32)
    ln_w = rng.normal(0, spread, units.size)
    d = 0.1 + 0.05 * ln_w + rng.normal(0, 0.15, n_clusters)[units] + rng.normal(0, 0.2, units.size)
    return d, units, np.exp(ln_w)


def truth(spread: float) -> float:
    """The population's Σ w·d / Σ w: under log-normal weights the weighted mean of ln w is spread²."""
    return 0.1 + 0.05 * spread**2


def cover(spread: float, n_clusters: int, draws: int, seed: int = 20) -> tuple[float, float]:
    """The share of samples whose interval holds the truth, and the mean effective number over the number of prompts."""
    rng, held, effective = make_rng(seed), 0, 0.0
    for _ in range(draws):
        d, units, w = draw(spread, n_clusters, rng)
        interval = mean_interval(d, units, traffic=w)
        assert interval is not None
        held += interval[0] <= truth(spread) <= interval[1]
        effective += effective_number(w) / w.size
    return held / draws, effective / draws


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000)
    options = parser.parse_args()
    print(f"coverage of 95 % intervals, {options.draws} draws a cell (effective number over the number of prompts)")
    for spread in SPREADS:
        cells = [(n, *cover(spread, n, options.draws)) for n in CLUSTERS]
        print(
            f"  spread {spread:<5}" + "".join(f"{n:>6} clusters {held:6.1%} ({share:4.0%})" for n, held, share in cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
