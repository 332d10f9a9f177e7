"""Several studies over the same prompts: another model, analyzer or chunking, each at its own pick, compared prompt by prompt.

Every study is scored by the first one's objective at the first one's K, so that like is compared with like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.config import Config
from harness.decide import cross_fit, objective_scores, profiles_of, settle_zeros, stock_shelf, units_of
from harness.errors import HarnessError
from harness.findings import settings_in
from harness.hybrid import Hybrid
from harness.inference import Comparison, compare
from harness.prepare import Prepared
from harness.profiles import Curve, mean_curve
from harness.progress import Progress
from harness.space import kept_of
from harness.splits import make_rng
from harness.traffic import counting, of_rows, weighted_mean
from harness.types import FloatArray, Params

PURPOSE = 8  # of the random numbers of the tests: nobody else's


@dataclass(frozen=True)
class Contender:
    """One study as the comparison needs it: `fitted` are the cross-fitted scores per prompt (None: there are none)."""

    name: str
    config: Config
    summary: Mapping[str, Any]
    hybrid: Hybrid
    query_ids: tuple[str, ...]
    clusters: tuple[str, ...]
    fitted: FloatArray | None
    content: Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """One study in the comparison; `difference` and `fitted` are against the first study, on the prompts both have (None: first).

    `fitted` compares scores on prompts that neither pick was chosen on; None where the objectives differ.
    """

    name: str
    params: Params
    kept: str
    score: float
    kept_score: float
    decision: str
    prompts: int
    shared: int
    curve: Curve
    difference: Comparison | None
    fitted: Comparison | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SideBySide:
    """The rows, the first study's first, and what all of them are scored by."""

    objective: str
    top_k: int
    rows: tuple[Row, ...]


def contender(
    prepared: Prepared, summary: Mapping[str, Any], per_query: Mapping[str, Any], content: Mapping[str, str]
) -> Contender:
    """A study from its folder's parts; `per_query` maps query ids to the cross-fitted score."""
    queries = prepared.dataset.queries
    ids = tuple(query.query_id for query in queries)
    fitted = np.asarray([per_query[query_id] for query_id in ids]) if all(q in per_query for q in ids) and ids else None
    return Contender(
        name=prepared.config.name,
        config=prepared.config,
        summary=summary,
        hybrid=prepared.hybrid,
        query_ids=ids,
        clusters=tuple(query.cluster for query in queries),
        fitted=fitted,
        content=content,
    )


def check_picks(contenders: Sequence[Contender]) -> None:
    """HarnessError where a study has no pick, as with two objectives."""
    for one in contenders:
        if "pick" not in one.summary:
            raise HarnessError(f"{one.name}: has two objectives, and so no pick to compare; leave it out")


def put_together(first: Contender, rows: Sequence[Row]) -> SideBySide:
    """The rows under the first study's objective and K."""
    top_k = int(first.summary["top_k"])
    return SideBySide(first.config.objective[0].replace("top_k", str(top_k)), top_k, tuple(rows))


def _scores(one: Contender, params: Params, first: Contender, top_k: int) -> FloatArray:
    return objective_scores(one.hybrid, params, first.config.objectives[0], top_k)


def compare_one(one: Contender, first: Contender, progress: Progress) -> Row:
    """One study by the first one's objective and K, and against it; HarnessError where they share no prompt."""
    top_k = int(first.summary["top_k"])
    settings = settings_in(one.summary, one.config, top_k)
    pick, kept = settings["pick"], settings[kept_of(one.config)]
    scores = _scores(one, pick, first, top_k)
    known = set(first.query_ids)
    counts = dict(zip(first.query_ids, counting(first.hybrid.traffic, len(first.query_ids)), strict=True))
    shared = [q for q in one.query_ids if q in known]
    if not any(counts[q] for q in shared):
        raise HarnessError(
            f"{one.name}: must share prompts with {first.name}, got none with the same id"
            f"{' and a weight above 0' if shared else ''}; compare studies of one set"
        )
    fitted = _fitted(one, first, top_k, progress) if one is not first else None
    return Row(
        name=one.name,
        params=pick,
        kept=kept_of(one.config),
        score=weighted_mean(scores, one.hybrid.traffic),
        kept_score=weighted_mean(_scores(one, kept, first, top_k), one.hybrid.traffic),
        decision=str(one.summary.get("verdict", {}).get("decision", "")),
        prompts=len(one.query_ids),
        shared=len(shared),
        curve=mean_curve(profiles_of(one.hybrid, pick, first.config.objectives[0], [top_k])[0], one.hybrid.traffic),
        difference=None if one is first else _compare(one, scores, first, _first_scores(first, top_k), shared),
        fitted=_compare(one, fitted, first, first.fitted, shared) if fitted is not None and first.fitted is not None else None,
        notes=() if one is first else _notes(one, first, top_k),
    )


def _fitted(one: Contender, first: Contender, top_k: int, progress: Progress) -> FloatArray | None:
    """This study's cross-fitted scores at the first one's K: the stored ones where it is its own K, else fitted again."""
    if one.config.objective != first.config.objective or one.fitted is None:
        return None
    if int(one.summary["top_k"]) == top_k:
        return one.fitted
    again = cross_fit(one.hybrid, one.config, units_of(one.clusters), stock_shelf(one.hybrid, one.config, top_k), progress)
    return again.objective if again is not None else None


def _first_scores(first: Contender, top_k: int) -> FloatArray:
    return _scores(first, settings_in(first.summary, first.config, top_k)["pick"], first, top_k)


def _compare(one: Contender, mine: FloatArray, first: Contender, theirs: FloatArray, shared: Sequence[str]) -> Comparison:
    """The difference on the shared prompts, by the first study's clusters and weights."""
    at, of_first = ({q: i for i, q in enumerate(side.query_ids)} for side in (one, first))
    rows, other = np.asarray([at[q] for q in shared]), np.asarray([of_first[q] for q in shared])
    difference = mine[rows] - theirs[other]
    units = units_of([first.clusters[i] for i in other])
    rng = make_rng(first.config.seed, PURPOSE)
    return compare(settle_zeros(difference), units, rng, of_rows(first.hybrid.traffic, other))


def _notes(one: Contender, first: Contender, top_k: int) -> tuple[str, ...]:
    """What is not alike between this study and the first."""
    said = []
    for part, what in (("corpus", "corpus (or its chunking)"), ("queries", "prompts"), ("qrels", "judgements")):
        if one.content.get(part) != first.content.get(part):
            said.append(f"its {what} are not the first study's")
    if (one.hybrid.traffic is None) != (first.hybrid.traffic is None):
        have = "no weights" if one.hybrid.traffic is None else "weights"
        said.append(f"its prompts have {have}, unlike the first study's: its own score is another kind of mean")
    if one.config.objective != first.config.objective:
        said.append(f"it was tuned on {' and '.join(one.config.objective)}")
    elif int(one.summary["top_k"]) != top_k:
        said.append(f"its own K is {one.summary['top_k']}")
    if one.config.engine != first.config.engine:
        said.append(f"it is fused by the rules of {one.config.engine or 'the harness'}")
    return tuple(said)
