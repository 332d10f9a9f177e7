"""`export`: what converts to what, what each engine is handed, what is refused, and the parity fixture. No engine is needed."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache as remember
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cli import run
from harness.commands.tune import tune
from harness.engines import ENGINES, NotTheSameError, convert, rules_of
from harness.exports import EXPORTS, Setting
from harness.parity import Fixture, fixture_files, fuse_lists, make_fixture
from harness.types import Params

Ranked = list[tuple[str, float]]
EVERY_ENGINE: list[str | None] = [None, *ENGINES]
RULES = [(engine, fusion) for engine in EVERY_ENGINE for fusion in rules_of(engine).fusions]
PYTHON = ("weaviate", "qdrant", "llamaindex", "langchain", "haystack")
JSON = ("opensearch", "elasticsearch", "azure")
MARKS = dict.fromkeys(PYTHON, "# ") | {"vespa": "# ", "pgvector": "-- "}


class Tuner:
    """Small studies over the garden, each tuned once; a call returns the study's folder."""

    def __init__(self, folder: Path, garden: dict[str, str], cache: Path) -> None:
        self.folder, self.garden, self.cache = folder, garden, cache
        self.made: dict[str, Path] = {}

    def __call__(self, engine: str | None, fusion: str | None = None, **changes: Any) -> Path:
        key = repr((engine, fusion, changes))
        if key not in self.made:
            self.made[key] = self.tune(f"study{len(self.made)}", engine, fusion, changes)
        return self.made[key]

    def tune(self, name: str, engine: str | None, fusion: str | None, changes: Mapping[str, Any]) -> Path:
        rules = rules_of(engine)
        space: dict[str, Any] = {"top_k": {"low": 2, "high": 8}}
        data: dict[str, Any] = {"name": name, "seed": 7, "collection": self.garden, "keyword": {"analyzer": "simple"}}
        data |= {"depth": 10, "objective": "MAP@5", "report_at": [1, 3, 5], "cache": str(self.cache)}
        if engine is not None:
            data["engine"] = engine
        if fusion is None:
            space["fusion"] = [n for n, rule in rules.fusions.items() if rule.weighted and n not in ("theoretical", "none")]
        else:
            data["fusion"] = fusion
        if fusion is None or rules.fusions[fusion].weighted:
            space["semantic_weight"] = {"low": 0.0, "high": 1.0}
        if fusion is None and rules.rrf_k_range[0] < rules.rrf_k_range[1]:
            space["rrf_k"] = {"low": 1, "high": 100, "log": True}
        data["search"] = {"trials": 6, "space": space}
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(data | dict(changes), sort_keys=False))
        with contextlib.chdir(self.folder):
            tune(path)
        return self.folder / "studies" / name


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Tuner:
    return Tuner(tmp_path_factory.mktemp("studies"), garden, cache)


def make_setting(engine: str | None, study: str = "study", **values: Any) -> Setting:
    """A setting under the engine's rules; its first fusion and default constant unless given."""
    rules = rules_of(engine)
    fusion = values.get("fusion", rules.default_fusion)
    weight = 0.3 if rules.fusions[fusion].weighted else 0.5
    filled = {"fusion": fusion, "rrf_k": rules.rrf_k, "depth": 40, "top_k": 7, "semantic_weight": weight} | values
    return Setting(study, Params(**filled), engine, "BM25", "the cosine of a model", 384)


def read_params(folder: Path, setting: str = "recommended") -> dict[str, Any]:
    """A setting's numbers, straight from the study folder's files."""
    if setting == "recommended":
        return yaml.safe_load((folder / "weights.yaml").read_text())
    return json.loads((folder / "summary.json").read_text())[setting]["params"]


def disagree(first: Ranked, second: Ranked) -> bool:
    """Whether two fused lists differ in their documents, or in the order of two that either tells apart by more than noise."""
    if {doc for doc, _ in first} != {doc for doc, _ in second}:
        return True
    docs = sorted(doc for doc, _ in first)
    pairs = []
    for ranking in (first, second):
        scores = np.array([dict(ranking)[doc] for doc in docs])
        apart = scores[:, None] - scores[None, :]
        pairs.append(
            (np.sign(apart), np.abs(apart) > max(1e-9 * np.abs(scores).max(initial=0.0), 4e-12))
        )  # rounded to 12 decimals
    (sign, clear), (other_sign, other_clear) = pairs
    return bool(((clear | other_clear) & (sign != other_sign)).any())


# ---- what converts to what ------------------------------------------------------------------------------------------

# The rules that are one formula, up to a factor, at every weight between 0 and 1 (shared/fusion.md).
SAME_FORMULA = [
    {(None, "minmax"), ("weaviate", "relativeScoreFusion")},
    {(None, "none"), ("haystack", "merge")},  # not Elasticsearch's none: a cosine is (1 + cosine) / 2 there
    {
        *((None, "rrf"), ("elasticsearch", "rrf"), ("weaviate", "rankedFusion"), ("vespa", "reciprocal_rank")),
        *(("langchain", "rrf"), ("haystack", "reciprocal_rank_fusion"), ("azure", "rrf"), ("pgvector", "rrf")),
    },
]
SAME_AT_EQUAL_WEIGHTS = [
    {(None, "dbsf"), ("qdrant", "dbsf")},
    SAME_FORMULA[2] | {("llamaindex", "reciprocal_rerank")},
]
FIXED_CONSTANT = {"weaviate": 59, "llamaindex": 59, "haystack": 60, "azure": 60}
ALONE_AT_THE_ENDS = {None, "weaviate", "azure"}
FEWEST_DEPTH = {"weaviate": 100}  # each side of its hybrid query fetches so many
BY_RANK = {*SAME_AT_EQUAL_WEIGHTS[1], ("qdrant", "rrf"), ("opensearch", "rrf")}


def expect_conversion(source: str | None, params: Params, target: str | None) -> tuple[str, int | None] | None:
    """Fusion and constant (None: of no account) under the target, from the tables above; None where there is none."""
    rule, k, even = (source, params.fusion), params.rrf_k, params.semantic_weight == 0.5
    if params.semantic_weight in (0, 1) and (source in ALONE_AT_THE_ENDS) != (target in ALONE_AT_THE_ENDS):
        return None
    if params.depth < FEWEST_DEPTH.get(target or "", 1):
        return None
    reciprocal = SAME_AT_EQUAL_WEIGHTS[1]
    found: list[tuple[str, int | None]] = []
    for fusion in rules_of(target).fusions:
        other = (target, fusion)
        if any({rule, other} <= same for same in [*SAME_FORMULA, *(SAME_AT_EQUAL_WEIGHTS if even else [])]):
            found.append((fusion, k if other in BY_RANK else None))
        elif even and rule in reciprocal and other == ("qdrant", "rrf"):
            found.append((fusion, 2 * k))
        elif even and rule == ("qdrant", "rrf") and other in reciprocal and k % 2 == 0:
            found.append((fusion, k // 2))
    found = [(f, c) for f, c in found if c is None or target not in FIXED_CONSTANT or c == FIXED_CONSTANT[target]]
    assert len(found) <= 1
    return found[0] if found else None


def constants_of(engine: str | None) -> list[int]:
    low, high = rules_of(engine).rrf_k_range
    return [k for k in (1, 7, 30, 59, 60, 61, 118, 120) if low <= k <= high]


@pytest.mark.parametrize(("source", "fusion"), RULES)
def test_a_setting_converts_exactly_where_the_formulas_are_the_same(source: str | None, fusion: str) -> None:
    weighted = rules_of(source).fusions[fusion].weighted
    for weight in (0.0, 0.3, 0.5, 0.5000001, 1.0) if weighted else (0.5,):
        for k in constants_of(source):
            for depth, target in itertools.product((25, 100), EVERY_ENGINE):
                params = Params(weight, 4, fusion, k, depth, 1.1, 0.6)
                if target == source:
                    assert convert(params, source, target) == (params, [])
                    continue
                expected = expect_conversion(source, params, target)
                if expected is None:
                    with pytest.raises(NotTheSameError):
                        convert(params, source, target)
                    continue
                found, notes = convert(params, source, target)
                name, constant = expected
                assert found == replace(params, fusion=name, rrf_k=found.rrf_k)
                assert constant is None or found.rrf_k == constant
                assert notes[0].startswith(f"tuned under {fusion} of {rules_of(source).title}")


@pytest.mark.parametrize(
    ("fusion", "weight", "rrf_k", "targets"),
    [
        ("rrf", 0.3, 60, {"elasticsearch", "langchain", "haystack", "azure", "vespa", "pgvector"}),
        ("rrf", 0.3, 59, {"elasticsearch", "langchain", "weaviate", "vespa", "pgvector"}),
        ("rrf", 0.3, 10, {"elasticsearch", "langchain", "vespa", "pgvector"}),
        ("rrf", 0.5, 59, {"elasticsearch", "langchain", "weaviate", "vespa", "pgvector", "llamaindex", "qdrant"}),
        ("rrf", 0.5, 60, {"elasticsearch", "langchain", "haystack", "azure", "vespa", "pgvector", "qdrant"}),
        ("rrf", 1.0, 60, {"azure"}),
        ("rrf", 0.0, 59, {"weaviate"}),
        ("minmax", 0.3, 60, {"weaviate"}),
        ("minmax", 1.0, 60, {"weaviate"}),
        ("none", 0.3, 60, {"haystack"}),
        ("none", 0.0, 60, set()),
        ("dbsf", 0.5, 60, {"qdrant"}),
        ("dbsf", 0.3, 60, set()),
        ("theoretical", 0.5, 60, set()),
        ("zscore", 0.5, 60, set()),
        ("l2", 0.5, 60, set()),
    ],
)
def test_where_the_harnesss_own_rules_can_run(fusion: str, weight: float, rrf_k: int, targets: set[str]) -> None:
    found = set()
    for target in ENGINES:
        with contextlib.suppress(NotTheSameError):
            convert(Params(weight, fusion=fusion, rrf_k=rrf_k), None, target)
            found.add(target)
    assert found == targets


def test_equal_weights_on_qdrant_have_twice_the_constant() -> None:
    found, _ = convert(Params(0.5, fusion="rrf", rrf_k=60), None, "qdrant")
    assert (found.fusion, found.rrf_k) == ("rrf", 120)
    found, _ = convert(Params(0.5, fusion="rrf", rrf_k=120), "qdrant", "haystack")
    assert (found.fusion, found.rrf_k) == ("reciprocal_rank_fusion", 60)


@pytest.mark.parametrize(
    ("source", "target", "values", "says"),
    [
        (None, "weaviate", {"fusion": "rrf", "rrf_k": 60}, ["rrf_k", "59", "got 60"]),
        (None, "azure", {"fusion": "rrf", "rrf_k": 59}, ["rrf_k", "60", "got 59"]),
        (None, "opensearch", {"fusion": "rrf"}, ["OpenSearch", "rounded to 10 decimals"]),
        (None, "weaviate", {"fusion": "minmax", "depth": 99}, ["Weaviate", "at least 100", "99"]),
        (None, "elasticsearch", {"fusion": "none"}, ["(1 + cosine) / 2", "Elasticsearch"]),
        ("elasticsearch", "haystack", {"fusion": "none"}, ["(1 + cosine) / 2", "Haystack"]),
        (None, "elasticsearch", {"fusion": "rrf", "depth": 10_001}, ["depth", "10000", "rank_window_size"]),
        (None, "elasticsearch", {"fusion": "rrf", "depth": 5, "top_k": 6}, ["top_k", "rank_window_size", "got 6 at depth 5"]),
        (None, "elasticsearch", {"fusion": "rrf", "semantic_weight": 0.0}, ["exactly 0", "the harness", "one list alone"]),
        ("azure", "langchain", {"fusion": "rrf", "semantic_weight": 1.0}, ["exactly 1", "Azure AI Search", "one list alone"]),
        ("langchain", "azure", {"fusion": "rrf", "semantic_weight": 1.0}, ["exactly 1", "Azure AI Search", "LangChain"]),
        ("qdrant", "langchain", {"fusion": "rrf", "rrf_k": 61}, ["rrf", "absolute"]),
    ],
)
def test_why_a_setting_does_not_convert_is_said(source: str | None, target: str, values: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(NotTheSameError) as caught:
        convert(Params(**values), source, target)
    assert all(word in str(caught.value) for word in says)


def test_it_is_said_where_equal_scores_may_stand_otherwise() -> None:
    for source, target in [(None, "elasticsearch"), (None, "langchain"), ("langchain", "pgvector"), ("vespa", "pgvector")]:
        fusion = rules_of(source).rank_fusion
        assert any("equal score" in note for note in convert(Params(0.3, fusion=fusion), source, target)[1])
    for source, target in [(None, "pgvector"), ("langchain", "haystack")]:
        fusion = rules_of(source).rank_fusion
        assert not any("equal score" in note for note in convert(Params(0.3, fusion=fusion), source, target)[1])


# ---- the order is the same wherever convert allows ------------------------------------------------------------------

DOCS = [f"d{i}" for i in range(9)]
SCORES = st.one_of(
    st.integers(-20, 100).map(lambda n: n / 10),
    st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1e-7, 0.5, 0.5 + 1e-7]),
    st.floats(-1, 1).map(float),
)
LISTS = st.dictionaries(st.sampled_from(DOCS), SCORES, max_size=7)


class Pair(NamedTuple):
    source: str | None
    params: Params
    target: str | None


def try_convert(pair: Pair) -> Params | None:
    try:
        return convert(pair.params, pair.source, pair.target)[0]
    except NotTheSameError:
        return None


@remember
def convertible() -> dict[float, list[Pair]]:
    """Every pair that converts, by a weight at which it does; .3 stands for all but 0, .5 and 1."""
    return {
        weight: [
            pair
            for source, fusion in RULES
            if rules_of(source).fusions[fusion].weighted or weight == 0.5
            for k in constants_of(source)
            for target in EVERY_ENGINE
            if target != source and try_convert(pair := Pair(source, Params(weight, fusion=fusion, rrf_k=k), target)) is not None
        ]
        for weight in (0.0, 0.3, 0.5, 1.0)
    }


@given(st.data(), LISTS, LISTS)
def test_what_converts_orders_every_list_alike(
    data: st.DataObject, keyword: dict[str, float], semantic: dict[str, float]
) -> None:
    weight = data.draw(st.sampled_from([0.3, 0.5, 0.0, 1.0]))
    pair = data.draw(st.sampled_from(convertible()[weight]))
    if weight == 0.3:
        weight = data.draw(st.floats(0.001, 0.999))
        pair = pair._replace(params=replace(pair.params, semantic_weight=weight))
    found = try_convert(pair)
    assert found is not None
    here, there = (fuse_lists(keyword, semantic, *rules) for rules in ((pair.params, pair.source), (found, pair.target)))
    for ranking in (here, there):
        scores = [score for _, score in ranking]
        assert scores == sorted(scores, reverse=True)
    assert not disagree(here, there)


# ---- and for everything else there are lists that two rules order differently -------------------------------------------


def draw_list(rng: np.random.Generator) -> dict[str, float]:
    """Few documents; constant, tiny or negative scores too, since rules of one kind differ there alone."""
    size = int(rng.choice([0, 1, 2, 4, 6], p=[0.04, 0.16, 0.2, 0.3, 0.3]))
    scores = {
        "plain": rng.integers(1, 100, size) / 10,
        "signed": rng.integers(-50, 100, size) / 10,
        "constant": np.full(size, rng.integers(-10, 11) / 10),
        "tiny range": 1 + rng.permutation(size) * 1e-8,
        "tiny norm": rng.permutation(np.arange(1, size + 1)) * 1e-8,
    }[rng.choice(["plain", "signed", "constant", "tiny range", "tiny norm"])]
    return dict(zip(rng.choice(DOCS, size, replace=False).tolist(), scores.tolist(), strict=True))


def fuse_as(rule: tuple[str | None, Params], keyword: Mapping[str, float], semantic: Mapping[str, float]) -> Ranked:
    """The fused list where the semantic scores are cosines, which Lucene's engines score as (1 + cosine) / 2."""
    engine, params = rule
    halved = engine in ("opensearch", "elasticsearch")
    return fuse_lists(keyword, {doc: (1 + x) / 2 if halved else x for doc, x in semantic.items()}, params, engine)


def rule_params(engine: str | None, fusion: str, weight: float, rrf_k: int) -> Params:
    """The fusion at this constant, or at the nearest that the engine has."""
    low, high = rules_of(engine).rrf_k_range
    return Params(weight, fusion=fusion, rrf_k=min(max(rrf_k, low), high))


def rank_scores(engine: str | None, params: Params, keyword: np.ndarray, semantic: np.ndarray) -> np.ndarray:
    """The fused score of the document with these ranks, counted from 1; by the engine's formula, up to a factor."""
    w, k = params.semantic_weight, params.rrf_k
    if (engine, params.fusion) == ("qdrant", "rrf"):
        return 1 / (keyword / (1 - w) + k) + 1 / (semantic / w + k)
    if (engine, params.fusion) == ("llamaindex", "reciprocal_rerank"):
        w = 0.5
    ends = [1 / (k + ranks) for ranks in (keyword, semantic)]
    if (engine, params.fusion) == ("opensearch", "rrf"):
        ends = [np.floor(end * 1e10 + 0.5) / 1e10 for end in ends]
    return (1 - w) * ends[0] + w * ends[1]


def find_rank_lists(first: tuple[str | None, Params], second: tuple[str | None, Params]) -> tuple[dict[str, float], ...] | None:
    """Two lists in which the rules order two documents differently, found among all pairs of ranks; None where there is none."""
    ranks = np.arange(1, 401)
    keyword, semantic = (grid.ravel() for grid in np.meshgrid(ranks, ranks))
    ours, theirs = (rank_scores(*rule, keyword, semantic) for rule in (first, second))
    order = np.argsort(-ours, kind="stable")
    gained, lost = -np.diff(ours[order]), np.diff(theirs[order])
    apart = (keyword[order][1:] != keyword[order][:-1]) & (semantic[order][1:] != semantic[order][:-1])
    clear = np.where(apart, np.minimum(gained, lost), -np.inf)
    place = int(np.argmax(clear))
    if clear[place] <= 0:
        return None
    turned = order[place : place + 2]
    lists = []
    for side, taken in (("k", keyword[turned]), ("s", semantic[turned])):
        held = {int(rank): doc for doc, rank in zip(("a", "b"), taken, strict=True)}
        lists.append({held.get(rank, f"{side}{rank}"): float(1000 - rank) for rank in range(1, int(taken.max()) + 1)})
    return tuple(lists)


@pytest.mark.parametrize("weight", [0.3, 0.5])
def test_what_does_not_convert_is_ordered_differently_somewhere(weight: float) -> None:
    """For each refused pair of rules, at the constant 60 or the nearest to it, lists are found that they order differently.

    Weights of exactly 0 and 1 are left out: there every rule that returns one list alone gives that list's own order, so
    minmax at 0 could run on Azure, and is refused all the same.
    """
    rng = np.random.default_rng(5)
    unresolved = set()
    rules = [(e, rule_params(e, f, weight, 60)) for e, f in RULES if rules_of(e).fusions[f].weighted or weight == 0.5]
    targets = [(e, rule_params(e, f, weight, 60)) for e, f in RULES]
    for source, params in rules:
        for target, other in targets:
            if target != source and try_convert(Pair(source, params, target)) is None:
                unresolved.add(((source, params), (target, other)))
    n_refused = len(unresolved)
    assert n_refused > 500
    for first, second in [*unresolved]:
        if rules_of(first[0]).fusions[first[1].fusion].by_rank and rules_of(second[0]).fusions[second[1].fusion].by_rank:
            lists = find_rank_lists(first, second)
            if lists is not None and disagree(fuse_as(first, *lists), fuse_as(second, *lists)):
                unresolved.remove((first, second))
    for _ in range(1500):
        if not unresolved:
            break
        keyword, semantic = draw_list(rng), draw_list(rng)
        wanted = {rule for pair in unresolved for rule in pair}
        fused = {rule: fuse_as(rule, keyword, semantic) for rule in wanted}
        unresolved = {(a, b) for a, b in unresolved if not disagree(fused[a], fused[b])}
    assert sorted(f"{a} {p.fusion} {p.rrf_k} → {b} {q.fusion} {q.rrf_k}" for (a, p), (b, q) in unresolved) == []


@pytest.mark.parametrize("weight", [0.5, 0.3])
def test_a_constant_that_does_not_convert_orders_differently(weight: float) -> None:
    """Rank rules whose constants differ by little: 60 against 59, and a half of an odd constant of Qdrant's."""
    for source, target in [((None, 60), ("weaviate", 59)), (("langchain", 59), ("azure", 60)), (("qdrant", 61), (None, 30))]:
        first, second = ((e, rule_params(e, rules_of(e).rank_fusion, weight, k)) for e, k in (source, target))
        assert try_convert(Pair(*first, second[0])) is None
        lists = find_rank_lists(first, second)
        assert lists is not None
        assert disagree(fuse_as(first, *lists), fuse_as(second, *lists))


def test_at_the_ends_an_engine_that_returns_one_list_alone_returns_other_documents() -> None:
    lists = {"a": 3.0, "b": 2.0}, {"b": 0.9, "c": 0.8}
    for weight in (0.0, 1.0):
        here = fuse_lists(*lists, Params(weight, fusion="rrf"), None)
        there = fuse_lists(*lists, Params(weight, fusion="rrf"), "elasticsearch")
        assert len(here) == 2
        assert len(there) == 3
        assert disagree(here, there)


# ---- what is printed for a tuned study ------------------------------------------------------------------------------


def print_export(capsys: pytest.CaptureFixture[str], folder: Path, to: str, *more: str) -> str:
    capsys.readouterr()
    assert run(["export", str(folder), "--to", to, *more]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith("\n")
    return out


def only_object(text: str) -> dict[str, Any]:
    """The one JSON object that the text is, strictly."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    value = json.loads(text, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_prints_what_was_tuned_under_its_rules(
    engine: str, tuned: Tuner, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tuned(engine)
    params = read_params(folder)
    text = print_export(capsys, folder, engine)
    assert text == print_export(capsys, folder, engine)
    if engine in JSON:
        notes = only_object(text)["notes"]
        assert all(isinstance(note, str) and "\n" not in note for note in notes)
        said = "\n".join(notes)
    else:
        said = "".join(line for line in text.splitlines(keepends=True) if line.startswith(MARKS[engine]))
    assert f"from the study '{folder.name}': fusion {params['fusion']}, semantic_weight {params['semantic_weight']!r}" in said
    assert f"top_k {params['top_k']}" in said
    assert f"depth 10 is {ENGINES[engine].depth_name}: the weight belongs to it" in said
    assert f"rules of {ENGINES[engine].title} {ENGINES[engine].version}" in said
    assert "BM25 (okapi, k1 1.5, b 0.75, analyzer simple)" in said
    assert "the cosine of all-MiniLM-L6-v2" in said
    assert "setting called recommended (verdict: " in said
    if engine in PYTHON:
        compile(text.encode(), "export.py", "exec")


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_json_and_yaml_are_the_plain_setting_and_the_same(
    engine: str | None, tuned: Tuner, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tuned(engine)
    params = read_params(folder)
    plain = only_object(print_export(capsys, folder, "json"))
    assert yaml.safe_load(print_export(capsys, folder, "yaml")) == plain
    by_rank = rules_of(engine).fusions[params["fusion"]].by_rank
    assert list(plain) == [
        *("study", "engine", "semantic_weight", "keyword_weight", "top_k", "fusion"),
        *(["rrf_k"] if by_rank else []),
        *("depth", "k1", "b", "formula", "notes"),
    ]
    assert {key: plain[key] for key in params if key in plain} == {key: v for key, v in params.items() if key in plain}
    assert (plain["study"], plain["engine"]) == (folder.name, engine)
    assert plain["keyword_weight"] == 1 - params["semantic_weight"]
    assert plain["formula"] == rules_of(engine).fusions[params["fusion"]].formula


@pytest.mark.parametrize("weight", [0.0, 1e-7, 5e-5, 0.1, 1 / 3, 0.9999999, 1.0])
def test_yaml_and_json_are_the_same_at_every_weight(weight: float) -> None:
    setting = make_setting(None, semantic_weight=weight)
    assert yaml.safe_load(EXPORTS["yaml"](setting)) == json.loads(EXPORTS["json"](setting))


@pytest.fixture(scope="module")
def decided(tuned: Tuner) -> Path:
    """A study whose three settings differ: it recommends what runs today."""
    current = {"semantic_weight": 0.25, "fusion": "rrf", "rrf_k": 41, "top_k": 6}
    folder = tuned(None, current=current)
    settings = [read_params(folder, name) for name in ("recommended", "pick", "best_trial")]
    assert len({(params["semantic_weight"], params["top_k"], params["fusion"]) for params in settings}) == 3
    return folder


@pytest.mark.parametrize("setting", ["recommended", "pick", "best_trial"])
def test_the_three_settings_are_those_of_the_study_folder(
    setting: str, decided: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = read_params(decided, setting)
    plain = only_object(print_export(capsys, decided, "json", "--setting", setting))
    for key in ("semantic_weight", "top_k", "fusion", "depth", "k1", "b"):
        assert plain[key] == params[key]
    assert plain.get("rrf_k", params["rrf_k"]) == params["rrf_k"]
    verdict = " (verdict: " if setting == "recommended" else ""
    assert any(note.startswith(f"this is the setting called {setting}{verdict}") for note in plain["notes"])
    if setting == "recommended":
        assert plain == only_object(print_export(capsys, decided, "json"))
        assert plain["rrf_k"] == 41


def test_a_study_goes_by_its_name_too(decided: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(decided.parents[1])
    by_folder = print_export(capsys, decided, "json")
    assert run(["export", decided.name, "--to", "json"]) == 0
    assert capsys.readouterr().out == by_folder


@pytest.mark.parametrize("target", ["elasticsearch", "langchain", "vespa", "pgvector"])
def test_a_setting_of_the_harnesss_own_rules_is_exported_where_it_converts(
    target: str, decided: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = print_export(capsys, decided, target)
    assert "tuned under rrf of the harness, which orders every list as" in text
    assert "41" in text
    assert ("equal score" in text) == (target != "pgvector")


# ---- each engine's words --------------------------------------------------------------------------------------------

OPENSEARCH_SCORES = [name for name in ENGINES["opensearch"].fusions if name != "rrf"]


@pytest.mark.parametrize("fusion", ENGINES["opensearch"].fusions)
def test_opensearch_gets_a_pipeline_and_a_hybrid_query(fusion: str) -> None:
    data = only_object(EXPORTS["opensearch"](make_setting("opensearch", fusion=fusion, rrf_k=17)))
    assert set(data) == {"search_pipeline", "query", "notes"}
    assert set(data["search_pipeline"]) == {"description", "phase_results_processors"}
    (processor,) = data["search_pipeline"]["phase_results_processors"]
    weights = {"weights": [0.7, 0.3]}
    technique, _, mean = fusion.partition("+")
    if fusion == "rrf":
        expected = {"score-ranker-processor": {"combination": {"technique": "rrf", "rank_constant": 17, "parameters": weights}}}
    else:
        combination = {"technique": mean or "arithmetic_mean", "parameters": weights}
        expected = {"normalization-processor": {"normalization": {"technique": technique}, "combination": combination}}
    assert processor == expected
    assert set(data["query"]) == {"hybrid"}
    assert set(data["query"]["hybrid"]) == {"pagination_depth", "queries"}
    assert data["query"]["hybrid"]["pagination_depth"] == 40
    keyword, semantic = data["query"]["hybrid"]["queries"]
    assert set(keyword) == {"match"}
    assert semantic["knn"]["embedding"]["k"] == 40


@pytest.mark.parametrize("fusion", ENGINES["elasticsearch"].fusions)
def test_elasticsearch_gets_a_retriever(fusion: str) -> None:
    data = only_object(EXPORTS["elasticsearch"](make_setting("elasticsearch", fusion=fusion, rrf_k=17)))
    assert set(data) == {"retriever", "size", "notes"}
    assert data["size"] == 7
    assert set(data["retriever"]) == {"rrf" if fusion == "rrf" else "linear"}
    (body,) = data["retriever"].values()
    assert set(body) == {"retrievers", "rank_window_size"} | ({"rank_constant"} if fusion == "rrf" else set())
    assert body["rank_window_size"] == 40
    assert body.get("rank_constant", 17) == 17
    keyword, semantic = body["retrievers"]
    assert (keyword["weight"], semantic["weight"]) == (0.7, 0.3)
    assert set(keyword["retriever"]) == {"standard"}
    assert set(semantic["retriever"]) == {"knn"}
    assert semantic["retriever"]["knn"]["k"] == 40 <= semantic["retriever"]["knn"]["num_candidates"]
    for entry in (keyword, semantic):
        assert entry.get("normalizer") == (None if fusion == "rrf" else fusion)


@given(LISTS, LISTS, st.floats(0.001, 0.999))
@example({"d0": 2.0, "d1": 1.0}, {"d1": 2.0, "d2": 1.0}, 0.5)
def test_azures_weight_of_one_side_orders_as_both_weights_do(
    keyword: dict[str, float], semantic: dict[str, float], weight: float
) -> None:
    data = json.loads(EXPORTS["azure"](make_setting("azure", semantic_weight=weight)))
    (vector,) = data["vectorQueries"]
    scores: dict[str, float] = {}
    for scored, share in ((keyword, 1.0), (semantic, vector["weight"])):
        for rank, doc in enumerate(sorted(scored, key=lambda d: (-scored[d], d)), 1):
            scores[doc] = scores.get(doc, 0.0) + share / (60 + rank)
    azures = sorted(scores.items(), key=lambda hit: -hit[1])
    assert not disagree(azures, fuse_lists(keyword, semantic, Params(weight, fusion="rrf"), "azure"))


def test_azure_gets_k_the_text_recall_and_a_weight_that_one_side_alone_does_not_need() -> None:
    data = json.loads(EXPORTS["azure"](make_setting("azure")))
    assert data["top"] == 7
    assert data["search"] == "QUERY_TEXT"
    assert data["hybridSearch"] == {"maxTextRecallSize": 40}
    assert (data["vectorQueries"][0]["k"], data["vectorQueries"][0]["weight"]) == (40, 0.3 / 0.7)
    keyword = json.loads(EXPORTS["azure"](make_setting("azure", semantic_weight=0.0)))
    assert "vectorQueries" not in keyword
    assert keyword["search"] == "QUERY_TEXT"
    semantic = json.loads(EXPORTS["azure"](make_setting("azure", semantic_weight=1.0)))
    assert "search" not in semantic
    assert "weight" not in semantic["vectorQueries"][0]


def find_call(text: str, name: str) -> ast.Call:
    """The one call of this function or method."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (call,) = [c for c in calls if (c.func.attr if isinstance(c.func, ast.Attribute) else getattr(c.func, "id", "")) == name]
    return call


def keywords_of(call: ast.Call) -> dict[str, Any]:
    """Keyword arguments; the literal ones as values, names as they are written."""
    found = {}
    for keyword in call.keywords:
        assert keyword.arg is not None
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            found[keyword.arg] = ast.unparse(keyword.value)
    return found


def test_langchain_gets_an_ensemble_with_the_keyword_retriever_first() -> None:
    text = EXPORTS["langchain"](make_setting("langchain", rrf_k=17))
    arguments = keywords_of(find_call(text, "EnsembleRetriever"))
    assert arguments == {"retrievers": "[keyword, semantic]", "weights": [0.7, 0.3], "c": 17, "id_key": "id"}
    assert "k=40" in text


@pytest.mark.parametrize("fusion", ENGINES["llamaindex"].fusions)
def test_llamaindex_gets_its_mode_and_weights_only_where_it_has_them(fusion: str) -> None:
    text = EXPORTS["llamaindex"](make_setting("llamaindex", fusion=fusion))
    call = find_call(text, "QueryFusionRetriever")
    assert [ast.unparse(argument) for argument in call.args] == ["[keyword, semantic]"]
    arguments = keywords_of(call)
    assert arguments.get("retriever_weights") == (None if fusion == "reciprocal_rerank" else [0.7, 0.3])
    assert (arguments["mode"], arguments["num_queries"], arguments["similarity_top_k"]) == (fusion, 1, 7)
    assert "similarity_top_k=40" in text


@pytest.mark.parametrize("fusion", ENGINES["haystack"].fusions)
def test_haystack_gets_its_join_mode_and_weights_only_where_it_has_them(fusion: str) -> None:
    text = EXPORTS["haystack"](make_setting("haystack", fusion=fusion))
    arguments = keywords_of(find_call(text, "DocumentJoiner"))
    weighted = {} if fusion == "distribution_based_rank_fusion" else {"weights": [0.7, 0.3]}
    assert arguments == {"join_mode": fusion, "top_k": 7, **weighted}
    assert "top_k=40" in text


@pytest.mark.parametrize(("fusion", "kind"), [("relativeScoreFusion", "RELATIVE_SCORE"), ("rankedFusion", "RANKED")])
@pytest.mark.parametrize(("depth", "limit"), [(40, 7), (100, 7), (150, 150)])
def test_weaviate_gets_alpha_and_a_limit_that_makes_the_depth(fusion: str, kind: str, depth: int, limit: int) -> None:
    text = EXPORTS["weaviate"](make_setting("weaviate", fusion=fusion, depth=depth))
    arguments = keywords_of(find_call(text, "hybrid"))
    expected = {"query": "text", "vector": "vector", "alpha": 0.3, "fusion_type": f"HybridFusion.{kind}", "limit": limit}
    assert arguments == expected
    assert "objects[:7]" in text
    assert f"depth {depth} is limit" in text
    assert ("longer than the ones that were tuned" in text) == (depth < 100)


@pytest.mark.parametrize("fusion", ["rrf", "dbsf"])
def test_qdrant_gets_two_prefetches_and_its_constant_is_one_more(fusion: str) -> None:
    text = EXPORTS["qdrant"](make_setting("qdrant", fusion=fusion, rrf_k=60))
    prefetches = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and "Prefetch" in ast.unparse(node.func)
    ]
    assert [keywords_of(call) for call in prefetches] == [
        {"query": "keyword", "using": "keyword", "limit": 40},
        {"query": "semantic", "using": "semantic", "limit": 40},
    ]
    if fusion == "rrf":
        assert keywords_of(find_call(text, "Rrf")) == {"k": 61, "weights": [0.7, 0.3]}
    else:
        assert keywords_of(find_call(text, "FusionQuery")) == {"fusion": "models.Fusion.DBSF"}
    assert keywords_of(find_call(text, "query_points"))["limit"] == 7


@pytest.mark.parametrize("fusion", ENGINES["vespa"].fusions)
def test_vespa_gets_a_rank_profile(fusion: str) -> None:
    text = EXPORTS["vespa"](make_setting("vespa", fusion=fusion, rrf_k=17))
    constant = ", 17" if fusion == "reciprocal_rank" else ""
    sides = [f"{fusion}({feature}{constant})" for feature in ("bm25(text)", "closeness(field, embedding)")]
    assert f"expression: (1 - query(w)) * {sides[0]} + query(w) * {sides[1]}\n" in text
    assert "query(w) double: 0.3\n" in text
    assert "rerank-count: 40\n" in text
    assert "tensor<float>(x[384])" in text
    code = text[text.index("rank-profile") :]
    assert code.count("{") == code.count("}")


def test_pgvector_gets_both_limits_and_both_weights() -> None:
    text = EXPORTS["pgvector"](make_setting("pgvector", rrf_k=17))
    assert re.findall(r"LIMIT (\d+)", text) == ["40", "40", "7"]
    assert "0.7::double precision / (17 + k.rank)" in text
    assert "0.3::double precision / (17 + s.rank)" in text
    assert text.index("keyword AS (") < text.index("semantic AS (")


# ---- what is refused ------------------------------------------------------------------------------------------------


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every path under a folder with its bytes (None for a folder)."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def workplace(tmp_path: Path, decided: Path, tuned: Tuner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with copies of a study (`study`) and of one of two objectives (`front`)."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(decided, tmp_path / "studies" / "study")
    shutil.copytree(tuned(None, objective=["MAP@5", "Precision@5"]), tmp_path / "studies" / "front")
    return tmp_path


@pytest.fixture
def refuse(workplace: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run an export that must be refused for the user's input, with nothing written; the one line on stderr."""

    def answer(*arguments: str) -> str:
        before = snapshot(workplace)
        code = run(["export", *arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert code == 2
        assert out == ""
        assert snapshot(workplace) == before
        (line,) = err.splitlines()
        return line

    return answer


def test_an_unknown_engine_is_refused_with_all_that_there_are(refuse: Callable[..., str]) -> None:
    for name in ("solr", "", "OpenSearch", "None"):
        line = refuse("study", "--to", name)
        assert line.startswith("--to: ")
        assert repr(name) in line
        assert all(known in line for known in EXPORTS)


def test_an_unknown_setting_is_refused(refuse: Callable[..., str]) -> None:
    line = refuse("study", "--to", "json", "--setting", "best")
    assert line.startswith("--setting: ")
    assert all(name in line for name in ("recommended", "pick", "best_trial", "'best'"))


def test_an_unknown_study_is_refused_with_those_that_there_are(refuse: Callable[..., str]) -> None:
    line = refuse("stduy", "--to", "json")
    assert line.startswith("stduy: ")
    assert "front, study" in line


def test_a_folder_that_is_no_study_and_a_file_are_refused(workplace: Path, refuse: Callable[..., str]) -> None:
    (workplace / "letters").mkdir()
    (workplace / "letters" / "a.txt").write_text("dear")
    (workplace / "diary.txt").write_text("dear")
    line = refuse("letters", "--to", "json")
    assert line.startswith("letters: ")
    assert "no config.yaml and no summary.json" in line
    line = refuse("diary.txt", "--to", "json")
    assert line.startswith("diary.txt: ")
    assert "got a file" in line


def test_a_study_of_two_objectives_has_no_single_setting(refuse: Callable[..., str]) -> None:
    for setting in ("recommended", "pick", "best_trial"):
        line = refuse("front", "--to", "json", "--setting", setting)
        assert line.startswith("studies/front: ")
        assert "two objectives" in line


def test_an_unfinished_study_is_refused(workplace: Path, refuse: Callable[..., str]) -> None:
    (workplace / "studies" / "study" / "summary.json").unlink()
    line = refuse("study", "--to", "json")
    assert line.startswith("studies/study: ")
    assert "no summary.json" in line
    assert "run tune" in line


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"systems": []}', "[" * 100_000, "1" * 5000, b'{"systems": {}, "caf\xe9": 1}'],
    ids=["empty", "half", "list", "null", "no systems", "systems a list", "deep", "digits", "not utf-8"],
)
def test_a_damaged_summary_is_refused(content: str | bytes, workplace: Path, refuse: Callable[..., str]) -> None:
    path = workplace / "studies" / "study" / "summary.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refuse("study", "--to", "json").startswith("studies/study/summary.json:")


@pytest.mark.parametrize("dimension", [None, "many", [384], 1e999, float("nan"), "drop", 0, -384, 3.5, True])
def test_a_summary_with_a_wrong_dimension_is_refused(dimension: Any, workplace: Path, refuse: Callable[..., str]) -> None:
    path = workplace / "studies" / "study" / "summary.json"
    summary = json.loads(path.read_text())
    summary["index"]["semantic"]["dimension"] = None if dimension == "drop" else dimension
    if dimension == "drop":
        del summary["index"]["semantic"]["dimension"]
    path.write_text(json.dumps(summary))
    line = refuse("study", "--to", "pgvector")
    assert line.startswith("studies/study/summary.json: ")
    assert "index.semantic.dimension" in line


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"pick": None}, "pick.params"),
        ({"pick": {"params": []}}, "pick.params"),
        ({"pick": {"params": {"semantic_weight": 1.5}}}, "pick.params.semantic_weight"),
        ({"pick": {"params": {"semantic_weight": float("nan")}}}, "pick.params.semantic_weight"),
        ({"pick": {"params": {"semantic_weight": "0.5"}}}, "pick.params.semantic_weight"),
        ({"pick": {"params": {"fusion": "rankedFusion"}}}, "pick.params.fusion"),
        ({"pick": {"params": {"fusion": "'); DROP TABLE documents; --"}}}, "pick.params.fusion"),
        ({"pick": {"params": {"top_k": 0}}}, "pick.params.top_k"),
        ({"pick": {"params": {"top_k": [3]}}}, "pick.params.top_k"),
        ({"pick": {"params": {"depth": 2.5}}}, "pick.params.depth"),
        ({"pick": {"params": {"rrf_k": "1"}}}, "pick.params.rrf_k"),
    ],
)
def test_a_setting_in_the_summary_that_is_none_is_refused(
    change: dict[str, Any], named: str, workplace: Path, refuse: Callable[..., str]
) -> None:
    path = workplace / "studies" / "study" / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    line = refuse("study", "--to", "json", "--setting", "pick")
    assert line.startswith("studies/study/summary.json: ")
    assert named in line


@pytest.mark.parametrize(
    "content",
    [
        *("", "- .5\n", "semantic_weight: .nan\n", "semantic_wieght: .5\n", "top_k: !!python/name:os.system ''\n", "a: [\n"),
        *("fusion: rankedFusion\n", 'fusion: "x\'); import os #"\n', "variant: plus\n", b"fusion: \xe9\n", None),
    ],
)
def test_damaged_weights_are_refused(content: str | bytes | None, workplace: Path, refuse: Callable[..., str]) -> None:
    path = workplace / "studies" / "study" / "weights.yaml"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refuse("study", "--to", "json").startswith("studies/study/weights.yaml")


def test_a_damaged_config_is_refused(workplace: Path, refuse: Callable[..., str]) -> None:
    path = workplace / "studies" / "study" / "config.yaml"
    for content in ("", "name: [", "name: ../../x\ncollection: {corpus: a, queries: b, qrels: c}\n"):
        path.write_text(content)
        assert refuse("study", "--to", "json").startswith("studies/study/config.yaml")


@pytest.mark.parametrize("to", ["weaviate", "azure", "haystack", "llamaindex", "opensearch", "qdrant"])
@pytest.mark.parametrize("parity", [[], ["--parity"]])
def test_a_setting_that_cannot_be_converted_says_what_to_run(to: str, parity: list[str], refuse: Callable[..., str]) -> None:
    """The study recommends rrf with the constant 41 at the weight .25."""
    line = refuse("study", "--to", to, *parity)
    assert line.startswith("studies/study: ")
    assert ENGINES[to].title in line
    assert f"`engine: {to}`" in line
    name = yaml.safe_load(Path("studies/study/config.yaml").read_text())["name"]
    assert f"tune with --name {name}-{to}" in line


def test_a_fixture_is_not_written_among_other_files(workplace: Path, refuse: Callable[..., str]) -> None:
    (workplace / "mine").mkdir()
    (workplace / "mine" / "check.py").write_text("print('mine')")
    (workplace / "file").write_text("mine")
    line = refuse("study", "mine", "--to", "pgvector", "--parity")
    assert line.startswith("mine: ")
    assert "other files" in line
    line = refuse("study", "file", "--to", "pgvector", "--parity")
    assert line.startswith("file: ")
    assert "got a file" in line


def test_a_folder_without_parity_and_parity_without_an_engine_are_refused(refuse: Callable[..., str]) -> None:
    line = refuse("study", "there", "--to", "pgvector")
    assert line.startswith("there: ")
    assert "--parity" in line
    for plain in ("json", "yaml"):
        assert refuse("study", "--to", plain, "--parity").startswith("--parity: ")


@pytest.mark.parametrize("arguments", [["study"], [], ["study", "a", "b", "--to", "json"], ["study", "--to"]])
def test_a_wrong_call_is_refused_and_points_to_the_help(arguments: list[str], refuse: Callable[..., str]) -> None:
    assert "--help" in refuse(*arguments)


# ---- nothing from a study folder leaves its comment -----------------------------------------------------------------

HOSTILE = [
    "m\nimport os; os.system('touch marker')\n",
    "m\r\nimport os\r",
    "\"\"\"\n'''\n*/ $$;\nDROP TABLE documents; --\n$$",
    "m\x0b\x0c\x1c\x85\u2028\u2029import os",
    "m\n}\nrank-profile other {\n",
    'm"\nsemantic_weight: 1.0\nnotes: []\n- "',
    "m\\\nimport os",
    "# -*- coding: utf-7 -*-",
]


def code_of(engine: str, text: str) -> str:
    """What is not the comment at the top; each line above it must be one."""
    lines = re.split(r"\r\n|[\n\r\x0b\x0c\x1c\x85\u2028\u2029]", text)
    starts = {"vespa": "rank-profile", "pgvector": "CREATE OR REPLACE"}.get(engine, ("from ", "import "))
    first = next(i for i, line in enumerate(lines) if line.startswith(starts))
    for line in lines[:first]:
        assert line == "" or line.startswith(MARKS[engine].strip())
    return "\n".join(lines[first:])


@pytest.mark.parametrize("model", HOSTILE)
@pytest.mark.parametrize("engine", [*ENGINES, "json", "yaml"])
def test_a_models_name_cannot_leave_its_comment(
    engine: str, model: str, tuned: Tuner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tuned(engine if engine in ENGINES else None)
    clean = print_export(capsys, source, engine)
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["semantic"]["model"] = model
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    text = print_export(capsys, folder, engine)
    assert all(character == "\n" or character.isprintable() for character in text)
    if engine in JSON or engine in ("json", "yaml"):
        read = yaml.safe_load if engine == "yaml" else only_object
        found, wanted = read(text), read(clean)
        assert len(found.pop("notes")) == len(wanted.pop("notes"))
        assert found == wanted
    else:
        assert code_of(engine, text) == code_of(engine, clean)
    if engine in PYTHON:
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(clean))
        assert ast.dump(ast.parse(text.encode())) == ast.dump(ast.parse(clean))
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("engine", PYTHON)
@pytest.mark.parametrize("name", ["coding", "encoding", "my-coding"])
def test_a_studys_name_is_no_encoding_declaration(engine: str, name: str) -> None:
    """Python takes `coding: NAME` in a comment of the first two lines for the file's encoding."""
    compile(EXPORTS[engine](make_setting(engine, study=name)).encode(), "export.py", "exec")


# ---- the parity fixture ---------------------------------------------------------------------------------------------

EVERY_RULE = [(engine, fusion) for engine, fusion in RULES if engine is not None]


@remember
def fixture_of(engine: str, fusion: str, weight: float, depth: int) -> Fixture:
    return make_fixture(Params(weight, 5, fusion, ENGINES[engine].rrf_k, depth), engine)


def weight_of(engine: str, fusion: str) -> float:
    return 0.3 if ENGINES[engine].fusions[fusion].weighted else 0.5


def assert_told_apart(orders: Mapping[str, list[dict[str, Any]]]) -> None:
    """Neighbours are equal, or further apart than `compare` takes for equal and single precision can tell."""
    for order in orders.values():
        scores = [entry["score"] for entry in order]
        for before, after in itertools.pairwise(scores):
            if before != after:
                assert before - after > 1e-5 * max(abs(scores[0]), 1e-9)
                assert np.float32(before) > np.float32(after)


@pytest.mark.parametrize(("engine", "fusion"), EVERY_RULE)
def test_the_fixture_is_what_the_harness_orders(engine: str, fusion: str) -> None:
    weight = weight_of(engine, fusion)
    fixture = fixture_of(engine, fusion, weight, 10)
    assert fixture.expected["engine"] == engine
    assert {query["id"] for query in fixture.queries} == set(fixture.expected["queries"])
    assert_told_apart(fixture.expected["queries"])
    params = Params(weight, 5, fusion, ENGINES[engine].rrf_k, 10)
    for query in fixture.queries:
        held = [d for d in fixture.documents if d["query_id"] == query["id"]]
        lists = [{d["id"]: d[side] for d in held if d[side] is not None} for side in ("keyword", "semantic")]
        assert all(len(scored) <= 10 for scored in lists)
        expected = [(entry["id"], entry["score"]) for entry in fixture.expected["queries"][query["id"]]]
        assert expected == fuse_lists(*lists, params, engine)
        for document in held:  # an engine that takes no scores from outside finds the same lists
            words = document["text"].split()
            assert len(words) == 16
            tf = words.count(query["text"])
            assert (document["keyword"] is None) == (tf == 0)
            assert document["keyword"] == (pytest.approx(tf * 2.2 / (tf + 1.2)) if tf else None)
            vector = document["vector"]
            assert (document["semantic"] is None) == (vector is None)
            if vector is not None:
                assert np.hypot(*vector) == pytest.approx(1)
                assert np.dot(vector, query["vector"]) == pytest.approx(document["semantic"])


@pytest.mark.parametrize(("engine", "fusion"), EVERY_RULE)
def test_at_depth_3_no_list_is_longer_and_scores_are_apart(engine: str, fusion: str) -> None:
    fixture = fixture_of(engine, fusion, weight_of(engine, fusion), 3)
    for query in fixture.queries:
        for side in ("keyword", "semantic"):
            held = [d for d in fixture.documents if d["query_id"] == query["id"] and d[side] is not None]
            assert len(held) <= 3
    assert_told_apart(fixture.expected["queries"])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("engine", ["weaviate", "azure", "opensearch", "langchain"])
def test_a_fixture_is_made_at_the_ends_and_at_equal_weights(engine: str, weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores cannot be helped there, so fewer tries are made."""
    monkeypatch.setattr("harness.parity.TRIES", 50)
    fixture = make_fixture(Params(weight, 5, ENGINES[engine].rank_fusion, ENGINES[engine].rrf_k, 10), engine)
    assert fixture.queries
    assert_told_apart(fixture.expected["queries"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fixture_is_the_same_bytes_twice(engine: str, tuned: Tuner, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "two"):  # an older fixture is written over
        assert run(["export", str(tuned(engine)), str(tmp_path / name), "--to", engine, "--parity"]) == 0
        assert f"run python {tmp_path / name}/check.py" in capsys.readouterr().err
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")
    names = {path.name for path in (tmp_path / "one").iterdir()}
    suffix = {"opensearch": "json", "elasticsearch": "json", "azure": "json", "vespa": "sd", "pgvector": "sql"}.get(engine, "py")
    extra = {"application"} if engine == "vespa" else set()
    assert names == {"documents.jsonl", "queries.jsonl", "expected.json", f"export.{suffix}", "compare.py", "check.py"} | extra
    for name in names & {"compare.py", "check.py", "export.py"}:
        compile((tmp_path / "one" / name).read_bytes(), name, "exec")


def test_parity_prints_the_export_too_and_has_a_folder_of_its_own(
    tuned: Tuner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = print_export(capsys, tuned("pgvector"), "pgvector")
    monkeypatch.chdir(tmp_path)
    assert run(["export", str(tuned("pgvector")), "--to", "pgvector", "--parity"]) == 0
    assert capsys.readouterr().out == text
    assert (tmp_path / "parity-pgvector" / "export.sql").read_text() == text


def load_compare(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("written_compare", folder / "compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The comparison of a written fixture."""
    folder = tmp_path_factory.mktemp("fixture")
    fixture = fixture_of("opensearch", "min_max", 0.3, 10)
    for name, content in fixture_files(fixture, "opensearch", "{}").items():
        (folder / name).write_text(content)
    yield load_compare(folder)


def answers(order: list[dict[str, Any]]) -> list[tuple[str, float | None]]:
    return [(entry["id"], entry["score"]) for entry in order]


def test_compare_takes_the_expected_order_with_and_without_scores(compare: ModuleType) -> None:
    for order in compare.EXPECTED["queries"].values():
        assert compare.difference(order, answers(order)) is None
        assert compare.difference(order, [(doc, None) for doc, _ in answers(order)]) is None
        single = [(doc, float(np.float32(score))) for doc, score in answers(order)]
        assert compare.difference(order, single) is None


def test_compare_finds_every_swapped_pair(compare: ModuleType) -> None:
    swapped = 0
    for order in compare.EXPECTED["queries"].values():
        for i in range(len(order) - 1):
            got = [(doc, None) for doc, _ in answers(order)]
            got[i], got[i + 1] = got[i + 1], got[i]
            equal = order[i]["score"] == order[i + 1]["score"]
            found = compare.difference(order, got)
            if equal:
                assert found is None
                continue
            swapped += 1
            assert found.startswith(f"place {i + 1}: expected {order[i]['id']} ")
            assert f"got {order[i + 1]['id']} " in found
            assert f"expected at place {i + 2}" in found
    assert swapped > 20


def test_compare_finds_a_missing_a_strange_and_a_repeated_document(compare: ModuleType) -> None:
    order = [{"id": doc, "score": score} for doc, score in [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.1)]]
    assert "4 documents expected, 3 came back" in compare.difference(order, answers(order)[:-1])
    assert "not expected at all" in compare.difference(order, [("a", None), ("b", None), ("x", None), ("d", None)])
    assert compare.difference(order, [("a", None), ("d", None), ("b", None), ("c", None)]).startswith("place 2: expected b")
    assert compare.difference(order, [("a", None), ("b", None), ("b", None), ("d", None)]) is not None


def test_compare_finds_a_wrong_score(compare: ModuleType) -> None:
    for order in compare.EXPECTED["queries"].values():
        for i in range(len(order)):
            got = answers(order)
            got[i] = (got[i][0], order[i]["score"] + 2e-4 * order[0]["score"])
            found = compare.difference(order, got)
            assert found.startswith(f"place {i + 1}: {order[i]['id']} has the expected place")


def test_compare_accepts_a_swap_among_equal_scores_alone(compare: ModuleType) -> None:
    order = [{"id": doc, "score": score} for doc, score in [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.5), ("e", 0.1)]]
    for middle in ("bcd", "bdc", "cbd", "cdb", "dbc", "dcb"):
        assert compare.difference(order, [(doc, None) for doc in f"a{middle}e"]) is None
    assert compare.difference(order, [(doc, None) for doc in "bacde"]).startswith("place 1")
    assert compare.difference(order, [(doc, None) for doc in "abced"]).startswith("place 4")
