"""Corpus, queries, qrels and runs from outside; everything is checked here, once, and all problems come together.

Formats: BEIR (`corpus.jsonl`, `queries.jsonl`, qrels TSV with or without a header) and TREC (qrels and runs).
Files are UTF-8, with or without a byte-order mark. Ids are text: `001`, `NA` and `1e5` stay as written, and a JSON
number as `_id` is taken as its digits stand in the file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import struct
import tempfile
import tokenize
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, Problems
from harness.traffic import LEAST, MOST
from harness.types import Qrels, Query

QUERY_HEADER_NAMES = {"query-id", "query_id", "qid"}
TSV_HEADER_NAMES = QUERY_HEADER_NAMES | {"corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "score", "relevance"}
WHOLE = re.compile(r"[-+]?[0-9]{1,10}")  # more digits are no grade and no rank
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
LARGEST_GRADE = 2**31 - 1
HALF_PAIR = re.compile("[\ud800-\udfff]")
HALF_A_PAIR = "half of a surrogate pair (\\ud800 to \\udfff)"
BOM = b"\xef\xbb\xbf"
DIGEST = "sha256"  # the array in an npz file that holds the hash of the others


class Digits(str):
    """A JSON number, as its digits stand in the file."""


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[BufferedReader]:
    """The file, open for reading; HarnessError where it is missing, a folder or not readable."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise HarnessError(f"{path}: must be a file, got nothing at this path") from None
    except IsADirectoryError:
        raise HarnessError(f"{path}: must be a file, got a folder") from None
    except NotADirectoryError:
        raise HarnessError(f"{path}: must be a file, got a path through something that is no folder") from None
    except ValueError as error:  # a NUL byte in the path
        raise HarnessError(f"{str(path)!r}: must be a path, got: {error}") from None
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise HarnessError(f"{str(path)[:80]}: must be a path, got: {error.strerror}") from None
        raise
    with file:
        yield file


def read_bytes(path: Path) -> bytes:
    """The file's bytes; errors as those of `open_bytes`."""
    with open_bytes(path) as file:
        return file.read()


def hash_bytes(path: Path) -> str:
    """SHA-256 of the file's bytes, a piece at a time; errors as those of `open_bytes`."""
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path) -> str:
    """The file as text, without a byte-order mark; HarnessError names the line of the first byte that is not UTF-8."""
    data = read_bytes(path).removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        first, line = data.rfind(b"\n", 0, error.start) + 1, data.count(b"\n", 0, error.start) + 1
        return _decode_line(data[first:], f"{path}:{line}")  # which says what is wrong


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1; only \\n and \\r\\n end a line."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The same, one after the other, so that a large file is never held; errors as those of `read_text`."""
    with open_bytes(path) as file:
        for number, data in enumerate(file, 1):
            line = _decode_line(data.removeprefix(BOM) if number == 1 else data, f"{path}:{number}")
            if line.strip():
                yield number, line.removesuffix("\n").removesuffix("\r")


def _decode_line(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HarnessError(
            f"{where}: must be UTF-8 text, got byte 0x{data[error.start]:02x}; convert the file to UTF-8"
        ) from None


@contextlib.contextmanager
def write_beside(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder that becomes `path` when the block ends well: complete, or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.chmod(0o644)
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        error.filename = error.filename if error.filename not in (None, str(beside)) else str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the renames in a folder last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file, UTF-8 and \\n, complete or not at all."""
    with write_beside(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write named arrays as npz without pickle, complete or not at all; the same arrays give the same bytes.

    Their SHA-256 stands beside them under the name DIGEST, and is checked on reading.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with write_beside(path) as beside, beside.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **{DIGEST: digest_of(arrays)})


def digest_of(arrays: Mapping[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The SHA-256 of names, types, shapes and contents, as 32 bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


DAMAGE = (
    OSError,  # an offset that is none
    IndexError,
    ValueError,  # no npz, a pickle, a header that is none, other contents
    KeyError,
    EOFError,
    AttributeError,
    TypeError,
    SyntaxError,  # a header is a Python literal
    MemoryError,  # a header with a shape that nothing can hold
    OverflowError,
    NotImplementedError,
    RecursionError,
    RuntimeError,  # an encrypted member
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def looks_whole(path: Path) -> bool:
    """Whether this is a packed file with the digest that `write_arrays` writes last; the arrays themselves are not read."""
    try:
        with zipfile.ZipFile(path) as packed:
            return f"{DIGEST}.npy" in packed.namelist()
    except DAMAGE:
        return False


class DamagedFileError(Exception):
    """A file of arrays that is not there, or is not what this program wrote."""


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The named arrays of an npz file, never by pickle; DamagedFileError where it is missing, torn or something else.

    Anything but what `write_arrays` wrote is something else: another digest, or contents that are packed and could unpack to
    more than the file holds.
    """
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as packed:
                if any(item.compress_type != zipfile.ZIP_STORED for item in packed.infolist()):
                    raise ValueError("must hold its arrays as they are, not compressed")
            file.seek(0)
            with warnings.catch_warnings(), np.load(file, allow_pickle=False) as stored:
                warnings.simplefilter("ignore")  # about headers that nothing here writes
                arrays = {name: stored[name] for name in stored.files}
        if not np.array_equal(arrays.pop(DIGEST), digest_of(arrays)):
            raise ValueError("its contents are not those that were written")
        return arrays
    except FileNotFoundError as error:
        raise DamagedFileError(str(error)) from None
    except DAMAGE as error:
        raise DamagedFileError(f"{path}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    if twice:
        raise ValueError(f"a key must stand once, got {', '.join(map(repr, twice))} twice")
    return dict(pairs)


def _reject_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


# Strict JSON: a key once, no NaN, a number as its digits stand.
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=Digits, parse_float=Digits, parse_constant=_reject_constant)


def read_objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a JSONL file with their lines, numbers as their digits; what is none goes into `problems`."""
    for number, line in stream_lines(path):
        where = f"{path}:{number}"
        try:
            record = DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            problems.add(where, f"must be one JSON object, got: {error}")
            continue
        if not isinstance(record, dict):
            problems.add(where, f"must be one JSON object, got {type(record).__name__}")
            continue
        yield number, record


def read_records(path: Path, problems: Problems) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The JSON objects of a JSONL file with line number and `_id`; what does not hold goes into `problems`."""
    first_line: dict[str, int] = {}
    for number, record in read_objects(path, problems):
        where = f"{path}:{number}"
        record_id = record.get("_id")
        if not isinstance(record_id, str) or not record_id.strip():
            problems.add(where, f"must have an _id (text or a number), got {_shown(record, '_id')}")
            continue
        if _half_pair(record):
            problems.add(where, f"must be text that can be written as UTF-8, got {HALF_A_PAIR}")
            continue
        if record_id in first_line:
            problems.add(where, f"_id {str(record_id)!r} must stand once, it is on line {first_line[record_id]} already")
            continue
        first_line[record_id] = number
        yield number, str(record_id), record


def _half_pair(record: dict[str, Any]) -> bool:
    """Whether a text of this record holds a code point that is no character; JSON can write one, UTF-8 cannot."""
    texts = (record.get(key) for key in ("_id", "title", "text", "group", "cluster"))
    return any(isinstance(text, str) and HALF_PAIR.search(text) is not None for text in texts)


def _shown(record: dict[str, Any], key: str) -> str:
    return repr(record[key])[:80] if key in record else "none"


def _text_of(record: dict[str, Any], key: str, where: str, problems: Problems, *, required: bool) -> str:
    value = record.get(key)
    if key in record and isinstance(value, str) and not isinstance(value, Digits):
        return value
    if required or value is not None:
        problems.add(where, f"{key} must be text, got {_shown(record, key)}")
    return ""


def read_corpus(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids in code-point order, and their texts: title, one space, text, stripped."""
    problems = Problems()
    texts: dict[str, str] = {}
    for number, doc_id, record in read_records(path, problems):
        where = f"{path}:{number}"
        title = _text_of(record, "title", where, problems, required=False)
        body = _text_of(record, "text", where, problems, required=True)
        texts[doc_id] = f"{title} {body}".strip()
    problems.raise_any()
    if not texts:
        raise HarnessError(f"{path}: must hold at least one document, got none")
    ids = tuple(sorted(texts))
    return ids, tuple(texts[doc_id] for doc_id in ids)


def read_queries(path: Path) -> tuple[Query, ...]:
    """All prompts in code-point order of their ids; an empty text is refused."""
    problems = Problems()
    queries: list[Query] = []
    weighed: dict[str, bool] = {}
    for number, query_id, record in read_records(path, problems):
        where = f"{path}:{number}"
        text = _text_of(record, "text", where, problems, required=True)
        if isinstance(record.get("text"), str) and not isinstance(record["text"], Digits) and not text.strip():
            problems.add(where, "text must not be empty: a prompt asks for something")
        group, cluster = (_label(record, key, where, problems) for key in ("group", "cluster"))
        weight = read_weight(record.get("weight"), where, problems, text=False)
        weighed[query_id] = record.get("weight") is not None
        queries.append(Query(query_id, text, group, cluster, (), weight))
    check_weighed(path, weighed, problems)
    problems.raise_any()
    if not queries:
        raise HarnessError(f"{path}: must hold at least one prompt, got none")
    return tuple(sorted(queries, key=lambda query: query.query_id))


def _label(record: dict[str, Any], key: str, where: str, problems: Problems) -> str:
    value = record.get(key)
    if isinstance(value, str):
        return str(value)
    if value is not None:
        problems.add(where, f"{key} must be text, got {_shown(record, key)}")
    return ""


def read_weight(value: Any, where: str, problems: Problems, *, text: bool) -> float | None:
    """A prompt's weight: a number; None for nothing, and, with a problem, for anything else.

    A number may be the digits of a JSON number, and with `text` those of any text, as in a cell of a CSV file.
    """
    if value is None:
        return None
    weight = math.nan
    if isinstance(value, Digits) or (text and isinstance(value, str)):
        weight = float(value) if NUMBER.fullmatch(value.strip()) else weight
    elif isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError, ValueError):  # too many digits; a signalling NaN
            weight = float(value)
    if weight == 0 or LEAST <= weight <= MOST:
        return weight + 0.0  # -0 is 0
    problems.add(where, f"weight must be a number, 0 or from {LEAST:g} to {MOST:g}, got {_shown({'weight': value}, 'weight')}")
    return None


def check_weighed(path: Path, weighed: Mapping[str, bool], problems: Problems) -> None:
    """A problem where some prompts have a weight and others none; `weighed` says by id which have one."""
    without = [query_id for query_id, has in weighed.items() if not has]
    if 0 < len(without) < len(weighed):
        more = f" and {len(without) - 5} more" if len(without) > 5 else ""
        problems.add(
            str(path),
            f"all prompts must have a weight, or none, got none for {len(without)} of {len(weighed)}:"
            f" {', '.join(map(repr, without[:5]))}{more}; give them one (0: not counted)",
        )


@dataclass(frozen=True)
class Judgement:
    """One line of a qrels file."""

    line: int
    query_id: str
    doc_id: str
    grade: int


def read_qrels(path: Path) -> list[Judgement]:
    """The judgements of a BEIR TSV (three columns, header or not) or TREC qrels file (four), told apart by their columns."""
    problems = Problems()
    lines = read_lines(path)
    if not lines:
        raise HarnessError(f"{path}: must hold at least one judgement, got an empty file")
    tsv = len(lines[0][1].split("\t")) == 3
    form = "query id, document id and score with tabs between" if tsv else "query id, iteration, document id, relevance"
    judgements: list[Judgement] = []
    first_line: dict[tuple[str, str], int] = {}
    for number, line in lines:
        where = f"{path}:{number}"
        fields = line.split("\t") if tsv else line.split()
        if tsv:
            fields[-1] = fields[-1].strip()
        if tsv and number == lines[0][0] and all(part.strip().lower() in TSV_HEADER_NAMES for part in fields):
            if fields[0].strip().lower() not in QUERY_HEADER_NAMES:
                problems.add(where, f"must have the columns query id, document id, score in this order, got {line[:80]!r}")
            continue
        if len(fields) != (3 if tsv else 4):
            problems.add(where, f"must have {3 if tsv else 4} columns ({form}), got {len(fields)}: {line[:80]!r}")
            continue
        query_id, doc_id, grade = fields[0], fields[-2], fields[-1]
        if not query_id.strip() or not doc_id.strip():
            problems.add(where, f"must name a query and a document, got {line[:80]!r}")
        elif not WHOLE.fullmatch(grade) or abs(int(grade)) > LARGEST_GRADE:
            problems.add(where, f"the {'score' if tsv else 'relevance'} must be a whole number, got {grade!r}")
        elif (query_id, doc_id) in first_line:
            problems.add(
                where,
                f"a pair must be judged once, {query_id!r} {doc_id!r} is on line {first_line[query_id, doc_id]} already",
            )
        else:
            first_line[query_id, doc_id] = number
            judgements.append(Judgement(number, query_id, doc_id, int(grade)))
    problems.raise_any()
    if not judgements:
        raise HarnessError(f"{path}: must hold at least one judgement, got a header alone")
    return judgements


def find_lines(path: Path, ids: set[str]) -> dict[str, int]:
    """The line of each of these ids in a JSONL file that reads well."""
    found: dict[str, int] = {}
    for number, line in read_lines(path):
        if len(found) == len(ids):
            break
        record_id = str(json.loads(line, parse_int=str, parse_float=str)["_id"])
        if record_id in ids:
            found[record_id] = number
    return found


def pad_qrels(judged: list[dict[int, int]]) -> Qrels:
    """Judgements as padded arrays, rows ascending within a query; `judged` maps row to grade, one entry a query."""
    width = max(1, max((len(grades) for grades in judged), default=0))
    rows = np.full((len(judged), width), -1, dtype=np.int32)
    grades = np.zeros((len(judged), width), dtype=np.int32)
    for i, row_grades in enumerate(judged):
        for j, row in enumerate(sorted(row_grades)):
            rows[i, j], grades[i, j] = row, row_grades[row]
    return Qrels(rows, grades)


def pad_sources(judged: list[dict[str, tuple[int, list[int]]]]) -> Qrels:
    """Judgements of sources as padded arrays, with every row of a judged source; one entry a query: grade and rows by name."""
    flat = [
        sorted((row, grade, number) for number, (grade, rows) in enumerate(named.values()) for row in rows) for named in judged
    ]
    width = max(1, max(map(len, flat), default=0))
    padded = np.full((3, len(flat), width), -1, dtype=np.int32)
    padded[1] = 0
    for i, entries in enumerate(flat):
        padded[:, i, : len(entries)] = np.asarray(entries, dtype=np.int32).reshape(-1, 3).T
    return Qrels(*padded)


def hash_lines(lines: Iterable[str]) -> str:
    """SHA-256 of the lines, each with its length in front, so that no two lists of lines share a hash."""
    digest = hashlib.sha256()
    for line in lines:
        data = line.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class RunLine:
    """One line of a TREC run."""

    line: int
    doc_id: str
    rank: int
    score: float


RUN_TIES = ("doc_id", "trec_eval", "rank")


def read_run(path: Path, *, ties: str = "doc_id") -> dict[str, list[str]]:
    """A TREC run (query, Q0, document, rank, score, tag) as query → document ids, best first.

    The order is by score, descending. `ties` decides among equal scores: `doc_id` in code-point order (this program's
    rule), `trec_eval` (scores in single precision, ids descending), or `rank` (the rank column alone decides the whole
    order). A document twice for one query is refused, with the line.
    """
    return {query_id: [line.doc_id for line in _ordered(lines, ties)] for query_id, lines in read_run_lines(path).items()}


def read_run_lines(path: Path) -> dict[str, list[RunLine]]:
    """A TREC run's lines by query, in the file's order; a document twice for one query is refused, with the line."""
    problems = Problems()
    run: dict[str, dict[str, RunLine]] = {}
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        fields = line.split()
        if len(fields) != 6:
            problems.add(where, f"must have 6 columns (query id, Q0, document id, rank, score, tag), got {len(fields)}")
            continue
        query_id, _, doc_id, rank, score, _ = fields
        value = float(score) if NUMBER.fullmatch(score) else float("nan")
        if not np.isfinite(value):
            problems.add(where, f"the score must be a finite number, got {score!r}")
            continue
        if not WHOLE.fullmatch(rank):
            problems.add(where, f"the rank must be a whole number, got {rank!r}")
            continue
        docs = run.setdefault(query_id, {})
        if doc_id in docs:
            problems.add(
                where,
                f"a document must stand once for a query, {doc_id!r} of {query_id!r} is on line {docs[doc_id].line} already",
            )
            continue
        docs[doc_id] = RunLine(number, doc_id, int(rank), value)
    problems.raise_any()
    if not run:
        raise HarnessError(f"{path}: must hold at least one line of a TREC run, got none")
    return {query_id: list(docs.values()) for query_id, docs in run.items()}


def _ordered(lines: list[RunLine], ties: str) -> list[RunLine]:
    by_id = sorted(lines, key=lambda entry: entry.doc_id, reverse=ties == "trec_eval")
    if ties == "rank":
        return sorted(by_id, key=lambda entry: entry.rank)
    if ties == "trec_eval":
        with np.errstate(over="ignore"):  # beyond single precision trec_eval reads infinity, and so ties
            by_id = [replace(entry, score=float(np.float32(entry.score))) for entry in by_id]
    return sorted(by_id, key=lambda entry: -entry.score)
