"""`watch`: is what a study decided still right? The gate that runs every night, on new labels or on a production run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.collection import read_dataset
from harness.commands.gate import (
    FAILED,
    OK,
    SKIPPED,
    Asked,
    Check,
    Side,
    check_alternatives,
    check_judgements,
    check_latency,
    check_quality,
)
from harness.config import Config, HeldOutFiles, permit_code
from harness.decide import units_of
from harness.errors import HarnessError
from harness.fields import with_titles
from harness.files import RUN_TIES, write_text
from harness.folder import NOTHING, Stored, read_prepared, read_study, setting_of
from harness.hybrid import Hybrid
from harness.live import with_lists
from harness.measures import prepare_judgements
from harness.notebook import Rows, Shown
from harness.prepare import Prepared, Timings, data_files, prepare, select_queries
from harness.progress import Progress, Silence
from harness.runs import read_foreign_runs
from harness.space import settings_beside
from harness.traffic import counting, has_weights, traffic_of, weights_of
from harness.types import Dataset, Params


@dataclass(frozen=True)
class Watch(Shown):
    """All checks of one watch; `ok` unless one failed."""

    study: str
    setting: str
    params: Params
    objective: str
    prompts: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.status != FAILED for check in self.checks)

    def rows(self) -> Rows:
        """A row for each check."""
        return [{"check": c.name, "status": c.status, "message": c.message, **c.numbers} for c in self.checks]

    def short(self) -> Rows:
        """Each check's answer."""
        return [{"check": c.name, "status": c.status, "message": c.message} for c in self.checks]

    def caption(self) -> str:
        """What was looked at, and whether it is well."""
        verdict = "nothing speaks against it" if self.ok else "look at what failed"
        return f"study {self.study}, setting {self.setting}, {self.prompts} prompts: {verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "study": self.study,
            "setting": self.setting,
            "params": vars(self.params),
            "objective": self.objective,
            "prompts": self.prompts,
            "ok": self.ok,
            "checks": [{"name": c.name, "status": c.status, "message": c.message, **c.numbers} for c in self.checks],
        }

    def to_junit(self) -> str:
        """The same as JUnit XML: one test case a check."""
        counts = {status: sum(check.status == status for check in self.checks) for status in (FAILED, SKIPPED)}
        suite = ET.Element(
            "testsuite",
            name=f"harness watch {self.study}",
            tests=str(len(self.checks)),
            failures=str(counts[FAILED]),
            skipped=str(counts[SKIPPED]),
            errors="0",
        )
        for check in self.checks:
            case = ET.SubElement(suite, "testcase", classname=f"harness.watch.{self.study}", name=check.name)
            if check.status == OK:
                ET.SubElement(case, "system-out").text = check.message
            else:
                ET.SubElement(case, "failure" if check.status == FAILED else "skipped", message=check.message)
        root = ET.Element("testsuites")
        root.append(suite)
        ET.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def watch(
    study: str | Path,
    *,
    queries: str | Path | None = None,
    qrels: str | Path | None = None,
    run: str | Path | None = None,
    setting: str = "recommended",
    ties: str = "doc_id",
    latency: bool = True,
    junit: str | Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Watch:
    """The deployed setting (one of the study's) on today's data, against what the study recorded.

    Without files it is the study's own collection as it lies there now. `queries` and `qrels` are other labelled prompts over the
    same corpus (`qrels` alone: new judgements of the study's prompts). `run` is a TREC run of production, scored in the
    place of the harness's own search: without `qrels` by the judgements in the study's folder, and no other file is read.
    `junit` is where JUnit XML is written; `allow_code` is leave to run the config's embedder. HarnessError for wrong input.
    """
    progress = progress or Silence()
    if ties not in RUN_TIES:
        raise HarnessError(f"--ties: must be one of {', '.join(RUN_TIES)}, got {ties!r}")
    if queries is not None and qrels is None:
        raise HarnessError("--queries: needs the judgements of these prompts, give --qrels too")
    if junit is not None and Path(junit).is_dir():
        raise HarnessError(f"--junit: must be a file to write, got the folder {junit}")
    stored = read_study(study)
    if run is None:
        stored = replace(stored, config=permit_code(stored.config, allow_code=allow_code))
    params = setting_of(stored, setting)
    recorded = read_prepared(stored)
    then = side_of(recorded.dataset, recorded.hybrid, params)
    dataset = recorded.dataset if run is not None and qrels is None else read_today(recorded, queries, qrels)
    dataset = that_count(dataset, recorded.dataset)
    if dataset.hashes is not NOTHING and recorded_corpus(stored) not in (None, dataset.hashes.corpus):
        progress.warn("the corpus is no longer the one that the study was made on")
    if run is None:
        dataset, _ = with_lists(stored.config, dataset, None, progress, also=params)
    units = units_of([query.cluster for query in dataset.queries])
    now = look(stored.config, dataset, params, run, ties, progress)
    measure = stored.config.objectives[0]
    then_units = units_of([query.cluster for query in recorded.dataset.queries])
    asked = Asked(stored, recorded, params, measure, dataset, now, then, units, then_units, alternatives_of(stored, params))
    checks = [check_quality(asked), check_alternatives(asked), check_judgements(asked)]
    if run is None and latency:
        checks.append(check_latency(asked, progress))
    result = Watch(stored.config.name, setting, params, stored.config.objective[0], len(dataset.queries), tuple(checks))
    if junit is not None:
        write_text(Path(junit), result.to_junit())
    return result


def read_today(recorded: Prepared, queries: str | Path | None, qrels: str | Path | None) -> Dataset:
    """The prompts to look at: given ones over the study's corpus, or the study's own, without those that it held out."""
    config = recorded.config
    files = data_files(config)
    files = replace(files, qrels=Path(qrels)) if qrels is not None else files
    files = replace(files, queries=Path(queries)) if queries is not None else files
    dataset = read_dataset(files, relevance_threshold=config.measures.relevance_threshold)
    dataset = with_titles(dataset, files.corpus, config.keyword)
    if queries is not None or config.held_out is None or isinstance(config.held_out, HeldOutFiles):
        return dataset
    used = {query.query_id for query in recorded.dataset.queries}
    kept = np.asarray([query.query_id in used for query in dataset.queries])
    if not kept.any():
        raise HarnessError(f"{files.labels}: must judge prompts that the study used, got none of its {len(used)}")
    return select_queries(dataset, kept)


def that_count(dataset: Dataset, recorded: Dataset) -> Dataset:
    """Today's prompts without those of weight 0; HarnessError where only today's or only the study's have weights."""
    if has_weights(dataset.queries) != has_weights(recorded.queries):
        now, then = ("have weights", "none") if has_weights(dataset.queries) else ("have no weights", "weights")
        raise HarnessError(
            f"weight: today's prompts {now} and the study's {then}: their means cannot be compared; tune again with today's"
            " prompts, or give prompts of the study's kind with --queries"
        )
    counts = counting(weights_of(dataset.queries), len(dataset.queries))
    if not counts.any():
        raise HarnessError(f"weight: today's prompts must have a weight above 0, got 0 for all {len(dataset.queries)}")
    return dataset if counts.all() else select_queries(dataset, counts)


def recorded_corpus(stored: Stored) -> str | None:
    """The content hash of the study's corpus; None where its manifest is not there."""
    try:
        return str(json.loads((stored.folder / "manifest.json").read_text(encoding="utf-8"))["content"]["corpus"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def look(config: Config, dataset: Dataset, params: Params, run: str | Path | None, ties: str, progress: Progress) -> Side:
    """Today's side: by a run where one is given, else by the harness's own search of these prompts."""
    if run is not None:
        ((_, ranking, lines),) = read_foreign_runs([run], dataset, ties, whole_corpus=dataset.hashes is not NOTHING)
        for line in lines:
            progress.warn(line)
        query_ids = tuple(query.query_id for query in dataset.queries)
        judgements = prepare_judgements(dataset.qrels, config.measures.conventions())
        return Side(query_ids, judgements, ranking, None, traffic_of(dataset.queries))
    return side_of(dataset, prepare(config, dataset, progress, Timings(), also=params).hybrid, params)


def side_of(dataset: Dataset, hybrid: Hybrid, params: Params) -> Side:
    """What the harness's own search finds with this setting."""
    query_ids = tuple(query.query_id for query in dataset.queries)
    return Side(query_ids, hybrid.judgements, hybrid.rank(params), hybrid, hybrid.traffic)


def alternatives_of(stored: Stored, deployed: Params) -> dict[str, Params]:
    """The study's other settings, at the deployed K: baselines, today's, the pick and the best trial."""
    config = stored.config
    settings = settings_beside(config, deployed.top_k)
    for name in ("pick", "best_trial"):
        if name in stored.summary:
            settings[name] = setting_of(stored, name)
    return {name: p for name, p in settings.items() if replace(p, top_k=deployed.top_k) != deployed}
