"""What a finished study has to show, as the report and a notebook draw it: curves with bands, trade-offs, prompts one by one.

All is computed again from the stored candidates, so that a report can be made of any study folder; nothing is drawn here.

Notation: `kept` is the system that the pick must beat (`current`, else `equal`); bands are pointwise 95 % t intervals of a mean
over the prompts, by independent units, on the cells of `choice.GRID`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.choice import GRID
from harness.config import PARAM_NAMES, Config
from harness.decide import mean_score, objective_scores, profiles_of, settle_zeros, units_of
from harness.engines import ALONE, RANK_FUSIONS
from harness.fusion import order_keys
from harness.hybrid import Hybrid
from harness.inference import mean_interval
from harness.measures import Measure, best_of_sources, score_queries
from harness.prepare import Prepared
from harness.profiles import Curve, find_optimum, find_plateau, mean_curve, restrict
from harness.space import effective, kept_of, list_values, settings_beside, space_values, thin, weight_range
from harness.study import Trial
from harness.traffic import column_means, counting, of_rows, weighted_mean
from harness.types import BoolArray, FloatArray, IntArray, Params

MOST_CUTOFFS = 50  # Ks of the curves of precision and recall
MOST_VALUES = 9  # of a parameter that is varied on its own; K has MOST_CUTOFFS
SHOWN_RESULTS = 20  # of a prompt's list
SHOWN_MISSED = 10  # relevant documents of a prompt that neither list returns


@dataclass(frozen=True)
class Band:
    """A mean over the prompts on GRID with its interval, all (n_cells,); without a spread low and high are the mean."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Mark:
    """A system's place above the weight axis; `same` where it has the curve's other parameters, so that it lies on the curve."""

    system: str
    weight: float
    score: float
    same: bool


@dataclass(frozen=True)
class WeightCurve:
    """The objective over the semantic weight at the pick's other parameters, alone and against what is kept."""

    params: Params
    curve: Curve
    band: Band
    against_kept: Band
    plateau: tuple[tuple[float, float], ...]
    interval: tuple[float, float]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class CutoffCurve:
    """Precision and recall of one system when it returns K documents, for each K; the arrays are (n_cutoffs,)."""

    system: str
    cutoffs: IntArray
    precision: FloatArray
    recall: FloatArray

    def at(self, top_k: int) -> tuple[float, float]:
        """Precision and recall at one of the cutoffs."""
        place = int(np.flatnonzero(self.cutoffs == top_k)[0])
        return float(self.precision[place]), float(self.recall[place])


@dataclass(frozen=True)
class Sensitivity:
    """How far the objective moves when one parameter alone is changed from the pick's value, over its values in the space.

    `swing` is highest − lowest. `importance` is Optuna's share of the trials' variation, None where it has none.
    """

    name: str
    at_pick: Any
    lowest: float
    lowest_at: Any
    highest: float
    highest_at: Any
    importance: float | None

    @property
    def swing(self) -> float:
        """Between the best and the worst value."""
        return self.highest - self.lowest


@dataclass(frozen=True)
class GroupDifference:
    """The pick against what is kept on one group's prompts; the interval is None where the group has a single unit."""

    group: str
    prompts: int
    kept: float
    pick: float
    difference: float
    interval: tuple[float, float] | None
    wins: int
    ties: int
    losses: int
    best_weight: float | None


@dataclass(frozen=True)
class ResultLists:
    """One system's first results per query, best first, (n_queries, shown): row −1 behind the end, rank 0: not in the list."""

    rows: IntArray
    keyword_ranks: IntArray
    semantic_ranks: IntArray


@dataclass(frozen=True)
class Missed:
    """A relevant document that neither list returns within its K: its row and ranks, 0 where it is no candidate of that side."""

    row: int
    kept_rank: int
    pick_rank: int
    keyword_rank: int
    semantic_rank: int


@dataclass(frozen=True)
class PromptTable:
    """Prompt by prompt: each system's objective (n_queries,), both result lists, and what both of them miss."""

    kept: str
    scores: Mapping[str, FloatArray]
    difference: FloatArray
    lists: Mapping[str, ResultLists]
    missed: tuple[tuple[Missed, ...], ...]


@dataclass(frozen=True)
class Findings:
    """Everything that a study has to show; a part that it does not have (as with two objectives) is None or empty.

    `at_pick` is the pick's objective (that of equal weights where there is no pick).
    """

    config: Config
    summary: Mapping[str, Any]
    trials: tuple[Trial, ...]
    front: tuple[int, ...]
    settings: Mapping[str, Params]
    top_k: int
    curve: WeightCurve | None
    cutoffs: tuple[CutoffCurve, ...]
    sensitivities: tuple[Sensitivity, ...]
    prompts: PromptTable
    groups: tuple[GroupDifference, ...]
    at_pick: float


def gather(prepared: Prepared, summary: Mapping[str, Any], trials: Sequence[Trial], importances: Mapping[str, float]) -> Findings:
    """All of it from the stored candidates, the study's summary.json and its trials; `importances` are Optuna's, by parameter."""
    config, hybrid = prepared.config, prepared.hybrid
    top_k = int(summary["top_k"])
    settings = settings_in(summary, config, top_k)
    units = units_of([query.cluster for query in prepared.dataset.queries])
    groups = [query.group for query in prepared.dataset.queries]
    kept = kept_of(config)
    chosen = "pick" if "pick" in settings else "equal"
    measure = config.objectives[0]
    scores = {name: objective_scores(hybrid, params, measure, top_k) for name, params in settings.items()}
    prompts = list_prompts(hybrid, settings[kept], settings[chosen], scores, kept, chosen, top_k)
    curve = draw_curve(hybrid, config, settings, scores, units, summary) if chosen == "pick" else None
    return Findings(
        config=config,
        summary=summary,
        trials=tuple(trials),
        front=pareto_front(trials),
        settings=settings,
        top_k=top_k,
        curve=curve,
        cutoffs=draw_cutoffs(hybrid, config, settings, top_k),
        sensitivities=vary_each(hybrid, config, settings[chosen], curve, importances) if curve is not None else (),
        prompts=prompts,
        groups=compare_each_group(groups, scores[chosen], scores[kept], units, summary, hybrid.traffic),
        at_pick=weighted_mean(scores[chosen], hybrid.traffic),
    )


def settings_in(summary: Mapping[str, Any], config: Config, top_k: int) -> dict[str, Params]:
    """The parameters of every system of the summary, all at one top_k, in the summary's order."""
    settings = settings_beside(config, top_k)
    for name in ("best_trial", "pick"):
        if name in summary:
            params = summary[name]["params"]
            settings[name] = Params(**{key: params[key] for key in PARAM_NAMES if key in params})
    return {name: replace(settings[name], top_k=top_k) for name in summary["systems"]}


def band_of(scores: FloatArray, units: IntArray, traffic: FloatArray | None = None) -> Band:
    """The mean and its interval in every column of scores (n_queries, n_cells)."""
    mean = column_means(scores, traffic)
    ends = [
        mean_interval(column, units, traffic=traffic) or (float(m), float(m)) for column, m in zip(scores.T, mean, strict=True)
    ]
    low, high = np.asarray(ends).T
    return Band(mean, low, high)


def draw_curve(
    hybrid: Hybrid,
    config: Config,
    settings: Mapping[str, Params],
    scores: Mapping[str, FloatArray],
    units: IntArray,
    summary: Mapping[str, Any],
) -> WeightCurve:
    """The exact curve at the pick's other parameters, its bands, and where each system stands."""
    pick, kept = settings["pick"], kept_of(config)
    profiles = profiles_of(hybrid, pick, config.objectives[0], [pick.top_k])[0]
    curve = mean_curve(profiles, hybrid.traffic)
    on_grid = profiles.scores_at(GRID)
    marks = []
    for name in ("keyword", "semantic", "equal", "current", "best_trial", "pick"):
        if name in settings:
            at = settings[name]
            # by the harness's own rules a curve ends in each retriever alone
            alone = at.fusion == ALONE and config.engine is None
            same = _same_shape(replace(at, fusion=pick.fusion, rrf_k=pick.rrf_k) if alone else at, pick)
            marks.append(Mark(name, at.semantic_weight, weighted_mean(scores[name], hybrid.traffic), same))
    low, high = summary["pick"]["interval"]
    return WeightCurve(
        params=pick,
        curve=curve,
        band=band_of(on_grid, units, hybrid.traffic),
        against_kept=band_of(on_grid - scores[kept][:, None], units, hybrid.traffic),
        plateau=tuple(find_plateau(curve, 0.01 * find_optimum(curve).score)),
        interval=(float(low), float(high)),
        marks=tuple(marks),
    )


def _same_shape(one: Params, other: Params) -> bool:
    """Whether two settings differ in weight and K alone."""
    return effective(replace(one, semantic_weight=0.0, top_k=1)) == effective(replace(other, semantic_weight=0.0, top_k=1))


def cutoffs_shown(config: Config, top_k: int) -> list[int]:
    """The Ks of the curves: from 1 to the largest that is searched, reported or picked, at most MOST_CUTOFFS evenly spread."""
    searched = [int(value) for value in space_values(config, "top_k")]
    last = max(*searched, *config.report_at, top_k)
    stride = -(-last // MOST_CUTOFFS)
    return sorted({*range(stride, last + 1, stride), 1, last, top_k})


def draw_cutoffs(hybrid: Hybrid, config: Config, settings: Mapping[str, Params], top_k: int) -> tuple[CutoffCurve, ...]:
    """Precision and recall over K of every system."""
    cutoffs = cutoffs_shown(config, top_k)
    curves = []
    for name, params in settings.items():
        ranking = hybrid.rank(params)
        means = {
            measure: [
                weighted_mean(score_queries(Measure(measure, c), ranking, hybrid.judgements), hybrid.traffic) for c in cutoffs
            ]
            for measure in ("Precision", "Recall")
        }
        ks = np.asarray(cutoffs, dtype=np.int32)
        curves.append(CutoffCurve(name, ks, np.asarray(means["Precision"]), np.asarray(means["Recall"])))
    return tuple(curves)


def pareto_front(trials: Sequence[Trial]) -> tuple[int, ...]:
    """The numbers of the trials that no other beats in both precision and recall at their own K, by falling precision."""
    points = [(t.logged["Precision@top_k"], t.logged["Recall@top_k"], t.number) for t in trials if t.state == "COMPLETE"]
    front, best = [], -1.0
    for _, recall, number in sorted(points, key=lambda point: (-point[0], -point[1], point[2])):
        if recall > best:
            front.append(number)
            best = recall
    return tuple(front)


def vary_each(
    hybrid: Hybrid, config: Config, pick: Params, curve: WeightCurve | None, importances: Mapping[str, float]
) -> tuple[Sensitivity, ...]:
    """Each searched parameter on its own, the largest swing first: the others stay as picked.

    The weight is read off the exact curve. A fusion is given its own best weight, since a weight means something else under each.
    """
    measure, low_high = config.objectives[0], weight_range(config)
    found = []
    for name, entry in config.search.space.items():
        if not isinstance(entry, (dict, list)) or (name == "rrf_k" and pick.fusion not in RANK_FUSIONS):
            continue
        if name == "semantic_weight":
            assert curve is not None
            reach = restrict(curve.curve, *low_high) if low_high[0] < low_high[1] else curve.curve
            middles = (reach.points[:-1] + reach.points[1:]) / 2
            outcomes = list(zip(middles.tolist(), reach.on.tolist(), strict=True))
        else:
            values = _values(config, name, entry)
            outcomes = [(v, _score_with(hybrid, replace(pick, **{name: v}), measure, name, low_high)) for v in values]
        lowest, highest = min(outcomes, key=lambda o: o[1]), max(outcomes, key=lambda o: o[1])
        at_pick = getattr(pick, name)
        found.append(Sensitivity(name, at_pick, lowest[1], lowest[0], highest[1], highest[0], importances.get(name)))
    return tuple(sorted(found, key=lambda s: -s.swing))


def _values(config: Config, name: str, entry: Any) -> list[Any]:
    if name == "top_k":
        values = list_values(name, entry)
        stride = -(-len(values) // MOST_CUTOFFS)
        return sorted({*values[::stride], values[-1]})
    return thin(config, name, space_values(config, name), MOST_VALUES)


def _score_with(hybrid: Hybrid, params: Params, measure: Measure, name: str, weights: tuple[float, float]) -> float:
    if name == "fusion" and weights[0] < weights[1]:
        curve = mean_curve(profiles_of(hybrid, params, measure, [params.top_k])[0], hybrid.traffic)
        return find_optimum(restrict(curve, *weights)).score
    return mean_score(hybrid, params, measure)


def compare_each_group(
    groups: Sequence[str],
    pick: FloatArray,
    kept: FloatArray,
    units: IntArray,
    summary: Mapping[str, Any],
    traffic: FloatArray | None = None,
) -> tuple[GroupDifference, ...]:
    """The pick against what is kept in every group, by name; empty where no prompt has a group.

    Prompts of weight 0 are left out, and so is a group of nothing else.
    """
    if not any(groups):
        return ()
    found = []
    counts = counting(traffic, len(groups))
    for group in sorted({name for name, counted in zip(groups, counts, strict=True) if counted}):
        rows = np.asarray([name == group for name in groups]) & counts
        weights = of_rows(traffic, rows)
        difference = settle_zeros(pick - kept)[rows]
        own = np.unique(units[rows], return_inverse=True)[1].astype(np.int32)
        best = summary.get("groups", {}).get(group, {}).get("best_weight")
        found.append(
            GroupDifference(
                group=group,
                prompts=int(rows.sum()),
                kept=weighted_mean(kept[rows], weights),
                pick=weighted_mean(pick[rows], weights),
                difference=weighted_mean(difference, weights),
                interval=mean_interval(difference, own, traffic=weights),
                wins=int((difference > 0).sum()),
                ties=int((difference == 0).sum()),
                losses=int((difference < 0).sum()),
                best_weight=best,
            )
        )
    return tuple(found)


def list_prompts(
    hybrid: Hybrid, kept: Params, chosen: Params, scores: Mapping[str, FloatArray], kept_name: str, chosen_name: str, top_k: int
) -> PromptTable:
    """Both systems' lists prompt by prompt."""
    shown = min(top_k, SHOWN_RESULTS)
    return PromptTable(
        kept=kept_name,
        scores=scores,
        difference=scores[chosen_name] - scores[kept_name],
        lists={"kept": first_results(hybrid, kept, shown), "pick": first_results(hybrid, chosen, shown)},
        missed=missed_by_both(hybrid, kept, chosen, top_k),
    )


def first_results(hybrid: Hybrid, params: Params, shown: int) -> ResultLists:
    """The first `shown` documents of every query's fused list, with their places in both retrievers' lists."""
    candidates, lines, _ = hybrid.setting(params)
    keys = order_keys(lines, params.semantic_weight)
    order = np.argsort(-keys, axis=1, kind="stable")[:, :shown]
    held: BoolArray = np.take_along_axis(keys, order, axis=1) > -np.inf
    take = [np.take_along_axis(a, order, axis=1) for a in (candidates.rows, candidates.keyword_ranks, candidates.semantic_ranks)]
    return ResultLists(np.where(held, take[0], -1), np.where(held, take[1], 0), np.where(held, take[2], 0))


def missed_by_both(hybrid: Hybrid, kept: Params, chosen: Params, top_k: int) -> tuple[tuple[Missed, ...], ...]:
    """Per query the relevant documents that neither system returns among its first `top_k`, at most SHOWN_MISSED, best first."""
    rankings, sources = [hybrid.rank(params) for params in (kept, chosen)], hybrid.qrels.sources
    best = [best_of_sources(ranking, sources) for ranking in rankings]
    ranks = [np.where(np.isfinite(r), r, 0).astype(np.int64) for r in best]
    first = hybrid.qrels.first_of_source
    shown = np.where(np.isfinite(best[1]), rankings[1].ranks == best[1], first)  # of a source the document furthest up
    candidates = hybrid.candidates_for(chosen)
    found = []
    for q in range(hybrid.qrels.rows.shape[0]):
        places = {int(row): i for i, row in enumerate(candidates.rows[q]) if row >= 0}
        missed = []
        for j in np.flatnonzero(hybrid.judgements.relevant[q] & shown[q]):
            mine, theirs = int(ranks[1][q, j]), int(ranks[0][q, j])
            if 0 < mine <= top_k or 0 < theirs <= top_k:
                continue
            row = int(hybrid.qrels.rows[q, j])
            at = places.get(row)
            sides = (0, 0) if at is None else (int(candidates.keyword_ranks[q, at]), int(candidates.semantic_ranks[q, at]))
            missed.append(Missed(row, theirs, mine, *sides))
        missed.sort(key=lambda m: (m.pick_rank == 0, m.pick_rank, m.row))
        found.append(tuple(missed[:SHOWN_MISSED]))
    return tuple(found)
