"""Intervals, tests and label counts: against scipy, against cluster formulas by hand, against full enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.inference import (
    FLIPS,
    compare,
    holm,
    mean_interval,
    prompts_to_prove,
    randomisation_test,
    standard_error,
)

values = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=2, max_size=30).map(np.array)
CLUSTERED = np.array([0.1, 0.3, 0.2, -0.1, 0.5]), np.array([0, 0, 1, 1, 2], dtype=np.int32)


def alone(d: np.ndarray) -> np.ndarray:
    return np.arange(d.size, dtype=np.int32)


# --- intervals -------------------------------------------------------------------------------------------------------


@given(values, st.sampled_from([0.8, 0.95, 0.99]))
def test_without_clusters_the_interval_is_scipys_t_interval(d: np.ndarray, confidence: float) -> None:
    interval = mean_interval(d, alone(d), confidence)
    if np.ptp(d) == 0:
        assert interval == pytest.approx((d[0], d[0]), abs=1e-12)
        return
    expected = scipy.stats.t.interval(confidence, d.size - 1, loc=d.mean(), scale=scipy.stats.sem(d))
    assert interval == pytest.approx(expected, abs=1e-10)


def test_with_clusters_the_standard_error_is_the_robust_one_worked_by_hand() -> None:
    """Mean .2; sums of deviations by cluster: (−.1 + .1), (0 − .3), .3; se² = 3/2 · (0 + .09 + .09) / 25."""
    d, units = CLUSTERED
    assert standard_error(d, units) == pytest.approx(math.sqrt(3 / 2 * (0.09 + 0.09) / 25), abs=1e-15)


def test_with_clusters_the_interval_has_one_degree_of_freedom_less_than_clusters() -> None:
    d, units = CLUSTERED
    error = math.sqrt(3 / 2 * 0.18 / 25)
    reach = scipy.stats.t.ppf(0.975, 2) * error
    assert mean_interval(d, units) == pytest.approx((0.2 - reach, 0.2 + reach), abs=1e-12)


@given(values, st.integers(2, 5))
def test_copies_of_a_prompt_in_its_cluster_add_no_evidence(d: np.ndarray, copies: int) -> None:
    together = np.repeat(alone(d), copies).astype(np.int32)
    assert mean_interval(np.repeat(d, copies), together) == pytest.approx(mean_interval(d, alone(d)), abs=1e-12)


def test_ignoring_clusters_would_give_a_narrower_interval() -> None:
    d = np.repeat([0.1, 0.4, -0.2, 0.3], 3)
    clustered = mean_interval(d, np.repeat(np.arange(4), 3).astype(np.int32))
    ignored = mean_interval(d, alone(d))
    assert clustered is not None and ignored is not None
    assert clustered[1] - clustered[0] > 1.5 * (ignored[1] - ignored[0])


@pytest.mark.parametrize("d", [np.array([0.3]), np.array([0.3, 0.1, -0.2])])
def test_a_single_unit_has_no_interval(d: np.ndarray) -> None:
    one = np.zeros(d.size, dtype=np.int32)
    assert standard_error(d, one) is None
    assert mean_interval(d, one) is None
    assert compare(d, one, np.random.default_rng(0)).interval is None


def test_the_intervals_cover_at_30_prompts_of_which_a_third_differ() -> None:
    """2,000 draws from differences of which a third are not 0: 93 to 97 % of the intervals hold the mean."""
    rng = np.random.default_rng(11)
    pool = np.concatenate([np.zeros(200), rng.normal(0.02, 0.25, 100)])
    drawn = rng.choice(pool, size=(2000, 30))
    intervals = [mean_interval(d, alone(d)) for d in drawn]
    covered = sum(interval is not None and interval[0] <= pool.mean() <= interval[1] for interval in intervals)
    assert 0.93 <= covered / 2000 <= 0.97


# --- the randomisation test ------------------------------------------------------------------------------------------


def enumerate_signs(d: np.ndarray, units: np.ndarray) -> float:
    """The share of all sign patterns of the units whose sum is at least as far from 0."""
    sums = [sum(d[units == unit]) for unit in range(units.max() + 1)]
    observed = abs(sum(sums))
    patterns = list(itertools.product([-1, 1], repeat=len(sums)))
    return sum(abs(sum(s * x for s, x in zip(signs, sums, strict=True))) >= observed - 1e-12 for signs in patterns) / len(
        patterns
    )


@pytest.mark.parametrize(
    ("d", "units"),
    [
        ([0.3, 0.1, 0.2], [0, 1, 2]),
        ([0.5, -0.1, 0.2, 0.3, 0.4, 0.1, 0.25, -0.05], range(8)),
        ([0.5, -0.4, 0.2, -0.3, 0.1], range(5)),
        ([0.1, 0.3, 0.2, -0.1, 0.5, 0.2, 0.2], [0, 0, 1, 1, 2, 3, 4]),
        ([0.25] * 6, range(6)),
    ],
)
def test_the_randomisation_test_approaches_the_full_enumeration(d: list[float], units: list[int]) -> None:
    array, of = np.array(d), np.array(list(units), dtype=np.int32)
    exact = enumerate_signs(array, of)
    tolerance = 5 * math.sqrt(exact * (1 - exact) / FLIPS) + 1e-3
    assert randomisation_test(array, of, np.random.default_rng(3)) == pytest.approx(exact, abs=tolerance)


def test_the_p_value_counts_the_observation_itself_and_is_never_0() -> None:
    d = np.full(60, 0.1)
    assert randomisation_test(d, alone(d), np.random.default_rng(0)) == 1 / (1 + FLIPS)


def test_no_difference_gives_a_p_value_of_1() -> None:
    d = np.zeros(7)
    assert randomisation_test(d, alone(d), np.random.default_rng(0)) == 1


@given(values)
def test_the_sign_of_the_difference_does_not_matter_to_p(d: np.ndarray) -> None:
    first, second = (randomisation_test(x, alone(d), np.random.default_rng(1)) for x in (d, -d))
    assert first == second
    assert 1 / (1 + FLIPS) <= first <= 1


# --- Holm ------------------------------------------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    """Smallest first: 4 · .01, 3 · .02, 2 · .03 = .06 again, 1 · .5."""
    adjusted = holm({"a": 0.03, "b": 0.01, "c": 0.5, "d": 0.02})
    assert adjusted == pytest.approx({"a": 0.06, "b": 0.04, "c": 0.5, "d": 0.06})
    assert list(adjusted) == ["a", "b", "c", "d"]


def test_holm_never_falls_below_a_smaller_p_and_never_exceeds_1() -> None:
    assert holm({"a": 0.02, "b": 0.021, "c": 0.9}) == pytest.approx({"a": 0.06, "b": 0.06, "c": 0.9})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({"a": 0.3}) == {"a": 0.3}
    assert holm({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_equals_its_definition(p_values: dict[str, float]) -> None:
    """p_(i) adjusted = max over j ≤ i of min(1, (m − j + 1) · p_(j))."""
    ordered = sorted(p_values.values())
    m = len(ordered)
    by_rank = [max(min(1.0, (m - j) * ordered[j]) for j in range(i + 1)) for i in range(m)]
    adjusted = holm(p_values)
    for name, p in p_values.items():
        allowed = [value for rank, value in enumerate(by_rank) if ordered[rank] == p]
        assert any(adjusted[name] == pytest.approx(value) for value in allowed)


# --- comparisons -----------------------------------------------------------------------------------------------------


def test_a_comparison_counts_prompts_but_differing_units() -> None:
    d = np.array([0.1, 0.2, 0.0, 1e-14, -0.3, 0.0])
    units = np.array([0, 0, 1, 1, 2, 3], dtype=np.int32)
    found = compare(d, units, np.random.default_rng(0))
    assert (found.wins, found.ties, found.losses) == (2, 3, 1)
    assert (found.differing, found.units) == (2, 4)
    assert found.mean == pytest.approx(0.0, abs=1e-12)
    assert found.interval == mean_interval(d, units)


# --- how many labels -------------------------------------------------------------------------------------------------


def test_the_number_of_prompts_follows_the_formula() -> None:
    """s = 1 for ±1 with n / (n − 1): ((1.95996 + .84162) · s / .1)²."""
    d = np.tile([1.0, -1.0], 500)
    s_squared = 1000 / 999
    assert prompts_to_prove(d, alone(d), 0.1) == math.ceil((1.959964 + 0.841621) ** 2 * s_squared / 0.01)
    assert prompts_to_prove(d, alone(d), 0.1, power=0.5) == math.ceil(1.959964**2 * s_squared / 0.01)


def test_that_many_prompts_prove_the_gain_in_four_of_five_simulations() -> None:
    rng = np.random.default_rng(2)
    d = np.where(rng.random(400) < 0.4, rng.normal(0, 0.3, 400), 0.0)
    d -= d.mean()
    gain = 0.04
    n = prompts_to_prove(d, alone(d), gain)
    assert n is not None and 50 < n < 1000
    drawn = rng.choice(d, size=(2000, n)) + gain
    found = [mean_interval(sample, alone(sample)) for sample in drawn]
    power = np.mean([interval is not None and interval[0] > 0 for interval in found])
    assert 0.77 <= power <= 0.83


def test_clusters_of_three_alike_need_three_times_the_prompts() -> None:
    d = np.random.default_rng(0).normal(0, 0.2, 200)
    single = prompts_to_prove(d, alone(d), 0.02)
    clustered = prompts_to_prove(np.repeat(d, 3), np.repeat(alone(d), 3).astype(np.int32), 0.02)
    assert single is not None and clustered is not None
    assert clustered == pytest.approx(3 * single, abs=3)


@pytest.mark.parametrize(
    ("d", "units", "gain"),
    [([0.2], [0], 0.1), ([0.2, 0.1], [0, 0], 0.1), ([0.25, 0.25], [0, 1], 0.1), ([0.1, 0.3], [0, 1], 0.0)],
)
def test_without_a_spread_or_a_gain_there_is_no_number(d: list[float], units: list[int], gain: float) -> None:
    assert prompts_to_prove(np.array(d), np.array(units, dtype=np.int32), gain) is None
