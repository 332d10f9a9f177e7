"""Corpus, queries, qrels and runs from outside: what is read, what is refused, and with which line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.collection import DataFiles, check_found, read_dataset
from harness.errors import MOST_SHOWN, HarnessError, Problems
from harness.files import (
    Judgement,
    hash_lines,
    pad_qrels,
    read_corpus,
    read_lines,
    read_qrels,
    read_queries,
    read_run,
    read_text,
    write_arrays,
    write_text,
)
from harness.types import Dataset

BOM = b"\xef\xbb\xbf"
STRANGE_IDS = ["001", "1", "0042", "NA", "null", "None", "nan", "1e5", "1.0", "true", "-", "é", "\U0001f600"]


def put(path: Path, content: str | bytes) -> Path:
    """Write exactly these bytes."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def jsonl(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def problems_of(call: Callable[[], object]) -> list[str]:
    """The problem lines of a call that must be refused."""
    with pytest.raises(HarnessError) as caught:
        call()
    return list(caught.value.problems)


def triples(judgements: list[Judgement]) -> list[tuple[str, str, int]]:
    return [(j.query_id, j.doc_id, j.grade) for j in judgements]


def dataset_of(folder: Path, corpus: str, queries: str, qrels: str, *, threshold: int = 1, **options: str) -> Dataset:
    paths = DataFiles(
        put(folder / "corpus.jsonl", corpus), put(folder / "queries.jsonl", queries), put(folder / "qrels.tsv", qrels), **options
    )
    return read_dataset(paths, relevance_threshold=threshold)


def by_code_points(ids: list[str]) -> list[str]:
    return sorted(ids, key=lambda text: [ord(character) for character in text])


# ---- any file -------------------------------------------------------------------------------------------------------

READERS: dict[str, tuple[Callable[[Path], object], bytes]] = {
    "corpus": (read_corpus, b'{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n'),
    "queries": (read_queries, b'{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n'),
    "qrels tsv with header": (read_qrels, b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n"),
    "qrels tsv": (read_qrels, b"q1\td1\t1\nq2\td2\t1\n"),
    "qrels trec": (read_qrels, b"q1 0 d1 1\nq2 0 d2 1\n"),
    "run": (read_run, b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n"),
}


@pytest.fixture(params=list(READERS))
def kind(request: pytest.FixtureRequest) -> tuple[Callable[[Path], object], bytes]:
    """A reader with a good file of its kind."""
    return READERS[request.param]


def test_d8_a_byte_order_mark_changes_nothing(kind, tmp_path: Path) -> None:
    read, good = kind
    assert read(put(tmp_path / "with", BOM + good)) == read(put(tmp_path / "without", good))


def test_windows_line_ends_and_blank_lines_change_nothing(kind, tmp_path: Path) -> None:
    read, good = kind
    windows = put(tmp_path / "windows", good.replace(b"\n", b"\r\n"))
    spaced = put(tmp_path / "spaced", good.replace(b"\n", b" \n \t\n\n"))
    without_last = put(tmp_path / "cut", good.rstrip(b"\n"))
    plain = put(tmp_path / "plain", good)
    if read is read_qrels:
        assert triples(read(windows)) == triples(read(spaced)) == triples(read(without_last)) == triples(read(plain))
    else:
        assert read(windows) == read(spaced) == read(without_last) == read(plain)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(kind, tmp_path: Path) -> None:
    read, good = kind
    first, rest = good.split(b"\n", 1)
    path = put(tmp_path / "latin1", first + b"\n" + rest.replace(b"1", b"\xe9").replace(b"y", b"\xe9"))
    (problem,) = problems_of(lambda: read(path))
    assert problem.startswith(f"{path}:2: ")
    assert "UTF-8" in problem and "0xe9" in problem


def test_d8_behind_a_byte_order_mark_the_wrong_byte_and_its_line_are_still_named(tmp_path: Path) -> None:
    path = put(tmp_path / "latin1", BOM + b"a\n\xe9\n")
    (problem,) = problems_of(lambda: read_text(path))
    assert problem.startswith(f"{path}:2: ")
    assert "0xe9" in problem


def test_utf16_is_refused_on_line_1(tmp_path: Path) -> None:
    path = put(tmp_path / "utf16", "q1\td1\t1\n".encode("utf-16"))
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:1: ")


def test_a_missing_file_a_folder_and_a_file_used_as_a_folder_are_refused_by_name(kind, tmp_path: Path) -> None:
    read, _ = kind
    put(tmp_path / "file", "x")
    (tmp_path / "folder").mkdir()
    for name in ("nothing", "folder", "file/inner", "a\0b"):
        (problem,) = problems_of(lambda name=name: read(tmp_path / name))
        assert name.replace("\0", "\\x00") in problem


def test_an_empty_file_is_refused_by_name(kind, tmp_path: Path) -> None:
    read, _ = kind
    for content in (b"", BOM, b"\n \r\n"):
        path = put(tmp_path / "empty", content)
        (problem,) = problems_of(lambda path=path: read(path))
        assert problem.startswith(f"{path}: ")


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    path = put(tmp_path / "lines", "a\u2028b\x0bc\x85d\r\n\ne\rf")
    assert read_lines(path) == [(1, "a\u2028b\x0bc\x85d"), (3, "e\rf")]


# ---- ids ------------------------------------------------------------------------------------------------------------


def test_d2_ids_stay_the_strings_they_are_in_every_file(tmp_path: Path) -> None:
    records = jsonl(*({"_id": name, "text": "x"} for name in STRANGE_IDS))
    tsv = "".join(f"{name}\t{name}\t1\n" for name in STRANGE_IDS)
    trec = "".join(f"{name} 0 {name} 1\n" for name in STRANGE_IDS)
    run = "".join(f"{name} Q0 {name} 1 1.0 tag\n" for name in STRANGE_IDS)
    assert set(read_corpus(put(tmp_path / "c", records))[0]) == set(STRANGE_IDS)
    assert {query.query_id for query in read_queries(put(tmp_path / "q", records))} == set(STRANGE_IDS)
    for name, text in (("tsv", tsv), ("trec", trec)):
        assert triples(read_qrels(put(tmp_path / name, text))) == [(i, i, 1) for i in STRANGE_IDS]
    assert read_run(put(tmp_path / "run", run)) == {i: [i] for i in STRANGE_IDS}


def test_d2_a_json_number_as_id_is_its_digits(tmp_path: Path) -> None:
    numbers = ["1", "1.0", "1e5", "-0", "12345678901234567890123456789", "0.10000000000000000001"]
    lines = "".join(f'{{"_id": {number}, "text": "x"}}\n' for number in numbers)
    assert set(read_corpus(put(tmp_path / "c", lines))[0]) == set(numbers)
    assert {query.query_id for query in read_queries(put(tmp_path / "q", lines))} == set(numbers)


def test_d2_number_ids_join_with_the_qrels_as_they_are_written(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, '{"_id": 1, "text": "x"}\n', '{"_id": 7, "text": "x"}\n', "7\t1\t1\n")
    assert dataset.doc_ids == ("1",)
    assert dataset.counts.unknown_documents == 0


def test_d10_a_number_and_the_same_digits_as_text_are_one_id(tmp_path: Path) -> None:
    path = put(tmp_path / "c", '{"_id": 1, "text": "x"}\n{"_id": "1", "text": "y"}\n')
    (problem,) = problems_of(lambda: read_corpus(path))
    assert problem.startswith(f"{path}:2: ") and "'1'" in problem


@pytest.mark.parametrize("bad", ["null", "true", '""', '"  "', "[1]", "{}"])
def test_an_id_that_is_neither_text_nor_a_number_is_refused(bad: str, tmp_path: Path) -> None:
    path = put(tmp_path / "c", '{"_id": "a", "text": "x"}\n' + f'{{"_id": {bad}, "text": "x"}}\n')
    (problem,) = problems_of(lambda: read_corpus(path))
    assert problem.startswith(f"{path}:2: ") and "_id" in problem


@pytest.mark.parametrize("record", [r'{"_id": "\ud800", "text": "x"}', r'{"_id": "b", "text": "x \udc00"}'])
@pytest.mark.parametrize("read", [read_corpus, read_queries])
def test_half_of_a_surrogate_pair_is_not_text_and_is_refused_with_its_line(
    read: Callable[[Path], object], record: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "c", f'{{"_id": "a", "text": "x"}}\n{record}\n')
    (problem,) = problems_of(lambda: read(path))
    assert problem.startswith(f"{path}:2: ")


def test_rows_follow_the_code_points_of_the_ids(tmp_path: Path) -> None:
    ids = ["\U00010000", "a", "\uffee", "Z", "9", "é", "10"]  # in UTF-16 units \U00010000 would stand before \uffee
    wanted = ["10", "9", "Z", "a", "é", "\uffee", "\U00010000"]
    records = jsonl(*({"_id": name, "text": f"text of {name}"} for name in ids))
    doc_ids, texts = read_corpus(put(tmp_path / "c", records))
    assert list(doc_ids) == wanted
    assert list(texts) == [f"text of {name}" for name in wanted]
    assert [query.query_id for query in read_queries(put(tmp_path / "q", records))] == wanted


def test_d2_blanks_around_an_id_do_not_part_a_document_from_its_judgement(tmp_path: Path) -> None:
    dataset = dataset_of(
        tmp_path, jsonl({"_id": " d1\u00a0", "text": "x"}), jsonl({"_id": " q1\u00a0", "text": "x"}), " q1\u00a0\t d1\u00a0\t1\n"
    )
    assert dataset.doc_ids == (" d1\u00a0",)
    assert dataset.counts.unknown_documents == 0


any_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
any_id = any_text.filter(lambda text: text.strip() != "")
tsv_id = any_id.filter(lambda text: text == text.strip() and not set(text) & set("\t\n\r"))
trec_id = any_id.filter(lambda text: not any(character.isspace() for character in text))


@given(ids=st.lists(any_id, min_size=1, max_size=6, unique=True), ascii_only=st.booleans(), data=st.data())
def test_any_id_comes_back_from_corpus_and_queries_in_code_point_order(
    ids: list[str], ascii_only: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shuffled = data.draw(st.permutations(ids))
    lines = "".join(json.dumps({"_id": name, "text": "x"}, ensure_ascii=ascii_only) + "\n" for name in shuffled)
    path = put(tmp_path_factory.getbasetemp() / "any.jsonl", lines)
    assert list(read_corpus(path)[0]) == by_code_points(ids)
    assert [query.query_id for query in read_queries(path)] == by_code_points(ids)


@given(pairs=st.lists(st.tuples(tsv_id, tsv_id, st.integers(-3, 5)), min_size=1, max_size=6, unique_by=lambda t: t[:2]))
def test_any_id_without_tab_and_line_end_comes_back_from_tsv_qrels(
    pairs: list[tuple[str, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in pairs)
    path = put(tmp_path_factory.getbasetemp() / "any.tsv", BOM + lines.encode())  # an id may itself start with U+FEFF
    assert triples(read_qrels(path)) == pairs


@given(pairs=st.lists(st.tuples(trec_id, trec_id, st.integers(-3, 5)), min_size=1, max_size=6, unique_by=lambda t: t[:2]))
def test_any_id_without_white_space_comes_back_from_trec_qrels_and_runs(
    pairs: list[tuple[str, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    qrels = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in pairs)
    assert triples(read_qrels(put(folder / "any.qrels", BOM + qrels.encode()))) == pairs
    run = "".join(f"{query} Q0 {doc} {i} {-i} tag\n" for i, (query, doc, _) in enumerate(pairs))
    found = read_run(put(folder / "any.run", BOM + run.encode()))
    assert found == {query: [doc for other, doc, _ in pairs if other == query] for query, _, _ in pairs}


# ---- corpus and queries ---------------------------------------------------------------------------------------------


def test_d16_a_missing_a_null_and_an_empty_title_index_the_text_alone(tmp_path: Path) -> None:
    corpus = '{"_id":"a","text":"x"}\n{"_id":"b","title":null,"text":"x"}\n{"_id":"c","title":"","text":""}\n'
    dataset = dataset_of(tmp_path, corpus, jsonl({"_id": "q", "text": "x"}), "q\ta\t1\n")
    assert dataset.texts == ("x", "x", "")
    assert dataset.counts.documents == 3
    assert dataset.counts.empty_documents == ("c",)


def test_the_indexed_text_is_title_one_space_and_text_stripped(tmp_path: Path) -> None:
    records = jsonl(
        {"_id": "a", "title": "T", "text": "b"},
        {"_id": "b", "title": " T", "text": "b\n"},
        {"_id": "c", "title": "T", "text": ""},
        {"_id": "d", "title": "T ", "text": " b"},
        {"_id": "e", "title": " \t", "text": "\u3000"},
    )
    assert read_corpus(put(tmp_path / "c", records))[1] == ("T b", "T b", "T", "T   b", "")


@pytest.mark.parametrize("read", [read_corpus, read_queries])
def test_d10_an_id_on_two_lines_is_refused_and_every_such_id_listed(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = put(
        tmp_path / "c",
        jsonl(
            {"_id": "d1", "text": "x"},
            {"_id": "d2", "text": "x"},
            {"_id": "d1", "text": "y"},
            {"_id": "d2", "text": "x"},
        ),
    )
    first, second = problems_of(lambda: read(path))
    assert first.startswith(f"{path}:3: ") and "'d1'" in first and "line 1" in first
    assert second.startswith(f"{path}:4: ") and "'d2'" in second and "line 2" in second


@pytest.mark.parametrize("read", [read_corpus, read_queries])
def test_d10_a_json_object_with_a_key_twice_is_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = put(tmp_path / "c", '{"_id": "d1", "text": "x"}\n{"_id": "d2", "_id": "d3", "text": "x"}\n')
    (problem,) = problems_of(lambda: read(path))
    assert problem.startswith(f"{path}:2: ") and "'_id'" in problem


NOT_OBJECTS = [
    '["a"]',
    "5",
    "null",
    '"d2"',
    '{"_id": "d2", "text": "x"',
    "d2",
    '{"_id": "d2", "text": "x", "n": NaN}',
    "[" * 100_000,
]


@pytest.mark.parametrize("line", NOT_OBJECTS, ids=lambda line: line[:12])
def test_a_line_that_is_not_one_json_object_is_refused_with_its_number(line: str, tmp_path: Path) -> None:
    path = put(tmp_path / "c", f'{{"_id": "d1", "text": "x"}}\n{line}\n{{"_id": "d3", "text": "x"}}\n')
    (problem,) = problems_of(lambda: read_corpus(path))
    assert problem.startswith(f"{path}:2: ") and len(problem) < 300 + len(str(path))


@pytest.mark.parametrize("fields", [{}, {"text": None}, {"text": 5}, {"text": ["x"]}, {"text": True}])
@pytest.mark.parametrize("read", [read_corpus, read_queries])
def test_a_text_that_is_not_text_is_one_problem(read: Callable[[Path], object], fields: dict[str, Any], tmp_path: Path) -> None:
    path = put(tmp_path / "c", jsonl({"_id": "a", "text": "x"}, {"_id": "b", **fields}))
    (problem,) = problems_of(lambda: read(path))
    assert problem.startswith(f"{path}:2: ") and "text" in problem


@pytest.mark.parametrize("title", [5, ["T"], False])
def test_a_title_that_is_not_text_is_refused(title: object, tmp_path: Path) -> None:
    path = put(tmp_path / "c", jsonl({"_id": "a", "title": title, "text": "x"}))
    (problem,) = problems_of(lambda: read_corpus(path))
    assert problem.startswith(f"{path}:1: ") and "title" in problem


def test_an_empty_prompt_is_refused_with_its_line(tmp_path: Path) -> None:
    path = put(tmp_path / "q", jsonl({"_id": "a", "text": "x"}, {"_id": "b", "text": " "}))
    (problem,) = problems_of(lambda: read_queries(path))
    assert problem.startswith(f"{path}:2: ")


def test_group_and_cluster_are_read_and_other_keys_do_no_harm(tmp_path: Path) -> None:
    records = jsonl(
        {"_id": "a", "text": "x", "group": "hr", "cluster": 3, "asked": {"by": "me"}}, {"_id": "b", "text": "y", "group": None}
    )
    first, second = read_queries(put(tmp_path / "q", records))
    assert (first.group, first.cluster, second.group, second.cluster) == ("hr", "3", "", "")


def test_a_group_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "q", jsonl({"_id": "a", "text": "x", "group": ["hr"]}))
    (problem,) = problems_of(lambda: read_queries(path))
    assert problem.startswith(f"{path}:1: ") and "group" in problem


def test_all_problems_of_one_file_come_together(tmp_path: Path) -> None:
    path = put(
        tmp_path / "c",
        '{"_id": "a", "text": "x"}\nnonsense\n{"text": "x"}\n{"_id": "a", "text": "x"}\n{"_id": "b", "title": 1}\n',
    )
    lines = [problem.removeprefix(f"{path}:").split(":")[0] for problem in problems_of(lambda: read_corpus(path))]
    assert sorted(lines) == ["2", "3", "4", "5", "5"]


def test_the_problems_of_all_three_files_come_together(tmp_path: Path) -> None:
    found = problems_of(lambda: dataset_of(tmp_path, "x\n", jsonl({"_id": "q"}), "q\td\tone\n"))
    assert [Path(problem.split(":")[0]).name for problem in found] == ["corpus.jsonl", "queries.jsonl", "qrels.tsv"]


def test_a_million_broken_lines_are_shown_as_a_few_and_a_count() -> None:
    problems = Problems()
    for number in range(MOST_SHOWN + 7):
        problems.add(f"c:{number}", "must hold")
    with pytest.raises(HarnessError) as caught:
        problems.raise_any()
    shown = caught.value.shown()
    assert len(shown) == MOST_SHOWN + 1
    assert "7 more" in shown[-1]
    assert HarnessError("one").shown() == ["one"]


# ---- qrels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n", "query-id\tcorpus-id\tscore \r\n"])
def test_d1_qrels_with_and_without_a_header_hold_two_judgements(header: str, tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", header + "q1\td1\t1\nq2\td2\t1\n")
    assert triples(read_qrels(path)) == [("q1", "d1", 1), ("q2", "d2", 1)]


@pytest.mark.parametrize("first", ["q-id\tdoc\tvalue", "q0\td0\tscore", "query-id\tcorpus-id\tone", "q0\td0\t"])
def test_d1_any_other_first_line_without_a_whole_score_is_an_error_on_line_1(first: str, tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", f"{first}\nq1\td1\t1\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:1: ")


def test_d1_a_header_is_known_by_all_its_fields_and_on_the_first_line_alone(tmp_path: Path) -> None:
    path = put(tmp_path / "judged", "query-id\tcorpus-id\t2\n")
    assert triples(read_qrels(path)) == [("query-id", "corpus-id", 2)]
    path = put(tmp_path / "late", "q1\td1\t1\nquery-id\tcorpus-id\tscore\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:2: ")


def test_d1_a_header_alone_is_no_judgement(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", "query-id\tcorpus-id\tscore\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}: ")


def test_d5_trec_lines_with_tabs_double_and_trailing_blanks(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", b"1 0 184 2 \r\n1\t0\t29\t2\n1  0   31 2\n")
    assert read_qrels(path) == [Judgement(1, "1", "184", 2), Judgement(2, "1", "29", 2), Judgement(3, "1", "31", 2)]


def test_d5_every_trec_line_may_have_tabs(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", b"1\t0\t29\t2\t\r\n1\t0\t31\t-1\n")
    assert triples(read_qrels(path)) == [("1", "29", 2), ("1", "31", -1)]


def test_tsv_lines_may_have_trailing_blanks_and_windows_ends(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", b"q1\td1\t1 \r\nq2\td2\t0\r\n")
    assert triples(read_qrels(path)) == [("q1", "d1", 1), ("q2", "d2", 0)]


def test_tsv_ids_may_hold_spaces(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", "what is x\tdoc  one.txt\t1\nq 2\t0 d\t2\n")
    assert triples(read_qrels(path)) == [("what is x", "doc  one.txt", 1), ("q 2", "0 d", 2)]


def test_tsv_and_trec_of_the_same_judgements_are_the_same(tmp_path: Path) -> None:
    tsv = put(tmp_path / "tsv", "q1\td1\t1\nq2\td2\t-1\nq1\td0\t+3\n")
    trec = put(tmp_path / "trec", "q1 0 d1 1\nq2 0 d2 -1\nq1 Q0 d0 +3\n")
    assert read_qrels(tsv) == read_qrels(trec)
    assert triples(read_qrels(tsv)) == [("q1", "d1", 1), ("q2", "d2", -1), ("q1", "d0", 3)]


@pytest.mark.parametrize(
    "line",
    [
        "q1 0 d2",
        "q1 0 d2 one",
        "q1 0 d2 1 x",
        "q1 0 d2 1.0",
        "q1 0 d2 1e0",
        "q1 0 d2 nan",
        "q1 0 d2 １",
        "q1 0 d2 2147483648",
        pytest.param("q1 0 d2 " + "9" * 5000, id="5000 digits"),
    ],
)
def test_d7_a_broken_trec_line_is_refused_with_its_number(line: str, tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", f"q1 0 d1 1\n{line}\nq1 0 d3 1\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:2: ")


@pytest.mark.parametrize(
    "line",
    [
        "q1\td2",
        "q1 d2 1",
        "q1 0 d2 1",
        "q1\td2\tone",
        "q1\td2\t",
        "q1\td2\t1.5",
        "\td2\t1",
        "q1\t \t1",
        "q1\t0\td2\t1",
        "q1\td2\t1\tx\ty",
        pytest.param("q1\td2\t" + "9" * 5000, id="5000 digits"),
    ],
)
def test_d7_a_broken_tsv_line_is_refused_with_its_number(line: str, tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", f"q1\td1\t1\n{line}\nq1\td3\t1\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:2: ")


def test_d7_all_broken_lines_are_named_blank_ones_count(tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", "q1 0 d1 1\nq1 0 d2\n\nq1 0 d2 one\nq1 0 d1 1\n")
    numbers = [problem.removeprefix(f"{path}:").split(":")[0] for problem in problems_of(lambda: read_qrels(path))]
    assert numbers == ["2", "4", "5"]


@pytest.mark.parametrize("grades", [(1, 1), (1, 0)])
def test_a_pair_judged_twice_is_refused_with_both_lines(grades: tuple[int, int], tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", f"q1\td1\t{grades[0]}\nq2\td1\t1\nq1\td1\t{grades[1]}\n")
    (problem,) = problems_of(lambda: read_qrels(path))
    assert problem.startswith(f"{path}:3: ") and "line 1" in problem and "'q1'" in problem and "'d1'" in problem


@pytest.mark.parametrize("comment", ["# judged in May", "#", "# by two people", "# judged by two people in May"])
@pytest.mark.parametrize("good", ["q1\td1\t1\n", "q1 0 d1 1\n"])
@pytest.mark.parametrize("line", [1, 2])
def test_comment_lines_in_qrels_are_refused(comment: str, good: str, line: int, tmp_path: Path) -> None:
    path = put(tmp_path / "qrels", f"{comment}\n{good}" if line == 1 else f"{good}{comment}\n")
    assert problems_of(lambda: read_qrels(path))[0].startswith(f"{path}:{line}: ")


# ---- the three together ---------------------------------------------------------------------------------------------

THREE_DOCS = jsonl(*({"_id": name, "text": f"text {name}"} for name in ("d1", "d2", "d3")))
THREE_QUERIES = jsonl(*({"_id": name, "text": f"prompt {name}"} for name in ("1", "2", "3")))


def test_d12_a_judged_query_that_the_queries_file_lacks_is_refused_with_the_counts(tmp_path: Path) -> None:
    (problem,) = problems_of(lambda: dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\td1\t1\nq9\td1\t1\nq9\td2\t1\n"))
    assert "1 of 2 judged queries found" in problem
    assert "'q9'" in problem and "unmatched: ignore" in problem
    assert problem.startswith(str(tmp_path / "qrels.tsv"))


def test_d12_unmatched_ignore_leaves_such_a_query_out_and_names_it(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\td1\t1\nq9\td1\t1\nq9\tdx\t1\n", unmatched="ignore")
    assert [query.query_id for query in dataset.queries] == ["1"]
    assert dataset.counts.unmatched == ("q9",)
    assert dataset.counts.judgements == 3
    assert dataset.doc_ids == ("d1", "d2", "d3")


def test_d12_a_judged_document_that_the_corpus_lacks_stays_relevant_and_is_counted(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\td1\t1\n1\td2x\t1\n2\td2x\t1\n2\td3\t1\n")
    assert dataset.counts.unknown_documents == 1
    assert dataset.counts.judgements == 4
    assert dataset.doc_ids == ("d1", "d2", "d3", "d2x")
    assert len(dataset.texts) == 3
    assert dataset.qrels.relevant(1).sum(axis=1).tolist() == [2, 2]
    assert dataset.qrels.rows.tolist() == [[0, 3], [2, 3]]


@pytest.mark.parametrize("unmatched", ["refuse", "ignore"])
def test_d13_when_no_judged_query_is_found_nothing_helps(unmatched: str, tmp_path: Path) -> None:
    qrels = "1.0\td1\t1\n2.0\td1\t1\n3.0\td1\t1\n"
    (problem,) = problems_of(lambda: dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, qrels, unmatched=unmatched))
    assert "0 of 3 judged queries found" in problem


def test_labels_of_which_no_document_is_in_the_corpus_are_refused(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\tD1\t1\n2\tD2\t1\n")
    files = DataFiles(tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    (problem,) = problems_of(lambda: check_found(dataset, files))
    assert problem.endswith("corpus.jsonl: 0 of 2 found, missing 'D1', 'D2'; ids must be written alike in both")
    check_found(dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\tD1\t1\n2\td2\t1\n"), files)


def test_prompts_without_judgements_and_without_a_relevant_document_are_left_out_and_named(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "2\td1\t1\n2\td2\t0\n3\td3\t0\n3\td1\t-1\n")
    assert [query.query_id for query in dataset.queries] == ["2"]
    assert dataset.counts.queries == 3
    assert dataset.counts.without_judgements == ("1",)
    assert dataset.counts.without_relevant == ("3",)


@pytest.mark.parametrize(("threshold", "used"), [(0, ["1", "2"]), (1, ["1", "2"]), (2, ["2"])])
def test_m11_the_threshold_decides_who_is_used_and_grades_up_to_0_never_count(
    threshold: int, used: list[str], tmp_path: Path
) -> None:
    qrels = "1\td1\t1\n2\td1\t2\n2\td2\t1\n3\td1\t0\n"
    dataset = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, qrels, threshold=threshold)
    assert [query.query_id for query in dataset.queries] == used


def test_qrels_without_any_relevant_document_are_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(lambda: dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, "1\td1\t0\n2\td1\t-1\n"))
    assert problem.startswith(str(tmp_path / "qrels.tsv"))


def test_b4_a_corpus_of_empty_documents_is_read_and_flagged(tmp_path: Path) -> None:
    dataset = dataset_of(
        tmp_path, jsonl({"_id": "b", "text": ""}, {"_id": "a", "text": " "}), jsonl({"_id": "q", "text": "x"}), "q\ta\t1\n"
    )
    assert dataset.texts == ("", "")
    assert dataset.counts.empty_documents == ("a", "b")


def test_judgements_become_rows_in_ascending_order_with_padding() -> None:
    qrels = pad_qrels([{5: 1, 2: 3}, {}, {0: -1}])
    assert qrels.rows.tolist() == [[2, 5], [-1, -1], [0, -1]]
    assert qrels.grades.tolist() == [[3, 1], [0, 0], [-1, 0]]
    assert qrels.judged.tolist() == [[True, True], [False, False], [True, False]]
    assert pad_qrels([]).rows.shape == (0, 1)


# ---- content hashes -------------------------------------------------------------------------------------------------


def hashes_of(folder: Path, corpus: str, queries: str, qrels: str) -> tuple[str, str, str]:
    hashes = dataset_of(folder, corpus, queries, qrels).hashes
    return hashes.corpus, hashes.queries, hashes.qrels


def test_o13_another_line_order_or_file_form_is_the_same_content(tmp_path: Path) -> None:
    def backwards(text: str) -> str:
        return "\n".join(reversed(text.splitlines()))

    qrels = "1\td1\t1\n2\td2\t0\n2\td3\t2\n"
    plain = dataset_of(tmp_path, THREE_DOCS, THREE_QUERIES, qrels)
    turned = dataset_of(tmp_path, backwards(THREE_DOCS), backwards(THREE_QUERIES), "2 0 d3 2\r\n1 0 d1 1\n2 0 d2 0\n")
    for name in ("corpus", "queries", "qrels"):
        assert getattr(plain.hashes, name) == getattr(turned.hashes, name)
        assert plain.hashes.files[name] != turned.hashes.files[name]  # the bytes are others, and are told as well
    assert plain.doc_ids == turned.doc_ids and plain.texts == turned.texts and plain.queries == turned.queries
    assert np.array_equal(plain.qrels.rows, turned.qrels.rows) and np.array_equal(plain.qrels.grades, turned.qrels.grades)


@given(data=st.data())
def test_o13_no_line_order_changes_a_dataset(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    files = (THREE_DOCS, THREE_QUERIES, "1\td1\t1\n1\td9\t1\n2\td2\t0\n2\td3\t2\n3\td1\t1\n")
    turned = ["\n".join(data.draw(st.permutations(text.splitlines()))) for text in files]
    plain, other = dataset_of(folder, *files), dataset_of(folder, *turned)
    assert hashes_of(folder, *files) == hashes_of(folder, *turned)
    assert (plain.doc_ids, plain.texts, plain.queries, plain.counts) == (other.doc_ids, other.texts, other.queries, other.counts)
    assert np.array_equal(plain.qrels.rows, other.qrels.rows)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (0, "text d2", "text D2"),
        (0, '"d3"', '"d4"'),
        (1, "prompt 2", "prompt  2"),
        (1, '"text": "prompt 3"', '"text": "prompt 3", "group": "g"'),
        (1, '"text": "prompt 3"', '"text": "prompt 3", "cluster": "g"'),
        (2, "d3\t2", "d3\t1"),
        (2, "2\td2", "1\td2"),
    ],
)
def test_o13_a_changed_byte_changes_the_hash_of_its_file_alone(file: int, old: str, new: str, tmp_path: Path) -> None:
    files = [THREE_DOCS, THREE_QUERIES, "1\td1\t1\n2\td2\t0\n2\td3\t2\n"]
    assert old in files[file]
    changed = [text.replace(old, new) if i == file else text for i, text in enumerate(files)]
    before, after = hashes_of(tmp_path, *files), hashes_of(tmp_path, *changed)
    assert [a == b for a, b in zip(before, after, strict=True)] == [i != file for i in range(3)]


@pytest.mark.parametrize(
    ("file", "one", "other"),
    [
        (0, {"_id": "a\tb", "text": "c"}, {"_id": "a", "text": "b\tc"}),
        (1, {"_id": "a", "text": "b\tc", "group": "d"}, {"_id": "a", "text": "b", "group": "c", "cluster": "d\t"}),
    ],
)
def test_o13_a_tab_moved_between_two_fields_is_another_content(
    file: int, one: dict[str, str], other: dict[str, str], tmp_path: Path
) -> None:
    files = [THREE_DOCS, THREE_QUERIES, "1\td1\t1\n"]
    first, second = ([text + jsonl(added) if i == file else text for i, text in enumerate(files)] for added in (one, other))
    assert hashes_of(tmp_path, *first)[file] != hashes_of(tmp_path, *second)[file]


def test_lists_of_lines_that_join_to_the_same_text_have_different_hashes() -> None:
    lists = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["ab\nc"], ["1\na"], ["", "1\na"], []]
    hashes = [hash_lines(lines) for lines in lists]
    assert len(set(hashes)) == len(lists)


# ---- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_is_ordered_by_score_whatever_the_lines_and_ranks_say(tmp_path: Path) -> None:
    path = put(tmp_path / "run", "q1 Q0 a 1 1.5 t\nq2 Q0 a 1 1 t\nq1\tQ0\tb\t2\t-2e1\tt \r\nq1 Q0  c 3 30 t\n")
    assert read_run(path) == {"q1": ["c", "a", "b"], "q2": ["a"]}


@pytest.mark.parametrize(
    ("ties", "order"),
    [
        ("doc_id", ["z", "Z", "a", "\uffee", "\U00010000"]),  # z alone is ahead in double precision
        ("trec_eval", ["\U00010000", "\uffee", "z", "a", "Z"]),  # equal in single precision: ids descending
        ("rank", ["\uffee", "a", "Z", "\U00010000", "z"]),  # the rank column alone
    ],
)
def test_equal_scores_of_a_run_are_ordered_as_asked(ties: str, order: list[str], tmp_path: Path) -> None:
    path = put(
        tmp_path / "run",
        "q Q0 \uffee 1 1.0 t\nq Q0 \U00010000 9 1.0 t\nq Q0 a 2 1.0 t\nq Q0 z 10 1.00000001 t\nq Q0 Z 3 1.0 t\n",
    )
    assert read_run(path, ties=ties) == {"q": order}


def test_equal_ranks_of_a_run_are_ordered_by_id(tmp_path: Path) -> None:
    path = put(tmp_path / "run", "q Q0 b 1 1 t\nq Q0 c 0 0 t\nq Q0 a 1 0 t\n")
    assert read_run(path, ties="rank") == {"q": ["c", "a", "b"]}


def test_scores_beyond_single_precision_tie_for_trec_eval(tmp_path: Path) -> None:
    path = put(tmp_path / "run", "q Q0 a 1 1e40 t\nq Q0 b 2 1e39 t\nq Q0 c 3 1 t\n")
    assert read_run(path, ties="doc_id") == {"q": ["a", "b", "c"]}
    assert read_run(path, ties="trec_eval") == {"q": ["b", "a", "c"]}


def test_a_document_twice_for_one_query_is_refused_with_the_line_and_for_two_queries_is_not(tmp_path: Path) -> None:
    path = put(tmp_path / "run", "q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq1 Q0 a 3 0 t\n")
    (problem,) = problems_of(lambda: read_run(path))
    assert problem.startswith(f"{path}:4: ") and "'a'" in problem and "'q1'" in problem and "line 1" in problem


@pytest.mark.parametrize(
    "line",
    [
        "q1 Q0 b 2 nan t",
        "q1 Q0 b 2 inf t",
        "q1 Q0 b 2 -Infinity t",
        "q1 Q0 b 2 1e999 t",
        "q1 Q0 b 2 high t",
        "q1 Q0 b 2 1,5 t",
        "q1 Q0 b 2.5 1 t",
        "q1 Q0 b second 1 t",
        "q1 Q0 b 2 1",
        "q1 Q0 b 2 1 t more",
        "b",
        pytest.param("q1 Q0 b " + "9" * 5000 + " 1 t", id="5000 digits"),
    ],
)
def test_a_broken_line_of_a_run_is_refused_with_its_number(line: str, tmp_path: Path) -> None:
    path = put(tmp_path / "run", f"q1 Q0 a 1 2 t\n{line}\nq1 Q0 c 3 0 t\n")
    (problem,) = problems_of(lambda: read_run(path))
    assert problem.startswith(f"{path}:2: ")


def test_all_broken_lines_of_a_run_come_together(tmp_path: Path) -> None:
    path = put(tmp_path / "run", "q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\nx\nq1 Q0 c 3 nan t\n")
    numbers = [problem.removeprefix(f"{path}:").split(":")[0] for problem in problems_of(lambda: read_run(path))]
    assert numbers == ["2", "3", "4"]


@given(scores=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.25]), min_size=1, max_size=8), data=st.data())
def test_a_run_read_by_doc_id_equals_a_slow_selection(
    scores: list[float], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    entries = data.draw(st.permutations([(f"d{i}", score) for i, score in enumerate(scores)]))
    text = "".join(f"q Q0 {doc} {rank} {score} t\n" for rank, (doc, score) in enumerate(entries))
    slow: list[str] = []
    for wanted in (0.5, 0.25, 0.0, -1.0):
        slow += by_code_points([doc for doc, score in entries if score == wanted])
    assert read_run(put(tmp_path_factory.getbasetemp() / "slow.run", text)) == {"q": slow}


# ---- writing --------------------------------------------------------------------------------------------------------


def test_x8_a_file_is_complete_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    write_text(path, "first ä\n")
    assert path.read_bytes() == "first ä\n".encode()
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "second \ud800")
    assert path.read_bytes() == "first ä\n".encode()
    assert [found.name for found in path.parent.iterdir()] == ["file.txt"]


def test_the_same_arrays_give_the_same_bytes_and_no_pickle(tmp_path: Path) -> None:
    arrays = {"rows": np.arange(3, dtype=np.int32), "scores": np.array([0.5, np.nan])}
    for name in ("a", "b"):
        write_arrays(tmp_path / f"{name}.npz", arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        assert stored["rows"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="allow_pickle"):
        write_arrays(tmp_path / "c.npz", {"objects": np.array([{}], dtype=object)})
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_inputs_are_unchanged_by_padding() -> None:
    judged = [{3: 1, 1: 2}, {0: 1}]
    pad_qrels(judged)
    assert list(itertools.chain.from_iterable(grades.items() for grades in judged)) == [(3, 1), (1, 2), (0, 1)]
