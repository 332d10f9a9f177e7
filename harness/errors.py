"""The two kinds of failure that are not bugs: the user's input is wrong, or the surroundings failed."""

from __future__ import annotations

from collections.abc import Sequence

MOST_OF_A_LINE = 200  # characters of what a library says
MOST_SHOWN = 100  # a million broken lines are one mistake, not a million


def first_line(error: BaseException) -> str:
    """What a library said, on one line of plain text: bytes of a broken file may stand in it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return plain_line(lines[0].strip() if lines else type(error).__name__)


def plain_line(text: str) -> str:
    """Text from outside on one line, cut to a length that can be read; what cannot be printed is escaped."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[:MOST_OF_A_LINE])


class HarnessError(Exception):
    """Something that the user can mend: one line a problem (where: what must hold, what came; what to do).

    `problems` holds every line; the command line prints them and exits with 2.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))

    def shown(self) -> list[str]:
        """The lines to print: at most `MOST_SHOWN`, then a count of the rest."""
        rest = len(self.problems) - MOST_SHOWN
        return [*self.problems[:MOST_SHOWN], *([f"… and {rest} more problems of this input"] if rest > 0 else [])]


class SurroundingsError(Exception):
    """Disk, memory, permission, a model that does not load, or a study in which no trial completed: exit 3."""


class InterruptedStudyError(Exception):
    """The user stopped a study between two trials; what is finished is kept. Exit 130."""


class Problems:
    """Collects every problem of one input, so that they are reported together."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, where: str, what: str) -> None:
        """Note one problem: `where` is a file with its line, or a key path."""
        self.lines.append(f"{where}: {what}")

    def raise_any(self) -> None:
        """Raise HarnessError with all that was noted; nothing noted, nothing happens."""
        if self.lines:
            raise HarnessError(self.lines)
