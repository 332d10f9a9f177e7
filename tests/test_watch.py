"""`watch`: the gate stays shut where nothing has changed, opens where something did, and says why in numbers that hold."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import yaml
from conftest import ROOT

import harness
from harness import decide, drift, semantic
from harness.choice import GRID
from harness.cli import run
from harness.collection import DataFiles, read_dataset
from harness.commands import gate as asking
from harness.commands.watch import Check, Watch
from harness.config import read_config
from harness.decide import objective_scores
from harness.drift import LEVEL
from harness.files import read_arrays, write_arrays
from harness.folder import read_study, setting_of
from harness.hybrid import Hybrid
from harness.prepare import Timings, prepare
from harness.progress import Progress, Silence
from harness.retrieve import embeddings
from harness.types import Dataset, Params

CHECKS = ["quality", "alternatives", "judgements", "latency"]
WEIGHT_ALONE = {"semantic_weight": {"low": 0.0, "high": 1.0}}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Seen:
    """What a watch printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.out)  # type: ignore[no-any-return]

    def check(self, name: str) -> dict[str, Any]:
        (check,) = (check for check in self.data["checks"] if check["name"] == name)
        return check  # type: ignore[no-any-return]

    @property
    def status(self) -> dict[str, str]:
        return {check["name"]: check["status"] for check in self.data["checks"]}


@pytest.fixture
def look(capsys: pytest.CaptureFixture[str]) -> Callable[..., Seen]:
    """Watch a study (its folder); nothing in the folder changes, whatever comes out."""

    def answer(study: str | Path, *arguments: str | Path) -> Seen:
        before = contents(Path(study))
        capsys.readouterr()
        code = run(["watch", str(study), *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert contents(Path(study)) == before
        return Seen(code, out, err)

    return answer


@pytest.fixture
def see(look: Callable[..., Seen]) -> Callable[..., Seen]:
    """The same with --json."""
    return lambda study, *arguments: look(study, "--json", *arguments)


@pytest.fixture
def refuse(place: Path, look: Callable[..., Seen]) -> Callable[..., str]:
    """A watch that must be refused for the user's input: one line on stderr, nothing written, no half of a JUnit file."""

    def answer(study: str | Path, *arguments: str | Path) -> str:
        before = contents(place)
        seen = look(study, "--junit", "gate.xml", *arguments)
        assert (seen.code, seen.out) == (2, "")
        assert contents(place) == before
        (line,) = [line for line in seen.err.splitlines() if line.strip()]
        return line

    return answer


# ---- a small study: what it prints ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Path:
    """A working directory with a finished study over the garden."""
    folder = tmp_path_factory.mktemp("tuned")
    space = {**WEIGHT_ALONE, "top_k": {"low": 2, "high": 8}, "fusion": ["minmax", "rrf"]}
    data = {
        "name": "study",
        "seed": 7,
        "collection": garden,
        "depth": 10,
        "objective": "MAP@5",
        "search": {"trials": 12, "space": space},
        "cache": str(cache),
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(data))
    with contextlib.chdir(folder):
        assert run(["tune", "study.yaml"]) == 0
    return folder


@pytest.fixture
def place(tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that working directory, and in it."""
    folder = tmp_path / "place"
    shutil.copytree(tuned, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(drift, "DRAWS", 199)  # enough for a p-value below the level, and quick
    return folder


STUDY = Path("studies/study")


def edit_json(path: Path, **changes: Any) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | changes))


def edit_config(study: Path, **changes: Any) -> None:
    path = study / "config.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes, sort_keys=False))


def test_on_the_same_data_nothing_speaks_against_the_setting(place: Path, see: Callable[..., Seen]) -> None:
    seen = see(STUDY)
    assert seen.code == 0
    assert seen.data["ok"] is True
    assert seen.status == dict.fromkeys(CHECKS[:3], "ok") | {"latency": "skipped"}
    assert {k: seen.data[k] for k in ("study", "setting", "objective", "prompts")} == {
        "study": "study",
        "setting": "recommended",
        "objective": "MAP@5",
        "prompts": 12,
    }
    for name in ("quality", "judgements"):
        check = seen.check(name)
        assert (check["change"], check["interval"], check["p_value"], check["paired"]) == (0.0, [0.0, 0.0], 1.0, True)
        assert check["now"] == check["then"]
    with (STUDY / "per_query.csv").open() as file:
        recorded = [float(row["pick"]) for row in csv.DictReader(file)]
    assert seen.check("quality")["now"] == pytest.approx(np.mean(recorded), abs=1e-12)


@pytest.mark.parametrize("arguments", [[], ["--no-latency"], ["--run", "studies/study/runs/keyword.trec"]])
def test_lines_json_and_junit_tell_the_same(arguments: list[str], place: Path, look: Callable[..., Seen]) -> None:
    lines = look(STUDY, *arguments)
    told = look(STUDY, *arguments, "--json", "--junit", "deep/in/gate.xml")
    assert told.code == lines.code == (0 if told.data["ok"] else 1)
    checks = told.data["checks"]
    assert lines.out.splitlines()[:-1] == [f"{c['status']:7} {c['name']}: {c['message']}" for c in checks]
    last = "study study, setting recommended, 12 prompts: "
    assert lines.out.splitlines()[-1] == last + ("nothing speaks against it" if told.data["ok"] else "look at what failed")

    suites = ET.parse(place / "deep/in/gate.xml").getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    count = {status: sum(c["status"] == status for c in checks) for status in ("failed", "skipped")}
    assert suite.attrib == {
        "name": "harness watch study",
        "tests": str(len(checks)),
        "failures": str(count["failed"]),
        "skipped": str(count["skipped"]),
        "errors": "0",
    }
    inside = {"ok": "system-out", "failed": "failure", "skipped": "skipped"}
    for case, check in zip(suite, checks, strict=True):
        assert case.attrib == {"classname": "harness.watch.study", "name": check["name"]}
        (element,) = case
        assert element.tag == inside[check["status"]]
        assert (element.text if check["status"] == "ok" else element.get("message")) == check["message"]


@pytest.mark.parametrize("status", ["ok", "failed", "skipped"])
@pytest.mark.parametrize("text", ['a < b & "c" > \'d\' ]]> </failure><x y="&amp;">', "two\nlines", "− × ≥ Ä 日本", ""])
def test_no_message_breaks_the_xml(text: str, status: str) -> None:
    checks = (Check("quality", status, text), Check("judgements", "ok", "fine"))
    written = Watch("study", "pick", Params(), "MAP@5", 3, checks).to_junit()
    (suite,) = ET.fromstring(written.encode())
    (element,), _ = suite
    told = element.text if status == "ok" else element.get("message")
    assert (told or "") == text
    assert (suite.get("failures"), suite.get("skipped")) == (str(int(status == "failed")), str(int(status == "skipped")))


def test_the_function_gives_what_the_command_prints(place: Path, see: Callable[..., Seen]) -> None:
    found = harness.watch(STUDY)
    assert json.loads(json.dumps(found.to_dict())) == see(STUDY).data
    assert harness.watch("study").to_dict() == found.to_dict()  # by name, under studies/


@pytest.mark.parametrize("setting", ["pick", "best_trial"])
def test_another_setting_of_the_study_can_be_watched(setting: str, place: Path, see: Callable[..., Seen]) -> None:
    seen = see(STUDY, "--setting", setting)
    summary = json.loads((STUDY / "summary.json").read_text())
    assert seen.code == 0
    assert seen.data["setting"] == setting
    assert {k: seen.data["params"][k] for k in summary[setting]["params"]} == summary[setting]["params"]
    assert seen.check("quality")["change"] == 0


def test_the_same_watch_twice_says_the_same(place: Path, look: Callable[..., Seen]) -> None:
    assert look(STUDY).out == look(STUDY).out


# ---- a production run, and the folder alone -------------------------------------------------------------------------


def test_a_run_needs_the_studys_folder_alone(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: Callable[..., Seen]
) -> None:
    """No file of the collection, no cache, no model: only what tune wrote, and the run."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree(STUDY, elsewhere / "kept")
    shutil.move(elsewhere / "kept" / "runs" / "pick.trec", elsewhere / "ours.trec")
    shutil.rmtree(elsewhere / "kept" / "runs")
    edit_config(
        elsewhere / "kept", collection={name: f"gone/{name}" for name in ("corpus", "queries", "qrels")}, cache="gone/cache"
    )
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(semantic, "find_model", lambda options: pytest.fail("no model is needed"))
    before = contents(elsewhere)
    seen = see("kept", "--run", "ours.trec")
    assert seen.code == 0
    assert seen.status == dict.fromkeys(CHECKS[:3], "ok")  # nothing is searched, so nothing is timed
    assert seen.check("quality")["change"] == seen.check("judgements")["change"] == 0
    assert contents(elsewhere) == before and not (elsewhere / "gone").exists()


def test_a_runs_equal_scores_are_ordered_as_asked(place: Path, see: Callable[..., Seen]) -> None:
    """The run with all scores the same and its ranks in the column: only --ties rank brings its order back."""
    lines = [line.split() for line in (STUDY / "runs/pick.trec").read_text().splitlines()]
    Path("flat.trec").write_text("".join(f"{q} Q0 {doc} {rank} 1 flat\n" for q, _, doc, rank, _, _ in lines))
    by_rank, by_id = (see(STUDY, "--run", "flat.trec", "--ties", ties).check("quality") for ties in ("rank", "doc_id"))
    assert by_rank["change"] == 0
    assert by_id["change"] < 0


def test_a_prompt_that_the_run_lacks_scores_0(place: Path, see: Callable[..., Seen]) -> None:
    lines = [line for line in (STUDY / "runs/pick.trec").read_text().splitlines() if not line.startswith(("q01 ", "q02 "))]
    Path("ours.trec").write_text("\n".join(lines))
    with (STUDY / "per_query.csv").open() as file:
        recorded = {row["query_id"]: float(row["pick"]) for row in csv.DictReader(file)}
    check = see(STUDY, "--run", "ours.trec").check("quality")
    assert check["change"] == pytest.approx(-(recorded["q01"] + recorded["q02"]) / 12)


def test_a_run_and_new_judgements_of_the_same_prompts_go_together(
    place: Path, garden: dict[str, str], see: Callable[..., Seen]
) -> None:
    """The study's own run under the study's own judgements, which come from a file this time."""
    seen = see(STUDY, "--run", STUDY / "runs/pick.trec", "--qrels", garden["qrels"])
    assert seen.code == 0
    assert seen.check("quality")["change"] == 0


# ---- wrong input: exit 2, one line, nothing written -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--ties", "random"], ["--ties", "doc_id, trec_eval, rank", "'random'"]),
        (["--setting", "best"], ["--setting", "recommended, pick, best_trial", "'best'"]),
        (["--queries", "study.yaml"], ["--queries", "--qrels"]),
        (["--queries", "gone.jsonl", "--run", "studies/study/runs/pick.trec"], ["--queries", "--qrels"]),
        (["--qrels", "gone.tsv"], ["gone.tsv: must be a file"]),
        (["--queries", "gone.jsonl", "--qrels", "QRELS"], ["gone.jsonl: must be a file"]),
        (["--run", "gone.trec"], ["gone.trec: must be a file"]),
        (["--run", "studies"], ["studies: must be a file, got a folder"]),
        (["--run", "study.yaml"], ["study.yaml"]),
        (["--qrels", "study.yaml"], ["study.yaml:1"]),
        (["--run", "foreign.trec"], ["foreign.trec: must have results for the labelled prompts, got 0 of 12"]),
    ],
)
def test_what_cannot_be_watched_is_refused(
    arguments: list[str], named: list[str], place: Path, garden: dict[str, str], look: Callable[..., Seen]
) -> None:
    Path("foreign.trec").write_text("q99 Q0 apple 1 1.0 t\n")
    arguments = [garden["qrels"] if word == "QRELS" else word for word in arguments]
    before = contents(place)
    seen = look(STUDY, "--junit", "gate.xml", *arguments)
    assert (seen.code, seen.out) == (2, "")
    assert contents(place) == before
    lines = [line for line in seen.err.splitlines() if line.strip()]
    assert len(lines) == 1 or arguments[1] == "study.yaml"  # a file of another kind: a line for each of its lines
    assert all(word in lines[0] for word in named)


def test_a_refused_watch_leaves_an_older_junit_file_as_it_is(place: Path, look: Callable[..., Seen]) -> None:
    Path("gate.xml").write_text("<old/>")
    assert look(STUDY, "--junit", "gate.xml", "--run", "gone.trec").code == 2
    assert Path("gate.xml").read_text() == "<old/>"


@pytest.mark.parametrize("name", ["nothing", "studies/nothing", "study.yaml", "studies"])
def test_what_is_no_study_is_refused(name: str, place: Path, refuse: Callable[..., str]) -> None:
    assert name in refuse(name)


@pytest.mark.parametrize("missing", ["summary.json", "config.yaml"])
def test_an_unfinished_study_is_refused(missing: str, refuse: Callable[..., str], place: Path) -> None:
    (STUDY / missing).unlink()
    line = refuse(STUDY)
    assert line.startswith(f"{STUDY}: ") and missing in line and "run tune" in line


def test_a_study_without_its_weights_is_refused(refuse: Callable[..., str], place: Path) -> None:
    (STUDY / "weights.yaml").unlink()  # as it is while tune goes on
    assert refuse(STUDY).startswith(f"{STUDY}/weights.yaml: ")


def test_a_study_of_two_objectives_has_no_setting_to_watch(place: Path, refuse: Callable[..., str]) -> None:
    data = yaml.safe_load(Path("study.yaml").read_text())
    data |= {"name": "two", "objective": ["MAP@5", "nDCG@5"], "search": {"trials": 2, "space": WEIGHT_ALONE}}
    Path("two.yaml").write_text(yaml.safe_dump(data))
    assert run(["tune", "two.yaml"]) == 0
    for setting in ("recommended", "pick"):
        line = refuse("studies/two", "--setting", setting)
        assert line.startswith("studies/two: ") and "two objectives" in line


def damage(file: str, how: str) -> None:
    """Make a file of the study something that tune did not write."""
    path = STUDY / file
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "torn":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "not utf-8":
        path.write_bytes(b"\xff\xfe" + data)
    elif how == "another kind":
        path.write_bytes(b"PK nonsense")


@pytest.mark.parametrize("arguments", [[], ["--run", "studies/study/runs/pick.trec"]])
@pytest.mark.parametrize("how", ["missing", "torn", "empty", "another kind"])
def test_damaged_candidates_are_refused(how: str, arguments: list[str], place: Path, refuse: Callable[..., str]) -> None:
    damage("candidates.npz", how)
    line = refuse(STUDY, *arguments)
    assert line.startswith(f"{STUDY}/candidates.npz: must be what tune wrote") and line.endswith("run tune again")


@pytest.mark.parametrize("left_out", ["ids", "meta", "rows", "qrels_rows", "document_rows"])
def test_candidates_that_lack_a_part_are_refused(left_out: str, place: Path, refuse: Callable[..., str]) -> None:
    path = STUDY / "candidates.npz"
    arrays = read_arrays(path)
    del arrays[left_out]
    write_arrays(path, arrays)
    assert refuse(STUDY).startswith(f"{path}: must be what tune wrote")


@pytest.mark.parametrize("kind", ["queries", "documents", "clusters"])
def test_candidates_that_name_too_few_are_refused(kind: str, place: Path, refuse: Callable[..., str]) -> None:
    path = STUDY / "candidates.npz"
    arrays = read_arrays(path)
    ids = json.loads(arrays["ids"].tobytes())
    ids[kind].pop()
    write_arrays(path, arrays | {"ids": np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8)})
    assert refuse(STUDY, "--run", "studies/study/runs/pick.trec").startswith(f"{path}: must be what tune wrote")


@pytest.mark.parametrize("how", ["missing", "not utf-8", "another kind", "torn", "empty"])
@pytest.mark.parametrize("file", ["per_query.csv", "trials.csv", "profile.csv"])
def test_the_tables_are_for_people_and_not_read(file: str, how: str, place: Path, look: Callable[..., Seen]) -> None:
    """What a watch knows of each prompt, its cluster too, is in candidates.npz, which is checked as a whole."""
    expected = look(STUDY)
    damage(file, how)
    assert look(STUDY) == expected


@pytest.mark.parametrize("how", ["torn", "empty", "not utf-8", "another kind"])
def test_a_damaged_summary_is_refused(how: str, place: Path, refuse: Callable[..., str]) -> None:
    damage("summary.json", how)
    assert refuse(STUDY).startswith(f"{STUDY}/summary.json")


@pytest.mark.parametrize("value", [[], None, {}, {"left_out": 3}])
def test_a_summary_without_its_counts_is_refused_by_its_name(value: Any, place: Path, refuse: Callable[..., str]) -> None:
    edit_json(STUDY / "summary.json", collection=value)
    assert refuse(STUDY).startswith(f"{STUDY}/summary.json: ")


@pytest.mark.parametrize("value", [[], None, "text", {"params": None}, {"params": {"semantic_weight": 7}}])
def test_a_summary_without_a_pick_that_can_be_read_is_refused(value: Any, place: Path, refuse: Callable[..., str]) -> None:
    edit_json(STUDY / "summary.json", pick=value)
    assert refuse(STUDY).startswith(f"{STUDY}/summary.json: ")
    assert refuse(STUDY, "--setting", "pick").startswith(f"{STUDY}/summary.json: ")


@pytest.mark.parametrize("value", [[], "text", {"pick": []}, {"pick": {"optimism": "much"}}, {}, None])
def test_a_summary_whose_cross_fitting_is_damaged_is_no_bug(
    value: Any, place: Path, garden: dict[str, str], look: Callable[..., Seen]
) -> None:
    """It is read for prompts that the study did not use: here one more, beside the twelve."""
    edit_json(STUDY / "summary.json", cross_fitted=value)
    queries, qrels = (Path(garden[name]).read_text() for name in ("queries", "qrels"))
    Path("queries.jsonl").write_text(queries + '{"_id": "q13", "text": "moss"}\n{"_id": "q14", "text": "peas"}\n')
    Path("qrels.tsv").write_text(qrels + "q13\tlawn\t2\nq14\tpea\t1\n")
    assert look(STUDY, "--queries", "queries.jsonl", "--qrels", "qrels.tsv").code in (0, 1, 2)


@pytest.mark.parametrize("text", ["depth: 100000\n", "k1: 0.3\n", "b: 0.1\n"])
def test_a_setting_that_the_stored_candidates_cannot_serve_is_refused(text: str, place: Path, refuse: Callable[..., str]) -> None:
    (STUDY / "weights.yaml").write_text("semantic_weight: 0.5\n" + text)
    line = refuse(STUDY)
    assert text.split(":")[0] in line


def test_weights_that_are_none_are_refused_with_their_line(place: Path, refuse: Callable[..., str]) -> None:
    (STUDY / "weights.yaml").write_text("semantic_weight: 0.5\ntop_k: none\n")
    assert refuse(STUDY).startswith(f"{STUDY}/weights.yaml:2: top_k: ")


# ---- the data has moved ---------------------------------------------------------------------------------------------


def test_another_corpus_is_said(place: Path, garden: dict[str, str], look: Callable[..., Seen]) -> None:
    corpus = place / "corpus.jsonl"
    corpus.write_text(Path(garden["corpus"]).read_text() + '{"_id": "zinnia", "text": "Zinnias want warmth."}\n')
    edit_config(STUDY, collection=garden | {"corpus": str(corpus)})
    assert "warning: the corpus is no longer the one that the study was made on" in look(STUDY).err
    edit_config(STUDY, collection=garden)
    assert "corpus" not in look(STUDY).err


@pytest.mark.parametrize("how", ["missing", "torn", "another kind"])
def test_without_a_manifest_nothing_is_claimed_of_the_corpus(how: str, place: Path, look: Callable[..., Seen]) -> None:
    damage("manifest.json", how)
    seen = look(STUDY)
    assert seen.code == 0
    assert "the corpus is no longer the one" not in seen.err


def test_a_single_new_prompt_says_nothing(place: Path, look: Callable[..., Seen]) -> None:
    Path("queries.jsonl").write_text('{"_id": "q13", "text": "silver leaf on plums"}\n')
    Path("qrels.tsv").write_text("q13\tcherry\t2\n")
    seen = look(STUDY, "--json", "--no-latency", "--queries", "queries.jsonl", "--qrels", "qrels.tsv", "--junit", "gate.xml")
    assert seen.code == 0
    assert seen.status == {"quality": "skipped", "alternatives": "ok", "judgements": "skipped"}
    assert "one independent prompt has no spread" in seen.check("quality")["message"]
    assert "interval" not in seen.check("quality")
    (suite,) = ET.parse("gate.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped"), suite.get("tests")) == ("0", "2", "3")


def test_of_a_study_with_held_out_prompts_only_the_others_are_watched(
    place: Path, garden: dict[str, str], see: Callable[..., Seen]
) -> None:
    data = yaml.safe_load(Path("study.yaml").read_text())
    data |= {"name": "held", "held_out": 0.25, "search": {"trials": 2, "space": WEIGHT_ALONE}}
    Path("held.yaml").write_text(yaml.safe_dump(data))
    assert run(["tune", "held.yaml"]) == 0
    plain = see("studies/held")
    assert (plain.code, plain.data["prompts"], plain.check("quality")["change"]) == (0, 9, 0)
    again = see("studies/held", "--qrels", garden["qrels"])  # "new judgements of the study's prompts": the same ones
    assert again.code == 0
    assert (again.data["prompts"], again.check("quality")["paired"]) == (9, True)


# ---- latency --------------------------------------------------------------------------------------------------------


@pytest.fixture
def timed(place: Path) -> Path:
    """The study after evaluate has timed its weights; its timings.json."""
    assert run(["evaluate", "study.yaml", "--weights", str(STUDY / "weights.yaml")]) == 0
    return STUDY / "timings.json"


def edit_search(path: Path, **changes: Any) -> None:
    search = json.loads(path.read_text())["search"]
    edit_json(path, search=search | changes)


def test_a_search_that_is_no_slower_is_ok(timed: Path, see: Callable[..., Seen]) -> None:
    edit_search(timed, p95=1000.0)
    check = see(STUDY).check("latency")
    assert check["status"] == "ok"
    assert check["p95_then"] == 1000.0
    assert 0 < check["p95"] < 1000
    assert f"p95 {check['p95'] * 1000:.2f} ms, in the study 1000000.00 ms" in check["message"]


def test_a_search_that_has_become_slower_fails(timed: Path, see: Callable[..., Seen], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LEAST_SLOWER", 0.0)
    then = json.loads(timed.read_text())["search"]["p95"] / 100
    edit_search(timed, p95=then)
    seen = see(STUDY)
    assert seen.code == 1
    check = seen.check("latency")
    assert check["status"] == "failed"
    assert check["p95_then"] == then and check["p95"] > 2 * then
    assert "more than 2 times as slow" in check["message"]


def test_a_difference_too_small_to_matter_is_no_alarm(
    timed: Path, see: Callable[..., Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "LEAST_SLOWER", 1000.0)
    edit_search(timed, p95=1e-9)
    assert see(STUDY).check("latency")["status"] == "ok"


@pytest.mark.parametrize("key", ["platform", "processor", "cores"])
def test_another_machine_is_not_compared(key: str, timed: Path, see: Callable[..., Seen]) -> None:
    machine = json.loads(timed.read_text())["measured_on"]
    edit_json(timed, measured_on=machine | {key: "another"})
    check = see(STUDY).check("latency")
    assert check["status"] == "skipped" and "another machine" in check["message"]


@pytest.mark.parametrize("change", [{"semantic_weight": 0.123}, {"fusion": "l2"}, {"depth": 3}])
def test_another_settings_search_is_not_compared(change: dict[str, Any], timed: Path, see: Callable[..., Seen]) -> None:
    edit_search(timed, **change)
    check = see(STUDY).check("latency")
    assert check["status"] == "skipped" and "another setting" in check["message"]


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[]", '{"search": []}', '{"search": {"p95": 1.0}}', '{"search": {"p95": "1"}, "measured_on": {}}', "{}"],
)
def test_without_a_search_that_was_timed_there_is_nothing_to_compare(
    content: str | None, timed: Path, see: Callable[..., Seen]
) -> None:
    timed.unlink() if content is None else timed.write_text(content)
    seen = see(STUDY)
    assert seen.code == 0
    assert seen.check("latency")["status"] == "skipped" and "run evaluate" in seen.check("latency")["message"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_recorded_latency_that_is_no_number_is_nothing_to_compare(value: float, timed: Path, look: Callable[..., Seen]) -> None:
    edit_search(timed, p95=value, p50=value)
    for arguments in ([], ["--json"]):
        seen = look(STUDY, *arguments)
        assert seen.code == 0
        assert "nan" not in seen.out and "inf" not in seen.out


@pytest.mark.parametrize("arguments", [["--no-latency"], ["--run", "studies/study/runs/pick.trec"]])
def test_where_nothing_is_to_be_timed_nothing_is(
    arguments: list[str], timed: Path, see: Callable[..., Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "time_search", lambda *_: pytest.fail("nothing must be timed"))
    assert list(see(STUDY, *arguments).status) == CHECKS[:3]


# ---- the handbook: 168 prompts ----------------------------------------------------------------------------------------


class Handbook:
    """The handbook's prompts and labels, and studies over some of them."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = folder, cache
        shutil.copytree(ROOT / "corpora/handbook", folder / "handbook")
        lines = (folder / "handbook/queries.jsonl").read_text().splitlines()
        self.queries = {json.loads(line)["_id"]: line for line in lines}
        rows = [line.split("\t") for line in (folder / "handbook/qrels/test.tsv").read_text().splitlines()[1:]]
        self.labels = {q: {doc: int(grade) for p, doc, grade in rows if p == q} for q in self.queries}
        self.ids = sorted(self.queries)

    def relevant(self, query_id: str) -> set[str]:
        return {doc for doc, grade in self.labels[query_id].items() if grade >= 1}

    def write(
        self,
        name: str,
        ids: Sequence[str],
        labels: dict[str, dict[str, int]] | None = None,
        clusters: dict[str, str] | None = None,
    ) -> tuple[str, str, str, str]:
        """Files of these prompts (with other labels than their own); the arguments that name them."""
        labels = self.labels if labels is None else labels
        clusters = clusters or {}
        queries, qrels = self.folder / f"{name}.jsonl", self.folder / f"{name}.tsv"
        lines = [json.loads(self.queries[q]) | {"cluster": clusters.get(q, "")} for q in ids]
        queries.write_text("".join(json.dumps(line) + "\n" for line in lines))
        qrels.write_text("".join(f"{q}\t{doc}\t{grade}\n" for q in ids for doc, grade in labels[q].items()))
        return "--queries", str(queries), "--qrels", str(qrels)

    def config(self, name: str, ids: Sequence[str], clusters: dict[str, str] | None = None) -> Path:
        _, queries, _, qrels = self.write(f"tuned-{name}", ids, clusters=clusters)
        data = {
            "name": name,
            "seed": 7,
            "collection": {"corpus": str(self.folder / "handbook/corpus.jsonl"), "queries": queries, "qrels": qrels},
            "keyword": {"analyzer": "english"},
            "objective": "MAP@10",
            "report_at": [10],
            "search": {"trials": 2, "space": WEIGHT_ALONE},
            "cache": str(self.cache),
        }
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(data))
        return path

    def tune(self, name: str, ids: Sequence[str], clusters: dict[str, str] | None = None) -> Path:
        """The folder of a study of these prompts."""
        path = self.config(name, ids, clusters)
        with contextlib.chdir(self.folder):
            assert run(["tune", str(path)]) == 0
        return self.folder / "studies" / name


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Handbook]:
    """The handbook, every text of it encoded once: a prompt's vector does not depend on the prompts beside it."""
    book = Handbook(tmp_path_factory.mktemp("handbook"), cache)
    config = read_config(book.config("all", book.ids))
    dataset = read_dataset(config.collection.files())
    texts = [query.text for query in dataset.queries]
    _, encoded = embeddings(dataset, config, Silence())
    vector_of = dict(zip(texts, encoded.vectors, strict=True))
    load, encode = semantic.load_model, semantic.encode

    def known(
        loaded: Any, wanted: Sequence[str], kind: semantic.Kind, options: Any, progress: Progress, *_: Any
    ) -> semantic.Encoded:
        if kind == "query" and set(wanted) <= set(vector_of):
            return replace(encoded, vectors=np.stack([vector_of[text] for text in wanted]))
        return encode(load(semantic.find_model(options), options), wanted, kind, options, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semantic, "load_model", lambda model, options: None)
        patch.setattr(semantic, "encode", known)
        patch.setattr(decide, "REPEATS", 2)  # of the cross-fitting: its mean is the same
        yield book


@pytest.fixture(scope="module")
def whole(handbook: Handbook) -> Path:
    """The study of all 168 prompts."""
    return handbook.tune("whole", handbook.ids)


@pytest.fixture(scope="module")
def halves(handbook: Handbook) -> tuple[list[str], list[str]]:
    """Half of the prompts to tune on, and the other half: alike, drawn at random."""
    mixed = np.random.default_rng(1).permutation(handbook.ids)
    return sorted(mixed[:84].tolist()), sorted(mixed[84:].tolist())


@pytest.fixture(scope="module")
def half(handbook: Handbook, halves: tuple[list[str], list[str]]) -> Path:
    """The study of one half."""
    return handbook.tune("half", halves[0])


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a study, to be changed."""

    def copy(study: Path) -> Path:
        return Path(shutil.copytree(study, tmp_path / study.name))

    return copy


def read_trec(path: Path) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        query_id, _, doc_id, *_ = line.split()
        listed.setdefault(query_id, []).append(doc_id)
    return listed


def write_trec(path: Path, listed: dict[str, list[str]]) -> Path:
    path.write_text("".join(f"{q} Q0 {doc} {rank} {-rank} t\n" for q, docs in listed.items() for rank, doc in enumerate(docs, 1)))
    return path


def average_precision(listed: list[str], relevant: set[str]) -> float:
    """By its definition, over the first ten."""
    at = [rank for rank, doc in enumerate(listed[:10], 1) if doc in relevant]
    return sum(hit / rank for hit, rank in enumerate(at, 1)) / len(relevant)


def hybrid_of(study: Path, arguments: Sequence[str]) -> tuple[Hybrid, Dataset]:
    """The hybrid search of the prompts that these arguments name, over the study's corpus."""
    config = read_study(study).config
    dataset = read_dataset(DataFiles(Path(config.collection.corpus), Path(arguments[1]), Path(arguments[3])))
    return prepare(config, dataset, Silence(), Timings()).hybrid, dataset


def search_by_hand(study: Path, arguments: Sequence[str]) -> dict[str, list[str]]:
    """What the study's recommended setting returns for them, whole lists."""
    hybrid, dataset = hybrid_of(study, arguments)
    results = hybrid.results(setting_of(read_study(study), "recommended"))
    return {q.query_id: [dataset.doc_ids[row] for row in rows] for q, (rows, _) in zip(dataset.queries, results, strict=True)}


def same_as_t_test(check: dict[str, Any], now: np.ndarray, then: np.ndarray) -> tuple[float, float, float]:
    """The check's numbers are scipy's for these pairs; the mean and the interval, for the message."""
    test = scipy.stats.ttest_1samp(now - then, 0.0)
    interval = test.confidence_interval(0.95)
    assert check["paired"] is True
    assert (check["now"], check["then"]) == pytest.approx((now.mean(), then.mean()))
    assert check["change"] == pytest.approx((now - then).mean())
    assert check["interval"] == pytest.approx([interval.low, interval.high])
    return float((now - then).mean()), float(interval.low), float(interval.high)


def test_the_studys_own_run_has_changed_nothing(whole: Path, see: Callable[..., Seen]) -> None:
    seen = see(whole, "--run", whole / "runs/pick.trec")
    assert seen.code == 0
    assert seen.check("quality")["message"] == "MAP@10 is what it was on the same 168 prompts"


def test_a_run_that_lost_its_best_results_fails_with_numbers_that_hold(
    whole: Path, handbook: Handbook, tmp_path: Path, see: Callable[..., Seen]
) -> None:
    """The first result of every third prompt is gone: average precision from the files, the test from scipy."""
    before = read_trec(whole / "runs/pick.trec")
    after = {q: docs[1:] if i % 3 == 0 else docs for i, (q, docs) in enumerate(before.items())}
    now, then = (np.array([average_precision(run[q], handbook.relevant(q)) for q in handbook.ids]) for run in (after, before))
    seen = see(whole, "--run", write_trec(tmp_path / "ours.trec", after))
    assert seen.code == 1
    check = seen.check("quality")
    assert check["status"] == "failed"
    mean, low, high = same_as_t_test(check, now, then)
    p_value = scipy.stats.ttest_1samp(now - then, 0.0, alternative="less").pvalue
    assert check["p_value"] == pytest.approx(p_value, abs=1e-12) and p_value < 1e-4
    assert check["message"] == (
        f"MAP@10 has fallen: {mean:+.4f} (95 % interval {low:+.4f} to {high:+.4f}, p < 0.0001) against the study, 168 prompts"
    )


def test_a_run_of_another_order_is_told_that_the_studys_setting_leads(whole: Path, see: Callable[..., Seen]) -> None:
    """Production runs keyword search alone: a recorded alternative is better by what per_query.csv says."""
    with (whole / "per_query.csv").open() as file:
        rows = list(csv.DictReader(file))
    seen = see(whole, "--run", whole / "runs/keyword.trec")
    assert seen.code == 1
    assert seen.status["quality"] == seen.status["alternatives"] == "failed"
    check = seen.check("alternatives")
    gain = np.mean([float(row[check["leads"]]) - float(row["keyword"]) for row in rows])
    assert check["gain"] == pytest.approx(gain) and gain > 0
    assert "leads the run" in check["message"] and "whether production still runs the study's setting" in check["message"]


# ---- new labels of the same prompts ---------------------------------------------------------------------------------


def thin_labels(handbook: Handbook, ids: Sequence[str], share: float, seed: int) -> dict[str, dict[str, int]]:
    """Each label is lost with this probability, but for one relevant document a prompt."""
    drawn = np.random.default_rng(seed)
    kept = {}
    for q in ids:
        first = min(handbook.relevant(q))
        kept[q] = {doc: grade for doc, grade in handbook.labels[q].items() if doc == first or drawn.random() >= share}
    return kept


def test_labels_lost_at_random_show_as_unjudged_results(whole: Path, handbook: Handbook, see: Callable[..., Seen]) -> None:
    labels = thin_labels(handbook, handbook.ids, 0.4, 3)
    arguments = handbook.write("thin", handbook.ids, labels)[2:]
    listed = read_trec(whole / "runs/pick.trec")
    now, then = (
        np.array([sum(doc not in judged[q] for doc in listed[q][:10]) / 10 for q in handbook.ids])
        for judged in (labels, handbook.labels)
    )
    seen = see(whole, "--no-latency", *arguments)
    assert seen.code == 1
    check = seen.check("judgements")
    assert check["status"] == "failed"
    mean, low, high = same_as_t_test(check, now, then)
    assert check["message"] == (
        f"the share of unjudged results among the first 10 has grown: {mean:+.4f} (95 % interval {low:+.4f} to {high:+.4f},"
        " p < 0.0001) against the study, 168 prompts"
    )
    quality = seen.check("quality")
    scored = [
        np.array([average_precision(listed[q], {d for d, g in of[q].items() if g >= 1}) for q in handbook.ids])
        for of in (labels, handbook.labels)
    ]
    same_as_t_test(quality, scored[0], scored[1])


def test_a_run_under_new_labels_meets_alternatives_under_the_same_labels(
    whole: Path, handbook: Handbook, see: Callable[..., Seen]
) -> None:
    """Half of each prompt's relevant documents, the ones that were found, are taken back: every setting falls alike."""
    listed = read_trec(whole / "runs/pick.trec")
    labels = {}
    for q in handbook.ids:
        found = [doc for doc in listed[q] if doc in handbook.relevant(q)]
        gone = set(found[: len(found) // 2])
        labels[q] = {doc: 0 if doc in gone else grade for doc, grade in handbook.labels[q].items()}
    labels = {q: of for q, of in labels.items() if any(grade >= 1 for grade in of.values())}
    arguments = handbook.write("taken-back", sorted(labels), labels)
    searched = see(whole, "--no-latency", *arguments)
    brought = see(whole, "--run", whole / "runs/pick.trec", *arguments)
    assert brought.check("quality") == searched.check("quality")  # the same lists under the same labels
    assert searched.status["quality"] == "failed"
    assert searched.status["alternatives"] == "ok"
    assert brought.status["alternatives"] == "ok"


@pytest.mark.parametrize("today", ["all", "a part", "new", "old and new"])
def test_now_less_then_is_the_change(
    today: str, half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    old, new = halves
    ids = {"all": old, "a part": old[:30], "new": new, "old and new": sorted([*old[:20], *new[:40]])}[today]
    labels = thin_labels(handbook, ids, 0.3, 4)
    seen = see(half, "--no-latency", *handbook.write("today", ids, labels))
    for name in ("quality", "judgements"):
        check = seen.check(name)
        assert check["now"] - check["then"] == pytest.approx(check["change"], abs=1e-12), name


# ---- new prompts ----------------------------------------------------------------------------------------------------


def test_ten_new_prompts_at_no_change_raise_at_most_one_alarm_in_ten_draws(handbook: Handbook, see: Callable[..., Seen]) -> None:
    alarms = []
    for draw in range(10):
        new = sorted(np.random.default_rng(draw).choice(handbook.ids, 10, replace=False).tolist())
        study = handbook.tune(f"without-{draw}", [q for q in handbook.ids if q not in new])
        seen = see(study, "--no-latency", *handbook.write(f"new-{draw}", new))
        assert seen.code == (0 if seen.data["ok"] else 1)
        assert seen.data["prompts"] == 10 and seen.check("quality")["paired"] is False
        assert "10 prompts, 10 of them new" in seen.check("quality")["message"]
        alarms.append(seen.code == 1)
    assert sum(alarms) <= 1


def test_many_new_prompts_like_the_old_ones_raise_no_alarm(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    seen = see(half, "--no-latency", *handbook.write("other", halves[1]))
    assert seen.code == 0
    assert seen.status == dict.fromkeys(CHECKS[:3], "ok")


def test_new_prompts_are_compared_by_welch_with_the_recorded_ones(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    """Now: each prompt ranked by the study's setting, scored from its definition; then: per_query.csv, less the optimism."""
    arguments = handbook.write("other", halves[1])
    listed = search_by_hand(half, arguments)
    now = np.array([average_precision(listed[q], handbook.relevant(q)) for q in halves[1]])
    with (half / "per_query.csv").open() as file:
        then = np.array([float(row["pick"]) for row in csv.DictReader(file)])
    then -= max(0.0, read_study(half).summary["cross_fitted"]["pick"]["optimism"])
    check = see(half, "--no-latency", *arguments).check("quality")
    assert (check["now"], check["then"]) == pytest.approx((now.mean(), then.mean()))
    interval = scipy.stats.ttest_ind(now, then, equal_var=False).confidence_interval(1 - 2 * LEVEL / 3)
    assert check["interval"] == pytest.approx([interval.low, interval.high])
    p_value = scipy.stats.permutation_test(
        (now, then), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), alternative="less", n_resamples=9999, rng=1
    ).pvalue
    assert check["p_value"] == pytest.approx(p_value, abs=0.03)
    assert f"{100 * (1 - 2 * LEVEL / 3):.1f} % interval" in check["message"]


def test_new_prompts_whose_labels_never_come_back_fail(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    """Labels with the ids of another system: no result is judged, no relevant document is found."""
    labels = {q: {f"page-{doc}": grade for doc, grade in handbook.labels[q].items()} for q in halves[1]}
    seen = see(half, "--no-latency", *handbook.write("garbage", halves[1], labels))
    assert seen.code == 1
    assert seen.status == {"quality": "failed", "alternatives": "ok", "judgements": "failed"}
    quality, judgements = seen.check("quality"), seen.check("judgements")
    assert quality["now"] == 0 and quality["change"] == -quality["then"]
    assert judgements["now"] == 1
    assert "MAP@10 has fallen: " in quality["message"] and "84 prompts, 84 of them new" in quality["message"]


def test_old_prompts_among_new_ones_are_left_out_of_the_comparison(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    old, new = halves
    alone = see(half, "--no-latency", *handbook.write("new", new))
    mixed = see(half, "--no-latency", *handbook.write("both", sorted([*old[:20], *new])))
    assert mixed.data["prompts"] == 104
    for name in ("quality", "judgements"):
        for key in ("change", "interval", "p_value", "paired"):
            assert mixed.check(name)[key] == alone.check(name)[key], key
        assert "104 prompts, 84 of them new" in mixed.check(name)["message"]


@pytest.mark.parametrize(("optimism", "shift"), [(0.0, 0.0), (0.05, 0.05), (-0.05, 0.0), (None, 0.0), ("much", 0.0)])
def test_the_picks_optimism_is_taken_off_what_it_scored(
    optimism: Any,
    shift: float,
    half: Path,
    handbook: Handbook,
    halves: tuple[list[str], list[str]],
    copied: Callable[[Path], Path],
    see: Callable[..., Seen],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drift, "DRAWS", 9)  # no p-value is looked at
    study = copied(half)
    fitted = json.loads((study / "summary.json").read_text())["cross_fitted"]
    fitted["pick"]["optimism"] = optimism
    edit_json(study / "summary.json", cross_fitted=fitted)
    with (study / "per_query.csv").open() as file:
        rows = list(csv.DictReader(file))
    arguments = handbook.write("other", halves[1])
    for setting in ("recommended", "pick", "best_trial"):
        check = see(study, "--no-latency", "--setting", setting, *arguments).check("quality")
        column = "best_trial" if setting == "best_trial" else "pick"
        recorded = np.mean([float(row[column]) for row in rows])
        assert check["then"] == pytest.approx(recorded - (0.0 if setting == "best_trial" else shift), abs=1e-12)
    paired = see(study, "--no-latency").check("quality")
    assert paired["change"] == 0  # the same prompts flatter it today as they did then


def test_prompts_count_by_their_clusters_on_both_sides(
    handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    """Welch's interval from the sums of each cluster's deviations, by its formula; only the standard errors know of clusters."""
    old, new = halves
    clusters = {q: f"{side} {i // size}" for side, ids, size in (("old", old, 6), ("new", new, 4)) for i, q in enumerate(ids)}
    study = handbook.tune("clustered", old, clusters)
    arguments = handbook.write("clustered-new", new, clusters=clusters)
    check = see(study, "--no-latency", *arguments).check("quality")
    with (study / "per_query.csv").open() as file:
        then = {row["query_id"]: float(row["pick"]) for row in csv.DictReader(file)}
    listed = search_by_hand(study, arguments)
    now = {q: average_precision(listed[q], handbook.relevant(q)) for q in new}
    errors, freedom = [], []
    for scored in (now, then):
        mean = np.mean(list(scored.values()))
        names = {clusters[q] for q in scored}
        off = [sum(score - mean for q, score in scored.items() if clusters[q] == name) for name in names]
        k = len(names)
        errors.append(k / (k - 1) * sum(x * x for x in off) / len(scored) ** 2)
        freedom.append(k - 1)
    df = sum(errors) ** 2 / sum(v**2 / f for v, f in zip(errors, freedom, strict=True))
    reach = scipy.stats.t.ppf(1 - LEVEL / 3, df) * sum(errors) ** 0.5
    assert freedom == [20, 13]
    assert check["interval"] == pytest.approx([check["change"] - reach, check["change"] + reach])


def test_recorded_prompts_of_a_single_cluster_have_no_spread(
    handbook: Handbook, halves: tuple[list[str], list[str]], see: Callable[..., Seen]
) -> None:
    study = handbook.tune("single", halves[0][:12], dict.fromkeys(halves[0], "one"))
    seen = see(study, "--no-latency", *handbook.write("other", halves[1]))
    assert (seen.status["quality"], seen.status["judgements"]) == ("skipped", "skipped")
    assert "interval" not in seen.check("quality")


# ---- a better weight --------------------------------------------------------------------------------------------------


def deploy(study: Path, **params: Any) -> None:
    """Write a setting into weights.yaml, as a person would who knows better."""
    data = yaml.safe_load((study / "weights.yaml").read_text())
    (study / "weights.yaml").write_text(yaml.safe_dump(data | params))


def test_a_weight_far_from_the_best_is_told_the_plateau(
    half: Path,
    handbook: Handbook,
    halves: tuple[list[str], list[str]],
    copied: Callable[[Path], Path],
    see: Callable[..., Seen],
) -> None:
    """Keyword search alone is deployed: the curve over 84 new prompts, each cell ranked and scored by itself."""
    study = copied(half)
    deploy(study, semantic_weight=0.0)
    arguments = handbook.write("other", halves[1])
    seen = see(study, "--no-latency", *arguments)
    assert seen.code == 1
    assert seen.status == {"quality": "ok", "alternatives": "failed", "judgements": "ok"}
    check = seen.check("alternatives")

    config = read_study(study).config
    hybrid, _ = hybrid_of(study, arguments)
    measure = config.objectives[0]
    curve = np.stack([objective_scores(hybrid, replace(config.base, semantic_weight=w), measure, 10) for w in GRID], axis=1)
    means = curve.mean(axis=0)
    good = GRID[means >= 0.99 * means.max()]
    assert f"; the best plateau lies within weights {good.min():.3f} to {good.max():.3f}: tune again" in check["message"]
    assert "leads the deployed weight 0 by " in check["message"]

    deployed = objective_scores(hybrid, replace(config.base, semantic_weight=0.0), measure, 10)
    label = re.fullmatch(r"weight ([\d.]+)", check["leads"])
    cell = int(np.argmin(np.abs(GRID - float(label[1])))) if label else None
    leads = curve[:, cell] if cell is not None else objective_scores(hybrid, config.base, measure, 10)
    assert check["gain"] == pytest.approx((leads - deployed).mean())
    assert check["interval"] == pytest.approx(list(scipy.stats.ttest_1samp(leads - deployed, 0.0).confidence_interval(0.95)))
    t_values = scipy.stats.ttest_1samp(curve - deployed[:, None], 0.0).statistic
    assert scipy.stats.ttest_1samp(leads - deployed, 0.0).statistic >= t_values.max() - 1e-9


def test_on_the_same_prompts_an_alternative_that_led_already_is_no_news(
    half: Path, copied: Callable[[Path], Path], see: Callable[..., Seen]
) -> None:
    study = copied(half)
    deploy(study, semantic_weight=0.0)
    seen = see(study, "--no-latency")
    assert seen.code == 0
    assert seen.check("alternatives")["message"].endswith(", as it did in the study")


def test_an_alternative_that_leads_by_more_than_it_did_is_news(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], copied: Callable[[Path], Path], see: Callable[..., Seen]
) -> None:
    """What the deployed keyword search ranks higher than the pick does is taken back: it falls behind further."""
    study = copied(half)
    deploy(study, semantic_weight=0.0)
    keyword, pick = (read_trec(study / f"runs/{name}.trec") for name in ("keyword", "pick"))
    labels = {}
    for q in halves[0]:
        place = {name: {doc: rank for rank, doc in enumerate(run[q])} for name, run in (("keyword", keyword), ("pick", pick))}
        relevant = handbook.relevant(q)
        gone = {doc for doc in relevant if place["keyword"].get(doc, 999) < place["pick"].get(doc, 999)}
        gone = gone if gone < relevant else set()
        labels[q] = {doc: 0 if doc in gone else grade for doc, grade in handbook.labels[q].items()}
    seen = see(study, "--no-latency", *handbook.write("taken", halves[0], labels)[2:])
    assert seen.code == 1
    assert seen.status["alternatives"] == "failed"
    assert "the best plateau lies within weights " in seen.check("alternatives")["message"]


def test_a_run_of_new_prompts_has_no_recorded_alternatives(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], tmp_path: Path, see: Callable[..., Seen]
) -> None:
    listed = {q: sorted(handbook.relevant(q)) for q in halves[1]}
    arguments = handbook.write("other", halves[1])
    seen = see(half, "--run", write_trec(tmp_path / "ours.trec", listed), *arguments)
    assert seen.code == 0
    assert seen.status == {"quality": "ok", "alternatives": "skipped", "judgements": "ok"}
    best = np.mean([min(10, len(of)) / len(of) for of in listed.values()])
    assert seen.check("quality")["now"] == pytest.approx(best)


def test_a_run_of_new_prompts_that_finds_nothing_fails(
    half: Path, handbook: Handbook, halves: tuple[list[str], list[str]], tmp_path: Path, see: Callable[..., Seen]
) -> None:
    ours = write_trec(tmp_path / "ours.trec", {q: ["nowhere-1", "nowhere-2"] for q in halves[1]})
    seen = see(half, "--run", ours, *handbook.write("other", halves[1]))
    assert seen.code == 1
    assert seen.status == {"quality": "failed", "alternatives": "skipped", "judgements": "failed"}
    assert (seen.check("quality")["now"], seen.check("judgements")["now"]) == (0, 1)
    assert "2 documents are not in the corpus" in seen.err
