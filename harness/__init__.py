"""Find the fusion weight and K that serve a hybrid search best, from labelled prompts. The commands as functions.

Importing this package is cheap; each function imports what it needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.commands.check import Check
    from harness.commands.evaluate import Evaluation
    from harness.commands.export import Export
    from harness.commands.import_cranfield import ImportedCranfield
    from harness.commands.import_run import ImportedRun
    from harness.commands.init import Init
    from harness.commands.profile import ProfileResult
    from harness.commands.report import Report
    from harness.commands.reproduce import Reproduction
    from harness.commands.search import Explanation
    from harness.commands.tune import TuneResult
    from harness.commands.watch import Watch
    from harness.commands.work import Work
    from harness.config import Config
    from harness.progress import Progress

__all__ = [
    "check",
    "evaluate",
    "export",
    "import_cranfield",
    "import_run",
    "init",
    "profile",
    "report",
    "reproduce",
    "search",
    "tune",
    "watch",
    "work",
]


def tune(
    config: Config | str | Path,
    *,
    name: str | None = None,
    fresh: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> TuneResult:
    """Run, or go on with, the study that the config describes; see `harness.commands.tune.tune`."""
    from harness.commands.tune import tune as run

    return run(config, name=name, fresh=fresh, allow_code=allow_code, progress=progress)


def work(study: str | Path, *, trials: int | None = None, progress: Progress | None = None) -> Work:
    """Run trials of a study that `tune` shares; see `harness.commands.work.work`."""
    from harness.commands.work import work as run

    return run(study, trials=trials, progress=progress)


def evaluate(
    config: Config | str | Path,
    *,
    weights: str | Path | None = None,
    runs: tuple[str | Path, ...] = (),
    ties: str = "doc_id",
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Every measure for a fixed setting or foreign runs, beside the baselines; see `harness.commands.evaluate.evaluate`."""
    from harness.commands.evaluate import evaluate as run

    return run(config, weights=weights, runs=runs, ties=ties, allow_code=allow_code, progress=progress)


def profile(
    config: Config | str | Path,
    *,
    weights: str | Path | None = None,
    out: str | Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> ProfileResult:
    """The objective as an exact function of the semantic weight; see `harness.commands.profile.profile`."""
    from harness.commands.profile import profile as run

    return run(config, weights=weights, out=out, allow_code=allow_code, progress=progress)


def search(
    config: Config | str | Path,
    text: str,
    *,
    weights: str | Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Explanation:
    """One prompt's results with the rank and score that each retriever gave; see `harness.commands.search.search`."""
    from harness.commands.search import search as run

    return run(config, text, weights=weights, allow_code=allow_code, progress=progress)


def export(study: str | Path, *, to: str, setting: str = "recommended", parity: str | Path | None = None) -> Export:
    """A study's setting as an engine's configuration; see `harness.commands.export.export`."""
    from harness.commands.export import export as run

    return run(study, to=to, setting=setting, parity=parity)


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
    """Whether a study's setting is still right, on new labels or a production run; see `harness.commands.watch.watch`."""
    from harness.commands.watch import watch as look

    return look(
        study,
        queries=queries,
        qrels=qrels,
        run=run,
        setting=setting,
        ties=ties,
        latency=latency,
        junit=junit,
        allow_code=allow_code,
        progress=progress,
    )


def report(*studies: str | Path, out: str | Path | None = None, progress: Progress | None = None) -> Report:
    """A study's HTML page, or several studies side by side; see `harness.commands.report.report`."""
    from harness.commands.report import report as write

    return write(*studies, out=out, progress=progress)


def reproduce(
    study: str | Path, *, from_scratch: bool = False, allow_code: bool = False, progress: Progress | None = None
) -> Reproduction:
    """Run a finished study again and compare; see `harness.commands.reproduce.reproduce`."""
    from harness.commands.reproduce import reproduce as again

    return again(study, from_scratch=from_scratch, allow_code=allow_code, progress=progress)


def check(config: Config | str | Path, *, allow_code: bool = False, progress: Progress | None = None) -> Check:
    """What there is to know of a config and its data before anything is built; see `harness.commands.check.check`."""
    from harness.commands.check import check as look

    return look(config, allow_code=allow_code, progress=progress)


def init(folder: str | Path, *, out: str | Path | None = None, force: bool = False) -> Init:
    """Write a first config for a folder of data; see `harness.commands.init.init`."""
    from harness.commands.init import init as write

    return write(folder, out=out, force=force)


def import_run(
    responses: str | Path,
    *,
    out: str | Path,
    tag: str | None = None,
    field: str | None = None,
    depth: int | None = None,
    queries: str | Path | None = None,
) -> ImportedRun:
    """Write a search engine's responses as a TREC run; see `harness.commands.import_run.import_run`."""
    from harness.commands.import_run import import_run as write

    return write(responses, out=out, tag=tag, field=field, depth=depth, queries=queries)


def import_cranfield(folder: str | Path, *, out: str | Path) -> ImportedCranfield:
    """Write Cranfield's original files in BEIR layout; see `harness.commands.import_cranfield.import_cranfield`."""
    from harness.commands.import_cranfield import import_cranfield as write

    return write(folder, out=out)
