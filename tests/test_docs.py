"""The pages under docs/ say what the code does: keys, names, options, examples, tables and links."""

from __future__ import annotations

import ast
import csv
import inspect
import itertools
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from conftest import ROOT
from pydantic import BaseModel
from test_layers import LAYERS

import harness
from harness import choice, decide, drift, inference, insight, languages, latency, propose, responses, space
from harness import config as config_module
from harness.blocks import Fields, Live, Scale
from harness.candidates import at_depth, merge_lists
from harness.commands import gate, import_cranfield, init, watch
from harness.commands.check import FEW_PROMPTS
from harness.commands.export import EXPORTS
from harness.commands.tune import describe_engine
from harness.config import Config, Range, parse_config
from harness.engines import ENGINES, HARNESS, Engine, NotTheSameError, convert, nearest_fusion
from harness.files import read_run
from harness.folder import SETTINGS
from harness.fusion import FUSIONS, Lines, fuse, order_keys, weighted_reciprocal
from harness.hybrid import Hybrid, find_columns
from harness.measures import ALIASES, MEASURES, Ranking, parse_measure, prepare_judgements, score_queries
from harness.parity import CASES, fixture_files, make_fixture
from harness.profiles import mean_curve, profile
from harness.types import Candidates, Conventions, Params, Qrels, RankedLists
from harness.values import Block
from harness.yamlfile import read_yaml

PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
RRF_K, WEIGHT = 60, 0.4  # those of the worked example


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one of any level (one # alone is a comment in an example)."""
    return re.split(rf"^#+ {re.escape(heading)}$", PAGES[page], flags=re.MULTILINE)[1].split("\n##")[0]


def tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of a text: one dict a row, by heading."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
        found.append([dict(zip(cells[0], row, strict=True)) for row in cells[2:]])
    return found


def model_keys(model: type[BaseModel], prefix: str = "") -> list[str]:
    """Every key of a block and of the blocks in it, dotted."""
    keys = []
    for name, field in model.model_fields.items():
        keys.append(prefix + name)
        for kind in get_args(field.annotation) or (field.annotation,):  # an optional block is a union with None
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                keys += model_keys(kind, f"{prefix}{name}.")
    return keys


def complete_example() -> list[str]:
    """The example, then blocks that stand in the place of its own."""
    return re.findall(r"^```yaml\n(.*?)^```$", section("config.md", "A complete example"), flags=re.DOTALL | re.MULTILINE)


def test_pages_are_plain_and_narrow() -> None:
    names = {"config.md", "measures.md", "fusion.md", "engines.md", "choice.md", "study-folder.md", "watch.md", "design.md"}
    assert set(PAGES) >= names | {"terminal.md", "start.md", "runs.md"}
    for name, text in PAGES.items():
        assert [line for line in text.splitlines() if len(line) > 120] == [], name
        assert "\t" not in text and text.endswith("\n"), name


# The config


@pytest.mark.parametrize("key", [*model_keys(Config), *Range.model_fields])
def test_every_key_of_the_config_is_explained(key: str) -> None:
    assert f"`{key}`" in PAGES["config.md"]


def test_no_block_of_the_config_is_left_out() -> None:
    everywhere = {
        name
        for model in vars(config_module).values()
        if isinstance(model, type) and issubclass(model, Block) and model is not Block
        for name in model.model_fields
    }
    assert everywhere <= {key.split(".")[-1] for key in model_keys(Config)} | set(Range.model_fields)


@pytest.mark.parametrize("key", [key for key in model_keys(Config) if key not in ("name", "objective", "search.space")])
def test_the_default_in_the_table_is_the_default(key: str) -> None:
    rows = [row for table in tables(PAGES["config.md"]) for row in table if row.get("key") == f"`{key}`"]
    assert len(rows) == 1
    shown = rows[0]["default"].strip("`")
    data: Any = parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}}).model_dump()
    for part in key.split("."):
        data = None if data is None else data[part]  # in a block that is not there
    for block, model in (("live.", Live), ("keyword.fields.", Fields), ("scale.", Scale)):  # which have defaults of their own
        if key.startswith(block):
            data = model.model_fields[key.removeprefix(block)].default
    if shown == "required" or isinstance(data, dict):
        return
    assert shown == ("null" if data is None else str(data).lower() if isinstance(data, bool) else str(data))


def test_the_complete_example_validates_and_names_every_key(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    lines: set[tuple[Any, ...]] = set()
    whole: dict[str, Any] = {}
    for text in complete_example():
        path.write_text(text, encoding="utf-8")
        document = read_yaml(path)
        whole = whole or document.value
        assert parse_config({**whole, **document.value}, document).name == "example"
        lines |= set(document.lines)
    for key in model_keys(Config):
        assert tuple(key.split(".")) in lines, f"the example lacks {key}"


def test_the_forms_of_guards_and_held_out_validate(tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    base = {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}}
    forms = {key: [b for b in blocks("config.md", "yaml")[:-1] if b.startswith(f"{key}:")] for key in ("guards", "held_out")}
    read: dict[str, list[Any]] = {"guards": [], "held_out": []}
    for key, texts in forms.items():
        for text in texts:
            path.write_text(text)
            read[key].append(getattr(parse_config({**base, **read_yaml(path).value}), key))
    assert read["guards"] == [{"Recall@20": 0.01, "MRR@10": 0.0}] * 2
    assert [type(value) for value in read["held_out"]] == [float, list, config_module.HeldOutFiles]


def test_the_number_rules_are_those_of_the_reader(tmp_path: Path) -> None:
    kinds = {"numbers": (int, float), "ten": int, "text": str, "true or false": bool, "null": type(None)}
    path = tmp_path / "value.yaml"
    for row in tables(section("config.md", "Numbers, text and quotes"))[0]:
        kind = next(kind for start, kind in kinds.items() if row["read as"].startswith(start))
        for written in re.findall(r"`([^`]+)`", row["written"]):
            path.write_text(f"key: {written}\n")
            value = read_yaml(path).value["key"]
            assert isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), written
            assert row["read as"] != "ten" or value == 10


def test_samplers_and_what_may_change_are_named() -> None:
    from harness.commands.tune import MAY_CHANGE

    for name in (*config_module.SAMPLERS, *config_module.REFUSED_SAMPLERS):
        assert f"`{name}`" in section("config.md", "Samplers")
    for key in (*MAY_CHANGE, "search.trials", "search.timeout", "semantic.device"):
        assert f"`{key}`" in section("config.md", "What makes it another question")


# Measures and fusions


def test_every_measure_is_explained() -> None:
    rows = tables(section("measures.md", "The measures"))[0]
    explained = {row["measure"].strip("`").split("@")[0]: row["may also be written"].strip("`") for row in rows}
    assert set(explained) == set(MEASURES)
    assert {short.split("@")[0]: name for name, short in explained.items() if short} == ALIASES


def test_every_fusion_is_explained() -> None:
    assert [row["fusion"].strip("`") for row in tables(section("fusion.md", "The fusions"))[0]] == list(FUSIONS)


def lists(scores: dict[str, float], names: str) -> RankedLists:
    order = sorted(scores, key=lambda name: (-scores[name], name))
    rows = np.asarray([[names.index(name) for name in order]], dtype=np.int32).reshape(1, -1)
    return RankedLists(rows, np.asarray([[scores[name] for name in order]], dtype=np.float64).reshape(1, -1))


def example() -> tuple[Candidates, str]:
    """The worked example's candidates, from the page's own scores, and its documents' names."""
    rows = tables(section("fusion.md", "Worked example"))[0]
    names = "".join(name for name in rows[0] if name != "list")
    keyword, semantic = ({name: float(row[name]) for name in names if row[name]} for row in rows)
    return merge_lists(lists(keyword, names), lists(semantic, names)), names


def order(lines: Lines, weight: float, names: str) -> str:
    keys = order_keys(lines, weight)[0]
    return " ".join(names[i] for i in np.argsort(-keys, kind="stable") if keys[i] > -np.inf)


def check_scores(row: dict[str, str], candidates: Candidates, names: str) -> None:
    lines = FUSIONS[row["fusion"].strip("`")](candidates, RRF_K)
    shown = [float(row[name]) for name in names]
    assert shown == pytest.approx(list(fuse(lines, WEIGHT)[0]), abs=5.1e-7), row
    assert row["order"] == order(lines, WEIGHT, names), row


def test_the_fused_scores_of_the_worked_example() -> None:
    candidates, names = example()
    table = tables(section("fusion.md", "Worked example"))[1]
    assert [row["fusion"].strip("`") for row in table] == list(FUSIONS)
    for row in table:
        check_scores(row, candidates, names)


def test_the_fused_scores_at_two_depths() -> None:
    candidates, names = example()
    table = tables(section("fusion.md", "Depth"))[0]
    assert [(row["fusion"].strip("`"), row["depth"]) for row in table] == [(name, d) for name in FUSIONS for d in ("3", "2")]
    for row in table:
        check_scores(row, at_depth(candidates, int(row["depth"])), names)


def test_the_orders_over_all_weights() -> None:
    candidates, names = example()
    lines = FUSIONS["minmax"](candidates, RRF_K)
    a, b = lines.keyword_end[0], lines.semantic_end[0]
    pairs = [(a[i] - a[j], b[i] - b[j]) for i in range(len(names)) for j in range(i)]
    crossings = sorted(x / (x - y) for x, y in pairs if x * y < 0)
    bounds = [0.0, *crossings, 1.0]
    expected = [(0.0, 0.0), *itertools.pairwise(bounds), (1.0, 1.0)]
    table = tables(section("fusion.md", "Worked example"))[2]
    for row, (low, high) in zip(table, expected, strict=True):
        assert (float(row["weight_from"]), float(row["weight_to"])) == pytest.approx((low, high), abs=5.1e-7)
        assert row["order"] == order(lines, (low + high) / 2, names)
    reciprocal = [f"1/{rank}" if rank > 1 else "1" for rank in (row["order"].split().index("c") + 1 for row in table)]
    flat = " ".join(section("fusion.md", "Worked example").split())
    assert f"the reciprocal rank is {', '.join(reciprocal)} from top to bottom" in flat
    assert f"at 0.5 the order is {order(lines, 0.5, names)}" in flat


@pytest.mark.parametrize("fusion", list(FUSIONS))
def test_the_odd_cases_of_each_fusion(fusion: str) -> None:
    row = next(r for r in tables(section("fusion.md", "The fusions"))[0] if r["fusion"] == f"`{fusion}`")
    other = {"a": 0.9, "z": 0.5}
    for heading, scores in (("equal scores", {"a": 2.0, "b": 2.0, "c": 2.0}), ("one document", {"a": 2.0})):
        lines = FUSIONS[fusion](merge_lists(lists(scores, "abcz"), lists(other, "abcz")), RRF_K)
        values = {"x": 2.0, "1 / √n": 1 / math.sqrt(len(scores)), "1 / (rrf_k + 1)": 1 / (RRF_K + 1)}
        if row[heading] == "by rank":
            expected = [1 / (RRF_K + rank) for rank in (1, 2, 3)]
        else:
            expected = [values[row[heading]] if row[heading] in values else float(row[heading])] * len(scores)
        assert list(lines.keyword_end[0][: len(scores)]) == pytest.approx(expected)
    lines = FUSIONS[fusion](merge_lists(lists({"a": 3.0, "b": 1.0}, "abz"), lists(other, "abz")), RRF_K)
    lowest = lines.keyword_end[0][:2].min()
    assert lines.keyword_end[0][2] == (lowest if row["missing"] == "the list's lowest end" else float(row["missing"]))


def test_the_rounding_example() -> None:
    w = 0.2
    sums = [(1 - w) * 0.1 + w * 0.5, (1 - w) * 0.2 + w * 0.1]
    assert sums[0] != sums[1] and all(repr(total) in section("fusion.md", "Rounding") for total in sums)


def test_the_constants_at_which_rounding_merges_ranks() -> None:
    text = section("fusion.md", "Rounding")
    names = [f"{i:03}" for i in range(100)]
    rows = RankedLists(np.arange(100, dtype=np.int32)[None, :], np.arange(100.0, 0.0, -1.0)[None, :])
    none = RankedLists(np.full((1, 1), -1, dtype=np.int32), np.full((1, 1), np.nan))
    candidates = merge_lists(rows, none)
    distinct = {k: len(set(fuse(FUSIONS["rrf"](candidates, k), 0.5)[0])) for k in (700_000, 1_000_000)}
    assert distinct == {700_000: len(names), 1_000_000: int(re.findall(r"(\d+) different scores", text)[0])}


# The engines


def overview() -> dict[str, dict[str, str]]:
    """The first table of the page, by engine."""
    return {row["`engine`"].strip("`"): row for row in tables(section("engines.md", "Rules of each engine"))[0]}


def fusion_rows(rules: Engine) -> list[dict[str, str]]:
    return tables(section("engines.md", rules.title))[0]


def test_the_engines_and_their_settings_are_those_of_the_table() -> None:
    shown = overview()
    assert list(shown) == list(ENGINES)
    for engine, rules in ENGINES.items():
        low, high = rules.rrf_k_range
        assert shown[engine] == {
            "`engine`": f"`{engine}`",
            "product": rules.title,
            "default `rrf_k`": str(rules.rrf_k),
            "`rrf_k` may be": str(low) if low == high else f"{low} to {high}",
            "`depth` is its": rules.depth_name,
            "at most": str(rules.most_depth),
            "at exactly 0 or 1": "one list" if rules.alone else "both lists",
            "ties": rules.ties,
        }
    assert all(f"`{engine}`" in section("config.md", "Top level") for engine in ENGINES)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engines_fusions_version_and_source_are_those_of_the_table(engine: str) -> None:
    rules = ENGINES[engine]
    rows = fusion_rows(rules)
    assert [row["fusion"].strip("`") for row in rows] == list(rules.fusions)
    text = " ".join(section("engines.md", rules.title).split())
    assert f"Version {rules.version}, read from {rules.source}." in text
    for row in rows:
        assert row["score"].endswith("no weights") is not rules.fusions[row["fusion"].strip("`")].weighted, row


@pytest.mark.parametrize(
    ("engine", "fusion"), [(engine, fusion) for engine, rules in ENGINES.items() for fusion in rules.fusions]
)
def test_the_odd_lists_of_each_engines_fusion(engine: str, fusion: str) -> None:
    rules = ENGINES[engine]
    row = next(row for row in fusion_rows(rules) if row["fusion"] == f"`{fusion}`")
    for scores in ({"a": 5.0, "b": 5.0, "c": 5.0}, {"a": 5.0}):
        candidates = merge_lists(lists(scores, "abc"), lists({}, "abc"))
        weight = 0.0 if rules.fusions[fusion].weighted else 0.5
        got = list(fuse(rules.fusions[fusion].lines(candidates, rules.rrf_k), weight)[0][: len(scores)])
        values = {"x": 5.0, "1 / √n": 1 / math.sqrt(len(scores))}
        if row["equal scores"] == "by rank":
            assert rules.fusions[fusion].by_rank and got == sorted(set(got), reverse=True)
        else:
            value = values.get(row["equal scores"])
            assert got == pytest.approx([float(row["equal scores"]) if value is None else value] * len(scores))
    # a document of the semantic list alone: its share where it gets 0 from the keyword list, else its whole score
    candidates = merge_lists(lists({"a": 3.0, "b": 1.0}, "abz"), lists({"z": 4.0, "a": 1.0}, "abz"))
    own = 0.25 if rules.fusions[fusion].weighted else 0.5
    lines = rules.fusions[fusion].lines(candidates, rules.rrf_k)
    at, alone = (fuse(lines, weight)[0][2] for weight in (own, 1.0))
    if lines.rank_constant is not None:
        assert row["missing"] == "0" and at == pytest.approx(1 / (1 / own + rules.rrf_k))
    elif not rules.fusions[fusion].weighted:
        assert row["missing"] == ("skipped" if "max" in rules.fusions[fusion].formula else "0")
    else:
        assert at == pytest.approx(alone if row["missing"] == "skipped" else own * alone)


def test_the_baselines_of_each_engine_are_those_of_the_table() -> None:
    shown = {row["`engine`"].strip("`"): row for row in tables(section("engines.md", "Baselines"))[0]}
    assert list(shown) == list(ENGINES)
    for engine, rules in ENGINES.items():
        names = [shown[engine][column].strip("`") for column in ("default `fusion`", "`equal`, at 0.5", "`rrf`, at 0.5")]
        assert names == [rules.default_fusion, rules.score_fusion, rules.rank_fusion]


def test_the_refused_fusions_are_those_that_an_engine_lacks() -> None:
    shown = {
        (row["`engine`"].strip("`"), own): row["nearest"].strip("`")
        for row in tables(section("engines.md", "What is refused"))[0]
        for own in re.findall(r"`([^`]+)`", row["refused"])
    }
    assert shown == {
        (engine, own): nearest_fusion(own, engine)
        for engine, rules in ENGINES.items()
        for own in HARNESS.fusions
        if own not in rules.fusions
    }
    text = section("engines.md", "What is refused")
    assert all(f"`{name}`" in text for rules in ENGINES.values() for name, rule in rules.fusions.items() if not rule.weighted)


def converted(params: Params, engine: str) -> Params | None:
    try:
        return convert(params, None, engine)[0]
    except NotTheSameError:
        return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fusion", HARNESS.fusions)
def test_the_table_of_conversions_agrees_with_convert(fusion: str, engine: str) -> None:
    rows = tables(section("engines.md", "From one engine to another"))[0]
    found = [row for row in rows if (row["own fusion"], row["`--to`"]) == (f"`{fusion}`", f"`{engine}`")]
    assert len(found) <= 1
    for weight, rrf_k in itertools.product((0.0, 0.3, 0.5, 1.0), (40, 59, 60)):
        wanted = None
        if found:
            row = found[0]
            holds = {"any": True, "0.5": weight == 0.5, "not 0 or 1": weight not in (0, 1)}[row["weight"]]
            if holds and row["`rrf_k`"] in ("", "any", "any, and is doubled", str(rrf_k)):
                wanted = row["becomes"].strip("`")
        got = converted(Params(semantic_weight=weight, fusion=fusion, rrf_k=rrf_k), engine)
        assert (got.fusion if got is not None else None) == wanted, (weight, rrf_k)
        if got is not None and fusion == "rrf":
            assert got.rrf_k == (2 * rrf_k if "doubled" in found[0]["`rrf_k`"] else rrf_k)


def test_qdrants_numbers_come_out_of_the_code() -> None:
    text = section("engines.md", "Qdrant's rank fusion")

    def score(ranks: tuple[int, ...], weight: float) -> float:
        return sum(float(weighted_reciprocal(np.asarray([rank], dtype=np.int32), weight, 1)[0]) for rank in ranks)

    for row in tables(text)[0]:
        weight = float(row["weights"].split()[0])
        a, b = score((1,), weight), score((2, 4), weight)
        assert row["A"].endswith(f"= {a:.3f}".replace("0.", ".")) and row["B"].endswith(f"= {b:.3f}".replace("0.", "."))
        assert row["first"] == ("A" if a > b else "B")

    one_two, two_one = (lists({"a": 2.0, "b": 1.0}, "ab"), lists({"b": 2.0, "a": 1.0}, "ab"))
    judged = Qrels(np.asarray([[0]], dtype=np.int32), np.ones((1, 1), dtype=np.int32))
    hybrid = Hybrid(merge_lists(one_two, two_one), judged, Conventions(), Params(depth=2), engine="qdrant")
    _, lines, columns = hybrid.setting(Params(fusion="rrf", rrf_k=20, depth=2))
    points = profile(lines, columns, hybrid.judgements, parse_measure("MRR")).points[1:-1]
    shown = re.search(r"cross at (\S+), (\S+) and (\S+)\. ", " ".join(text.split()))
    assert shown is not None and [float(number) for number in shown.groups()] == pytest.approx(list(points), abs=5.1e-7)


def test_every_target_and_setting_of_export_is_explained() -> None:
    text = section("engines.md", "Export")
    named = [name for row in tables(text)[0] for name in re.findall(r"`([^`]+)`", row["`--to`"])]
    assert sorted(named) == sorted(EXPORTS)
    assert all(f"`{setting}`" in text for setting in SETTINGS)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_files_of_a_fixture_and_how_to_run_it(engine: str) -> None:
    rules, text = ENGINES[engine], section("engines.md", "Parity")
    params = Params(fusion=rules.default_fusion, rrf_k=rules.rrf_k)
    fixture = make_fixture(params, engine)
    assert 1 <= len(fixture.queries) <= len(CASES)
    files = fixture_files(fixture, engine, "rank-profile x {\n}\n")
    assert all(f"`{name.split('/')[0]}{'/' * ('/' in name)}`" in text for name in files)
    row = next(row for row in tables(text)[1] if row["engine"] == f"`{engine}`")
    usage = re.search(r"python (check\.py[^\n;,]*)", files["check.py"])
    assert usage is not None
    wanted = usage[1].strip('" ').removesuffix(", such as")
    assert row["command"].strip("`") == wanted
    gives_none = re.search(r"\[\(.*, None\) for", files["check.py"]) is not None
    assert row["compares"] == ("order" if gives_none else "order and scores")


# Watch


def test_the_sizes_of_watch_are_those_of_the_code() -> None:
    text = " ".join(PAGES["watch.md"].split())
    assert f"flipped {drift.DRAWS} times" in text and f"deals the units out anew {drift.DRAWS} times" in text
    assert f"the {choice.CELLS} cells" in text and f"Up to {latency.MOST_PROMPTS} prompts" in text
    assert latency.ROUNDS == 5 and "the fastest of the five counts" in text
    assert f"more than {gate.SLOWER:g} times the recorded one" in text
    assert gate.LEAST_SLOWER == 0.001 and "more than a millisecond above it" in text
    assert gate.ON_NEW_PROMPTS == 3 and f"the three checks share {drift.LEVEL:g}" in text
    assert f"{100 * (1 - 2 * drift.LEVEL / gate.ON_NEW_PROMPTS):.1f} % ones" in text


def test_no_collection_of_the_table_alarms_more_often_than_the_level() -> None:
    block = next(block for block in blocks("watch.md", "console") if "false_alarms.py" in block)
    rows = [line.split() for line in block.splitlines()[3:]]
    assert rows and all(len(row) == 7 for row in rows)
    assert max(float(row[5]) for row in rows) <= 100 * drift.LEVEL


def test_every_check_and_key_of_watch_is_explained(study: Path) -> None:
    harness.evaluate(study / "config.yaml", weights=study / "weights.yaml")
    result = watch.watch(study).to_dict()
    explained = [row["check"].strip("`") for row in tables(section("watch.md", "What is asked"))[0]]
    assert [check["name"] for check in result["checks"]] == explained
    text = section("watch.md", "JSON and JUnit")
    named = {name for row in tables(text)[0] for name in re.findall(r"`([^`]+)`", row["key"])}
    assert set(result) == named
    numbers = {
        check: set(re.findall(r"`([^`]+)`", row["numbers"]))
        for row in tables(text)[1]
        for check in re.findall(r"`([^`]+)`", row["check"])
    }
    for check in result["checks"]:
        assert set(check) - {"name", "status", "message"} <= numbers[check["name"]], check
    assert {check["status"] for check in result["checks"]} <= set(re.findall(r"`([a-z]+)`", text))


# The choice


def test_the_profile_of_the_worked_example() -> None:
    candidates, names = example()
    judged = Qrels(np.asarray([[names.index("c")]], dtype=np.int32), np.ones((1, 1), dtype=np.int32))
    columns = find_columns(candidates.rows, judged.rows)
    lines = FUSIONS["minmax"](candidates, RRF_K)
    curve = mean_curve(profile(lines, columns, prepare_judgements(judged, Conventions()), parse_measure("MRR")))
    shown = [tuple(map(float, row.values())) for row in tables(section("choice.md", "The exact curve"))[0]]
    for row, computed in zip(shown, curve.rows(), strict=True):
        assert row == pytest.approx(computed, abs=5.1e-7)


def test_the_pull_of_the_page_is_that_of_the_formula() -> None:
    text = section("choice.md", "Step 3: as far as unseen prompts carry it")
    for row in tables(text)[0]:
        z = float(row["z"])
        assert row["pull"] == f"{z**2 / (1 + z**2):.2f}"
    assert "pull = z² / (1 + z²)" in text


def test_the_sizes_of_the_page_are_those_of_the_code() -> None:
    sizes = {row["what"]: int(row["value"]) for row in tables(section("choice.md", "Sizes"))[0]}
    assert sizes == {
        "cells of the weight": choice.CELLS,
        "resamples for the spread": choice.RESAMPLES,
        "folds": decide.FOLDS,
        "repeats of the folds": decide.REPEATS,
        "discrete settings to choose from, at most": decide.MOST_CHOICES,
        "values of one parameter among them, at most": space.MOST_VALUES,
        "discrete settings with exact optimum, at most": decide.MOST_EXACT,
        "visited settings with exact optimum beyond that": decide.MOST_VISITED,
        "differing units for a decision, at least": inference.FEWEST_DIFFERING,
        "sign flips": inference.FLIPS,
        "pairs in `to_judge.csv`, at most": insight.MOST_PAIRS,
    }
    labels = section("choice.md", "How many labels")
    assert all(f"{gain:g}" in labels for gain in insight.GAINS) and f"± {insight.PIN:g}" in labels


def comparison(low: float, high: float, differing: int = 100) -> inference.Comparison:
    return inference.Comparison((low + high) / 2, (low, high), 0.5, 50, 0, 50, differing, 100)


@pytest.mark.parametrize(
    ("found", "change", "decision"),
    [
        (comparison(0.01, 0.02, differing=9), 0.0, "undecided"),
        (comparison(-0.02, -0.01, differing=9), -1.0, "undecided"),
        (comparison(-0.02, -0.01), 0.0, "keep"),
        (comparison(0.01, 0.02), -0.011, "keep"),
        (comparison(0.01, 0.02), -0.01, "adopt"),
        (comparison(-0.01, 0.02), 0.0, "undecided"),
    ],
)
def test_the_decisions_are_those_of_the_table(
    monkeypatch: pytest.MonkeyPatch, found: inference.Comparison, change: float, decision: str
) -> None:
    decisions = [row["decision"].strip("`") for row in tables(section("choice.md", "The verdict"))[0]]
    assert decisions == ["undecided", "keep", "adopt", "undecided"]
    monkeypatch.setattr(decide, "compare", lambda *_: found)
    data = {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "guards": {"Recall@20": 0.01}}
    scores = np.full(100, 0.5)
    fitted = decide.CrossFit(scores, {"Recall@20": scores + change}, (), 5)
    units = np.arange(100, dtype=np.int32)
    verdict = decide.decide(fitted, 0.5, {"equal": scores}, "equal", {"Recall@20": scores}, parse_config(data), units)
    assert verdict.decision == decision


# Commands


def commands() -> list[tuple[str, list[str]]]:
    """Each command line of the pages as words, those in running text too; a line that ends with a backslash goes on."""
    found = []
    for name, text in PAGES.items():
        fenced = [line for block in blocks(name, "console") for line in block.replace("\\\n", " ").splitlines()]
        inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
        lines = [line.removeprefix("$ ") for line in fenced if line.startswith("$ ")]
        found += [(name, shlex.split(line)) for line in lines]
        found += [(name, shlex.split(line)) for line in inline if line.startswith("python -m harness ")]
    return found


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """The options of every command that the pages name, and of the program itself (""), from its `--help`."""
    named = {words[3] for _, words in commands() if words[:3] == ["python", "-m", "harness"]}
    known = {}
    for command in ["", *sorted(named)]:
        line = [sys.executable, "-m", "harness", *([command] if command else []), "--help"]
        answer = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert answer.returncode == 0, f"{command}: {answer.stderr}"
        known[command] = set(re.findall(r"--[a-z][a-z_-]*", answer.stdout))
    return known


def test_the_commands_and_options_exist(options: dict[str, set[str]]) -> None:
    seen = 0
    for page, words in commands():
        if words[:3] == ["python", "-m", "harness"]:
            used = {word.partition("=")[0] for word in words[4:] if word.startswith("--")}
            assert used <= options[words[3]], f"{page}: {shlex.join(words)}"
            seen += 1
        elif words[0] == "python" and words[1].startswith("parity-"):
            assert re.fullmatch(r"parity-(\w+)/check\.py", words[1]) and words[1][7:-9] in ENGINES, f"{page}: {shlex.join(words)}"
        elif words[0] == "python":
            script = (ROOT / words[1]).read_text(encoding="utf-8")
            assert all(f'"{word}"' in script for word in words[2:] if word.startswith("--")), f"{page}: {shlex.join(words)}"
        else:
            assert words[0] == "ir_measures", f"{page}: {shlex.join(words)}"
    assert seen >= 5


def test_options_in_running_text_exist(options: dict[str, set[str]]) -> None:
    foreign = {"--by_query"}  # of ir_measures
    known = foreign.union(*options.values())
    for page, text in PAGES.items():
        assert set(re.findall(r"`(--[a-z_-]+)", text)) <= known, page


@pytest.mark.parametrize("command", ["export", "watch", "import-run", "import-cranfield"])
def test_every_option_of_the_newer_commands_is_explained(command: str, options: dict[str, set[str]]) -> None:
    page = PAGES[{"export": "engines.md", "watch": "watch.md"}.get(command, "runs.md")]
    for option in options[command] - {"--help"}:
        assert f"`{option}" in page or (option == "--latency" and "`--no-latency`" in page), option


def test_the_python_examples_call_what_there_is() -> None:
    calls = [
        node
        for page in PAGES
        for block in blocks(page, "python")
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("harness.")
    ]
    assert calls
    for call in calls:
        function = getattr(harness, ast.unparse(call.func).removeprefix("harness."))
        inspect.signature(function).bind(*call.args, **{str(k.arg): k.value for k in call.keywords})


def test_the_ir_measures_command_prints_our_numbers(tmp_path: Path) -> None:
    words = next(words for _, words in commands() if words[0] == "ir_measures")
    runs = tmp_path / "studies" / "hybrid" / "runs"
    runs.mkdir(parents=True)
    (runs / "qrels.trec").write_text("q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 d 1\n")
    returned = {"q1": "bacx", "q2": "xya"}  # nothing for q3
    lines = [f"{q} Q0 {doc} {i} {1 / i} equal\n" for q, docs in returned.items() for i, doc in enumerate(docs, 1)]
    (runs / "equal.trec").write_text("".join(lines))
    tool = Path(sys.executable).with_name("ir_measures")
    answer = subprocess.run([str(tool), *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    printed = dict(line.split() for line in answer.stdout.splitlines())

    inf = np.inf
    judged = Qrels(  # the columns of q1 are a, b, c
        np.asarray([[0, 1, 2], [0, -1, -1], [3, -1, -1]], dtype=np.int32),
        np.asarray([[2, 0, 1], [1, 0, 0], [1, 0, 0]], dtype=np.int32),
    )
    ranking = Ranking(np.asarray([[2, 1, 3], [3, inf, inf], [inf, inf, inf]]), np.asarray([4, 3, 0], dtype=np.int32))
    judgements = prepare_judgements(judged, Conventions())
    assert set(printed) == {word for word in words if "@" in word or word in ("AP", "RR")}
    for name, value in printed.items():
        ours = score_queries(parse_measure(name), ranking, judgements).mean()
        assert float(value) == pytest.approx(ours, abs=5.1e-7), name


# Design, study folder, links


def test_the_layers_of_the_page_are_those_of_the_test() -> None:
    picture = re.findall(r"^```text\n(.*?)^```$", section("design.md", "Layers"), flags=re.DOTALL | re.MULTILINE)[0]
    assert [line.split() for line in picture.splitlines()] == LAYERS[::-1]


def test_every_package_home_is_named() -> None:
    for name in ("optuna", "rank_bm25", "sentence_transformers", "faiss", "pandas", "typer"):
        assert name in section("design.md", "Layers")


@pytest.fixture
def study(write_config: Callable[..., Path]) -> Path:
    """A study with everything that a config can ask for."""
    current = {"semantic_weight": 0.3, "top_k": 3}
    return harness.tune(write_config(current=current, guards={"Recall@3": 0.01}, held_out=["q11", "q12"])).folder


def keys_of(value: Any) -> set[str]:
    """The keys of nested JSON, those of lists of objects too; a group's, measure's or gain's name is none."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if not isinstance(value, dict):
        return set()
    inner = {key for item in value.values() for key in keys_of(item)}
    return inner | {key for key in value if re.fullmatch(r"[a-z_]+", key)}


def test_every_file_column_and_key_of_a_study_is_explained(study: Path) -> None:
    page = "study-folder.md"
    listed = {row["file"].strip("`") for row in tables(PAGES[page])[0]}
    assert listed == {path.name + "/" * path.is_dir() for path in study.iterdir()}
    for name in ("trials.csv", "per_query.csv", "profile.csv", "to_judge.csv"):
        with (study / name).open(encoding="utf-8", newline="") as file:
            columns = next(csv.reader(file))
        shown = re.findall(r"`([^`]+)`", " ".join(row["column"] for row in tables(section(page, name))[0]))
        missing = {column for column in columns if column not in shown and not re.match(r"(Precision|Recall)@\d", column)}
        assert not missing, f"{name}: {missing}"
    for path in (study / "runs").iterdir():
        assert f"`{path.name}`" in section(page, "runs/")

    summary = json.loads((study / "summary.json").read_text(encoding="utf-8"))
    text = section(page, "summary.json")
    top = {name for row in tables(text)[0] for name in re.findall(r"`([^`]+)`", row["key"])}
    assert set(summary) <= top and top - set(summary) == {"pareto", "engine", "indexes"}
    groups = summary["groups"].keys()
    parts = ("exact", "pick", "cross_fitted", "verdict", "held_out", "labels", "worst_losses", "groups", "group_weights", "holes")
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", text)))) | set(config_module.PARAM_NAMES)
    for part in parts:
        missing = keys_of(summary[part]) - named - set(groups)
        assert not missing, f"{part}: {missing}"


def test_every_key_of_the_collection_and_of_the_timings_is_explained(study: Path) -> None:
    summary = json.loads((study / "summary.json").read_text(encoding="utf-8"))
    text = section("study-folder.md", "summary.json")
    assert all(f"`{key}`" in text or f"`collection.{key}`" in text for key in ("queries", "queries_used", "queries_held_out"))
    assert {"queries", "queries_used", "queries_held_out", "left_out"} <= set(summary["collection"])

    timings = json.loads((study / "timings.json").read_text(encoding="utf-8"))
    text = section("study-folder.md", "timings.json")
    rows = {row["key"].strip("`"): row["holds"] for row in tables(text)[0]}
    assert {key for key, holds in rows.items() if not holds.startswith("after `evaluate`")} == set(timings)
    assert all(f"`{key}`" in text for key in (*timings["search"], *timings["index_bytes"]))
    assert all(stage in text for stage in timings["stages"])

    harness.evaluate(study / "config.yaml", weights=study / "weights.yaml")
    timings = json.loads((study / "timings.json").read_text(encoding="utf-8"))
    assert set(timings) == set(rows)
    assert all(f"`{key}`" in text for key in (*timings["search"], *timings["systems"], *timings["measured_on"]))


def test_every_key_of_the_engine_is_explained() -> None:
    text = section("study-folder.md", "summary.json")
    item = next(item for item in re.split(r"\n\* ", text) if item.startswith("`engine`:"))
    assert set(describe_engine("qdrant")) <= set(re.findall(r"`([^`]+)`", item))


def test_only_searched_parameters_have_a_column(write_config: Callable[..., Path]) -> None:
    space_ = {"semantic_weight": {"low": 0, "high": 1}, "fusion": ["minmax", "rrf"], "top_k": 3}
    folder = harness.tune(write_config(search={"trials": 2, "space": space_})).folder
    with (folder / "trials.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[:5] == ["number", "state", "semantic_weight", "fusion", "objective"]
    assert "What the space fixes has no column" in " ".join(section("study-folder.md", "trials.csv").split())


def test_every_key_of_a_weights_file_is_shown(study: Path, tmp_path: Path) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(blocks("study-folder.md", "yaml")[0])
    assert list(read_yaml(path).value) == list(read_yaml(study / "weights.yaml").value)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_links_between_pages_resolve() -> None:
    links = 0
    for name, text in PAGES.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = ROOT / "docs" / (file or name)
            assert path.is_file(), f"{name}: {target}"
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert not anchor or anchor in {slug(heading) for heading in headings}, f"{name}: {target}"
            links += 1
    assert links >= 10


def test_every_weights_example_is_a_weights_file(tmp_path: Path) -> None:
    data = {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}}
    path = tmp_path / "weights.yaml"
    path.write_text(blocks("study-folder.md", "yaml")[0])
    assert config_module.read_weights(path, parse_config(data)).semantic_weight == read_yaml(path).value["semantic_weight"]


# Runs


def test_the_importers_print_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "corpora", tmp_path / "corpora")
    shown = [block.partition("\n") for block in blocks("runs.md", "console")]
    imports = [(shlex.split(line.removeprefix("$ ")), output) for line, _, output in shown if " import-" in line]
    assert len(imports) == 3
    for words, output in imports:
        answer = subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert answer.stdout.split() == output.split(), words  # the page breaks long lines


class Engine9200(BaseHTTPRequestHandler):
    """As much of a search engine as the page's requests need: every prompt finds the same two documents."""

    def do_POST(self) -> None:
        """Answer _search and _msearch as the engines do; 400 for a body that they would refuse."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        many = self.path == "/handbook/_msearch"
        lines = [json.loads(line) for line in body.splitlines()]
        searches = lines[1::2] if many else lines
        fits = all(set(search) == {"size", "_source", "query"} and search["query"]["match"]["text"] for search in searches)
        fits &= not many or (all(options == {} for options in lines[::2]) and body.endswith("\n"))
        if not fits or self.headers["Content-Type"] != ("application/x-ndjson" if many else "application/json"):
            self.send_error(400)
            return
        hits = [{"_index": "handbook", "_id": doc, "_score": score} for doc, score in (("error-034", 2.5), ("ops-002", 1.25))]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        one = {"took": 1, "timed_out": False, "_shards": shards, "hits": {"max_score": 2.5, "hits": hits}}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"took": 1, "responses": [one for _ in searches]} if many else one, indent=1).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl") and shutil.which("bash")), reason="needs bash, jq and curl")
def test_the_requests_of_the_page_make_files_that_import_run_reads(tmp_path: Path) -> None:
    shutil.copy(ROOT / "corpora/samples/queries.jsonl", tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine9200)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        environment = {**os.environ, "URL": f"http://127.0.0.1:{server.server_port}", "no_proxy": "127.0.0.1"}
        for block in blocks("runs.md", "sh"):
            subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=tmp_path, env=environment, timeout=60, check=True)
    finally:
        server.shutdown()
        server.server_close()
    wanted = {f"error-0{i}": ["error-034", "ops-002"] for i in (1, 2, 3)}
    for name, queries in (("msearch.json", tmp_path / "queries.jsonl"), ("responses.jsonl", None)):
        harness.import_run(tmp_path / name, out=tmp_path / "out.trec", queries=queries)
        assert read_run(tmp_path / "out.trec") == wanted, name


def test_every_key_that_names_a_prompt_is_on_the_page_in_its_order() -> None:
    text = " ".join(section("runs.md", "Make the run: import-run").split())
    assert "is `query_id`; where that is missing `_id`, then `qid`, then `id`" in text
    assert responses.ID_KEYS == ("query_id", "_id", "qid", "id")
    refused = " ".join(section("runs.md", "What is refused").split())
    assert all(f"`{flag}`" in refused for flag in ("timed_out", "terminated_early", "_shards"))
    assert set(import_cranfield.PUBLISHED.values()) == {1400, 225, 1837}
    assert "codes 1, 2, 3, 4, 5 become grades 4, 3, 2, 1, 0" in " ".join(PAGES["runs.md"].split())
    assert [import_cranfield.GRADES[code] for code in (1, 2, 3, 4, 5, -1)] == [4, 3, 2, 1, 0, 0]


# Start


def test_every_note_of_check_is_in_the_table_and_nothing_else() -> None:
    source = "".join((ROOT / "harness" / name).read_text(encoding="utf-8") for name in ("commands/check.py", "prepare.py"))
    named = set(re.findall(r'Found\(\s*"([a-z_]+)"', source)) | set(re.findall(r'said\["([a-z_]+)"\]', source))
    named |= set(re.findall(r'Remark\(\s*"([a-z_]+)"', (ROOT / "harness/collection.py").read_text(encoding="utf-8")))
    shown = [row["note"] for row in tables(section("start.md", "The data: check"))[0]]
    assert sorted(name for cell in shown for name in re.findall(r"`([a-z_]+)`", cell)) == sorted(named)


def test_every_key_of_check_is_named(write_config: Callable[..., Path]) -> None:
    data = harness.check(write_config()).to_dict()
    text = section("start.md", "The data: check")
    keys = {*data, *data["notes"][0], "kind", "id", "where"}
    assert not {key for key in keys if f"`{key}`" not in text}
    assert f"below {FEW_PROMPTS} only" in " ".join(section("start.md", "What you need").split())


def test_the_shares_of_the_page_are_those_of_the_code() -> None:
    text = " ".join(section("start.md", "A config: init").split())
    assert f"if {languages.CJK_SHARE:.0%}".replace("%", " %") in text
    assert f"if {languages.ENOUGH:.0%}".replace("%", " %") in text
    assert f"if {propose.SINGLE_SHARE:.0%}".replace("%", " %") in text
    assert f"from {init.ENOUGH_TO_HOLD_OUT} independent prompts on" in text
    keys = {row["value"].strip("`") for row in tables(section("start.md", "A config: init"))[0]}
    assert {"keyword.analyzer", "objective", "search.space.top_k", "report_at"} <= keys


def test_init_and_check_print_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "corpora", tmp_path / "corpora")
    for block in blocks("start.md", "console"):
        line, _, shown = block.partition("\n")
        words = shlex.split(line.removeprefix("$ "))
        if words[3] in ("init", "check"):
            answer = subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=True)
            assert answer.stdout.split() == shown.split(), words  # the page breaks long lines
    excerpt = next(block for block in blocks("start.md", "yaml") if "top_k" in block)
    written = (tmp_path / "configs/handbook.yaml").read_text(encoding="utf-8")
    assert " ".join(excerpt.replace("#", " ").split()) in " ".join(written.replace("#", " ").split())
