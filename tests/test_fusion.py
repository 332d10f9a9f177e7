"""Fusion: the fixture's values as formulas, the cases, a slow twin of every normaliser and of the order, ranx's values."""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.candidates import merge_lists
from harness.fusion import FUSIONS, Lines, fuse, minmax, order_keys, rank_columns, raw, reciprocal, zscore
from harness.types import Candidates, RankedLists

Scores = Mapping[str, float]
needs_collections = pytest.mark.skipif(
    "HARNESS_COLLECTIONS" not in os.environ, reason="HARNESS_COLLECTIONS must name the folder of the collections"
)

KEYWORD = {"d1": 12.0, "d2": 9.0, "d3": 3.0}
SEMANTIC = {"d3": 0.82, "d4": 0.80, "d1": 0.40}


def rank_scores(scores: Scores, row_of: Mapping[str, int]) -> RankedLists:
    """A retriever's list: by score, then row."""
    ranked = sorted(scores, key=lambda doc: (-scores[doc], row_of[doc]))
    return RankedLists(
        np.array([[row_of[doc] for doc in ranked]], dtype=np.int32).reshape(1, -1),
        np.array([[scores[doc] for doc in ranked]], dtype=np.float64).reshape(1, -1),
    )


def make_candidates(keyword: Scores, semantic: Scores) -> tuple[list[str], Candidates]:
    """The document ids in row order (code-point order) and the candidates of one query."""
    doc_ids = sorted({*keyword, *semantic})
    row_of = {doc: row for row, doc in enumerate(doc_ids)}
    return doc_ids, merge_lists(rank_scores(keyword, row_of), rank_scores(semantic, row_of))


def fuse_by_hand(keyword: Scores, semantic: Scores, fusion: str, weight: float, rrf_k: int = 60) -> dict[str, float]:
    """Document → fused score, best first, of what is returned."""
    doc_ids, candidates = make_candidates(keyword, semantic)
    lines = FUSIONS[fusion](candidates, rrf_k)
    scores = fuse(lines, weight)[0]
    ranks, returned = rank_columns(order_keys(lines, weight))
    by_rank = {int(rank): column for column, rank in enumerate(ranks[0]) if rank > 0}
    assert sorted(by_rank) == list(range(1, int(returned[0]) + 1))
    return {doc_ids[candidates.rows[0, by_rank[rank]]]: float(scores[by_rank[rank]]) for rank in sorted(by_rank)}


def assert_fused(fused: Mapping[str, float], expected: Mapping[str, float]) -> None:
    """Same documents in the same order, and the same scores."""
    assert list(fused) == list(expected)
    assert fused == pytest.approx(dict(expected), abs=1e-11)


# --- the fixture ----------------------------------------------------------------------------------------------------

Q2, S4 = (9 - 3) / (12 - 3), (0.80 - 0.40) / (0.82 - 0.40)  # the only normalised scores strictly between 0 and 1


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (0, {"d1": 1, "d2": Q2, "d3": 0}),
        (0.3, {"d1": 0.7, "d2": 0.7 * Q2, "d3": 0.3, "d4": 0.3 * S4}),
        (0.5, {"d1": 0.5, "d3": 0.5, "d4": 0.5 * S4, "d2": 0.5 * Q2}),
        (0.7, {"d3": 0.7, "d4": 0.7 * S4, "d1": 0.3, "d2": 0.3 * Q2}),
        (1, {"d3": 1, "d4": S4, "d1": 0}),
    ],
)
def test_minmax_gives_the_fixtures_values_at_every_weight(weight: float, expected: dict[str, float]) -> None:
    assert_fused(fuse_by_hand(KEYWORD, SEMANTIC, "minmax", weight), expected)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (0, {"d1": 1 / 61, "d2": 1 / 62, "d3": 1 / 63}),
        (0.3, {"d1": 0.7 / 61 + 0.3 / 63, "d3": 0.7 / 63 + 0.3 / 61, "d2": 0.7 / 62, "d4": 0.3 / 62}),
        (0.5, {"d1": 0.5 / 61 + 0.5 / 63, "d3": 0.5 / 63 + 0.5 / 61, "d2": 0.5 / 62, "d4": 0.5 / 62}),
        (1, {"d3": 1 / 61, "d4": 1 / 62, "d1": 1 / 63}),
    ],
)
def test_rrf_gives_the_fixtures_values_at_every_weight(weight: float, expected: dict[str, float]) -> None:
    assert_fused(fuse_by_hand(KEYWORD, SEMANTIC, "rrf", weight), expected)


def half(keyword: float, semantic: float) -> float:
    return 0.5 * keyword + 0.5 * semantic


def test_theoretical_at_one_half_of_the_fixture() -> None:
    s = {doc: (score + 1) / (0.82 + 1) for doc, score in SEMANTIC.items()}
    expected = {"d1": half(1, s["d1"]), "d3": half(3 / 12, 1), "d4": half(0, s["d4"]), "d2": half(9 / 12, 0)}
    fused = fuse_by_hand(KEYWORD, SEMANTIC, "theoretical", 0.5)
    assert_fused(fused, expected)
    assert fused == pytest.approx({"d1": 0.884615, "d2": 0.375, "d3": 0.625, "d4": 0.494505}, abs=5e-7)


def test_dbsf_at_one_half_of_the_fixture_has_the_sample_deviation() -> None:
    q, s = slow_dbsf(KEYWORD), slow_dbsf(SEMANTIC)
    expected = {"d1": half(q["d1"], s["d1"]), "d3": half(q["d3"], s["d3"]), "d4": half(0, s["d4"]), "d2": half(q["d2"], 0)}
    fused = fuse_by_hand(KEYWORD, SEMANTIC, "dbsf", 0.5)
    assert_fused(fused, expected)
    assert fused == pytest.approx({"d1": 0.476600, "d2": 0.268185, "d3": 0.460663, "d4": 0.294552}, abs=5e-7)


def test_l2_at_one_half_of_the_fixture() -> None:
    q, s = math.hypot(12, 9, 3), math.hypot(0.82, 0.80, 0.40)
    expected = {"d1": half(12 / q, 0.40 / s), "d3": half(3 / q, 0.82 / s), "d4": half(0, 0.80 / s), "d2": half(9 / q, 0)}
    fused = fuse_by_hand(KEYWORD, SEMANTIC, "l2", 0.5)
    assert_fused(fused, expected)
    assert fused == pytest.approx({"d1": 0.557055, "d2": 0.294174, "d3": 0.435945, "d4": 0.329645}, abs=5e-7)


def test_zscore_at_one_half_of_the_fixture_gives_a_missing_document_the_lists_minimum() -> None:
    q, s = slow_zscore(KEYWORD), slow_zscore(SEMANTIC)
    expected = {
        "d1": half(q["d1"], s["d1"]),
        "d3": half(q["d3"], s["d3"]),
        "d4": half(q["d3"], s["d4"]),  # d3 is the keyword list's last
        "d2": half(q["d2"], s["d1"]),  # d1 is the semantic list's last
    }
    fused = fuse_by_hand(KEYWORD, SEMANTIC, "zscore", 0.5)
    assert_fused(fused, expected)
    assert fused == pytest.approx({"d1": -0.171954, "d2": -0.572846, "d3": -0.289068, "d4": -0.340761}, abs=5e-7)


def test_none_adds_the_raw_scores() -> None:
    expected = {"d1": half(12, 0.40), "d2": half(9, 0), "d3": half(3, 0.82), "d4": half(0, 0.80)}
    assert_fused(fuse_by_hand(KEYWORD, SEMANTIC, "none", 0.5), expected)


# --- cases U1 … U12 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [{"a": 2.0, "b": 2.0, "c": 2.0}, {"a": 7.3}, {"a": 0.0}, {"a": -1.5, "b": -1.5}])
def test_u1_a_constant_list_gives_1_by_minmax(scores: dict[str, float]) -> None:
    assert fuse_by_hand(scores, {}, "minmax", 0) == dict.fromkeys(scores, 1.0)
    assert fuse_by_hand({}, scores, "minmax", 1) == dict.fromkeys(scores, 1.0)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 7.3, 1e-9, -2.2])
@pytest.mark.parametrize("copies", [1, 3, 7])
def test_u1_a_constant_list_gives_the_documented_constant_by_each_fusion(value: float, copies: int) -> None:
    """However the mean of equal numbers rounds: 0 by zscore, .5 by dbsf, 1 by minmax, 1 / sqrt(n) by l2, never NaN."""
    scores = {f"d{i}": value for i in range(copies)}
    assert fuse_by_hand(scores, {}, "zscore", 0) == dict.fromkeys(scores, 0.0)
    assert fuse_by_hand(scores, {}, "dbsf", 0) == dict.fromkeys(scores, 0.5)
    assert fuse_by_hand(scores, {}, "minmax", 0) == dict.fromkeys(scores, 1.0)
    by_l2 = math.copysign(1 / math.sqrt(copies), value)
    assert fuse_by_hand(scores, {}, "l2", 0) == pytest.approx(dict.fromkeys(scores, by_l2))
    assert fuse_by_hand(scores, {}, "theoretical", 0) == dict.fromkeys(scores, 1.0)


def test_u1_a_single_keyword_hit_can_win_at_weight_0() -> None:
    assert fuse_by_hand({"z": 7.3}, {"a": 0.9, "b": 0.5}, "minmax", 0) == {"z": 1.0}
    assert next(iter(fuse_by_hand({"z": 7.3}, {"a": 0.9, "b": 0.5}, "minmax", 0.4))) == "z"


def test_u2_a_missing_document_adds_exactly_0_after_normalisation() -> None:
    fused = fuse_by_hand({"a": 1, "b": 2}, {"a": 0.5, "c": 0.9}, "minmax", 0.5)
    assert list(fused.items()) == [("b", 0.5), ("c", 0.5), ("a", 0.0)]


def test_minmax_gives_the_last_candidate_0_level_with_a_missing_one() -> None:
    fused = fuse_by_hand({"a": 3, "b": 2, "last": 1}, {"a": 0.5, "other": 0.4}, "minmax", 0.5)
    assert fused["last"] == fused["other"] == 0


def test_u4_rrf_counts_ranks_from_1() -> None:
    """U4: with weights 1 and 1, twice what the weight .5 gives."""
    semantic, keyword = {"X": 3, "a": 2, "Y": 1}, {"b": 3, "c": 2, "Y": 1}
    fused = {doc: 2 * score for doc, score in fuse_by_hand(keyword, semantic, "rrf", 0.5).items()}
    assert_fused(fused, {"Y": 1 / 63 + 1 / 63, "X": 1 / 61, "b": 1 / 61, "a": 1 / 62, "c": 1 / 62})


def test_u4_at_constant_1_the_document_of_both_lists_is_first() -> None:
    semantic, keyword = {"X": 3, "m": 2, "Y": 1}, {"n": 3, "Y": 2, "o": 1}
    fused = {doc: 2 * score for doc, score in fuse_by_hand(keyword, semantic, "rrf", 0.5, rrf_k=1).items()}
    assert_fused(fused, {"Y": 1 / 4 + 1 / 3, "X": 1 / 2, "n": 1 / 2, "m": 1 / 3, "o": 1 / 4})


@pytest.mark.parametrize("fusion", FUSIONS)
def test_u8_weight_1_is_semantic_only_and_weight_0_keyword_only(fusion: str) -> None:
    """Each end is that retriever's own list in its own order; nothing is padded from the other."""
    assert list(fuse_by_hand(KEYWORD, SEMANTIC, fusion, 1)) == ["d3", "d4", "d1"]
    assert list(fuse_by_hand(KEYWORD, SEMANTIC, fusion, 0)) == ["d1", "d2", "d3"]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_u8_the_semantic_side_gains_as_the_weight_grows(fusion: str) -> None:
    keyword, semantic = {"k": 0.9, "s": 0.1}, {"s": 0.9, "k": 0.1}
    assert list(fuse_by_hand(keyword, semantic, fusion, 0.1)) == ["k", "s"]
    assert list(fuse_by_hand(keyword, semantic, fusion, 0.9)) == ["s", "k"]


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("weight", [0, 0.5, 1])
def test_u12_two_documents_that_score_alike_are_two_candidates(fusion: str, weight: float) -> None:
    """U12: the same text twice has the same scores; identity is the id, and the lower id comes first."""
    same = {"d2": 4.0, "d1": 4.0}
    assert list(fuse_by_hand(same, {"d1": 0.7, "d2": 0.7, "d0": 0.1}, fusion, weight))[:2] == ["d1", "d2"]


# --- odd lists ------------------------------------------------------------------------------------------------------


def test_theoretical_counts_a_bm25_score_below_0_as_0() -> None:
    assert fuse_by_hand({"a": 2, "b": -1}, {}, "theoretical", 0) == {"a": 1, "b": 0}
    assert fuse_by_hand({"a": -1, "b": -2}, {}, "theoretical", 0) == {"a": 1, "b": 1}


def test_theoretical_of_a_list_at_its_lowest_possible_score_gives_1() -> None:
    assert fuse_by_hand({"a": 0.0}, {}, "theoretical", 0) == {"a": 1}
    assert fuse_by_hand({}, {"a": -1.0}, "theoretical", 1) == {"a": 1}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_an_empty_list_adds_0(fusion: str) -> None:
    alone = fuse_by_hand({}, SEMANTIC, fusion, 1)
    mixed = fuse_by_hand({}, SEMANTIC, fusion, 0.25)
    assert_fused(mixed, {doc: 0.25 * score for doc, score in alone.items()})


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("weight", [0, 0.5, 1])
def test_two_empty_lists_return_nothing(fusion: str, weight: float) -> None:
    assert fuse_by_hand({}, {}, fusion, weight) == {}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_an_empty_list_alone_returns_nothing(fusion: str) -> None:
    assert fuse_by_hand({}, SEMANTIC, fusion, 0) == {}
    assert fuse_by_hand(KEYWORD, {}, fusion, 1) == {}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_queries_do_not_touch_each_other(fusion: str) -> None:
    """A query's lines are the same beside another query's much longer or empty lists."""
    row_of = {f"d{i}": i for i in range(6)}
    both = [rank_scores(scores, row_of) for scores in (KEYWORD, SEMANTIC)]
    padded = []
    for lists, other in zip(both, ([5, 4, 3, 2, 1], [0]), strict=True):
        rows, scores = np.full((3, 5), -1, dtype=np.int32), np.full((3, 5), np.nan)
        rows[0, :3], scores[0, :3] = lists.rows[0], lists.scores[0]
        rows[1, : len(other)], scores[1, : len(other)] = other, np.linspace(900, 100, len(other))
        padded.append(RankedLists(rows, scores))
    alone = FUSIONS[fusion](merge_lists(*both), 60)
    beside = FUSIONS[fusion](merge_lists(*padded), 60)
    for weight in (0, 0.3, 1):
        width = alone.keyword_end.shape[1]
        assert np.array_equal(fuse(beside, weight)[0, :width], fuse(alone, weight)[0])
        assert (fuse(beside, weight)[0, width:] == -np.inf).all()
        assert (fuse(beside, weight)[2] == -np.inf).all()


# --- ties and the order ---------------------------------------------------------------------------------------------


def make_lines(ends: list[tuple[float, float]]) -> Lines:
    """Documents that both lists hold, with these ends."""
    keyword, semantic = (np.array([[pair[side] for pair in ends]], dtype=np.float64) for side in (0, 1))
    ranks = [1 + np.argsort(np.argsort(-end, kind="stable"), kind="stable").astype(np.int32) for end in (keyword, semantic)]
    return Lines(keyword, semantic, *ranks)


def test_sums_that_are_equal_as_fractions_tie() -> None:
    """.9 · .7 + .1 · .7 = .7 in decimals, and not in floats: the score is rounded to 12 decimals, the lower row first."""
    weight = 0.1
    assert (1 - weight) * 0.7 + weight * 0.7 != (1 - weight) * 0.6 + weight * 1.6
    lines = make_lines([(0.6, 1.6), (0.7, 0.7)])
    scores = fuse(lines, weight)[0]
    assert scores[0] == scores[1] == 0.7
    assert rank_columns(order_keys(lines, weight))[0].tolist() == [[1, 2]]
    swapped = make_lines([(0.7, 0.7), (0.6, 1.6)])
    assert rank_columns(order_keys(swapped, weight))[0].tolist() == [[1, 2]]


def test_scores_that_differ_in_the_twelfth_decimal_do_not_tie() -> None:
    lines = make_lines([(0.5, 0.5), (0.5 + 4e-12, 0.5)])
    assert rank_columns(order_keys(lines, 0.5))[0].tolist() == [[2, 1]]


ends = st.lists(st.tuples(*[st.fractions(0, 1, max_denominator=12).map(float)] * 2), min_size=1, max_size=14)
inner_weights = st.one_of(st.floats(0.001, 0.999), st.fractions(0, 1, max_denominator=20).map(float).filter(lambda w: 0 < w < 1))


@given(ends, inner_weights)
def test_the_order_is_by_rounded_score_then_row(pairs: list[tuple[float, float]], weight: float) -> None:
    scores = [(1 - weight) * keyword + weight * semantic for keyword, semantic in pairs]
    assume(all(abs(score * 1e12 % 1 - 0.5) > 0.01 for score in scores))  # where the last decimal is a matter of opinion
    expected = sorted(range(len(pairs)), key=lambda row: (-round(scores[row], 12), row))
    ranks, returned = rank_columns(order_keys(make_lines(pairs), weight))
    assert [int(row) for row in np.argsort(ranks[0])] == expected
    assert returned.tolist() == [len(pairs)]


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_at_the_ends_the_order_is_the_lists_own(keyword: list[int], semantic: list[int]) -> None:
    """Even where the ends would tie: rank r of the list is rank r of the result."""
    ranks = [np.array([[order.index(row) + 1 for row in range(6)]], dtype=np.int32) for order in (keyword, semantic)]
    lines = Lines(np.ones((1, 6)), np.ones((1, 6)), *ranks)
    assert np.array_equal(rank_columns(order_keys(lines, 0))[0], ranks[0])
    assert np.array_equal(rank_columns(order_keys(lines, 1))[0], ranks[1])


# --- against slow twins ---------------------------------------------------------------------------------------------


def slow_minmax(scores: Scores) -> dict[str, float]:
    low, high = min(scores.values()), max(scores.values())
    return {doc: (x - low) / (high - low) if high > low else 1.0 for doc, x in scores.items()}


def slow_theoretical(scores: Scores, floor: float) -> dict[str, float]:
    high = max(max(scores.values()), floor)
    return {doc: (max(x, floor) - floor) / (high - floor) if high > floor else 1.0 for doc, x in scores.items()}


def slow_zscore(scores: Scores) -> dict[str, float]:
    mean, deviation = statistics.fmean(scores.values()), statistics.pstdev(scores.values())
    return {doc: (x - mean) / deviation if len(set(scores.values())) > 1 else 0.0 for doc, x in scores.items()}


def slow_dbsf(scores: Scores) -> dict[str, float]:
    if len(set(scores.values())) == 1:
        return dict.fromkeys(scores, 0.5)
    mean, deviation = statistics.fmean(scores.values()), statistics.stdev(scores.values())
    return {doc: (x - (mean - 3 * deviation)) / (6 * deviation) for doc, x in scores.items()}


def slow_l2(scores: Scores) -> dict[str, float]:
    norm = math.hypot(*scores.values())
    return {doc: x / norm if norm else 0.0 for doc, x in scores.items()}


def slow_rrf(scores: Scores, rrf_k: int) -> dict[str, float]:
    ranked = sorted(scores, key=lambda doc: (-scores[doc], doc))
    return {doc: 1 / (rrf_k + rank) for rank, doc in enumerate(ranked, 1)}


def slow_ends(scores: Scores, fusion: str, side: str, rrf_k: int) -> dict[str, float]:
    if not scores:
        return {}
    normalise: dict[str, Callable[[Scores], dict[str, float]]] = {
        "minmax": slow_minmax,
        "theoretical": lambda x: slow_theoretical(x, 0.0 if side == "keyword" else -1.0),
        "zscore": slow_zscore,
        "dbsf": slow_dbsf,
        "l2": slow_l2,
        "none": dict,
        "rrf": lambda x: slow_rrf(x, rrf_k),
    }
    return normalise[fusion](scores)


def slow_fuse(keyword: Scores, semantic: Scores, fusion: str, weight: float, rrf_k: int) -> dict[str, float]:
    q, s = slow_ends(keyword, fusion, "keyword", rrf_k), slow_ends(semantic, fusion, "semantic", rrf_k)
    if weight in (0, 1):
        return q if weight == 0 else s
    missing_q, missing_s = ((min(e.values(), default=0.0) if fusion == "zscore" else 0.0) for e in (q, s))
    return {doc: (1 - weight) * q.get(doc, missing_q) + weight * s.get(doc, missing_s) for doc in {*keyword, *semantic}}


documents = st.sampled_from([f"d{i}" for i in range(8)])
keyword_scores = st.dictionaries(documents, st.integers(-3, 30).map(lambda n: n / 2), max_size=8)
semantic_scores = st.dictionaries(documents, st.integers(-20, 20).map(lambda n: n / 20), max_size=8)
weights = st.one_of(st.sampled_from([0.0, 1.0]), inner_weights)


@pytest.mark.parametrize("fusion", FUSIONS)
@given(keyword_scores, semantic_scores, weights, st.integers(1, 100))
def test_every_fusion_equals_its_slow_twin(
    fusion: str, keyword: dict[str, float], semantic: dict[str, float], weight: float, rrf_k: int
) -> None:
    fused = fuse_by_hand(keyword, semantic, fusion, weight, rrf_k)
    expected = slow_fuse(keyword, semantic, fusion, weight, rrf_k)
    assert fused == pytest.approx(expected, abs=1e-10)
    in_order = list(fused.values())
    assert all(before >= after for before, after in itertools.pairwise(in_order))


# --- invariants -----------------------------------------------------------------------------------------------------


@given(keyword_scores, semantic_scores, weights, st.integers(1, 100), st.sampled_from(["cube", "exp", "shift"]))
def test_a_monotone_change_of_scores_leaves_rrf_alone(
    keyword: dict[str, float], semantic: dict[str, float], weight: float, rrf_k: int, change: str
) -> None:
    change_of: dict[str, Callable[[float], float]] = {"cube": lambda x: x**3, "exp": math.exp, "shift": lambda x: 5 * x - 1000}
    changed = [{doc: change_of[change](x) for doc, x in scores.items()} for scores in (keyword, semantic)]
    before = fuse_by_hand(keyword, semantic, "rrf", weight, rrf_k)
    assert list(fuse_by_hand(*changed, "rrf", weight, rrf_k).items()) == list(before.items())


@given(keyword_scores, keyword_scores, weights, st.integers(1, 50), st.integers(-50, 50))
def test_a_scale_and_a_shift_of_scores_leave_minmax_alone(
    keyword: dict[str, float], semantic: dict[str, float], weight: float, scale: int, shift: int
) -> None:
    """Half integers, so that scale and shift are exact in floats and the result is the same to the last bit."""
    changed = [{doc: scale * x + shift for doc, x in scores.items()} for scores in (keyword, semantic)]
    before = fuse_by_hand(keyword, semantic, "minmax", weight)
    assert list(fuse_by_hand(*changed, "minmax", weight).items()) == list(before.items())


@given(keyword_scores, semantic_scores, weights, st.integers(1, 50))
def test_a_scale_of_scores_leaves_l2_alone(
    keyword: dict[str, float], semantic: dict[str, float], weight: float, scale: int
) -> None:
    changed = [{doc: scale * x for doc, x in scores.items()} for scores in (keyword, semantic)]
    before = fuse_by_hand(keyword, semantic, "l2", weight)
    assert fuse_by_hand(*changed, "l2", weight) == pytest.approx(before, abs=1e-10)


@pytest.mark.parametrize("fusion", FUSIONS)
@given(keyword_scores, semantic_scores, inner_weights)
def test_between_the_ends_every_candidate_is_returned(
    fusion: str, keyword: dict[str, float], semantic: dict[str, float], weight: float
) -> None:
    assert set(fuse_by_hand(keyword, semantic, fusion, weight)) == {*keyword, *semantic}


@pytest.mark.parametrize("fusion", FUSIONS)
@given(keyword_scores, semantic_scores, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_candidate_is_a_line_in_the_weight(
    fusion: str, keyword: dict[str, float], semantic: dict[str, float], one: float, other: float
) -> None:
    """The score at the middle of two weights is the mean of the scores at the two."""
    at_one, at_other, at_middle = (fuse_by_hand(keyword, semantic, fusion, weight) for weight in (one, other, (one + other) / 2))
    assert at_middle == pytest.approx({doc: (at_one[doc] + at_other[doc]) / 2 for doc in at_one}, abs=1e-11)


@pytest.mark.parametrize("fusion", FUSIONS)
@given(keyword_scores, semantic_scores, weights)
def test_fusing_leaves_its_inputs_unchanged(
    fusion: str, keyword: dict[str, float], semantic: dict[str, float], weight: float
) -> None:
    assume(keyword or semantic)
    _, candidates = make_candidates(keyword, semantic)
    lines = FUSIONS[fusion](candidates, 60)
    arrays = [a for a in (*vars(candidates).values(), *vars(lines).values()) if isinstance(a, np.ndarray)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    FUSIONS[fusion](candidates, 60)
    fuse(lines, weight)
    rank_columns(order_keys(lines, weight))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, before, strict=True))


# --- foreign values from a folder -----------------------------------------------------------------------------------


def as_arrays(scores: Scores, doc_ids: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One list's scores, whether it holds each document, and its ranks; (1, n_documents) each."""
    x = np.array([[scores.get(doc, np.nan) for doc in doc_ids]])
    ranked = sorted(scores, key=lambda doc: (-scores[doc], doc))
    ranks = np.array([[ranked.index(doc) + 1 if doc in scores else 0 for doc in doc_ids]], dtype=np.int32)
    return x, ranks > 0, ranks


@needs_collections
@pytest.mark.parametrize("query", ["q1", "q2"])
def test_ranx_gave_these_sums_of_three_lists(query: str) -> None:
    """RRF and weighted raw scores as ranx; min-max and z-score where its rule for a list of one does not show.

    ranx gives 0 to the only document of a list (here d3 of run_3 in q1), these rules 1; both give 0 by z-score. A
    document that a list lacks adds 0 in ranx's z-score, so only what is held is summed here.
    """
    case = json.loads((Path(os.environ["HARNESS_COLLECTIONS"]) / "trec_eval_cases/ranx_fusion/cases.json").read_text())
    lists = [case["inputs"][run][query] for run in ("run_1", "run_2", "run_3")]
    doc_ids = sorted({doc for scores in lists for doc in scores})
    each = [as_arrays(scores, doc_ids) for scores in lists]
    outputs = {name: [values[query][doc] for doc in doc_ids] for name, values in case["outputs"].items()}

    rrf = sum(reciprocal(ranks, rrf_k=60) for _, _, ranks in each)
    assert rrf[0].tolist() == pytest.approx(outputs["rrf_k60"], abs=1e-12)
    shares = (0.3, 0.2, 0.5)
    weighted = sum(share * raw(x, held) for share, (x, held, _) in zip(shares, each, strict=True))
    assert weighted[0].tolist() == pytest.approx(outputs["wsum_raw_.3_.2_.5"], abs=1e-12)
    zmuv = sum(np.where(held, zscore(x, held), 0.0) for x, held, _ in each)
    assert zmuv[0].tolist() == pytest.approx(outputs["comb_sum_zmuv"], abs=1e-12)

    several = [(share, x, held) for share, (x, held, _) in zip(shares, each, strict=True) if held.sum() > 1]
    assert len(several) == (2 if query == "q1" else 3)
    plain = sum(minmax(x, held) for _, x, held in several)
    assert plain[0].tolist() == pytest.approx(outputs["comb_sum_minmax"], abs=1e-12)
    weighted = sum(share * minmax(x, held) for share, x, held in several)
    assert weighted[0].tolist() == pytest.approx(outputs["wsum_minmax_.3_.2_.5"], abs=1e-12)
    times_lists = plain[0] * sum(held for _, held, _ in each)[0]
    assert times_lists.tolist() == pytest.approx(outputs["comb_mnz_minmax"], abs=1e-12)
