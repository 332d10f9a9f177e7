"""import-cranfield: the three original files in BEIR layout, joined by place, grades the right way up.

The real collection is read from the folder that HARNESS_COLLECTIONS names, in BEIR layout; without it that test skips.
"""

from __future__ import annotations

import csv
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cli import run
from harness.commands.import_cranfield import GRADES, PUBLISHED

# Three documents and three prompts with gaps in the labels: joined by label, prompt .I 002 would get the judgements of
# .I 005, and .I 005 none.
DOCUMENTS = """\
.I 1
.T
heat in slabs
.A
able,a.
.B
j. inv. 1, 1.
.W
heat in slabs
  the heat of two slabs
was measured .
.I 2
.T
.A
.B
.W
.I 3
.T
kites .
.A
.B
.W
kites fly .
.  a line that begins with a dot
"""
PROMPTS = ".I 002\n.W\nhow hot is\na slab .\n.I 005\n.W\nwhat flies .\n.I 007\n.W\nwhat of   slabs and kites .\n"
JUDGED = "1 1 1 \n1 3 -1\n2 3 2 \n2  1  4\n3 1 3\n3 3 5\n"
FILES = {"cran.all.1400": DOCUMENTS, "cran.qry": PROMPTS, "cranqrel": JUDGED}
WRITTEN = {
    "corpus.jsonl": [
        {"_id": "1", "title": "heat in slabs", "text": "the heat of two slabs was measured ."},
        {"_id": "2", "title": "", "text": ""},
        {"_id": "3", "title": "kites .", "text": "kites fly . . a line that begins with a dot"},
    ],
    "queries.jsonl": [
        {"_id": "1", "text": "how hot is a slab ."},
        {"_id": "2", "text": "what flies ."},
        {"_id": "3", "text": "what of slabs and kites ."},
    ],
}
QRELS = "query-id\tcorpus-id\tscore\n1\t1\t4\n1\t3\t0\n2\t3\t3\n2\t1\t1\n3\t1\t2\n3\t3\t0\n"


def read_jsonl(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the small files in cran/."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cran").mkdir()
    for name, text in FILES.items():
        (tmp_path / "cran" / name).write_text(text)
    return tmp_path


@pytest.fixture
def refuse(place: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Import with these files changed (None: taken away): exit 2, nothing written; the lines on stderr."""

    def ask(changes: dict[str, str | bytes | None]) -> list[str]:
        for name, content in changes.items():
            path = place / "cran" / name
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        code = run(["import-cranfield", "cran", "--out", "new/beir"])
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), err
        assert not (place / "new").exists()
        return err.splitlines()

    return ask


def check_written(folder: Path) -> None:
    for name, records in WRITTEN.items():
        assert read_jsonl(folder / name) == records
    assert (folder / "qrels/test.tsv").read_text() == QRELS
    assert (folder / "query_labels.tsv").read_text() == "query-id\toriginal_I_label\n1\t002\n2\t005\n3\t007\n"
    assert sorted(path.name for path in folder.iterdir()) == ["corpus.jsonl", "qrels", "queries.jsonl", "query_labels.tsv"]


def test_the_small_files_come_out_joined_by_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-cranfield", "cran", "--out", "new/beir"]) == 0
    check_written(place / "new/beir")
    out = capsys.readouterr().out
    assert "3 documents, 3 prompts, 6 judgements" in out and "3 have another label" in out
    assert "titles cut off the start of their text: 1; empty documents: 1" in out
    assert "the published collection has 1400 documents, 225 prompts and 1837 judgements" in out
    assert out.endswith("next: python -m harness init new/beir\n")
    assert [path.name for path in (place / "new").iterdir()] == ["beir"]


@pytest.mark.parametrize("name", ["cran.all", "cran.all.1400"])
def test_both_names_windows_line_ends_and_a_byte_order_mark_are_read(name: str, place: Path) -> None:
    (place / "cran" / "cran.all.1400").rename(place / "cran" / name)
    for path in (place / "cran").iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    harness.import_cranfield("cran", out="beir")
    check_written(place / "beir")


def test_json_holds_the_counts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-cranfield", "cran", "--out", "beir", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "folder": "beir",
        "documents": 3,
        "queries": 3,
        "judgements": 6,
        "as_published": False,
        "published": PUBLISHED,
        "grades": {"4": 1, "3": 1, "2": 1, "1": 1, "0": 2},
        "codes": [{"code": code, "grade": grade, "judgements": 1} for code, grade in GRADES.items()],
        "labels_that_are_not_the_place": 3,
        "titles_cut": 1,
        "empty_documents": ["2"],
        "next": ["python -m harness init beir"],
    }


def test_a_grade_is_five_less_the_code_and_never_below_0() -> None:
    assert {code: grade for code, grade in GRADES.items() if code > 0} == {code: 5 - code for code in range(1, 6)}
    assert GRADES[-1] == 0


def test_in_a_notebook_it_is_a_row_a_code(place: Path) -> None:
    made = harness.import_cranfield("cran", out="beir")
    assert list(made.to_frame()["judgements"]) == [1] * 6
    assert "3 documents, 3 prompts, 6 judgements in beir" in made._repr_html_()


def test_what_is_written_can_be_tuned_on(place: Path) -> None:
    harness.import_cranfield("cran", out="beir")
    made = harness.init("beir")
    assert harness.check(made.path).facts["collection"]["queries_used"] == 3


# ---- refusals -------------------------------------------------------------------------------------------------------

ALL, QRY, REL = FILES
WRONG: list[tuple[str, dict[str, str | bytes | None], list[str]]] = [
    ("no documents", {ALL: None}, ["cran: must hold the documents as cran.all.1400 or cran.all, got neither"]),
    ("two files", {"cran.all": DOCUMENTS}, ["cran: must hold the documents as cran.all.1400 or cran.all, got both"]),
    ("two missing", {QRY: None, REL: None}, ["cran: must hold the prompts as cran.qry", "cran: must hold the judgements as"]),
    ("all missing", {ALL: None, QRY: None, REL: None}, ["cran: ", "cran: ", "cran: "]),
    ("empty", {ALL: "", QRY: "\n", REL: ""}, [f"cran/{ALL}:1: must begin with .I", f"cran/{QRY}:1: ", f"cran/{REL}: must hold"]),
    ("prompts for documents", {ALL: PROMPTS}, [f"cran/{ALL}:{line}: an entry must have .T" for line in (1, 5, 8)]),
    ("documents for prompts", {QRY: DOCUMENTS}, [f"cran/{QRY}:{n}: " for n in (2, 4, 6, 13, 14, 15, 18, 20, 21, 12)]),
    ("qrels for prompts", {QRY: JUDGED}, [f"cran/{QRY}:1: must begin with .I and a number, got '1 1 1 '"]),
    ("prompts for qrels", {REL: PROMPTS}, [f"cran/{REL}:{line}: must be three whole numbers" for line in range(1, 11)]),
    ("another collection", {ALL: DOCUMENTS + ".I 4\n.T\nt\n.W\nw\n.X\n1 5\n"}, [f"cran/{ALL}:30: must be a marker of this file"]),
    ("no number", {ALL: DOCUMENTS + ".I four\n"}, [f"cran/{ALL}:25: must be .I and a number, got '.I four'"]),
    (
        "text without a marker",
        {QRY: ".I 1\nwhat\n.W\nwhat\n"},
        [f"cran/{QRY}:2: must be a marker (.W text) below .I, got 'what'"],
    ),
    ("a marker twice", {QRY: PROMPTS + ".W\nagain\n"}, [f"cran/{QRY}:11: a marker must stand once"]),
    ("an empty prompt", {QRY: PROMPTS + ".I 9\n.W\n \n"}, [f"cran/{QRY}:11: a prompt must have a text"]),
    ("a prompt without .W", {QRY: PROMPTS + ".I 9\n"}, [f"cran/{QRY}:11: an entry must have .W, got none under .I 9"]),
    ("a label twice", {QRY: PROMPTS + ".I 5\n.W\nx\n"}, [f"cran/{QRY}:11: a number must stand once, .I 5 is on line 5 already"]),
    ("a document twice", {ALL: DOCUMENTS + ".I 1\n.T\n.W\n"}, [f"cran/{ALL}:25: a number must stand once"]),
    ("two columns", {REL: JUDGED + "1 2\n"}, [f"cran/{REL}:7: must be three whole numbers"]),
    ("trec's columns", {REL: JUDGED + "1 0 2 1\n"}, [f"cran/{REL}:7: must be three whole numbers"]),
    ("words", {REL: JUDGED + "1 2 best\n"}, [f"cran/{REL}:7: must be three whole numbers"]),
    ("code 0", {REL: JUDGED + "1 2 0\n1 2 6\n"}, [f"cran/{REL}:7: the code must be 1, 2, 3, 4, 5, -1, got 0", f"cran/{REL}:8: "]),
    ("a pair twice", {REL: JUDGED + "2 3 1\n"}, [f"cran/{REL}:7: a pair must be judged once, 2 3 is on line 3 already"]),
    (
        "an unknown document",
        {REL: JUDGED + "1 4 1\n"},
        [f"cran/{REL}:7: the second column must be the number of a document, got 4"],
    ),
    (
        "labels",
        {REL: "2 1 1\n5 3 2\n7 1 3\n"},
        [f"cran/{REL}:{line}: the first column must be the prompt's place" for line in (2, 3)],
    ),
    (
        "labels below",
        {QRY: PROMPTS.replace(".I 007", ".I 003"), REL: "2 1 1\n3 3 2\n"},
        [f"cran/{REL}: every prompt must be judged"],
    ),
    ("place 0", {REL: JUDGED + "0 1 1\n"}, [f"cran/{REL}:7: the first column"]),
    ("not utf-8", {ALL: DOCUMENTS.encode() + b"caf\xe9\n"}, [f"cran/{ALL}:25: must be UTF-8"]),
    ("all at once", {QRY: "x", REL: JUDGED + "1\n"}, [f"cran/{QRY}:1: ", f"cran/{REL}:7: "]),
]


@pytest.mark.parametrize(("changes", "said"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_files_are_refused_with_their_lines(
    changes: dict[str, str | bytes | None], said: list[str], refuse: Callable[..., list[str]]
) -> None:
    lines = refuse(changes)
    assert len(lines) == len(said), lines
    for line, start in zip(lines, said, strict=True):
        assert line.startswith(start), line


@pytest.mark.parametrize(("folder", "got"), [("nowhere", "none"), ("cran/cranqrel", "a file")])
def test_a_folder_that_is_none_is_refused(folder: str, got: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-cranfield", folder, "--out", "beir"]) == 2
    assert capsys.readouterr().err == f"{folder}: must be the folder with the original files, got {got}\n"


@pytest.mark.parametrize("there", ["folder", "empty folder", "file", "dangling link"])
def test_what_is_in_the_way_stays(there: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = place / "beir"
    if there == "dangling link":
        target.symlink_to(place / "nowhere")
    elif there == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        if there == "folder":
            (target / "mine").write_text("mine")
    before = sorted(place.rglob("*"))
    assert run(["import-cranfield", "cran", "--out", "beir"]) == 2
    assert "beir: must not be there yet" in capsys.readouterr().err
    assert sorted(place.rglob("*")) == before


def test_a_disk_that_fails_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.commands import import_cranfield as module

    wrote = []

    def fail(path: Path, text: str) -> None:
        wrote.append(path)
        if len(wrote) == 3:
            raise OSError(28, "No space left on device", str(path))
        path.write_text(text)

    monkeypatch.setattr(module, "write_text", fail)
    before = sorted(place.rglob("*"))
    assert run(["import-cranfield", "cran", "--out", "beir"]) == 3
    assert len(wrote) == 3 and sorted(place.rglob("*")) == before


# ---- the real collection --------------------------------------------------------------------------------------------


def as_originals(source: Path, target: Path) -> None:
    """The collection as its original files: titles repeated, lines wrapped, labels with gaps, codes, CRLF."""
    documents, prompts = (read_jsonl(source / f"{name}.jsonl") for name in ("corpus", "queries"))
    with (source / "query_labels.tsv").open(newline="") as file:
        labels = dict(list(csv.reader(file, delimiter="\t"))[1:])
    entries = []
    for document in documents:
        title, text = (wrap(document[name]) for name in ("title", "text"))
        entries.append(f".I {document['_id']}\n.T\n{title}.A\nsomeone,a.\n.B\n.W\n{title}{text}")
    judged = [line.split("\t") for line in (source / "qrels/test_raw_codes.tsv").read_text().splitlines()[1:]]
    target.mkdir()
    for name, text in {
        "cran.all.1400": "".join(entries),
        "cran.qry": "".join(f".I {labels[prompt['_id']]}\n.W\n{wrap(prompt['text'])}" for prompt in prompts),
        "cranqrel": "".join(f"{' '.join(fields)} \n" for fields in judged),
    }.items():
        (target / name).write_bytes(text.replace("\n", "\r\n").encode())


def wrap(text: str) -> str:
    lines = textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def test_the_real_collection_comes_out_as_it_is_known(tmp_path: Path) -> None:
    root = os.environ.get("HARNESS_COLLECTIONS")
    source = Path(root or "") / "cranfield"
    if root is None or not (source / "query_labels.tsv").is_file():
        pytest.skip("HARNESS_COLLECTIONS names no folder with the Cranfield collection")
    as_originals(source, tmp_path / "cran")
    made = harness.import_cranfield(tmp_path / "cran", out=tmp_path / "beir")
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "query_labels.tsv"):
        assert (tmp_path / "beir" / name).read_bytes() == (source / name).read_bytes(), name
    data = made.to_dict()
    assert data["as_published"] and data["empty_documents"] == ["471", "995"]
    assert data["grades"] == {"4": 128, "3": 387, "2": 734, "1": 363, "0": 225}
    assert data["labels_that_are_not_the_place"] > 200
