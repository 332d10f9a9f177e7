"""How the cost grows: prompts, depth, corpus and trials, each up to ten times as many; the slope on the logarithms.

1 is linear, 0 means that it makes no difference. Candidates are synthetic; trials run on the collection's own study.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Row, bare, seconds, slope
from benchmarks.parts.collection import prepare_collection
from benchmarks.parts.profile import exact_curve, own_trials
from harness.candidates import merge_lists
from harness.hybrid import Hybrid
from harness.types import Conventions, Params, Qrels, RankedLists

PART = "growth"
STEPS = (1.0, 10**0.5, 10.0)
RELEVANT = 5


def make_hybrid(prompts: int, depth: int, documents: int, seed: int = 7) -> Hybrid:
    """Random lists that share half of their documents, and judged documents among them."""
    rng = np.random.default_rng(seed)

    def lists() -> RankedLists:
        rows = np.stack([rng.choice(2 * depth, depth, replace=False) for _ in range(prompts)])
        spread = documents // (2 * depth)  # so that row numbers grow with the corpus
        return RankedLists((rows * spread).astype(np.int32), -np.sort(-rng.gamma(2.0, 1.0, (prompts, depth)), axis=1))

    candidates = merge_lists(lists(), lists())
    columns = np.argsort(rng.random(candidates.rows.shape) + (candidates.rows < 0), axis=1)[:, :RELEVANT]
    rows = np.sort(np.take_along_axis(candidates.rows, columns, axis=1), axis=1)
    return Hybrid(candidates, Qrels(rows, np.ones(rows.shape, dtype=np.int32)), Conventions(), Params(depth=depth))


def slopes(sizes: list[int], works: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Each round's slope."""
    for work in works:
        work()
    return [slope(sizes, [min(seconds(work) for _ in range(3)) for work in works]) for _ in range(rounds)]


def run_empty_study(prepared: Any, trials: int) -> float:
    """Seconds of a whole study of so many trials, without reading and judging."""
    from harness.commands.tune import measure_trial
    from harness.study import open_study, run_trials

    config = prepared.config.model_copy(update={"search": prepared.config.search.model_copy(update={"trials": trials})})
    with tempfile.TemporaryDirectory() as place:
        study = open_study(Path(place) / "study", config, {}, {})
        started = time.perf_counter()
        run_trials(study, config, lambda params: measure_trial(prepared, params), lambda trial: None)
        return time.perf_counter() - started


def measure(*, quick: bool) -> list[Row]:
    """A row for each quantity; a trial and the exact curve apart."""
    rounds, rows = 1 if quick else 5, []
    small = (60, 30, 10_000) if quick else (150, 100, 10_000)
    for i, name in enumerate(("prompts", "depth", "corpus")):
        sizes, hybrids = [], []
        for step in STEPS:
            shape = list(small)
            shape[i] = round(shape[i] * step)
            sizes.append(shape[i])
            hybrids.append(make_hybrid(*shape))
        for what, work in (
            ("a trial", lambda h: own_trials(h, trials=20)),
            ("the exact curve", lambda h: exact_curve(h, h.base.depth)),
        ):
            found = slopes(sizes, [lambda h=h, work=work: work(h) for h in hybrids], rounds)
            aim = 0.05 if name == "corpus" else 1.1
            rows.append(bare(PART, f"{what} over {name}, {sizes[0]:,} to {sizes[-1]:,}", found, aim, "slope"))
    prepared = prepare_collection()
    trials = [10, 32, 100] if quick else [100, 316, 1000]
    for sampler in ("random", "tpe"):
        search = prepared.config.search.model_copy(update={"sampler": sampler})
        again = type(prepared)(
            prepared.config.model_copy(update={"search": search}), prepared.dataset, prepared.retrieved, prepared.hybrid
        )
        took = [run_empty_study(again, n) for n in trials]
        note = f"{took[0] / trials[0] * 1e3:.1f} ms a trial of {trials[0]}, {took[-1] / trials[-1] * 1e3:.1f} of {trials[-1]}"
        rows.append(
            bare(
                PART,
                f"a study over trials, {trials[0]} to {trials[-1]:,}, {sampler}",
                [slope(trials, took)],
                1.1,
                "slope",
                note=note,
            )
        )
    return rows
