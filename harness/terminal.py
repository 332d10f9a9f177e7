"""Progress on stderr: bars and a live line on a terminal, plain lines elsewhere. Home of rich, imported late."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from harness.printing import visible
from harness.progress import Progress

if TYPE_CHECKING:
    from rich.live import Live

EVERY = 30.0  # seconds between two lines about one stage, where there is no terminal
PLAIN_TERMINALS = ("dumb", "unknown")  # values of TERM that promise no control codes


def open_progress(*, quiet: bool = False, news: bool = True) -> Progress:
    """Bars where stderr is a terminal that can show them, plain lines elsewhere; `quiet`: warnings alone.

    Without `news` the best trials and the news are left out, and the stages stay.
    """
    if quiet:
        return Lines(news=False, every=math.inf)
    able = sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in PLAIN_TERMINALS
    return Bars(news=news) if able else Lines(news=news)


def describe_seconds(seconds: float) -> str:
    """A length of time as a person says it: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


class Lines:
    """Progress without control codes: each piece of news a line, and a long stage says now and then how far it is."""

    def __init__(self, *, news: bool = True, every: float = EVERY, clock: Callable[[], float] = time.monotonic) -> None:
        self._news, self._every, self._clock = news, every, clock

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        begun = said = self._clock()
        done = 0

        def advance(steps: int) -> None:
            nonlocal said, done
            done += steps
            now = self._clock()
            if now - said >= self._every and 0 < done < total:
                said = now
                left = (now - begun) / done * (total - done)
                _print_line(f"{description}: {done / total:.0%}, about {describe_seconds(left)} left")

        yield advance

    def say(self, line: str) -> None:
        """A line, where news are wanted."""
        if self._news:
            _print_line(line)

    def warn(self, line: str) -> None:
        """A line, always."""
        _print_line(f"warning: {line}")

    def best(self, line: str) -> None:
        """A line for each improvement, where news are wanted."""
        self.say(line)


def _print_line(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)


class Bars:
    """Progress on a terminal: a bar for each open stage, below them the best trial so far, above them all other lines.

    A stage that is over leaves a line with its count and time; the last open one takes the bars away and leaves the best trial.
    """

    def __init__(self, *, news: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._news, self._best = news, ""
        plain: dict[str, Any] = {"color_system": None} if os.environ.get("NO_COLOR") else {}
        self._console = Console(
            stderr=True, force_terminal=True, highlight=False, markup=False, emoji=False, soft_wrap=True, **plain
        )
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._stages = RichProgress(*columns, console=self._console, auto_refresh=False)  # what the display draws
        self._display: Live | None = None
        atexit.register(self._console.show_cursor)  # should an interrupt come while the display ends

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        begun, done = time.monotonic(), 0

        def advance(steps: int) -> None:
            nonlocal done
            done += steps
            self._stages.advance(task, steps)

        task = self._stages.add_task(visible(description), total=total, visible=total > 0)
        try:
            self._begin()
            yield advance
        finally:
            self._stages.remove_task(task)
            self._end()
            if total > 0:
                count = f"{done} of {total}" if done != total else str(done) if total > 1 else "done"
                self._print(f"{description}: {count} in {describe_seconds(time.monotonic() - begun)}")
            if self._display is None and self._best:
                self._print(self._best)
                self._best = ""

    def say(self, line: str) -> None:
        """A line above the bars, where news are wanted."""
        if self._news:
            self._print(line)

    def warn(self, line: str) -> None:
        """A line above the bars, always."""
        self._print(line, before="warning: ")

    def best(self, line: str) -> None:
        """The line below the bars; it stays when they go."""
        if self._news and self._display is None:
            self._print(line)
        elif self._news:
            self._best = visible(line)

    def _begin(self) -> None:
        from rich.live import Live

        if self._display is None:
            self._display = Live(
                get_renderable=self._draw, console=self._console, transient=True, refresh_per_second=10, redirect_stdout=False
            )
            self._display.start()

    def _end(self) -> None:
        if self._display is not None and not self._stages.tasks:
            self._display.stop()
            self._display = None

    def _print(self, line: str, before: str = "") -> None:
        from rich.text import Text

        self._console.print(Text.assemble((before, "yellow"), visible(line)))

    def _draw(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        return Group(self._stages, *([Text(self._best, overflow="fold")] if self._best else []))
