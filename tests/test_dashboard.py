"""optuna-dashboard on a study as it stands: it shows what the study recorded, and looking changes nothing."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from browser import Browser
from conftest import ROOT

import harness

REFERENCE = ROOT / "studies" / "reference"
COMMAND = Path(sys.executable).with_name("optuna-dashboard")
FILES = (
    "config.yaml",
    "trials.csv",
    "profile.csv",
    "per_query.csv",
    "summary.json",
    "weights.yaml",
    "to_judge.csv",
    "candidates.npz",
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("optuna_dashboard") is None, reason="optuna-dashboard is not installed"
)  # fmt: skip


@contextlib.contextmanager
def serve(journal: Path) -> Iterator[str]:
    """The dashboard's own process on this journal, named as from the directory of studies/; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = journal.parents[2] / "dashboard.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [COMMAND, str(journal.relative_to(journal.parents[2])), "--port", str(port)],
            cwd=journal.parents[2],
            stdout=file,
            stderr=file,
        )
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(urllib.error.URLError):
                ask(f"http://127.0.0.1:{port}/api/meta")
                break
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        assert process.poll() is None, log.read_text()
        assert "Traceback" not in log.read_text()
    finally:
        process.terminate()
        process.wait(20)


def ask(url: str, method: str = "GET", body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def look_at_everything(address: str) -> None:
    """What the dashboard's pages ask for."""
    for study in ask(f"{address}/api/studies")["study_summaries"]:
        number = study["study_id"]
        ask(f"{address}/api/studies/{number}?after=0")
        ask(f"{address}/api/studies/{number}/param_importances")
        with urllib.request.urlopen(f"{address}/csv/{number}", timeout=30) as answer:
            answer.read()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed study in a directory of its own."""
    folder = tmp_path_factory.mktemp("looked-at") / "studies" / "reference"
    shutil.copytree(REFERENCE, folder)
    return folder


@pytest.fixture(scope="module")
def address(copy: Path) -> Iterator[str]:
    with serve(copy / "journal.log") as found:
        yield found
    # whatever the tests below have looked at: not a byte of the folder is another one
    assert {p.name: p.read_bytes() for p in copy.rglob("*") if p.is_file()} == {
        p.name: p.read_bytes() for p in REFERENCE.rglob("*") if p.is_file()
    }


def test_it_tells_what_the_study_recorded(address: str) -> None:
    (study,) = ask(f"{address}/api/studies")["study_summaries"]
    assert (study["study_name"], study["directions"]) == ("study", ["maximize"])  # Optuna's name of it; the folder has ours
    shown = ask(f"{address}/api/studies/{study['study_id']}")
    with (REFERENCE / "trials.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    summary = json.loads((REFERENCE / "summary.json").read_text())
    assert len(shown["trials"]) == len(rows) == summary["trials"]["COMPLETE"] == 40
    for trial, row in zip(shown["trials"], rows, strict=True):
        assert (trial["number"], trial["state"].upper()) == (int(row["number"]), row["state"])
        assert trial["values"] == [float(row["objective"])]
        params = {param["name"]: param["param_external_value"] for param in trial["params"]}
        assert params == {name: row[name] for name in ("semantic_weight", "fusion", "rrf_k") if row[name]}
        logged = {attribute["key"]: float(attribute["value"]) for attribute in trial["user_attrs"]}
        assert logged == {name: float(row[name]) for name in row if "@" in name}
    (best,) = shown["best_trials"]
    assert (best["number"], best["values"]) == (summary["best_trial"]["number"], [summary["best_trial"]["value"]])
    assert best["values"][0] == max(float(row["objective"]) for row in rows)


def test_its_pages_show_the_study(address: str, browser: Browser, tmp_path: Path) -> None:
    summary = json.loads((REFERENCE / "summary.json").read_text())
    number = summary["best_trial"]["number"]
    pages = {
        "dashboard": ["0. study", "Direction: MAXIMIZE"],
        "dashboard/studies/0": [f"Best Trial (number={number})", str(summary["best_trial"]["value"]), "semantic_weight"],
        "dashboard/studies/0/analytics": ["Slice", "Contour"],
        "dashboard/studies/0/trials": ["40 Trials", "Trial 0", "Recall@5"],
    }
    for page, said in pages.items():
        browser.open(f"{address}/{page}")
        for words in said:
            browser.wait(f"document.body.innerText.includes({json.dumps(words)})")
        assert browser.errors() == []
        assert all(url.startswith(address) for url in browser.foreign_requests())


def test_a_study_comes_out_the_same_after_it_was_looked_at(address: str, copy: Path) -> None:
    look_at_everything(address)
    again = harness.reproduce(copy)
    assert (again.outcome, again.differences) == ("OK", ())


def test_a_study_goes_on_beside_the_dashboard(write_config: Callable[..., Path], workdir: Path) -> None:
    """Half of the trials, a look and a note that somebody wrote there, the other half; as if it had run through alone."""
    config = write_config()
    alone = harness.tune(config, name="uninterrupted").folder
    half = yaml.safe_load(config.read_text())
    half["search"]["trials"] = 5
    (workdir / "half.yaml").write_text(yaml.safe_dump(half, sort_keys=False))
    folder = harness.tune(workdir / "half.yaml").folder
    journal = (workdir / folder / "journal.log").resolve()
    before = journal.read_bytes()
    with serve(journal) as address:
        look_at_everything(address)
        assert journal.read_bytes() == before
        ask(f"{address}/api/studies/0/note", "PUT", {"version": 1, "body": "rrf looks weak"})
        noted = journal.read_bytes()
        assert noted.startswith(before) and b"rrf looks weak" in noted[len(before) :]
        assert len(harness.tune(config).trials) == 12  # while it is open
        end = time.monotonic() + 30
        while len((shown := ask(f"{address}/api/studies/0"))["trials"]) < 12 and time.monotonic() < end:
            time.sleep(0.2)  # it reads the journal every two seconds
        assert len(shown["trials"]) == 12
        assert shown["note"]["body"] == "rrf looks weak"
    for name in FILES:
        ours, theirs = ((workdir / path / name).read_bytes() for path in (folder, alone))
        assert ours == (theirs.replace(b"uninterrupted", b"study") if name in ("config.yaml", "summary.json") else theirs), name


def test_a_study_with_two_objectives_opens_too(write_config: Callable[..., Path], workdir: Path) -> None:
    search = {"trials": 8, "sampler": "nsgaii", "space": {"semantic_weight": {"low": 0.0, "high": 1.0}}}
    result = harness.tune(write_config(objective=["MAP@5", "Recall@3"], search=search))
    with serve((workdir / result.folder / "journal.log").resolve()) as address:
        shown = ask(f"{address}/api/studies/0")
    assert shown["directions"] == ["maximize", "maximize"]
    front = {result.trials[number].values for number in result.summary["pareto"]}
    assert {tuple(trial["values"]) for trial in shown["best_trials"]} == front  # we name one trial of equal ones, it all
