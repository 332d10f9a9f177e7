"""One worker among others: it claims a trial, runs it, writes the result, and looks after what dead workers left behind."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from harness.draws import Drawer, run_drawn
from harness.progress import Progress
from harness.shared import BEAT, TRIAL, TRIALS, WORKER, Board, Shared
from harness.study import Known, Outcome, Trial, known_of, to_trial
from harness.types import Params

BEAT_EVERY, DEAD_AFTER = 5.0, 30.0  # seconds between two signs of life, and without one
LOOK_EVERY = 1.0  # seconds between two looks at what the others do, while there is something to run,
LOOKING = 20  # but at least so many times what a look takes
SHORTEST_WAIT, LONGEST_WAIT = 0.02, 1.0  # seconds between two looks while there is nothing to run

REPRODUCIBLE = (
    "every trial, and all that is chosen from them, follows from the config, its seed and the candidates; how many workers there"
    " were, how fast they were and which of them died has no part in it. Who ran a trial, and how long it took, will not come"
    " again"
)
NOT_THE_SAME = "but the workers had not the same libraries, and the last digits of a number may hang on them"


class Pulse:
    """A thread that says every few seconds that this process still runs the entry it has."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._entry: FrozenTrial | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join(timeout=BEAT_EVERY)

    def of(self, entry: FrozenTrial | None) -> None:
        """What runs now; None: nothing."""
        self._entry = entry

    def _beat(self) -> None:
        count = 0
        while not self._over.wait(BEAT_EVERY):
            entry, count = self._entry, count + 1
            if entry is not None:
                with contextlib.suppress(Exception):  # whoever waits for the result will hear what is wrong
                    self._shared.beat(entry, count)


@dataclass
class Watch:
    """Which running entries have given no sign of life for too long, by this process's own clock."""

    clock: Callable[[], float] = time.monotonic
    _seen: dict[int, tuple[object, float]] = field(default_factory=dict)

    def dead(self, running: list[FrozenTrial]) -> list[FrozenTrial]:
        """Those of the running entries whose sign of life has not changed for DEAD_AFTER seconds."""
        now, before = self.clock(), self._seen
        self._seen = {}
        for entry in running:
            beat = entry.user_attrs.get(BEAT)
            known, since = before.get(entry._trial_id, (None, now))
            self._seen[entry._trial_id] = (beat, since if known == beat else now)
        return [entry for entry in running if now - self._seen[entry._trial_id][1] > DEAD_AFTER]


@dataclass
class Worker:
    """Runs trials of a shared study until all have ended; `ran` counts its own, `ended` holds the study's, from 0 on, no gap.

    `seen` is called with each trial that has joined `ended`, in their order. `leads` (tune) also brings back trials that are
    nowhere, as when a worker died between taking an entry back and adding another.
    """

    shared: Shared
    drawer: Drawer
    objective: Callable[[Params], Outcome]
    progress: Progress
    stop: threading.Event
    seen: Callable[[FrozenTrial], None] = lambda _frozen: None
    deadline: float = math.inf
    most: float = math.inf
    leads: bool = False
    ran: int = 0
    lost: int = 0
    ended: list[FrozenTrial] = field(default_factory=list)
    _known: Known = field(default_factory=dict)
    _watch: Watch = field(default_factory=Watch)
    _nowhere: dict[int, float] = field(default_factory=dict)
    _look_again: float = 0.0

    def run(self) -> str:
        """Work until the study is whole (done), or `stopped`, out of time (timeout), or `most` trials were run (enough)."""
        board, wait = self.look(), SHORTEST_WAIT
        with Pulse(self.shared) as pulse:
            while len(self.ended) < board.total:
                if self.stop.is_set():
                    return "stopped"
                if self.ended and time.monotonic() >= self.deadline:
                    return "timeout"
                if self.ran >= self.most:
                    return "enough"
                entry = self.next(board)
                if entry is None:
                    self.stop.wait(wait)
                    wait = min(2 * wait, LONGEST_WAIT)
                elif self.shared.claim(entry):
                    self.run_one(entry, board, pulse)
                    wait = SHORTEST_WAIT
                if entry is None or time.monotonic() > self._look_again:
                    board = self.look()
        return "done"

    def next(self, board: Board) -> FrozenTrial | None:
        """The first waiting entry whose trial can be drawn now, taken off the board; None where there is none."""
        while board.waiting:
            number = board.waiting[0].user_attrs[TRIAL]
            if number >= board.total or self.drawer.needs(number) > len(self.ended):
                return None
            entry = board.waiting.pop(0)
            if number not in board.results and number not in board.running:
                return entry
        return None

    def run_one(self, entry: FrozenTrial, board: Board, pulse: Pulse) -> None:
        """Run a claimed entry; whatever keeps it from ending, its trial waits again."""
        number = entry.user_attrs[TRIAL]
        pulse.of(entry)
        try:
            frozen = run_drawn(number, self.drawer.draw(number, self.ended), self.objective, self._known)
            kept = self.shared.finish(entry, frozen)
        except BaseException:
            with contextlib.suppress(Exception):
                self.shared.take_back(entry)
            raise
        finally:
            pulse.of(None)
        if kept:
            self.ran += 1
            board.results.setdefault(number, frozen)
            self.follow(board)
        else:
            self.progress.say(
                f"trial {number}: was taken for lost and given to another worker, since nothing was heard from here"
            )

    def look(self) -> Board:
        """The board as it is now, after dead workers' trials were brought back."""
        begun = time.monotonic()
        board = self.shared.read()
        now = time.monotonic()
        self._look_again = now + max(LOOK_EVERY, LOOKING * (now - begun))
        for entry in self._watch.dead(list(board.running.values())):
            if self.shared.take_back(entry):
                self.lost += 1
                worker = (entry.user_attrs.get(BEAT) or ["its worker"])[0]
                self.progress.say(f"trial {entry.user_attrs[TRIAL]}: nothing was heard from {worker}, it is run again")
        if self.leads:
            self._nowhere = {number: self._nowhere.get(number, now) for number in board.lost}
            for number, since in self._nowhere.items():
                if now - since > DEAD_AFTER:
                    self.shared.add(number)
        self.follow(board)
        return board

    def follow(self, board: Board) -> None:
        """Take over the trials that have ended without a gap."""
        while len(self.ended) in board.results and len(self.ended) < board.total:
            frozen = board.results[len(self.ended)]
            self.ended.append(frozen)
            for setting, found in known_of([to_trial(frozen)], self.shared.config).items():
                self._known.setdefault(setting, found)
            self.seen(frozen)


def lead(
    worker: Worker, study: optuna.Study, seen: Callable[[Trial], None], versions: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Let the workers run what is missing of the study, as one of them, and keep its journal; why it ended, and who did what.

    Trials that the journal has and the storage lacks are written there first, so that a study may move to another storage.
    Out of time, the study is cut to what it has, and the workers stop.
    """
    shared, kept = worker.shared, study.get_trials(deepcopy=False)
    board, total = shared.read(), worker.drawer.trials
    for frozen in kept:
        if frozen.number not in board.results:
            shared.add_result(frozen)
            board.results[frozen.number] = frozen
    board.total = total
    for number in board.lost:
        shared.add(number)
    shared.set_attr(TRIALS, total)
    shared.set_attr(f"{WORKER}{shared.worker}", dict(versions))

    def take(frozen: FrozenTrial) -> None:
        if frozen.number >= len(kept):
            study.add_trial(frozen)
            seen(to_trial(frozen))

    worker.seen, worker.leads = take, True
    ended = worker.run()
    if ended == "timeout":
        shared.set_attr(TRIALS, len(worker.ended))
    if ended == "done" and total < shared.config.search.trials:
        ended = "exhausted"
    return ended, describe_sharing(shared, versions)


def describe_sharing(shared: Shared, versions: Mapping[str, str]) -> dict[str, Any]:
    """Who ran the trials, how many were lost with their workers and run again, and what of it all would come again."""
    ran, lost = shared.count()
    other = []
    for key, theirs in shared.attrs().items():
        worker = key.removeprefix(WORKER)
        if worker in ran and isinstance(theirs, dict):
            changed = [f"{name} {theirs.get(name)} (here {ours})" for name, ours in versions.items() if theirs.get(name) != ours]
            other += [f"{worker} had {', '.join(changed)}"] if changed else []
    words = REPRODUCIBLE if not other else f"{REPRODUCIBLE}; {NOT_THE_SAME}: {'; '.join(other)}"
    return {"storage": shared.url, "study": shared.name, "workers": ran, "run_again": lost, "reproducible": words}
