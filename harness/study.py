"""Optuna's side of a study: drawing parameters, running trials, resuming. Home of optuna.

Every trial is drawn by a sampler made anew from the study's seed and the trial's number, so that a study that was
stopped and resumed draws what an uninterrupted one draws; Optuna's samplers do not restore their random state.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import filelock
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial, TrialState

from harness.config import PARAM_NAMES, WHOLE_PARAMS, Config
from harness.engines import RANK_FUSIONS
from harness.errors import HarnessError, SurroundingsError
from harness.files import write_text
from harness.journal import SET_ATTRIBUTE, Journal
from harness.space import count_points, effective, fixed_values, list_grid
from harness.types import Params

JOURNAL = "journal.log"
IDENTITY = "identity"  # the study attribute that holds what one study's question is made of
CREATE_TRIAL, SET_STATE = 4, 6  # op codes of Optuna's journal
ENDED = (TrialState.COMPLETE.value, TrialState.PRUNED.value, TrialState.FAIL.value)
NOT_A_JOURNAL = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    optuna.exceptions.OptunaError,
)
LEGS = "legs"  # the study attribute that holds each leg's library versions


@dataclass(frozen=True)
class Outcome:
    """What one trial found: the objective's values (one or two), and the numbers to log, by column name."""

    values: tuple[float, ...]
    logged: Mapping[str, float]


@dataclass(frozen=True)
class Trial:
    """A trial as the study remembers it; `params` holds the drawn ones, `reason` why it failed."""

    number: int
    state: str
    params: Mapping[str, Any]
    values: tuple[float, ...]
    logged: Mapping[str, float]
    seconds: float
    reason: str = ""


class TrialFailedError(Exception):
    """The objective has no finite value at these parameters; the message is kept as the trial's reason."""


def seed_of(seed: int, number: int) -> int:
    """The seed of one trial's sampler, in [0, 2**32)."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{number}".encode()).digest()[:4], "big")


def make_sampler(config: Config, number: int) -> BaseSampler:
    """Optuna's sampler of the config's name for this trial; `gp` imports torch."""
    name, seed = config.search.sampler, seed_of(config.seed, number)
    made: dict[str, Callable[[], BaseSampler]] = {
        "exact": lambda: optuna.samplers.RandomSampler(seed=seed),  # every trial's parameters are given
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "qmc": lambda: optuna.samplers.QMCSampler(
            scramble=True,
            seed=config.seed,
            independent_sampler=optuna.samplers.RandomSampler(seed=seed),
            warn_independent_sampling=False,
        ),
        "grid": lambda: optuna.samplers.GridSampler(list_grid(config.search.space), seed=config.seed),
        "bruteforce": lambda: optuna.samplers.BruteForceSampler(seed=seed),
        "nsgaii": lambda: optuna.samplers.NSGAIISampler(seed=seed),
        "nsgaiii": lambda: optuna.samplers.NSGAIIISampler(seed=seed),
        "gp": lambda: optuna.samplers.GPSampler(seed=seed),
    }
    return made[name]()


class SeededByTrial(BaseSampler):
    """Delegates each trial to a sampler of its own (`make_sampler`): the same on every path to it.

    What earlier trials have in common is remembered from one sampler to the next; each would read all trials again.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._inner: BaseSampler = make_sampler(config, 0)
        self._in_common: dict[str, IntersectionSearchSpace] = {}

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Make the trial's own sampler."""
        self._inner = make_sampler(self._config, trial.number)
        for name, held in vars(self._inner).items():
            if isinstance(held, IntersectionSearchSpace):
                setattr(self._inner, name, self._in_common.setdefault(name, held))
        self._inner.before_trial(study, trial)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The inner sampler's."""
        return self._inner.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The inner sampler's."""
        return self._inner.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The inner sampler's."""
        return self._inner.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        """The inner sampler's; grid and bruteforce end the study here when no point is left."""
        self._inner.after_trial(study, trial, state, values)


def suggest_params(trial: optuna.trial.BaseTrial, space: Mapping[str, Any], base: Params) -> Params:
    """Draw what the space names, in a fixed order; `rrf_k` only when ranks are fused. The rest is the base's."""
    drawn: dict[str, Any] = {}
    for name in PARAM_NAMES:
        if name not in space or (name == "rrf_k" and drawn.get("fusion", base.fusion) not in RANK_FUSIONS):
            continue
        entry = space[name]
        if isinstance(entry, list):
            drawn[name] = trial.suggest_categorical(name, entry)
        elif not isinstance(entry, dict):
            drawn[name] = entry
        elif name in WHOLE_PARAMS:
            drawn[name] = trial.suggest_int(
                name, entry["low"], entry["high"], step=entry.get("step", 1), log=entry.get("log", False)
            )
        else:
            drawn[name] = trial.suggest_float(
                name, entry["low"], entry["high"], step=entry.get("step"), log=entry.get("log", False)
            )
    return replace(base, **drawn)


def open_study(folder: Path, config: Config, identity: Mapping[str, Any], versions: Mapping[str, str]) -> optuna.Study:
    """The study in this folder's journal, made or resumed; HarnessError where its question was another one.

    A torn last line and a half-run trial (a killed run) are cut off: the trial is drawn again.
    """
    quieten()
    journal = folder / JOURNAL
    folder.mkdir(parents=True, exist_ok=True)
    with _reading(journal):
        _mend_tail(journal)
        study = optuna.create_study(
            study_name="study",
            storage=_storage(journal),
            sampler=SeededByTrial(config),
            directions=["maximize"] * len(config.objective),
            load_if_exists=True,
        )
        _check_trials(study, config)
        known, legs = study.user_attrs.get(IDENTITY), read_legs(study)
        if not all(isinstance(part, dict) for part in [*legs, *([] if known is None else [known])]):
            raise ValueError("its identity and its legs must be objects")
    if known is None:
        study.set_user_attr(IDENTITY, dict(identity))
    elif known != identity:
        raise HarnessError(explain_difference(folder, known, identity))
    if not legs or legs[-1] != versions:
        study.set_user_attr(LEGS, [*legs, dict(versions)])
    return study


def read_legs(study: optuna.Study) -> list[dict[str, str]]:
    """The library versions of every leg of the study that had others than the leg before."""
    return list(study.user_attrs.get(LEGS, []))


def count_trials(folder: Path) -> int:
    """How many ended trials the study in this folder has."""
    journal = folder / JOURNAL
    if not journal.is_file() or journal.stat().st_size == 0:
        return 0
    quieten()
    ended = (TrialState.COMPLETE, TrialState.FAIL)
    with _reading(journal):
        storage = _storage(journal)
        return sum(len(storage.get_all_trials(s._study_id, deepcopy=False, states=ended)) for s in storage.get_all_studies())


def read_identity(folder: Path) -> Mapping[str, Any] | None:
    """What the study in this folder was asked, None where there is no study; nothing is written."""
    journal = folder / JOURNAL
    if not journal.is_file() or journal.stat().st_size == 0:
        return None
    quieten()
    with _reading(journal):
        storage = _storage(journal)
        studies = storage.get_all_studies()
        known = storage.get_study_user_attrs(studies[0]._study_id).get(IDENTITY) if studies else None
        if known is not None and not isinstance(known, dict):
            raise ValueError("its identity is no object")
        return known


@contextlib.contextmanager
def _reading(journal: Path) -> Iterator[None]:
    """HarnessError in the place of whatever a journal that is none makes Optuna raise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Optuna finds odd in a journal is refused below
            yield
    except NOT_A_JOURNAL as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        raise HarnessError(
            f"{journal}: must be the journal that tune wrote, got something else ({said!r}); start over with --fresh, which moves"
            " the study aside"
        ) from None


def _check_trials(study: optuna.Study, config: Config) -> None:
    """ValueError where an ended trial is not one that `run_trials` made of this space."""
    if len(study.directions) != len(config.objective):
        raise ValueError("it has another number of objectives")
    for number, frozen in enumerate(study.get_trials(deepcopy=False)):
        if frozen.state not in (TrialState.COMPLETE, TrialState.FAIL):
            raise ValueError(f"trial {frozen.number} has not ended, and is not the last one")
        if frozen.number != number or not is_sound(frozen, config):
            raise ValueError(f"trial {frozen.number} is none of this study's")


def is_sound(frozen: FrozenTrial, config: Config) -> bool:
    """Whether an ended trial may be one of this config's: its numbers are finite, its params are of the space."""
    trial = to_trial(frozen)
    numbers = [*trial.values, *trial.logged.values()]
    sound = isinstance(trial.reason, str)
    sound = sound and all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers)
    sound = sound and len(trial.values) == (len(config.objective) if trial.state == "COMPLETE" else 0)
    drawn = config.search.space
    for name, distribution in frozen.distributions.items():
        sound = sound and name in drawn and distribution == distribution_of(name, drawn[name])
        sound = sound and distribution._contains(distribution.to_internal_repr(frozen.params[name]))
    return sound


def distribution_of(name: str, entry: Any) -> BaseDistribution | None:
    """The distribution from which `suggest_params` draws this entry of the space; None for a fixed value."""
    if isinstance(entry, list):
        return CategoricalDistribution(entry)
    if not isinstance(entry, dict):
        return None
    if name in WHOLE_PARAMS:
        return IntDistribution(entry["low"], entry["high"], log=entry.get("log", False), step=entry.get("step", 1))
    return FloatDistribution(entry["low"], entry["high"], log=entry.get("log", False), step=entry.get("step"))


def explain_difference(folder: Path, known: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """One line for each key that differs, and what to do."""
    lines = []
    for key in sorted(set(known) | set(asked)):
        if known.get(key) != asked.get(key):
            shown = key if key.isprintable() else repr(key)
            lines.append(
                f"{folder}: {shown} must stay what it was in a study, {_brief(known.get(key))}, got {_brief(asked.get(key))}"
            )
    return [*lines, f"{folder}: one study answers one question; give another name with --name, or start over with --fresh"]


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _storage(journal: Path) -> JournalStorage:
    return JournalStorage(Journal(journal))


@contextlib.contextmanager
def hold_study(folder: Path) -> Iterator[None]:
    """Keep other processes off this study; SurroundingsError says who holds it. The system frees it when a process dies."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder.with_name(f".{folder.name}.lock"))
    holder = folder.with_name(f".{folder.name}.holder")  # beside the lock, which is emptied by whoever tries it
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise SurroundingsError(
            f"{folder}: another process is running this study{_describe_holder(holder)}; wait for it, or give another --name"
        ) from None
    try:
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        write_text(holder, json.dumps({"process": os.getpid(), "host": platform.node(), "since": started}) + "\n")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _describe_holder(path: Path) -> str:
    """Who holds a study, as it said itself; nothing where that cannot be read."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return f" (process {int(said['process'])} on {str(said['host'])[:80]!r}, since {str(said['since'])[:30]})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def quieten() -> None:
    """Optuna's own news and its warnings of what is experimental are not this program's."""
    optuna.logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def _mend_tail(journal: Path) -> None:
    """Cut off what a killed process left: a torn last line, and the trial that it was running, to be drawn again whole.

    Keeping a half-drawn trial would skip the draws that it had made, and its sampler would draw others. A last trial that failed
    without a reason of this program's was cut too: Optuna ends it so on an interrupt, or where memory runs out.
    """
    if not journal.is_file() or journal.stat().st_size == 0:
        return
    data = journal.read_bytes()
    end = data.rfind(b"\n") + 1
    created: list[int] = []  # where each trial begins
    offset, ended, reasons = 0, {}, set()  # how each ended; those that say why
    for line in data[:end].splitlines(keepends=True):
        record = json.loads(line)
        if record["op_code"] == CREATE_TRIAL:
            if record.get("state") in ENDED:  # written whole, in one line
                ended[len(created)] = record["state"]
                reasons |= {len(created)} if "reason" in record["user_attrs"] else set()
            created.append(offset)
        elif record["op_code"] == SET_STATE and record.get("state") in ENDED:
            ended[record["trial_id"]] = record["state"]
        elif record["op_code"] == SET_ATTRIBUTE and "reason" in record["user_attr"]:
            reasons.add(record["trial_id"])
        offset += len(line)
    last = len(created) - 1
    if created and (last not in ended or (ended[last] == TrialState.FAIL.value and last not in reasons)):
        end = created[-1]
    if end < len(data):
        with journal.open("rb+") as file:
            file.truncate(end)
            file.flush()
            os.fsync(file.fileno())


Known = dict[Params, tuple[int, Outcome]]  # what was computed already, and by which trial first


def known_of(trials: Iterable[Trial], config: Config) -> Known:
    """What these trials computed, by their setting."""
    known: Known = {}
    for trial in trials:
        if trial.state == "COMPLETE":
            known.setdefault(effective(params_of(trial, config)), (trial.number, Outcome(trial.values, trial.logged)))
    return known


def compute(number: int, params: Params, objective: Callable[[Params], Outcome], known: Known) -> tuple[Outcome, dict[str, Any]]:
    """What a trial finds, with its attributes; a point that was computed before is taken from there, and it is said of which.

    TrialFailedError where a value is not finite.
    """
    key = effective(params)
    if key in known:
        first, outcome = known[key]
        return outcome, {"repeats": first, **outcome.logged}
    outcome = objective(params)
    if not all(math.isfinite(value) for value in outcome.values):
        raise TrialFailedError(f"the objective is {outcome.values}, not a finite number, at {params}")
    known[key] = (number, outcome)
    return outcome, dict(outcome.logged)


def deadline_of(config: Config) -> float:
    """When a run that begins now is out of time, by the monotonic clock."""
    return time.monotonic() + config.search.timeout if config.search.timeout is not None else math.inf


def run_trials(
    study: optuna.Study,
    config: Config,
    objective: Callable[[Params], Outcome],
    seen: Callable[[Trial], None],
    stop: Callable[[], bool] = lambda: False,
    settings: Sequence[Callable[[], Params]] = (),
) -> str:
    """Run what is missing of the config's trials; returns why it ended: done, timeout, exhausted or stopped.

    `seen` is called after each new trial; `stop` is asked before each one, so that an interrupt never tears a trial. A
    point that was computed before is not computed again (its trial says which one it repeats). With `settings` (for the
    sampler `exact`) trial i is the i-th of them: each is asked for its parameters when its turn comes.
    """
    before = list_trials(study)
    known, done = known_of(before, config), len(before)
    deadline = deadline_of(config)
    ended = {"why": "done"}

    def run_one(trial: optuna.Trial) -> Any:
        params = suggest_params(trial, config.search.space, config.base)
        try:
            outcome, attrs = compute(trial.number, params, objective, known)
        except TrialFailedError as error:
            trial.set_user_attr("reason", str(error))
            raise
        for name, value in attrs.items():
            trial.set_user_attr(name, value)
        return outcome.values if len(outcome.values) > 1 else outcome.values[0]

    def after(study: optuna.Study, frozen: FrozenTrial) -> None:
        seen(to_trial(frozen))
        if stop():
            ended["why"] = "stopped"
        elif time.monotonic() >= deadline:
            ended["why"] = "timeout"
        if ended["why"] != "done":
            study.stop()

    if settings:
        wanted = min(config.search.trials, len(settings))
        for number in range(done, wanted):
            if ended["why"] != "done":
                break
            drawn = settings[number]()
            study.enqueue_trial({name: getattr(drawn, name) for name in config.search.space})
            _optimize(study, run_one, 1, after)
        return "exhausted" if ended["why"] == "done" and len(settings) < config.search.trials else ended["why"]
    missing = config.search.trials - done
    if missing > 0 and config.search.sampler in ("grid", "bruteforce") and _exhausted(study, config):
        return "exhausted"
    if missing > 0:
        _optimize(study, run_one, missing, after)
        finished = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL)))
        if ended["why"] == "done" and finished < config.search.trials:
            ended["why"] = "exhausted"
    return ended["why"]


def _optimize(
    study: optuna.Study,
    run_one: Callable[[optuna.Trial], Any],
    n_trials: int,
    after: Callable[[optuna.Study, FrozenTrial], None],
) -> None:
    """Run the trials; what the disk said, where Optuna asserts that this cannot be."""
    try:
        study.optimize(run_one, n_trials=n_trials, callbacks=[after], catch=(TrialFailedError,))
    except AssertionError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        raise cause or error from None


def _exhausted(study: optuna.Study, config: Config) -> bool:
    """Whether grid or bruteforce has visited every point of the space (rrf_k counted only where ranks are fused)."""
    return len({effective(replace(config.base, **t.params, **fixed_values(config))) for t in list_trials(study)}) >= (
        count_points(config) or 0
    )


def list_trials(study: optuna.Study) -> list[Trial]:
    """The study's ended trials in order of their numbers."""
    ended = (TrialState.COMPLETE, TrialState.FAIL)
    return [to_trial(trial) for trial in study.get_trials(deepcopy=False, states=ended)]


def to_trial(frozen: FrozenTrial) -> Trial:
    """An ended trial as the rest of the program knows it."""
    attrs = frozen.user_attrs
    complete = frozen.state == TrialState.COMPLETE
    return Trial(
        number=frozen.number,
        state=frozen.state.name,
        params=dict(frozen.params),
        values=tuple(frozen.values) if complete else (),
        logged={name: value for name, value in attrs.items() if "@" in name},
        seconds=frozen.duration.total_seconds() if frozen.duration is not None else 0.0,
        reason=attrs.get("reason", ""),
    )


def params_of(trial: Trial, config: Config) -> Params:
    """The complete parameters of a trial: what it drew, the space's fixed values, the top-level ones."""
    return replace(config.base, **fixed_values(config), **trial.params)


def best_of(trials: list[Trial], config: Config) -> Trial | None:
    """The best completed trial: highest value; equal ones by smaller top_k, smaller depth, lower number."""
    complete = [trial for trial in trials if trial.state == "COMPLETE"]
    if not complete:
        return None

    def rank(trial: Trial) -> tuple[float, int, int, int]:
        params = params_of(trial, config)
        return (-trial.values[0], params.top_k, params.depth, trial.number)

    return min(complete, key=rank)


def pareto_of(trials: list[Trial]) -> list[int]:
    """The numbers of the trials that no other one beats in both objectives; of equal ones the first."""
    complete = [trial for trial in trials if trial.state == "COMPLETE"]
    front, seen = [], set()
    for trial in complete:
        beaten = any(
            all(o >= t for o, t in zip(other.values, trial.values, strict=True)) and other.values != trial.values
            for other in complete
        )
        if not beaten and trial.values not in seen:
            seen.add(trial.values)
            front.append(trial.number)
    return front
