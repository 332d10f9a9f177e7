"""Rounds, medians, ratios, a child process's peak memory, the machine and the versions: what every benchmark shares.

A comparison runs all its sides in each round, one after the other, and the order turns from round to round. The ratio is
the median of the rounds' own ratios, so that a busy minute falls on both sides.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "hybrid-search-harness", "bm25s", "faiss-cpu", "numba", "numpy", "openvino", "optuna", "rank-bm25", "ranx", "scipy",
    "sentence-transformers", "torch", "transformers",
)  # fmt: skip
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Row:
    """One line of the table. `value` is a ratio (unit ×), or what else the aim speaks of; `ours` and `theirs` are medians.

    `at_least` says on which side of the aim `value` has to be; without an aim it is only printed.
    """

    part: str
    what: str
    against: str
    value: float
    unit: str
    aim: float | None
    at_least: bool
    ours: float
    theirs: float | None
    measured_in: str
    rounds: int
    note: str = ""

    @property
    def verdict(self) -> str:
        """met, or by what factor the aim is missed; an empty text where there is no aim."""
        if self.aim is None:
            return ""
        met = self.value >= self.aim if self.at_least else self.value <= self.aim
        if met:
            return "met"
        off = self.aim / self.value if self.at_least else self.value / self.aim
        return f"off by {off:.2f} ×"

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON holds it, with its verdict."""
        return {**asdict(self), "verdict": self.verdict}


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def alternate(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each side returns in each round; every round runs all sides, and begins with another one than the last."""
    names, found = list(sides), {name: [] for name in sides}
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found[name].append(sides[name]())
    return found


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def faster(
    part: str, what: str, against: str, ours: Sequence[float], theirs: Sequence[float], aim: float | None, **more: Any
) -> Row:
    """How many times as fast (or as small) as the other side we are: at least the aim."""
    return _row(part, what, against, ratio(theirs, ours), "×", aim, True, ours, theirs, more)


def costs(
    part: str, what: str, against: str, ours: Sequence[float], theirs: Sequence[float], aim: float | None, **more: Any
) -> Row:
    """How many times what the other side costs: at most the aim."""
    return _row(part, what, against, ratio(ours, theirs), "×", aim, False, ours, theirs, more)


def bare(
    part: str, what: str, ours: Sequence[float], aim: float | None, unit: str, *, at_least: bool = False, **more: Any
) -> Row:
    """A figure of its own: seconds, a slope, a recall."""
    return _row(part, what, "–", statistics.median(ours), unit, aim, at_least, ours, None, {"measured_in": unit, **more})


def _row(
    part: str,
    what: str,
    against: str,
    value: float,
    unit: str,
    aim: float | None,
    at_least: bool,
    ours: Sequence[float],
    theirs: Sequence[float] | None,
    more: Mapping[str, Any],
) -> Row:
    return Row(
        part=part,
        what=what,
        against=against,
        value=value,
        unit=unit,
        aim=aim,
        at_least=at_least,
        ours=statistics.median(ours),
        theirs=None if theirs is None else statistics.median(theirs),
        measured_in=more.get("measured_in", "s"),
        rounds=len(ours),
        note=more.get("note", ""),
    )


# ---- memory ----------------------------------------------------------------------------------------------------------------


def added_peak(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the call returns, its seconds, and the most resident bytes that it added while it ran (Linux)."""
    gc.collect()
    _give_back()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    started = time.perf_counter()
    result = work()
    took = time.perf_counter() - started
    return result, took, float(max(0, _status("VmHWM") - before))


def _give_back() -> None:
    """Hand freed memory back to the system, so that it cannot hide what is asked for next."""
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


def _status(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def in_child(module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON object that `python -m module ARGUMENTS` prints as its last line, in a process of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


# ---- the record ------------------------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Processor, cores, memory, system."""
    model = platform.processor() or platform.machine()
    memory = 0
    if Path("/proc/cpuinfo").is_file():
        models = [
            line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
        ]
        model = models[0] if models else model
        memory = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """The libraries on both sides of the comparisons."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def slope(sizes: Sequence[float], costs_of: Sequence[float]) -> float:
    """The exponent p of cost = c · size^p, by least squares on the logarithms."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(costs_of), 1)[0])


def show(value: float | None, unit: str) -> str:
    """A figure as a person reads it: 1.23 s, 45.6 ms, 123 MB, 2.1 ×."""
    if value is None:
        return "–"
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    if unit == "slope":
        return f"slope {value:.2f}"
    if unit == "×":
        return f"{value:,.0f} ×" if value >= 100 else f"{value:.1f} ×" if value >= 10 else f"{value:.2f} ×"
    return (f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}").rstrip()


def print_rows(rows: Iterable[Row]) -> None:
    """The table for the terminal, ratios first."""
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        aim = f"{sign} {show(row.aim, row.unit)}" if row.aim is not None else ""
        sides = show(row.ours, row.measured_in) + (f" : {show(row.theirs, row.measured_in)}" if row.theirs is not None else "")
        print(f"{show(row.value, row.unit):>12}  {aim:>13}  {row.verdict:<14}  {row.what}  [{row.against}]  {sides}", flush=True)
        if row.note:
            print(f"{'':>45}{row.note}", flush=True)
