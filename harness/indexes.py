"""The indexes that a study tries: each value of an index parameter built once, cached, and searched for the same prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.config import INDEX_PARAMS, Config
from harness.files import hash_lines
from harness.progress import Progress
from harness.retrieve import Side, retrieve
from harness.types import Dataset, Params, Retrieved


def retrieve_indexes(
    dataset: Dataset, config: Config, progress: Progress, settings: Sequence[Params], *, depth: int, keep_postings: bool
) -> Retrieved:
    """The candidates at the index of the first of these settings, and in `others` those at each other one's.

    A side that several indexes share (one model, two analyzers) is filled once.
    """
    made: dict[str, Side] = {}
    found: dict[Params, Retrieved] = {}
    for params in {setting.index: setting for setting in settings}.values():
        part, alone = at_index(dataset, config, params)
        one = retrieve(part, alone, progress, depth=depth, keep_postings=keep_postings, made=made)
        found[params] = move_rows(one, rows_of(dataset, config, params)) if dataset.cuts else one
    (home, first), *rest = found.items()
    said = list(first.warnings)
    for params, other in rest:
        said += [f"{name_index(params, home)}: {line}" for line in other.warnings if line not in first.warnings]
    return replace(first, warnings=tuple(said), others={params.index: replace(other, warnings=()) for params, other in rest})


def at_index(dataset: Dataset, config: Config, params: Params) -> tuple[Dataset, Config]:
    """The collection as the index that these parameters name holds it, and the config of that index alone.

    Rows are numbered anew where the corpus is cut in several ways; the judgements are not moved.
    """
    if not dataset.cuts:
        return dataset, config.at_index(params)
    rows = rows_of(dataset, config, params)
    ids, texts = tuple(dataset.doc_ids[row] for row in rows), tuple(dataset.texts[row] for row in rows)
    empty = tuple(doc_id for doc_id, text in zip(ids, texts, strict=True) if not text)
    part = replace(
        dataset,
        doc_ids=ids,
        texts=texts,
        counts=replace(dataset.counts, documents=len(ids), empty_documents=empty),
        hashes=replace(dataset.hashes, corpus=hash_lines(part for pair in zip(ids, texts, strict=True) for part in pair)),
        sources=tuple(dataset.sources[row] for row in rows),
        cuts=(),
    )
    return part, config.at_index(params)


def rows_of(dataset: Dataset, config: Config, params: Params) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """The rows of the chunks that this index holds, ascending; all of them where texts are cut in one way."""
    if not dataset.cuts:
        return np.arange(len(dataset.texts), dtype=np.int32)
    cut = config.cut_of(params)
    return np.flatnonzero([of == cut for of in dataset.cuts]).astype(np.int32)


def move_rows(retrieved: Retrieved, rows: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Retrieved:
    """The same with each row replaced by `rows[row]`, which ascends: no order changes."""
    candidates = retrieved.candidates
    moved = replace(candidates, rows=np.where(candidates.rows < 0, np.int32(-1), rows[candidates.rows]).astype(np.int32))
    postings = retrieved.postings
    if postings is not None:
        postings = replace(postings, row=rows[postings.row])
    return replace(retrieved, candidates=moved, postings=postings)


def name_index(params: Params, home: Params) -> str:
    """What tells this index from the home's, as a person reads it: `analyzer english, variant lucene`."""
    apart = [name for name in INDEX_PARAMS if getattr(params, name) != getattr(home, name)]
    return ", ".join(f"{name} {getattr(params, name)}" for name in apart)
