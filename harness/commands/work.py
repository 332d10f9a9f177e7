"""`work`: join a study that `tune` shares, from its folder and the storage alone: no corpus, no model."""

from __future__ import annotations

import functools
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.commands.tune import exact_settings, interruptible, measure_trial, package_versions
from harness.config import read_config
from harness.draws import Drawer
from harness.errors import HarnessError, InterruptedStudyError
from harness.folder import Stored, find_shared, read_prepared
from harness.notebook import Rows, Shown
from harness.progress import Progress, Silence
from harness.shared import TRIALS, WORKER, join_shared
from harness.types import Counts
from harness.workers import Worker

NOTHING = Counts(0, 0, 0)  # how the collection is counted is the business of tune


@dataclass(frozen=True)
class Work(Shown):
    """What a worker did: the trials that it ran, those of dead workers that it brought back, how many the study has of how many.

    `ended` is done where the study has all its trials, and enough where only so many were asked for.
    """

    study: str
    worker: str
    trials: int
    brought_back: int
    complete: int
    of: int
    ended: str

    def rows(self) -> Rows:
        """One row."""
        return [self.to_dict()]

    def caption(self) -> str:
        """What the worker did."""
        return f"study {self.study}: {self.trials} trials run here; it has {self.complete} of {self.of}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def work(study: str | Path, *, trials: int | None = None, progress: Progress | None = None) -> Work:
    """Run trials of a study that `tune` shares until it has all (or `trials` were run here); any number of workers may.

    HarnessError where the study is not shared, or its files are not those that it was shared with; SurroundingsError where the
    storage does not answer.
    """
    progress = progress or Silence()
    if trials is not None and trials < 1:
        raise HarnessError(f"--trials: must be at least 1, got {trials}")
    folder = find_shared(study)
    config = read_config(folder / "config.yaml")
    if config.storage is None:
        raise HarnessError(f"{folder / 'config.yaml'}: must name a storage, got none: tune runs this study alone")
    prepared = read_prepared(Stored(folder, config, {}), NOTHING)
    drawer = Drawer(config, exact_settings(prepared) if config.search.sampler == "exact" else ())
    with join_shared(folder, config) as shared, interruptible() as interrupted:
        total = int(shared.attrs().get(TRIALS, 0))
        if total == 0:
            raise HarnessError(f"{folder}: must have trials to run, got none yet; start tune first, and leave it running")
        shared.set_attr(f"{WORKER}{shared.worker}", package_versions())
        with progress("trials of the study", total) as advance:
            worker = Worker(
                shared,
                drawer,
                functools.partial(measure_trial, prepared),
                progress,
                interrupted,
                seen=lambda _frozen: advance(1),
                most=trials if trials is not None else math.inf,
            )
            ended = worker.run()
    if ended == "stopped":
        raise InterruptedStudyError(f"stopped after {worker.ran} trials here; they are kept, and the others go on")
    return Work(config.name, shared.worker, worker.ran, worker.lost, len(worker.ended), total, ended)
