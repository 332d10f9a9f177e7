"""Labels to come, groups, and holes in the judgements: on examples small enough to work out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.candidates import merge_lists
from harness.choice import CELLS, GRID
from harness.files import pad_qrels
from harness.hybrid import Hybrid
from harness.inference import mean_interval, prompts_to_prove
from harness.insight import (
    GAINS,
    MOST_PAIRS,
    Holes,
    compare_groups,
    find_holes,
    plan_labels,
    rank_holes,
    weigh_groups,
    worst_losses,
)
from harness.measures import parse_measure, score_queries
from harness.types import Conventions, Params, RankedLists

DEPTH = 5
KEYWORD, SEMANTIC = Params(semantic_weight=0.0, depth=DEPTH), Params(semantic_weight=1.0, depth=DEPTH)


def make_hybrid(
    keyword: list[list[int]], semantic: list[list[int]], judged: list[dict[int, int]], conventions: Conventions | None = None
) -> Hybrid:
    """Both retrievers' lists as rows, best first."""
    sides = []
    for each in (keyword, semantic):
        rows, scores = np.full((len(each), DEPTH), -1, dtype=np.int32), np.full((len(each), DEPTH), np.nan)
        for i, ranked in enumerate(each):
            rows[i, : len(ranked)], scores[i, : len(ranked)] = ranked, np.arange(len(ranked), 0, -1) / 8
        sides.append(RankedLists(rows, scores))
    return Hybrid(merge_lists(*sides), pad_qrels(judged), conventions or Conventions(), Params(depth=DEPTH))


def alone(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


# --- holes -----------------------------------------------------------------------------------------------------------

# Query 0: keyword 0 1 2, semantic 2 3 0. Judged: 0 relevant, 2 not. Unjudged: 1 (keyword only), 3 (semantic only).
# Query 1: keyword 4 5, semantic 5 4. Judged: 4 relevant. Unjudged: 5 (both).
TWO = ([[0, 1, 2], [4, 5]], [[2, 3, 0], [5, 4]], [{0: 1, 2: 0}, {4: 1}])


def holes_of(measure: str, top_k: int, pick: Params = SEMANTIC, kept: Params = KEYWORD) -> Holes:
    return find_holes(make_hybrid(*TWO), Conventions(), pick, kept, parse_measure(measure), top_k)


def test_every_unjudged_document_that_either_side_returns_is_a_hole_with_its_ranks() -> None:
    holes = holes_of("Precision@3", 3)
    found = list(zip(holes.query, holes.row, holes.in_pick, holes.in_kept, strict=True))
    assert found == [(0, 1, 0, 2), (0, 3, 2, 0), (1, 5, 1, 2)]


def test_only_what_is_returned_within_top_k_counts() -> None:
    holes = holes_of("Precision@3", 1)
    assert list(zip(holes.query, holes.row, holes.in_pick, holes.in_kept, strict=True)) == [(1, 5, 1, 0)]


def test_the_change_is_what_happens_to_the_querys_difference_if_the_document_is_relevant() -> None:
    """Precision@3, pick minus kept: 1 and 3 change it by a third either way, 5 is returned by both."""
    assert holes_of("Precision@3", 3).change.tolist() == pytest.approx([-1 / 3, 1 / 3, 0], abs=1e-12)
    # MRR: query 0 is 1/3 − 1. With 1 relevant 1/3 − 1 still; with 3 relevant 1/2 − 1. Query 1: 1/2 − 1, with 5: 1 − 1.
    assert holes_of("MRR", 3).change.tolist() == pytest.approx([0, 1 / 2 - 1 / 3, 1 / 2], abs=1e-12)
    # Recall@2: query 0 is 0 − 1; with 1: 0/2 − 2/2; with 3: 1/2 − 1/2. Query 1 is 1 − 1 and stays it.
    assert holes_of("Recall@2", 3).change.tolist() == pytest.approx([0, 1, 0], abs=1e-12)


def test_the_two_bounds_fill_what_only_one_side_returns() -> None:
    """Precision@3: the two differ by a third in query 0, one way or the other; document 5 is on both sides."""
    holes = holes_of("Precision@3", 3)
    assert (holes.lowest, holes.highest) == pytest.approx((-1 / 3 / 2, 1 / 3 / 2))
    # MRR: with 1 relevant query 0 stays at 1/3 − 1, with 3 it is 1/2 − 1; query 1 stays at 1/2 − 1
    holes = holes_of("MRR", 3)
    assert (holes.lowest, holes.highest) == pytest.approx(((1 / 3 - 1 + 1 / 2 - 1) / 2, (1 / 2 - 1 + 1 / 2 - 1) / 2))


def test_two_systems_that_return_the_same_have_no_range() -> None:
    holes = holes_of("Precision@3", 3, pick=KEYWORD)
    assert (holes.lowest, holes.highest) == (0, 0)
    assert holes.change.tolist() == [0, 0]
    assert rank_holes(holes).size == 0


def test_without_holes_the_range_is_the_difference_itself() -> None:
    complete = [{0: 1, 1: 0, 2: 0, 3: 0}, {4: 1, 5: 0}]
    holes = find_holes(make_hybrid(*TWO[:2], complete), Conventions(), SEMANTIC, KEYWORD, parse_measure("MRR"), 3)
    assert holes.query.size == 0
    assert holes.lowest == holes.highest == pytest.approx(((1 / 3 - 1) + (1 / 2 - 1)) / 2)


def test_a_document_that_is_filled_in_counts_as_relevant_under_a_higher_threshold() -> None:
    conventions = Conventions(relevance_threshold=3)
    hybrid = make_hybrid([[0, 1]], [[1, 0]], [{0: 3}], conventions)
    holes = find_holes(hybrid, conventions, SEMANTIC, KEYWORD, parse_measure("Precision@1"), 1)
    assert holes.change.tolist() == pytest.approx([1.0])


def test_pairs_are_ordered_by_influence_and_those_without_any_are_left_out() -> None:
    change = np.array([0.1, 0.0, -0.5, 0.1, 1e-14, 0.2])
    query, row = np.array([1, 0, 0, 0, 1, 2], dtype=np.int32), np.array([3, 1, 2, 9, 4, 0], dtype=np.int32)
    holes = Holes(query, row, row, row, change, 0.0, 0.0)
    assert rank_holes(holes).tolist() == [2, 5, 3, 0]


def test_the_list_to_judge_is_short() -> None:
    many = np.arange(3 * MOST_PAIRS, dtype=np.int32)
    assert rank_holes(Holes(many, many, many, many, many / 100, 0.0, 0.0)).size == MOST_PAIRS


row_lists = st.lists(st.integers(0, 7), max_size=DEPTH, unique=True)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(row_lists, row_lists, st.dictionaries(st.integers(0, 8), st.integers(0, 2), min_size=1, max_size=3)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["MRR", "Precision@2", "Recall@3", "nDCG@5"]),
    st.integers(1, 5),
)
def test_the_change_equals_a_new_study_with_that_judgement_added(each: list, name: str, top_k: int) -> None:
    keyword, semantic, judged = ([query[i] for query in each] for i in range(3))
    pick, kept = replace(SEMANTIC, semantic_weight=0.7), replace(KEYWORD, semantic_weight=0.2)
    measure = parse_measure(name)
    holes = find_holes(make_hybrid(keyword, semantic, judged), Conventions(), pick, kept, measure, top_k)
    before = difference_of(make_hybrid(keyword, semantic, judged), pick, kept, name, top_k)
    for query, row, change in zip(holes.query, holes.row, holes.change, strict=True):
        added = [{**grades, int(row): 1} if q == query else grades for q, grades in enumerate(judged)]
        after = difference_of(make_hybrid(keyword, semantic, added), pick, kept, name, top_k)
        assert change == pytest.approx((after - before)[query], abs=1e-12)


def difference_of(hybrid: Hybrid, pick: Params, kept: Params, name: str, top_k: int) -> np.ndarray:
    sides = [score_queries(parse_measure(name), hybrid.rank(p).cut(top_k), hybrid.judgements) for p in (pick, kept)]
    return sides[0] - sides[1]


# --- the worst losses ------------------------------------------------------------------------------------------------


def test_the_worst_losses_name_the_relevant_documents_that_fell() -> None:
    """Keyword 0 1 2 against semantic 2 1 0, document 0 relevant: from rank 1 to rank 3. Query 1 gains, query 2 loses less."""
    hybrid = make_hybrid([[0, 1, 2], [1, 0], [0, 1]], [[2, 1, 0], [0, 1], [1, 0]], [{0: 1}, {0: 1}, {0: 1}])
    difference = difference_of(hybrid, SEMANTIC, KEYWORD, "MRR", 3)
    losses = worst_losses(hybrid, SEMANTIC, KEYWORD, difference, 3)
    assert [loss["query"] for loss in losses] == [0, 2]
    assert [loss["difference"] for loss in losses] == pytest.approx([1 / 3 - 1, 1 / 2 - 1])
    assert losses[0]["documents"] == [{"row": 0, "rank": 3, "rank_kept": 1}]


def test_a_pick_that_never_loses_has_no_losses() -> None:
    hybrid = make_hybrid([[0, 1]], [[1, 0]], [{1: 1}])
    assert worst_losses(hybrid, SEMANTIC, KEYWORD, np.array([0.5]), 3) == []
    assert worst_losses(hybrid, SEMANTIC, KEYWORD, np.array([-1e-15]), 3) == []


# --- how many labels -------------------------------------------------------------------------------------------------


def flat(n: int) -> np.ndarray:
    return np.full((n, CELLS), 0.5)


def hills(n: int, seed: int) -> np.ndarray:
    """Each prompt likes a weight of its own, around .6."""
    centres = np.random.default_rng(seed).normal(0.6, 0.15, n)
    return 1 - (GRID[None, :] - centres[:, None]) ** 2


def test_labels_give_the_half_width_now_and_the_prompts_for_every_gain() -> None:
    d = np.random.default_rng(0).normal(0.02, 0.2, 80)
    labels = plan_labels(d, hills(80, 1), alone(80), 7)
    interval = mean_interval(d, alone(80))
    assert interval is not None
    assert labels["half_width"] == pytest.approx((interval[1] - interval[0]) / 2)
    assert (labels["prompts"], labels["independent"]) == (80, 80)
    expected = {str(gain): prompts_to_prove(d, alone(80), gain) for gain in GAINS}
    assert labels["prompts_to_prove_a_gain"] == expected
    assert labels["prompts_to_prove_the_observed_gain"] == prompts_to_prove(d, alone(80), float(d.mean()))


def test_a_smaller_gain_takes_more_prompts_by_the_square() -> None:
    needed = plan_labels(np.random.default_rng(0).normal(0, 0.2, 80), hills(80, 1), alone(80), 7)["prompts_to_prove_a_gain"]
    assert needed["0.01"] == pytest.approx(4 * needed["0.02"], abs=4)
    assert needed["0.005"] == pytest.approx(100 * needed["0.05"], abs=100)


def test_a_loss_has_no_observed_gain_to_prove() -> None:
    labels = plan_labels(np.random.default_rng(0).normal(-0.1, 0.2, 80), hills(80, 1), alone(80), 7)
    assert "prompts_to_prove_the_observed_gain" not in labels


def test_pinning_the_weight_follows_the_spread_of_the_best_weight() -> None:
    """The best weight of a mean of parabolas is the mean of their centres: its half-width is 1.96 · .15 / √n."""
    for n in (50, 400):
        labels = plan_labels(np.random.default_rng(0).normal(0.02, 0.2, n), hills(n, 2), alone(n), 7)
        assert labels["weight_half_width"] == pytest.approx(1.96 * 0.15 / math.sqrt(n), rel=0.25)
    # n such that 1.96 · .15 / √n = .05: 35; the power of the fall is measured, hence the tolerance
    labels = plan_labels(np.random.default_rng(0).normal(0.02, 0.2, 20), hills(20, 3), alone(20), 7)
    assert 20 <= labels["prompts_to_pin_the_weight"] <= 110


def test_copies_in_one_cluster_do_not_pin_the_weight_better() -> None:
    d, scores, units = np.random.default_rng(0).normal(0.02, 0.2, 30), hills(30, 4), alone(30)
    once = plan_labels(d, scores, units, 7)
    threefold = plan_labels(np.repeat(d, 3), np.repeat(scores, 3, axis=0), np.repeat(units, 3), 7)
    assert threefold["weight_half_width"] == pytest.approx(once["weight_half_width"])
    assert threefold["half_width"] == pytest.approx(once["half_width"])
    assert (threefold["prompts"], threefold["independent"]) == (90, 30)


@pytest.mark.parametrize(
    ("d", "scores", "units"),
    [
        (np.array([0.1]), flat(1), [0]),
        (np.zeros(5), flat(5), [0, 0, 0, 0, 0]),
        (np.zeros(12), flat(12), range(12)),
        (np.full(12, 0.25), flat(12), range(12)),
        (np.full(3, -0.25), hills(3, 0), range(3)),
    ],
    ids=["one prompt", "one cluster", "no difference", "one difference", "three"],
)
def test_labels_are_finite_and_leave_out_what_cannot_be_said(d: np.ndarray, scores: np.ndarray, units: list[int]) -> None:
    labels = plan_labels(d, scores, np.array(list(units), dtype=np.int32), 7)
    numbers = [v for v in labels.values() if not isinstance(v, dict)] + list(labels["prompts_to_prove_a_gain"].values())
    assert all(v is not None and math.isfinite(v) for v in numbers)
    assert labels["prompts_to_prove_a_gain"] == {}, "no spread, no number"
    assert ("half_width" in labels) == (len(set(units)) > 1)


# --- groups ----------------------------------------------------------------------------------------------------------


def test_groups_by_hand() -> None:
    scores = np.stack([1 - np.abs(GRID - 0.2), 1 - np.abs(GRID - 0.2), 1 - np.abs(GRID - 0.8)])
    pick, other = np.array([0.5, 0.25, 1.0]), np.array([0.25, 0.25, 1.5])
    table = compare_groups(["b", "b", "a"], pick, {"equal": other}, scores)
    assert list(table) == ["a", "b"]
    assert table["b"]["prompts"] == 2 and table["b"]["pick"] == pytest.approx(0.375)
    assert table["b"]["equal"] == {"mean": 0.25, "difference": 0.125, "wins": 1, "ties": 1, "losses": 0}
    assert table["a"]["equal"] == {"mean": 1.5, "difference": -0.5, "wins": 0, "ties": 0, "losses": 1}
    assert table["b"]["best_weight"] == pytest.approx(0.2, abs=1 / CELLS)
    assert table["a"]["best_weight"] == pytest.approx(0.8, abs=1 / CELLS)


def opposite_groups(n: int, gap: float) -> tuple[list[str], np.ndarray]:
    """Half of the prompts do best at .5 − gap, half at .5 + gap."""
    groups = ["left", "right"] * (n // 2)
    centres = np.array([0.5 - gap if group == "left" else 0.5 + gap for group in groups])
    centres += np.random.default_rng(5).normal(0, 0.02, n)
    return groups, 1 - (GRID[None, :] - centres[:, None]) ** 2


def test_group_weights_pay_where_groups_want_opposite_ends() -> None:
    groups, scores = opposite_groups(60, 0.35)
    found = weigh_groups(groups, scores, alone(60), 7, 0.5)
    assert found is not None
    assert found["gain"] == pytest.approx(0.35**2, rel=0.25)
    assert found["interval"][0] > 0


def test_group_weights_do_not_pay_where_groups_are_alike() -> None:
    groups, scores = opposite_groups(60, 0.0)
    found = weigh_groups(groups, scores, alone(60), 7, 0.5)
    assert found is not None
    assert abs(found["gain"]) < 0.01


def test_group_weights_need_two_groups_and_ten_independent_prompts() -> None:
    groups, scores = opposite_groups(60, 0.35)
    assert weigh_groups(["one"] * 60, scores, alone(60), 7, 0.5) is None
    assert weigh_groups(groups[:8], scores[:8], alone(8), 7, 0.5) is None
    assert weigh_groups(groups, scores, np.repeat(np.arange(5), 12).astype(np.int32), 7, 0.5) is None
