"""Whole processes: `--help`, and a warm `tune` on the handbook beside bare imports and as many empty Optuna trials.

The other side imports the libraries that `tune` needs and runs the same number of trials with an empty objective, the same
parameters and the same attributes, in the same kind of storage. Both are fresh processes, one after the other in every round.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import ROOT, Row, alternate, bare, costs
from benchmarks.parts.collection import make_config

PART = "process"

EMPTY = """
import sys, time
import numpy, optuna, pydantic, scipy.special, scipy.sparse, typer, yaml
sys.path.insert(0, {root!r})
from harness.config import read_config
from harness.study import suggest_params
config = read_config({config!r})
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend({journal!r}))
study = optuna.create_study(storage=storage, sampler=optuna.samplers.TPESampler(seed=7), direction="maximize")
names = [f"{{m}}@{{c}}" for c in (*config.report_at, "top_k") for m in ("Precision", "Recall")]
def empty(trial):
    params = suggest_params(trial, config.search.space, config.base)
    for name in names:
        trial.set_user_attr(name, 0.5)
    return params.semantic_weight
study.optimize(empty, n_trials={trials})
"""


def run(command: list[str], folder: Path) -> float:
    """Seconds of a process from its start to its end."""
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - started


def last_trial_end(journal: Path) -> float:
    """When the last trial of this journal ended, seconds since the epoch."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    study = optuna.load_study(study_name=None, storage=storage)
    return max(t.datetime_complete.timestamp() for t in study.trials if t.datetime_complete is not None)


def measure(*, quick: bool) -> list[Row]:
    """`--help`, then `tune` up to its last trial and as a whole."""
    trials, rounds = (20, 1) if quick else (200, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        helped = [sys.executable, "-m", "harness", "--help"]
        bare_python = [sys.executable, "-c", "pass"]
        run(helped, folder)
        starts = alternate({"help": lambda: run(helped, folder), "python": lambda: run(bare_python, folder)}, 3 * rounds)
        python = statistics.median(starts["python"])
        rows = [bare(PART, "--help", starts["help"], 0.3, "s", note=f"an empty Python process {python * 1e3:.0f} ms")]
        config = _write_config(folder, trials)
        _time_tune(folder, config, "warm")
        count = iter(range(10_000))
        pairs: dict[str, list[tuple[float, float]]] = {"tune": [], "empty": []}
        for i in range(rounds):
            for side in ("tune", "empty") if i % 2 == 0 else ("empty", "tune"):
                work = _time_tune if side == "tune" else _time_empty
                pairs[side].append(work(folder, config, f"{side}{next(count)}", *([trials] if side == "empty" else [])))
    ours, theirs = list(zip(*pairs["tune"], strict=True)), list(zip(*pairs["empty"], strict=True))
    against = f"bare imports and {trials} empty Optuna trials"
    return [
        *rows,
        costs(PART, f"warm tune, handbook, {trials} trials, up to the last trial", against, ours[0], theirs[0], 2),
        costs(PART, f"warm tune, handbook, {trials} trials, the whole process", against, ours[1], theirs[1], 3),
    ]


def _write_config(folder: Path, trials: int) -> Path:
    import yaml

    path = folder / "config.yaml"
    config = make_config(ROOT / "corpora/handbook", {}, trials)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def _time_tune(folder: Path, config: Path, name: str) -> tuple[float, float]:
    started = time.time()
    took = run([sys.executable, "-m", "harness", "tune", str(config), "--name", name], folder)
    return last_trial_end(folder / "studies" / name / "journal.log") - started, took


def _time_empty(folder: Path, config: Path, name: str, trials: int) -> tuple[float, float]:
    journal = folder / f"{name}.log"
    code = EMPTY.format(root=str(ROOT), config=str(config), journal=str(journal), trials=trials)
    started = time.time()
    took = run([sys.executable, "-c", code], folder)
    return last_trial_end(journal) - started, took
