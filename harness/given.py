"""Lists and vectors that were made elsewhere: TREC runs in the place of a retriever, vectors in the place of a model.

A run's list is ordered by this program's rule: by score, descending, equal scores by document id. Ids with white space stand
percent-encoded in a run. Vectors come as .npy with a file of ids, one a line, as Parquet with the columns `id` and `vector`, or
as a FAISS index with a file of ids.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.blocks import GivenVectors
from harness.errors import HarnessError, Problems, first_line, plain_line
from harness.files import DAMAGE, RunLine, read_bytes, read_lines, read_run_lines
from harness.ids import encode_ids
from harness.types import Dataset, FloatArray, Listed, RankedLists, Vectors
from harness.vectors import LONGEST, UNIT

SHOWN = 5  # ids in a message
CHECKED_TOGETHER = 1 << 13  # vectors
LARGEST = 1e100  # of a score: the square of a far larger one is no number
NPY = b"\x93NUMPY"  # how a .npy file begins


@dataclass(frozen=True)
class GivenLists:
    """One side's lists from a run, (n_queries, longest list), what there is to report, and what to warn of."""

    lists: RankedLists
    facts: dict[str, Any]
    warnings: tuple[str, ...]


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read once as long as the file stays as it is; HarnessError as that of `read_bytes`."""
    try:
        found = path.stat()
        return _hash_file(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    except (OSError, ValueError):
        return hashlib.sha256(read_bytes(path)).hexdigest()  # says what is wrong


@functools.lru_cache(maxsize=64)
def _hash_file(path: Path, *_state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_given_run(path: Path, dataset: Dataset, side: str) -> GivenLists:
    """The lists of the used prompts; a prompt that the run lacks has none. `side` is keyword or semantic.

    HarnessError for what `read_run_lines` refuses, documents that the corpus lacks, ranks that contradict the scores, scores
    beyond LARGEST, and a run that has nothing for any prompt.
    """
    run, problems = read_run_lines(path), Problems()
    n_documents = dataset.counts.documents
    codes = encode_ids([*(query.query_id for query in dataset.queries), *dataset.doc_ids])
    row_of = {codes[doc_id]: row for row, doc_id in enumerate(dataset.doc_ids[:n_documents])}
    found: list[list[tuple[int, float]]] = []
    for query in dataset.queries:
        listed = sorted(run.get(codes[query.query_id], []), key=lambda line: (-line.score, line.doc_id))
        _check_ranks(listed, path, problems)
        for line in listed:
            if abs(line.score) > LARGEST:
                problems.add(f"{path}:{line.line}", f"the score must lie within ±{LARGEST:g}, got {line.score!r}")
        unknown = [line for line in listed if line.doc_id not in row_of]
        for line in unknown[:SHOWN]:
            problems.add(f"{path}:{line.line}", f"a document must be in the corpus, got {line.doc_id!r}")
        found.append([(row_of[line.doc_id], line.score) for line in listed if line.doc_id in row_of])
    problems.raise_any()
    without = sum(not listed for listed in found)
    if without == len(found):
        raise HarnessError(f"{path}: must have results for the labelled prompts, got 0 of {len(found)}")
    lists = _as_lists(found)
    facts = {"run_sha256": hash_file(path), "longest_list": lists.rows.shape[1], "queries_without_results": without}
    said = f"the {side} run has nothing for {without} prompts: they score 0 on that side and count in its means"
    return GivenLists(lists, facts, (said,) if without else ())


def _check_ranks(listed: Sequence[RunLine], path: Path, problems: Problems) -> None:
    """Say where a rank contradicts the scores: a better score on a worse rank (equal scores may have any order)."""
    groups = [list(lines) for _, lines in itertools.groupby(listed, key=lambda line: line.score)]
    for equal, next_equal in itertools.pairwise(groups):
        better = max(equal, key=lambda line: line.rank)
        worse = min(next_equal, key=lambda line: line.rank)
        if better.rank > worse.rank:
            problems.add(
                f"{path}:{better.line}",
                f"ranks must follow the scores, got rank {better.rank} for {better.score!r} and rank {worse.rank} for"
                f" {worse.score!r} on line {worse.line}; scores where less is better must be negated",
            )
            return


def _as_lists(found: Sequence[Sequence[tuple[int, float]]]) -> RankedLists:
    """Rows and scores, best first; equal scores by row, which is the order of the ids."""
    depth = max(1, max(len(listed) for listed in found))
    rows = np.full((len(found), depth), -1, dtype=np.int32)
    scores: FloatArray = np.full((len(found), depth), np.nan)
    for i, listed in enumerate(found):
        for j, (row, score) in enumerate(sorted(listed, key=lambda pair: (-pair[1], pair[0]))):
            rows[i, j], scores[i, j] = row, score
    return RankedLists(rows, scores)


def list_rows(listed: Sequence[Listed], doc_ids: Sequence[str]) -> RankedLists:
    """Lists of ids as rows of these documents, (n_queries, longest list)."""
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    return _as_lists([[(row_of[doc_id], score) for doc_id, score in one] for one in listed])


def cut_lists(lists: RankedLists, depth: int) -> RankedLists:
    """The first `depth` of every list."""
    return RankedLists(lists.rows[:, :depth], lists.scores[:, :depth])


@dataclass(frozen=True)
class Matrix:
    """Vectors with their ids, as files hold them; `where` and `ids_where` name the files in messages."""

    where: str
    ids_where: str
    ids: tuple[str, ...]
    vectors: np.ndarray[Any, Any]


def read_given_vectors(given: GivenVectors, dataset: Dataset, *, normalize: bool) -> tuple[Vectors, Vectors, dict[str, Any]]:
    """Vectors of the corpus in row order and of the used prompts, float32, and what there is to report.

    `normalize` makes unit vectors. HarnessError, all together, for another dimension on one side, ids that are missing or stand
    twice, vectors that are not finite, and vectors of nothing but zeros where unit vectors are needed.
    """
    documents = read_matrix(Path(given.documents or ""), given.document_ids, "semantic.vectors.document_ids")
    queries = read_matrix(Path(given.queries), given.query_ids, "semantic.vectors.query_ids")
    problems = Problems()
    if documents.vectors.shape[1] != queries.vectors.shape[1]:
        problems.add(
            queries.where,
            f"must have the dimension of {documents.where}, {documents.vectors.shape[1]}, got {queries.vectors.shape[1]}; both"
            " sides must come from one model",
        )
    wanted = dataset.doc_ids[: dataset.counts.documents]
    filled = [bool(text) for text in dataset.texts] if len(dataset.texts) == len(wanted) else [True] * len(wanted)
    doc_rows = _rows_of(documents, wanted, filled, problems)
    query_ids = [query.query_id for query in dataset.queries]
    query_rows = _rows_of(queries, query_ids, [True] * len(query_ids), problems)
    problems.raise_any()
    facts: dict[str, Any] = {"dimension": int(documents.vectors.shape[1])}
    sides = []
    for name, matrix, rows in (("documents", documents, doc_rows), ("queries", queries, query_rows)):
        taken, norms = _take(matrix, rows, normalize, problems)
        sides.append(taken)
        facts[f"{name}_norms"] = norms
        facts[f"{name}_not_used"] = len(matrix.ids) - sum(row >= 0 for row in rows)
    problems.raise_any()
    return sides[0], sides[1], facts


def read_given_queries(given: GivenVectors, dataset: Dataset, *, normalize: bool) -> tuple[Vectors, dict[str, Any]]:
    """Vectors of the used prompts alone, float32, and what there is to report; see `read_given_vectors`."""
    queries, problems = read_matrix(Path(given.queries), given.query_ids, "semantic.vectors.query_ids"), Problems()
    ids = [query.query_id for query in dataset.queries]
    rows = _rows_of(queries, ids, [True] * len(ids), problems)
    problems.raise_any()
    vectors, norms = _take(queries, rows, normalize, problems)
    problems.raise_any()
    return vectors, {"dimension": int(queries.vectors.shape[1]), "queries_norms": norms}


def read_matrix(path: Path, ids: str | None, key: str) -> Matrix:
    """Vectors and ids of one side; HarnessError where the file is not what its name says, or ids are missing or too many."""
    hash_file(path)  # says what is wrong with the path
    if path.suffix == ".parquet":
        if ids is not None:
            raise HarnessError(f"{key}: must be left out beside {path}, whose ids are in its column id")
        return _read_parquet(path)
    if ids is None:
        raise HarnessError(f"{key}: must name a file with one id a line for {path}, got nothing")
    vectors = _read_npy(path) if path.suffix == ".npy" else _read_faiss(path)
    names = tuple(line for _, line in read_lines(Path(ids)) if line)
    if len(names) != len(vectors):
        raise HarnessError(f"{ids}: must have an id for each of the {len(vectors)} vectors of {path}, got {len(names)}")
    return Matrix(str(path), ids, names, vectors)


def _read_npy(path: Path) -> np.ndarray[Any, Any]:
    with path.open("rb") as file:
        begins = file.read(len(NPY))
    if begins != NPY:
        raise HarnessError(f"{path}: must be a numpy array as numpy.save writes it, got a file that begins with {begins!r}")
    try:
        with np.errstate(over="raise"), warnings.catch_warnings():  # over: of a shape that nothing can hold
            warnings.simplefilter("ignore")  # about headers of long ago
            vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (*DAMAGE, ArithmeticError) as error:
        raise HarnessError(f"{path}: must be a numpy array without pickled objects, got: {first_line(error)}") from None
    return _checked(vectors, path)


def _read_parquet(path: Path) -> Matrix:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise HarnessError(
            f"{path}: Parquet needs pyarrow; install the extra: pip install 'hybrid-search-harness[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            missing = [name for name in ("id", "vector") if name not in names]
            if missing:
                raise HarnessError(f"{path}: must have the columns id and vector, got {plain_line(', '.join(names)) or 'none'}")
            table = file.read(columns=["id", "vector"])
        ids, vectors = _ids_of(table["id"], path), _vectors_of(table["vector"], path)  # text is decoded here
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise HarnessError(f"{path}: must be a Parquet file, got: {first_line(error)}") from None
    return Matrix(str(path), str(path), ids, _checked(vectors, path))


def _ids_of(column: Any, path: Path) -> tuple[str, ...]:
    """The ids of a Parquet column of text or whole numbers; HarnessError for another, or a row without one."""
    import pyarrow as arrow

    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind) or arrow.types.is_integer(kind)):
        raise HarnessError(f"{path}: the column id must hold text or whole numbers, got {column.type}")
    ids = column.to_pylist()
    if None in ids:
        raise HarnessError(f"{path}: every row must have an id, got none in row {ids.index(None) + 1}")
    return tuple(map(str, ids))


def _vectors_of(column: Any, path: Path) -> np.ndarray[Any, Any]:
    """The vectors of a Parquet column of lists, (rows, dimension); HarnessError for other values, or several dimensions."""
    import pyarrow as arrow
    import pyarrow.compute as compute

    types, kind = arrow.types, column.type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not listed or not types.is_floating(kind.value_type):
        raise HarnessError(f"{path}: the column vector must hold lists of real numbers, got {kind}")
    lengths = {length or 0 for length in compute.unique(compute.list_value_length(column)).to_pylist()}
    if len(lengths) > 1:
        raise HarnessError(f"{path}: all vectors must have one dimension, got {', '.join(map(str, sorted(lengths)))}")
    dimension = max(lengths, default=0)
    parts = [np.asarray(chunk.flatten().to_numpy(zero_copy_only=False)) for chunk in column.chunks]
    numbers = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    return numbers.reshape(column.length(), dimension)


def _read_faiss(path: Path) -> np.ndarray[Any, Any]:
    """The vectors of a FAISS index in the order in which they were added, or of its own ids where these count from 0."""
    import faiss

    try:
        index = faiss.read_index(str(path))
        inverted = faiss.try_extract_index_ivf(index)
        if inverted is not None:
            inverted.make_direct_map()
        vectors = np.zeros((index.ntotal, index.d), dtype=np.float32)
        for i in range(index.ntotal):  # one by one: an error inside of reconstruct_n ends the process
            index.reconstruct(i, vectors[i])
    except (RuntimeError, AttributeError, MemoryError) as error:
        reason = str(error).strip().rsplit(": ", 1)[-1] or type(error).__name__  # before it stands where in FAISS
        raise HarnessError(
            f"{path}: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: {reason[:160]}"
        ) from None
    return _checked(vectors, path)


def _checked(vectors: Any, path: Path) -> np.ndarray[Any, Any]:
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype.kind != "f" or 0 in vectors.shape:
        shape = f"shape {getattr(vectors, 'shape', None)}, {getattr(vectors, 'dtype', type(vectors).__name__)}"
        raise HarnessError(f"{path}: must hold one row of real numbers for each vector, got {shape}")
    return vectors


def _rows_of(matrix: Matrix, wanted: Sequence[str], needed: Sequence[bool], problems: Problems) -> list[int]:
    """The vector's row for each wanted id, −1 where none is needed and there is none."""
    place: dict[str, int] = {}
    twice = []
    for row, name in enumerate(matrix.ids):
        if place.setdefault(name, row) != row:
            twice.append(name)
    if twice:
        problems.add(matrix.ids_where, f"an id must stand once, got {_some(twice)} more than once")
    missing = [name for name, need in zip(wanted, needed, strict=True) if need and name not in place]
    if missing:
        have = f"; its ids look like {_some(matrix.ids[:2])}" if len(missing) == len(wanted) else ""
        lacking = f"got none for {len(missing)}: {_some(missing)}{have}"
        problems.add(matrix.where, f"must have a vector for each of {len(wanted)} ids, {lacking}")
    return [place.get(name, -1) for name in wanted]


def _take(matrix: Matrix, rows: Sequence[int], normalize: bool, problems: Problems) -> tuple[Vectors, list[float]]:
    """The vectors of these rows, zeros for −1, and the smallest and largest norm that they came with."""
    at = np.asarray(rows, dtype=np.int64)
    norms = np.zeros(at.size)
    bad: list[int] = []
    for part in blocks_of(at.size):
        block, used = _block(matrix, at[part])
        finite = np.isfinite(block).all(axis=1)
        bad += (part.start + np.flatnonzero(used)[~finite]).tolist()
        block[~finite] = 0.0
        norms[part][used] = np.sqrt((block.astype(np.float64) ** 2).sum(axis=1))
    if bad:
        problems.add(matrix.where, f"vectors must be finite, got NaN or infinity for {_some([matrix.ids[at[i]] for i in bad])}")
        return np.zeros((0, matrix.vectors.shape[1]), dtype=np.float32), []
    none = np.flatnonzero((norms == 0) & (at >= 0))
    if none.size and normalize:
        problems.add(matrix.where, f"a vector must not be all zeros, got {_some([matrix.ids[at[i]] for i in none])}")
        return np.zeros((0, matrix.vectors.shape[1]), dtype=np.float32), []
    long = np.flatnonzero(norms > LONGEST)
    if long.size and not normalize:
        names = _some([matrix.ids[at[i]] for i in long])
        problems.add(matrix.where, f"vectors must have lengths up to {LONGEST:g} where semantic.normalize is false, got {names}")
        return np.zeros((0, matrix.vectors.shape[1]), dtype=np.float32), []
    lengths = np.where((norms == 0) | (np.abs(norms - 1) <= UNIT), 1.0, norms) if normalize else np.ones_like(norms)
    known = norms[at >= 0]
    extremes = [float(known.min()), float(known.max())] if known.size else []
    if matrix.vectors.dtype == np.float32 and np.array_equal(at, np.arange(len(matrix.vectors))) and (lengths == 1.0).all():
        return np.asarray(matrix.vectors), extremes  # as they lie in the file
    vectors = np.zeros((at.size, matrix.vectors.shape[1]), dtype=np.float32)
    for part in blocks_of(at.size):
        block, used = _block(matrix, at[part])
        vectors[part][used] = block / lengths[part][used][:, None]
    return vectors, extremes


def _block(matrix: Matrix, rows: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Vectors, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The vectors of the rows that are not −1, in single precision, and which rows those are."""
    used = rows >= 0
    with np.errstate(over="ignore"):  # beyond single precision lies infinity, which is refused
        return matrix.vectors[rows[used]].astype(np.float32), used


def blocks_of(n: int) -> list[slice]:
    """Slices of at most CHECKED_TOGETHER."""
    return [slice(start, min(n, start + CHECKED_TOGETHER)) for start in range(0, n, CHECKED_TOGETHER)]


def say_norms(facts: dict[str, Any], *, normalize: bool) -> list[str]:
    """What the vectors' lengths make worth saying, and how many of them are for ids that this study does not use."""
    said = []
    for side in ("documents", "queries"):
        low, high = facts[f"{side}_norms"]
        if not normalize and not (low >= 0.99 and high <= 1.01):
            said.append(
                f"the {side}' vectors have lengths from {low:.4g} to {high:.4g} and are compared by their inner product, as"
                " semantic.normalize: false asks; a cosine needs true"
            )
        if facts.get(f"{side}_not_used"):
            said.append(
                f"{facts[f'{side}_not_used']} of the {side}' vectors are left out: their ids are none of the {side} that are used"
                + (" to tune" if side == "queries" else "")
            )
    return said


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
