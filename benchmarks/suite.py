"""Every benchmark, or some: a table on the terminal, and the same as JSON with the machine and the versions.

    python -m benchmarks.suite [PART …] [--out FILE] [--quick]

Parts: keyword, vectors, encoding, rates, trials, profile, growth, process. All of them take under half an hour on two cores.
A part replaces what the file holds of it and leaves the others. `--quick` takes small sizes and one round, to see that everything
runs. The JSON is read by `python -m benchmarks.table`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, Row, machine, print_rows, versions
from harness.files import write_text

PARTS = ("keyword", "vectors", "encoding", "rates", "trials", "profile", "growth", "process")
RESULTS = ROOT / "benchmarks/results"


def main() -> None:
    """Run the parts, print each table when it is there, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suite", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all without one")
    parser.add_argument("--out", type=Path, help="where the JSON is written; benchmarks/results/latest.json without it")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    place = machine()
    print(f"{place['processor']}, {place['cores']} cores, load {os.getloadavg()[0]:.2f}", flush=True)
    out = options.out or RESULTS / "latest.json"
    record = _known(out, place)
    for part in options.parts or PARTS:
        started = time.perf_counter()
        print(f"\n{part}", flush=True)
        found: list[Row] = importlib.import_module(f"benchmarks.parts.{part}").measure(quick=options.quick)
        print_rows(found)
        took = time.perf_counter() - started
        print(f"{part}: {took:.0f} s", flush=True)
        record["rows"] = [row for row in record["rows"] if row["part"] != part] + [row.to_dict() for row in found]
        record["seconds"][part], record["load"][part] = took, os.getloadavg()[0]
        record["quick"] = sorted({*record["quick"], part} if options.quick else {*record["quick"]} - {part})
        write_text(out, json.dumps(record, indent=1, ensure_ascii=False) + "\n")  # a later part may be interrupted
    missed = [row for row in record["rows"] if row["verdict"].startswith("off")]
    print(f"\n{len(record['rows'])} rows in {out}, {len(missed)} short of their aim")


def _known(path: Path, place: dict[str, Any]) -> dict[str, Any]:
    """What the file holds already of other parts, where it was measured on this machine with these versions; else nothing."""
    fresh = {"machine": place, "versions": versions(), "quick": [], "seconds": {}, "load": {}, "rows": []}
    if not path.is_file():
        return fresh
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if any(known.get(name) != fresh[name] for name in ("machine", "versions")):
        print(f"{path} is of another machine or of other versions: it is written anew", flush=True)
        return fresh
    return known


if __name__ == "__main__":
    main()
