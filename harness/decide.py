"""From the candidates to a recommended setting and a verdict: exact optimum, pick, cross-fitting, comparison. Pure.

The pick and everything that judges it repeat one procedure, `choose_for`, on different prompts; what it chooses from
(`coarse_settings`) was chosen without a look at any label, so that cross-fitting repeats the whole selection.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from harness.choice import GRID, Choice, choose_setting, choose_weight, find_interval
from harness.config import Config
from harness.hybrid import Hybrid
from harness.inference import FEWEST_DIFFERING, SAME, Comparison, compare, holm
from harness.measures import GROWS_WITH_K, Measure, parse_measure, score_queries
from harness.profiles import Optimum, Profiles, find_optimum, mean_curve, profile_cuts, restrict
from harness.progress import Progress
from harness.space import (
    DISCRETE,
    coarse_settings,
    count_settings,
    effective,
    holds_setting,
    list_settings,
    list_values,
    space_values,
    weight_range,
)
from harness.splits import make_rng, number_units, split_folds
from harness.traffic import count_units, counting, of_rows, weighted_mean
from harness.types import FloatArray, IntArray, Params

MOST_EXACT = 128  # discrete settings whose exact optimum is computed; beyond, the best that the trials visited
MOST_VISITED = 24
MOST_CHOICES = 24  # discrete settings that the pick chooses from
REPEATS, FOLDS = 10, 5
MOST_ROUNDS = 3
PURPOSES = {"pick": 1, "folds": 2, "tests": 3}  # each purpose has random numbers of its own


@dataclass(frozen=True)
class Exact:
    """The best weight of the best discrete setting, among `settings` examined of `of` (None: the space is not finite).

    `by_index` has the same for each value of each searched index parameter, over all others that were examined with it.
    """

    optimum: Optimum
    params: Params
    settings: int
    of: int | None
    by_index: Mapping[str, Mapping[Any, tuple[Optimum, Params]]] = field(default_factory=dict)


def profiles_of(hybrid: Hybrid, params: Params, measure: Measure, all_top_k: Sequence[int]) -> list[Profiles]:
    """The exact per-query profiles of one discrete setting, one for each top_k."""
    _, lines, columns = hybrid.setting(params)
    return profile_cuts(lines, columns, hybrid.judgements, measure, list(all_top_k))


def profile_settings(
    hybrid: Hybrid, settings: Sequence[Params], measure: Measure, all_top_k: Sequence[int]
) -> Iterator[list[Profiles]]:
    """`profiles_of` for each setting in turn; as many at once as there are cores, and only that many in memory."""
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(settings), workers):
            parts = [hybrid.setting(params)[1:] for params in settings[start : start + workers]]
            yield from pool.map(lambda part: profile_cuts(part[0], part[1], hybrid.judgements, measure, list(all_top_k)), parts)


def mean_score(hybrid: Hybrid, params: Params, measure: Measure) -> float:
    """The objective's value of one setting: directly, as a trial computes it."""
    return weighted_mean(objective_scores(hybrid, params, measure, params.top_k), hybrid.traffic)


def objective_scores(hybrid: Hybrid, params: Params, measure: Measure, top_k: int) -> FloatArray:
    """Each query's objective at this setting, on the list as cut at top_k."""
    return score_queries(measure.at(top_k), hybrid.rank(params).cut(top_k), hybrid.judgements)


def find_exact(hybrid: Hybrid, config: Config, visited: Sequence[Params], progress: Progress) -> Exact | None:
    """The exact optimum over the weight for the space's discrete settings; None where the weight is not searched.

    All settings up to MOST_EXACT, beyond that the MOST_VISITED best ones that the trials visited (`visited`, best first)
    and those that the pick chooses from.
    Where the objective cannot fall as K grows only the largest top_k is followed; equal scores go to the smaller top_k.
    """
    low, high = weight_range(config)
    if low == high:
        return None
    measure, count = config.objectives[0], count_settings(config)
    tops = [int(value) for value in space_values(config, "top_k")]
    grows = measure.name in GROWS_WITH_K and config.measures.ap_denominator == "R"
    followed = [max(tops)] if grows else _distinct_cuts(measure, tops)
    if count is not None and count * len(followed) <= MOST_EXACT:
        settings = list_settings(config, {name: space_values(config, name) for name in DISCRETE})
    else:
        best_visited = list(dict.fromkeys(replace(p, semantic_weight=0.5, top_k=config.top_k) for p in visited))[:MOST_VISITED]
        today = [config.kept] if config.kept is not None and holds_setting(config, config.kept) else []
        coarse = [replace(p, semantic_weight=0.5, top_k=config.top_k) for p in [*today, *coarse_settings(config, MOST_CHOICES)]]
        settings = list(dict.fromkeys([*best_visited, *coarse]))
    best: tuple[Optimum, Params] | None = None
    by_index: dict[str, dict[Any, tuple[Optimum, Params]]] = {name: {} for name in config.indexed}
    with progress("exact optimum of each setting", len(settings)) as advance:
        for setting, cuts in zip(settings, profile_settings(hybrid, settings, measure, followed), strict=True):
            for top_k, profiles in zip(followed, cuts, strict=True):
                optimum = find_optimum(restrict(mean_curve(profiles, hybrid.traffic), low, high))
                found = (optimum, replace(setting, semantic_weight=optimum.weight, top_k=top_k))
                if best is None or optimum.score > best[0].score + 1e-12:
                    best = found
                for name, of_value in by_index.items():
                    known = of_value.setdefault(getattr(setting, name), found)
                    if optimum.score > known[0].score + 1e-12:
                        of_value[getattr(setting, name)] = found
            advance(1)
    if best is None:
        return None
    optimum, params = best
    score = mean_score(hybrid, params, measure)
    for top_k in sorted(tops):
        smaller = replace(params, top_k=top_k)
        if mean_score(hybrid, smaller, measure) >= score - 1e-12:
            params = smaller
            break
    if params.top_k != best[1].top_k:  # at a smaller K the best interval may be a narrower one
        curve = mean_curve(profiles_of(hybrid, params, measure, [params.top_k])[0], hybrid.traffic)
        optimum = find_optimum(restrict(curve, low, high))
        params = replace(params, semantic_weight=optimum.weight)
    direct = {
        name: {value: (replace(found, score=mean_score(hybrid, p, measure)), p) for value, (found, p) in of_value.items()}
        for name, of_value in by_index.items()
    }
    return Exact(replace(optimum, score=mean_score(hybrid, params, measure)), params, len(settings), count, direct)


def _distinct_cuts(measure: Measure, tops: Sequence[int]) -> list[int]:
    """The top_k that give different objectives: beyond a fixed cutoff all are one."""
    if measure.cutoff == "top_k" or measure.cutoff is None:
        return sorted(tops)
    beyond = [top_k for top_k in tops if top_k >= measure.cutoff]
    return sorted([*(top_k for top_k in tops if top_k < measure.cutoff), *([min(beyond)] if beyond else [])])


@dataclass(frozen=True)
class Shelf:
    """What is chosen from at one top_k: the settings, home first, and each one's grid scores (n_queries, cells).

    `traffic` is what each query counts in a mean.
    """

    top_k: int
    settings: tuple[Params, ...]
    scores: tuple[FloatArray, ...]
    home_weight: float
    low: float
    high: float
    traffic: FloatArray | None = None


def stock_shelf(hybrid: Hybrid, config: Config, top_k: int) -> Shelf:
    """The coarse settings with their exact scores on the grid; home is today's setting where the space holds it."""
    kept = config.kept
    settings = coarse_settings(config, MOST_CHOICES)
    home_weight = 0.5
    if kept is not None and holds_setting(config, kept):
        home = replace(kept, semantic_weight=settings[0].semantic_weight, top_k=settings[0].top_k)
        settings = [home, *(s for s in settings if effective(s) != effective(home))]
        home_weight = kept.semantic_weight
    low, high = weight_range(config)
    measure = config.objectives[0]
    if low == high:
        fixed = [objective_scores(hybrid, replace(s, semantic_weight=low), measure, top_k) for s in settings]
        repeated = tuple(scores[:, None].repeat(GRID.size, axis=1) for scores in fixed)
        return Shelf(top_k, tuple(settings), repeated, low, low, high, hybrid.traffic)
    scores = tuple(cuts[0].scores_at(GRID) for cuts in profile_settings(hybrid, settings, measure, [top_k]))
    home_weight = min(max(home_weight, low), high)
    return Shelf(top_k, tuple(settings), scores, home_weight, low, high, hybrid.traffic)


def choose_for(shelf: Shelf, rows: IntArray, units: IntArray, seed: int, *purpose: int) -> tuple[Params, Choice]:
    """Setting and weight for unseen prompts, from these prompts (row numbers) alone; all of them must count."""
    traffic = of_rows(shelf.traffic, rows)
    own = np.unique(units[rows], return_inverse=True)[1].astype(np.int32)
    scores = [setting_scores[rows] for setting_scores in shelf.scores]
    if shelf.low == shelf.high:
        best = choose_setting(scores, own, make_rng(seed, *purpose, 0), traffic=traffic)
        fixed = Choice(shelf.low, shelf.low, 0.0, 0.0, 0.0)
        return replace(shelf.settings[best], semantic_weight=shelf.low, top_k=shelf.top_k), fixed
    within = np.flatnonzero((shelf.low <= GRID) & (shelf.high >= GRID))
    if within.size == 0:  # a range inside one cell
        within = np.asarray([int(np.argmin(np.abs(GRID - (shelf.low + shelf.high) / 2)))])
    grid, scores = GRID[within], [setting_scores[:, within] for setting_scores in scores]
    best = choose_setting(scores, own, make_rng(seed, *purpose, 0), grid, traffic)
    choice = choose_weight(scores[best], own, make_rng(seed, *purpose, 1), shelf.home_weight, grid, traffic)
    weight = min(max(choice.weight, shelf.low), shelf.high)
    return replace(shelf.settings[best], semantic_weight=weight, top_k=shelf.top_k), choice


@dataclass(frozen=True)
class Pick:
    """The recommended setting, how its weight came about, and the weights that the prompts cannot tell from it."""

    params: Params
    choice: Choice
    interval: tuple[float, float]
    shelf: Shelf


def make_pick(hybrid: Hybrid, config: Config, units: IntArray, start: Params) -> Pick:
    """Settle K, then setting and weight at that K.

    K is the smallest top_k whose objective is within `tolerance` of the best K's, at the setting that runs; the search
    starts at `start` (the best trial's) and ends when K and setting agree, or after MOST_ROUNDS with the K of the last one.
    """
    traffic = hybrid.traffic
    everyone = np.flatnonzero(counting(traffic, units.size)).astype(np.int32)
    params = start
    for _ in range(MOST_ROUNDS):
        top_k = settle_top_k(hybrid, config, params)
        shelf = stock_shelf(hybrid, config, top_k)
        params, choice = choose_for(shelf, everyone, units, config.seed, PURPOSES["pick"])
        if settle_top_k(hybrid, config, params) == top_k:
            break
    else:  # K and weight chase one another: this weight stays, at the K that is its own
        top_k = settle_top_k(hybrid, config, params)
        shelf = stock_shelf(hybrid, config, top_k)
        params = replace(params, top_k=top_k)
    at_pick = objective_scores(hybrid, params, config.objectives[0], top_k)
    index = [replace(s, semantic_weight=params.semantic_weight, top_k=top_k) for s in shelf.settings].index(params)
    k = count_units(units, traffic)
    quantile = float(stdtrit(k - 1, 0.975)) if k > 1 else np.inf
    weight = params.semantic_weight
    interval = find_interval(shelf.scores[index], at_pick, weight, units, t_quantile=quantile, traffic=traffic)
    interval = (max(interval[0], shelf.low), min(interval[1], shelf.high)) if shelf.low < shelf.high else (shelf.low,) * 2
    return Pick(params, choice, interval, shelf)


def settle_top_k(hybrid: Hybrid, config: Config, params: Params) -> int:
    """The smallest top_k of the space whose objective is within `tolerance` of the best one's, at this setting."""
    tops = sorted(int(value) for value in list_values("top_k", config.search.space.get("top_k", config.top_k)))
    ranking = hybrid.rank(params)
    measure = config.objectives[0]
    scores = [score_queries(measure.at(top_k), ranking.cut(top_k), hybrid.judgements) for top_k in tops]
    values = [weighted_mean(at_top_k, hybrid.traffic) for at_top_k in scores]
    enough = max(values) * (1 - config.tolerance)
    return next(top_k for top_k, value in zip(tops, values, strict=True) if value >= enough - 1e-12)


@dataclass(frozen=True)
class CrossFit:
    """Every prompt scored by picks that did not see it, the mean over the repeats: the objective (n_queries,), and the
    guarded measures by name. `chosen` are the picks of all folds; `folds` tells how many there were a repeat."""

    objective: FloatArray
    guarded: Mapping[str, FloatArray]
    chosen: tuple[Params, ...]
    folds: int


def cross_fit(hybrid: Hybrid, config: Config, units: IntArray, shelf: Shelf, progress: Progress) -> CrossFit | None:
    """Repeat the whole selection on training folds and score the fold left out; None with a single unit that counts.

    Prompts of weight 0 are scored, and choose nothing.
    """
    counts = counting(hybrid.traffic, units.size)
    n_queries, n_units = units.size, count_units(units, hybrid.traffic)
    if n_units < 2:
        return None
    guards = [parse_measure(name) for name in config.guards]
    total = np.zeros(n_queries)
    guarded = {str(measure): np.zeros(n_queries) for measure in guards}
    chosen = []
    n_folds = min(FOLDS, n_units)
    with progress("choosing again on training folds", REPEATS * n_folds) as advance:
        for repeat, left_out in itertools.product(range(REPEATS), range(n_folds)):
            advance(1)
            fold = split_folds(units, n_folds, make_rng(config.seed, PURPOSES["folds"], repeat), counts)
            training = np.flatnonzero((fold != left_out) & counts).astype(np.int32)
            test = np.flatnonzero(fold == left_out)
            params, _ = choose_for(shelf, training, units, config.seed, PURPOSES["folds"], repeat, left_out)
            chosen.append(params)
            ranking = hybrid.rank(params)
            cut = ranking.cut(shelf.top_k)
            total[test] += score_queries(config.objectives[0].at(shelf.top_k), cut, hybrid.judgements)[test]
            for measure in guards:
                guarded[str(measure)][test] += score_queries(measure, ranking, hybrid.judgements)[test]
    return CrossFit(total / REPEATS, {n: v / REPEATS for n, v in guarded.items()}, tuple(chosen), min(FOLDS, n_units))


@dataclass(frozen=True)
class Verdict:
    """adopt, keep or undecided, why, and what it rests on: the deciding comparison and those beside it (Holm-adjusted)."""

    decision: str
    reasons: tuple[str, ...]
    kept: str
    deciding: Comparison
    beside: Mapping[str, Comparison]
    adjusted: Mapping[str, float]
    optimism: float
    guards: Mapping[str, tuple[float, float]]


def decide(
    fitted: CrossFit,
    in_sample: float,
    baselines: Mapping[str, FloatArray],
    kept: str,
    guarded_kept: Mapping[str, FloatArray],
    config: Config,
    units: IntArray,
    traffic: FloatArray | None = None,
) -> Verdict:
    """Compare the cross-fitted pick with what is kept, and say what to do.

    `adopt` when the 95 % interval of the mean difference lies above 0 and no guard rail is broken; `keep` when it lies
    below 0 or a guard rail is broken; `undecided` otherwise, and always where fewer than FEWEST_DIFFERING units differ.
    """
    rng = make_rng(config.seed, PURPOSES["tests"])
    deciding = compare(settle_zeros(fitted.objective - baselines[kept]), units, rng, traffic)
    beside = {
        name: compare(settle_zeros(fitted.objective - s), units, rng, traffic)
        for name, s in baselines.items()
        if name != "current"
    }
    adjusted = holm({name: comparison.p_value for name, comparison in beside.items()})
    changes = {name: weighted_mean(fitted.guarded[name] - guarded_kept[name], traffic) for name in config.guards}
    guards = {name: (changes[name], limit) for name, limit in config.guards.items()}
    broken = [name for name, (change, limit) in guards.items() if change < -limit - 1e-12]
    optimism = float(settle_zeros(np.asarray([in_sample - weighted_mean(fitted.objective, traffic)]))[0])
    above = deciding.interval is not None and deciding.interval[0] > 0
    below = deciding.interval is not None and deciding.interval[1] < 0
    if deciding.differing < FEWEST_DIFFERING:
        decision = "undecided"
    elif below or broken:
        decision = "keep"
    else:
        decision = "adopt" if above else "undecided"
    every = "every prompt" if counting(traffic, units.size).all() else "every prompt that has a weight above 0"
    unproved = [n for n in ("semantic", "keyword") if n in beside and not (beside[n].mean > 0 and adjusted[n] < 0.05)]
    reasons = explain(decision, deciding, {n: beside[n] for n in unproved}, kept, guards, broken, optimism, every)
    return Verdict(decision, tuple(reasons), kept, deciding, beside, adjusted, optimism, guards)


def settle_zeros(difference: FloatArray) -> FloatArray:
    """The differences, those that are only the rounding of sums made exactly 0."""
    return np.where(np.abs(difference) <= SAME, 0.0, difference)


def signed(value: float) -> str:
    """A difference with its sign, four digits; what rounds to nothing has none."""
    text = f"{value:+.4f}"
    return "0.0000" if text in ("+0.0000", "-0.0000") else text


def explain(
    decision: str,
    deciding: Comparison,
    unproved: Mapping[str, Comparison],
    kept: str,
    guards: Mapping[str, tuple[float, float]],
    broken: Sequence[str],
    optimism: float,
    every: str = "every prompt",
) -> list[str]:
    """The reasons as sentences, the deciding one first; `every` names the prompts that were compared."""
    name = NAMES.get(kept, kept)
    interval = deciding.interval
    said = []
    if deciding.differing == 0:
        said.append(f"the pick returns what {name} returns for {every}: there is nothing to decide")
        return said
    if interval is None:
        said.append(f"one independent prompt has no spread: nothing can be said about the difference to {name}")
    else:
        where = "above" if interval[0] > 0 else "below" if interval[1] < 0 else "around"
        said.append(
            f"cross-fitted, the pick is {signed(deciding.mean)} against {name}, 95 % interval {signed(interval[0])} to"
            f" {signed(interval[1])}, which lies {where} 0"
        )
    if deciding.differing < FEWEST_DIFFERING:
        said.append(
            f"too few prompts: only {deciding.differing} of {deciding.units} independent ones differ, and at least"
            f" {FEWEST_DIFFERING} must"
        )
    for measure in broken:
        change, limit = guards[measure]
        said.append(f"{measure} falls by {-change:.4f}, more than the {limit:g} that the guard rail allows")
    for single, other in unproved.items():
        said.append(f"hybrid does not provably beat {single} alone ({signed(other.mean)}, Holm-corrected)")
    said.append(f"optimism: on the prompts that chose it the pick scores {signed(optimism)} more than on prompts left out")
    if decision == "undecided" and deciding.differing >= FEWEST_DIFFERING:
        said.append("the prompts at hand neither prove a gain nor a loss")
    return said


NAMES = {"equal": "equal weights", "rrf": "RRF 60", "current": "the current setting", "keyword": "keyword alone",
         "semantic": "semantic alone"}  # fmt: skip


def units_of(clusters: Sequence[str]) -> IntArray:
    """The independent unit of each used prompt."""
    return number_units(clusters)
