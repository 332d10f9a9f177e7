"""The README's tables from a run's JSON: ratios first, the aim beside them, what falls short named.

python -m benchmarks.table benchmarks/results/latest.json            prints Markdown
python -m benchmarks.table RESULTS.json --write README.md            puts it between the two marks in a file
python -m benchmarks.table RESULTS.json --scale --write docs/scale.md    the other table, in the same way
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring import show

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
TITLES = {
    "keyword": "Keyword index",
    "vectors": "Vectors",
    "encoding": "Encoding",
    "rates": "What the machine does",
    "trials": "One trial",
    "profile": "The exact curve",
    "growth": "Growth",
    "process": "Whole processes",
}


def make_table(record: Mapping[str, Any]) -> str:
    """The machine, a table a part, and a list of what is short of its aim."""
    machine, versions = record["machine"], record["versions"]
    used = ", ".join(f"{name} {version}" for name, version in versions.items() if version != "not installed")
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GB;"
        f" Python {machine['python']}; {sum(record['seconds'].values()) / 60:.0f} minutes in all.",
        "",
    ]
    for part, title in TITLES.items():
        rows = [row for row in record["rows"] if row["part"] == part]
        if not rows:
            continue
        lines += [f"| {title} | beside | figure | aim | | ours | theirs |", "|---|---|---|---|---|---|---|"]
        lines += [_line(row) for row in rows]
        lines.append("")
    lines += [f"<sub>{used}</sub>", ""]
    if record["quick"]:
        lines += [f"Small sizes and one round, no measurement: {', '.join(record['quick'])}.", ""]
    short = [row for row in record["rows"] if row["verdict"].startswith("off")]
    if short:
        lines += ["Short of the aim:", ""]
        lines += [f"* {row['what']}, beside {row['against']}: {row['verdict']}" for row in short]
    else:
        lines.append("Nothing is short of its aim.")
    return "\n".join(lines).rstrip() + "\n"


def _line(row: Mapping[str, Any]) -> str:
    sign = "≥" if row["at_least"] else "≤"
    aim = f"{sign} {show(row['aim'], row['unit'])}" if row["aim"] is not None else ""
    what = row["what"] + (f" ({row['note']})" if row["note"] else "")
    ours = show(row["ours"], row["measured_in"]) if row["theirs"] is not None else ""
    theirs = show(row["theirs"], row["measured_in"]) if row["theirs"] is not None else ""
    cells = [what, row["against"], f"**{show(row['value'], row['unit'])}**", aim, row["verdict"], ours, theirs]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


SIZES = (1_000_000, 10_000_000, 1_000_000_000)
READING, INDEXING = "reading and checking JSON lines", "from texts to the keyword index, english, all cores"
ENCODING, FAST = "encoding, all-MiniLM-L6-v2, torch, all cores", "encoding, all-MiniLM-L6-v2, openvino-bfloat16, all cores"
VECTOR_BYTES = 384 * 4


def make_scale(record: Mapping[str, Any]) -> str:
    """What so many documents take on this machine, from its measured rates, in proportion; `docs/scale.md` shows it."""
    rates = {row["what"]: row["value"] for row in record["rows"] if row["part"] == "rates"}
    found = [(row["what"], row["ours"]) for row in record["rows"] if row["part"] in ("keyword", "vectors")]
    keyword = next(ours for what, ours in found if what.startswith("1,000,000 documents: 1,000 prompts"))
    memory = next(ours for what, ours in found if what == "1,000,000 documents: memory added by the build")
    vectors = next(ours for what, ours in found if what.startswith("1,000,000 × 384, 1,000 prompts"))
    steps: list[tuple[str, Callable[[float], str]]] = [
        ("reading and checking the corpus", lambda n: _time(n / rates[READING])),
        ("keyword index from texts, `english`", lambda n: _time(n / rates[INDEXING])),
        ("encoding, `torch`", lambda n: _time(n / rates[ENCODING])),
        ("encoding, `openvino-bfloat16`", lambda n: _time(n / rates[FAST]) if FAST in rates else "–"),
        ("keyword lists of 1,000 prompts", lambda n: _time(keyword * n / 1e6)),
        ("exact semantic lists of 1,000 prompts", lambda n: _time(vectors * n / 1e6)),
        ("memory: building the keyword index", lambda n: _size(memory * n / 1e6)),
        ("disk: vectors of 384 numbers", lambda n: _size(VECTOR_BYTES * n)),
        ("trials, curve and verdict", lambda _n: "the same"),
    ]
    heads = ["1 million", "10 million", "1 billion"]
    lines = ["| step | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    lines += [f"| {what} | " + " | ".join(cost(n) for n in SIZES) + " |" for what, cost in steps]
    machine = record["machine"]
    return "\n".join([f"{machine['processor']}, {machine['cores']} cores:", "", *lines]) + "\n"


def _time(seconds: float) -> str:
    for unit, name in ((86400 * 365, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.0f} seconds"


def _size(count: float) -> str:
    return f"{count / 1e12:,.1f} TB" if count >= 1e12 else f"{count / 1e9:,.1f} GB"


def write_between(path: Path, table: str) -> None:
    """Replace what stands between the marks of this file; ValueError where they are not there."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} must hold the marks {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")


def main() -> None:
    """Print the table, or put it into a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--scale", action="store_true", help="what 1 million to 1 billion documents would take instead")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table between the marks of this file")
    options = parser.parse_args()
    record = json.loads(options.results.read_text(encoding="utf-8"))
    table = make_scale(record) if options.scale else make_table(record)
    write_between(options.write, table) if options.write else print(table, end="")


if __name__ == "__main__":
    main()
