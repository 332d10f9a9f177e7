"""The discrete side of a search space: its values, its settings, and the choice of them that no label decided."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config import Config, parse_config
from harness.fusion import FUSIONS
from harness.space import (
    DISCRETE,
    coarse_settings,
    count_points,
    count_settings,
    effective,
    fixed_values,
    list_grid,
    list_settings,
    list_values,
    space_values,
    weight_range,
)
from harness.types import Params


def configure(space: dict[str, Any] | None = None, **top: Any) -> Config:
    data: dict[str, Any] = {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, **top}
    return parse_config(data if space is None else {**data, "search": {"space": space}})


whole_entries = st.one_of(
    st.integers(1, 30),
    st.lists(st.integers(1, 30), min_size=1, max_size=4, unique=True),
    st.tuples(st.integers(1, 20), st.integers(0, 9)).map(lambda pair: {"low": pair[0], "high": sum(pair)}),
    st.tuples(st.integers(1, 20), st.integers(0, 9)).map(lambda pair: {"low": pair[0], "high": pair[0] + 3 * pair[1], "step": 3}),
)
real_entries = st.one_of(
    st.sampled_from([0.25, 0.5]),
    st.lists(st.sampled_from([0.0, 0.25, 0.75, 1.0]), min_size=1, max_size=3, unique=True),
    st.just({"low": 0.5, "high": 1.0, "step": 0.25}),
)
spaces = st.fixed_dictionaries(
    {},
    optional={
        "fusion": st.lists(st.sampled_from(sorted(FUSIONS)), min_size=1, max_size=4, unique=True),
        "rrf_k": whole_entries,
        "depth": whole_entries,
        "k1": real_entries,
        "b": real_entries,
        "top_k": whole_entries,
    },
)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        ("top_k", {"low": 3, "high": 6}, [3, 4, 5, 6]),
        ("depth", {"low": 10, "high": 40, "step": 10}, [10, 20, 30, 40]),
        ("k1", {"low": 0.4, "high": 1.0, "step": 0.2}, [0.4, 0.6, 0.8, 1.0]),
        ("b", {"low": 0.0, "high": 1.0, "step": 0.1}, [i / 10 for i in range(11)]),
        ("fusion", ["rrf", "minmax"], ["rrf", "minmax"]),
        ("rrf_k", 60, [60]),
    ],
)
def test_an_entry_lists_its_values(name: str, entry: Any, expected: list[Any]) -> None:
    assert list_values(name, entry) == expected


def test_a_stepped_range_never_leaves_its_bounds() -> None:
    values = list_values("k1", {"low": 0.1, "high": 0.7, "step": 0.1})
    assert values == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], abs=1e-12) and max(values) <= 0.7


def test_a_real_range_without_a_step_is_its_ends_its_middle_and_the_top_level_value_inside() -> None:
    config = configure({"k1": {"low": 0.5, "high": 2.0}, "b": {"low": 0.1, "high": 0.9, "log": True}})
    assert space_values(config, "k1") == [0.5, 1.25, 1.5, 2.0], "1.5 is the top-level value"
    assert space_values(config, "b") == pytest.approx([0.1, math.sqrt(0.1 * 0.9), 0.75, 0.9]), "so is .75"
    outside = configure({"k1": {"low": 2.0, "high": 3.0}})
    assert space_values(outside, "k1") == [2.0, 2.5, 3.0]
    assert space_values(configure({"k1": {"low": 1.0, "high": 1.0}}), "k1") == [1.0]


def test_what_the_space_does_not_name_has_the_top_level_value() -> None:
    config = configure({"semantic_weight": {"low": 0, "high": 1}}, fusion="zscore", rrf_k=7, depth=33, keyword={"k1": 0.9})
    assert [space_values(config, name) for name in DISCRETE] == [["zscore"], [7], [33], [0.9], [0.75], *[[""]] * 3, [0], [-1]]


def test_fixed_values_and_the_grid_share_the_space_between_them() -> None:
    config = configure({"depth": 40, "fusion": ["rrf", "l2"], "top_k": {"low": 2, "high": 3}, "semantic_weight": 0.3})
    assert fixed_values(config) == {"depth": 40, "semantic_weight": 0.3}
    assert list_grid(config.search.space) == {"fusion": ["rrf", "l2"], "top_k": [2, 3]}


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ({"semantic_weight": {"low": 0.2, "high": 0.7}}, (0.2, 0.7)),
        ({"semantic_weight": [0.7, 0.1, 0.4]}, (0.1, 0.7)),
        ({"semantic_weight": 0.3}, (0.3, 0.3)),
        (None, (0.0, 1.0)),
    ],
)
def test_the_weights_range_is_what_the_space_allows(space: Any, expected: tuple[float, float]) -> None:
    assert weight_range(configure(space)) == expected


# --- settings --------------------------------------------------------------------------------------------------------


def test_rrf_k_tells_settings_apart_only_for_rrf() -> None:
    assert effective(Params(fusion="minmax", rrf_k=1)) == effective(Params(fusion="minmax", rrf_k=99))
    assert effective(Params(fusion="rrf", rrf_k=1)) != effective(Params(fusion="rrf", rrf_k=99))


def test_settings_are_listed_by_how_far_they_are_from_the_top_level_one() -> None:
    config = configure({"fusion": ["rrf", "minmax"], "rrf_k": [1, 60], "depth": [50, 100]})
    listed = [(s.fusion, s.rrf_k, s.depth) for s in list_settings(config, {n: space_values(config, n) for n in DISCRETE})]
    assert listed[0] == ("minmax", 60, 100)
    assert set(listed[1:3]) == {("rrf", 60, 100), ("minmax", 60, 50)}
    assert set(listed[3:5]) == {("rrf", 1, 100), ("rrf", 60, 50)}
    assert listed[5:] == [("rrf", 1, 50)]


@given(spaces)
def test_every_setting_is_listed_once_and_counted(space: dict[str, Any]) -> None:
    config = configure(space)
    values = {name: space_values(config, name) for name in DISCRETE}
    settings = list_settings(config, values)
    expected = {
        effective(replace(config.base, **dict(zip(DISCRETE, point, strict=True))))
        for point in itertools.product(*values.values())
    }
    assert {effective(s) for s in settings} == expected
    assert len(settings) == len(expected) == count_settings(config)
    assert all(s.semantic_weight == config.semantic_weight and s.top_k == config.top_k for s in settings)


@given(spaces)
def test_points_are_settings_times_top_k_times_weights(space: dict[str, Any]) -> None:
    config = configure({**space, "semantic_weight": [0.1, 0.5, 0.9]})
    tops = len(list_values("top_k", space.get("top_k", 10)))
    settings = count_settings(config)
    assert settings is not None and count_points(config) == settings * tops * 3


def test_a_real_range_without_a_step_cannot_be_counted() -> None:
    assert count_settings(configure({"k1": {"low": 0.5, "high": 2.0}})) is None
    assert count_settings(configure({"k1": {"low": 0.5, "high": 0.5}})) == 1
    assert count_settings(configure({"semantic_weight": {"low": 0, "high": 1}, "fusion": ["l2", "rrf"]})) == 2
    assert count_points(configure({"semantic_weight": {"low": 0, "high": 1}})) is None


# --- the coarse choice -----------------------------------------------------------------------------------------------


@given(spaces, st.integers(1, 30))
def test_the_coarse_choice_is_a_part_of_the_space_and_not_larger_than_its_limit(space: dict[str, Any], limit: int) -> None:
    config = configure(space)
    everything = list_settings(config, {name: space_values(config, name) for name in DISCRETE})
    chosen = coarse_settings(config, limit)
    assert 1 <= len(chosen) <= limit
    assert len({effective(s) for s in chosen}) == len(chosen)
    assert {effective(s) for s in chosen} <= {effective(s) for s in everything}
    if effective(config.base) in {effective(s) for s in everything}:
        assert effective(chosen[0]) == effective(config.base), "the top-level setting comes first"


@given(spaces)
def test_a_small_space_is_chosen_whole(space: dict[str, Any]) -> None:
    config = configure(space)
    values = {name: space_values(config, name) for name in DISCRETE}
    if all(len(v) <= 6 for v in values.values()) and len(list_settings(config, values)) <= 24:
        assert coarse_settings(config, 24) == list_settings(config, values)


@pytest.mark.parametrize(("low", "high"), [(1, 100), (10, 200), (50, 100)])
def test_a_long_log_range_is_thinned_evenly_on_a_log_scale(low: int, high: int) -> None:
    config = configure({"fusion": "rrf", "rrf_k": {"low": low, "high": high, "log": True}}, rrf_k=low)
    chosen = sorted(s.rrf_k for s in coarse_settings(config, 24))
    assert (chosen[0], chosen[-1]) == (low, high)
    assert 4 <= len(chosen) <= 7
    expected = [low * (high / low) ** (i / (len(chosen) - 1)) for i in range(len(chosen))]
    assert chosen == pytest.approx(expected, rel=0.08, abs=0.5)


def test_a_long_linear_range_is_thinned_evenly() -> None:
    config = configure({"depth": {"low": 10, "high": 110}}, depth=10)
    chosen = sorted(s.depth for s in coarse_settings(config, 24))
    assert chosen == [10, 30, 50, 70, 90, 110]


def test_the_top_level_value_survives_the_thinning() -> None:
    config = configure({"fusion": "rrf", "rrf_k": {"low": 1, "high": 100, "log": True}}, rrf_k=59)
    assert 59 in {s.rrf_k for s in coarse_settings(config, 24)}


def test_fusions_are_never_thinned() -> None:
    space = {"fusion": sorted(FUSIONS), "rrf_k": {"low": 1, "high": 100}, "depth": {"low": 1, "high": 100}}
    assert {s.fusion for s in coarse_settings(configure(space), 24)} == set(FUSIONS)
