"""From finished trials to a pick, a verdict and what stands beside it: what `tune` does once the trials are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.config import INDEX_PARAMS, Config
from harness.decide import (
    CrossFit,
    Exact,
    Pick,
    Verdict,
    cross_fit,
    decide,
    find_exact,
    make_pick,
    objective_scores,
    profiles_of,
    units_of,
)
from harness.engines import RANK_FUSIONS
from harness.inference import Comparison, compare, mean_interval
from harness.insight import Holes, compare_groups, find_holes, plan_labels, weigh_groups, worst_losses
from harness.measures import parse_measure, score_queries
from harness.prepare import Prepared
from harness.profiles import Curve, find_optimum, find_plateau, mean_curve
from harness.progress import Progress
from harness.space import kept_of, settings_beside
from harness.splits import make_rng
from harness.study import Trial, params_of
from harness.systems import System
from harness.traffic import weighted_mean
from harness.types import FloatArray, IntArray, Params


@dataclass(frozen=True)
class HeldOut:
    """The pick and what is kept on prompts that nothing else has touched, (n_queries,) each."""

    pick: FloatArray
    kept: FloatArray
    units: IntArray
    traffic: FloatArray | None = None


@dataclass(frozen=True)
class Judged:
    """All that was found beside the trials; `kept` names the system that the pick must beat."""

    units: IntArray
    kept: str
    exact: Exact | None
    pick: Pick
    curve: Curve
    fitted: CrossFit | None
    verdict: Verdict | None
    holes: Holes
    held_out: HeldOut | None
    kept_params: Params


def judge(prepared: Prepared, trials: Sequence[Trial], best: Trial, progress: Progress) -> Judged:
    """The exact optimum, the pick, its cross-fitted scores, the verdict and the holes in the judgements."""
    config, hybrid = prepared.config, prepared.hybrid
    units = units_of([query.cluster for query in prepared.dataset.queries])
    complete = sorted((t for t in trials if t.state == "COMPLETE"), key=lambda t: (-t.values[0], t.number))
    exact = find_exact(hybrid, config, [params_of(trial, config) for trial in complete], progress)
    pick = make_pick(hybrid, config, units, params_of(best, config))
    top_k = pick.params.top_k
    kept, settings = kept_of(config), settings_beside(config, top_k)
    measure = config.objectives[0]
    curve = mean_curve(profiles_of(hybrid, pick.params, measure, [top_k])[0], hybrid.traffic)
    fitted = cross_fit(hybrid, config, units, pick.shelf, progress)
    verdict = None
    if fitted is not None:
        scores = {name: objective_scores(hybrid, params, measure, top_k) for name, params in settings.items()}
        kept_ranking = hybrid.rank(settings[kept])
        guarded = {name: score_queries(parse_measure(name), kept_ranking, hybrid.judgements) for name in config.guards}
        in_sample = weighted_mean(objective_scores(hybrid, pick.params, measure, top_k), hybrid.traffic)
        verdict = decide(fitted, in_sample, scores, kept, guarded, config, units, hybrid.traffic)
    holes = find_holes(hybrid, config.measures.conventions(), pick.params, settings[kept], measure, top_k)
    held = score_held_out(prepared, pick.params, settings[kept], top_k)
    return Judged(units, kept, exact, pick, curve, fitted, verdict, holes, held, settings[kept])


def score_held_out(prepared: Prepared, pick: Params, kept: Params, top_k: int) -> HeldOut | None:
    """Both settings on the held-out prompts, the only time that these are looked at; None where there are none."""
    held = prepared.held_out
    if held is None:
        return None
    measure = prepared.config.objectives[0]
    units = units_of([query.cluster for query in held.dataset.queries])
    scores = [objective_scores(held.hybrid, params, measure, top_k) for params in (pick, kept)]
    return HeldOut(scores[0], scores[1], units, held.hybrid.traffic)


def weights_to_run(judged: Judged, config: Config) -> tuple[Params, dict[str, Any]]:
    """What weights.yaml holds: the pick for adopt, what is kept for keep; undecided: today's setting, else the pick."""
    decision = judged.verdict.decision if judged.verdict is not None else "undecided"
    stay = decision == "keep" or (decision == "undecided" and config.kept is not None)
    params = judged.kept_params if stay else judged.pick.params
    return params, {"decision": decision, "interval": list(judged.pick.interval)}


NOT_SEARCHED = Params()  # what an index parameter is where the space does not name it


def params_as_dict(params: Params) -> dict[str, Any]:
    """Every parameter by name; `rrf_k` only where it counts."""
    data = dict(vars(params))
    if params.fusion not in RANK_FUSIONS:
        data.pop("rrf_k")
    return {name: value for name, value in data.items() if name not in INDEX_PARAMS or value != getattr(NOT_SEARCHED, name)}


def summarize_judgement(judged: Judged, prepared: Prepared, systems: Sequence[System]) -> dict[str, Any]:
    """The parts of summary.json that go beyond the trials; a part that was not computed is absent."""
    config = prepared.config
    summary: dict[str, Any] = {}
    if judged.exact is not None:
        summary["exact"] = summarize_exact(judged.exact)
    summary["pick"] = {
        "semantic_weight": judged.pick.params.semantic_weight,
        "interval": list(judged.pick.interval),
        "params": params_as_dict(judged.pick.params),
        "how": {name: value for name, value in vars(judged.pick.choice).items() if np.isfinite(value)},
        "plateau": [list(pair) for pair in plateau_of(judged.curve)],
    }
    if judged.fitted is not None and judged.verdict is not None:
        traffic = prepared.hybrid.traffic
        summary["cross_fitted"] = summarize_cross_fit(judged, judged.fitted, judged.verdict, systems, traffic)
        summary["verdict"] = {
            "decision": judged.verdict.decision,
            "reasons": list(judged.verdict.reasons),
            "compared_with": judged.kept,
            "guards": {n: {"change": c, "allowed": limit} for n, (c, limit) in judged.verdict.guards.items()},
        }
    else:
        only = "one independent prompt has no spread: nothing can be proved with it"
        summary["verdict"] = {"decision": "undecided", "reasons": [only], "compared_with": judged.kept}
    if judged.held_out is not None:
        summary["held_out"] = summarize_held_out(judged.held_out, config, summary["verdict"]["reasons"])
    summary |= summarize_insight(judged, prepared, systems)
    if config.kept is not None:
        own = objective_scores(prepared.hybrid, config.kept, config.objectives[0], config.kept.top_k)
        summary["current_at_its_own_top_k"] = {
            "top_k": config.kept.top_k,
            "objective": weighted_mean(own, prepared.hybrid.traffic),
        }
    return summary


def plateau_of(curve: Curve) -> list[tuple[float, float]]:
    """The weights within a hundredth of the best interval's score."""
    return find_plateau(curve, 0.01 * find_optimum(curve).score)


def summarize_exact(exact: Exact) -> dict[str, Any]:
    """The exact optimum as plain JSON."""
    optimum = exact.optimum
    data: dict[str, Any] = {
        "score": optimum.score,
        "weight_from": optimum.weight_from,
        "weight_to": optimum.weight_to,
        "params": params_as_dict(exact.params),
        "settings": exact.settings,
    }
    if exact.of is not None:
        data["of"] = exact.of
    if optimum.better_point is not None:
        data["better_point"] = optimum.better_point
    if exact.by_index:
        data["by_index"] = {
            name: [
                {
                    "value": value,
                    "score": best.score,
                    "weight_from": best.weight_from,
                    "weight_to": best.weight_to,
                    "params": params_as_dict(params),
                }
                for value, (best, params) in of_value.items()
            ]
            for name, of_value in exact.by_index.items()
        }
    return data


def comparison_as_dict(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain JSON; without an interval where there is none."""
    data = dict(vars(comparison))
    interval = data.pop("interval")
    return data if interval is None else {**data, "interval": list(interval)}


def summarize_cross_fit(
    judged: Judged, fitted: CrossFit, verdict: Verdict, systems: Sequence[System], traffic: FloatArray | None = None
) -> dict[str, Any]:
    """The pick's score on prompts left out, and its comparisons, the deciding one among them."""
    interval = mean_interval(fitted.objective, judged.units, traffic=traffic)
    weights = [params.semantic_weight for params in fitted.chosen]
    means = {system.name: weighted_mean(system.objective[0], traffic) for system in systems}
    baselines = {}
    for name, comparison in {**verdict.beside, judged.kept: verdict.deciding}.items():
        baselines[name] = {"objective": means[name], **comparison_as_dict(comparison)}
        if name in verdict.adjusted:
            baselines[name]["p_holm"] = verdict.adjusted[name]
    return {
        "pick": {
            "objective": weighted_mean(fitted.objective, traffic),
            **({"interval": list(interval)} if interval is not None else {}),
            "optimism": verdict.optimism,
            "folds": fitted.folds,
            "selections": len(fitted.chosen),
            "weights_chosen": [float(np.quantile(weights, q)) for q in (0.0, 0.25, 0.5, 0.75, 1.0)],
        },
        "baselines": baselines,
    }


def summarize_held_out(held: HeldOut, config: Config, reasons: list[str]) -> dict[str, Any]:
    """The held-out comparison as plain JSON; a sentence about it is added to the reasons."""
    comparison = compare(held.pick - held.kept, held.units, make_rng(config.seed, 5), held.traffic)
    interval = comparison.interval
    reach = f", 95 % interval {interval[0]:+.4f} to {interval[1]:+.4f}" if interval is not None else ""
    reasons.append(f"on {held.pick.size} held-out prompts the pick is {comparison.mean:+.4f} against what is kept{reach}")
    return {
        "queries": int(held.pick.size),
        "pick": weighted_mean(held.pick, held.traffic),
        "kept": weighted_mean(held.kept, held.traffic),
        "difference": comparison_as_dict(comparison),
    }


def summarize_insight(judged: Judged, prepared: Prepared, systems: Sequence[System]) -> dict[str, Any]:
    """How many labels, where it helps and where not, and what unjudged documents could do."""
    config, dataset, hybrid = prepared.config, prepared.dataset, prepared.hybrid
    by_name: Mapping[str, FloatArray] = {system.name: system.objective[0] for system in systems}
    pick, kept = by_name["pick"], by_name[judged.kept]
    shelf = judged.pick.shelf
    index = [replace(s, semantic_weight=0.5) for s in shelf.settings].index(
        replace(judged.pick.params, semantic_weight=0.5, top_k=shelf.settings[0].top_k)
    )
    scores = shelf.scores[index]
    difference = judged.fitted.objective - kept if judged.fitted is not None else pick - kept
    others = {name: by_name[name] for name in by_name if name not in ("pick", "best_trial")}
    traffic = hybrid.traffic
    summary: dict[str, Any] = {"labels": plan_labels(difference, scores, judged.units, config.seed, traffic)}
    losses = worst_losses(hybrid, judged.pick.params, judged.kept_params, pick - kept, judged.pick.params.top_k)
    for loss in losses:
        loss["query_id"] = dataset.queries[loss.pop("query")].query_id
        for document in loss["documents"]:
            document["doc_id"] = dataset.doc_ids[document.pop("row")]
    summary["worst_losses"] = losses
    groups = [query.group for query in dataset.queries]
    if any(groups):
        summary["groups"] = compare_groups(groups, pick, others, scores, traffic)
        weighed = weigh_groups(groups, scores, judged.units, config.seed, shelf.home_weight, traffic)
        if weighed is not None:
            summary["group_weights"] = weighed
    summary["holes"] = {
        "unjudged_pairs": int(judged.holes.query.size),
        "difference_at_least": judged.holes.lowest,
        "difference_at_most": judged.holes.highest,
    }
    return summary
