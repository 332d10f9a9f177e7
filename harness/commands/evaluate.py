"""`evaluate`: every measure for fixed settings or foreign TREC runs, with intervals, beside the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import record
from harness.config import Config, load_config, read_weights
from harness.decide import units_of
from harness.errors import HarnessError, Problems
from harness.files import RUN_TIES, read_run
from harness.inference import mean_interval
from harness.measures import Ranking
from harness.prepare import Timings, prepare, read_data, split_held_out, warn
from harness.progress import Progress, Silence
from harness.systems import System, baseline_params, score_setting, score_system
from harness.types import Dataset, IntArray


@dataclass(frozen=True)
class Evaluation:
    """The systems with their per-query scores, each prompt's unit, the K of the objective, and the warnings."""

    config: Config
    top_k: int
    collection: dict[str, Any]
    units: IntArray
    systems: tuple[System, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: each system's means and the 95 % intervals of them (absent for a single prompt)."""
        systems = {}
        for system in self.systems:
            named = {**system.scores, **dict(zip(("objective", "objective_2"), system.objective, strict=False))}
            intervals = {name: mean_interval(scores, self.units) for name, scores in named.items()}
            systems[system.name] = {
                **system.means(),
                "intervals": {name: list(pair) for name, pair in intervals.items() if pair is not None},
            }
        objective = self.config.objective
        return {
            "objective": objective[0] if len(objective) == 1 else objective,
            "top_k": self.top_k,
            "collection": self.collection,
            "systems": systems,
            "warnings": list(self.warnings),
            "definitions": record.describe_measures(self.config),
        }


def evaluate(
    config: Config | str | Path,
    *,
    weights: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    ties: str = "doc_id",
    progress: Progress | None = None,
) -> Evaluation:
    """The setting of a weights file (or of the config) or foreign runs, and the baselines at the same top_k.

    `ties` says how a run's equal scores are ordered (`harness.files.read_run`). HarnessError for wrong input.
    """
    progress = progress or Silence()
    config = load_config(config)
    if ties not in RUN_TIES:
        raise HarnessError(f"--ties: must be one of {', '.join(RUN_TIES)}, got {ties!r}")
    if weights is not None and runs:
        raise HarnessError("--weights and --run: must not be given together; evaluate one after the other")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    dataset, _ = split_held_out(config, read_data(config))  # held-out prompts are for tune's verdict alone
    foreign = read_foreign_runs(runs, dataset, ties)
    prepared = prepare(config, dataset, progress, Timings(), also=params)
    settings = baseline_params(config.base, params.top_k, config.engine)
    if config.kept is not None:
        settings["current"] = config.kept
    if not runs:
        settings["weights" if weights is not None else "config"] = params
    systems = [
        score_setting(name, setting, prepared.hybrid, objectives=config.objectives, top_k=params.top_k, cutoffs=config.report_at)
        for name, setting in settings.items()
    ]
    systems += [
        score_system(
            name,
            None,
            ranking,
            prepared.hybrid.judgements,
            objectives=config.objectives,
            top_k=params.top_k,
            cutoffs=config.report_at,
        )
        for name, ranking, _ in foreign
    ]
    said = warn(prepared, study=False) + [line for _, _, lines in foreign for line in lines]
    units = units_of([query.cluster for query in dataset.queries])
    return Evaluation(config, params.top_k, record.summarize_collection(dataset), units, tuple(systems), tuple(said))


def read_foreign_runs(paths: Sequence[str | Path], dataset: Dataset, ties: str) -> list[tuple[str, Ranking, list[str]]]:
    """Name (the file's, without its ending), ranking and remarks of each run; HarnessError lists all problems."""
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
        known = [query.query_id for query in dataset.queries if record.encode_id(query.query_id) in run]
        if not known:
            problems.add(str(path), f"must have results for the labelled prompts, got 0 of {len(dataset.queries)}")
            continue
        found.append((name, rank_run(run, dataset), describe_run(name, run, dataset)))
    problems.raise_any()
    return found


def rank_run(run: dict[str, list[str]], dataset: Dataset) -> Ranking:
    """The judged documents' ranks in a foreign run; a prompt that it lacks has nothing returned.

    Ids with white space stand percent-encoded in a run, as this program writes them.
    """
    codes = record.encode_ids([*(query.query_id for query in dataset.queries), *dataset.doc_ids])
    rows = dataset.qrels.rows
    ranks = np.full(rows.shape, np.inf)
    returned = np.zeros(len(dataset.queries), dtype=np.int32)
    for i, query in enumerate(dataset.queries):
        listed = run.get(codes[query.query_id], [])
        returned[i] = len(listed)
        rank_of = {doc_id: rank for rank, doc_id in enumerate(listed, 1)}
        for j, row in enumerate(rows[i]):
            if row >= 0:
                ranks[i, j] = rank_of.get(codes[dataset.doc_ids[row]], np.inf)
    return Ranking(ranks, returned)


def describe_run(name: str, run: dict[str, list[str]], dataset: Dataset) -> list[str]:
    """What a person should know about a foreign run: prompts without judgements, documents that the corpus lacks."""
    used = {record.encode_id(query.query_id) for query in dataset.queries}
    left_out = sorted(set(run) - used)
    corpus = {record.encode_id(doc_id) for doc_id in dataset.doc_ids}
    unknown = {doc_id for query_id in used & set(run) for doc_id in run[query_id]} - corpus
    said = []
    if left_out:
        said.append(f"{name}: {len(left_out)} prompts with results have no relevant document judged and are left out")
    if unknown:
        said.append(f"{name}: {len(unknown)} documents are not in the corpus; they keep their ranks and count as unjudged")
    return said
