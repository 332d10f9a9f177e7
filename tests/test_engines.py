"""The engines' rules: golden scores by hand, the odd cases, a slow twin, the exact profile, and what a config is refused."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_fusion import Scores, assert_fused, make_candidates
from test_profiles import DEPTH, all_measures, evaluate, make_lists, queries, relaxed

from harness.candidates import merge_lists
from harness.config import Config, parse_config
from harness.engines import ALONE, ANY_WEIGHT, ENGINES, HARNESS, apply_rules, nearest_fusion, rules_of
from harness.errors import HarnessError
from harness.files import pad_qrels
from harness.fusion import FUSIONS, fuse, order_keys, rank_columns
from harness.hybrid import Hybrid
from harness.measures import Measure
from harness.profiles import profile_cuts
from harness.types import Candidates, Conventions, Params

NAMES = {  # as listed in docs/fusion.md; the first is the engine's default
    "opensearch": [
        *("min_max", "l2", "z_score", "min_max+geometric_mean", "min_max+harmonic_mean"),
        *("l2+geometric_mean", "l2+harmonic_mean", "rrf"),
    ],
    "elasticsearch": ["minmax", "l2_norm", "none", "rrf"],
    "weaviate": ["relativeScoreFusion", "rankedFusion"],
    "qdrant": ["rrf", "dbsf"],
    "vespa": ["normalize_linear", "reciprocal_rank"],
    "llamaindex": ["relative_score", "dist_based_score", "reciprocal_rerank"],
    "langchain": ["rrf"],
    "haystack": ["reciprocal_rank_fusion", "merge", "distribution_based_rank_fusion"],
    "azure": ["rrf"],
    "pgvector": ["rrf"],
}
DEFAULT_RRF_K = dict.fromkeys(NAMES, 60) | {"weaviate": 59, "llamaindex": 59, "qdrant": 1}
STAND_ALONE = {"weaviate", "azure"}  # one list alone at a weight of exactly 0 or 1
FIRST_SEEN = {"qdrant", "llamaindex", "langchain", "haystack"}  # ties keep the order in which documents are met
UNWEIGHTED = {
    ("qdrant", "dbsf"),
    ("llamaindex", "reciprocal_rerank"),
    ("haystack", "distribution_based_rank_fusion"),
}
EVERY = [(engine, fusion) for engine, fusions in NAMES.items() for fusion in fusions]
WEIGHTED = [pair for pair in EVERY if pair not in UNWEIGHTED]


def fuse_by_rules(
    engine: str | None, fusion: str, keyword: Scores, semantic: Scores, weight: float, rrf_k: int | None = None
) -> dict[str, float]:
    """Document → fused score by the engine's rule, best first, of what is returned; its default constant for None."""
    doc_ids, candidates = make_candidates(keyword, semantic)
    params = Params(semantic_weight=weight, fusion=fusion, rrf_k=rules_of(engine).rrf_k if rrf_k is None else rrf_k)
    candidates, lines = apply_rules(candidates, params, engine)
    scores = fuse(lines, weight)[0]
    ranks, returned = rank_columns(order_keys(lines, weight))
    by_rank = {int(rank): column for column, rank in enumerate(ranks[0]) if rank > 0}
    assert sorted(by_rank) == list(range(1, int(returned[0]) + 1))
    assert ((scores > -np.inf) == (ranks[0] > 0)).all()
    return {doc_ids[candidates.rows[0, by_rank[rank]]]: float(scores[by_rank[rank]]) for rank in sorted(by_rank)}


# --- the table ------------------------------------------------------------------------------------------------------


def test_fusions_go_by_the_engines_own_names_and_the_first_is_the_default() -> None:
    assert {engine: list(rules.fusions) for engine, rules in ENGINES.items()} == NAMES
    assert {engine: rules.default_fusion for engine, rules in ENGINES.items()} == {e: names[0] for e, names in NAMES.items()}
    assert {engine: rules.rrf_k for engine, rules in ENGINES.items()} == DEFAULT_RRF_K


def test_ends_ties_and_weights_are_what_the_engines_do() -> None:
    assert {engine for engine, rules in ENGINES.items() if rules.alone} == STAND_ALONE
    assert {engine for engine, rules in ENGINES.items() if rules.first_seen} == FIRST_SEEN
    assert {pair for pair in EVERY if not rules_of(pair[0]).fusions[pair[1]].weighted} == UNWEIGHTED


@pytest.mark.parametrize("engine", NAMES)
def test_every_engine_says_what_was_read_and_where(engine: str) -> None:
    rules = ENGINES[engine]
    assert all(text.strip() for text in (rules.title, rules.version, rules.source, rules.depth_name))
    assert all(rule.form and rule.formula for rule in rules.fusions.values())
    low, high = rules.rrf_k_range
    assert low <= rules.rrf_k <= high


# --- golden orders and scores ---------------------------------------------------------------------------------------

# Ranks: keyword c 1, d 2, b 3; semantic a 1, c 2, d 3. By id a, b, c, d; first seen c, d, b, a.
# Keyword: min 2, max 10, μ = 6 = d's score, sample σ = √((16 + 0 + 16) / 2) = 4, population σ = √(32 / 3).
# Semantic: min .25, max .75, μ = .5 = c's score, sample σ = √(.125 / 2) = .25, population σ = √(.125 / 3).
KEYWORD = {"c": 10.0, "d": 6.0, "b": 2.0}
SEMANTIC = {"a": 0.75, "c": 0.5, "d": 0.25}
W = 0.3


class Golden(NamedTuple):
    """One fusion by hand: each list's own values, and what comes out at the weight .3, best first."""

    keyword: Scores
    semantic: Scores
    mixed: Scores


def decimals(n: int) -> float:
    """1 / n rounded to 10 decimals, halves up."""
    return float((Decimal(1) / n).quantize(Decimal("1e-10"), ROUND_HALF_UP))


# (10 − 2) / 8 = 1, (6 − 2) / 8 = .5, 0; (.75 − .25) / .5 = 1, (.5 − .25) / .5 = .5, 0
MINMAX = Golden(
    {"c": 1, "d": 0.5, "b": 0},
    {"a": 1, "c": 0.5, "d": 0},
    {"c": 0.7 * 1 + 0.3 * 0.5, "d": 0.7 * 0.5 + 0.3 * 0, "a": 0.3 * 1, "b": 0.7 * 0},
)
# ‖(10, 6, 2)‖ = √140; ‖(.75, .5, .25)‖ = √.875
Q, S = math.sqrt(140), math.sqrt(0.875)
L2 = Golden(
    {"c": 10 / Q, "d": 6 / Q, "b": 2 / Q},
    {"a": 0.75 / S, "c": 0.5 / S, "d": 0.25 / S},
    # .592 + .160 = .752, .355 + .080 = .435, .241, .118
    {"c": 0.7 * 10 / Q + 0.3 * 0.5 / S, "d": 0.7 * 6 / Q + 0.3 * 0.25 / S, "a": 0.3 * 0.75 / S, "b": 0.7 * 2 / Q},
)
RAW = Golden(KEYWORD, SEMANTIC, {"c": 0.7 * 10 + 0.3 * 0.5, "d": 0.7 * 6 + 0.3 * 0.25, "b": 0.7 * 2, "a": 0.3 * 0.75})
RRF = Golden(  # 1 / (60 + rank), rank from 1
    {"c": 1 / 61, "d": 1 / 62, "b": 1 / 63},
    {"a": 1 / 61, "c": 1 / 62, "d": 1 / 63},
    {"c": 0.7 / 61 + 0.3 / 62, "d": 0.7 / 62 + 0.3 / 63, "b": 0.7 / 63, "a": 0.3 / 61},
)
ROUNDED_RRF = Golden(
    {"c": decimals(61), "d": decimals(62), "b": decimals(63)},
    {"a": decimals(61), "c": decimals(62), "d": decimals(63)},
    {
        "c": 0.7 * decimals(61) + 0.3 * decimals(62),
        "d": 0.7 * decimals(62) + 0.3 * decimals(63),
        "b": 0.7 * decimals(63),
        "a": 0.3 * decimals(61),
    },
)
RANK_FROM_0 = Golden(  # 1 / (60 + rank), rank from 0
    {"c": 1 / 60, "d": 1 / 61, "b": 1 / 62},
    {"a": 1 / 60, "c": 1 / 61, "d": 1 / 62},
    {"c": 0.7 / 60 + 0.3 / 61, "d": 0.7 / 61 + 0.3 / 62, "b": 0.7 / 62, "a": 0.3 / 60},
)
FACTOR_61 = Golden(  # weight · 2 / (61 + rank from 0), divided by 2 / 61 at the end
    {"c": 61 / 61, "d": 61 / 62, "b": 61 / 63},
    {"a": 61 / 61, "c": 61 / 62, "d": 61 / 63},
    {"c": 0.7 * 61 / 61 + 0.3 * 61 / 62, "d": 0.7 * 61 / 62 + 0.3 * 61 / 63, "b": 0.7 * 61 / 63, "a": 0.3 * 61 / 61},
)
# min_max where 0 becomes .001
FLOORED = ({"c": 1, "d": 0.5, "b": 0.001}, {"a": 1, "c": 0.5, "d": 0.001})
# (x − μ) / σ: c 4/4 = 1, a .25/.25 = 1; b and the semantic d −1 → .001; the keyword d and the semantic c are the mean: max
Z_SCORE = ({"c": 1, "d": 10, "b": 0.001}, {"a": 1, "c": 0.75, "d": 0.001})
# (x − (μ − 3σ)) / 6σ = ½ + (x − μ) / 6σ; population σ: 4 / √(32/3) = .25 / √(.125/3) = √1.5
UP, DOWN = 0.5 + math.sqrt(1.5) / 6, 0.5 - math.sqrt(1.5) / 6

GOLDEN = {
    ("opensearch", "min_max"): Golden(
        *FLOORED, {"c": 0.7 * 1 + 0.3 * 0.5, "d": 0.7 * 0.5 + 0.3 * 0.001, "a": 0.3 * 1, "b": 0.7 * 0.001}
    ),
    ("opensearch", "l2"): L2,
    ("opensearch", "z_score"): Golden(
        *Z_SCORE, {"d": 0.7 * 10 + 0.3 * 0.001, "c": 0.7 * 1 + 0.3 * 0.75, "a": 0.3 * 1, "b": 0.7 * 0.001}
    ),
    # a and b stand in one list: exp(.3 ln 1 / .3) = 1, exp(.7 ln .001 / .7) = .001
    ("opensearch", "min_max+geometric_mean"): Golden(
        *FLOORED, {"a": 1, "c": 1**0.7 * 0.5**0.3, "d": 0.5**0.7 * 0.001**0.3, "b": 0.001}
    ),
    ("opensearch", "min_max+harmonic_mean"): Golden(
        *FLOORED, {"a": 1, "c": 1 / (0.7 / 1 + 0.3 / 0.5), "d": 1 / (0.7 / 0.5 + 0.3 / 0.001), "b": 0.001}
    ),
    ("opensearch", "l2+geometric_mean"): Golden(  # a .802, c .845^.7 · .535^.3 = .737, d .507^.7 · .267^.3 = .418, b .169
        L2.keyword,
        L2.semantic,
        {"a": 0.75 / S, "c": (10 / Q) ** 0.7 * (0.5 / S) ** 0.3, "d": (6 / Q) ** 0.7 * (0.25 / S) ** 0.3, "b": 2 / Q},
    ),
    ("opensearch", "l2+harmonic_mean"): Golden(  # a .802, c 1 / (.828 + .561) = .720, d 1 / (1.380 + 1.122) = .400, b .169
        L2.keyword,
        L2.semantic,
        {
            "a": 0.75 / S,
            "c": 1 / (0.7 * Q / 10 + 0.3 * S / 0.5),
            "d": 1 / (0.7 * Q / 6 + 0.3 * S / 0.25),
            "b": 2 / Q,
        },
    ),
    ("opensearch", "rrf"): ROUNDED_RRF,
    ("elasticsearch", "minmax"): MINMAX,
    ("elasticsearch", "l2_norm"): L2,
    ("elasticsearch", "none"): RAW,
    ("elasticsearch", "rrf"): RRF,
    ("weaviate", "relativeScoreFusion"): MINMAX,
    ("weaviate", "rankedFusion"): RANK_FROM_0,
    ("qdrant", "rrf"): Golden(  # 1 / (rank / weight + k − 1) at the default k = 2
        {"c": 1 / (1 + 1), "d": 1 / (2 + 1), "b": 1 / (3 + 1)},
        {"a": 1 / (1 + 1), "c": 1 / (2 + 1), "d": 1 / (3 + 1)},
        # .412 + .130 = .542, .259 + .091 = .350, .231, .189
        {
            "c": 1 / (1 / 0.7 + 1) + 1 / (2 / 0.3 + 1),
            "d": 1 / (2 / 0.7 + 1) + 1 / (3 / 0.3 + 1),
            "a": 1 / (1 / 0.3 + 1),
            "b": 1 / (3 / 0.7 + 1),
        },
    ),
    ("vespa", "normalize_linear"): MINMAX,
    ("vespa", "reciprocal_rank"): RRF,
    ("llamaindex", "relative_score"): MINMAX,
    ("llamaindex", "dist_based_score"): Golden(
        {"c": UP, "d": 0.5, "b": DOWN},
        {"a": UP, "c": 0.5, "d": DOWN},
        # .493 + .150 = .643, .350 + .089 = .439, .7 · .296 = .207, .3 · .704 = .211
        {"c": 0.7 * UP + 0.3 * 0.5, "d": 0.7 * 0.5 + 0.3 * DOWN, "a": 0.3 * UP, "b": 0.7 * DOWN},
    ),
    ("langchain", "rrf"): RRF,
    ("haystack", "reciprocal_rank_fusion"): FACTOR_61,
    ("haystack", "merge"): RAW,
    ("azure", "rrf"): RRF,
    ("pgvector", "rrf"): RRF,
}
GOLDEN_UNWEIGHTED = {
    # sample σ: ½ + 4 / 24 = 2/3, ½, ½ − 4 / 24 = 1/3, and the same for .25 / (6 · .25); a and d: 2/3 and 1/2 + 1/3
    ("qdrant", "dbsf"): {"c": 2 / 3 + 1 / 2, "d": 1 / 2 + 1 / 3, "a": 2 / 3, "b": 1 / 3},
    ("llamaindex", "reciprocal_rerank"): {"c": 1 / 60 + 1 / 61, "d": 1 / 61 + 1 / 62, "a": 1 / 60, "b": 1 / 62},
    # the higher of both: c of (up, ½), d of (½, down); c was seen before a
    ("haystack", "distribution_based_rank_fusion"): {"c": UP, "a": UP, "d": 0.5, "b": DOWN},
}


def test_every_fusion_has_its_golden_case() -> None:
    assert [*GOLDEN, *GOLDEN_UNWEIGHTED] == [*WEIGHTED, *sorted(UNWEIGHTED, key=EVERY.index)]


@pytest.mark.parametrize(("engine", "fusion"), GOLDEN)
def test_an_inner_weight_gives_the_golden_scores(engine: str, fusion: str) -> None:
    assert_fused(fuse_by_rules(engine, fusion, KEYWORD, SEMANTIC, W), GOLDEN[engine, fusion].mixed)


@pytest.mark.parametrize("weight", [0, 0.3, 0.5, 1])
@pytest.mark.parametrize(("engine", "fusion"), GOLDEN_UNWEIGHTED)
def test_a_fusion_without_weights_gives_the_golden_scores_whatever_the_weight(engine: str, fusion: str, weight: float) -> None:
    assert_fused(fuse_by_rules(engine, fusion, KEYWORD, SEMANTIC, weight), GOLDEN_UNWEIGHTED[engine, fusion])


@pytest.mark.parametrize("weight", [0, 1])
@pytest.mark.parametrize(("engine", "fusion"), GOLDEN)
def test_at_the_ends_one_list_counts_and_the_others_documents_are_returned_at_0(engine: str, fusion: str, weight: int) -> None:
    """By Weaviate and Azure they are not returned. Ties at 0: by document id, or in the order of the keyword list."""
    own = GOLDEN[engine, fusion][weight]
    returned = list(own) if engine in STAND_ALONE else "cdba" if engine in FIRST_SEEN else "abcd"
    expected = {doc: own.get(doc, 0.0) for doc in sorted(returned, key=lambda doc: -own.get(doc, 0.0))}
    assert_fused(fuse_by_rules(engine, fusion, KEYWORD, SEMANTIC, weight), expected)


# --- odd lists ------------------------------------------------------------------------------------------------------

THIRD = 1 / math.sqrt(3)  # 5 / ‖(5, 5, 5)‖
CONSTANT = {  # three documents that score 5, one that does, three that score 0
    ("opensearch", "min_max"): (1, 1, 1),
    ("opensearch", "l2"): (THIRD, 1, 0),  # zero norm: 0
    ("opensearch", "z_score"): (5, 5, 0),  # σ = 0: the raw score
    ("opensearch", "min_max+geometric_mean"): (1, 1, 1),
    ("opensearch", "min_max+harmonic_mean"): (1, 1, 1),
    ("opensearch", "l2+geometric_mean"): (THIRD, 1, 0),  # no list scores it above 0
    ("opensearch", "l2+harmonic_mean"): (THIRD, 1, 0),
    ("elasticsearch", "minmax"): (1, 1, 1),
    ("elasticsearch", "l2_norm"): (THIRD, 1, 0),
    ("elasticsearch", "none"): (5, 5, 0),
    ("weaviate", "relativeScoreFusion"): (1, 1, 1),
    ("qdrant", "dbsf"): (0.5, 0.5, 0.5),
    ("vespa", "normalize_linear"): (0.5, 0.5, 0.5),
    ("llamaindex", "relative_score"): (1, 1, 0),  # 1 only above 0
    ("llamaindex", "dist_based_score"): (1, 1, 0),
    ("haystack", "merge"): (5, 5, 0),
    ("haystack", "distribution_based_rank_fusion"): (5, 5, 0),  # σ = 0: the raw score
}


@pytest.mark.parametrize("weight", [0, 1])
@pytest.mark.parametrize(("engine", "fusion"), CONSTANT)
def test_a_constant_list_and_a_single_hit_have_the_engines_value(engine: str, fusion: str, weight: int) -> None:
    lists: list[Scores] = [{"a": 5.0, "b": 5.0, "c": 5.0}, {"a": 5.0}, {"a": 0.0, "b": 0.0, "c": 0.0}]
    for scores, value in zip(lists, CONSTANT[engine, fusion], strict=True):
        both = (scores, {}) if weight == 0 else ({}, scores)
        assert_fused(fuse_by_rules(engine, fusion, *both, weight), dict.fromkeys(scores, value))


def test_every_fusion_of_scores_has_its_constant_list() -> None:
    by_rank = {pair for pair in EVERY if rules_of(pair[0]).fusions[pair[1]].by_rank}
    assert set(CONSTANT) == {*EVERY} - by_rank


@pytest.mark.parametrize(("engine", "fusion"), [pair for pair in EVERY if pair not in CONSTANT])
def test_ranks_tell_a_constant_list_apart_by_document_id(engine: str, fusion: str) -> None:
    constant = fuse_by_rules(engine, fusion, {"b": 5.0, "a": 5.0, "c": 5.0}, {}, 0)
    assert list(constant.items()) == list(fuse_by_rules(engine, fusion, {"a": 3.0, "b": 2.0, "c": 1.0}, {}, 0).items())


@pytest.mark.parametrize("value", [0.1, 1 / 3, 7.3, 1e-9])
@pytest.mark.parametrize("copies", [1, 3, 7])
@pytest.mark.parametrize(("engine", "fusion"), CONSTANT)
def test_a_constant_list_is_constant_however_its_mean_rounds(engine: str, fusion: str, copies: int, value: float) -> None:
    scores = {f"d{i}": value for i in range(copies)}
    (score,) = set(fuse_by_rules(engine, fusion, scores, {}, 0).values())
    assert 0 < score <= max(1.0, value) and math.isfinite(score)


NEGATIVE = ({"p": 3.0, "q": -4.0}, {"q": 2.0, "r": -2.0})  # norms 5 and √8; ranges 7 and 4; μ −.5 and 0
R2 = math.sqrt(2)


@pytest.mark.parametrize(
    ("engine", "fusion", "expected"),  # at weight .25
    [
        ("opensearch", "min_max", {"p": 0.75 * 1, "q": 0.75 * 0.001 + 0.25 * 1, "r": 0.25 * 0.001}),
        # l2: q −.8 and 1/√2, r −1/√2; below 0 is left out with its weight: q (.25 / √2) / .25, r 0 / .75
        ("opensearch", "l2", {"q": 1 / R2, "p": 0.75 * 3 / 5, "r": 0}),
        ("opensearch", "l2+geometric_mean", {"q": 1 / R2, "p": 3 / 5, "r": 0}),
        ("opensearch", "l2+harmonic_mean", {"q": 1 / R2, "p": 3 / 5, "r": 0}),
        # z: ±3.5 / √24.5 = ±1/√2 and ±2 / √8 = ±1/√2, below 0 → .001
        ("opensearch", "z_score", {"p": 0.75 / R2, "q": 0.75 * 0.001 + 0.25 / R2, "r": 0.25 * 0.001}),
        ("elasticsearch", "minmax", {"p": 0.75 * 1, "q": 0.25 * 1, "r": 0}),
        ("elasticsearch", "l2_norm", {"p": 0.75 * 3 / 5, "r": -0.25 / R2, "q": -0.75 * 4 / 5 + 0.25 / R2}),
        ("elasticsearch", "none", {"p": 0.75 * 3, "r": -0.25 * 2, "q": -0.75 * 4 + 0.25 * 2}),
        ("weaviate", "relativeScoreFusion", {"p": 0.75 * 1, "q": 0.25 * 1, "r": 0}),
        ("vespa", "normalize_linear", {"p": 0.75 * 1, "q": 0.25 * 1, "r": 0}),
        ("llamaindex", "relative_score", {"p": 0.75 * 1, "q": 0.25 * 1, "r": 0}),
        # population σ of two documents: half the range, so ½ ± 1/6
        ("llamaindex", "dist_based_score", {"p": 0.75 * 2 / 3, "q": 0.75 * 1 / 3 + 0.25 * 2 / 3, "r": 0.25 * 1 / 3}),
        ("haystack", "merge", {"p": 0.75 * 3, "r": -0.25 * 2, "q": -0.75 * 4 + 0.25 * 2}),
        ("haystack", "distribution_based_rank_fusion", {"p": 2 / 3, "q": 2 / 3, "r": 1 / 3}),
        # sample σ of two documents: the range / √2, so ½ ± √2 / 12
        ("qdrant", "dbsf", {"q": 1, "p": 0.5 + R2 / 12, "r": 0.5 - R2 / 12}),
    ],
)
def test_scores_below_0_count_as_the_engine_counts_them(engine: str, fusion: str, expected: dict[str, float]) -> None:
    assert_fused(fuse_by_rules(engine, fusion, *NEGATIVE, 0.25), expected)


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
def test_ties_go_by_first_seen_or_by_document_id(engine: str, fusion: str) -> None:
    """One hit a list, alike in score and rank: z is seen first, a has the lower id."""
    fused = fuse_by_rules(engine, fusion, {"z": 1.0}, {"a": 1.0}, 0.5)
    assert list(fused) == (["z", "a"] if engine in FIRST_SEEN else ["a", "z"])
    assert fused["a"] == fused["z"] > 0


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
@pytest.mark.parametrize("weight", [0, 0.5, 1])
def test_two_empty_lists_return_nothing(engine: str, fusion: str, weight: float) -> None:
    assert fuse_by_rules(engine, fusion, {}, {}, weight) == {}


@pytest.mark.parametrize(("engine", "fusion"), WEIGHTED)
def test_a_list_without_weight_decides_nothing_even_where_the_other_is_empty(engine: str, fusion: str) -> None:
    expected = {} if engine in STAND_ALONE else dict.fromkeys(SEMANTIC, 0.0)
    assert fuse_by_rules(engine, fusion, {}, SEMANTIC, 0) == expected


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
@pytest.mark.parametrize("values", [(0.3, 0.2, 0.1), (0.9, 0.6, 0.3), (0.7, 0.4, 0.1)])
def test_scores_do_not_depend_on_document_ids(engine: str, fusion: str, values: tuple[float, ...]) -> None:
    """However the sum of the scores rounds in another order of summation (the second is the mean)."""
    outcomes = []
    for ids in itertools.permutations("abc"):
        fused = fuse_by_rules(engine, fusion, dict(zip(ids, values, strict=True)), {}, 0)
        outcomes.append([fused[doc] for doc in ids])
    assert outcomes == [pytest.approx(outcomes[0], abs=1e-11)] * 6


# --- OpenSearch -----------------------------------------------------------------------------------------------------


def test_opensearch_the_last_candidate_beats_a_missing_document() -> None:
    """At weight 1: z is the semantic list's last, (1 − 1) / (2 − 1) = 0 → .001; a stands in the keyword list alone: 0."""
    keyword, semantic = {"a": 1.0}, {"y": 2.0, "z": 1.0}
    assert_fused(fuse_by_rules("opensearch", "min_max", keyword, semantic, 1), {"y": 1, "z": 0.001, "a": 0})
    assert_fused(fuse_by_rules("elasticsearch", "minmax", keyword, semantic, 1), {"y": 1, "a": 0, "z": 0})


@pytest.mark.parametrize("mean", ["geometric_mean", "harmonic_mean"])
@pytest.mark.parametrize("weight", [0.001, 0.3, 0.5, 0.999])
def test_opensearch_means_skip_a_missing_document(mean: str, weight: float) -> None:
    """b and a keep their own n at every inner weight."""
    fused = fuse_by_rules("opensearch", f"min_max+{mean}", KEYWORD, SEMANTIC, weight)
    assert (fused["b"], fused["a"]) == (pytest.approx(0.001, abs=1e-11), 1)
    fused = fuse_by_rules("opensearch", f"l2+{mean}", KEYWORD, SEMANTIC, weight)
    assert (fused["b"], fused["a"]) == (pytest.approx(2 / Q, abs=1e-11), pytest.approx(0.75 / S, abs=1e-11))


@pytest.mark.parametrize("n", [2, 3, 61, 2048, 6144, 10_001])
def test_opensearch_rounds_reciprocals_to_10_decimals_halves_up(n: int) -> None:
    assert fuse_by_rules("opensearch", "rrf", {"a": 1.0}, {}, 0, rrf_k=n - 1) == {"a": decimals(n)}


def test_opensearch_the_half_at_2048_goes_up() -> None:
    """1/2048 = .00048828125 has 11 decimals; halves to even would give …12 here."""
    assert decimals(2048) == 0.0004882813 != round(1 / 2048, 10)
    assert fuse_by_rules("opensearch", "rrf", {}, {"a": 1.0}, 1, rrf_k=2047) == {"a": 0.0004882813}


def test_opensearch_z_score_of_the_mean_is_the_raw_maximum_and_can_lead() -> None:
    """μ = 2: c −1 → .001, b is the mean → 30 / 10 = 3, the maximum, above a's (3 − 2) / 1."""
    assert_fused(fuse_by_rules("opensearch", "z_score", {"a": 3.0, "b": 2.0, "c": 1.0}, {}, 0), {"b": 3, "a": 1, "c": 0.001})


# --- Elasticsearch --------------------------------------------------------------------------------------------------


def test_elasticsearch_minmax_of_a_range_below_a_millionth_is_1() -> None:
    assert_fused(fuse_by_rules("elasticsearch", "minmax", {"a": 9e-7, "b": 0.0}, {}, 0), {"a": 1, "b": 1})
    assert_fused(fuse_by_rules("elasticsearch", "minmax", {"a": 2e-6, "b": 0.0}, {}, 0), {"a": 1, "b": 0})


def test_elasticsearch_l2_norm_below_a_millionth_keeps_the_raw_score() -> None:
    small = {"a": 4e-7, "b": 3e-7}  # norm 5e-7
    assert_fused(fuse_by_rules("elasticsearch", "l2_norm", small, {}, 0), small)
    assert_fused(fuse_by_rules("elasticsearch", "l2_norm", {"a": 4e-6, "b": 3e-6}, {}, 0), {"a": 4 / 5, "b": 3 / 5})


# --- Qdrant ---------------------------------------------------------------------------------------------------------

# A has rank 1 in one list and is absent from the other, B has ranks 2 and 4; x, y, z fill up.
RANKS_1 = {"A": 9.0, "B": 8.0}
RANKS_2 = {"x": 9.0, "y": 8.0, "z": 7.0, "B": 6.0}


def test_qdrants_weights_are_absolute() -> None:
    """k = 2. Weights 1, 1: A 1 / (1 + 1) = .500, B 1 / (2 + 1) + 1 / (4 + 1) = .533. Weights .5, .5: A .333, B .311."""
    assert 1 / (1 + 1) < 1 / (2 + 1) + 1 / (4 + 1)
    fused = fuse_by_rules("qdrant", "rrf", RANKS_1, RANKS_2, 0.5, rrf_k=1)
    assert fused["A"] == pytest.approx(1 / (1 / 0.5 + 1), abs=1e-11)
    assert fused["B"] == pytest.approx(1 / (2 / 0.5 + 1) + 1 / (4 / 0.5 + 1), abs=1e-11)
    assert list(fused).index("A") < list(fused).index("B")


def test_qdrants_weights_1_and_1_order_as_a_half_each_at_one_constant_more() -> None:
    """1 / (r + 1) is twice 1 / (2r + 2): k = 2 without weights is k = 3, rrf_k 2, with .5 each."""
    fused = fuse_by_rules("qdrant", "rrf", RANKS_1, RANKS_2, 0.5, rrf_k=2)
    without = {"x": 1 / 2, "A": 1 / 2, "B": 1 / 3 + 1 / 5, "y": 1 / 3, "z": 1 / 4}
    assert fused == pytest.approx({doc: score / 2 for doc, score in without.items()}, abs=1e-11)
    assert list(fused) == ["B", "A", "x", "y", "z"]


def test_qdrants_dbsf_is_not_cut_off() -> None:
    """11 and ten times 0: μ = 1, sample σ = √((100 + 10) / 10) = √11; ½ + 10 / (6 √11) = 1.0025, and ½ − 1 / (6 √11)."""
    scores = {"top": 11.0, **{f"d{i}": 0.0 for i in range(10)}}
    fused = fuse_by_rules("qdrant", "dbsf", scores, {}, 0.5)
    assert fused["top"] == pytest.approx(0.5 + 10 / (6 * math.sqrt(11)), abs=1e-11)
    assert fused["top"] > 1
    assert fused["d0"] == pytest.approx(0.5 - 1 / (6 * math.sqrt(11)), abs=1e-11)


# --- LlamaIndex, Haystack, Azure ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fusion", ["relative_score", "dist_based_score"])
def test_llamaindex_gives_a_constant_list_below_0_no_score(fusion: str) -> None:
    assert fuse_by_rules("llamaindex", fusion, {"a": -5.0, "b": -5.0}, {}, 0) == {"a": 0, "b": 0}


def test_haystack_keeps_the_raw_scores_of_a_constant_list_beside_scaled_ones() -> None:
    """Keyword ½ ± (1 / 1) / 6: a 2/3, b 1/3; semantic constant 7 and raw: the higher of 1/3 and 7."""
    fused = fuse_by_rules("haystack", "distribution_based_rank_fusion", {"a": 3.0, "b": 1.0}, {"b": 7.0, "c": 7.0}, 0.5)
    assert_fused(fused, {"b": 7, "c": 7, "a": 2 / 3})


def test_haystack_keeps_a_score_below_0_where_the_other_list_lacks_the_document() -> None:
    """The higher score is that of the lists that hold it: a missing one is no 0."""
    fused = fuse_by_rules("haystack", "distribution_based_rank_fusion", {"a": -5.0, "b": -5.0}, {"b": -1.0}, 0.5)
    assert_fused(fused, {"b": -1, "a": -5})


@pytest.mark.parametrize(("engine", "fusion"), [("azure", "rrf"), ("weaviate", "rankedFusion")])
def test_a_list_alone_is_the_list_even_where_the_other_one_is_empty(engine: str, fusion: str) -> None:
    assert fuse_by_rules(engine, fusion, {}, SEMANTIC, 0) == {}
    assert list(fuse_by_rules(engine, fusion, {}, SEMANTIC, 1)) == ["a", "c", "d"]


@pytest.mark.parametrize("engine", [None, *NAMES])
def test_the_baselines_are_a_list_alone_whatever_the_engine(engine: str | None) -> None:
    assert list(fuse_by_rules(engine, ALONE, KEYWORD, SEMANTIC, 0)) == ["c", "d", "b"]
    assert list(fuse_by_rules(engine, ALONE, KEYWORD, SEMANTIC, 1)) == ["a", "c", "d"]


# --- a slow twin ----------------------------------------------------------------------------------------------------

Lists = list[tuple[float, Scores]]  # weight and scores of each list


def slow_rank(scores: Scores) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(sorted(scores, key=lambda doc: (-scores[doc], doc)), 1)}


def slow_minmax(scores: Scores, constant: float, floor: float = 0.0) -> dict[str, float]:
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, constant)
    return {doc: (x - low) / (high - low) or floor for doc, x in scores.items()}


def slow_l2(scores: Scores) -> dict[str, float]:
    norm = math.hypot(*scores.values())
    return {doc: x / norm if norm else 0.0 for doc, x in scores.items()}


def slow_z_score(scores: Scores) -> dict[str, float]:
    if len(set(scores.values())) == 1:
        return dict(scores)
    mean, deviation, high = statistics.mean(scores.values()), statistics.stdev(scores.values()), max(scores.values())
    z = {doc: (x - mean) / deviation for doc, x in scores.items()}
    return {doc: high if x == mean else z[doc] if z[doc] > 0 else 0.001 for doc, x in scores.items()}


def slow_distribution(scores: Scores, deviate: Callable[..., float], constant: float | None) -> dict[str, float]:
    if len(set(scores.values())) == 1:
        return {doc: x if constant is None else constant for doc, x in scores.items()}
    mean, deviation = statistics.mean(scores.values()), deviate(scores.values())
    return {doc: (x - (mean - 3 * deviation)) / (6 * deviation) for doc, x in scores.items()}


def slow_positive(scores: Scores) -> float:
    """LlamaIndex's constant."""
    return 1.0 if max(scores.values()) > 0 else 0.0


def slow_normalise(engine: str, fusion: str, scores: Scores, rrf_k: int) -> dict[str, float]:
    """One list's own values by this fusion; not of Qdrant's RRF, which is not made of such."""
    if not scores:
        return {}
    ranks = slow_rank(scores)
    match engine, fusion.partition("+")[0]:
        case "opensearch", "min_max":
            return slow_minmax(scores, 1.0, floor=0.001)
        case "opensearch", "z_score":
            return slow_z_score(scores)
        case "opensearch", "rrf":
            return {doc: decimals(rrf_k + rank) for doc, rank in ranks.items()}
        case ("opensearch", "l2") | ("elasticsearch", "l2_norm"):
            return slow_l2(scores)
        case ("elasticsearch", "minmax") | ("weaviate", "relativeScoreFusion"):
            return slow_minmax(scores, 1.0)
        case ("elasticsearch", "none") | ("haystack", "merge"):
            return dict(scores)
        case "vespa", "normalize_linear":
            return slow_minmax(scores, 0.5)
        case "qdrant", "dbsf":
            return slow_distribution(scores, statistics.stdev, 0.5)
        case "llamaindex", "relative_score":
            return slow_minmax(scores, slow_positive(scores))
        case "llamaindex", "dist_based_score":
            return slow_distribution(scores, statistics.pstdev, slow_positive(scores))
        case "haystack", "distribution_based_rank_fusion":
            return slow_distribution(scores, statistics.pstdev, None)
        case "haystack", "reciprocal_rank_fusion":
            return {doc: 61 / (rrf_k + rank) for doc, rank in ranks.items()}
    return {doc: 1 / (rrf_k + rank) for doc, rank in ranks.items()}


def slow_opensearch_mean(mean: str, pairs: list[tuple[float, float]]) -> float:
    """Over (weight, normalised score) of every list, 0 where it lacks the document."""
    kept = [(share, n) for share, n in pairs if n > 0 or (n == 0 and mean == "arithmetic_mean")]
    total = sum(share for share, _ in kept)
    if total == 0:
        return 0.0
    if mean == "arithmetic_mean":
        return sum(share * n for share, n in kept) / total
    if mean == "geometric_mean":
        return math.exp(sum(share * math.log(n) for share, n in kept) / total)
    return total / sum(share / n for share, n in kept)


def slow_fuse(engine: str, fusion: str, keyword: Scores, semantic: Scores, weight: float, rrf_k: int) -> dict[str, float]:
    """Document → score of all that is returned."""
    lists: Lists = [(1 - weight, keyword), (weight, semantic)]
    if engine in STAND_ALONE and weight in (0, 1):
        lists = [(1.0, keyword if weight == 0 else semantic)]
    if (engine, fusion) in UNWEIGHTED:
        lists = [(1.0, keyword), (1.0, semantic)]
    values = [(share, slow_normalise(engine, fusion, scores, rrf_k)) for share, scores in lists]
    fused = {}
    for doc in {doc for _, scores in lists for doc in scores}:
        if engine == "opensearch":
            mean = fusion.partition("+")[2] or "arithmetic_mean"
            fused[doc] = slow_opensearch_mean(mean, [(share, n.get(doc, 0.0)) for share, n in values])
        elif (engine, fusion) == ("qdrant", "rrf"):
            held = [(share, slow_rank(scores)[doc]) for share, scores in lists if doc in scores and share > 0]
            fused[doc] = sum(1 / (rank / share + rrf_k) for share, rank in held)
        elif fusion == "distribution_based_rank_fusion":
            fused[doc] = max(n[doc] for _, n in values if doc in n)
        else:
            fused[doc] = sum(share * n.get(doc, 0.0) for share, n in values)
    return fused


documents = st.sampled_from([f"d{i}" for i in range(8)])
eighths = st.one_of(st.integers(-24, 80), st.integers(0, 3)).map(lambda n: n / 8)  # sums are exact: equal to the mean or not
some_scores = st.dictionaries(documents, eighths, max_size=8)
inner_weights = st.one_of(st.floats(0.01, 0.99), st.just(0.5))
any_weight = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), inner_weights)


def constants(engine: str) -> st.SearchStrategy[int]:
    low, high = rules_of(engine).rrf_k_range
    return st.integers(low, min(high, 200))


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
@given(st.data(), some_scores, some_scores, any_weight)
def test_every_rule_equals_its_slow_twin(
    engine: str, fusion: str, data: st.DataObject, keyword: dict[str, float], semantic: dict[str, float], weight: float
) -> None:
    rrf_k = data.draw(constants(engine))
    fused = fuse_by_rules(engine, fusion, keyword, semantic, weight, rrf_k)
    expected = slow_fuse(engine, fusion, keyword, semantic, weight, rrf_k)
    assert fused == pytest.approx(expected, abs=1e-9)
    for better, worse in itertools.combinations(fused, 2):
        assert expected[better] > expected[worse] - 1e-11, (better, worse)


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
@given(some_scores, some_scores, any_weight)
def test_fusing_leaves_its_inputs_unchanged(
    engine: str, fusion: str, keyword: dict[str, float], semantic: dict[str, float], weight: float
) -> None:
    _, candidates = make_candidates(keyword, semantic)
    arrays = [*vars(candidates).values()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    _, lines = apply_rules(candidates, Params(fusion=fusion), engine)
    made = {name: array.copy() for name, array in vars(lines).items() if isinstance(array, np.ndarray)}
    fuse(lines, weight)
    rank_columns(order_keys(lines, weight))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, before, strict=True))
    assert all(np.array_equal(array, vars(lines)[name]) for name, array in made.items())


# --- rules of one form ----------------------------------------------------------------------------------------------

FORMS: dict[str, list[tuple[str | None, str]]] = {}
for _engine, _rules in [(None, HARNESS), *ENGINES.items()]:
    for _fusion, _rule in _rules.fusions.items():
        FORMS.setdefault(_rule.form, []).append((_engine, _fusion))
SHARED_FORMS = {form: pairs for form, pairs in FORMS.items() if len(pairs) > 1}


def assert_proportional(one: Mapping[str, float], other: Mapping[str, float]) -> None:
    """The same documents, and the scores are the same up to one positive factor."""
    assert set(one) == set(other)
    top = max(one, key=lambda doc: abs(one[doc]), default=None)
    if top is None or one[top] == 0:
        assert set(other.values()) <= {0.0}
        return
    factor = other[top] / one[top]
    assert factor > 0
    assert other == pytest.approx({doc: factor * score for doc, score in one.items()}, rel=1e-7, abs=1e-9 * abs(other[top]))


def test_the_forms_that_several_rules_share() -> None:
    assert set(SHARED_FORMS) == {"minmax, constant list 1", "raw", "dbsf, sample σ", "rrf"}
    assert len(SHARED_FORMS["rrf"]) == 9  # the harness and all engines but OpenSearch, which rounds, and Qdrant


@pytest.mark.parametrize("form", SHARED_FORMS)
@given(some_scores, some_scores, inner_weights, st.integers(1, 200))
def test_rules_of_one_form_give_proportional_scores(
    form: str, keyword: dict[str, float], semantic: dict[str, float], weight: float, rrf_k: int
) -> None:
    """Rules without weights join at .5, where they are used."""
    joins = [
        (engine, fusion)
        for engine, fusion in SHARED_FORMS[form]
        if rules_of(engine).fusions[fusion].weighted or weight == ANY_WEIGHT
    ]
    first, *others = [fuse_by_rules(engine, fusion, keyword, semantic, weight, rrf_k) for engine, fusion in joins]
    for other in others:
        assert_proportional(first, other)


# --- the exact profile ----------------------------------------------------------------------------------------------

some_weights = st.lists(st.one_of(st.floats(1e-6, 1 - 1e-6), st.fractions(0, 1, max_denominator=12).map(float)), max_size=6)


def make_hybrid(each: list[tuple], engine: str | None) -> Hybrid:
    keyword, semantic, judged = zip(*each, strict=True)
    candidates = merge_lists(make_lists(keyword), make_lists(semantic))
    return Hybrid(candidates, pad_qrels(list(judged)), Conventions(), Params(depth=DEPTH), engine=engine)


def assert_profile_is_direct(
    hybrid: Hybrid, params: Params, measure: Measure, top_k: int | None, more: list[float]
) -> np.ndarray:
    """The profile's scores at its points, in the middles and at these weights are those of a trial; returns the points."""
    _, lines, columns = hybrid.setting(params)
    (profiles,) = profile_cuts(lines, columns, hybrid.judgements, measure, [top_k])
    points = profiles.points
    assert points[0] == 0 and points[-1] == 1 and (np.diff(points) > 0).all()
    for weight in [*points, *profiles.middles, *more]:
        if 0 < np.abs(points - weight).min() <= 1e-8:
            continue  # nearer than rounding and the joining of points can tell
        expected = evaluate(hybrid, params, measure, top_k, weight)
        assert profiles.scores_at(np.array([weight]))[:, 0] == pytest.approx(expected, abs=1e-12), weight
    return points


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
@relaxed
@given(st.data(), queries, all_measures, st.sampled_from([None, 1, 3]), st.sampled_from([1, 3, DEPTH]), some_weights)
def test_the_profile_equals_direct_evaluation(
    engine: str,
    fusion: str,
    data: st.DataObject,
    each: list,
    measure: Measure,
    top_k: int | None,
    depth: int,
    more: list[float],
) -> None:
    params = Params(fusion=fusion, rrf_k=data.draw(constants(engine)), depth=depth)
    assert_profile_is_direct(make_hybrid(each, engine), params, measure, top_k, more)


@pytest.mark.parametrize("engine", NAMES)
@relaxed
@given(queries, any_weight)
def test_judged_documents_have_the_ranks_of_the_results(engine: str, each: list, weight: float) -> None:
    """Columns in the order of ties are not in the order of rows: every judged document is still found."""
    hybrid = make_hybrid(each, engine)
    for fusion in NAMES[engine]:
        params = Params(semantic_weight=weight, fusion=fusion, depth=DEPTH)
        ranking = hybrid.rank(params)
        for q, (rows, _) in enumerate(hybrid.results(params)):
            places = {int(row): place for place, row in enumerate(rows, 1)}
            judged = hybrid.qrels.rows[q].tolist()
            assert ranking.ranks[q].tolist() == [places.get(row, math.inf) for row in judged]
            assert ranking.returned[q] == len(places)


def two_documents(one: tuple[int, int], other: tuple[int, int]) -> Hybrid:
    """Qdrant's candidates of one query: documents 0 and 1 with these (keyword, semantic) ranks, 0 for a missing one."""
    ranks = [np.array([[one[side], other[side]]], dtype=np.int32) for side in (0, 1)]
    scores = [np.where(of > 0, -of.astype(np.float64), np.nan) for of in ranks]
    candidates = Candidates(np.array([[0, 1]], dtype=np.int32), *scores, *ranks)
    return Hybrid(candidates, pad_qrels([{0: 1}]), Conventions(), Params(depth=20), engine="qdrant")


def qdrant_score(ranks: tuple[int, int], weight: float, rrf_k: int) -> float:
    return sum(1 / (r / share + rrf_k) for r, share in zip(ranks, (1 - weight, weight), strict=True) if r)


def sign_changes(one: tuple[int, int], other: tuple[int, int], rrf_k: int) -> list[tuple[float, float]]:
    """Between which weights of a grid that misses .5 the better of two documents changes."""
    grid = [(i + 0.25) / 300 for i in range(300)]
    ahead = [qdrant_score(one, w, rrf_k) > qdrant_score(other, w, rrf_k) for w in grid]
    return [(grid[i], grid[i + 1]) for i in range(299) if ahead[i] != ahead[i + 1]]


def test_qdrants_rrf_crosses_up_to_three_times_and_the_profile_has_every_crossing() -> None:
    places = [(r, s) for r in range(6) for s in range(6) if r or s]
    thrice = 0
    for one, other in itertools.combinations(places, 2):
        changes = sign_changes(one, other, 10)
        assert len(changes) <= 3
        hybrid, params = two_documents(one, other), Params(fusion="rrf", rrf_k=10, depth=20)
        points = assert_profile_is_direct(hybrid, params, Measure("MRR", None), None, [i / 97 for i in range(1, 97)])
        for low, high in changes:
            assert ((points > low) & (points < high)).sum() == 1, (one, other, low)
        thrice += len(changes) == 3
    assert thrice > 0


def test_qdrants_mirrored_ranks_cross_at_one_half_too() -> None:
    """Ranks 1, 2 and 2, 1 are level at .5 whatever the constant; at the constant 20 they cross on both sides of it as well."""
    hybrid = two_documents((1, 2), (2, 1))
    _, lines, columns = hybrid.setting(Params(fusion="rrf", rrf_k=20, depth=20))
    (profiles,) = profile_cuts(lines, columns, hybrid.judgements, Measure("MRR", None), [None])
    assert len(sign_changes((1, 2), (2, 1), 20)) == 3
    assert profiles.points.size == 5
    assert profiles.points == pytest.approx(1 - profiles.points[::-1], abs=1e-12)
    assert profiles.points[2] == pytest.approx(0.5, abs=1e-12)


# --- configs --------------------------------------------------------------------------------------------------------

COLLECTION = {"corpus": "c", "queries": "q", "qrels": "r"}


def parse(**data: Any) -> Config:
    return parse_config({"name": "x", "collection": COLLECTION, **data})


def problems_of(**data: Any) -> tuple[str, ...]:
    with pytest.raises(HarnessError) as caught:
        parse(**data)
    return caught.value.problems


@pytest.mark.parametrize("engine", NAMES)
def test_a_config_has_the_engines_defaults(engine: str) -> None:
    config = parse(engine=engine)
    assert (config.engine, config.fusion, config.rrf_k) == (engine, NAMES[engine][0], DEFAULT_RRF_K[engine])
    assert parse_config(config.model_dump()) == config


def test_without_an_engine_the_harness_has_its_own() -> None:
    assert (parse().engine, parse(engine=None).fusion, parse().rrf_k) == (None, "minmax", 60)


@pytest.mark.parametrize(("engine", "fusion"), EVERY)
def test_every_fusion_of_an_engine_is_taken(engine: str, fusion: str) -> None:
    space = {"top_k": [3, 5]} if (engine, fusion) in UNWEIGHTED else {"semantic_weight": {"low": 0, "high": 1}}
    config = parse(engine=engine, fusion=fusion, current={"fusion": fusion}, search={"space": {**space, "fusion": [fusion]}})
    assert (config.fusion, config.search.space["fusion"]) == (fusion, [fusion])


@pytest.mark.parametrize("written", ["elasticserch", "Elasticsearch", "elastic search"])
def test_an_unknown_engine_is_refused_with_the_nearest(written: str) -> None:
    (problem,) = problems_of(engine=written)
    assert problem.startswith("engine: ") and problem.endswith("nearest: elasticsearch")


def test_an_unknown_engine_makes_no_problem_of_its_own_fusions() -> None:
    (problem,) = problems_of(engine="opensaerch", fusion="z_score")
    assert problem.startswith("engine: ")


FOREIGN_FUSIONS = [
    ("elasticsearch", "theoretical", "minmax"),
    ("elasticsearch", "zscore", "minmax"),
    ("elasticsearch", "dbsf", "minmax"),
    ("elasticsearch", "l2", "l2_norm"),
    ("weaviate", "theoretical", "relativeScoreFusion"),
    ("weaviate", "rrf", "rankedFusion"),
    ("langchain", "minmax", "rrf"),
    ("azure", "none", "rrf"),
    ("opensearch", "zscore", "z_score"),
    ("opensearch", "minmax", "min_max"),
    ("qdrant", "minmax", "dbsf"),
    ("vespa", "minmax", "normalize_linear"),
    ("vespa", "rankedFusion", "reciprocal_rank"),
    ("llamaindex", "dbsf", "dist_based_score"),
    ("llamaindex", "rrf", "reciprocal_rerank"),
    ("haystack", "none", "merge"),
    ("haystack", "rrf", "reciprocal_rank_fusion"),
]


@pytest.mark.parametrize(("engine", "fusion", "nearest"), FOREIGN_FUSIONS)
def test_a_fusion_that_the_engine_lacks_is_refused_with_the_nearest(engine: str, fusion: str, nearest: str) -> None:
    assert nearest_fusion(fusion, engine) == nearest
    for data, place in (
        ({"fusion": fusion}, "fusion"),
        ({"current": {"fusion": fusion}}, "current.fusion"),
        ({"search": {"space": {"fusion": [fusion]}}}, "search.space.fusion.0"),
    ):
        (problem,) = problems_of(engine=engine, **data)
        assert problem.startswith(f"{place}: ") and problem.endswith(f"nearest: {nearest}")
        assert ENGINES[engine].title in problem and repr(fusion) in problem


@pytest.mark.parametrize(("engine", "fusion", "_"), [case for case in FOREIGN_FUSIONS if case[1] in FUSIONS])
def test_the_same_fusion_is_the_harnesss_own_without_an_engine(engine: str, fusion: str, _: str) -> None:
    assert parse(fusion=fusion).fusion == fusion


@pytest.mark.parametrize(
    ("engine", "fusion", "nearest"),
    [("haystack", "reciprocal_rank_fusio", "reciprocal_rank_fusion"), ("opensearch", "l2+harmonic", "l2+harmonic_mean")],
)
def test_a_misspelt_fusion_is_refused_with_the_name_that_was_meant(engine: str, fusion: str, nearest: str) -> None:
    (problem,) = problems_of(engine=engine, fusion=fusion)
    assert problem.endswith(f"nearest: {nearest}")


@pytest.mark.parametrize(
    ("engine", "rrf_k", "nearest"),
    [
        ("weaviate", 60, 59),
        ("llamaindex", 60, 59),
        ("azure", 59, 60),
        ("haystack", 61, 60),
        ("opensearch", 10_001, 10_000),
    ],
)
def test_a_constant_that_the_engine_cannot_have_is_refused_everywhere_with_the_nearest(
    engine: str, rrf_k: int, nearest: int
) -> None:
    for data, places in (
        ({"rrf_k": rrf_k}, ["rrf_k"]),
        ({"current": {"rrf_k": rrf_k}}, ["current.rrf_k"]),
        ({"search": {"space": {"rrf_k": rrf_k}}}, ["search.space.rrf_k"]),
        ({"search": {"space": {"rrf_k": [nearest, rrf_k]}}}, ["search.space.rrf_k.1"]),
    ):
        problems = problems_of(engine=engine, **data)
        assert [problem.split(": ")[0] for problem in problems] == places
        assert all(problem.endswith(f"nearest: {nearest}") for problem in problems)


def test_opensearchs_constant_goes_from_1_to_10000() -> None:
    assert parse(engine="opensearch", rrf_k=1).rrf_k == 1
    assert parse(engine="opensearch", rrf_k=10_000).rrf_k == 10_000
    (problem,) = problems_of(engine="opensearch", rrf_k=0)
    assert problem.startswith("rrf_k: ")
    (problem,) = problems_of(engine="opensearch", search={"space": {"rrf_k": {"low": 1, "high": 20_000}}})
    assert problem.startswith("search.space.rrf_k.high: ") and problem.endswith("nearest: 10000")


def test_a_fixed_constant_takes_no_range() -> None:
    low, high = problems_of(engine="azure", search={"space": {"rrf_k": {"low": 1, "high": 100}}})
    assert low.startswith("search.space.rrf_k.low: ") and high.startswith("search.space.rrf_k.high: ")
    assert low.endswith("nearest: 60") and high.endswith("nearest: 60") and "fixed" in low


NEAREST_WEIGHTED = {"haystack": "reciprocal_rank_fusion", "llamaindex": "relative_score", "qdrant": "rrf"}


@pytest.mark.parametrize(("engine", "fusion"), sorted(UNWEIGHTED))
def test_a_weight_where_the_fusion_takes_none_is_refused_with_the_nearest(engine: str, fusion: str) -> None:
    nearest = NEAREST_WEIGHTED[engine]
    searched = {"semantic_weight": {"low": 0, "high": 1}}
    for data, place in (
        ({"fusion": fusion}, "search.space.semantic_weight"),  # the default space searches it
        ({"fusion": fusion, "search": {"space": searched}}, "search.space.semantic_weight"),
        ({"fusion": fusion, "search": {"space": {"semantic_weight": [0.5, 0.6]}}}, "search.space.semantic_weight"),
        ({"search": {"space": {**searched, "fusion": [nearest, fusion]}}}, "search.space.fusion.1"),
        ({"search": {"space": {**searched, "fusion": fusion}}}, "search.space.fusion"),
        ({"fusion": fusion, "semantic_weight": 0.3, "search": {"space": {"top_k": [3, 5]}}}, "semantic_weight"),
        ({"current": {"fusion": fusion, "semantic_weight": 0.3}}, "current.semantic_weight"),
    ):
        (problem,) = problems_of(engine=engine, **data)
        assert problem.startswith(f"{place}: ") and problem.endswith(f"takes no weights; nearest: {nearest}"), data


@pytest.mark.parametrize(("engine", "fusion"), sorted(UNWEIGHTED))
def test_a_fusion_without_weights_is_taken_at_one_half(engine: str, fusion: str) -> None:
    for space in ({"top_k": [3, 5]}, {"semantic_weight": 0.5}, {"fusion": [fusion, NAMES[engine][0]], "top_k": [3, 5]}):
        assert parse(engine=engine, fusion=fusion, search={"space": space}).fusion == fusion
    assert parse(engine=engine, current={"fusion": fusion}).kept.fusion == fusion


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"depth": 5}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"current": {"top_k": 101}}, "current.top_k"),
        ({"current": {"depth": 5}}, "current.top_k"),
        ({"depth": 10, "search": {"space": {"top_k": {"low": 3, "high": 15}}}}, "search.space.top_k"),
        ({"search": {"space": {"top_k": [3, 15], "depth": [10, 100]}}}, "search.space.top_k"),
    ],
)
def test_elasticsearch_takes_no_k_above_the_depth(data: dict[str, Any], place: str) -> None:
    (problem,) = problems_of(engine="elasticsearch", **data)
    assert problem.startswith(f"{place}: ") and "rank_window_size" in problem
    assert parse(engine="opensearch", **data).engine == "opensearch"


def test_elasticsearch_takes_no_searched_depth_below_a_fixed_k() -> None:
    """K is 10 in every trial, and a depth of 5 is in the space."""
    (problem,) = problems_of(engine="elasticsearch", search={"space": {"depth": [5, 100]}})
    assert "rank_window_size" in problem and "10 at depth 5" in problem


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
def test_a_depth_beyond_what_the_engine_takes_is_refused(engine: str) -> None:
    assert parse(engine=engine, depth=10_000).depth == 10_000
    for data, place in (
        ({"depth": 10_001}, "depth"),
        ({"current": {"depth": 10_001}}, "current.depth"),
        ({"search": {"space": {"depth": {"low": 50, "high": 20_000}}}}, "search.space.depth.high"),
    ):
        (problem,) = problems_of(engine=engine, **data)
        assert problem.startswith(f"{place}: ") and ENGINES[engine].depth_name in problem


def test_several_things_that_the_engine_cannot_express_are_reported_together() -> None:
    found = problems_of(
        engine="llamaindex",
        rrf_k=60,
        current={"fusion": "reciprocal_rerank", "semantic_weight": 0.3, "rrf_k": 10},
        search={
            "space": {
                "semantic_weight": {"low": 0, "high": 1},
                "fusion": ["relative_score", "reciprocal_rerank"],
                "rrf_k": {"low": 1, "high": 59},
            }
        },
    )
    assert sorted(problem.split(": ")[0] for problem in found) == [
        "current.rrf_k",
        "current.semantic_weight",
        "rrf_k",
        "search.space.fusion.1",
        "search.space.rrf_k.low",
    ]


def test_every_unknown_fusion_is_reported_with_the_other_problems() -> None:
    found = problems_of(
        engine="langchain",
        fusion="minmax",
        current={"fusion": "zscore"},
        search={"trials": 0, "space": {"fusion": ["l2", "rrf"]}},
    )
    assert sorted(problem.split(": ")[0] for problem in found) == [
        "current.fusion",
        "fusion",
        "search.space.fusion.0",
        "search.trials",
    ]


def test_what_the_engine_cannot_express_is_reported_with_an_unknown_fusion() -> None:
    found = problems_of(engine="weaviate", fusion="rrf", rrf_k=60)
    assert sorted(problem.split(": ")[0] for problem in found) == ["fusion", "rrf_k"]
