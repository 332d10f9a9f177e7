"""The made-up study: what it holds, here in a small size; tests of pages get the large one from the fixture `big_study`."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

from conftest import load_benchmark

big = load_benchmark("big_report")


def read_lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def test_the_collection_is_as_large_as_asked_and_the_same_each_time(tmp_path: Path) -> None:
    size = big.Size(documents=998, prompts=300)
    once, again = (big.write_collection(tmp_path / name, size) for name in ("once", "again"))
    for name in once:
        assert Path(once[name]).read_bytes() == Path(again[name]).read_bytes()
    other = big.write_collection(tmp_path / "other", size, seed=8)
    assert Path(once["corpus"]).read_bytes() != Path(other["corpus"]).read_bytes()
    documents, prompts = read_lines(once["corpus"]), read_lines(once["queries"])
    assert (len(documents), len(prompts)) == (998, 300)
    assert set(Counter(prompt["group"] for prompt in prompts).values()) == {60}
    with Path(once["qrels"]).open(encoding="utf-8", newline="") as file:
        judged = Counter(row["query-id"] for row in csv.DictReader(file, delimiter="\t"))
    assert set(judged) == {prompt["_id"] for prompt in prompts}
    assert set(judged.values()) <= {3, 5}  # the last family lacks two documents


def test_a_study_of_any_size_is_made(tmp_path: Path) -> None:
    size = big.Size(documents=200, prompts=40, trials=15)
    study = big.make_study(tmp_path, size)
    summary = json.loads((study / "summary.json").read_text())
    assert (summary["collection"]["documents"], summary["collection"]["queries_used"]) == (200, 40)
    assert (summary["trials"]["COMPLETE"], set(summary["groups"])) == (15, set(big.MANNERS))
