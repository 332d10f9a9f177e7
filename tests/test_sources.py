"""Corpus, prompts and labels from tables and published collections: what is read, and one message for every wrong way in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harness
from harness.answers import MANY
from harness.cli import run
from harness.collection import DataFiles, Source, read_dataset
from harness.collection_blocks import Chunk, CorpusSource, QrelsSource, QueriesSource
from harness.config import parse_config, read_config
from harness.errors import HarnessError
from harness.files import Judgement
from harness.tables import USUAL, read_table_corpus, read_table_qrels, read_table_queries
from harness.types import Query

BOM = b"\xef\xbb\xbf"


def problems_of(read: Callable[[], Any]) -> list[str]:
    with pytest.raises(HarnessError) as caught:
        read()
    return list(caught.value.problems)


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def put_parquet(path: Path, columns: dict[str, list[Any]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.fixture
def examples(workdir: Path) -> Path:
    """The examples' data and configs in the working directory."""
    shutil.copytree(ROOT / "corpora/examples", workdir / "corpora/examples")
    shutil.copytree(ROOT / "configs/examples", workdir / "configs/examples")
    return workdir


EXAMPLES = [path for path in (ROOT / "configs/examples").glob("*.yaml") if "corpora/examples" in path.read_text()]


# ---- what is read ---------------------------------------------------------------------------------------------------

FAQ = 'faq_id,question,answer,area\n1,How?,"Press it, twice.",x\n01,Why?,"Because\nit is ""so"".",y\nNA,,No title,\n'
FAQ_NAMED = {"id": "faq_id", "text": "answer", "title": "question"}
FAQ_TEXTS = {"1": "How? Press it, twice.", "01": 'Why? Because\nit is "so".', "NA": "No title"}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", BOM])
def test_a_csv_file_with_columns_of_its_own_names(ends: str, bom: bytes, tmp_path: Path) -> None:
    path = put(tmp_path / "faq.csv", bom + FAQ.replace("\n", ends).encode())
    texts = {key: text.replace("\n", ends) for key, text in FAQ_TEXTS.items()}  # within quotes a line break is text
    assert read_table_corpus(path, FAQ_NAMED) == texts


def test_lines_that_end_as_on_an_old_mac(tmp_path: Path) -> None:
    path = put(tmp_path / "c.csv", "id,text\r1,a\r2,b\r")
    assert read_table_corpus(path, {}) == {"1": "a", "2": "b"}


def test_tabs_in_a_tsv_file_and_a_field_longer_than_csv_allows(tmp_path: Path) -> None:
    long = "word " * 50_000
    path = put(tmp_path / "c.tsv", f'id\ttext\n1\t"a\tb"\n\n2\t{long}\n')
    assert read_table_corpus(path, {}) == {"1": "a\tb", "2": long.strip()}
    assert csv.field_size_limit() == 131072  # as it was


def test_json_lines_with_columns_of_their_own_names(tmp_path: Path) -> None:
    path = put(tmp_path / "c.jsonl", '{"nr": 1, "body": "a", "x": [1]}\n{"nr": "01", "head": "T", "body": "b"}\n')
    assert read_table_corpus(path, {"id": "nr", "text": "body", "title": "head"}) == {"1": "a", "01": "T b"}


def test_parquet_gives_what_csv_gives_and_whole_numbers_are_ids_as_their_digits(tmp_path: Path) -> None:
    path = put_parquet(tmp_path / "c.parquet", {"id": [1, 20], "text": ["a", "b"], "title": ["T", None], "n": [1.5, 2.5]})
    assert read_table_corpus(path, {}) == {"1": "T a", "20": "b"}


def test_prompts_have_group_cluster_and_answers(tmp_path: Path) -> None:
    text = 'qid,question,answer,kind,intent\n1,How?,"[""a b"", ""c""]",x,i1\n2,Why?,[Enter] does it,,\n3,When?,,y,i1\n'
    named = {"id": "qid", "text": "question", "answers": "answer", "group": "kind", "cluster": "intent"}
    path = put(tmp_path / "q.csv", text)
    assert read_table_queries(path, named, None, answers=True) == [
        Query("1", "How?", "x", "i1", ("a b", "c")),
        Query("2", "Why?", "", "", ("[Enter] does it",)),
        Query("3", "When?", "y", "i1"),
    ]
    lists = put_parquet(tmp_path / "q.parquet", {"id": [7], "text": ["How?"], "answers": [["a b", "c"]], "group": [3]})
    assert read_table_queries(lists, {}, None, answers=True) == [Query("7", "How?", "3", "", ("a b", "c"))]


def test_labels_and_the_split_that_counts(tmp_path: Path) -> None:
    path = put(tmp_path / "l.csv", "query,doc_id,grade,part\nq1,d1,2,test\nq1,d2,-1,dev\nq2,1,0,test\n")
    named = {"document": "doc_id", "relevance": "grade", "split": "part"}
    assert read_table_qrels(path, named, "test") == [Judgement(2, "q1", "d1", 2), Judgement(4, "q2", "1", 0)]
    assert len(read_table_qrels(path, named, None)) == 3
    (problem,) = problems_of(lambda: read_table_qrels(path, named, "train"))
    assert problem == f"{path}: must have rows of the split 'train', got 'dev', 'test'"


CELL = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1).filter(
    lambda text: bool(text.strip())
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.dictionaries(CELL, CELL, min_size=1, max_size=6))
def test_whatever_python_writes_as_csv_is_read(rows: dict[str, str], tmp_path: Path) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerows([["id", "text"], *rows.items()])
    path = put(tmp_path / "c.csv", out.getvalue())
    assert read_table_corpus(path, {}) == {key: text.strip() for key, text in rows.items()}


def test_the_order_of_rows_and_the_kind_of_table_do_not_change_the_content_hash(tmp_path: Path) -> None:
    queries, qrels = put(tmp_path / "q.csv", "id,text\n1,how\n"), put(tmp_path / "l.csv", "query,document,relevance\n1,1,1\n")
    places: list[Any] = [
        put(tmp_path / "a.csv", "id,text\n1,a\n2,b\n"),
        put(tmp_path / "b.csv", "text,id,more\nb,2,x\na,1,y\n"),
        put(tmp_path / "c.tsv", "id\ttext\n2\tb\n1\ta\n"),
        put(tmp_path / "d.jsonl", '{"_id": 2, "text": "b"}\n{"_id": "1", "text": "a"}\n'),
        put_parquet(tmp_path / "e.parquet", {"id": [2, 1], "text": ["b", "a"]}),
        Source(str(put(tmp_path / "f.csv", "key,text\n2,b\n1,a\n")), {"id": "key"}),
    ]
    hashes = [read_dataset(DataFiles(place, queries, qrels)).hashes for place in places]
    assert len({found.corpus for found in hashes}) == 1 and len({found.files["corpus"] for found in hashes}) == len(places)


# ---- wrong tables ---------------------------------------------------------------------------------------------------

QUERIES = "id,text\nq1,how\n"
QRELS = "query,document,relevance\nq1,1,1\n"
CORPUS = "id,text\n1,a\n2,b\n"
WRONG = {
    "missing column": (
        "c.csv",
        "key,body\n1,a\n",
        ["c.csv: must have a column for the id ('_id' or 'id'), got 'key', 'body'"] * 1,
    ),
    "no header": ("c.csv", "1,a\n2,b\n", ["c.csv: must have a column for the id"]),
    "semicolons": ("c.csv", "id;text\n1;a\n", ["got 'id;text'; are the columns parted by something else?"]),
    "empty": ("c.csv", "", ["c.csv: must have a header line"]),
    "header alone": ("c.csv", "id,text\n", ["c.csv: must hold at least one document, got none"]),
    "open quote": ("c.csv", 'id,text\n1,a\n2,"b\n', ["c.csv:3: must be CSV, got a row that does not end well"]),
    "stray quote": ("c.csv", 'id,text\n1,"a"b\n', ["c.csv:2: must be CSV"]),
    "short row": ("c.csv", "id,text\n1,a\n2\n3,b,c\n", ["c.csv:3: must have the 2 columns of the header, got 1", "c.csv:4: "]),
    "column twice": ("c.csv", "id,text,text\n1,a,b\n", ["c.csv: the column 'text' must stand once, it is there 2 times"]),
    "empty ids": ("c.csv", "id,text\n,a\n1,b\n  ,c\n", ["c.csv:2: the id must not be empty, got nothing", "c.csv:4: the id"]),
    "id twice": ("c.csv", "id,text\n1,a\n1,b\n", ["c.csv:3: the id '1' must stand once, it is at c.csv:2 already"]),
    "latin-1": ("c.csv", "id,text\n1,caf\xe9\n".encode("latin-1"), ["c.csv:2: must be UTF-8 text, got byte 0xe9"]),
    "UTF-16": ("c.csv", "id,text\n1,a\n".encode("utf-16"), ["c.csv: must be CSV in UTF-8, got text in UTF-16"]),
    "gzip": ("c.csv", gzip.compress(b"id,text\n1,a\n"), ["c.csv: must be CSV in UTF-8, got a gzip file; unpack it"]),
    "Parquet as CSV": (
        "c.csv",
        b"PAR1\0\0PAR1",
        ["c.csv: must be CSV in UTF-8, got a Parquet file; let its name end in .parquet"],
    ),
    "Excel as CSV": ("c.csv", b"PK\x03\x04\0\0", ["got a zip file, as .xlsx is; save the table as CSV"]),
    "CSV as Parquet": ("c.parquet", CORPUS, ["c.parquet: must be a Parquet file, got something else"]),
    "gzip as Parquet": ("c.parquet", gzip.compress(b"x"), ["c.parquet: must be a Parquet file, got a gzip file"]),
    "Parquet cut short": ("c.parquet", b"PAR1\0\0\0", ["c.parquet: must be a Parquet file, got one that was cut short"]),
    "no Parquet within": ("c.parquet", b"PAR1" + b"\xff" * 40 + b"PAR1", ["c.parquet: must be a Parquet file, got: "]),
    "nothing there": ("c.parquet", None, ["c.parquet: must be a file, got nothing at this path"]),
    "no such csv": ("c.csv", None, ["c.csv: must be a file, got nothing at this path"]),
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a small collection in tables."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("c.csv", CORPUS), ("q.csv", QUERIES), ("l.csv", QRELS)):
        put(tmp_path / name, text)
    return tmp_path


def write(collection: dict[str, Any], **more: Any) -> None:
    data = {"name": "small", "collection": collection, "search": {"trials": 2}, **more}
    Path("config.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")


@pytest.fixture
def refuse(workplace: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Tune and check a collection that must be refused: exit 2, no traceback, the same lines; nothing is written."""

    def answer(collection: dict[str, Any], **more: Any) -> list[str]:
        write(collection, **more)
        before = sorted(workplace.rglob("*"))
        said = []
        for command in ("tune", "check"):
            assert run([command, "config.yaml"]) == 2
            out, err = capsys.readouterr()
            assert out == "" and "Traceback" not in err
            said.append(err.splitlines())
        assert said[0] == said[1] and sorted(workplace.rglob("*")) == before
        return said[0]

    return answer


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_with_one_clear_message(name: str, refuse: Callable[..., list[str]]) -> None:
    file, content, expected = WRONG[name]
    if content is None:
        Path(file).unlink(missing_ok=True)
    else:
        put(Path(file), content)
    lines = refuse({"corpus": file, "queries": "q.csv", "qrels": "l.csv"})
    assert len(lines) >= len(expected)
    for line, part in zip(lines, expected, strict=False):
        assert part in line, lines


def test_a_named_column_that_is_missing_is_told_with_the_nearest(refuse: Callable[..., list[str]]) -> None:
    put(Path("c.csv"), "faq_id,answer\n1,a\n")
    lines = refuse({"corpus": {"path": "c.csv", "id": "faqid", "text": "answer"}, "queries": "q.csv", "qrels": "l.csv"})
    assert lines == ["c.csv: must have the column 'faqid' for the id, got 'faq_id', 'answer'; nearest: 'faq_id'"]


def test_numbers_that_are_no_ids_texts_or_grades_are_told_with_their_rows(refuse: Callable[..., list[str]]) -> None:
    put_parquet(Path("c.parquet"), {"id": [1.0, 2.0, float("nan")], "text": ["a", "b", "c"]})
    put_parquet(Path("q.parquet"), {"id": ["q1", None, "q3"], "text": ["how", "why", None]})
    put_parquet(Path("l.parquet"), {"query": ["q1", "q1"], "document": ["1", "2"], "relevance": [1.0, 2.0]})
    lines = refuse({"corpus": "c.parquet", "queries": "q.parquet", "qrels": "l.parquet"})
    assert lines == [
        "c.parquet: row 1: the id must be text or a whole number, got 1.0; write ids as text",
        "c.parquet: row 2: the id must be text or a whole number, got 2.0; write ids as text",
        "c.parquet: row 3: the id must not be empty, got nan",
        "q.parquet: row 2: the id must not be empty, got nothing",
        "q.parquet: row 3: the text must be text, got nothing",
        "l.parquet: row 1: the relevance must be a whole number, got 1.0",
        "l.parquet: row 2: the relevance must be a whole number, got 2.0",
    ]


def test_wrong_labels_and_ids_that_do_not_meet(refuse: Callable[..., list[str]]) -> None:
    put(Path("l.csv"), "query,document,relevance\nq1,1,good\nq1,2,1\nq1,2,0\n")
    tables = {"corpus": "c.csv", "queries": "q.csv", "qrels": "l.csv"}
    assert refuse(tables) == [
        "l.csv:2: the relevance must be a whole number, got 'good'",
        "l.csv:4: a pair must be judged once, 'q1' '2' is on line 3 already",
    ]
    put(Path("l.csv"), "query,document,relevance\nQ1,1,1\n")
    (line,) = refuse(tables)
    assert line.startswith("l.csv: every judged query must be in q.csv: 0 of 1 judged queries found, missing 'Q1'")


def test_parquet_without_its_library_names_the_extra(refuse: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    put_parquet(Path("c.parquet"), {"id": [1], "text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (line,) = refuse({"corpus": "c.parquet", "queries": "q.csv", "qrels": "l.csv"})
    assert line.startswith("c.parquet: ") and line.endswith("pip install 'hybrid-search-harness[parquet]'")


def test_a_tab_in_a_message_is_written_out(workdir: Path, refuse: Callable[..., list[str]]) -> None:
    """A find of benchmarks/fuzz.py: the library names the separator."""
    put(workdir / "q.tsv", 'id\ttext\nq1\t"a" b\n')
    (line,) = [line for line in refuse({"corpus": "c.csv", "queries": "q.tsv", "qrels": "l.csv"}) if line.startswith("q.tsv")]
    assert line.startswith("q.tsv:2: must be TSV, got a row that does not end well: '\\t' expected after")


# ---- the config -----------------------------------------------------------------------------------------------------

WRONG_BLOCKS = [
    ({"corpus": 5}, "collection.corpus: must be a path, text that is not empty, or a block with path, got 5"),
    ({"corpus": {"path": "c.csv", "idd": "x"}}, "collection.corpus.idd: must be a known key, got 'idd'; nearest: id"),
    ({"corpus": {"path": "c.csv", "id": 3}}, "collection.corpus.id: must be text that is not empty, got 3"),
    ({"corpus": {"id": "x"}}, "collection.corpus: must name a path (or ir_datasets), got neither"),
    ({"corpus": {"path": "c", "ir_datasets": "x"}}, "collection.corpus: must hold nothing beside ir_datasets, got path"),
    ({"corpus": {"path": "c", "chunk": {"size": 5}}}, "collection.corpus.chunk.size: must be a whole number from 20 to 1000000"),
    ({"corpus": {"path": "c", "chunk": {"size": 50, "overlap": 50}}}, "collection.corpus.chunk: overlap < size must hold"),
    ({"corpus": {"path": "c", "chunk": {"unit": "words"}}}, "collection.corpus.chunk.unit: must be one of characters, tokens"),
    ({"corpus": {"path": "c", "chunk": {}, "id": "x"}}, "collection.corpus: must not name columns (id) beside chunk"),
    ({"corpus": {"path": "c.csv", "chunk": {}}}, "collection.corpus: chunk is for Markdown, text and HTML"),
    ({"queries": {"path": "q.csv", "answers": "a"}}, "collection: queries.answers and qrels must not both be given"),
    ({"queries": {"path": "q.csv", "split": "a"}}, "collection: split must be given where queries names a column for it"),
]


@pytest.mark.parametrize(("block", "expected"), WRONG_BLOCKS)
def test_a_wrong_block_is_refused_with_its_key(block: dict[str, Any], expected: str) -> None:
    data = {"corpus": "c.csv", "queries": "q.csv", "qrels": "l.csv", **block}
    (problem,) = problems_of(lambda: parse_config({"name": "x", "collection": data}))
    assert problem.startswith(expected)


def test_plain_paths_resolve_to_the_config_that_they_always_did() -> None:
    config = parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}})
    lines = config.to_yaml().splitlines()
    at = lines.index("collection:")
    assert lines[at : at + 6] == ["collection:", "  corpus: c", "  queries: q", "  qrels: r", "  unmatched: refuse", "keyword:"]


def test_a_resolved_block_reads_as_the_same_config(tmp_path: Path) -> None:
    config = read_config(ROOT / "configs/examples/pages.yaml")
    assert read_config(put(tmp_path / "again.yaml", config.to_yaml())) == config


def test_every_key_of_a_source_stands_in_the_table_with_its_default() -> None:
    page = (ROOT / "docs/config.md").read_text(encoding="utf-8")
    blocks = {"corpus": CorpusSource, "queries": QueriesSource, "qrels": QrelsSource, "corpus.chunk": Chunk}
    for place, block in blocks.items():
        for name, field in block.model_fields.items():
            (row,) = [line for line in page.splitlines() if line.startswith(f"| `collection.{place}.{name}` |")]
            default = "null" if field.default is None else str(field.default)
            assert row.split("|")[3].strip().strip("`") == default, row
    for names in USUAL.values():
        assert all(any(f"`{name}`" in page for name in usual) for usual in names.values())
    assert f"more than {MANY} documents contain" in " ".join(page.split())


def test_every_example_of_the_page_is_a_config_that_reads(examples: Path) -> None:
    pages = (examples_of(name) for name in ("bring.md", "config.md"))
    read = [parse_config({"name": "x", **yaml.safe_load(text)}) for text in next(pages)]
    here = [config for config in read if str(config.collection.files().corpus).startswith("corpora/examples")]
    assert len(here) >= 3
    for config in here:
        assert read_dataset(config.collection.files()).counts.documents > 10
    for text in next(pages):
        if text.startswith(("corpus:", "queries:", "qrels:")):
            block = {"corpus": "c", "queries": "q", "split": "test", **yaml.safe_load(text)}
            parse_config({"name": "x", "collection": block})


def examples_of(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_a_split_that_no_table_has_is_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse({"corpus": "c.csv", "queries": "q.csv", "qrels": "l.csv", "split": "test"})
    assert line.startswith("collection.split: q.csv or l.csv must have a column that names a row's split")


def test_the_prompts_of_another_split_take_their_judgements_with_them(workplace: Path) -> None:
    put(Path("q.csv"), "id,text,split\nq1,how,test\nq2,why,dev\n")
    put(Path("l.csv"), "query,document,relevance\nq1,1,1\nq2,2,1\nq2,1,0\n")
    for split, prompt, judgements in (("test", "q1", 1), ("dev", "q2", 2)):
        dataset = read_dataset(DataFiles(Path("c.csv"), Path("q.csv"), Path("l.csv"), split=split))
        assert [query.query_id for query in dataset.queries] == [prompt] and dataset.counts.judgements == judgements


@pytest.mark.parametrize(
    ("split", "held", "expected"),
    [
        (None, {"split": "dev"}, "collection.split: must say which rows to tune on"),
        ("dev", {"split": "dev"}, "held_out.split: must be another split than collection.split"),
        ("dev", {"qrels": "l.csv"}, "held_out: must name queries and qrels"),
        ("dev", {"queries": {"path": "q.csv", "x": 1}, "qrels": "l.csv"}, "held_out: queries.x: must be a known key"),
    ],
)
def test_a_held_out_split_that_makes_no_sense(split: str | None, held: dict[str, Any], expected: str) -> None:
    data = {"corpus": "c.csv", "queries": "q.csv", "qrels": "l.csv", **({"split": split} if split else {})}
    assert problems_of(lambda: parse_config({"name": "x", "collection": data, "held_out": held}))[-1].startswith(expected)


# ---- from start to finish -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES))  # tests/test_given.py has the others
def test_every_example_config_makes_a_study_that_reproduces(name: str, examples: Path, cache: Path) -> None:
    config = read_config(f"configs/examples/{name}.yaml").model_copy(update={"cache": str(cache)})
    result = harness.tune(config, allow_code=name == "embedder")
    assert result.summary["collection"]["queries_used"] >= 8 and (result.folder / "weights.yaml").is_file()
    hashes = json.loads((result.folder / "manifest.json").read_text())["sha256"]
    assert len(hashes["corpus"]) == len(hashes["queries"]) == 64
    for from_scratch in (False, True):
        assert harness.reproduce(result.folder, from_scratch=from_scratch, allow_code=name == "embedder").outcome == "OK"


def test_the_faq_in_parquet_is_the_study_of_the_csv_tables(examples: Path, cache: Path) -> None:
    data = yaml.safe_load(Path("configs/examples/faq.yaml").read_text())
    for part, numbers in (("corpus", ["faq_id"]), ("queries", []), ("qrels", ["entry", "grade"])):
        source = data["collection"][part]["path"]
        with Path(source).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {name: [int(row[name]) if name in numbers else row[name] for row in rows] for name in rows[0]}
        data["collection"][part]["path"] = str(put_parquet(Path(f"{part}.parquet"), columns))
    csv_study = harness.tune(read_config("configs/examples/faq.yaml").model_copy(update={"cache": str(cache)}), name="tables")
    parquet_study = harness.tune(parse_config({**data, "cache": str(cache)}), name="parquet")
    for file in ("trials.csv", "profile.csv", "per_query.csv"):
        assert (csv_study.folder / file).read_bytes() == (parquet_study.folder / file).read_bytes()
    assert csv_study.summary["held_out"]["queries"] == 4


def test_check_says_where_a_tables_ids_stand(workplace: Path) -> None:
    put(Path("q.csv"), "id,text\nq1,how\nq2,how\n")
    put(Path("l.csv"), "query,document,relevance\nq1,1,1\nq2,9,1\n")
    result = harness.check(parse_config({"name": "x", "collection": {"corpus": "c.csv", "queries": "q.csv", "qrels": "l.csv"}}))
    places = {note.name: [[place.where for place in example] for example in note.examples] for note in result.notes}
    assert places["same_prompts"] == [["q.csv:2", "q.csv:3"]] and places["unknown_documents"] == [["l.csv:3"]]


# ---- published collections ------------------------------------------------------------------------------------------


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small data set in ir_datasets' catalogue, over files that lie here: nothing is downloaded."""
    ir_datasets = pytest.importorskip("ir_datasets")
    docs = put(tmp_path / "d.tsv", "1\tthe cat sat\n2\tthe dog ran\n")
    queries = put(tmp_path / "q.tsv", "q1\tcat\nq2\tdog\n")
    qrels = put(tmp_path / "l.txt", "q1 0 1 1\nq2 0 2 2\nq2 0 1 0\n")
    monkeypatch.setitem(ir_datasets.registry._registered, "tiny", ir_datasets.create_dataset(docs, queries, qrels))
    return "tiny"


def test_a_published_collection_by_its_name(published: str) -> None:
    block = {"ir_datasets": published}
    config = parse_config({"name": "x", "collection": {"corpus": block, "queries": block, "qrels": block}})
    dataset = read_dataset(config.collection.files())
    assert dataset.doc_ids == ("1", "2") and dataset.texts == ("the cat sat", "the dog ran")
    assert [query.text for query in dataset.queries] == ["cat", "dog"]
    assert dataset.qrels.grades.tolist() == [[1, 0], [0, 2]] and dataset.hashes.files == {}


def test_the_example_of_a_published_collection(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data set of the example's name, made of the FAQ's tables: nothing is downloaded."""
    ir_datasets = pytest.importorskip("ir_datasets")
    tables = {
        name: list(csv.DictReader((examples / f"corpora/examples/{name}.csv").read_text().splitlines()))
        for name in ("faq", "tickets", "labels")
    }
    docs = put(examples / "d.tsv", "".join(f"{row['faq_id']}\t{row['question']} {row['answer']}\n" for row in tables["faq"]))
    queries = put(examples / "q.tsv", "".join(f"{row['ticket']}\t{row['asked']}\n" for row in tables["tickets"]))
    qrels = put(examples / "l.txt", "".join(f"{row['ticket']} 0 {row['entry']} {row['grade']}\n" for row in tables["labels"]))
    monkeypatch.setitem(ir_datasets.registry._registered, "vaswani", ir_datasets.create_dataset(docs, queries, qrels))
    assert run(["tune", "configs/examples/published.yaml"]) == 0
    summary = json.loads(Path("studies/published/summary.json").read_text())
    assert summary["collection"]["documents"] == len(tables["faq"]) and summary["systems"]["pick"]["nDCG@10"] > 0.5
    assert run(["reproduce", "published", "--from-scratch"]) == 0


def test_the_example_of_parquet_files_is_that_of_csv_files(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(sys, "argv", ["make_parquet.py", "tables"])
    runpy.run_path("configs/examples/make_parquet.py")
    for name in ("faq", "parquet"):
        assert run(["tune", f"configs/examples/{name}.yaml"]) == 0
    for file in ("trials.csv", "per_query.csv", "weights.yaml"):
        assert Path("studies/faq", file).read_bytes() == Path("studies/parquet", file).read_bytes()


def test_a_name_that_is_none_and_a_library_that_is_not_there(
    published: str, refuse: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = {"corpus": {"ir_datasets": "no-such-set"}, "queries": "q.csv", "qrels": "l.csv"}
    (line,) = refuse(block)
    assert line.startswith("ir_datasets no-such-set: must be the name of a data set in ir_datasets' catalogue")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    (line,) = refuse(block)
    assert line.endswith("pip install 'hybrid-search-harness[ir_datasets]'")
