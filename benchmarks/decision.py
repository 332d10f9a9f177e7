"""What a way of choosing the weight is worth on prompts that it has not seen.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/decision.py [--draws 200] [--fusion minmax]

For the handbook and each collection of the folder (BEIR layout, `qrels/test.tsv`), for MAP@10, MRR@10 and Recall@10, and for
20, 50 and 100 labelled prompts (where at least 10 are left over): draw that many prompts at random (whole clusters), choose
a weight on them, score it on the rest. The regret is what is lost there against the best fixed weight on the rest,
relative to that best. Three ways: `argmax`, the exact optimum on the drawn prompts (what every tool that reports its best
trial aims at); `default`, .5; `pick`, the rule of harness/choice.py. BM25 okapi over the analyzer `simple`, depth 100.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.choice import GRID, choose_weight
from harness.config import parse_config
from harness.decide import profiles_of, units_of
from harness.measures import parse_measure
from harness.prepare import Prepared, Timings, prepare, read_data
from harness.profiles import Curve, Profiles, find_optimum
from harness.progress import Silence
from harness.splits import make_rng
from harness.types import FloatArray, IntArray, Params

ROOT = Path(__file__).resolve().parents[1]
MEASURES = ("MAP@10", "MRR@10", "Recall@10")
BUDGETS = (20, 50, 100)
LEFT_OVER = 10
WAYS = ("argmax", "default", "pick")


def collections() -> Iterator[tuple[str, Path]]:
    """The handbook, then the collections of the folder that HARNESS_COLLECTIONS names."""
    yield "handbook", ROOT / "corpora/handbook"
    root = os.environ.get("HARNESS_COLLECTIONS")
    if root is None:
        return
    for folder in sorted(Path(root).iterdir()):
        if (folder / "corpus.jsonl").is_file() and (folder / "qrels/test.tsv").is_file():
            yield folder.name, folder


def prepare_collection(folder: Path) -> Prepared:
    """Both retrievers' candidates over this collection."""
    paths = {"corpus": folder / "corpus.jsonl", "queries": folder / "queries.jsonl", "qrels": folder / "qrels/test.tsv"}
    cache = str(ROOT / ".harness-cache")
    config = parse_config({"name": "x", "collection": {k: str(v) for k, v in paths.items()}, "cache": cache})
    return prepare(config, read_data(config), Silence(), Timings())


def curve_of(profiles: Profiles, rows: IntArray) -> Curve:
    """The exact mean curve over these prompts."""
    counts = np.zeros(profiles.n_queries)
    counts[rows] = 1 / rows.size
    on, at = profiles.sums(counts)
    return Curve(profiles.points, at, on)


def value_at(curve: Curve, weight: float) -> float:
    """The curve's value at a weight: a point's own where the weight is one."""
    place = int(np.searchsorted(curve.points, weight, side="right")) - 1
    if abs(curve.points[place] - weight) <= 1e-12 or place == curve.on.size:
        return float(curve.at[place])
    return float(curve.on[place])


def merged_optimum(curve: Curve) -> float:
    """The middle of the widest stretch of best score."""
    from harness.profiles import merge

    return find_optimum(merge(curve.points, curve.at, curve.on)).weight


def regrets(profiles: Profiles, units: IntArray, budget: int, draws: int, seed: int) -> FloatArray | None:
    """The mean regret of each way over the draws, (n_ways,); None where too few prompts are left over."""
    if units.size - budget < LEFT_OVER:
        return None
    grid = profiles.scores_at(GRID)
    lost = np.zeros((draws, len(WAYS)))
    for draw in range(draws):
        rng = make_rng(seed, budget, draw)
        order = np.argsort(rng.permutation(int(units.max()) + 1)[units], kind="stable")
        drawn, rest = order[:budget].astype(np.int32), order[budget:].astype(np.int32)
        own = np.unique(units[drawn], return_inverse=True)[1].astype(np.int32)
        weights = (
            merged_optimum(curve_of(profiles, drawn)),
            0.5,
            choose_weight(grid[drawn], own, make_rng(seed, budget, draw, 1)).weight,
        )
        curve = curve_of(profiles, rest)
        best = float(curve.on.max())
        lost[draw] = [(best - value_at(curve, weight)) / best if best > 0 else 0.0 for weight in weights]
    return lost.mean(axis=0)


def main() -> None:
    """Print the regret of every cell, then the averages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--fusion", default="minmax")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells: list[tuple[int, FloatArray]] = []
    print(f"mean regret in %, {options.fusion}, {options.draws} draws; worst: the pick's excess over the better of the other two")
    print(
        f"{'collection':<12}{'measure':<11}{'prompts':>8}{'labels':>8}" + "".join(f"{way:>9}" for way in WAYS) + f"{'worst':>8}"
    )
    for name, folder in collections():
        prepared = prepare_collection(folder)
        units = units_of([query.cluster for query in prepared.dataset.queries])
        for measure in MEASURES:
            setting = Params(fusion=options.fusion, depth=100)
            profiles = profiles_of(prepared.hybrid, setting, parse_measure(measure), [100])[0]
            for budget in BUDGETS:
                row = regrets(profiles, units, budget, options.draws, options.seed)
                if row is None:
                    continue
                cells.append((budget, row))
                excess = row[2] - min(row[0], row[1])
                shown = "".join(f"{value:9.2f}" for value in row * 100)
                print(f"{name:<12}{measure:<11}{units.size:>8}{budget:>8}{shown}{excess * 100:8.2f}", flush=True)
    for budget in BUDGETS:
        rows = [row for b, row in cells if b == budget]
        if rows:
            print(f"{'average':<23}{'':>8}{budget:>8}" + "".join(f"{value:9.2f}" for value in np.mean(rows, axis=0) * 100))
    mean = np.mean([row for _, row in cells], axis=0) * 100
    print(f"{'average of all cells':<39}" + "".join(f"{value:9.2f}" for value in mean))
    over = [row[2] - min(row[0], row[1]) for _, row in cells]
    print(f"the pick loses {1 - mean[2] / mean[0]:.0%} less than argmax and {1 - mean[2] / mean[1]:.0%} less than the default;")
    print(f"cells where it is more than one point above the better of the two: {sum(o > 0.01 for o in over)} of {len(over)}")


if __name__ == "__main__":
    main()
