"""Tables with named columns: CSV, TSV, Parquet, and JSON lines whose keys are columns.

A column has a *role* (id, text, query, …). The config names the column of a role, or the role has its usual names. Cells
keep what the file shows: an id is text, or a whole number as its digits; nothing is rounded, filled in or guessed.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, Problems, first_line
from harness.files import (
    DECODER,
    HALF_A_PAIR,
    HALF_PAIR,
    LARGEST_GRADE,
    WHOLE,
    Digits,
    Judgement,
    check_weighed,
    read_bytes,
    read_objects,
    read_text,
    read_weight,
)
from harness.types import Query

PARQUET = b"PAR1"
ENDINGS = (".csv", ".tsv", ".parquet")
USUAL = {  # the names that a role's column usually has, by what the table holds
    "corpus": {"id": ("_id", "id"), "text": ("text",), "title": ("title",), "source": ("source",)},
    "queries": {
        "id": ("_id", "id"),
        "text": ("text",),
        "answers": ("answers", "answer"),
        "group": ("group",),
        "cluster": ("cluster",),
        "weight": ("weight",),
        "split": ("split",),
    },
    "qrels": {
        "query": ("query-id", "query_id", "qid", "query"),
        "document": ("corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "document"),
        "relevance": ("relevance", "score", "grade"),
        "split": ("split",),
    },
}
REQUIRED = {"corpus": ("id", "text"), "queries": ("id", "text"), "qrels": ("query", "document", "relevance")}
LOOKS = (  # what a file begins with, and what it then is
    (PARQUET, "a Parquet file; let its name end in .parquet"),
    (b"\x1f\x8b", "a gzip file; unpack it"),
    (b"PK\x03\x04", "a zip file, as .xlsx is; save the table as CSV, or unpack the file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file; save the table as CSV"),
    (b"%PDF", "a PDF file; take its text out first"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    (b"BZh", "a bzip2 file; unpack it"),
    (b"\xfd7zXZ", "an xz file; unpack it"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it"),
)
SHOWN = 60  # characters of a cell in a message


@dataclass(frozen=True)
class Row:
    """One row: where it stands, and its cells by role."""

    where: str
    line: int
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class Raw:
    """A table as its format gives it: the columns that are there, and how to read the rows of some of them."""

    columns: Sequence[str]
    rows: Callable[[Sequence[str]], Iterator[tuple[str, int, Sequence[Any]]]]


def looks_like(data: bytes) -> str | None:
    """What a file that begins so plainly is, with what to do; None where it may be text."""
    known = next((what for start, what in LOOKS if data.startswith(start)), None)
    return "a binary file; save the table as text in UTF-8" if known is None and b"\0" in data[:4096] else known


def read_rows(path: Path, kind: str, named: Mapping[str, str]) -> list[Row]:
    """The rows of a table of this kind (corpus, queries or qrels), with the cells of the columns that have a role.

    `named` gives the columns of roles by name; other roles have their usual ones. HarnessError where a column is missing, or the
    file is not what its name says.
    """
    problems = Problems()
    raw = open_table(path, problems)
    problems.raise_any()
    columns = find_columns(path, kind, named, raw.columns, problems)
    problems.raise_any()
    roles = list(columns)
    rows = [Row(where, line, dict(zip(roles, cells, strict=True))) for where, line, cells in raw.rows(list(columns.values()))]
    if not rows:
        what = {"corpus": "document", "queries": "prompt", "qrels": "judgement"}[kind]
        raise HarnessError(f"{path}: must hold at least one {what}, got none")
    return rows


def columns_of(path: Path) -> tuple[str, ...]:
    """The columns of a table; HarnessError as for its rows."""
    problems = Problems()
    columns = tuple(open_table(path, problems).columns)
    problems.raise_any()
    return columns


def open_table(path: Path, problems: Problems) -> Raw:
    """The table by the file's ending; JSON lines for any but .csv, .tsv and .parquet."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        return open_parquet(path)
    if ending in ENDINGS:
        return open_csv(path, "\t" if ending == ".tsv" else ",", problems)
    return open_objects(path, problems)


def open_objects(path: Path, problems: Problems) -> Raw:
    """JSON lines: the columns are all keys of all objects; a key that an object lacks is None."""
    objects = list(read_objects(path, problems))
    columns = list(dict.fromkeys(key for _, record in objects for key in record))

    def rows(wanted: Sequence[str]) -> Iterator[tuple[str, int, Sequence[Any]]]:
        for number, record in objects:
            yield f"{path}:{number}", number, [record.get(name) for name in wanted]

    return Raw(columns, rows)


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)  # a document may be longer than 128 kB
    try:
        yield
    finally:
        csv.field_size_limit(before)


def open_csv(path: Path, separator: str, problems: Problems) -> Raw:
    """CSV or TSV with a header: quotes as in RFC 4180, any line ends, line breaks within quotes, blank lines aside."""
    form = "CSV" if separator == "," else "TSV"
    other = looks_like(read_bytes(path)[:4096])
    if other is not None:
        raise HarnessError(f"{path}: must be {form} in UTF-8, got {other}")
    table: list[tuple[int, list[str]]] = []
    with _long_fields():
        reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=separator, strict=True)
        begun = 1
        try:
            for cells in reader:
                if cells:
                    table.append((begun, cells))
                begun = reader.line_num + 1
        except csv.Error as error:
            raise HarnessError(f"{path}:{begun}: must be {form}, got a row that does not end well: {first_line(error)}") from None
    if not table:
        raise HarnessError(f"{path}: must have a header line with the names of the columns, got an empty file")
    columns = [name.strip() for name in table[0][1]]
    for number, cells in table[1:]:
        if len(cells) != len(columns):
            problems.add(f"{path}:{number}", f"must have the {len(columns)} columns of the header, got {len(cells)}")

    def rows(wanted: Sequence[str]) -> Iterator[tuple[str, int, Sequence[Any]]]:
        places = [columns.index(name) for name in wanted]
        for number, cells in table[1:]:
            yield f"{path}:{number}", number, [cells[place] for place in places]

    return Raw(columns, rows)


def open_parquet(path: Path) -> Raw:
    """Parquet, by pyarrow; rows count from 1."""
    data = read_bytes(path)
    if not (data.startswith(PARQUET) and data.endswith(PARQUET)):
        other = looks_like(data[:4096]) if not data.startswith(PARQUET) else "one that was cut short"
        raise HarnessError(f"{path}: must be a Parquet file, got {other or 'something else; its name should say what it is'}")
    try:
        import pyarrow  # the extra `parquet`
        from pyarrow import parquet
    except ImportError:
        raise HarnessError(
            f"{path}: Parquet is read with the package pyarrow, which is not installed;"
            " pip install 'hybrid-search-harness[parquet]'"
        ) from None
    damage = (pyarrow.ArrowException, OSError, ValueError, KeyError)
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        columns = list(file.schema_arrow.names)
    except damage as error:
        raise HarnessError(f"{path}: must be a Parquet file, got: {first_line(error)}") from None

    def rows(wanted: Sequence[str]) -> Iterator[tuple[str, int, Sequence[Any]]]:
        number = 0
        try:
            for batch in file.iter_batches(columns=list(wanted)):
                for cells in zip(*(batch.column(name).to_pylist() for name in wanted), strict=True):
                    number += 1
                    yield f"{path}: row {number}", number, cells
        except damage as error:
            raise HarnessError(f"{path}: must be a Parquet file that can be read, got: {first_line(error)}") from None

    return Raw(columns, rows)


def find_columns(path: Path, kind: str, named: Mapping[str, str], present: Sequence[str], problems: Problems) -> dict[str, str]:
    """The column of each role that has one; a named or required one that is missing goes into `problems`."""
    columns: dict[str, str] = {}
    for role, usual in USUAL[kind].items():
        if role in named:
            columns[role] = named[role]
        else:
            found = next((name for name in usual if name in present), None)
            if found is not None:
                columns[role] = found
            elif role in REQUIRED[kind]:
                names = " or ".join(map(repr, usual))
                problems.add(f"{path}", f"must have a column for the {role} ({names}), {_there(present)}; name it with {role}:")
    for role, name in columns.items():
        if name not in present:
            near = difflib.get_close_matches(name, present, n=1, cutoff=0.5)
            advice = f"; nearest: {near[0]!r}" if near else ""
            problems.add(f"{path}", f"must have the column {name!r} for the {role}, {_there(present)}{advice}")
        elif list(present).count(name) > 1:
            problems.add(f"{path}", f"the column {name!r} must stand once, it is there {list(present).count(name)} times")
    return columns


def _there(present: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:SHOWN]) for name in present[:20])
    parted = "; are the columns parted by something else?" if len(present) == 1 and any(c in present[0] for c in ";\t|,") else ""
    return f"got {shown or 'no columns'}{f' and {len(present) - 20} more' if len(present) > 20 else ''}{parted}"


# Cells


def read_id(row: Row, role: str, problems: Problems) -> str | None:
    """An id: text, or a whole number as its digits; None, with a problem, for anything else."""
    value = row.cells[role]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return _whole_text(row, role, value, problems)
    if value is None or value == "" or value != value or isinstance(value, str):
        problems.add(row.where, f"the {role} must not be empty, got {_shown(value)}")
    else:
        problems.add(row.where, f"the {role} must be text or a whole number, got {_shown(value)}; write ids as text")
    return None


def read_words(row: Row, role: str, problems: Problems, *, required: bool = True) -> str:
    """Text; nothing at all is a problem where it is required, and else empty."""
    value = row.cells.get(role)
    if isinstance(value, str) and not isinstance(value, Digits):
        return _whole_text(row, role, value, problems) or ""
    if required or value is not None:
        problems.add(row.where, f"the {role} must be text, got {_shown(value)}")
    return ""


def read_label(row: Row, role: str, problems: Problems) -> str:
    """A group, cluster or split: text, or a whole number as its digits; empty where the cell is."""
    value = row.cells.get(role)
    if value is None or value == "":
        return ""
    return read_id(row, role, problems) or ""


def read_grade(row: Row, problems: Problems) -> int | None:
    """A relevance: a whole number; None, with a problem, for anything else."""
    value = row.cells["relevance"]
    digits = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(digits, str) and WHOLE.fullmatch(digits.strip()) and abs(int(digits)) <= LARGEST_GRADE:
        return int(digits)
    problems.add(row.where, f"the relevance must be a whole number, got {_shown(value)}")
    return None


def read_answers(row: Row, problems: Problems) -> tuple[str, ...]:
    """Answer texts: a list of texts, a text that is a JSON list (it begins with `[\"`), or one text; none for nothing."""
    value = row.cells.get("answers")
    if isinstance(value, str) and not isinstance(value, Digits):
        value = _answers_in(row, value.strip(), problems)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) and not isinstance(item, Digits) for item in value):
        problems.add(row.where, f"the answers must be a list of texts, or one text, got {_shown(value)}")
        return ()
    return tuple(_whole_text(row, "answers", item, problems) or "" for item in value)


def _answers_in(row: Row, text: str, problems: Problems) -> list[Any] | None:
    if not text:
        return None
    if text == "[]" or text.startswith('["'):
        try:
            found = DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            problems.add(row.where, f"the answers begin as a JSON list does and must be one, got: {error}")
            return None
        return found if isinstance(found, list) else [text]
    return [text]


def _whole_text(row: Row, role: str, value: str, problems: Problems) -> str | None:
    """The text as plain str; None, with a problem, where it holds a code point that is no character."""
    if HALF_PAIR.search(value) is not None:
        problems.add(row.where, f"the {role} must be text that can be written as UTF-8, got {HALF_A_PAIR}")
        return None
    return str(value)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    return json.dumps(value)[:SHOWN] if isinstance(value, (bool, list)) else repr(value)[:SHOWN]


# Corpus, prompts, labels


def read_table_sources(path: Path, named: Mapping[str, str]) -> dict[str, str]:
    """The source of every document, by the document's id; empty where the table has no column for it."""
    problems = Problems()
    rows = read_rows(path, "corpus", named)
    if "source" not in rows[0].cells:
        return {}
    found = {read_id(row, "id", problems): read_id(row, "source", problems) for row in rows}
    problems.raise_any()
    return {doc_id: source for doc_id, source in found.items() if doc_id is not None and source is not None}


def read_table_corpus(path: Path, named: Mapping[str, str]) -> dict[str, str]:
    """Text by id: title, one space, text, stripped."""
    problems = Problems()
    texts: dict[str, str] = {}
    first: dict[str, str] = {}
    for row in read_rows(path, "corpus", named):
        doc_id = read_id(row, "id", problems)
        title, body = read_words(row, "title", problems, required=False), read_words(row, "text", problems)
        if doc_id is None:
            continue
        if doc_id in first:
            problems.add(row.where, f"the id {doc_id!r} must stand once, it is at {first[doc_id]} already")
        first.setdefault(doc_id, row.where)
        texts[doc_id] = f"{title} {body}".strip()
    problems.raise_any()
    return texts


def read_table_queries(path: Path, named: Mapping[str, str], split: str | None, *, answers: bool) -> list[Query]:
    """The prompts of this split (all of them for None), with their answers where these are wanted; an empty text is refused."""
    problems = Problems()
    first: dict[str, str] = {}
    queries: list[Query] = []
    weighed: dict[str, bool] = {}
    for row in rows_of_split(path, "queries", named, split, problems):
        query_id, text = read_id(row, "id", problems), read_words(row, "text", problems)
        if not text.strip() and isinstance(row.cells["text"], str):
            problems.add(row.where, "the text must not be empty: a prompt asks for something")
        group, cluster = (read_label(row, role, problems) for role in ("group", "cluster"))
        told = read_answers(row, problems) if answers else ()
        cell = None if row.cells.get("weight") == "" else row.cells.get("weight")
        weight = read_weight(cell, row.where, problems, text=True)
        if query_id is None:
            continue
        weighed[query_id] = cell is not None
        if query_id in first:
            problems.add(row.where, f"the id {query_id!r} must stand once, it is at {first[query_id]} already")
        first.setdefault(query_id, row.where)
        queries.append(Query(query_id, text, group, cluster, told, weight))
    check_weighed(path, weighed, problems)
    problems.raise_any()
    return queries


def read_table_qrels(path: Path, named: Mapping[str, str], split: str | None) -> list[Judgement]:
    """The judgements of this split (all of them for None)."""
    problems = Problems()
    judgements: dict[tuple[str, str], Judgement] = {}
    for row in rows_of_split(path, "qrels", named, split, problems):
        query_id, doc_id = (read_id(row, role, problems) for role in ("query", "document"))
        grade = read_grade(row, problems)
        if query_id is None or doc_id is None or grade is None:
            continue
        if (query_id, doc_id) in judgements:
            line = judgements[query_id, doc_id].line
            problems.add(row.where, f"a pair must be judged once, {query_id!r} {doc_id!r} is on line {line} already")
        judgements.setdefault((query_id, doc_id), Judgement(row.line, query_id, doc_id, grade))
    problems.raise_any()
    return list(judgements.values())


def rows_of_split(path: Path, kind: str, named: Mapping[str, str], split: str | None, problems: Problems) -> list[Row]:
    """The rows of this split; all of them for None, or where the table has no such column."""
    rows = read_rows(path, kind, named)
    if split is None or "split" not in rows[0].cells:
        return rows
    labels = [read_label(row, "split", problems) for row in rows]
    problems.raise_any()
    if split not in labels:
        there = ", ".join(repr(name) for name in sorted(set(labels))[:10])
        raise HarnessError(f"{path}: must have rows of the split {split!r}, got {there}")
    return [row for row, label in zip(rows, labels, strict=True) if label == split]
