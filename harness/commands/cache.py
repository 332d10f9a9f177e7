"""`cache`: what the cache of indexes and vectors holds, and how to empty it. Only what this program wrote is ever deleted."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import Config, load_config
from harness.errors import HarnessError
from harness.files import looks_whole
from harness.prepare import OLD_LEFTOVER

FOLDER = ".harness-cache"
KINDS = ("embeddings", "candidates", "keyword")
OURS = re.compile(r"[0-9a-f]{64}\.npz")  # named by what it depends on
LEFTOVER = re.compile(r"\.[0-9a-f]{64}\.npz\..+\.part")  # what a process was writing when it was killed, or writes now
DAY = 86_400  # seconds


@dataclass(frozen=True)
class CacheFile:
    """One of the program's own files: its kind, size, when it was last used (seconds since 1970), and what it is.

    `state` is whole, unreadable (it would be built again), or leftover.
    """

    path: Path
    kind: str
    bytes: int
    used: float
    state: str


@dataclass(frozen=True)
class Cache:
    """What a cache folder holds: own files, foreign ones (never touched), and those of the own ones that were deleted.

    `selected` are the own files that were not used for `older_than` days (all, without it), leftovers that may still be
    written aside: what `--clear` deletes.
    """

    folder: Path
    files: tuple[CacheFile, ...]
    foreign: tuple[str, ...]
    selected: tuple[CacheFile, ...]
    older_than: float | None
    cleared: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        whole = [file for file in self.files if file.state != "leftover"]
        left = [file for file in self.files if file.state == "leftover"]
        return {
            "folder": str(self.folder),
            "kinds": {kind: totals(file for file in whole if file.kind == kind) for kind in KINDS},
            "leftovers": totals(left),
            "unreadable": [str(file.path) for file in whole if file.state == "unreadable"],
            "foreign": list(self.foreign),
            "older_than": self.older_than,
            "cleared": self.cleared,
            "selected": {"files": len(self.selected), "bytes": sum(file.bytes for file in self.selected)},
        }


def cache(
    folder: str | Path | None = None,
    *,
    config: Config | str | Path | None = None,
    clear: bool = False,
    older_than: float | None = None,
) -> Cache:
    """What the cache holds, the config's or that in `folder`; with `clear` the selected files are deleted.

    HarnessError where the folder is not there or has nothing of a cache. A study that is running loses nothing: what it has
    opened stays open to it, and what it does not find it builds again.
    """
    if folder is not None and config is not None:
        raise HarnessError("--config and --folder: must not be given together; a config names its folder")
    if older_than is not None and not 0 <= older_than < float("inf"):
        raise HarnessError(f"--older-than: must be a number of days of at least 0, got {older_than}")
    place = Path(load_config(config).cache) if config is not None else Path(folder if folder is not None else FOLDER)
    refuse_other_folder(place)
    files, foreign = list_cache(place)
    selected = tuple(file for file in files if may_go(file, time.time(), older_than))
    for file in selected if clear else ():
        file.path.unlink(missing_ok=True)
    return Cache(place, files, foreign, selected, older_than, clear)


def refuse_other_folder(place: Path) -> None:
    """HarnessError where this is no folder, or one without any of the cache's own folders."""
    if not place.is_dir():
        what = "something that is no folder" if place.exists() else "nothing at this path; tune makes one"
        raise HarnessError(f"{place}: must be a cache folder, got {what}")
    if not any(_is_real_folder(place / kind) for kind in KINDS):
        raise HarnessError(
            f"{place}: must be a cache folder, which has {', '.join(KINDS)} in it, got none of them; name the folder that the"
            " key `cache` of the config names"
        )


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def list_cache(place: Path) -> tuple[tuple[CacheFile, ...], tuple[str, ...]]:
    """The program's own files, oldest use first, and the names of everything else; links are foreign and not followed."""
    own: list[CacheFile] = []
    foreign: list[str] = []
    for entry in _entries(place):
        if entry.name not in KINDS or not _is_real_folder(Path(entry.path)):
            foreign.append(_name(entry))
            continue
        for inner in _entries(Path(entry.path)):
            file = look_at(inner, entry.name)
            if file is not None:
                own.append(file)
            else:
                foreign.append(f"{entry.name}/{_name(inner)}")
    return tuple(sorted(own, key=lambda file: (file.used, str(file.path)))), tuple(foreign)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda entry: entry.name)


def _name(entry: os.DirEntry[str]) -> str:
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


def look_at(entry: os.DirEntry[str], kind: str) -> CacheFile | None:
    """The entry as a file of the cache; None where its name or type is not what this program writes, or it has just gone."""
    leftover = LEFTOVER.fullmatch(entry.name) is not None
    if not entry.is_file(follow_symlinks=False) or not (leftover or OURS.fullmatch(entry.name)):
        return None
    path = Path(entry.path)
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    state = "leftover" if leftover else "whole" if looks_whole(path) else "unreadable"
    with contextlib.suppress(OSError):
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))  # looking is no use
    return CacheFile(path, kind, found.st_size, max(found.st_atime, found.st_mtime), state)


def may_go(file: CacheFile, now: float, older_than: float | None) -> bool:
    """Whether `--clear` deletes this file: it was not used for so long, and nobody can be writing it still."""
    if file.state == "leftover" and now - file.used <= OLD_LEFTOVER:
        return False
    return older_than is None or now - file.used > older_than * DAY


def totals(files: Iterable[CacheFile]) -> dict[str, Any]:
    """How many files and bytes, and when they were first and last used, in UTC; no times for no files."""
    listed = list(files)
    counted: dict[str, Any] = {"files": len(listed), "bytes": sum(file.bytes for file in listed)}
    if listed:
        counted["oldest_use"], counted["newest_use"] = (shown_time(pick(file.used for file in listed)) for pick in (min, max))
    return counted


def shown_time(seconds: float) -> str:
    """A moment as text, UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
