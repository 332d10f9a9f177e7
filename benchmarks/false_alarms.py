"""How often `watch` cries wolf on new prompts where nothing has changed, and how often it sees a real fall.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/false_alarms.py [--draws 500] [--new 10]

For the handbook and each collection of the folder: take `new` prompts out at random (whole clusters), choose the weight on the
rest by the rule of harness/choice.py, and let the three checks of `watch` compare the new prompts with the rest, as
`harness/commands/watch.py` does. The recorded scores are those of the prompts that chose the weight, with no correction
for optimism, which only makes a false alarm likelier. `fell` gives the same with half of the new prompts scored 0.
"""

from __future__ import annotations

import argparse

import numpy as np
from decision import collections, prepare_collection

from harness.choice import GRID, choose_weight
from harness.commands.gate import ON_NEW_PROMPTS
from harness.decide import objective_scores, profiles_of, units_of
from harness.drift import LEVEL, compare_samples, find_rival
from harness.measures import Measure, parse_measure
from harness.splits import make_rng
from harness.systems import baseline_params
from harness.types import FloatArray, IntArray, Params

SHARE = LEVEL / ON_NEW_PROMPTS


def own_units(units: IntArray) -> IntArray:
    """The units of a part, numbered anew."""
    return np.unique(units, return_inverse=True)[1].astype(np.int32)


def alarms(
    now: FloatArray, then: FloatArray, gains: FloatArray, units: tuple[IntArray, IntArray], rng: np.random.Generator
) -> list[bool]:
    """Whether each check alarms: quality and judgements are the two rows of `now` and `then`."""
    fell = [compare_samples(a, b, *units, rng, level=SHARE).harmful(SHARE) for a, b in zip(now, then, strict=True)]
    rival = find_rival(gains, units[0], rng)
    return [fell[0], rival is not None and rival.p_value <= SHARE, fell[1]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--new", type=int, default=10)
    parser.add_argument("--measure", default="MAP@10")
    options = parser.parse_args()
    measure = parse_measure(options.measure)
    print(f"false alarms in {options.draws} draws of {options.new} new prompts, {options.measure}, minmax; in %")
    print(f"{'collection':12}{'prompts':>8}{'quality':>9}{'alternatives':>14}{'judgements':>12}{'any':>7}{'fell, seen':>12}")
    for name, folder in collections():
        prepared = prepare_collection(folder)
        hybrid, base = prepared.hybrid, Params(top_k=10)
        units = units_of([query.cluster for query in prepared.dataset.queries])
        profile = profiles_of(hybrid, base, measure, [10])[0].scores_at(GRID)
        judged = profiles_of(hybrid, base, Measure("Judged", 10), [10])[0].scores_at(GRID)
        others = np.stack([objective_scores(hybrid, p, measure, 10) for p in baseline_params(base, 10).values()], axis=1)
        counted, seen = np.zeros((options.draws, 3), dtype=bool), 0
        for draw in range(options.draws):
            rng = make_rng(11, options.new, draw)
            order = np.argsort(rng.permutation(int(units.max()) + 1)[units], kind="stable")
            new, rest = order[: options.new], order[options.new :]
            weight = choose_weight(profile[rest], own_units(units[rest]), rng).weight
            cell = int(np.argmin(np.abs(GRID - weight)))
            both = np.stack([profile[:, cell], judged[:, cell]])
            gains = np.concatenate([others[new], profile[new]], axis=1) - profile[new, cell][:, None]
            sides = own_units(units[new]), own_units(units[rest])
            counted[draw] = alarms(both[:, new], both[:, rest], gains, sides, rng)
            fallen = both[:, new].copy()
            fallen[0, ::2] = 0
            seen += alarms(fallen, both[:, rest], gains, sides, rng)[0]
        rates = [*(100 * counted.mean(axis=0)), 100 * counted.any(axis=1).mean(), 100 * seen / options.draws]
        print(
            f"{name:12}{units.size:>8}" + "".join(f"{r:>{w}.1f}" for r, w in zip(rates, (9, 14, 12, 7, 12), strict=True)),
            flush=True,
        )


if __name__ == "__main__":
    main()
