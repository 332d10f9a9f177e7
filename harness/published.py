"""Published collections by their name in ir_datasets: documents, queries and qrels. The library downloads what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.errors import HarnessError, SurroundingsError
from harness.files import Judgement
from harness.types import Query

WHAT = {"docs": "documents", "queries": "queries", "qrels": "qrels"}


def load(name: str, part: str) -> Iterator[Any]:
    """The records of one part (docs, queries or qrels); HarnessError for a name that is none or a part that it lacks."""
    try:
        import ir_datasets  # type: ignore[import-untyped]  # the extra `ir_datasets`; ships no types
    except ImportError:
        raise HarnessError(
            f"ir_datasets {name}: is read with the package ir_datasets, which is not installed;"
            " pip install 'hybrid-search-harness[ir_datasets]'"
        ) from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise HarnessError(
            f"ir_datasets {name}: must be the name of a data set in ir_datasets' catalogue, got {name!r}"
        ) from None
    if not getattr(dataset, f"has_{part}")():
        have = ", ".join(what for key, what in WHAT.items() if getattr(dataset, f"has_{key}")())
        raise HarnessError(f"ir_datasets {name}: must have {WHAT[part]}, it has {have or 'none of the three parts'}")
    return _records(dataset, name, part)


def _records(dataset: Any, name: str, part: str) -> Iterator[Any]:
    """The records, a failed download or a missing permission as SurroundingsError."""
    try:
        yield from getattr(dataset, f"{part}_iter")()
    except (OSError, RuntimeError) as error:
        raise SurroundingsError(f"ir_datasets {name}: its {WHAT[part]} cannot be read: {error}") from None


def read_published_corpus(name: str) -> dict[str, str]:
    """Text by id, as the data set itself makes one text of a document's fields, stripped."""
    return {str(record.doc_id): str(record.default_text()).strip() for record in load(name, "docs")}


def read_published_queries(name: str) -> list[Query]:
    """The queries, in the set's own order."""
    return [Query(str(record.query_id), str(record.default_text())) for record in load(name, "queries")]


def read_published_qrels(name: str) -> list[Judgement]:
    """The judgements, each with its number in the set; of a pair that is judged twice the last one counts."""
    judgements = {
        (str(record.query_id), str(record.doc_id)): Judgement(number, str(record.query_id), str(record.doc_id), record.relevance)
        for number, record in enumerate(load(name, "qrels"), 1)
    }
    return list(judgements.values())
