"""The weight for unseen prompts: what the rule promises, on curves drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.choice import (
    CELLS,
    GRID,
    RESAMPLES,
    Choice,
    best_weights,
    choose_setting,
    choose_weight,
    evidence_of,
    find_interval,
    smoothing,
)
from harness.splits import resample_counts

CELL = 1 / CELLS  # candidates are compared with home on whole cells: nothing is finer


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def alone(scores: np.ndarray) -> np.ndarray:
    return np.arange(scores.shape[0], dtype=np.int32)


def steps(*stairs: tuple[float, float, float], floor: float = 0.0) -> np.ndarray:
    """One prompt's scores: `floor`, and this score from this weight to that one."""
    scores = np.full(CELLS, floor)
    for low, high, score in stairs:
        scores[(low < GRID) & (high > GRID)] = score
    return scores


def noisy_prompts(n: int, seed: int, *, best: tuple[float, float], gain: float) -> np.ndarray:
    """Prompts whose every score is 0, 1/2 or 1 from some random weight on, better by `gain` on the range `best`."""
    draw = rng(seed)
    cuts = draw.random((n, 2))
    base = np.stack([(c[0] < GRID) * 0.5 * s + 0.25 for c, s in zip(cuts, draw.choice([-0.5, 0.5], n), strict=True)])
    return base + gain * steps((*best, 1.0))


step_scores = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.sampled_from([0.25, 0.5, 1.0])), min_size=2, max_size=12
).map(lambda stairs: np.stack([steps((min(a, b) / 20, max(a, b) / 20, score)) for a, b, score in stairs]))
homes = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
seeds = st.integers(0, 2**31 - 1)


# --- the grid and its smoothing --------------------------------------------------------------------------------------


def test_the_grid_is_the_middles_of_equal_cells() -> None:
    assert pytest.approx([(i + 0.5) / CELLS for i in range(CELLS)]) == GRID
    assert not any(np.isclose(GRID, weight).any() for weight in (0, 0.25, 1 / 3, 0.5, 0.75, 1))


@given(st.floats(0, 1), st.floats(0.01, 0.5))
def test_smoothing_averages_symmetrically_around_its_target(target: float, width: float) -> None:
    weights = smoothing(np.array([target, 1 - target]), width)
    assert weights.sum(axis=1) == pytest.approx([1, 1])
    assert (weights >= 0).all()
    assert weights[0] == pytest.approx(weights[1][::-1], abs=1e-9)


def test_a_width_of_0_smooths_nothing() -> None:
    assert smoothing(GRID, 0.0) == pytest.approx(np.eye(CELLS))


def test_the_kernel_is_gaussian() -> None:
    kernel = smoothing(np.array([GRID[100]]), 0.1)[0]
    for cell in (60, 80, 120, 140):
        distance = (cell - 100) / CELLS
        assert kernel[cell] / kernel[100] == pytest.approx(np.exp(-(distance**2) / (2 * 0.1**2)))


def test_the_best_weight_is_the_mean_of_all_that_share_the_maximum() -> None:
    curves = np.stack([steps((0.2, 0.4, 1.0)), steps((0.0, 0.1, 1.0), (0.9, 1.0, 1.0)), steps(floor=0.3)])
    assert best_weights(curves) == pytest.approx([0.3, 0.5, 0.5])


# --- evidence --------------------------------------------------------------------------------------------------------


def test_evidence_is_the_mean_gain_over_its_standard_error() -> None:
    gain = np.array([0.1, 0.3, 0.2, 0.4])
    error = gain.std(ddof=1) / 2
    assert evidence_of(gain, np.arange(4, dtype=np.int32)) == pytest.approx(0.25 / error)


@pytest.mark.parametrize(
    ("gain", "units", "expected"),
    [
        ([-0.1, -0.2], [0, 1], 0.0),
        ([0.0, 0.0], [0, 1], 0.0),
        ([0.3, 0.2], [0, 0], 0.0),
        ([0.25, 0.25, 0.25], [0, 1, 2], np.inf),
        ([-0.25, -0.25], [0, 1], 0.0),
    ],
)
def test_no_gain_or_one_unit_is_no_evidence_and_a_gain_without_spread_is_full_evidence(
    gain: list[float], units: list[int], expected: float
) -> None:
    assert evidence_of(np.array(gain), np.array(units, dtype=np.int32)) == expected


# --- the weight ------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(step_scores, homes, seeds)
def test_the_weight_lies_between_home_and_candidate_by_the_pull(scores: np.ndarray, home: float, seed: int) -> None:
    choice = choose_weight(scores, alone(scores), rng(seed), home)
    assert all(np.isfinite([choice.weight, choice.candidate, choice.spread, choice.pull]))
    assert 0 <= choice.pull <= 1 and 0 <= choice.candidate <= 1 and choice.spread >= 0 and choice.evidence >= 0
    assert choice.weight == pytest.approx(home + choice.pull * (choice.candidate - home), abs=1e-12)
    if np.isfinite(choice.evidence):
        assert choice.pull == pytest.approx(choice.evidence**2 / (1 + choice.evidence**2))


@settings(deadline=None)
@given(step_scores, homes, seeds)
def test_the_same_seed_gives_the_same_weight_and_inputs_stay_unchanged(scores: np.ndarray, home: float, seed: int) -> None:
    before = scores.copy()
    first, second = (choose_weight(scores, alone(scores), rng(seed), home) for _ in range(2))
    assert first == second
    assert np.array_equal(scores, before)


@settings(deadline=None)
@given(step_scores, homes, seeds)
def test_a_single_unit_stays_at_home(scores: np.ndarray, home: float, seed: int) -> None:
    together = np.zeros(scores.shape[0], dtype=np.int32)
    assert choose_weight(scores, together, rng(seed), home).weight == home
    assert choose_weight(scores[:1], np.zeros(1, dtype=np.int32), rng(seed), home).weight == home


@settings(deadline=None)
@given(homes, seeds, st.integers(1, 40))
def test_a_flat_curve_stays_at_home(home: float, seed: int, n: int) -> None:
    scores = np.repeat(rng(seed).random(n)[:, None], CELLS, axis=1)
    assert choose_weight(scores, alone(scores), rng(seed), home).weight == pytest.approx(home, abs=1e-12)


@settings(deadline=None)
@given(step_scores, homes, seeds, st.integers(2, 4))
def test_paraphrases_in_one_cluster_count_as_one_prompt(scores: np.ndarray, home: float, seed: int, copies: int) -> None:
    once = choose_weight(scores, alone(scores), rng(seed), home)
    together = np.repeat(alone(scores), copies).astype(np.int32)
    again = choose_weight(np.repeat(scores, copies, axis=0), together, rng(seed), home)
    assert again.weight == pytest.approx(once.weight, abs=CELL)


@settings(deadline=None)
@given(step_scores, seeds, st.floats(0.1, 3), st.floats(-1, 1))
@example(np.stack([steps(), steps((0.0, 0.05, 0.25))]), 0, 1.0, 0.3)
@example(np.stack([steps(), steps((0.0, 0.05, 0.25))]), 0, 1.7, 0.1)
@example(np.stack([steps(), steps((0.0, 0.05, 0.25))]), 0, 0.3, 0.7)
def test_a_change_of_scale_does_not_move_the_weight(scores: np.ndarray, seed: int, scale: float, shift: float) -> None:
    one = choose_weight(scores, alone(scores), rng(seed))
    other = choose_weight(scale * scores + shift, alone(scores), rng(seed))
    assert other.weight == pytest.approx(one.weight, abs=CELL)


@settings(deadline=None)
@given(step_scores, homes, seeds)
@example(np.stack([steps(), steps((0.0, 0.05, 0.25))]), 0.5, 0)
def test_swapping_the_two_retrievers_mirrors_the_weight(scores: np.ndarray, home: float, seed: int) -> None:
    """Neither retriever is preferred: the mirrored curves, from the mirrored home, give the mirrored weight."""
    choice = choose_weight(scores, alone(scores), rng(seed), home)
    mirrored = choose_weight(scores[:, ::-1].copy(), alone(scores), rng(seed), 1 - home)
    assert mirrored.weight == pytest.approx(1 - choice.weight, abs=CELL)


def choose_slowly(scores: np.ndarray, counts: np.ndarray, home: float) -> tuple[float, float, float]:
    """Spread, candidate and z by the text of docs/choice.md, one resample at a time."""

    def best_of(curve: np.ndarray) -> float:
        return float(GRID[curve >= curve.max() - 1e-9].mean())

    def smooth(prompt: np.ndarray, target: float, width: float) -> float:
        gauss = np.exp(-((GRID - target) ** 2) / (2 * width**2))
        return float((prompt * gauss).sum() / gauss.sum())

    curves = [np.average(scores, axis=0, weights=count) for count in counts.T]
    spread = float(np.std([best_of(curve) for curve in curves]))
    smoothed = np.array([[smooth(prompt, target, spread) for target in GRID] for prompt in scores])
    at_home = np.array([smooth(prompt, home, spread) for prompt in scores])
    candidates = [best_of(np.average(smoothed, axis=0, weights=count)) for count in counts.T]
    gains: list[list[float]] = [[] for _ in scores]
    for count, candidate in zip(counts.T, candidates, strict=True):
        cell = int(np.argmin(np.abs(GRID - candidate)))
        for prompt in np.flatnonzero(count == 0):
            gains[prompt].append(smoothed[prompt, cell] - at_home[prompt])
    means = np.array([np.mean(gain) for gain in gains])
    z = float(means.mean() / (means.std(ddof=1) / np.sqrt(means.size)))
    return spread, float(np.mean(candidates)), max(z, 0.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("home", [0.2, 0.5])
def test_the_rule_is_the_one_that_the_documents_describe(seed: int, home: float) -> None:
    draw = rng(seed)
    scores = noisy_prompts(12, seed, best=(0.55, 0.8), gain=0.15) + draw.normal(0, 0.02, (12, CELLS))
    choice = choose_weight(scores, alone(scores), rng(seed), home)
    spread, candidate, z = choose_slowly(scores, resample_counts(alone(scores), RESAMPLES, rng(seed)), home)
    assert (choice.spread, choice.candidate, choice.evidence) == pytest.approx((spread, candidate, z), abs=1e-9)


def test_prompts_that_all_agree_on_a_plateau_lead_into_it_and_not_to_its_edge() -> None:
    scores = np.repeat(steps((0.6, 0.9, 1.0))[None, :], 30, axis=0)
    choice = choose_weight(scores, alone(scores), rng())
    assert choice.weight == pytest.approx(0.75, abs=0.1)


def test_a_spike_of_a_few_prompts_does_not_beat_a_broad_plateau() -> None:
    """The best single weight is a sliver at .1 that 3 of 60 prompts like very much; all gain a little around .7."""
    scores = noisy_prompts(60, 1, best=(0.6, 0.8), gain=0.25)
    scores[:3] += 6.0 * steps((0.1, 0.105, 1.0))
    assert GRID[int(np.argmax(scores.mean(axis=0)))] == pytest.approx(0.1, abs=0.01)
    assert choose_weight(scores, alone(scores), rng()).weight > 0.5


def test_more_prompts_of_the_same_kind_lead_further_from_home() -> None:
    pulls = [np.mean([pull_of(noisy_prompts(n, seed, best=(0.75, 0.95), gain=0.1)) for seed in range(12)]) for n in (10, 40, 400)]
    assert pulls[0] < pulls[1] < pulls[2]
    assert pulls[2] > 0.8


def pull_of(scores: np.ndarray) -> float:
    return choose_weight(scores, alone(scores), rng()).pull


def test_without_a_true_difference_the_weight_mostly_stays_near_home() -> None:
    """Scores that do not depend on the weight but by luck: half of the picks stay within a fifth of the way."""
    pulls = [pull_of(noisy_prompts(20, seed, best=(0.0, 0.0), gain=0.0)) for seed in range(60)]
    assert np.median(pulls) < 0.2


def test_strong_evidence_reaches_the_optimum_from_any_home() -> None:
    scores = noisy_prompts(300, 3, best=(0.15, 0.35), gain=0.5)
    for home in (0.0, 0.5, 1.0):
        assert choose_weight(scores, alone(scores), rng(), home).weight == pytest.approx(0.25, abs=0.1)


# --- the discrete setting --------------------------------------------------------------------------------------------


def test_settings_that_cannot_be_told_apart_give_the_first() -> None:
    scores = noisy_prompts(40, 4, best=(0.4, 0.6), gain=0.2)
    wobble = rng(5).normal(0, 0.05, (40, 1))
    assert choose_setting([scores, scores.copy()], alone(scores), rng()) == 0
    assert choose_setting([scores, scores + wobble - wobble.mean() + 0.0005], alone(scores), rng()) == 0


def test_a_setting_that_is_clearly_better_is_taken() -> None:
    scores = noisy_prompts(40, 4, best=(0.4, 0.6), gain=0.2)
    better = scores + rng(6).normal(0.2, 0.05, (40, 1))
    assert choose_setting([scores, scores - 0.1, better], alone(scores), rng()) == 2
    assert choose_setting([better, scores], alone(scores), rng()) == 0


def test_of_several_within_one_standard_error_of_the_best_the_first_in_order_is_taken() -> None:
    scores = noisy_prompts(40, 4, best=(0.4, 0.6), gain=0.2)
    noise = rng(7).normal(0, 0.1, (40, 1))
    nearly = scores + 0.2 + noise - noise.mean()  # a standard error of about .016 below
    assert choose_setting([scores, nearly, scores + 0.205], alone(scores), rng()) == 1


def test_a_setting_two_standard_errors_below_the_best_is_passed_over_and_one_half_of_one_is_not() -> None:
    scores = noisy_prompts(40, 4, best=(0.4, 0.6), gain=0.2)
    noise = rng(7).normal(0, 0.1, (40, 1))
    noise -= noise.mean()
    error = noise.std(ddof=1) / np.sqrt(40)
    assert choose_setting([scores + noise - 2 * error, scores], alone(scores), rng()) == 1
    assert choose_setting([scores + noise - 0.5 * error, scores], alone(scores), rng()) == 0


def test_a_single_unit_takes_the_first_setting() -> None:
    scores = noisy_prompts(3, 4, best=(0.4, 0.6), gain=0.2)
    assert choose_setting([scores, scores + 0.5], np.zeros(3, dtype=np.int32), rng()) == 0


# --- the interval ----------------------------------------------------------------------------------------------------

T_29 = 2.045


def test_the_interval_holds_the_cells_that_cannot_be_told_from_the_pick() -> None:
    """All 30 prompts score alike from .25 to .75, and clearly less elsewhere."""
    scores = np.repeat(steps((0.25, 0.75, 1.0))[None, :], 30, axis=0) + rng(8).normal(0, 0.1, (30, 1))
    low, high = find_interval(scores, scores[:, 80], float(GRID[80]), alone(scores), t_quantile=T_29)
    assert (low, high) == pytest.approx((0.25, 0.75))


def test_the_interval_ends_at_the_first_cell_that_differs_even_where_a_later_one_does_not() -> None:
    scores = np.repeat(steps((0.25, 0.5, 1.0), (0.6, 0.9, 1.0))[None, :], 30, axis=0)
    low, high = find_interval(scores, scores[:, 60], float(GRID[60]), alone(scores), t_quantile=T_29)
    assert (low, high) == pytest.approx((0.25, 0.5))


def test_a_difference_within_the_t_interval_does_not_end_it_and_one_beyond_does() -> None:
    """On (.5, 1) half of 30 prompts lose x, half win 1: the mean's standard error decides."""
    signs = np.tile([1.0, -1.0], 15)
    spread = np.sqrt((1.0**2) * 30 / 29 / 30)  # of the mean of ± 1
    for shift, expected in ((-0.95 * T_29 * spread, 1.0), (-1.05 * T_29 * spread, 0.5)):
        scores = np.zeros((30, CELLS))
        scores[:, GRID > 0.5] = (signs + shift)[:, None]
        _, high = find_interval(scores, np.zeros(30), 0.2, alone(scores), t_quantile=T_29)
        assert high == pytest.approx(expected)


def test_a_single_unit_tells_no_weight_from_the_pick() -> None:
    scores = noisy_prompts(3, 4, best=(0.4, 0.6), gain=0.2)
    assert find_interval(scores, scores[:, 9], 0.3, np.zeros(3, dtype=np.int32), t_quantile=np.inf) == (0.0, 1.0)


@settings(deadline=None)
@given(step_scores, st.floats(0, 1))
def test_the_interval_holds_the_pick_and_lies_in_0_to_1(scores: np.ndarray, pick: float) -> None:
    at_pick = scores[:, min(CELLS - 1, int(pick * CELLS))]
    low, high = find_interval(scores, at_pick, pick, alone(scores), t_quantile=T_29)
    assert 0 <= low <= pick <= high <= 1


def test_a_choice_is_a_plain_value() -> None:
    scores = noisy_prompts(10, 4, best=(0.4, 0.6), gain=0.2)
    choice = choose_weight(scores, alone(scores), rng())
    assert isinstance(choice, Choice)
    assert all(type(value) is float for value in vars(choice).values())
