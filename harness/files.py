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
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, Problems
from harness.types import Counts, Dataset, Hashes, Qrels, Query

QUERY_HEADER_NAMES = {"query-id", "query_id", "qid"}
TSV_HEADER_NAMES = QUERY_HEADER_NAMES | {"corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "score", "relevance"}
WHOLE = re.compile(r"[-+]?[0-9]{1,10}")  # more digits are no grade and no rank
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
LARGEST_GRADE = 2**31 - 1
BOM = b"\xef\xbb\xbf"
DIGEST = "sha256"  # the array in an npz file that holds the hash of the others


class _Digits(str):
    """A JSON number, as its digits stand in the file."""


def read_bytes(path: Path) -> bytes:
    """The file's bytes; HarnessError where it is missing, a folder or not readable."""
    try:
        return path.read_bytes()
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


def read_text(path: Path) -> str:
    """The file as text, without a byte-order mark; HarnessError names the line of the first byte that is not UTF-8."""
    data = read_bytes(path).removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HarnessError(
            f"{path}:{line}: must be UTF-8 text, got byte 0x{data[error.start]:02x}; convert the file to UTF-8"
        ) from None


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines that are not blank, each with its number from 1; only \\n and \\r\\n end a line."""
    lines = read_text(path).split("\n")
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1) if line.strip()]


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


def read_records(path: Path, problems: Problems) -> list[tuple[int, str, dict[str, Any]]]:
    """The JSON objects of a JSONL file with line number and `_id`; what does not hold goes into `problems`."""
    records: list[tuple[int, str, dict[str, Any]]] = []
    first_line: dict[str, int] = {}
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        try:
            record = json.loads(
                line, object_pairs_hook=_object, parse_int=_Digits, parse_float=_Digits, parse_constant=_reject_constant
            )
        except (ValueError, RecursionError) as error:
            problems.add(where, f"must be one JSON object, got: {error}")
            continue
        if not isinstance(record, dict):
            problems.add(where, f"must be one JSON object, got {type(record).__name__}")
            continue
        record_id = record.get("_id")
        if not isinstance(record_id, str) or not record_id.strip():
            problems.add(where, f"must have an _id (text or a number), got {_shown(record, '_id')}")
            continue
        if _half_pair(record):
            problems.add(where, "must be text that can be written as UTF-8, got half of a surrogate pair (\\ud800 to \\udfff)")
            continue
        if record_id in first_line:
            problems.add(where, f"_id {str(record_id)!r} must stand once, it is on line {first_line[record_id]} already")
            continue
        first_line[record_id] = number
        records.append((number, str(record_id), record))
    return records


def _half_pair(record: dict[str, Any]) -> bool:
    """Whether a text of this record holds a code point that is no character; JSON can write one, UTF-8 cannot."""
    texts = (record.get(key) for key in ("_id", "title", "text", "group", "cluster"))
    return any(isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text) for text in texts)


def _shown(record: dict[str, Any], key: str) -> str:
    return repr(record[key])[:80] if key in record else "none"


def _text_of(record: dict[str, Any], key: str, where: str, problems: Problems, *, required: bool) -> str:
    value = record.get(key)
    if key in record and isinstance(value, str) and not isinstance(value, _Digits):
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
    for number, query_id, record in read_records(path, problems):
        where = f"{path}:{number}"
        text = _text_of(record, "text", where, problems, required=True)
        if isinstance(record.get("text"), str) and not isinstance(record["text"], _Digits) and not text.strip():
            problems.add(where, "text must not be empty: a prompt asks for something")
        labels = [_label(record, key, where, problems) for key in ("group", "cluster")]
        queries.append(Query(query_id, text, *labels))
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


@dataclass(frozen=True)
class DataFiles:
    """The three files of a collection; `unmatched` says what happens to judged queries that the queries file lacks."""

    corpus: Path
    queries: Path
    qrels: Path
    unmatched: str = "refuse"


def read_dataset(paths: DataFiles, *, relevance_threshold: int = 1) -> Dataset:
    """The collection, ids resolved to rows; only prompts with a relevant document are used, the others are counted.

    HarnessError holds the problems of all three files; ids that do not join are refused before anything is built.
    """
    problems = Problems()
    parts: list[Any] = []
    for read, path in ((read_corpus, paths.corpus), (read_queries, paths.queries), (read_qrels, paths.qrels)):
        try:
            parts.append(read(path))
        except HarnessError as error:
            problems.lines.extend(error.problems)
    problems.raise_any()
    (doc_ids, texts), queries, judgements = parts
    return join(doc_ids, texts, queries, judgements, paths, relevance_threshold)


def join(
    doc_ids: tuple[str, ...],
    texts: tuple[str, ...],
    queries: tuple[Query, ...],
    judgements: list[Judgement],
    paths: DataFiles,
    relevance_threshold: int,
) -> Dataset:
    """Resolve the ids of the judgements and choose the used queries; see `read_dataset`."""
    known = {query.query_id for query in queries}
    judged: dict[str, dict[str, int]] = {}
    for judgement in judgements:
        judged.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.grade
    unmatched = tuple(sorted(set(judged) - known))
    found = len(judged) - len(unmatched)
    if found == 0 or (unmatched and paths.unmatched == "refuse"):
        advice = (
            "; ids must be written alike in both files"
            if found == 0
            else "; add them to the queries file, or set collection.unmatched: ignore"
        )
        raise HarnessError(
            f"{paths.qrels}: every judged query must be in {paths.queries}: {found} of {len(judged)} judged queries found,"
            f" missing {_some(unmatched)}{advice}"
        )
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    unknown = sorted({doc for query_id in judged if query_id in known for doc in judged[query_id]} - set(row_of))
    row_of |= {doc_id: len(doc_ids) + i for i, doc_id in enumerate(unknown)}

    threshold = max(relevance_threshold, 1)
    has_relevant = {q: any(grade >= threshold for grade in judged[q].values()) for q in judged}
    used = tuple(query for query in queries if has_relevant.get(query.query_id, False))
    counts = Counts(
        documents=len(doc_ids),
        queries=len(queries),
        judgements=len(judgements),
        empty_documents=tuple(doc for doc, text in zip(doc_ids, texts, strict=True) if not text),
        unknown_documents=len(unknown),
        without_judgements=tuple(q.query_id for q in queries if q.query_id not in judged),
        without_relevant=tuple(q.query_id for q in queries if q.query_id in judged and not has_relevant[q.query_id]),
        unmatched=unmatched,
    )
    if not used:
        raise HarnessError(
            f"{paths.qrels}: at least one prompt must have a relevant document (relevance ≥ {threshold}),"
            f" got none in {len(judgements)} judgements"
        )
    return Dataset(
        doc_ids=doc_ids + tuple(unknown),
        texts=texts,
        queries=used,
        qrels=pad_qrels([{row_of[doc]: grade for doc, grade in judged[q.query_id].items()} for q in used]),
        counts=counts,
        hashes=Hashes(
            corpus=hash_lines(part for pair in zip(doc_ids, texts, strict=True) for part in pair),
            queries=hash_lines(part for q in queries for part in (q.query_id, q.text, q.group, q.cluster)),
            qrels=hash_lines(part for j in sorted(judgements, key=_by_pair) for part in (j.query_id, j.doc_id, str(j.grade))),
            files={
                name: hashlib.sha256(read_bytes(path)).hexdigest()
                for name, path in (("corpus", paths.corpus), ("queries", paths.queries), ("qrels", paths.qrels))
            },
        ),
    )


def _by_pair(judgement: Judgement) -> tuple[str, str]:
    return judgement.query_id, judgement.doc_id


def pad_qrels(judged: list[dict[int, int]]) -> Qrels:
    """Judgements as padded arrays, rows ascending within a query; `judged` maps row to grade, one entry a query."""
    width = max(1, max((len(grades) for grades in judged), default=0))
    rows = np.full((len(judged), width), -1, dtype=np.int32)
    grades = np.zeros((len(judged), width), dtype=np.int32)
    for i, row_grades in enumerate(judged):
        for j, row in enumerate(sorted(row_grades)):
            rows[i, j], grades[i, j] = row, row_grades[row]
    return Qrels(rows, grades)


def hash_lines(lines: Iterable[str]) -> str:
    """SHA-256 of the lines, each with its length in front, so that no two lists of lines share a hash."""
    digest = hashlib.sha256()
    for line in lines:
        data = line.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(map(repr, ids[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


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
    return {query_id: _ordered(list(docs.values()), ties) for query_id, docs in run.items()}


def _ordered(lines: list[RunLine], ties: str) -> list[str]:
    by_id = sorted(lines, key=lambda entry: entry.doc_id, reverse=ties == "trec_eval")
    if ties == "rank":
        return [entry.doc_id for entry in sorted(by_id, key=lambda entry: entry.rank)]
    if ties == "trec_eval":
        with np.errstate(over="ignore"):  # beyond single precision trec_eval reads infinity, and so ties
            by_id = [replace(entry, score=float(np.float32(entry.score))) for entry in by_id]
    return [entry.doc_id for entry in sorted(by_id, key=lambda entry: -entry.score)]
