"""Prompts' weights in pure functions: by hand, against slow twins, and as copies of prompts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from conftest import load_benchmark
from hypothesis import given
from hypothesis import strategies as st

from harness.candidates import merge_lists
from harness.choice import GRID, choose_setting, choose_weight, find_interval, mean_curves, weigh
from harness.drift import compare_pairs, compare_samples, find_rival
from harness.errors import HarnessError
from harness.files import pad_qrels
from harness.hybrid import Hybrid
from harness.inference import compare, mean_interval, prompts_to_prove, randomisation_test, standard_error
from harness.insight import Holes, compare_groups, plan_labels, rank_holes, weigh_groups
from harness.measures import Measure
from harness.profiles import find_optimum, mean_curve, profile
from harness.splits import make_rng, number_units, resample_counts, split_folds
from harness.systems import score_setting, trade_off
from harness.traffic import (
    check_sides,
    column_means,
    count_units,
    describe_weights,
    effective_number,
    heaviest,
    leave_out,
    say_uneven,
    traffic_of,
    weighted_mean,
)
from harness.types import Conventions, Params, Query, RankedLists

DEPTH = 5
weights = st.lists(st.floats(0.01, 100), min_size=2, max_size=30).map(np.asarray)
seeds = st.integers(0, 2**31 - 1)


def prompts(*given_weights: float | None) -> list[Query]:
    return [Query(f"q{i}", "x", weight=w) for i, w in enumerate(given_weights)]


def alone(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


def draw(seed: int, n: int = 40, clustered: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences, units and weights that have to do with one another."""
    rng = np.random.default_rng(seed)
    w = np.exp(rng.normal(0, 1, n))
    d = 0.05 * np.log(w) + rng.normal(0, 0.2, n)
    units = rng.integers(0, max(2, n // 3), n) if clustered else np.arange(n)
    return d, np.unique(units, return_inverse=True)[1].astype(np.int32), w


# --- what a mean is --------------------------------------------------------------------------------------------------


def test_a_weighted_mean_worked_by_hand() -> None:
    """(3 · 1 + 0 · .5 + 1 · .2) / 4."""
    assert weighted_mean(np.array([1.0, 0.5, 0.2]), np.array([3.0, 0.0, 1.0])) == pytest.approx(3.2 / 4, abs=1e-15)
    assert weighted_mean(np.array([1.0, 0.5, 0.2]), None) == pytest.approx(1.7 / 3, abs=1e-15)
    both = column_means(np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([1.0, 3.0]))
    assert both.tolist() == [2.5 / 4, 3 / 4]


def test_means_are_plain_where_there_are_no_weights_or_all_are_equal() -> None:
    assert traffic_of(prompts(None, None)) is None
    assert traffic_of(prompts(3.0, 3.0, 3.0)) is None
    traffic = traffic_of(prompts(3.0, 0.0, 3.0))
    assert traffic is not None
    assert traffic.tolist() == [3.0, 0.0, 3.0]


def test_the_effective_number_of_prompts_worked_by_hand() -> None:
    """(1 + 1 + 2)² / (1 + 1 + 4) = 16 / 6; a prompt of weight 0 adds none."""
    assert effective_number(np.array([1.0, 1.0, 2.0])) == pytest.approx(16 / 6, abs=1e-14)
    assert effective_number(np.array([1.0, 1.0, 2.0, 0.0])) == pytest.approx(16 / 6, abs=1e-14)
    assert effective_number(np.full(7, 1e12)) == 7


@given(weights, st.floats(1e-6, 1e6))
def test_the_effective_number_lies_between_1_and_all_and_knows_no_unit(w: np.ndarray, factor: float) -> None:
    assert 1 - 1e-9 <= effective_number(w) <= w.size + 1e-9
    assert effective_number(factor * w) == pytest.approx(effective_number(w), rel=1e-9)


def test_few_prompts_that_carry_the_mean_are_named() -> None:
    uneven = prompts(1.0, 90.0, 1.0, 6.0, 1.0, 1.0)
    assert heaviest(uneven) == [1, 3, 0]
    said = say_uneven(uneven)
    assert said is not None
    assert "6 prompts count like 1.2 equal ones" in said
    assert "'q1' 90%, 'q3' 6%, 'q0' 1%" in said
    assert say_uneven(prompts(1.0, 1.0, 2.0)) is None
    assert say_uneven(prompts(None, None)) is None
    assert describe_weights(uneven) == {"effective_queries": pytest.approx(1e4 / 8140), "queries_of_weight_0": 0}
    assert describe_weights(prompts(None)) == {}


def test_both_sides_of_a_split_have_weights_or_none() -> None:
    check_sides(prompts(1.0, 2.0), prompts(1.0))
    check_sides(prompts(None), prompts(None))
    with pytest.raises(HarnessError, match="got weights for the prompts to tune on and none for the held-out prompts"):
        check_sides(prompts(1.0, 2.0), prompts(None))
    with pytest.raises(HarnessError, match="got weights for the held-out prompts and none for the prompts to tune on"):
        check_sides(prompts(None), prompts(1.0))
    with pytest.raises(HarnessError, match="the held-out prompts must have a weight above 0, got 0 for all 2"):
        check_sides(prompts(1.0), prompts(0.0, 0.0))


# --- intervals and tests ---------------------------------------------------------------------------------------------


def test_the_standard_error_of_a_weighted_mean_worked_by_hand() -> None:
    """Weights 1, 3 | 2: mean (1·1 + 3·0 + 2·.5) / 6 = 1/3; w · (d − mean) by cluster: 2/3 − 1 = −1/3 and 2 · 1/6 = 1/3.

    se² = 2/1 · (1/9 + 1/9) / 6².
    """
    d, units, w = np.array([1.0, 0.0, 0.5]), np.array([0, 0, 1], dtype=np.int32), np.array([1.0, 3.0, 2.0])
    assert standard_error(d, units, w) == pytest.approx(math.sqrt(2 * 2 / 9) / 6, abs=1e-15)


def sandwich(d: np.ndarray, units: np.ndarray, w: np.ndarray) -> float:
    """The cluster-robust error of weighted least squares on a constant: (X'WX)⁻¹ X'Wuu'WX (X'WX)⁻¹ · k / (k − 1)."""
    x, big = np.ones((d.size, 1)), np.diag(w)
    bread = np.linalg.inv(x.T @ big @ x)
    residual = d - x @ (bread @ x.T @ big @ d)
    meat = np.zeros((1, 1))
    for unit in set(units.tolist()):
        own = np.flatnonzero(units == unit)
        part = x[own].T @ np.diag(w[own]) @ residual[own]
        meat += np.outer(part, part)
    k = len(set(units.tolist()))
    return math.sqrt((k / (k - 1) * bread @ meat @ bread).item())


@given(seeds, st.booleans())
def test_the_standard_error_is_the_robust_one_of_weighted_least_squares(seed: int, clustered: bool) -> None:
    d, units, w = draw(seed, clustered=clustered)
    assert standard_error(d, units, w) == pytest.approx(sandwich(d, units, w), rel=1e-10)


def test_the_standard_error_is_about_what_leaving_each_unit_out_gives() -> None:
    """The jackknife: (k − 1) / k · Σ (mean without the unit − their mean)²."""
    d, units, w = draw(3, n=600)
    k = int(units.max()) + 1
    without = np.asarray([weighted_mean(d[units != u], w[units != u]) for u in range(k)])
    jackknife = math.sqrt((k - 1) / k * float(((without - without.mean()) ** 2).sum()))
    assert standard_error(d, units, w) == pytest.approx(jackknife, rel=0.02)


@given(seeds, st.booleans())
def test_the_interval_is_students_around_the_weighted_mean(seed: int, clustered: bool) -> None:
    d, units, w = draw(seed, clustered=clustered)
    mean, k = float(np.average(d, weights=w)), int(units.max()) + 1
    expected = scipy.stats.t.interval(0.95, k - 1, loc=mean, scale=sandwich(d, units, w))
    assert mean_interval(d, units, traffic=w) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(seeds)
def test_one_weight_for_all_is_no_weight_in_every_statistic(seed: int) -> None:
    d, units, _ = draw(seed)
    same = np.full(d.size, 3.0)
    assert standard_error(d, units, same) == pytest.approx(standard_error(d, units), abs=1e-12)
    assert mean_interval(d, units, traffic=same) == pytest.approx(mean_interval(d, units), abs=1e-12)
    assert prompts_to_prove(d, units, 0.013, traffic=same) == prompts_to_prove(d, units, 0.013)
    one, other = compare(d, units, make_rng(1), same), compare(d, units, make_rng(1))
    assert one.mean == pytest.approx(other.mean, abs=1e-12)
    assert (one.p_value, one.wins, one.losses, one.differing, one.units) == (
        other.p_value,
        other.wins,
        other.losses,
        other.differing,
        other.units,
    )


@given(seeds, st.floats(1e-6, 1e6))
def test_the_unit_of_the_weights_is_nothing_to_the_statistics(seed: int, factor: float) -> None:
    d, units, w = draw(seed)
    assert mean_interval(d, units, traffic=factor * w) == pytest.approx(mean_interval(d, units, traffic=w), rel=1e-9, abs=1e-12)
    assert randomisation_test(d, units, make_rng(2), factor * w) == randomisation_test(d, units, make_rng(2), w)


@given(seeds)
def test_prompts_of_weight_0_are_as_if_they_were_not_there(seed: int) -> None:
    d, _, w = draw(seed)
    kept = np.random.default_rng(seed).random(d.size) < 0.6
    kept[:2] = True
    units, own = alone(d.size), alone(int(kept.sum()))
    zeroed = np.where(kept, w, 0.0)
    assert compare(d, units, make_rng(3), zeroed) == compare(d[kept], own, make_rng(3), w[kept])
    assert prompts_to_prove(d, units, 0.02, traffic=zeroed) == prompts_to_prove(d[kept], own, 0.02, traffic=w[kept])
    assert count_units(units, zeroed) == own.size


def test_a_unit_with_nothing_that_counts_is_no_unit() -> None:
    d, units = np.array([0.5, 0.1, 0.3]), np.array([0, 1, 1], dtype=np.int32)
    w = np.array([0.0, 1.0, 2.0])
    assert standard_error(d, units, w) is None
    scores, left, traffic = leave_out(d, units, w)
    assert (scores.tolist(), left.tolist()) == ([0.1, 0.3], [0, 0])
    assert traffic is not None
    assert traffic.tolist() == [1.0, 2.0]
    assert compare(d, units, make_rng(1), w).units == 1


def test_the_sign_flip_test_is_the_exact_one_up_to_chance() -> None:
    """All 2⁹ flips of the units' Σ w · d, one by one."""
    d, _, w = draw(11, n=18)
    units = np.repeat(alone(9), 2).astype(np.int32)
    sums = [sum(w[i] * d[i] for i in range(18) if units[i] == u) for u in range(9)]
    flips = [abs(sum(s * x for s, x in zip(signs, sums, strict=True))) for signs in itertools.product((-1, 1), repeat=9)]
    exact = sum(total >= abs(sum(sums)) - 1e-12 for total in flips) / len(flips)
    assert 0.05 < exact < 0.95
    error = math.sqrt(exact * (1 - exact) / 9999)
    assert randomisation_test(d, units, make_rng(5), w) == pytest.approx(exact, abs=4 * error)


def test_a_single_heavy_prompt_proves_nothing_however_many_light_ones_disagree() -> None:
    """The mean is the heavy one's, and nearly every flip of the signs is as far from 0."""
    d, w = np.append(np.full(20, -0.1), 0.1), np.append(np.full(20, 1.0), 1e6)
    assert randomisation_test(d, alone(21), make_rng(5), w) > 0.99
    assert randomisation_test(d, alone(21), make_rng(5)) < 0.001


def test_the_interval_covers_the_populations_weighted_mean() -> None:
    """2000 draws of 100 clusters whose weights spread by a factor of 2; benchmarks/weights.py has the whole table."""
    held, effective = load_benchmark("weights").cover(0.75, 100, 2000)
    assert 0.93 <= held <= 0.97
    assert 0.5 < effective < 0.65


# --- as copies of prompts --------------------------------------------------------------------------------------------


def make_hybrid(n: int, seed: int, copies: np.ndarray | None = None, traffic: np.ndarray | None = None) -> Hybrid:
    """n prompts with random lists of 8 documents; with copies each prompt stands so often."""
    rng, sides, order = np.random.default_rng(seed), [], np.arange(n) if copies is None else np.repeat(np.arange(n), copies)
    for _ in range(2):
        rows = np.stack([rng.permutation(8)[:DEPTH] for _ in range(n)]).astype(np.int32)
        scores = -np.sort(-rng.random((n, DEPTH)), axis=1)
        sides.append(RankedLists(rows[order], scores[order]))
    judged = [{int(row): 1 for row in rng.permutation(8)[:2]} for _ in range(n)]
    qrels = pad_qrels([judged[i] for i in order])
    return Hybrid(merge_lists(*sides), qrels, Conventions(), Params(depth=DEPTH), traffic=traffic)


@given(seeds, st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(any))
def test_a_whole_weight_is_so_many_copies_of_the_prompt(seed: int, times: list[int]) -> None:
    """For every point estimate: means of all measures, the trade-off over K, the exact curve and its optimum."""
    copies = np.asarray(times)
    weighted = make_hybrid(6, seed, traffic=copies.astype(np.float64))
    repeated = make_hybrid(6, seed, copies=copies)
    measure, params = Measure("MAP", 3), Params(depth=DEPTH, top_k=4)
    found = [
        score_setting("x", params, hybrid, objectives=[measure], top_k=4, cutoffs=[1, 3]).means()
        for hybrid in (weighted, repeated)
    ]
    for name in set(found[0]) - {"queries_without_results"}:
        assert found[0][name] == pytest.approx(found[1][name], abs=1e-12)
    tables = [trade_off(params, hybrid, objectives=[measure], all_top_k=[1, 4]) for hybrid in (weighted, repeated)]
    assert tables[0] == [pytest.approx(row, abs=1e-12) for row in tables[1]]
    curves = []
    for hybrid in (weighted, repeated):
        _, lines, columns = hybrid.setting(params)
        curves.append(mean_curve(profile(lines, columns, hybrid.judgements, measure, top_k=4), hybrid.traffic))
    assert curves[0].points.tolist() == pytest.approx(curves[1].points.tolist(), abs=1e-12)
    assert curves[0].on == pytest.approx(curves[1].on, abs=1e-12)
    assert curves[0].at == pytest.approx(curves[1].at, abs=1e-12)
    best = [find_optimum(curve) for curve in curves]
    assert best[0].score == pytest.approx(best[1].score, abs=1e-12)
    assert (best[0].weight_from, best[0].weight_to) == pytest.approx((best[1].weight_from, best[1].weight_to), abs=1e-12)


# --- the pick --------------------------------------------------------------------------------------------------------


def hills(peaks: np.ndarray) -> np.ndarray:
    """Every prompt's score over the weight: a hill around its own best one, (n_queries, n_cells)."""
    return 1 - np.abs(GRID[None, :] - peaks[:, None])


def test_a_resamples_mean_is_a_ratio_of_sums() -> None:
    rng = np.random.default_rng(0)
    scores, w, units = rng.random((7, 4)), rng.random(7) + 0.1, np.array([0, 0, 1, 2, 2, 3, 4], dtype=np.int32)
    counts = resample_counts(units, 5, make_rng(1))
    found = mean_curves(weigh(counts, w), scores)
    for r in range(5):
        for column in range(4):
            top = sum(counts[q, r] * w[q] * scores[q, column] for q in range(7))
            assert found[r, column] == pytest.approx(top / sum(counts[q, r] * w[q] for q in range(7)), abs=1e-12)


@given(seeds)
def test_one_weight_for_all_picks_as_no_weight_does(seed: int) -> None:
    scores, same = hills(np.random.default_rng(seed).random(25)), np.full(25, 3.0)
    one, other = (choose_weight(scores, alone(25), make_rng(4), traffic=traffic) for traffic in (same, None))
    assert list(vars(one).values()) == pytest.approx(list(vars(other).values()), abs=1e-9)


def test_the_pick_goes_where_the_traffic_is() -> None:
    """Twenty prompts want .2 and twenty .8: the pick stays between them; the traffic of one half pulls it there."""
    peaks = np.repeat([0.2, 0.8], 20) + np.linspace(-0.05, 0.05, 40)
    even = choose_weight(hills(peaks), alone(40), make_rng(4)).weight
    left = choose_weight(hills(peaks), alone(40), make_rng(4), traffic=np.repeat([5.0, 1.0], 20)).weight
    right = choose_weight(hills(peaks), alone(40), make_rng(4), traffic=np.repeat([1.0, 5.0], 20)).weight
    assert left < 0.35 < even < 0.65 < right


def test_the_setting_is_the_one_that_is_best_where_the_traffic_is() -> None:
    """Home scores .5 everywhere; the other .9 on the first half of the prompts and .3 on the second."""
    rng = np.random.default_rng(0)
    home = np.full((40, GRID.size), 0.5)
    other = np.repeat([0.9, 0.3], 20)[:, None] + rng.normal(0, 0.01, 40)[:, None] + np.zeros((1, GRID.size))
    heavy = [np.repeat([10.0, 1.0], 20), np.repeat([1.0, 10.0], 20)]
    assert [choose_setting([home, other], alone(40), make_rng(1), traffic=w) for w in heavy] == [1, 0]


def test_the_weights_that_cannot_be_told_from_the_pick_are_those_of_the_weighted_difference() -> None:
    rng = np.random.default_rng(1)
    scores, w = hills(rng.normal(0.5, 0.2, 30)), np.exp(rng.normal(0, 1, 30))
    at_pick, units, quantile = scores[:, 100], alone(30), float(scipy.stats.t.ppf(0.975, 29))
    found = find_interval(scores, at_pick, float(GRID[100]), units, t_quantile=quantile, traffic=w)
    alike = []
    for cell in range(GRID.size):
        difference = scores[:, cell] - at_pick
        mean = float(np.average(difference, weights=w))
        alike.append(cell == 100 or abs(mean) <= quantile * sandwich(difference, units, w))
    low = max((i for i in range(100) if not alike[i]), default=-1) + 1
    high = min((i for i in range(100, GRID.size) if not alike[i]), default=GRID.size)
    assert found == pytest.approx((low / GRID.size, high / GRID.size))


@given(st.lists(st.booleans(), min_size=3, max_size=30).filter(lambda flags: sum(flags) > 1), seeds)
def test_every_training_side_has_prompts_that_count(flags: list[bool], seed: int) -> None:
    counts = np.asarray(flags)
    units = alone(counts.size)
    fold = split_folds(units, 5, make_rng(seed), counts)
    for left_out in range(int(fold.max()) + 1):
        assert (counts & (fold != left_out)).any()
    own = split_folds(alone(int(counts.sum())), 5, make_rng(seed))
    assert fold[counts].tolist() == own.tolist()


# --- now and then ----------------------------------------------------------------------------------------------------


@given(seeds)
def test_one_weight_for_all_sees_the_same_drift(seed: int) -> None:
    d, units, _ = draw(seed)
    then, then_units, _ = draw(seed + 1, n=30)
    same, other = np.full(40, 3.0), np.full(30, 0.5)
    pairs = [compare_pairs(d, d[::-1], units, traffic) for traffic in (same, None)]
    assert pairs[0].interval == pytest.approx(pairs[1].interval, abs=1e-12)
    assert pairs[0].p_value == pytest.approx(pairs[1].p_value, abs=1e-9)
    samples = [
        compare_samples(d, then, units, then_units, make_rng(1), level=0.01, now_traffic=a, then_traffic=b)
        for a, b in ((same, other), (None, None))
    ]
    assert samples[0].interval == pytest.approx(samples[1].interval, abs=1e-12)
    assert samples[0].p_value == samples[1].p_value


def test_a_change_of_the_same_prompts_is_the_weighted_one() -> None:
    now, then, w = np.array([0.5, 0.2, 0.9]), np.array([0.4, 0.6, 0.9]), np.array([8.0, 1.0, 1.0])
    change = compare_pairs(now, then, alone(3), w)
    assert change.mean == pytest.approx((8 * 0.1 - 0.4) / 10, abs=1e-15)
    assert change.interval == pytest.approx(mean_interval(now - then, alone(3), traffic=w), abs=1e-15)
    assert change.p_value > 0.5
    assert compare_pairs(now, then, alone(3)).mean < 0


def test_two_samples_each_count_by_their_own_weights() -> None:
    """Weights of another unit, thousands then and shares now, change nothing: each side's are taken relative to its mean."""
    d, units, w = draw(1)
    then, then_units, v = draw(2, n=30)
    found = [
        compare_samples(d, then, units, then_units, make_rng(1), level=0.025, now_traffic=w, then_traffic=factor * v)
        for factor in (1.0, 1000.0)
    ]
    assert found[0].mean == pytest.approx(float(np.average(d, weights=w) - np.average(then, weights=v)), abs=1e-12)
    assert found[0].interval == pytest.approx(found[1].interval, abs=1e-12)
    assert found[0].p_value == found[1].p_value
    errors = [sandwich(d, units, w), sandwich(then, then_units, v)]
    freedom = [units.max(), then_units.max()]
    variance = [e**2 for e in errors]
    df = sum(variance) ** 2 / sum(x**2 / f for x, f in zip(variance, freedom, strict=True))
    reach = float(scipy.stats.t.ppf(0.975, df)) * math.sqrt(sum(variance))
    assert found[0].interval == pytest.approx((found[0].mean - reach, found[0].mean + reach), abs=1e-12)


@given(seeds)
def test_a_rival_of_weighted_prompts_is_the_one_with_the_largest_weighted_t(seed: int) -> None:
    _, units, w = draw(seed)
    gains = np.random.default_rng(seed).normal(0.02, 0.2, (40, 4))
    t = [np.average(g, weights=w) / sandwich(g, units, w) for g in gains.T]
    found = find_rival(gains, units, make_rng(1), w)
    if max(t) <= 0:
        assert found is None
        return
    assert found is not None
    assert found.index == int(np.argmax(t))
    assert found.gain == pytest.approx(float(np.average(gains[:, found.index], weights=w)), abs=1e-12)
    kept = np.append(np.ones(40), np.zeros(3))
    more = find_rival(
        np.vstack([gains, np.full((3, 4), 9.0)]),
        np.append(units, [90, 91, 92]).astype(np.int32),
        make_rng(1),
        kept * np.append(w, w[:3]),
    )
    assert more is not None
    assert (more.index, more.p_value) == (found.index, found.p_value)


# --- what a person asks next -----------------------------------------------------------------------------------------


def test_groups_are_compared_by_their_own_weights() -> None:
    """Group a: (3 · .8 + 1 · .4) / 4 = .7; b: only its second prompt counts; c: nothing does, and it is left out."""
    groups = ["a", "a", "b", "b", "c"]
    pick, kept = np.array([0.8, 0.4, 0.1, 0.6, 1.0]), np.array([0.6, 0.8, 0.9, 0.6, 0.0])
    w = np.array([3.0, 1.0, 0.0, 4.0, 0.0])
    table = compare_groups(groups, pick, {"equal": kept}, hills(np.array([0.2, 0.9, 0.5, 0.4, 0.1])), w)
    assert sorted(table) == ["a", "b"]
    assert table["a"]["pick"] == pytest.approx(0.7, abs=1e-15)
    assert table["a"]["equal"]["difference"] == pytest.approx((3 * 0.2 - 0.4) / 4, abs=1e-15)
    assert table["a"]["share"] == table["b"]["share"] == 0.5
    assert (table["b"]["prompts"], table["b"]["equal"]["ties"]) == (1, 1)
    assert table["a"]["best_weight"] == pytest.approx(0.2, abs=0.01)  # the heavier prompt's own


def test_labels_and_group_weights_do_not_see_prompts_of_weight_0() -> None:
    d, _, w = draw(5, n=60)
    scores, kept = hills(np.random.default_rng(5).random(60)), np.arange(60) % 3 > 0
    units, own, zeroed = alone(60), alone(40), np.where(kept, w, 0.0)
    groups = np.where(np.arange(60) % 2, "x", "y")
    assert plan_labels(d, scores, units, 7, zeroed) == plan_labels(d[kept], scores[kept], own, 7, w[kept])
    found = weigh_groups(groups.tolist(), scores, units, 7, 0.5, zeroed)
    assert found is not None
    assert found == weigh_groups(groups[kept].tolist(), scores[kept], own, 7, 0.5, w[kept])


def test_what_to_judge_first_is_what_moves_the_mean_most() -> None:
    """Pair 0 changes its prompt by .5, which counts 1; pair 1 by .2, which counts 10; pair 2's prompt does not count."""
    numbers = np.arange(3, dtype=np.int32)
    holes = Holes(numbers, numbers, numbers, numbers, np.array([0.5, 0.2, 0.9]), 0.0, 1.0, np.array([1.0, 10.0, 0.0]))
    assert rank_holes(holes).tolist() == [1, 0]
    plain = Holes(numbers, numbers, numbers, numbers, np.array([0.5, 0.2, 0.9]), 0.0, 1.0)
    assert rank_holes(plain).tolist() == [2, 0, 1]


def test_units_of_mixed_clusters_count_by_their_prompts_that_do() -> None:
    units = number_units(["a", "a", "", "b", "b"])
    assert count_units(units, np.array([0.0, 1.0, 0.0, 2.0, 2.0])) == 2
    assert count_units(units, None) == 3
