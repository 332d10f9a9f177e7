"""A study whose trials several processes share: in a PostgreSQL database, or behind Optuna's gRPC proxy.

Optuna's study in the storage is a list of *entries*. Each says which trial of ours it is (`TRIAL`), waits until a worker claims
it, runs, and ends with the trial's result (`RESULT`). One that ends without a result was lost with its worker: a new entry of
the same trial takes its place. A running entry's `BEAT` changes every few seconds, or its worker is taken for dead. Each process
sees that by its own clock, so no two clocks need to agree, and the storage needs no clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import secrets
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from harness.config import PARAM_NAMES, Config
from harness.database import DEFAULTS
from harness.errors import HarnessError, SurroundingsError
from harness.files import read_text, write_text
from harness.given import hash_file
from harness.statements import proxy_of
from harness.study import IDENTITY, explain_difference, is_sound, quieten

NAMED = "storage.json"  # in the study's folder: what the study is called in the storage
INPUTS = ("config.yaml", "candidates.npz")  # what a worker reads; all workers must have the same
TRIAL, RESULT, BEAT = "trial", "result", "beat"  # attributes of an entry
TRIALS, FILES, VERSIONS, WORKER = "trials", "files", "versions", "worker "  # attributes of the study in the storage
EARLIER = "another storage"  # in the place of the worker of a trial that came from the journal
PATIENCE = 10.0  # seconds until a proxy must answer
ATTEMPTS = 5  # to make the tables, which another process may be making
SERVERS = ("sqlalchemy", "psycopg", "grpc")  # libraries whose errors are a server's


@contextlib.contextmanager
def asking(storage: str) -> Iterator[None]:
    """SurroundingsError in the place of whatever a storage raises that does not answer, or lacks the study."""
    try:
        yield
    except KeyError:
        raise SurroundingsError(
            f"{storage}: must hold the study, and does not any more; start tune again, which writes it anew from its folder"
        ) from None
    except Exception as error:
        theirs = isinstance(error, optuna.exceptions.StorageInternalError)
        if not theirs and type(error).__module__.partition(".")[0] not in SERVERS:
            raise
        raise SurroundingsError(
            f"{storage}: the server must answer, got: {_said(error)}; see that it runs and lets us in (a password comes from"
            " ~/.pgpass, PGPASSFILE or a service file), and start again: what has ended is kept"
        ) from None


def _said(error: BaseException) -> str:
    """The server's own words, on one line."""
    details = getattr(error, "details", None)  # gRPC's
    if callable(details):
        return " ".join(str(details()).split())[:300]
    cause = getattr(error.__cause__ or error, "orig", None)  # psycopg's error within SQLAlchemy's within Optuna's
    return " ".join(str(cause or error.__cause__ or error).split())[:300]


@contextlib.contextmanager
def connect(storage: str, *, create: bool) -> Iterator[BaseStorage]:
    """The storage that a config names, open; its tables are made where `create` says so.

    HarnessError where a library lacks, SurroundingsError where no server answers.
    """
    quieten()
    proxy = proxy_of(storage)
    with contextlib.ExitStack() as closing:
        try:
            with asking(storage):
                opened = _connect_proxy(storage, *proxy, closing) if proxy else _connect_database(storage, closing, create=create)
        except ImportError as error:
            reason = str(error.__cause__ or error).splitlines()[0]
            raise HarnessError(
                f"storage: {storage.partition(':')[0]} needs a library that is not there, got: {reason}; install the extra: pip"
                " install 'hybrid-search-harness[workers]'"
            ) from None
        yield opened


def _connect_proxy(storage: str, host: str, port: int, closing: contextlib.ExitStack) -> BaseStorage:
    proxy = optuna.storages.GrpcStorageProxy(host=host, port=port)
    closing.callback(proxy.close)
    try:
        proxy.wait_server_ready(timeout=PATIENCE)
    except ConnectionError:
        raise SurroundingsError(
            f"{storage}: Optuna's proxy must answer within {PATIENCE:g} seconds, got nothing; see that it runs"
            " (optuna.storages.run_grpc_proxy_server), and start again"
        ) from None
    return proxy


def _connect_database(storage: str, closing: contextlib.ExitStack, *, create: bool) -> BaseStorage:
    named = {name for name, _ in urllib.parse.parse_qsl(urllib.parse.urlsplit(storage).query, keep_blank_values=True)}
    settings = {name: value for name, value in DEFAULTS.items() if name not in named}
    url = storage.replace("{", "{{").replace("}", "}}")  # Optuna fills a template
    for attempt in range(1, ATTEMPTS + 1):
        try:
            backend = optuna.storages.RDBStorage(url, {"connect_args": settings}, skip_table_creation=not create)
            closing.callback(backend.engine.dispose)
            return optuna.storages.get_storage(backend)
        except RuntimeError as error:  # of a version check
            raise SurroundingsError(
                f"{storage}: must have tables of this Optuna, {optuna.__version__}, got: {' '.join(str(error).split())[:200]}"
            ) from None
        except Exception as error:
            if type(error).__name__ not in ("IntegrityError", "ProgrammingError") or attempt == ATTEMPTS or not create:
                raise
            time.sleep(0.2 * attempt)
    raise AssertionError("the last attempt returns or raises")


@dataclass
class Board:
    """All entries at one moment: results by trial, who runs which trial, what waits (by trial, then entry)."""

    total: int
    results: dict[int, FrozenTrial] = field(default_factory=dict)
    running: dict[int, FrozenTrial] = field(default_factory=dict)
    waiting: list[FrozenTrial] = field(default_factory=list)

    @property
    def lost(self) -> list[int]:
        """The trials that have neither a result nor an entry that could get one."""
        there = {*self.results, *self.running, *(entry.user_attrs[TRIAL] for entry in self.waiting)}
        return [number for number in range(self.total) if number not in there]


def has_result(entry: FrozenTrial) -> bool:
    """Whether an entry ended with its trial's result: complete, or failed with the reason. A worker may die while it writes."""
    if entry.state == TrialState.COMPLETE:
        return True
    return entry.state == TrialState.FAIL and "reason" in entry.user_attrs.get(RESULT, ())


@dataclass(frozen=True)
class Shared:
    """A study in a storage, as one process has it in hand."""

    url: str
    storage: BaseStorage
    study_id: int
    name: str
    config: Config

    @property
    def worker(self) -> str:
        """This process among the workers."""
        return f"{platform.node()}:{os.getpid()}"

    def attrs(self) -> dict[str, Any]:
        """The attributes of the study in the storage."""
        with asking(self.url):
            return dict(self.storage.get_study_user_attrs(self.study_id))

    def set_attr(self, key: str, value: Any) -> None:
        """Set one of them."""
        with asking(self.url):
            self.storage.set_study_user_attr(self.study_id, key, value)

    def read(self) -> Board:
        """All entries as they are now; HarnessError where one is not of this study."""
        board = Board(int(self.attrs().get(TRIALS, 0)))
        with asking(self.url):
            entries = self.storage.get_all_trials(self.study_id, deepcopy=False)
        for entry in entries:
            number = entry.user_attrs.get(TRIAL)
            if not isinstance(number, int):
                raise HarnessError(f"{self.url}: the study {self.name} must hold this program's trials only, got another one")
            if entry.state == TrialState.WAITING:
                board.waiting.append(entry)
            elif entry.state == TrialState.RUNNING:
                board.running.setdefault(number, entry)
            elif has_result(entry) and number not in board.results:
                board.results[number] = self._result(entry, number)
        board.waiting.sort(key=lambda entry: (entry.user_attrs[TRIAL], entry.number))
        return board

    def _result(self, entry: FrozenTrial, number: int) -> FrozenTrial:
        """The ended trial that this entry is."""
        try:
            complete = entry.state == TrialState.COMPLETE
            frozen = optuna.trial.create_trial(
                state=entry.state,
                values=list(entry.values or ()) if complete else None,
                params={name: entry.params[name] for name in PARAM_NAMES if name in entry.params},
                distributions={name: entry.distributions[name] for name in PARAM_NAMES if name in entry.params},
                user_attrs=dict(entry.user_attrs[RESULT]),
                system_attrs=dict(entry.system_attrs),
            )
            frozen.number = number
            frozen.datetime_start, frozen.datetime_complete = entry.datetime_start, entry.datetime_complete
            if not is_sound(frozen, self.config):
                raise ValueError("numbers that are none, or parameters of another space")
        except (ValueError, TypeError, KeyError) as error:
            raise HarnessError(
                f"{self.url}: trial {number} of the study {self.name} must be as this program writes it, got: {error}"
            ) from None
        return frozen

    def add(self, number: int) -> None:
        """A new entry for this trial, which waits."""
        self._create(optuna.trial.create_trial(state=TrialState.WAITING, user_attrs={TRIAL: number}))

    def add_result(self, frozen: FrozenTrial) -> None:
        """A new entry that has ended already, as this trial did elsewhere."""
        made = optuna.trial.create_trial(
            state=frozen.state,
            values=list(frozen.values) if frozen.state == TrialState.COMPLETE else None,
            params=frozen.params,
            distributions=frozen.distributions,
            user_attrs={TRIAL: frozen.number, RESULT: frozen.user_attrs},
            system_attrs=frozen.system_attrs,
        )
        made.datetime_start, made.datetime_complete = frozen.datetime_start, frozen.datetime_complete
        self._create(made)

    def _create(self, template: FrozenTrial) -> None:
        with asking(self.url):
            self.storage.create_new_trial(self.study_id, template)

    def claim(self, entry: FrozenTrial) -> bool:
        """Whether this process has the entry now; another one may have been faster."""
        try:
            with asking(self.url):
                if not self.storage.set_trial_state_values(entry._trial_id, TrialState.RUNNING):
                    return False
        except optuna.exceptions.UpdateFinishedTrialError:
            return False
        self.beat(entry, 0)
        return True

    def beat(self, entry: FrozenTrial, count: int) -> None:
        """Say that this process still runs the entry."""
        with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError), asking(self.url):
            self.storage.set_trial_user_attr(entry._trial_id, BEAT, [self.worker, count])

    def finish(self, entry: FrozenTrial, frozen: FrozenTrial) -> bool:
        """Write the result of a claimed entry; False where it was taken back in the meantime."""
        trial_id = entry._trial_id
        try:
            with asking(self.url):
                for name, value in frozen.params.items():
                    drawn = frozen.distributions[name]
                    self.storage.set_trial_param(trial_id, name, drawn.to_internal_repr(value), drawn)
                for name, value in frozen.system_attrs.items():
                    self.storage.set_trial_system_attr(trial_id, name, value)
                self.storage.set_trial_user_attr(trial_id, RESULT, dict(frozen.user_attrs))
                values = frozen.values if frozen.state == TrialState.COMPLETE else None
                return self.storage.set_trial_state_values(trial_id, frozen.state, values)
        except optuna.exceptions.UpdateFinishedTrialError:
            return False

    def take_back(self, entry: FrozenTrial) -> bool:
        """End an entry without a result and let its trial wait again; False where another process was faster."""
        try:
            with asking(self.url):
                self.storage.set_trial_state_values(entry._trial_id, TrialState.FAIL)
        except optuna.exceptions.UpdateFinishedTrialError:
            return False
        self.add(entry.user_attrs[TRIAL])
        return True

    def count(self) -> tuple[dict[str, int], int]:
        """How many trials each worker ran, by its name, and how many entries ended without a result."""
        with asking(self.url):
            entries = self.storage.get_all_trials(self.study_id, deepcopy=False)
        ran: dict[str, int] = {}
        lost = 0
        for entry in entries:
            if has_result(entry):
                worker = str((entry.user_attrs.get(BEAT) or [EARLIER])[0])
                ran[worker] = ran.get(worker, 0) + 1
            lost += entry.state.is_finished() and not has_result(entry)
        return dict(sorted(ran.items())), lost


def hash_inputs(folder: Path) -> dict[str, str]:
    """The hashes of what a worker reads."""
    return {name: hash_file(folder / name) for name in INPUTS}


@contextlib.contextmanager
def open_shared(folder: Path, config: Config, identity: Mapping[str, Any], versions: Mapping[str, str]) -> Iterator[Shared]:
    """The study of this folder in the storage that the config names, made where it is not there; for `tune`.

    HarnessError where a study of this name answers another question.
    """
    url = str(config.storage)
    with connect(url, create=True) as storage:
        yield _open(url, storage, folder, config, identity, versions)


def _open(
    url: str,
    storage: BaseStorage,
    folder: Path,
    config: Config,
    identity: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Shared:
    name = _name_in(folder)
    with asking(url):
        ids = {study.study_name: study._study_id for study in storage.get_all_studies()}
        if name is None or name not in ids:
            digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
            name = f"{config.name}-{digest}-{secrets.token_hex(4)}"
            ids[name] = storage.create_new_study([StudyDirection.MAXIMIZE] * len(config.objective), name)
            storage.set_study_user_attr(ids[name], IDENTITY, dict(identity))
    shared = Shared(url, storage, ids[name], name, config)
    known = shared.attrs().get(IDENTITY)
    if known != json.loads(json.dumps(identity)):
        raise HarnessError(explain_difference(folder, known if isinstance(known, dict) else {}, identity))
    shared.set_attr(FILES, hash_inputs(folder))
    shared.set_attr(VERSIONS, dict(versions))
    write_text(folder / NAMED, json.dumps({"study": name}) + "\n")
    return shared


@contextlib.contextmanager
def join_shared(folder: Path, config: Config) -> Iterator[Shared]:
    """The study of this folder in the storage, for a worker; HarnessError where it has other files than the study's."""
    url = str(config.storage)
    with connect(url, create=False) as storage:
        yield _join(url, storage, folder, config)


def _join(url: str, storage: BaseStorage, folder: Path, config: Config) -> Shared:
    name = _name_in(folder)
    with asking(url):
        ids = {study.study_name: study._study_id for study in storage.get_all_studies()}
    if name not in ids:
        raise HarnessError(
            f"{url}: must hold the study {name}, got no study of that name; start tune first, and leave it running"
        )
    shared = Shared(url, storage, ids[name], name, config)
    known, ours = shared.attrs().get(FILES), hash_inputs(folder)
    if known != ours:
        other = [file for file in INPUTS if not isinstance(known, dict) or known.get(file) != ours[file]]
        raise HarnessError(
            [
                f"{folder / file}: must be the one that the study was shared with, got another (sha256 {ours[file][:12]}); copy"
                " the study's folder again, or start tune again"
                for file in other
            ]
        )
    return shared


def _name_in(folder: Path) -> str | None:
    """What the study is called in the storage, as its folder says; None where it does not."""
    path = folder / NAMED
    if not path.is_file():
        return None
    try:
        name = json.loads(read_text(path))["study"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None
