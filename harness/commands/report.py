"""`report`: a finished study as one HTML page, or several studies side by side."""

from __future__ import annotations

import contextlib
import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.commands.export import export
from harness.errors import HarnessError
from harness.exports import EXPORTS
from harness.files import read_text, write_text
from harness.findings import Findings, gather
from harness.folder import Stored, read_prepared, read_study, read_trials
from harness.importance import importances
from harness.notebook import as_figure
from harness.page import Extras, TemplateDataError, comparison_page, report_figures, report_page
from harness.prepare import Prepared, read_data, split_held_out
from harness.progress import Progress, Silence
from harness.sidebyside import check_picks, compare_one, contender, put_together
from harness.traffic import has_weights, weights_of
from harness.types import Dataset

REPORT, COMPARISON = "report.html", "comparison.html"
MOST_TO_JUDGE = 10


@dataclass(frozen=True)
class Report:
    """Where the page was written, and what stands in it."""

    path: Path
    studies: tuple[str, ...]
    bytes: int
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON; no note where there is nothing to say."""
        data = {"path": str(self.path), "studies": list(self.studies), "bytes": self.bytes}
        return {**data, "note": self.note} if self.note else data


def report(
    *studies: str | Path, out: str | Path | None = None, dataset: Dataset | None = None, progress: Progress | None = None
) -> Report:
    """Write the page of one study into its folder (or `out`), or compare several in `out` (comparison.html).

    The texts of prompts and documents are those of `dataset` (the study's own prompts), else they are read from the data files
    of the study's config, where these are still the study's: if not, ids stand alone and the page says so. HarnessError for what
    is no finished study.
    """
    if not studies:
        raise HarnessError("STUDY: must name at least one study, got none")
    if len(studies) > 1:
        return compare(studies, Path(out) if out is not None else Path(COMPARISON), progress or Silence())
    stored, findings, prepared = find(studies[0])
    texts, why_not = (dataset, "") if dataset is not None else find_texts(stored, prepared)
    with reading(stored):
        page = report_page(findings, collect(stored, prepared, texts, why_not))
    path = Path(out) if out is not None else stored.folder / REPORT
    write_text(path, page)
    return Report(path, (stored.config.name,), len(page.encode()), why_not)


def compare(studies: Sequence[str | Path], path: Path, progress: Progress) -> Report:
    """The page of several studies side by side. HarnessError where they share no prompts, or one has no pick."""
    stored = [read_study(study) for study in studies]
    names = [one.config.name for one in stored]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise HarnessError(f"STUDY: must name different studies, got {', '.join(twice)} more than once")
    contenders = []
    for one in stored:
        content = read_manifest(one.folder).get("content")
        with reading(one):
            contenders.append(
                contender(read_prepared(one), one.summary, read_fitted(one.folder), content if isinstance(content, dict) else {})
            )
    check_picks(contenders)
    rows = []
    for one, contestant in zip(stored, contenders, strict=True):
        with reading(one):
            rows.append(compare_one(contestant, contenders[0], progress))
    with reading(stored[0]):
        page = comparison_page(put_together(contenders[0], rows), [one.config for one in stored])
    write_text(path, page)
    return Report(path, tuple(names), len(page.encode()))


@contextlib.contextmanager
def reading(stored: Stored) -> Iterator[None]:
    """What a damaged summary.json raises, as a HarnessError that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, TemplateDataError) as error:
        where = stored.folder / "summary.json"
        raise HarnessError(f"{where}: must be what tune wrote, got: {type(error).__name__} {error}; run tune again") from None


def read_fitted(folder: Path) -> dict[str, float]:
    """The cross-fitted score of each prompt from per_query.csv; empty where the study has none."""
    path = folder / "per_query.csv"
    try:
        return {row["query_id"]: float(row["cross_fitted"]) for row in csv.DictReader(read_text(path).splitlines())}
    except (KeyError, TypeError, ValueError):
        return {}


def figure_of(study: str | Path, name: str) -> Any:
    """One chart of a study's report as a plotly figure; HarnessError lists the names where there is none of this one."""
    figures = report_figures(find(study)[1])
    if name not in figures:
        raise HarnessError(f"figure: must be one of {', '.join(figures)}, got {name!r}")
    return as_figure(figures[name])


def find(study: str | Path) -> tuple[Stored, Findings, Prepared]:
    """A study's folder, what it has to show, and its prompts and candidates."""
    stored = read_study(study)
    prepared, trials = read_prepared(stored), read_trials(stored)
    with reading(stored):
        return stored, gather(prepared, stored.summary, trials, importances(trials, stored.config)), prepared


def collect(stored: Stored, prepared: Prepared, texts: Dataset | None, why_not: str) -> Extras:
    """What stands beside the findings."""
    dataset = prepared.dataset
    grades = [
        {int(row): int(grade) for row, grade in zip(rows, values, strict=True) if row >= 0}
        for rows, values in zip(dataset.qrels.rows, dataset.qrels.grades, strict=True)
    ]
    return Extras(
        exports=list_exports(stored),
        manifest=read_manifest(stored.folder),
        to_judge=read_to_judge(stored.folder),
        doc_ids=dataset.doc_ids,
        query_ids=[query.query_id for query in dataset.queries],
        groups=[query.group for query in dataset.queries],
        weights=weights_of(dataset.queries).tolist() if has_weights(dataset.queries) else [],
        grades=grades,
        texts=texts,
        no_texts=why_not,
    )


def list_exports(stored: Stored) -> dict[str, str]:
    """The recommended setting for every target that provably orders alike; empty where there is none to recommend."""
    made = {}
    for target in EXPORTS:
        try:
            made[target] = export(stored.folder, to=target).text
        except HarnessError:
            continue
    return made


def find_texts(stored: Stored, prepared: Prepared) -> tuple[Dataset | None, str]:
    """The study's prompts with their texts and the corpus's, or None and why not."""
    sentence = "Only ids are shown, no texts: "
    try:
        dataset, _ = split_held_out(stored.config, read_data(stored.config))
    except HarnessError as error:
        return None, f"{sentence}{error.shown()[0]}"
    known = read_manifest(stored.folder).get("content")
    now = {"corpus": dataset.hashes.corpus, "queries": dataset.hashes.queries}
    changed = [name for name in now if not isinstance(known, dict) or known.get(name) != now[name]]
    if changed:
        return None, f"{sentence}the {' and the '.join(changed)} of the study's config are no longer those that it was made on."
    if [q.query_id for q in dataset.queries] != [q.query_id for q in prepared.dataset.queries]:
        return None, f"{sentence}the judgements of the study's config are no longer those that it was made on."
    return dataset, ""


def read_manifest(folder: Path) -> dict[str, Any]:
    """The study's manifest.json; empty where it is missing or damaged: a report can do without."""
    try:
        known = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def read_to_judge(folder: Path) -> Sequence[dict[str, str]]:
    """The first rows of to_judge.csv; none where it is missing or another file."""
    path = folder / "to_judge.csv"
    if not path.is_file():
        return []
    wanted = ("query_id", "doc_id", "change_of_difference", "rank_pick", "rank_kept")
    rows = []
    for row in csv.DictReader(read_text(path).splitlines()):
        try:
            if not math.isfinite(float(row["change_of_difference"])):
                return []
        except (KeyError, TypeError, ValueError):
            return []
        rows.append({name: row.get(name) or "" for name in wanted})
        if len(rows) == MOST_TO_JUDGE:
            break
    return rows
