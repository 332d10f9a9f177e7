"""The discrete side of a search space: its values, its settings, and a coarse choice of them that no label decided."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from harness.config import INDEX_PARAMS, TEXT_PARAMS, WHOLE_PARAMS, Config
from harness.engines import RANK_FUSIONS
from harness.systems import baseline_params
from harness.types import Params

MOST_VALUES = 6  # of one discrete parameter in the coarse choice
DISCRETE = ("fusion", "rrf_k", "depth", "k1", "b", *INDEX_PARAMS)  # what tells settings apart beside the weight and top_k


def list_grid(space: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Every value of each searched parameter of a space of lists and stepped ranges."""
    return {name: list_values(name, entry) for name, entry in space.items() if isinstance(entry, (list, dict))}


def list_values(name: str, entry: Any) -> list[Any]:
    """The values of one entry: a list's, a fixed one, or a stepped range's (whole numbers step by 1)."""
    if isinstance(entry, list):
        return entry
    if not isinstance(entry, dict):
        return [entry]
    step = entry.get("step", 1)
    n = math.floor((entry["high"] - entry["low"]) / step + 1e-9) + 1
    values = [entry["low"] + i * step for i in range(n)]
    return values if name in WHOLE_PARAMS else [min(float(np.round(value, 12)), entry["high"]) for value in values]


def count_points(config: Config) -> int | None:
    """How many different settings the space has; None where it has a real range without a step."""
    space = config.search.space
    counts: dict[str, int] = {}
    for name, entry in space.items():
        if isinstance(entry, dict) and "step" not in entry and name not in WHOLE_PARAMS:
            return None
        counts[name] = len(list_values(name, {**entry, "step": entry.get("step", 1)} if isinstance(entry, dict) else entry))
    rest = math.prod(n for name, n in counts.items() if name not in ("fusion", "rrf_k"))
    fusions = list_values("fusion", space.get("fusion", config.fusion))
    return rest * sum(counts.get("rrf_k", 1) if fusion in RANK_FUSIONS else 1 for fusion in fusions)


def fixed_values(config: Config) -> dict[str, Any]:
    """What the space fixes: its entries that are neither a range nor a list."""
    return {name: entry for name, entry in config.search.space.items() if not isinstance(entry, (dict, list))}


def effective(params: Params) -> Params:
    """The same setting with one name for equal ones: rrf_k counts only where ranks are fused."""
    return params if params.fusion in RANK_FUSIONS else replace(params, rrf_k=0)


def space_values(config: Config, name: str) -> list[Any]:
    """The values of one parameter: the space's, or the top-level one where the space does not name it.

    A real range without a step has its two ends, its middle (the geometric one for a log range), and the top-level value
    where that lies inside.
    """
    home = getattr(config.base, name)
    entry = config.search.space.get(name, home)
    if isinstance(entry, dict) and "step" not in entry and name not in WHOLE_PARAMS:
        low, high = entry["low"], entry["high"]
        middle = math.sqrt(low * high) if entry.get("log") else (low + high) / 2
        inside = [home] if low <= home <= high else []
        return sorted({low, middle, high, *inside})
    return list_values(name, entry)


def list_settings(config: Config, values: Mapping[str, list[Any]]) -> list[Params]:
    """Every setting that these values of the discrete parameters make, the top-level one and its neighbours first.

    The order is by how many parameters differ from the top-level ones, then by how far: by the values' places.
    """
    home = config.base
    made: dict[Params, Params] = {}
    for combination in itertools.product(*(values[name] for name in DISCRETE)):
        params = replace(home, **dict(zip(DISCRETE, combination, strict=True)))
        made.setdefault(effective(params), params if params.fusion in RANK_FUSIONS else replace(params, rrf_k=home.rrf_k))

    def distance(params: Params) -> tuple[int, int]:
        apart = [_places(values[name], getattr(params, name), getattr(home, name)) for name in DISCRETE]
        return sum(places > 0 for places in apart), sum(apart)

    return sorted(made.values(), key=distance)


def _places(values: list[Any], value: Any, home: Any) -> int:
    """How many places of the list two values are apart; home stands where its nearest value stands."""
    if value == home:
        return 0
    if isinstance(home, str):
        return 1 + values.index(value) if value in values else 1
    ordered = sorted({*values, value})
    nearest = min(ordered, key=lambda other: abs(other - home))
    return max(1, abs(ordered.index(value) - ordered.index(nearest)))


def count_settings(config: Config) -> int | None:
    """How many discrete settings the space has, top_k and the weight aside; None where k1 or b has a real range."""
    for name in ("k1", "b"):
        entry = config.search.space.get(name)
        if isinstance(entry, dict) and "step" not in entry and entry["low"] < entry["high"]:
            return None
    lengths = {name: len(space_values(config, name)) for name in DISCRETE}
    fusions = space_values(config, "fusion")
    others = math.prod(lengths[name] for name in DISCRETE if name not in ("fusion", "rrf_k"))
    return others * sum(lengths["rrf_k"] if f in RANK_FUSIONS else 1 for f in fusions)


def coarse_settings(config: Config, limit: int) -> list[Params]:
    """At most `limit` settings spread over the space, chosen without a look at any label; home and its neighbours first.

    A long list of values (the constants of RRF, say) is thinned evenly, on a log scale for a log range; the top-level
    value stays where the space holds it.
    """
    most = MOST_VALUES
    while True:
        values = {name: thin(config, name, space_values(config, name), most) for name in DISCRETE}
        settings = list_settings(config, values)
        if len(settings) <= limit or most == 1:
            return settings[:limit]
        most -= 1


def thin(config: Config, name: str, values: list[Any], most: int) -> list[Any]:
    """About `most` of these values, evenly spread, and the top-level one; names (fusions, analyzers) are never thinned.

    With most = 1 it is the value nearest to the top-level one.
    """
    if len(values) <= most or name in TEXT_PARAMS:
        return values
    home, entry = getattr(config.base, name), config.search.space[name]
    nearest = min(values, key=lambda value: abs(value - home))
    if most == 1:
        return [nearest]
    ordered = sorted(values)
    log = isinstance(entry, dict) and entry.get("log", False)
    targets = (np.geomspace if log else np.linspace)(ordered[0], ordered[-1], most)
    kept = {min(ordered, key=lambda value: abs(value - target)) for target in targets}
    return [value for value in values if value in kept or value == home]


def weight_range(config: Config) -> tuple[float, float]:
    """The lowest and the highest semantic weight that the space allows; the top-level one where it names none."""
    return value_range(config, "semantic_weight")


def value_range(config: Config, name: str) -> tuple[float, float]:
    """The lowest and the highest value that the space allows; the top-level one where it names none."""
    entry = config.search.space.get(name, getattr(config.base, name))
    if isinstance(entry, dict):
        return entry["low"], entry["high"]
    values = entry if isinstance(entry, list) else [entry]
    return min(values), max(values)


def holds_setting(config: Config, params: Params) -> bool:
    """Whether the space holds this setting's discrete side (rrf_k counted only where ranks are fused)."""
    for name in DISCRETE:
        if name == "rrf_k" and params.fusion not in RANK_FUSIONS:
            continue
        entry, value = config.search.space.get(name, getattr(config.base, name)), getattr(params, name)
        if isinstance(entry, dict) and "step" not in entry:
            if not entry["low"] <= value <= entry["high"]:
                return False
        elif value not in list_values(name, entry):
            return False
    return True


def settings_beside(config: Config, top_k: int) -> dict[str, Params]:
    """What a pick is compared with, by system: the baselines at this top_k, and today's setting where the config names it."""
    settings = baseline_params(config.base, top_k, config.engine)
    return settings if config.kept is None else {**settings, "current": config.kept}


def kept_of(config: Config) -> str:
    """The system that a pick must beat: today's setting where the config names it, else equal weights."""
    return "current" if config.kept is not None else "equal"
