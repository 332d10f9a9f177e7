"""Systems side by side: the baselines, a setting, a foreign run, each scored by every measure. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.engines import ALONE, rules_of
from harness.hybrid import Hybrid
from harness.measures import Judgements, Measure, Ranking, score_all, score_queries
from harness.traffic import weighted_mean
from harness.types import FloatArray, Params


@dataclass(frozen=True)
class System:
    """One system's per-query scores: of every measure on the uncut ranking, and of the objective on what is returned.

    `params` is None for a foreign run; `traffic` is what each query counts in a mean. All arrays are (n_queries,).
    """

    name: str
    params: Params | None
    scores: Mapping[str, FloatArray]
    objective: tuple[FloatArray, ...]
    queries_without_results: int
    traffic: FloatArray | None = None

    def means(self) -> dict[str, Any]:
        """The means under the measures' names, `objective` (and `objective_2`), and `queries_without_results`."""
        named = dict(zip(("objective", "objective_2"), self.objective, strict=False))
        values = {name: weighted_mean(scores, self.traffic) for name, scores in {**self.scores, **named}.items()}
        return {**values, "queries_without_results": self.queries_without_results}


def baseline_params(base: Params, top_k: int, engine: str | None = None) -> dict[str, Params]:
    """The baselines at the top-level values: each retriever alone, equal weights, and RRF with its usual constant.

    Under an engine `equal` is its first fusion of scores (of ranks, where it has none) and `rrf` its fusion of ranks with its
    default constant; a retriever alone is its own list, whatever the engine does with a weight of 0.
    """
    rules = rules_of(engine)
    at = replace(base, top_k=top_k, fusion=rules.score_fusion, rrf_k=rules.rrf_k)
    alone = replace(at, fusion=ALONE)
    return {
        "keyword": replace(alone, semantic_weight=0.0),
        "semantic": replace(alone, semantic_weight=1.0),
        "equal": replace(at, semantic_weight=0.5),
        "rrf": replace(at, semantic_weight=0.5, fusion=rules.rank_fusion),
    }


def score_system(
    name: str,
    params: Params | None,
    ranking: Ranking,
    judgements: Judgements,
    *,
    objectives: Sequence[Measure],
    top_k: int,
    cutoffs: Sequence[int],
    traffic: FloatArray | None = None,
) -> System:
    """The system's scores; the objective sees the list as cut at `top_k`, the measures the whole one."""
    cut = ranking.cut(top_k)
    return System(
        name=name,
        params=params,
        scores=score_all(ranking, judgements, cutoffs),
        objective=tuple(score_queries(measure.at(top_k), cut, judgements) for measure in objectives),
        queries_without_results=int((ranking.returned == 0).sum()),
        traffic=traffic,
    )


def score_setting(
    name: str, params: Params, hybrid: Hybrid, *, objectives: Sequence[Measure], top_k: int, cutoffs: Sequence[int]
) -> System:
    """The scores of one setting of the hybrid search."""
    return score_system(
        name,
        params,
        hybrid.rank(params),
        hybrid.judgements,
        objectives=objectives,
        top_k=top_k,
        cutoffs=cutoffs,
        traffic=hybrid.traffic,
    )


def trade_off(
    params: Params, hybrid: Hybrid, *, objectives: Sequence[Measure], all_top_k: Sequence[int]
) -> list[dict[str, float]]:
    """For each K: precision, recall and the objective of this setting when it returns K documents."""
    ranking = hybrid.rank(params)
    table = []
    for top_k in all_top_k:
        cut = ranking.cut(top_k)
        row = {"top_k": float(top_k)}
        for measure in (Measure("Precision", top_k), Measure("Recall", top_k)):
            row[measure.name] = weighted_mean(score_queries(measure, cut, hybrid.judgements), hybrid.traffic)
        for name, objective in zip(("objective", "objective_2"), objectives, strict=False):
            row[name] = weighted_mean(score_queries(objective.at(top_k), cut, hybrid.judgements), hybrid.traffic)
        table.append(row)
    return table
