"""Answers as labels: what contains an answer, what is torn by the end of a chunk, and what is said of answers that fit badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.answers import MANY, Passage, find_answers, find_torn, neighbours, plain_answer, plain_text
from harness.chunks import Chunking
from harness.cli import run
from harness.collection import DataFiles, Source, read_dataset
from harness.errors import HarnessError
from harness.folder import read_prepared, read_study
from harness.types import Dataset

# ---- what contains an answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        ("30 days", "A trial lasts 30 days and more.", True),
        ("30 Days.", "a TRIAL of 30\n  days", True),  # case, white space, the full stop at the end
        ("“thirty days”", "some thirty days", True),
        ("３０ days", "30 days", True),  # NFKC
        ("ﬁne", "a fine thing", True),
        ("STRASSE", "die Straße", True),
        ("30 days", "130 days", False),  # a part of a longer number
        ("30 days", "30 daysly", False),
        ("art", "party", False),
        ("art", "state-of-the-art.", True),
        ("5", "1.5", True),  # a full stop ends a word
        ("C++", "C++ and C", True),
        ("--fresh", "use --fresh here", True),
        ("東京", "私は東京都に住む", True),  # no spaces between words
        ("30 days", "thirty days", False),
    ],
)
def test_an_answer_counts_where_it_stands_word_for_word(answer: str, text: str, found: bool) -> None:
    assert bool(find_answers([[answer]], [text])[0]) is found


def test_one_of_several_answers_is_enough_and_rows_ascend() -> None:
    texts = ["red", "blue and red", "green", "blue"]
    assert find_answers([["red", "blue"], ["green"], [], ["green", "white"], ["red", "Red."]], texts) == [
        [0, 1, 3],
        [2],
        [],
        [2],
        [0, 1],
    ]


def stands(answer: str, text: str) -> bool:
    """The slow twin: every place, one after another."""
    plain, wanted = plain_text(text), plain_answer(answer)
    for at in range(len(plain) - len(wanted) + 1):
        if plain[at : at + len(wanted)] == wanted:
            before, after = plain[at - 1 : at] if at else "", plain[at + len(wanted) : at + len(wanted) + 1]
            if not (before.isalnum() and wanted[0].isalnum()) and not (after.isalnum() and wanted[-1].isalnum()):
                return True
    return False


WORDS = st.text("ab 1.", min_size=1, max_size=4)


@given(answers=st.lists(st.lists(WORDS, max_size=3), max_size=4), texts=st.lists(st.text("ab 1.\n", max_size=12), max_size=6))
def test_the_automaton_finds_what_the_slow_twin_finds(answers: list[list[str]], texts: list[str]) -> None:
    expected = [
        [row for row, text in enumerate(texts) if any(plain_answer(a) and stands(a, text) for a in told)] for told in answers
    ]
    assert find_answers(answers, texts) == expected


def test_neighbours_share_what_overlaps_once() -> None:
    source = "one two three four five"
    spans = [(8, 18), (0, 13), (19, 23)]
    bodies = [source[a:b] for a, b in spans]
    passages = [Passage("x", a, b) for a, b in spans]
    assert list(neighbours(bodies, passages)) == [(1, "one two three four"), (0, "three four five")]
    other = [Passage("x", 0, 7), Passage("y", 0, 5)]
    assert list(neighbours(["one two", "three"], other)) == []


def test_an_answer_across_two_chunks_of_one_source_is_torn() -> None:
    bodies = ["the key is", "under the mat", "the key is"]
    passages = [Passage("a", 0, 10), Passage("a", 11, 24), Passage("b", 0, 10)]
    assert find_torn([["is under the"], ["mat the key"], ["key is"]], bodies, passages) == {0: [0], 2: [0]}


# ---- the labels -----------------------------------------------------------------------------------------------------


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Dataset]:
    """Read documents and prompts with answers written here."""

    def dataset(documents: dict[str, str], answers: dict[str, Sequence[str] | None]) -> Dataset:
        corpus, queries = tmp_path / "c.jsonl", tmp_path / "q.jsonl"
        corpus.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in documents.items()))
        records = [
            {"_id": name, "text": "?", **({"answers": told} if told is not None else {})} for name, told in answers.items()
        ]
        queries.write_text("".join(json.dumps(record) + "\n" for record in records))
        return read_dataset(DataFiles(corpus, queries, None))

    return dataset


def remarks_of(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    return {remark.name: remark.query_ids for remark in dataset.counts.remarks}


def test_every_document_that_contains_an_answer_is_relevant(read: Callable[..., Dataset]) -> None:
    documents = {"d1": "red fox", "d2": "blue bird", "d3": "red bird"}
    dataset = read(documents, {"q1": ["red"], "q2": ["blue", "fox"], "q3": ["green"], "q4": None, "q5": []})
    assert [query.query_id for query in dataset.queries] == ["q1", "q2"]
    assert dataset.qrels.rows.tolist() == [[0, 2], [0, 1]] and dataset.qrels.grades.tolist() == [[1, 1], [1, 1]]
    assert dataset.counts.judgements == 4 and dataset.counts.without_judgements == ("q3", "q4", "q5")
    assert remarks_of(dataset) == {"answers_nowhere": ("q3",)}
    (remark,) = dataset.counts.remarks
    assert remark.message.startswith("1 of 3 prompts have answers that no document contains")


def test_answers_in_many_documents_are_said(read: Callable[..., Dataset]) -> None:
    documents = {f"d{i:02d}": "yes" if i <= MANY else "no" for i in range(MANY + 5)}
    dataset = read(documents, {"q1": ["yes"], "q2": ["no"]})
    assert remarks_of(dataset) == {"answers_in_many": ("q1",)}  # MANY + 1 documents hold it
    assert f"more than {MANY} documents each (most: 'q1', {MANY + 1})" in dataset.counts.remarks[0].message


def test_a_torn_answer_is_told_apart_from_one_that_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text("The spare key lies under the old mat by the door. Ring twice.")
    (tmp_path / "q.csv").write_text("id,text,answer\nq1,where,under the old mat\nq2,how,Ring twice\nq3,who,nobody\n")
    for chunking, expected in (
        (Chunking(30, 0), {"answers_torn": ("q1",), "answers_nowhere": ("q3",)}),
        (Chunking(30, 20), {"answers_nowhere": ("q3",)}),
    ):
        corpus = Source(str(tmp_path / "docs"), chunking=chunking)
        assert remarks_of(read_dataset(DataFiles(corpus, tmp_path / "q.csv", None))) == expected


def test_an_answer_in_a_heading_above_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = "# Blue keys\n\n" + "Some words here. " * 3 + "\n\n" + "Other words there. " * 3
    (tmp_path / "docs/a.md").write_text(text)
    (tmp_path / "q.csv").write_text("id,text,answer\nq1,which,blue keys\n")
    dataset = read_dataset(DataFiles(Source(str(tmp_path / "docs"), chunking=Chunking(80, 0)), tmp_path / "q.csv", None))
    assert len(dataset.texts) == 2 and all(text.startswith("Blue keys") for text in dataset.texts)
    assert dataset.qrels.rows.tolist() == [[0]]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"q1": ["green"], "q2": ["white"]}, "at least one answer must be in a document of"),
        ({"q1": None}, "the prompts must have answers where no qrels are given, got none; name the column with answers:"),
        ({"q1": ["…"], "q2": ["red"]}, "an answer must have letters or digits, got '…' for 'q1'"),
        ({"q1": 5}, "the answers must be a list of texts, or one text, got '5'"),
        ({"q1": ["red", 5]}, 'the answers must be a list of texts, or one text, got ["red", "5"]'),
        ({"q1": '["red'}, "the answers begin as a JSON list does and must be one"),
    ],
)
def test_answers_that_can_be_no_labels(answers: dict[str, Any], expected: str, read: Callable[..., Dataset]) -> None:
    with pytest.raises(HarnessError) as refused:
        read({"d1": "red"}, answers)
    assert expected in refused.value.problems[0]


def test_a_prompts_answers_are_not_used_beside_qrels(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"_id": "d1", "text": "red"}\n{"_id": "d2", "text": "blue"}\n')
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", "text": "?", "answers": ["red"]}\n')
    (tmp_path / "l.tsv").write_text("q1\td2\t1\n")
    dataset = read_dataset(DataFiles(*(tmp_path / name for name in ("c.jsonl", "q.jsonl", "l.tsv"))))
    assert dataset.qrels.rows.tolist() == [[1]] and dataset.counts.remarks == ()


# ---- where it is said -----------------------------------------------------------------------------------------------


@pytest.fixture
def config(workdir: Path, cache: Path) -> Path:
    names = [f"thing number {word}" for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")]
    lines = [json.dumps({"_id": f"d{i}", "text": f"Here is {name}."}) for i, name in enumerate(names)]
    Path("c.jsonl").write_text("\n".join(lines) + "\n")
    rows = [f"q{i},where is {name.split()[-1]},{name}" for i, name in enumerate(names)] + ["lost,where is it,thing number zero"]
    Path("q.csv").write_text("\n".join(["id,text,answer", *rows]) + "\n")
    data = {
        "name": "told",
        "collection": {"corpus": "c.jsonl", "queries": "q.csv"},
        "depth": 5,
        "report_at": [1],
        "search": {"trials": 2},
        "cache": str(cache),
    }
    path = Path("config.yaml")
    path.write_text(yaml.safe_dump(data))
    return path


def test_check_names_the_prompts_and_tune_warns(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "1 of 11 prompts have answers that no document contains: they have no label and are left out of every mean"
    (note,) = [note for note in harness.check(config).notes if note.name == "answers_nowhere"]
    assert (note.message, note.count) == (said, 1) and [[place.where for place in e] for e in note.examples] == [["q.csv:12"]]
    result = harness.tune(config)
    assert said in result.summary["warnings"]
    assert result.summary["collection"]["remarks"] == [{"name": "answers_nowhere", "message": said, "query_ids": ["lost"]}]
    stored = read_study(result.folder)
    assert [remark.message for remark in read_prepared(stored).dataset.counts.remarks] == [said]
    assert harness.reproduce(result.folder).outcome == "OK"


def test_other_answers_are_another_question(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    harness.tune(config)
    queries = Path("q.csv")
    queries.write_text(queries.read_text().replace("thing number zero", "thing number one"))
    assert run(["tune", "config.yaml"]) == 2
    assert "content of collection.qrels" in capsys.readouterr().err


def test_labels_by_answers_can_be_written_out_as_qrels(config: Path) -> None:
    folder = harness.tune(config).folder
    lines = (folder / "runs/qrels.trec").read_text().splitlines()
    assert lines == [f"q{i} 0 d{i} 1" for i in range(10)]
