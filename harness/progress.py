"""How long work says how far it is: the command line shows bars or lines, a notebook or a test shows nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol


class Progress(Protocol):
    """Opens a stage, `with progress("encoding", total) as advance: advance(1)`, and passes on what is worth a line."""

    def __call__(self, description: str, total: int) -> contextlib.AbstractContextManager[Callable[[int], None]]: ...

    def say(self, line: str) -> None:
        """Show one line of news."""

    def warn(self, line: str) -> None:
        """Show a warning, which the command line prints even where it is told to be quiet."""

    def best(self, line: str) -> None:
        """Show the best trial so far, in the place of the one before."""


class Silence:
    """Progress that shows nothing."""

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda _steps: None

    def say(self, line: str) -> None:
        """Nothing is shown."""

    def warn(self, line: str) -> None:
        """Nothing is shown."""

    def best(self, line: str) -> None:
        """Nothing is shown."""
