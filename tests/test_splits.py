"""Units, folds and resamples: what belongs together stays together, and the counts add up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.splits import make_rng, number_units, resample_counts, split_folds

clusters = st.lists(st.sampled_from(["", "a", "b", "c", "d"]), min_size=1, max_size=30)
seeds = st.integers(0, 2**31 - 1)


def test_a_cluster_is_one_unit_and_a_prompt_without_one_is_its_own() -> None:
    assert number_units(["", "x", "", "y", "x", ""]).tolist() == [0, 1, 2, 3, 1, 4]


def test_a_cluster_named_like_a_number_is_not_mistaken_for_a_prompt() -> None:
    assert number_units(["", "0", "prompt 0", "1"]).tolist() == [0, 1, 2, 3]


@given(clusters)
def test_units_are_numbered_without_gaps_from_0(names: list[str]) -> None:
    units = number_units(names)
    assert sorted(set(units.tolist())) == list(range(len(set(filter(None, names))) + names.count("")))


@given(clusters, st.integers(2, 7), seeds)
def test_folds_never_tear_a_cluster(names: list[str], n_folds: int, seed: int) -> None:
    fold = split_folds(number_units(names), n_folds, make_rng(seed))
    for name in set(filter(None, names)):
        assert len({fold[i] for i, other in enumerate(names) if other == name}) == 1, name


@given(clusters, st.integers(2, 7), seeds)
def test_folds_are_equally_many_units_to_one_and_none_is_empty(names: list[str], n_folds: int, seed: int) -> None:
    units = number_units(names)
    fold = split_folds(units, n_folds, make_rng(seed))
    sizes = Counter(dict(zip(units.tolist(), fold.tolist(), strict=True)).values())
    assert set(sizes) == set(range(min(n_folds, int(units.max()) + 1)))
    assert max(sizes.values()) - min(sizes.values()) <= 1


@given(clusters, st.integers(2, 7), seeds)
def test_folds_and_resamples_follow_from_the_seed_alone(names: list[str], n_folds: int, seed: int) -> None:
    units = number_units(names)
    for draw in (lambda rng: split_folds(units, n_folds, rng), lambda rng: resample_counts(units, 7, rng)):
        assert np.array_equal(draw(make_rng(seed, 3)), draw(make_rng(seed, 3)))


def test_seeds_and_purposes_have_random_numbers_of_their_own() -> None:
    units = number_units([""] * 40)
    draws = [make_rng(1, 2), make_rng(1, 3), make_rng(2, 2), make_rng(1, 2, 0, 1), make_rng(1, 2, 1, 0)]
    assert len({split_folds(units, 5, rng).tobytes() for rng in draws}) == 5


@given(clusters, seeds)
def test_a_resample_counts_as_many_units_as_there_are_and_each_cluster_as_one(names: list[str], seed: int) -> None:
    units = number_units(names)
    counts = resample_counts(units, 25, make_rng(seed))
    assert counts.shape == (len(names), 25)
    first = [units.tolist().index(unit) for unit in range(int(units.max()) + 1)]  # one prompt of each unit
    assert (counts[first].sum(axis=0) == len(first)).all()
    for unit in range(len(first)):
        assert (counts[units == unit] == counts[first[unit]]).all()
    assert (counts == np.round(counts)).all() and (counts >= 0).all()


def test_every_unit_is_drawn_equally_often_on_average() -> None:
    """The count of a unit is binomial: mean 1, variance 1 − 1/k; with 4,000 resamples the mean's error is about .015."""
    units = number_units(["a", "a", "a", "", "", ""])
    counts = resample_counts(units, 4000, make_rng(5))
    assert counts.mean(axis=1) == pytest.approx(np.ones(6), abs=0.08)
    assert counts.var(axis=1) == pytest.approx(np.full(6, 1 - 1 / 4), abs=0.08)
