"""What each trial tries: a function of the config, its number and the trials of the batches before, in every process the same.

A trial of batch 3 is drawn as if it ran alone after batches 0, 1 and 2: it sees what these found, and of its own batch
nothing but how many come before it. So it does not matter who runs a trial, when, or after how many attempts.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from harness.config import READERS, Config
from harness.space import count_points
from harness.study import (
    Known,
    Outcome,
    SeededByTrial,
    Trial,
    TrialFailedError,
    compute,
    deadline_of,
    known_of,
    list_trials,
    quieten,
    suggest_params,
    to_trial,
)
from harness.types import Params

GENETIC = ("nsgaii", "nsgaiii")  # samplers that note each trial's generation, and each generation's parents


@dataclass(frozen=True)
class Drawn:
    """A trial before it runs: its whole setting, what of it was drawn and from where, and what its sampler noted for later."""

    params: Params
    own: dict[str, Any]
    distributions: dict[str, BaseDistribution]
    notes: dict[str, Any]


class _Desk(InMemoryStorage):
    """A study in memory that forgets its last trials: a draw leaves nothing behind that the next one could see."""

    def forget(self, study_id: int, kept: int, notes: dict[str, Any]) -> None:
        """Keep this many trials, and these notes of the sampler about the study as a whole."""
        study = self._studies[study_id]
        for trial in study.trials[kept:]:
            del self._trial_id_to_study_id_and_number[trial._trial_id]
        del study.trials[kept:]
        study.system_attrs = dict(notes)


class Drawer:
    """Draws the trials of one study; `settings` are those of the sampler `exact`, one a trial.

    Samplers that look at no result (config.READERS has the others) go through their sequence by themselves, so any trial can
    be drawn at any time.
    """

    def __init__(self, config: Config, settings: Sequence[Callable[[], Params]] = ()) -> None:
        quieten()
        self._config, self._settings = config, settings
        self._reads = config.search.sampler in READERS
        self._sequence: list[Drawn] = []
        self._begin()

    def _begin(self) -> None:
        """An empty desk."""
        self._desk, self._notes = _Desk(), dict[str, Any]()
        self._study = optuna.create_study(
            storage=self._desk, sampler=SeededByTrial(self._config), directions=["maximize"] * len(self._config.objective)
        )
        self._study_id, self._known = self._study._study_id, 0

    @property
    def trials(self) -> int:
        """How many trials the study gets: the config's, or fewer where there are no more points."""
        wanted, points = self._config.search.trials, None
        if self._config.search.sampler == "exact":
            points = len(self._settings)
        elif self._config.search.sampler in ("grid", "bruteforce"):
            points = count_points(self._config)
        return wanted if points is None else min(wanted, points)

    def needs(self, number: int) -> int:
        """How many trials must have ended before this one can be drawn: those of all earlier batches, where any are looked at."""
        return number - number % self._config.search.batch if self._reads else 0

    def draw(self, number: int, ended: Sequence[FrozenTrial]) -> Drawn:
        """The trial of this number; `ended` are the study's trials from 0 on, at least as many as it `needs`."""
        if self._config.search.sampler == "exact":
            return self._exact(number)
        if self._reads:
            return self._after(number, ended[: self.needs(number)])
        while len(self._sequence) <= number:
            self._sequence.append(self._ask())
            trial_id = self._desk.get_trial_id_from_study_id_trial_number(self._study_id, len(self._sequence) - 1)
            self._desk.set_trial_state_values(trial_id, TrialState.COMPLETE, [0.0] * len(self._config.objective))
        return self._sequence[number]

    def _exact(self, number: int) -> Drawn:
        setting = self._settings[number]()
        named = {name: getattr(setting, name) for name in self._config.search.space}
        trial = optuna.trial.FixedTrial(named, number)
        params = suggest_params(trial, self._config.search.space, self._config.base)
        return Drawn(params, dict(trial.params), dict(trial.distributions), {})

    def _after(self, number: int, seen: Sequence[FrozenTrial]) -> Drawn:
        if self._known > len(seen):
            self._begin()
        while self._known < len(seen):
            batch = seen[self._known : self._known + self._config.search.batch]
            self._learn(batch, seen[: self._known])
            for trial in batch:
                self._study.add_trial(trial)
            self._known += len(batch)
        return self._try(number)[0]

    def _learn(self, batch: Sequence[FrozenTrial], before: Sequence[FrozenTrial]) -> None:
        """Take over what the sampler noted about the study as a whole when these trials were drawn: a generation's parents.

        Optuna's genetic samplers note it with the first trial of a generation and read it with the others. It is found again by
        drawing that trial again.
        """
        told = [trial.system_attrs for trial in before]
        for trial in batch if self._config.search.sampler in GENETIC else ():
            if trial.system_attrs not in told:
                told.append(trial.system_attrs)
                self._notes = {**self._try(trial.number)[1], **self._notes}
                self._desk.forget(self._study_id, self._known, self._notes)

    def _try(self, number: int) -> tuple[Drawn, dict[str, Any]]:
        """A trial as it is drawn after the known ones, and what is then noted about the study; nothing is left of it."""
        try:
            for _ in range(number - self._known):
                self._desk.create_new_trial(self._study_id)  # its batch's trials before it: nothing is known of them
            drawn = self._ask()
            return drawn, dict(self._desk.get_study_system_attrs(self._study_id))
        finally:
            self._desk.forget(self._study_id, self._known, self._notes)

    def _ask(self) -> Drawn:
        trial = self._study.ask()
        params = suggest_params(trial, self._config.search.space, self._config.base)
        keeps = self._config.search.sampler in GENETIC  # what the others write is for trials that still run
        notes = self._desk.get_trial(trial._trial_id).system_attrs if keeps else {}
        return Drawn(params, dict(trial.params), dict(trial.distributions), dict(notes))


def run_drawn(number: int, drawn: Drawn, objective: Callable[[Params], Outcome], known: Known) -> FrozenTrial:
    """The trial after its run: complete, or failed with the reason."""
    started = datetime.datetime.now()
    try:
        outcome, attrs = compute(number, drawn.params, objective, known)
        state, values = TrialState.COMPLETE, list(outcome.values)
    except TrialFailedError as error:
        state, values, attrs = TrialState.FAIL, None, {"reason": str(error)}
    frozen = optuna.trial.create_trial(
        state=state,
        values=values,
        params=drawn.own,
        distributions=drawn.distributions,
        user_attrs=attrs,
        system_attrs=drawn.notes,
    )
    frozen.number, frozen.datetime_start = number, started
    return frozen


def run_alone(
    study: optuna.Study,
    config: Config,
    drawer: Drawer,
    objective: Callable[[Params], Outcome],
    seen: Callable[[Trial], None],
    stop: Callable[[], bool],
) -> str:
    """Run what is missing of a study whose trials are drawn in batches, one after the other.

    As `study.run_trials`, which Optuna draws for: there every trial sees all earlier ones. Here a trial is written to the journal
    when it has ended, in one line.
    """
    ended = study.get_trials(deepcopy=False)
    known = known_of(list_trials(study), config)
    deadline = deadline_of(config)
    for number in range(len(ended), drawer.trials):
        frozen = run_drawn(number, drawer.draw(number, ended), objective, known)
        study.add_trial(frozen)
        ended.append(frozen)
        seen(to_trial(frozen))
        if stop():
            return "stopped"
        if time.monotonic() >= deadline:
            return "timeout"
    return "done" if drawer.trials == config.search.trials else "exhausted"
