"""What tuning costs beside Optuna itself.

    python benchmarks/trial_cost.py [--rounds 5] [--collection FOLDER]

First: a study on cached candidates, from the start of the process to the end of its last trial, beside a process that
imports the same libraries and runs as many Optuna trials with an empty objective, the same parameters and the same user
attributes on the same kind of storage. Second: one trial's own work on a collection (a folder in BEIR layout; the
handbook without one) at depth 100, beside one such empty trial. Both sides alternate in one run; medians are printed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRIALS = 200

EMPTY = """
import sys
import numpy, optuna, pydantic, scipy.special, scipy.sparse, typer, yaml
from pathlib import Path
sys.path.insert(0, {root!r})
from harness.config import read_config
from harness.study import SeededByTrial, suggest_params
config = read_config({config!r})
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend({journal!r}))
study = optuna.create_study(storage=storage, sampler=SeededByTrial(config), direction="maximize")
names = [f"{{m}}@{{c}}" for c in (*config.report_at, "top_k") for m in ("Precision", "Recall")]
def empty(trial):
    params = suggest_params(trial, config.search.space, config.base)
    for name in names:
        trial.set_user_attr(name, 0.5)
    return params.semantic_weight
study.optimize(empty, n_trials={trials})
"""


def last_trial_end(journal: Path) -> float:
    """When the last trial of this journal ended, seconds since the epoch."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    study = optuna.load_study(study_name=None, storage=storage)
    return max(t.datetime_complete.timestamp() for t in study.trials if t.datetime_complete is not None)


def time_study(folder: Path, config: Path, name: str) -> float:
    """Seconds from the start of `tune` to the end of its last trial; the cache must be warm."""
    started = time.time()
    command = [sys.executable, "-m", "harness", "tune", str(config), "--name", name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return last_trial_end(folder / "studies" / name / "journal.log") - started


def time_empty(folder: Path, config: Path, name: str, trials: int) -> float:
    """Seconds from the start of a process that imports and runs empty trials to the end of the last one."""
    journal = folder / f"{name}.log"
    code = EMPTY.format(root=str(ROOT), config=str(config), journal=str(journal), trials=trials)
    started = time.time()
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    return last_trial_end(journal) - started


def write_config(folder: Path, collection: Path) -> Path:
    """The handbook's config over another collection, with the analyzer and depth that its reference values use."""
    import yaml

    config = yaml.safe_load((ROOT / "configs/hybrid.yaml").read_text())
    qrels = collection / "qrels/test.tsv"
    config["collection"] = {
        "corpus": str(collection / "corpus.jsonl"),
        "queries": str(collection / "queries.jsonl"),
        "qrels": str(qrels),
    }
    config["search"]["trials"] = TRIALS
    config["cache"] = str(ROOT / ".harness-cache")
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--collection", type=Path, default=ROOT / "corpora/handbook")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = write_config(folder, options.collection.resolve())
        time_study(folder, config, "warm")
        pairs = []
        for i in range(options.rounds):
            pairs.append((time_study(folder, config, f"s{i}"), time_empty(folder, config, f"e{i}", TRIALS)))
        study, empty = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{options.collection.name}, {TRIALS} trials, median of {options.rounds} rounds")
        print(f"start to last trial: study {study:.2f} s, bare imports and empty trials {empty:.2f} s, ratio {ratio:.2f}")
        compare_one_trial(folder, config, options.rounds)


def compare_one_trial(folder: Path, config_path: Path, rounds: int) -> None:
    """One trial's own work beside an empty Optuna trial of the same study, medians over all trials of all rounds."""
    import numpy as np

    from harness.commands.tune import measure_trial
    from harness.config import read_config
    from harness.prepare import Timings, prepare, read_data
    from harness.progress import Silence
    from harness.study import Outcome, open_study, params_of, run_trials

    config = read_config(config_path)
    prepared = prepare(config, read_data(config), Silence(), Timings())
    own, empty = [], []
    for i in range(rounds):
        study = open_study(folder / f"own{i}", config, {}, {})
        outcome = measure_trial(prepared, config.base)
        ended: list[float] = [time.perf_counter()]
        drawn = []

        def seen(trial: object, ended: list[float] = ended, drawn: list[object] = drawn) -> None:
            ended.append(time.perf_counter())
            drawn.append(trial)

        fake = Outcome((0.5,), outcome.logged)
        run_trials(study, config, lambda params, fake=fake: fake, seen)
        empty += list(np.diff(ended))
        for trial in drawn:
            params = params_of(trial, config)
            started = time.perf_counter()
            measure_trial(prepared, params)
            own.append(time.perf_counter() - started)
    a, b = statistics.median(own) * 1e3, statistics.median(empty) * 1e3
    n = len(prepared.dataset.queries)
    print(f"one trial, {n} prompts, depth {config.depth}: own work {a:.2f} ms, empty Optuna trial {b:.2f} ms, ratio {a / b:.2f}")


if __name__ == "__main__":
    main()
