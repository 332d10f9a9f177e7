"""Does a study survive being killed? SIGKILL at many moments, resume, compare with an uninterrupted run.

    python benchmarks/kills.py [--kills 100] [--seed 7] [--trials 30]

Each round runs `tune` in a process of its own on an empty folder, every other one on an empty cache too (so that indexing and
encoding belong to it), and kills it: at a random moment of the time that an uninterrupted run takes, when the journal shows so
many trials, or when a certain file of the study's folder appears. Then it is asked: does every file that is not a temporary one
load, does the same command end well, are the trials that were finished at the kill still there with the same numbers, and are
all files the bytes of an uninterrupted run? Prints a table by the stage that was cut, and what was left behind.
"""

from __future__ import annotations

import argparse
import collections
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
MACHINE_FILES = {"manifest.json", "timings.json", "journal.log"}  # what depends on the clock or the machine
STAGES = ("reading", "indexing", "encoding", "candidates", "trials", "choosing", "writing", "finished")
WATCHED = (  # files whose appearance is a moment to kill at, as patterns in the working directory
    "studies/study/.*.part",
    "studies/study/trials.csv",
    "studies/study/candidates.npz",
    "studies/study/runs/.*.part",
    "studies/study/runs/pick.trec",
    "studies/study/summary.json",
    "studies/study/manifest.json",
    "studies/study/weights.yaml",
)
WATCHED_COLD = (
    "cache/keyword/.*.part",
    "cache/keyword/*.npz",
    "cache/embeddings/.*.part",
    "cache/embeddings/*.npz",
    "cache/candidates/*",
)
STUDY, CACHE = Path("studies/study"), Path("cache")
TEMPORARY = ".part"
WARM = "warm"  # a file that marks a working directory whose cache was full from the beginning
PATIENCE = 300.0  # seconds until a run counts as hanging


@dataclass(frozen=True)
class Round:
    """One kill: where it was aimed, what it cut, and everything that was wrong after it (nothing is right)."""

    cold: bool
    aim: str
    stage: str
    finished_trials: int
    left: tuple[str, ...]  # temporary files at the kill
    still: int  # of them after the next run
    wrong: tuple[str, ...]


def write_template(place: Path, trials: int) -> None:
    """A working directory: the hand-written collection of the tests, and a config with relative paths."""
    sys.path.insert(0, str(ROOT / "tests"))
    from conftest import FILES, write_collection

    write_collection(place / "data")
    space = {
        "semantic_weight": {"low": 0.0, "high": 1.0},
        "top_k": {"low": 2, "high": 8},
        "fusion": ["minmax", "zscore", "rrf"],
        "rrf_k": {"low": 1, "high": 100, "log": True},
    }
    config = {
        "name": STUDY.name,
        "seed": 7,
        "collection": {name: f"data/{file}" for name, file in FILES.items()},
        "keyword": {"analyzer": "simple"},
        "depth": 10,
        "objective": "MAP@5",
        "report_at": [1, 3, 5],
        "search": {"trials": trials, "space": space},
        "cache": str(CACHE),
    }
    (place / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def start(place: Path) -> subprocess.Popen[str]:
    """`tune` in this working directory, by the copy of the program beside it."""
    command = [sys.executable, "-m", "harness", "tune", "study.yaml"]
    variables = {**os.environ, "PYTHONPATH": str(place.parent / "program")}
    return subprocess.Popen(command, cwd=place, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(place: Path) -> float:
    """Run to the end, which must be a good one; seconds."""
    started = time.monotonic()
    process = start(place)
    said = process.communicate(timeout=PATIENCE)[1]
    if process.returncode != 0:
        raise RuntimeError(f"exit {process.returncode}: {said.strip().splitlines()[-1:]}")
    return time.monotonic() - started


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file of the study that must be the same bytes, temporary ones aside."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != TEMPORARY]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name not in MACHINE_FILES}


def temporary_files(place: Path) -> tuple[str, ...]:
    """What the atomic writing left behind."""
    return tuple(str(path.relative_to(place)) for path in sorted(place.rglob(f".*{TEMPORARY}")))


def recorded_trials(journal: Path) -> dict[int, Any]:
    """Every ended trial of the journal, by number: state, parameters, values, logged numbers."""
    import optuna

    if not journal.is_file() or b"\n" not in journal.read_bytes():
        return {}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as name:  # reading by Optuna leaves the study's own journal alone
        copy = Path(name) / journal.name
        shutil.copy(journal, copy)
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(copy)))
        found = {}
        for study in storage.get_all_studies():
            for trial in storage.get_all_trials(study._study_id):
                if trial.state.is_finished():
                    found[trial.number] = (trial.state.name, trial.params, trial.values, trial.user_attrs)
        return found


def unreadable_files(place: Path) -> list[str]:
    """Each file of the study and the cache, temporary ones aside, that does not load, with the reason."""
    from harness.files import read_arrays

    def read_csv(path: Path) -> object:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines(), strict=True))
        if len({len(row) for row in rows}) != 1:
            raise ValueError("rows of different lengths")
        return rows

    def read_trec(path: Path) -> object:
        if not path.read_bytes().endswith(b"\n") or len({len(line.split()) for line in path.read_text().splitlines()}) != 1:
            raise ValueError("torn")
        return None

    readers: dict[str, Callable[[Path], object]] = {
        ".npz": read_arrays,
        ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
        ".yaml": lambda path: yaml.safe_load(path.read_text(encoding="utf-8"))[
            "semantic_weight" if "weights" in path.name else "seed"
        ],
        ".csv": read_csv,
        ".trec": read_trec,
        ".log": recorded_trials,
    }
    wrong = []
    for path in [*(place / STUDY).rglob("*"), *(place / CACHE).rglob("*")]:
        if not path.is_file() or path.suffix == TEMPORARY:
            continue
        try:
            readers[path.suffix](path)
        except Exception as error:  # whatever it is, it is the finding
            wrong.append(f"{path.relative_to(place)} does not load: {type(error).__name__}: {error}")
    return wrong


def stage_of(place: Path, trials: int, ended: int) -> str:
    """What was running, as far as the files can tell; on a warm cache everything before the first trial is `reading`."""
    study, cache = place / STUDY, place / CACHE
    if (study / "weights.yaml").is_file():
        return "finished"
    if (study / "config.yaml").is_file() or temporary_files(study):
        return "writing"
    if ended >= trials:
        return "choosing"
    if (study / "journal.log").is_file():
        return "trials"
    if not cache.is_dir() or (place / WARM).is_file():
        return "reading"
    if not list((cache / "keyword").glob("*.npz")):
        return "indexing"
    return "encoding" if len(list((cache / "embeddings").glob("*.npz"))) < 2 else "candidates"


def choose_aim(rng: random.Random, duration: float, trials: int, cold: bool) -> tuple[str, float | int | str]:
    """Where to kill: half of the times anywhere, else when so many trials are recorded or a file appears."""
    kind = rng.choices(("time", "trials", "file"), weights=(3, 1, 2))[0]
    if kind == "time":
        return kind, rng.uniform(0.0, duration)
    return (kind, rng.randrange(trials)) if kind == "trials" else (kind, rng.choice(WATCHED + WATCHED_COLD * cold))


def wait_for(process: subprocess.Popen[str], place: Path, kind: str, at: float | int | str) -> None:
    """Return at the moment to kill, or when the process has ended."""
    journal, started = place / STUDY / "journal.log", time.monotonic()
    while process.poll() is None and time.monotonic() - started < PATIENCE:
        if kind == "time":
            if time.monotonic() - started >= float(at):
                return
            time.sleep(0.001)
        elif kind == "trials":
            if journal.is_file() and journal.read_bytes().count(b'"state":1') > int(at):
                return
            time.sleep(0.0005)
        elif any(place.glob(str(at))):
            return


@dataclass(frozen=True)
class Whole:
    """The uninterrupted runs: how many trials, the shortest time on a cold and on a warm cache, the bytes they left."""

    trials: int
    seconds: dict[bool, float]
    expected: dict[str, bytes]


def kill_once(place: Path, rng: random.Random, whole: Whole, cold: bool) -> Round | None:
    """Run, kill, look, resume, look again; None where the run had ended before it could be killed."""
    trials, expected = whole.trials, whole.expected
    kind, at = choose_aim(rng, whole.seconds[cold], trials, cold)
    process = start(place)
    wait_for(process, place, kind, at)
    process.kill()
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        return None
    before = recorded_trials(place / STUDY / "journal.log")
    stage, left = stage_of(place, trials, len(before)), temporary_files(place)
    wrong = unreadable_files(place)
    try:
        finish(place)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        wrong.append(f"the same command does not end well: {error}")
    after = recorded_trials(place / STUDY / "journal.log")
    lost = [number for number, trial in before.items() if after.get(number) != trial]
    wrong += [f"finished trials lost or changed: {lost}"] if lost else []
    wrong += unreadable_files(place)
    found = bytes_of(place / STUDY)
    different = sorted(name for name in set(found) | set(expected) if found.get(name) != expected.get(name))
    wrong += [f"other bytes than an uninterrupted run: {different}"] if different else []
    still = temporary_files(place)
    if set(still) - set(left):
        wrong.append(f"temporary files that the second run left: {sorted(set(still) - set(left))}")
    return Round(
        cold,
        f"{kind} {at:.2f} s" if kind == "time" else f"{kind} {at}",
        stage,
        len(before),
        left,
        len(set(left) & set(still)),
        tuple(wrong),
    )


def print_table(rounds: list[Round]) -> None:
    """By stage: how many kills, how many resumed to the same bytes, how many trials were finished, what was left behind."""
    print(f"\n{'stage cut':<12}{'cold':>6}{'warm':>6}{'kills':>7}{'equal':>7}{'left a .part':>14}")
    groups = collections.defaultdict(list)
    for one in rounds:
        groups[one.stage].append(one)
    for stage, some in [*((s, groups[s]) for s in STAGES if groups[s]), ("all", rounds)]:
        cold, equal = sum(one.cold for one in some), sum(not one.wrong for one in some)
        print(f"{stage:<12}{cold:>6}{len(some) - cold:>6}{len(some):>7}{equal:>7}{sum(bool(one.left) for one in some):>14}")
    left = [name for one in rounds for name in one.left]
    behind = sum(one.still for one in rounds)
    print(f"\n{len(left)} temporary files at the kills, {behind} of them still there after the next run: {', '.join(left[:6])}")
    print(f"{sum(one.finished_trials for one in rounds)} trials were finished at a kill")
    for one in rounds:
        for line in one.wrong:
            print(f"WRONG ({one.stage}, {'cold' if one.cold else 'warm'}, {one.aim}): {line}")


def run_whole(cold: Path, warm: Path, trials: int) -> Whole:
    """Three uninterrupted runs on each kind of cache; leaves `warm` with a full cache and no study."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    expected: dict[str, bytes] = {}
    for is_cold in (True, True, True, False, False, False):
        if is_cold:
            shutil.rmtree(warm, ignore_errors=True)
            shutil.copytree(cold, warm)
        seconds[is_cold].append(finish(warm))
        found = bytes_of(warm / STUDY)
        expected = expected or found
        if found != expected:
            raise RuntimeError("two uninterrupted runs left other bytes")
        shutil.rmtree(warm / STUDY.parent)
    (warm / WARM).touch()
    return Whole(trials, {is_cold: min(some) for is_cold, some in seconds.items()}, expected)


def main() -> None:
    """Run the rounds and print the table; exit 1 where one was not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--trials", type=int, default=30)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory(prefix="harness-kills-") as name:
        place, warm, template = (Path(name) / part for part in ("round", "warm", "template"))
        template.mkdir()
        shutil.copytree(ROOT / "harness", Path(name) / "program/harness")  # edits while this runs change nothing
        write_template(template, options.trials)
        whole = run_whole(template, warm, options.trials)
        print(
            f"uninterrupted: {whole.seconds[True]:.2f} s on an empty cache, {whole.seconds[False]:.2f} s on a warm one",
            flush=True,
        )
        while len(rounds) < options.kills:
            cold = len(rounds) % 2 == 0
            shutil.copytree(template if cold else warm, place)
            one = kill_once(place, rng, whole, cold)
            shutil.rmtree(place)
            if one is None:
                continue
            rounds.append(one)
            verdict = "equal" if not one.wrong else f"WRONG: {'; '.join(one.wrong)}"
            where = f"{len(rounds):>4} {'cold' if cold else 'warm'}  {one.aim:<34} {one.stage:<11}"
            print(f"{where}{one.finished_trials:>3} trials  {verdict}", flush=True)
    print_table(rounds)
    sys.exit(any(one.wrong for one in rounds))


if __name__ == "__main__":
    main()
