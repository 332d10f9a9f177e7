"""Lists that must be there before the data are whole: a live engine's, and the ids that stand in the place of a corpus.

A live engine is asked once by a command, for every prompt, at the largest depth that the command needs. Its lists become a part
of the dataset, so that what a study computes comes from one moment of the database; the study keeps them in its candidates.npz.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import semantic
from harness.blocks import Live
from harness.config import Config
from harness.database import Questions, ask
from harness.errors import HarnessError, Problems
from harness.files import hash_lines, read_run_lines
from harness.ids import encode_id
from harness.progress import Progress
from harness.retrieve import query_embeddings
from harness.types import Dataset, Fetched, Listed, Params, Qrels, Query

SHOWN = 5  # ids in a message


def with_lists(
    config: Config, dataset: Dataset, held_out: Dataset | None, progress: Progress, *, also: Params | None = None
) -> tuple[Dataset, Dataset | None]:
    """Both datasets with a live engine's lists of all their prompts; as they are where the config names no live engine.

    The lists reach as deep as the search space, the baselines and the setting `also` do. Without a corpus the documents are
    those that lists and labels name. HarnessError where a list is not what it should be, SurroundingsError where a server fails.
    """
    both = [dataset, *([held_out] if held_out is not None else [])]
    if config.live is not None:
        prompts = [query for one in both for query in one.queries]
        vectors = embed(replace(dataset, queries=tuple(prompts)), config, progress) if config.live.wants_vectors else None
        depth = max(config.deepest, also.depth if also is not None else 1)
        fetched = fetch(config.live, prompts, vectors, progress, depth)
        for side, found in fetched.items():
            if not any(found.lists.values()):
                raise HarnessError(f"live.{side}: must give results for the labelled prompts, got none for {len(prompts)}")
        both = [replace(one, fetched=fetched) for one in both]
    both = settle_ids(config, both)
    return both[0], both[1] if held_out is not None else None


def with_list(config: Config, dataset: Dataset, prompt: Query, same: int | None, progress: Progress, *, depth: int) -> Dataset:
    """The dataset with a live engine's lists of this one prompt; `same` is its number where it is a labelled one.

    HarnessError where it is none and no model can make its vector.
    """
    if config.live is not None:
        vectors = None
        if config.live.wants_vectors:
            if same is None and config.semantic.vectors is not None:
                raise HarnessError(
                    "search: must be the text of a labelled prompt, since semantic.vectors has no model to encode another"
                )
            made = embed(dataset if same is not None else replace(dataset, queries=(prompt,)), config, progress)
            vectors = semantic.Encoded(made.vectors[same or 0 : (same or 0) + 1], made.facts)
        dataset = replace(dataset, fetched=fetch(config.live, [prompt], vectors, progress, depth))
    return settle_ids(config, [dataset])[0]


def fetch(
    live: Live, prompts: Sequence[Query], vectors: semantic.Encoded | None, progress: Progress, depth: int
) -> dict[str, Fetched]:
    """Each side's lists of these prompts."""
    arrays = vectors.vectors if vectors is not None else None
    answers = ask(Questions(live.connection, live.timeout, live.statements, prompts, arrays, depth), progress)
    fetched = {}
    for side, lists in answers.lists.items():
        by_id = {query.query_id: listed for query, listed in zip(prompts, lists, strict=True)}
        facts = vectors.facts if vectors is not None and side == "semantic" else {}
        fetched[side] = Fetched(by_id, hash_lists(by_id.items()), answers.server, facts, tuple(answers.seconds[side]))
    return fetched


def embed(dataset: Dataset, config: Config, progress: Progress) -> semantic.Encoded:
    """The prompts' vectors, and what a summary says of them."""
    made = query_embeddings(dataset, config, progress)
    sha256 = hashlib.sha256(np.ascontiguousarray(made.vectors).tobytes()).hexdigest()
    if config.semantic.vectors is not None:
        return semantic.Encoded(made.vectors, {**made.facts, "queries_sha256": sha256})
    model = semantic.find_model(config.semantic)
    if config.semantic.embedder is not None:
        named = {"embedder": model.name, "embedder_sha256": model.fingerprint, "dimension": made.facts["dimension"]}
        return semantic.Encoded(made.vectors, {**named, "queries_sha256": sha256})
    facts: dict[str, Any] = {
        "model": model.name,
        "model_sha256": model.fingerprint,
        "dimension": made.facts["dimension"],
        "max_seq_length": made.facts["max_seq_length"],
        "query_prompt": made.facts["prompt"],
        "queries_cut": made.facts["cut"],
        "queries_sha256": sha256,
    }
    return semantic.Encoded(made.vectors, facts)


def hash_lists(lists: Iterable[tuple[str, Listed]]) -> str:
    """SHA-256 of lists: their prompts' ids, their documents' ids and every bit of the scores."""
    lines: list[str] = []
    for query_id, listed in lists:
        lines += [query_id, str(len(listed)), *(part for doc_id, score in listed for part in (doc_id, score.hex()))]
    return hash_lines(lines)


def refuse_unknown(dataset: Dataset) -> None:
    """HarnessError where a live engine's lists name documents that the corpus lacks."""
    known, problems = set(dataset.doc_ids[: dataset.counts.documents]), Problems()
    for side, fetched in dataset.fetched.items():
        unknown = sorted({doc_id for listed in fetched.lists.values() for doc_id, _ in listed} - known)
        if unknown:
            shown = ", ".join(map(repr, unknown[:SHOWN])) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
            problems.add(
                f"live.{side}",
                f"must give documents of the corpus, got {len(unknown)} others: {shown}; ids must be written alike, or leave"
                " collection.corpus out: then the documents are those that lists and labels name",
            )
    problems.raise_any()


# Without a corpus


def settle_ids(config: Config, datasets: Sequence[Dataset]) -> list[Dataset]:
    """The datasets with their documents: the corpus's, or without one those that lists and labels name."""
    if config.collection.corpus is not None:
        for one in datasets:
            refuse_unknown(one)
        return list(datasets)
    named = ids_of_runs(config, datasets) | {doc_id for one in datasets for doc_id in (*one.doc_ids, *ids_of_lists(one))}
    return [take_ids(one, named) for one in datasets]


def ids_of_lists(dataset: Dataset) -> set[str]:
    """The documents in a live engine's lists."""
    return {doc_id for fetched in dataset.fetched.values() for listed in fetched.lists.values() for doc_id, _ in listed}


def ids_of_runs(config: Config, datasets: Sequence[Dataset]) -> set[str]:
    """The documents that the config's runs have for these prompts; ids are written in a run as this program writes them."""
    known = {encode_id(doc_id): doc_id for one in datasets for doc_id in (*one.doc_ids, *ids_of_lists(one))}
    queries = {encode_id(query.query_id) for one in datasets for query in one.queries}
    found: set[str] = set()
    for run in (config.keyword.run, config.semantic.run):
        lines = read_run_lines(Path(run)) if run is not None else {}
        found |= {known.get(line.doc_id, line.doc_id) for query_id in queries & set(lines) for line in lines[query_id]}
    return found


def take_ids(dataset: Dataset, named: set[str]) -> Dataset:
    """The dataset with these ids as its documents: none has a text, and none counts as missing from a corpus."""
    doc_ids = tuple(sorted(named))
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    moved = np.asarray([row_of[doc_id] for doc_id in dataset.doc_ids] + [-1], dtype=np.int32)  # row -1 stays padding
    rows = moved[dataset.qrels.rows]
    order = np.argsort(np.where(rows < 0, np.iinfo(np.int32).max, rows), axis=1, kind="stable")
    qrels = Qrels(np.take_along_axis(rows, order, axis=1), np.take_along_axis(dataset.qrels.grades, order, axis=1))
    counts = replace(dataset.counts, documents=len(doc_ids), unknown_documents=0)
    return replace(dataset, doc_ids=doc_ids, texts=("",) * len(doc_ids), qrels=qrels, counts=counts)
