"""How long work says how far it is: the command line shows bars, a notebook or a test shows nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol


class Progress(Protocol):
    """Opens a bar: `with progress("encoding", total) as advance: advance(1)`; `say` prints a line above the bars."""

    def __call__(self, description: str, total: int) -> contextlib.AbstractContextManager[Callable[[int], None]]: ...

    def say(self, line: str) -> None:
        """Show one line of news."""


class Silence:
    """Progress that shows nothing."""

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda _steps: None

    def say(self, line: str) -> None:
        """Nothing is shown."""
