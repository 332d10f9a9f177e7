"""One trial beside what Optuna itself spends on an empty trial with the same parameters and attributes, in its own journal.

Twice: what a trial computes (ranks, objective, precision and recall at every cutoff), and the whole trial, drawn and written.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from benchmarks.measuring import Row, costs
from benchmarks.parts.collection import prepare_collection
from harness.commands.tune import measure_trial
from harness.prepare import Prepared
from harness.study import Outcome, open_study, run_trials, suggest_params
from harness.types import Params

PART = "trials"
SPACES: dict[str, dict[str, Any]] = {
    "weight, K, fusion": {},
    "weight, K, fusion, k1, b": {"k1": {"low": 0.5, "high": 2.5}, "b": {"low": 0.0, "high": 1.0}},
}


def measure(*, quick: bool) -> list[Row]:
    """Rows for the usual space, and for one where k1 and b are searched, so that every trial scores BM25 anew."""
    rows = []
    for name, more in SPACES.items():
        found, n = compare(more, trials=30 if quick else 200, rounds=1 if quick else 5)
        what = f"{n} prompts, depth 100: {name}"
        against = "an empty trial of Optuna's"
        rows += [
            costs(PART, f"what a trial computes, {what}", against, found["own"], found["empty"], 1),
            costs(PART, f"the whole trial, {what}", against, found["whole"], found["empty"], 2),
        ]
    return rows


def compare(more: dict[str, Any], *, trials: int, rounds: int) -> tuple[dict[str, list[float]], int]:
    """Each round's median seconds of a trial's own work, of a whole trial, of an empty one; and how many prompts there are."""
    prepared = prepare_collection(more=more, trials=trials)
    found: dict[str, list[float]] = {"own": [], "whole": [], "empty": []}
    with tempfile.TemporaryDirectory() as place:
        for i in range(rounds):
            own, whole = run_study(prepared, Path(place) / f"own{i}")
            found["own"].append(own)
            found["whole"].append(whole)
            found["empty"].append(run_empty(prepared, Path(place) / f"empty{i}.log"))
    return found, len(prepared.dataset.queries)


def run_study(prepared: Prepared, folder: Path) -> tuple[float, float]:
    """The median seconds of what a trial computes, and from one trial's end to the next one's."""
    config, own, ended = prepared.config, [], [time.perf_counter()]

    def objective(params: Params) -> Outcome:
        started = time.perf_counter()
        outcome = measure_trial(prepared, params)
        own.append(time.perf_counter() - started)
        return outcome

    run_trials(open_study(folder, config, {}, {}), config, objective, lambda _trial: ended.append(time.perf_counter()))
    return statistics.median(own), statistics.median(np.diff(ended))


def run_empty(prepared: Prepared, journal: Path) -> float:
    """The median seconds of Optuna's own trial: the same draws and attributes, TPE, its own journal, nothing computed."""
    config, ended = prepared.config, [time.perf_counter()]
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.TPESampler(seed=7), direction="maximize")
    names = [f"{measure}@{c}" for c in (*config.report_at, "top_k") for measure in ("Precision", "Recall")]

    def empty(trial: optuna.Trial) -> float:
        params = suggest_params(trial, config.search.space, config.base)
        for name in names:
            trial.set_user_attr(name, 0.5)
        return params.semantic_weight

    study.optimize(empty, n_trials=config.search.trials, callbacks=[lambda _study, _trial: ended.append(time.perf_counter())])
    return statistics.median(np.diff(ended))
