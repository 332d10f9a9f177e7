"""`evaluate`: every measure for fixed settings or foreign TREC runs, with intervals, beside the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import record
from harness.config import Config, load_config, read_weights
from harness.decide import units_of
from harness.errors import HarnessError
from harness.files import RUN_TIES
from harness.inference import mean_interval
from harness.latency import build_indexes, measure
from harness.live import with_lists
from harness.notebook import Rows, Shown
from harness.prepare import Timings, prepare, read_data, split_held_out, warn
from harness.progress import Progress, Silence
from harness.runs import read_foreign_runs
from harness.space import settings_beside
from harness.systems import System, score_setting, score_system
from harness.types import IntArray


@dataclass(frozen=True)
class Evaluation(Shown):
    """The systems with their per-query scores, each prompt's unit, the K of the objective, and the warnings.

    `latency` is what `harness.latency.measure` found (None for foreign runs), `kept_in` the timings.json that holds it now.
    """

    config: Config
    top_k: int
    collection: dict[str, Any]
    units: IntArray
    systems: tuple[System, ...]
    warnings: tuple[str, ...]
    latency: dict[str, Any] | None = None
    kept_in: Path | None = None

    def rows(self) -> Rows:
        """A row for each measure and system, with the 95 % interval of the mean."""
        rows = []
        for system, means in self.to_dict()["systems"].items():
            intervals = means.pop("intervals")
            for name, mean in means.items():
                low, high = intervals.get(name, (None, None))
                rows.append({"system": system, "measure": name, "mean": mean, "low": low, "high": high})
        return rows

    def short(self) -> Rows:
        """The objective alone."""
        return [row for row in self.rows() if row["measure"].startswith("objective")]

    def caption(self) -> str:
        """What was measured."""
        return f"{' and '.join(self.config.objective)} at K = {self.top_k}, 95 % intervals"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: each system's means and the 95 % intervals of them (absent for a single prompt)."""
        systems = {}
        for system in self.systems:
            named = {**system.scores, **dict(zip(("objective", "objective_2"), system.objective, strict=False))}
            intervals = {name: mean_interval(scores, self.units, traffic=system.traffic) for name, scores in named.items()}
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
            **({"latency": self.latency} if self.latency is not None else {}),
            "definitions": record.describe_measures(self.config, weighted="effective_queries" in self.collection),
        }


def evaluate(
    config: Config | str | Path,
    *,
    weights: str | Path | None = None,
    runs: Sequence[str | Path] = (),
    ties: str = "doc_id",
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """The setting of a weights file (or of the config) or foreign runs, and the baselines at the same top_k.

    The search of the setting is timed, and kept in the study's timings.json where there is a study of the config's name. `ties`
    says how a run's equal scores are ordered (`harness.files.read_run`); `allow_code` is leave to run the config's embedder.
    HarnessError for wrong input.
    """
    progress = progress or Silence()
    config = load_config(config, allow_code=allow_code)
    if ties not in RUN_TIES:
        raise HarnessError(f"--ties: must be one of {', '.join(RUN_TIES)}, got {ties!r}")
    if weights is not None and runs:
        raise HarnessError("--weights and --run: must not be given together; evaluate one after the other")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    dataset, _ = split_held_out(config, read_data(config, progress))  # held-out prompts are for tune's verdict alone
    dataset, _ = with_lists(config, dataset, None, progress, also=params)
    foreign = read_foreign_runs(runs, dataset, ties, whole_corpus=config.collection.corpus is not None)
    prepared = prepare(config, dataset, progress, Timings(), also=params)
    settings = settings_beside(config, params.top_k)
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
            traffic=prepared.hybrid.traffic,
        )
        for name, ranking, _ in foreign
    ]
    said = warn(prepared, study=False) + [line for _, _, lines in foreign for line in lines]
    units = units_of([query.cluster for query in dataset.queries])
    latency, kept_in = None, None
    if not runs and not config.given_lists:
        searched = "weights" if weights is not None else "config"
        timed = {
            name: replace(settings[name], **{name: getattr(params, name) for name in config.indexed})
            for name in ("keyword", "semantic", searched)
        }
        indexes = build_indexes(dataset, config, progress, params)
        latency = measure(indexes, timed, searched, config.at_index(params))
        kept_in = record.keep_timings(record.folder_of(config.name), latency)
    collection = record.summarize_collection(dataset)
    return Evaluation(config, params.top_k, collection, units, tuple(systems), tuple(said), latency, kept_in)
