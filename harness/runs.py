"""TREC runs from elsewhere, joined with a collection: the ranks of its judged documents, and what to know of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from harness.errors import HarnessError, Problems
from harness.files import read_run
from harness.ids import encode_id, encode_ids
from harness.measures import Ranking
from harness.traffic import has_weights
from harness.types import Dataset


def read_foreign_runs(
    paths: Sequence[str | Path], dataset: Dataset, ties: str, *, whole_corpus: bool = True
) -> list[tuple[str, Ranking, list[str]]]:
    """Name (the file's, without its ending), ranking and remarks of each run; HarnessError lists all problems.

    `whole_corpus` is False where the dataset holds a part of it, so that an unknown document is nothing to remark on.
    """
    problems, found = Problems(), []
    names: dict[str, Path] = {}
    for path in map(Path, paths):
        name = path.name.removesuffix(".trec").removesuffix(".run").removesuffix(".txt")
        if name in names or name in ("keyword", "semantic", "equal", "rrf", "current"):
            name = str(path)
        names[name] = path
        try:
            run = read_run(path, ties=ties)
        except HarnessError as error:
            problems.lines.extend(error.problems)
            continue
        known = [query.query_id for query in dataset.queries if encode_id(query.query_id) in run]
        if not known:
            problems.add(str(path), f"must have results for the labelled prompts, got 0 of {len(dataset.queries)}")
            continue
        found.append((name, rank_run(run, dataset), describe_run(name, run, dataset, whole_corpus)))
    problems.raise_any()
    return found


def rank_run(run: dict[str, list[str]], dataset: Dataset) -> Ranking:
    """The judged documents' ranks in a foreign run; a prompt that it lacks has nothing returned.

    Ids with white space stand percent-encoded in a run, as this program writes them.
    """
    names = (*dataset.doc_ids, *dataset.sources)  # a run may name a judged source, or its documents
    codes = encode_ids([*(query.query_id for query in dataset.queries), *names])
    rows, first = dataset.qrels.rows, dataset.qrels.first_of_source
    ranks = np.full(rows.shape, np.inf)
    returned = np.zeros(len(dataset.queries), dtype=np.int32)
    for i, query in enumerate(dataset.queries):
        listed = run.get(codes[query.query_id], [])
        returned[i] = len(listed)
        rank_of = {doc_id: rank for rank, doc_id in enumerate(listed, 1)}
        for j, row in enumerate(rows[i]):
            if row >= 0:
                ranks[i, j] = rank_of.get(codes[dataset.doc_ids[row]], np.inf)
                if dataset.sources and first[i, j]:  # a source that is listed by its name counts once
                    ranks[i, j] = min(ranks[i, j], rank_of.get(codes[dataset.sources[row]], np.inf))
    return Ranking(ranks, returned)


def describe_run(name: str, run: dict[str, list[str]], dataset: Dataset, whole_corpus: bool) -> list[str]:
    """What a person should know about a foreign run: prompts without judgements, documents that the corpus lacks."""
    used = {encode_id(query.query_id) for query in dataset.queries}
    left_out = sorted(set(run) - used)
    corpus = {encode_id(doc_id) for doc_id in (*dataset.doc_ids, *dataset.sources)}
    unknown = {doc_id for query_id in used & set(run) for doc_id in run[query_id]} - corpus
    said = []
    if left_out:
        why = " or no weight above 0" if has_weights(dataset.queries) else ""
        said.append(f"{name}: {len(left_out)} prompts with results have no relevant document judged{why} and are left out")
    if unknown and whole_corpus:
        said.append(f"{name}: {len(unknown)} documents are not in the corpus; they keep their ranks and count as unjudged")
    return said
