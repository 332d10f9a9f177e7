"""Kills, signals, full and read-only disks, clocks, neighbours, damaged caches: a study ends in the same bytes or says why not.

Every run here is a process of its own, in a working directory of its own with relative paths, so that all must leave the same.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pickle
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from conftest import FILES, write_collection

import harness
from harness.files import DamagedFileError, read_arrays

TRIALS = 30
STUDY, CACHE, JOURNAL = Path("studies/study"), Path("cache"), Path("studies/study/journal.log")
MACHINE_FILES = {"manifest.json", "timings.json", "journal.log", "report.html"}  # what depends on the clock or the machine
CONFIG: dict[str, Any] = {
    "name": "study",
    "seed": 7,
    "collection": {name: f"data/{file}" for name, file in FILES.items()},
    "keyword": {"analyzer": "simple"},
    "depth": 10,
    "objective": "MAP@5",
    "report_at": [1, 3, 5],
    "search": {
        "trials": TRIALS,
        "space": {
            "semantic_weight": {"low": 0.0, "high": 1.0},
            "top_k": {"low": 2, "high": 8},
            "fusion": ["minmax", "zscore", "rrf"],
            "rrf_k": {"low": 1, "high": 100, "log": True},
        },
    },
    "cache": str(CACHE),
}
TUNE = [sys.executable, "-m", "harness", "tune", "study.yaml"]
PATIENCE = 120  # seconds until a run counts as hanging

# Runs `tune` with a stop built in: when the stage is reached it touches `reached` and waits for `go`, signals or the test's end.
STOPPING = """
import signal, sys, time
from pathlib import Path
import harness.commands.tune as module
from harness.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets background jobs ignore it, and so their children
stage, calls = sys.argv.pop(1), []
owner, name, at = {
    "preparing": (module, "prepare", 1),
    "trial": (module, "measure_trial", 5),
    "writing": (module.record, "write_per_query", 1),
}[stage]
inner = getattr(owner, name)
def stopping(*arguments, **options):
    calls.append(1)
    if len(calls) == at:
        Path("reached").touch()
        end = time.monotonic() + 60
        while not Path("go").exists() and time.monotonic() < end:
            time.sleep(0.005)
    return inner(*arguments, **options)
setattr(owner, name, stopping)
main()
"""

# Runs `tune` out of memory in its fourth trial.
OUT_OF_MEMORY = """
import harness.commands.tune as module
from harness.cli import main
calls, inner = [], module.measure_trial
def failing(*arguments):
    calls.append(1)
    if len(calls) == 4:
        raise MemoryError
    return inner(*arguments)
module.measure_trial = failing
main()
"""


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name and name != "PYTHONHASHSEED"}
    return {**kept, **changes}


def tune(place: Path, *options: str, command: list[str] = TUNE, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *options], cwd=place, env=environment(**changes), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def start(place: Path, command: list[str] = TUNE) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=place, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def stopped_at(place: Path, stage: str) -> Iterator[subprocess.Popen[str]]:
    """A `tune` that waits at this stage."""
    process = start(place, [sys.executable, "-c", STOPPING, stage, "tune", "study.yaml"])
    try:
        wait_until(lambda: (place / "reached").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(happened: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened() and time.monotonic() < end:
        time.sleep(0.002)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def same_files(place: Path) -> dict[str, bytes]:
    """What must be the same bytes: every file of the study but those of the clock and the machine, and leftovers."""
    found = everything(place / STUDY)
    return {name: data for name, data in found.items() if Path(name).name not in MACHINE_FILES and not name.endswith(".part")}


def leftovers(place: Path) -> list[str]:
    return [name for name in everything(place) if name.endswith(".part")]


def recorded_trials(place: Path) -> dict[int, Any]:
    """Every ended trial of the journal by number; a line that was being written at a kill is none."""
    if not (place / JOURNAL).is_file():
        return {}
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(place / JOURNAL)))
    trials = [trial for study in storage.get_all_studies() for trial in storage.get_all_trials(study._study_id)]
    return {t.number: (t.state.name, t.params, t.values, t.user_attrs) for t in trials if t.state.is_finished()}


def assert_all_loads(place: Path) -> None:
    """Every file that is not a temporary one is whole, whenever the process died."""
    for path in [*(place / STUDY).rglob("*"), *(place / CACHE).rglob("*")]:
        if path.suffix == ".npz":
            read_arrays(path)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".yaml":
            assert isinstance(yaml.safe_load(path.read_text()), dict)
        elif path.suffix in (".csv", ".trec"):
            assert path.read_bytes().endswith(b"\n")
    recorded_trials(place)


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr beside warnings, improving trials, and what a study that goes on says."""
    return [line for line in done.stderr.splitlines() if not re.match(r"warning: |trial \d+: |going on: ", line)]


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the collection and the config, nothing built."""
    place = tmp_path_factory.mktemp("cold")
    write_collection(place / "data")
    (place / "study.yaml").write_text(yaml.safe_dump(CONFIG, sort_keys=False))
    return place


def threads(n: int) -> dict[str, str]:
    return {f"{name}_NUM_THREADS": str(n) for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB")}


class Whole:
    """The uninterrupted run with hash seed 1 and two threads: its place, its files, how long it took on a full cache."""

    def __init__(self, place: Path) -> None:
        done = tune(place, PYTHONHASHSEED="1", **threads(2))
        assert done.returncode == 0, done.stderr
        self.place, self.files = place, same_files(place)
        shutil.rmtree(place / "studies")
        started = time.monotonic()
        assert tune(place).returncode == 0
        self.seconds = time.monotonic() - started
        assert same_files(place) == self.files


@pytest.fixture(scope="module")
def whole(cold: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    shutil.copytree(cold, place, dirs_exist_ok=True)
    return Whole(place)


@pytest.fixture
def place(whole: Whole, tmp_path: Path) -> Path:
    """A working directory with a full cache and no study."""
    shutil.copytree(whole.place, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("studies"))
    return tmp_path


def set_trials(place: Path, trials: int) -> None:
    config = CONFIG | {"search": CONFIG["search"] | {"trials": trials}}
    (place / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def assert_goes_on_to(whole: Whole, place: Path, before: dict[int, Any] | None = None) -> None:
    """The same command ends well, no finished trial is another one, and every file is the uninterrupted run's."""
    done = tune(place)
    assert done.returncode == 0, done.stderr
    after = recorded_trials(place)
    assert {number: after.get(number) for number in before or {}} == (before or {})
    assert same_files(place) == whole.files


# ---- kills ----------------------------------------------------------------------------------------------------------

DRAWN = random.Random(20)
MOMENTS = [
    *(("time", (i + DRAWN.random()) / 4) for i in range(4)),  # a share of the uninterrupted run's time
    *(("trials", DRAWN.randrange(TRIALS)) for _ in range(2)),
    ("file", ".*.part"),
    ("file", "runs/equal.trec"),
]


@pytest.mark.parametrize(("kind", "at"), MOMENTS, ids=lambda value: f"{value:.2f}" if isinstance(value, float) else str(value))
def test_a_killed_study_goes_on_to_the_same_bytes(kind: str, at: Any, whole: Whole, place: Path) -> None:
    process, started = start(place), time.monotonic()
    reached = {
        "time": lambda: time.monotonic() - started >= at * whole.seconds,
        "trials": lambda: (place / JOURNAL).is_file() and (place / JOURNAL).read_bytes().count(b'"state":1') > at,
        "file": lambda: any((place / STUDY).glob(str(at))),
    }[kind]
    while process.poll() is None and not reached():
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert_all_loads(place)
    assert_goes_on_to(whole, place, recorded_trials(place))
    assert_all_loads(place)


def test_temporary_files_of_a_killed_run_disturb_no_later_one(whole: Whole, tmp_path: Path) -> None:
    shutil.copytree(whole.place, tmp_path, dirs_exist_ok=True)
    for folder in (STUDY, STUDY / "runs", CACHE / "embeddings", CACHE / "candidates"):
        (tmp_path / folder / ".summary.json.abc123.part").write_bytes(b'{"torn": ')
    assert_goes_on_to(whole, tmp_path, recorded_trials(tmp_path))
    done = tune(tmp_path, command=[sys.executable, "-m", "harness", "reproduce", str(STUDY)])
    assert done.returncode == 0, done.stdout + done.stderr


def test_raising_50_trials_to_200_equals_a_fresh_study_of_200(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("fresh")
    shutil.copytree(place, other, dirs_exist_ok=True)
    for trials in (50, 200):
        set_trials(place, trials)
        assert tune(place).returncode == 0
    set_trials(other, 200)
    assert tune(other).returncode == 0
    assert same_files(place) == same_files(other)
    assert len(recorded_trials(place)) == 200


# ---- signals --------------------------------------------------------------------------------------------------------

SIGNALS = [signal.SIGINT, signal.SIGTERM]
GO_ON = "go on with: python -m harness tune study.yaml"


@pytest.mark.parametrize("number", SIGNALS)
def test_one_signal_lets_the_running_trial_end_whole(number: signal.Signals, whole: Whole, place: Path) -> None:
    with stopped_at(place, "trial") as process:
        process.send_signal(number)
        time.sleep(0.1)
        (place / "go").touch()
        said = process.communicate(timeout=PATIENCE)[1].splitlines()
    assert process.returncode == 130
    assert said[-2:] == [f"stopped after 5 of {TRIALS} trials; they are kept in {STUDY}", GO_ON]
    before = recorded_trials(place)
    assert {number: trial[0] for number, trial in before.items()} == dict.fromkeys(range(5), "COMPLETE")
    assert not (place / STUDY / "weights.yaml").exists()
    assert_goes_on_to(whole, place, before)


@pytest.fixture(scope="module", params=SIGNALS, ids=lambda number: number.name)
def twice(
    request: pytest.FixtureRequest, whole: Whole, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, int, list[str], float]:
    """A study that was told twice to stop while a trial ran: its place, exit code, what was said, how long it took."""
    place = tmp_path_factory.mktemp("twice")
    shutil.copytree(whole.place, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("studies"))
    with stopped_at(place, "trial") as process:
        process.send_signal(request.param)
        time.sleep(0.2)
        process.send_signal(request.param)
        started = time.monotonic()
        said = process.communicate(timeout=PATIENCE)[1]
        return place, process.returncode, said.splitlines(), time.monotonic() - started


def test_two_signals_end_it_at_once(twice: tuple[Path, int, list[str], float]) -> None:
    _, code, said, seconds = twice
    assert code == 130
    assert seconds < 5
    assert not any("Traceback" in line for line in said)


def test_two_signals_say_how_to_go_on(twice: tuple[Path, int, list[str], float]) -> None:
    assert twice[2][-1] == GO_ON


def test_two_signals_leave_a_study_that_goes_on_to_the_same_bytes(
    twice: tuple[Path, int, list[str], float], whole: Whole, tmp_path: Path
) -> None:
    shutil.copytree(twice[0], tmp_path, dirs_exist_ok=True)
    assert_goes_on_to(whole, tmp_path)


@pytest.mark.parametrize(("stage", "number"), [("preparing", signal.SIGINT), ("writing", signal.SIGTERM)])
def test_a_signal_outside_the_trials_ends_it_and_the_study_goes_on(
    stage: str, number: signal.Signals, whole: Whole, place: Path
) -> None:
    with stopped_at(place, stage) as process:
        process.send_signal(number)
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    assert leftovers(place) == []
    assert_all_loads(place)
    assert_goes_on_to(whole, place, recorded_trials(place))


def test_a_signal_outside_the_trials_says_how_to_go_on(place: Path) -> None:
    with stopped_at(place, "writing") as process:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE)[1]
    assert said.splitlines()[-1] == GO_ON


# ---- disks and memory -----------------------------------------------------------------------------------------------

Mount = Callable[[Path, int], None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mounts an empty tmpfs of so many kB at a folder; the test is skipped where that is not permitted."""
    mounted: list[Path] = []

    def mount_tmpfs(at: Path, kilobytes: int) -> None:
        if shutil.which("mount") is None:
            pytest.skip("there is no mount command here")
        at.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(at)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"mounting a tmpfs is not permitted here: {done.stderr.strip()}")
        mounted.append(at)

    yield mount_tmpfs
    for at in reversed(mounted):
        subprocess.run(["umount", str(at)], check=True)


def make_read_only(at: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(at)], check=True)


def fill(at: Path, left: int) -> Path:
    """Write a ballast file that leaves so many kB."""
    ballast = at / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(at).free - left * 1024))
    assert shutil.disk_usage(at).free == left * 1024
    return ballast


@pytest.mark.parametrize(("at", "kilobytes"), [("studies", 16), ("cache", 12)])
def test_a_disk_that_is_clearly_too_small_is_said_before_anything_is_built(
    at: str, kilobytes: int, cold: Path, tmp_path: Path, mount: Mount
) -> None:
    shutil.copytree(cold, tmp_path, dirs_exist_ok=True)
    mount(tmp_path / at, kilobytes)
    before = everything(tmp_path)
    done = tune(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"{at}: must have room for at least ")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("at", ["studies", "cache"])
def test_a_read_only_folder_is_said_before_anything_is_built(at: str, cold: Path, tmp_path: Path, mount: Mount) -> None:
    shutil.copytree(cold, tmp_path, dirs_exist_ok=True)
    mount(tmp_path / at, 1000)
    make_read_only(tmp_path / at)
    before = everything(tmp_path)
    done = tune(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [f"{at}: must be a folder that can be written, got: Read-only file system"]
    assert everything(tmp_path) == before


# kB left on the disk of the studies, which need 37 by the estimate and about 200 in truth: the journal alone 80
LEFT = {48: "trials", 112: "writing", 160: "writing"}


@pytest.mark.parametrize("left", LEFT)
def test_a_disk_that_fills_up_leaves_a_study_that_goes_on_to_the_same_bytes(
    left: int, whole: Whole, place: Path, mount: Mount
) -> None:
    mount(place / "studies", 4000)  # the report alone takes 2,200 in the end
    ballast = fill(place / "studies", left)
    done = tune(place)
    if LEFT[left] == "writing":
        assert (done.returncode, done.stdout) == (3, "")
        assert len(complaints(done)) == 1 and "No space left on device" in complaints(done)[0]
    assert (len(recorded_trials(place)) < TRIALS) == (LEFT[left] == "trials")
    assert_all_loads(place)
    assert leftovers(place) == []
    assert not (place / STUDY / "weights.yaml").exists()
    ballast.unlink()
    assert_goes_on_to(whole, place, recorded_trials(place))


def test_a_disk_that_fills_up_during_the_trials_is_said_in_one_line(place: Path, mount: Mount) -> None:
    mount(place / "studies", 1000)
    fill(place / "studies", 48)
    done = tune(place)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(complaints(done)) == 1 and "No space left on device" in complaints(done)[0]


@pytest.mark.parametrize(("left", "missing"), [(8, "keyword"), (16, "candidates")])
def test_a_cache_that_fills_up_ends_it_with_one_line_and_is_completed_later(
    left: int, missing: str, whole: Whole, place: Path, mount: Mount
) -> None:
    kept = {name: data for name, data in everything(place / CACHE).items() if name.startswith("embeddings")}
    shutil.rmtree(place / CACHE)
    mount(place / CACHE, 1000)
    for name, data in kept.items():
        (place / CACHE / name).parent.mkdir(exist_ok=True)
        (place / CACHE / name).write_bytes(data)
    ballast = fill(place / CACHE, left)
    done = tune(place)
    assert (done.returncode, done.stdout) == (3, "")
    assert len(complaints(done)) == 1 and "No space left on device" in complaints(done)[0]
    assert list((place / CACHE / missing).iterdir()) == []
    assert leftovers(place) == [] and not (place / JOURNAL).exists()
    ballast.unlink()
    assert_goes_on_to(whole, place)


def test_a_trial_that_ran_out_of_memory_is_drawn_again(whole: Whole, place: Path) -> None:
    done = tune(place, command=[sys.executable, "-c", OUT_OF_MEMORY, "tune", "study.yaml"])
    assert (done.returncode, complaints(done)) == (3, ["out of memory"])
    assert_goes_on_to(whole, place)


# ---- the clock, neighbours ------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_changes_nothing(whole: Whole, place: Path) -> None:
    """The journal's times lie a day ahead of the clock when the study goes on."""
    set_trials(place, 11)
    assert tune(place).returncode == 0
    set_trials(place, TRIALS)
    text, moved = re.subn(
        r'("datetime_\w+":")([^"]+)"',
        lambda found: f'{found[1]}{(datetime.datetime.fromisoformat(found[2]) + datetime.timedelta(days=1)).isoformat()}"',
        (place / JOURNAL).read_text(),
    )
    assert moved == 2 * 11
    (place / JOURNAL).write_text(text)
    assert_goes_on_to(whole, place)


def test_the_second_process_on_a_study_is_told_by_whom_and_leaves_it_alone(whole: Whole, place: Path) -> None:
    with stopped_at(place, "trial") as process:
        before = everything(place)
        for option in ([], ["--fresh"]):
            done = tune(place, *option)
            assert (done.returncode, done.stdout) == (3, "")
            assert len(done.stderr.splitlines()) == 1
            assert f"another process is running this study (process {process.pid} on {platform.node()!r}, since " in done.stderr
            assert everything(place) == before
        (place / "go").touch()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert same_files(place) == whole.files


def test_what_a_dead_process_left_of_its_hold_stops_nobody(whole: Whole, place: Path) -> None:
    with stopped_at(place, "trial") as process:
        process.kill()
        process.wait()
    holder = place / "studies/.study.holder"
    assert json.loads(holder.read_text())["process"] == process.pid
    assert (place / "studies/.study.lock").is_file()
    assert_goes_on_to(whole, place, recorded_trials(place))
    assert not holder.exists()


# ---- independence ---------------------------------------------------------------------------------------------------


def test_hash_seed_and_threads_change_nothing_with_everything_built_anew(whole: Whole, cold: Path, tmp_path: Path) -> None:
    shutil.copytree(cold, tmp_path, dirs_exist_ok=True)
    done = tune(tmp_path, PYTHONHASHSEED="0", **threads(1))
    assert done.returncode == 0, done.stderr
    assert same_files(tmp_path) == whole.files
    assert everything(tmp_path / CACHE) == everything(whole.place / CACHE)


def test_the_order_of_lines_changes_nothing_with_everything_built_anew(whole: Whole, cold: Path, tmp_path: Path) -> None:
    shutil.copytree(cold, tmp_path, dirs_exist_ok=True)
    for file in FILES.values():
        lines = (tmp_path / "data" / file).read_text().splitlines(keepends=True)
        head = lines[: file.endswith(".tsv")]
        rest = random.Random(3).sample(lines[len(head) :], len(lines) - len(head))
        assert rest != lines[len(head) :]
        (tmp_path / "data" / file).write_text("".join([*head, *rest]))
    done = tune(tmp_path, PYTHONHASHSEED="2")
    assert done.returncode == 0, done.stderr
    assert same_files(tmp_path) == whole.files
    assert everything(tmp_path / CACHE) == everything(whole.place / CACHE)


@pytest.mark.parametrize(
    "command",
    [
        [str(Path(sys.executable).with_name("harness")), "tune", "study.yaml"],
        [sys.executable, "-c", "import harness; harness.tune('study.yaml')"],
    ],
    ids=["script", "function"],
)
def test_the_script_and_the_function_do_what_python_m_does(command: list[str], whole: Whole, place: Path) -> None:
    if not Path(command[0]).exists():
        pytest.skip(f"{command[0]} is not installed")
    done = tune(place, command=command, PYTHONHASHSEED="2")
    assert done.returncode == 0, done.stderr
    assert same_files(place) == whole.files


# ---- a damaged cache ------------------------------------------------------------------------------------------------


class Touch:
    """Unpickling this makes the marker."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("marker"),))


def as_bytes(arrays: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def flip(share: float) -> Callable[[bytes], bytes]:
    def flipped(data: bytes) -> bytes:
        at = min(int(share * len(data)), len(data) - 1)
        return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]

    return flipped


DIRECTORY = slice(-6, -2)  # of an archive: where its directory begins
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "first byte": flip(0.0),
    "middle byte": flip(0.5),
    "last byte": flip(1.0),
    "directory": lambda data: data[:-3] + b"\x01" + data[-2:],
    "half of it": lambda data: data[: len(data) // 2],
    "all but a byte": lambda data: data[:-1],
    "empty": lambda data: b"",
    "pickle": lambda data: pickle.dumps(Touch()),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kinds", [("candidates",), ("keyword", "embeddings")], ids="+".join)
def test_a_damaged_cache_is_built_anew(
    kinds: tuple[str, ...], damage: str, whole: Whole, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, which loads the model once; candidates hide the other two, and are away when these are damaged."""
    monkeypatch.chdir(place)
    expected = everything(CACHE)
    if kinds != ("candidates",):
        shutil.rmtree(CACHE / "candidates")
    damaged = [path for kind in kinds for path in (CACHE / kind).iterdir()]
    assert len(damaged) == {("candidates",): 1, ("keyword", "embeddings"): 3}[kinds]
    noticed = []
    for path in damaged:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
        with contextlib.suppress(DamagedFileError):
            read_arrays(path)
            continue
        noticed.append(path)
    harness.tune("study.yaml")
    assert same_files(place) == whole.files
    assert not Path("marker").exists()
    assert noticed == damaged or damage == "last byte"  # of the archive's comment, which holds nothing
    for path in noticed:
        assert path.read_bytes() == expected[str(path.relative_to(CACHE))]


@pytest.mark.parametrize("kind", ["keyword", "embeddings", "candidates"])
def test_no_flipped_byte_of_a_cache_file_gives_other_arrays(kind: str, whole: Whole, tmp_path: Path) -> None:
    path = min((whole.place / CACHE / kind).iterdir())
    data, rng = path.read_bytes(), random.Random(5)
    arrays = as_bytes(read_arrays(path))
    places = {*range(80), *range(len(data) - 80, len(data)), *rng.sample(range(len(data)), 200)}
    for at in sorted(places - set(range(len(data))[DIRECTORY])):  # these: see the test above
        other = bytearray(data)
        other[at] ^= 1 << rng.randrange(8)
        (tmp_path / "flipped.npz").write_bytes(other)
        with contextlib.suppress(DamagedFileError):
            assert as_bytes(read_arrays(tmp_path / "flipped.npz")) == arrays, at
