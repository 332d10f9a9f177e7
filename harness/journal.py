"""The study's journal on disk: Optuna's own format, written once a trial end instead of once a line.

Optuna appends and syncs one line for each drawn parameter and each attribute, about twenty a trial. What is said of a running
trial is held back here until the trial begins or ends, and then goes to the disk in one piece, synced once. Nothing is lost
that would be kept: `harness.study` cuts a half-run trial off and draws it again. One process holds a study, so the file is
read once and then remembered.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

SET_PARAMETER, SET_ATTRIBUTE, SET_SYSTEM_ATTRIBUTE = 5, 8, 9  # op codes of what is said of a running trial
HELD = (SET_PARAMETER, SET_ATTRIBUTE, SET_SYSTEM_ATTRIBUTE)


class NoLock(JournalFileOpenLock):
    """Optuna's file locks outlive a killed process and then block the next one; `harness.study.hold_study` is the lock here."""

    def acquire(self) -> bool:
        """Always granted."""
        return True

    def release(self) -> None:
        """Nothing to let go."""


class Journal(JournalFileBackend):
    """Optuna's file backend with few writes; `known` is every line, `held` those that are not on the disk yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), lock_obj=NoLock(str(path)))
        self._known: list[dict[str, Any]] | None = None
        self._held: list[dict[str, Any]] = []

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Remember these lines; write them, and what was held back, unless all are of a running trial."""
        known = self._read()
        fresh = [json.loads(json.dumps(log)) for log in logs]  # as the file would give them back
        self._held += fresh
        if not all(log["op_code"] in HELD for log in fresh):
            lines, self._held = self._held, []
            self._write(lines)
        known += fresh

    def _write(self, lines: list[dict[str, Any]]) -> None:
        """Append these lines, or nothing where the disk is full."""
        before = Path(self._file_path).stat().st_size
        try:
            super().append_logs(lines)
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(self._file_path, before)
            raise

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:  # type: ignore[override]  # a generator there too
        """The lines from this number on."""
        yield from self._read()[log_number_from:]

    def _read(self) -> list[dict[str, Any]]:
        if self._known is None:
            self._known = list(super().read_logs(0))
        return self._known
