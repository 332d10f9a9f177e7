"""The watch's statistics: against scipy, against closed forms by hand, against full enumeration; and they do not cry wolf."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness import drift
from harness.commands.gate import ON_NEW_PROMPTS
from harness.drift import DRAWS, LEVEL, Change, compare_pairs, compare_samples, find_rival, permutation_test
from harness.inference import mean_interval

scores = st.floats(0, 1).map(lambda x: round(x, 3))
gain_rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=width, max_size=width), min_size=2, max_size=9
    ).map(np.array)
)
CLUSTERED = np.array([0.1, 0.3, 0.2, -0.1, 0.5]), np.array([0, 0, 1, 1, 2], dtype=np.int32)


def alone(d: np.ndarray) -> np.ndarray:
    return np.arange(len(d), dtype=np.int32)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def of_draws(p: float) -> float:
    """Five standard errors of a p-value that is counted over the draws."""
    return 5 * math.sqrt(p * (1 - p) / DRAWS) + 1 / DRAWS


def t_of_2(t: float) -> float:
    """Student's distribution with two degrees of freedom has a closed form: 1/2 + t / (2 √(2 + t²))."""
    return 0.5 + t / (2 * math.sqrt(2 + t * t))


def quantile_of_2(p: float) -> float:
    """Its inverse, (2p − 1) / √(2p (1 − p))."""
    return (2 * p - 1) / math.sqrt(2 * p * (1 - p))


# --- the same prompts: pairs ---------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=30).map(np.array))
def test_without_clusters_pairs_are_scipys_one_sample_t_test(both: np.ndarray) -> None:
    now, then = both.T
    difference = np.round(now - then, 3)
    assume(np.ptp(difference) > 0)
    change = compare_pairs(now, then, alone(now))
    expected = scipy.stats.ttest_1samp(difference, 0.0, alternative="less")
    assert change.paired
    assert change.mean == pytest.approx(difference.mean(), abs=1e-12)
    assert change.p_value == pytest.approx(expected.pvalue, abs=1e-10)
    both_sided = scipy.stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)
    assert change.interval == pytest.approx((both_sided.low, both_sided.high), abs=1e-10)


def test_pairs_by_hand() -> None:
    """Differences −.3, −.1, −.2: mean −.2, standard error .1 / √3, t = −2 √3, two degrees of freedom."""
    now, then = np.array([0.1, 0.4, 0.3]), np.array([0.4, 0.5, 0.5])
    change = compare_pairs(now, then, alone(now))
    assert change.mean == pytest.approx(-0.2)
    assert change.p_value == pytest.approx(t_of_2(-2 * math.sqrt(3)))
    reach = quantile_of_2(0.975) * 0.1 / math.sqrt(3)
    assert change.interval == pytest.approx((-0.2 - reach, -0.2 + reach))
    assert not change.harmful(0.025)  # 3 prompts: p is .037


def test_pairs_in_clusters_by_hand() -> None:
    """Mean .2; sums of deviations by cluster 0, −.3, .3: se² = 3/2 · .18 / 25, two degrees of freedom."""
    d, units = CLUSTERED
    error = math.sqrt(3 / 2 * 0.18 / 25)
    change = compare_pairs(d + 0.25, np.full(5, 0.25), units)
    assert change.p_value == pytest.approx(t_of_2(0.2 / error))
    reach = quantile_of_2(0.975) * error
    assert change.interval == pytest.approx((0.2 - reach, 0.2 + reach))


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=12).map(np.array), st.integers(2, 4))
def test_copies_of_a_prompt_in_its_cluster_add_no_evidence(both: np.ndarray, copies: int) -> None:
    now, then = both.T
    once = compare_pairs(now, then, alone(now))
    assume(once.interval is not None and np.ptp(np.round(now - then, 3)) > 0)
    repeated = compare_pairs(np.repeat(now, copies), np.repeat(then, copies), np.repeat(alone(now), copies))
    assert repeated.p_value == pytest.approx(once.p_value, abs=1e-9)
    assert repeated.interval == pytest.approx(once.interval, abs=1e-9)


@pytest.mark.parametrize("rounding", [0.0, 1e-13, -1e-13])
@pytest.mark.parametrize("then", [np.array([0.1, 0.7, 1.0]), np.full(4, 0.3), np.zeros(2)])
def test_identical_scores_are_no_change_whatever_their_spread(then: np.ndarray, rounding: float) -> None:
    change = compare_pairs(then + rounding, then, alone(then))
    assert (change.mean, change.interval, change.p_value) == (0.0, (0.0, 0.0), 1.0)
    assert not change.harmful(1.0)


@pytest.mark.parametrize(("fall", "p_value"), [(-0.25, 0.0), (0.25, 1.0)])
def test_a_change_without_any_spread_is_certain(fall: float, p_value: float) -> None:
    then = np.full(6, 0.5)
    change = compare_pairs(then + fall, then, alone(then))
    assert (change.mean, change.interval, change.p_value) == (fall, (fall, fall), p_value)
    assert change.harmful(1e-9) == (fall < 0)


def test_a_fall_whose_equal_parts_round_differently_is_as_certain() -> None:
    then = np.array([0.3, 0.7, 1.0, 0.4, 0.9])
    change = compare_pairs(then - 0.1, then, alone(then))
    assert change.p_value < 1e-12 and change.harmful(1e-9)
    assert change.interval == pytest.approx((-0.1, -0.1))


@pytest.mark.parametrize("size", [1, 4])
def test_a_single_unit_says_nothing(size: int) -> None:
    one, zeros = np.zeros(size), np.zeros(size, dtype=np.int32)
    change = compare_pairs(one, one + 1, zeros)
    assert (change.mean, change.interval, change.p_value) == (-1.0, None, 1.0)
    assert not change.harmful(1.0)


@pytest.mark.parametrize(
    ("interval", "p_value", "harmful"),
    [
        ((-0.3, -0.1), 0.02, True),
        ((-0.3, -0.1), 0.03, False),  # the test does not follow
        ((-0.3, 0.0), 0.02, False),  # the interval does not follow
        ((0.1, 0.3), 0.02, False),
        (None, 0.0, False),
    ],
)
def test_harm_needs_both_the_interval_and_the_test(interval: tuple[float, float] | None, p_value: float, harmful: bool) -> None:
    assert Change(-0.2, interval, p_value, True).harmful(0.025) is harmful


# --- other prompts: samples ----------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.lists(scores, min_size=2, max_size=15).map(np.array),
    st.lists(scores, min_size=2, max_size=15).map(np.array),
    st.sampled_from([0.05, LEVEL / 3, 0.005]),
)
def test_without_clusters_the_interval_is_scipys_welch_interval_at_that_level(
    now: np.ndarray, then: np.ndarray, level: float
) -> None:
    assume(np.ptp(now) > 0 and np.ptp(then) > 0)
    change = compare_samples(now, then, alone(now), alone(then), rng(), level=level)
    expected = scipy.stats.ttest_ind(now, then, equal_var=False).confidence_interval(1 - 2 * level)
    assert change.mean == pytest.approx(now.mean() - then.mean())
    assert change.interval == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert not change.paired


@pytest.mark.parametrize("copies", [2, 5])
def test_clusters_of_one_size_are_compared_by_their_means(copies: int) -> None:
    now, then = np.array([0.1, 0.4, 0.2, 0.3]), np.array([0.5, 0.9, 0.4, 0.6, 0.7])
    parted = [np.linspace(-0.05, 0.05, copies) + x for x in (now[:, None], then[:, None])]
    units = [np.repeat(alone(x), copies) for x in (now, then)]
    change = compare_samples(parted[0].ravel(), parted[1].ravel(), units[0], units[1], rng(), level=0.01)
    expected = scipy.stats.ttest_ind(now, then, equal_var=False).confidence_interval(0.98)
    assert change.interval == pytest.approx((expected.low, expected.high))
    assert change.p_value == compare_samples(now, then, alone(now), alone(then), rng(), level=0.01).p_value


def test_clusters_of_unlike_sizes_by_hand() -> None:
    """now: three units, se² = 3/2 · .18 / 25; then: .5 and .7, se² = .01; Welch's degrees of freedom from 2 and 1."""
    d, units = CLUSTERED
    then = np.array([0.5, 0.7])
    v, w = 3 / 2 * 0.18 / 25, 0.01
    df = (v + w) ** 2 / (v**2 / 2 + w**2 / 1)
    reach = scipy.stats.t.ppf(1 - 0.02, df) * math.sqrt(v + w)
    change = compare_samples(d, then, units, alone(then), rng(), level=0.02)
    assert change.interval == pytest.approx((0.2 - 0.6 - reach, 0.2 - 0.6 + reach))


def test_a_side_without_spread_leaves_the_other_ones_degrees_of_freedom() -> None:
    now, then = np.array([0.1, 0.2, 0.3]), np.full(7, 0.5)
    change = compare_samples(now, then, alone(now), alone(then), rng(), level=0.025)
    reach = quantile_of_2(0.975) * 0.1 / math.sqrt(3)
    assert change.interval == pytest.approx((-0.3 - reach, -0.3 + reach))


def test_two_sides_without_spread_differ_by_a_point() -> None:
    now, then = np.full(8, 0.25), np.full(8, 0.5)
    change = compare_samples(now, then, alone(now), alone(then), rng(), level=0.01)
    assert change.interval == (-0.25, -0.25)
    assert change.harmful(0.01)  # the permutation test has 1 in 12,870


@pytest.mark.parametrize("sides", [(1, 5), (5, 1), (1, 1)])
def test_a_single_unit_on_either_side_says_nothing(sides: tuple[int, int]) -> None:
    now, then = np.zeros(sides[0]), np.linspace(0.5, 1, sides[1])
    change = compare_samples(now, then, alone(now), alone(then), rng(), level=0.05)
    assert (change.interval, change.p_value, change.paired) == (None, 1.0, False)
    assert not change.harmful(1.0)


# --- the permutation test ------------------------------------------------------------------------------------------------


def enumerate_deals(now: np.ndarray, then: np.ndarray, now_units: np.ndarray, then_units: np.ndarray) -> float:
    """The share of all ways to deal out the units whose difference of means is as low."""
    units = [now[now_units == unit] for unit in range(now_units.max() + 1)]
    n_now = len(units)
    units += [then[then_units == unit] for unit in range(then_units.max() + 1)]
    observed = now.mean() - then.mean()
    as_low = total = 0
    for chosen in itertools.combinations(range(len(units)), n_now):
        left = np.concatenate([units[i] for i in chosen])
        right = np.concatenate([units[i] for i in range(len(units)) if i not in chosen])
        total += 1
        as_low += left.mean() - right.mean() <= observed + 1e-12
    return as_low / total


TINY = [
    ([0.1, 0.2, 0.4], [0.9, 0.5, 0.6, 0.8], None, None),
    ([0.5, 0.5, 0.1], [0.5, 0.1, 0.5, 0.1], None, None),
    ([0.9, 0.8], [0.1, 0.2, 0.3], None, None),
    ([0.1, 0.3, 0.2, 0.4, 0.0], [0.6, 0.2, 0.9, 0.3], [0, 0, 1, 2, 2], [0, 1, 1, 2]),
    ([0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0, 1.0, 1.0], [0, 1, 1, 2], [0, 0, 0, 1, 2, 3]),
]


@pytest.mark.parametrize(("now", "then", "now_units", "then_units"), TINY)
def test_the_permutation_test_approaches_the_full_enumeration(
    now: list[float], then: list[float], now_units: list[int] | None, then_units: list[int] | None
) -> None:
    arrays = np.array(now), np.array(then)
    units = [alone(x) if u is None else np.array(u, dtype=np.int32) for x, u in zip(arrays, (now_units, then_units), strict=True)]
    exact = enumerate_deals(*arrays, *units)
    assert permutation_test(*arrays, *units, rng(3)) == pytest.approx(exact, abs=of_draws(exact))


@pytest.mark.parametrize("seed", range(4))
def test_the_permutation_test_approaches_scipys_exact_one(seed: int) -> None:
    drawn = rng(seed)
    now, then = drawn.random(5).round(2), drawn.random(6).round(2) + 0.1 * seed
    expected = scipy.stats.permutation_test(
        (now, then), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), alternative="less", vectorized=True
    ).pvalue  # 462 deals: all of them
    assert permutation_test(now, then, alone(now), alone(then), drawn) == pytest.approx(expected, abs=of_draws(expected))


def test_whole_units_are_dealt_out_together() -> None:
    """4 units against 4, copied five times each: no deal in C(8, 4) is as low, and one in 70 is the observed one."""
    now, then = np.repeat([0.1, 0.2, 0.3, 0.4], 5), np.repeat([0.6, 0.7, 0.8, 0.9], 5)
    units = np.repeat(np.arange(4, dtype=np.int32), 5)
    together = permutation_test(now, then, units, units, rng())
    assert together == pytest.approx(1 / 70, abs=of_draws(1 / 70))
    assert permutation_test(now, then, alone(now), alone(then), rng()) < 0.1 * together


def test_the_permutation_test_counts_the_observation_itself_and_is_never_0() -> None:
    now, then = np.zeros(30), np.ones(30)
    assert permutation_test(now, then, alone(now), alone(then), rng()) == 1 / (1 + DRAWS)


def test_equal_scores_on_both_sides_give_1() -> None:
    now, then = np.full(4, 0.1), np.full(5, 0.1)
    assert permutation_test(now, then, alone(now), alone(then), rng()) == 1


def test_a_rise_is_no_harm() -> None:
    now, then = np.linspace(0.6, 1, 10), np.linspace(0, 0.4, 10)
    change = compare_samples(now, then, alone(now), alone(then), rng(), level=0.05)
    assert change.p_value == 1 and not change.harmful(0.05)


# --- the rival -----------------------------------------------------------------------------------------------------------


def slow_t(gain: list[float], units: list[int]) -> float:
    """Mean over the cluster-robust standard error, in loops."""
    k, n = max(units) + 1, len(gain)
    mean = sum(gain) / n
    off = [sum(g - mean for g, u in zip(gain, units, strict=True) if u == unit) for unit in range(k)]
    error = math.sqrt(k / (k - 1) * sum(x * x for x in off)) / n
    if error < 1e-12:
        return math.inf if mean > 1e-12 else 0.0
    return mean / error


def slow_rival(gains: np.ndarray, units: list[int]) -> tuple[int, float] | None:
    """The leader by t, and the share of all sign patterns of the units with a largest t as large."""
    columns = [list(column) for column in gains.T]
    observed = [slow_t(column, units) for column in columns]
    best = max(range(len(columns)), key=lambda i: observed[i])
    if observed[best] <= 0:
        return None
    as_clear = total = 0
    for signs in itertools.product([-1, 1], repeat=max(units) + 1):
        largest = max(slow_t([g * signs[u] for g, u in zip(column, units, strict=True)], units) for column in columns)
        as_clear += largest >= observed[best] - 1e-9
        total += 1
    return best, as_clear / total


@pytest.mark.parametrize("n_alternatives", [1, 4])
@pytest.mark.parametrize("units", [range(3), range(7), [0, 0, 1, 1, 2], [0, 1, 1, 1, 2, 3, 3, 4]])
@pytest.mark.parametrize("seed", range(3))
def test_the_rival_is_that_of_a_slow_search_through_all_sign_flips(seed: int, units: list[int], n_alternatives: int) -> None:
    drawn = rng(seed)
    of = np.array(list(units), dtype=np.int32)
    gains = drawn.normal(0.1, 0.3, (of.size, n_alternatives)).round(2)
    expected = slow_rival(gains, list(units))
    found = find_rival(gains, of, drawn)
    if expected is None:
        assert found is None
        return
    index, p_value = expected
    assert found is not None
    assert found.index == index
    assert found.p_value == pytest.approx(p_value, abs=of_draws(p_value))
    assert found.gain == pytest.approx(gains[:, index].mean())
    assert found.interval == mean_interval(gains[:, index], of)


@given(gain_rows)
@settings(max_examples=30, deadline=None)
def test_without_clusters_the_leader_has_the_largest_t_of_scipy(gains: np.ndarray) -> None:
    assume((np.ptp(gains, axis=0) > 0).all())
    t_values = scipy.stats.ttest_1samp(gains, 0.0).statistic
    found = find_rival(gains, alone(gains), rng())
    if t_values.max() <= 1e-9:
        assert found is None or t_values.max() > 0
    else:
        assert found is not None and t_values[found.index] == pytest.approx(t_values.max())


@given(gain_rows, gain_rows)
@settings(max_examples=30, deadline=None)
def test_looking_at_more_alternatives_never_makes_the_same_leader_more_certain(gains: np.ndarray, more: np.ndarray) -> None:
    n = min(len(gains), len(more))
    few, many = gains[:n], np.concatenate([gains[:n], more[:n]], axis=1)
    one, all_of_them = find_rival(few, alone(few), rng(1)), find_rival(many, alone(few), rng(1))
    assume(one is not None and all_of_them is not None and one.index == all_of_them.index)
    assert one is not None and all_of_them is not None
    assert all_of_them.p_value >= one.p_value


@given(gain_rows, st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_copies_of_an_alternative_change_nothing(gains: np.ndarray, copies: int) -> None:
    once, often = find_rival(gains, alone(gains), rng(1)), find_rival(np.tile(gains, copies), alone(gains), rng(1))
    assert once == often


@given(gain_rows, st.lists(st.integers(-10, 10), min_size=4, max_size=4))
@settings(max_examples=30, deadline=None)
def test_the_scale_of_each_alternative_does_not_matter(gains: np.ndarray, powers: list[int]) -> None:
    factors = np.exp2(powers[: gains.shape[1]])
    plain, scaled = find_rival(gains, alone(gains), rng(1)), find_rival(gains * factors, alone(gains), rng(1))
    if plain is None:
        assert scaled is None
        return
    assert scaled is not None
    assert (scaled.index, scaled.p_value) == (plain.index, plain.p_value)
    assert scaled.gain == pytest.approx(plain.gain * factors[plain.index])


@pytest.mark.parametrize("gains", [np.full((6, 3), -0.1), np.zeros((6, 2)), np.tile([[0.1], [-0.1]], (3, 1)), np.zeros((6, 0))])
def test_where_nothing_leads_there_is_no_rival(gains: np.ndarray) -> None:
    assert find_rival(gains, alone(gains), rng()) is None


@pytest.mark.parametrize("size", [1, 5])
def test_a_single_unit_has_no_rival(size: int) -> None:
    assert find_rival(np.ones((size, 3)), np.zeros(size, dtype=np.int32), rng()) is None


@pytest.mark.parametrize("lead", [0.25, 0.1])
@pytest.mark.parametrize("k", [2, 5, 8])
def test_a_lead_without_spread_is_as_certain_as_its_units_allow(k: int, lead: float) -> None:
    """All signs +, one pattern in 2^k, gives a lead without spread again; the other column leads less clearly."""
    gains = np.stack([np.linspace(-0.1, 0.5, k), np.full(k, lead)], axis=1)
    found = find_rival(gains, alone(gains), rng())
    assert found is not None
    assert found.index == 1
    assert found.gain == pytest.approx(lead)
    assert found.interval == pytest.approx((lead, lead))
    assert found.p_value == pytest.approx(0.5**k, abs=of_draws(0.5**k))


def test_nothing_writes_into_its_inputs() -> None:
    now, then, units = np.linspace(0, 1, 6), np.linspace(1, 0, 6), alone(np.zeros(6))
    gains = np.linspace(-0.1, 0.4, 18).reshape(6, 3)
    before = [x.copy() for x in (now, then, units, gains)]
    compare_pairs(now, then, units)
    compare_samples(now, then, units, units, rng(), level=0.05)
    find_rival(gains, units, rng())
    for x, kept in zip((now, then, units, gains), before, strict=True):
        np.testing.assert_array_equal(x, kept)


def test_the_same_random_numbers_give_the_same_answers() -> None:
    now, then = np.linspace(0, 0.8, 9), np.linspace(0.1, 1, 12)
    first, second = (compare_samples(now, then, alone(now), alone(then), rng(5), level=0.05) for _ in range(2))
    assert first == second
    gains = rng(1).normal(0.1, 0.2, (9, 5))
    assert find_rival(gains, alone(now), rng(5)) == find_rival(gains, alone(now), rng(5))


# --- no crying wolf ------------------------------------------------------------------------------------------------------

SIMULATIONS = 300
SHARE = LEVEL / ON_NEW_PROMPTS


def average_precisions(drawn: np.random.Generator, n: int) -> np.ndarray:
    """Scores as prompts have them: a third is 0, a fifth is 1, the rest between."""
    kind = drawn.random(n)
    return np.where(kind < 0.33, 0.0, np.where(kind < 0.53, 1.0, drawn.beta(1.5, 2, n)))


def simulate(draw: int, cluster: int, fall: float = 0.0) -> list[bool]:
    """The three checks on 15 new prompts or clusters against 60 recorded ones, 40 neighbouring alternatives, no change."""
    drawn = rng(1000 + draw)
    sizes = 15, 60
    units = [np.repeat(np.arange(n, dtype=np.int32), cluster) for n in sizes]
    fell = []
    for lower in (fall, 0.0):
        now, then = (np.repeat(average_precisions(drawn, n), cluster) for n in sizes)
        change = compare_samples(np.maximum(now - lower, 0.0), then, units[0], units[1], drawn, level=SHARE)
        fell.append(change.harmful(SHARE))
    differs = drawn.random((sizes[0], 40)) < 0.5  # for half of the prompts two weights return the same
    steps = drawn.normal(0, 0.05, (sizes[0], 40)) * differs
    gains = np.repeat(steps.cumsum(axis=1), cluster, axis=0)
    rival = find_rival(gains, units[0], drawn)
    return [fell[0], rival is not None and rival.p_value <= SHARE, fell[1]]


@pytest.mark.parametrize("cluster", [1, 3])
def test_where_nothing_has_changed_alarms_are_as_rare_as_promised(cluster: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "DRAWS", 999)
    alarms = np.array([simulate(draw, cluster) for draw in range(SIMULATIONS)])

    def at_most(level: float) -> float:
        return level + 3 * math.sqrt(level * (1 - level) / SIMULATIONS)

    assert (alarms.mean(axis=0) <= at_most(SHARE)).all()
    assert alarms.any(axis=1).mean() <= at_most(LEVEL)


def test_a_real_fall_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check is not silent: 15 prompts that find nothing any more, against 60 whose mean is about a half."""
    monkeypatch.setattr(drift, "DRAWS", 999)
    assert all(simulate(draw, 1, fall=1.0)[0] for draw in range(40))


def test_a_fall_of_the_same_prompts_is_false_as_often_as_its_level() -> None:
    drawn = rng(8)
    wrong = [compare_pairs(drawn.normal(0.5, 0.1, 20), np.full(20, 0.5), alone(np.zeros(20))).harmful(0.025) for _ in range(2000)]
    assert np.mean(wrong) == pytest.approx(0.025, abs=3 * math.sqrt(0.025 * 0.975 / 2000))
