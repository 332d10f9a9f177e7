"""What a person asks next: how many labels, where it helps, and which judgements are missing. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.choice import GRID, best_weights, choose_weight, mean_curves
from harness.fusion import order_keys, rank_columns
from harness.hybrid import Hybrid, find_columns
from harness.inference import FEWEST_DIFFERING, SAME, mean_interval, prompts_to_prove
from harness.measures import Measure, Ranking, prepare_judgements, score_queries
from harness.splits import make_rng, resample_counts, split_folds
from harness.types import Conventions, FloatArray, IntArray, Params, Qrels

GAINS = (0.005, 0.01, 0.02, 0.05)  # the sizes of a gain for which the number of prompts is given
PIN = 0.05  # to which half-width the weight is to be pinned
PURPOSE = 4
MOST_PAIRS = 50  # in to_judge.csv


def plan_labels(difference: FloatArray, scores: FloatArray, units: IntArray, seed: int) -> dict[str, Any]:
    """How many prompts prove a gain, and how many pin the weight; both numbers, since they differ by far.

    `difference` are the deciding per-prompt differences, `scores` the picked setting's grid scores. For the weight the
    spread of the best weight over resamples of m units is measured at m = half of them and at all; its fall as a power of
    m, between 1/3 (a corner) and 1/2 (a smooth maximum), is carried on.
    """
    interval = mean_interval(difference, units)
    labels: dict[str, Any] = {"prompts": int(units.size), "independent": int(units.max()) + 1}
    if interval is not None:
        labels["half_width"] = (interval[1] - interval[0]) / 2
    differing = np.unique(units[np.abs(difference) > SAME]).size  # units; the verdict needs FEWEST_DIFFERING of them
    fewest = math.ceil(FEWEST_DIFFERING / differing * units.size) if differing > 0 else None

    def needed_for(gain: float) -> int | None:
        found = prompts_to_prove(difference, units, gain)
        return None if found is None or fewest is None else max(found, fewest)

    gains = {gain: needed_for(gain) for gain in GAINS}
    labels["prompts_to_prove_a_gain"] = {str(gain): n for gain, n in gains.items() if n is not None}
    observed = needed_for(abs(float(difference.mean()))) if interval is not None else None
    if observed is not None and float(difference.mean()) > SAME:
        labels["prompts_to_prove_the_observed_gain"] = observed
    k = int(units.max()) + 1
    if k >= 10:
        rng = make_rng(seed, PURPOSE)
        full = _spread(scores, resample_counts(units, 400, rng))
        half = _spread(scores, _half_counts(units, 400, rng))
        labels["weight_half_width"] = 1.96 * full
        if full > 0:
            power = min(0.5, max(1 / 3, math.log(half / full, 2))) if half > full else 1 / 3
            needed = units.size * max(1.0, 1.96 * full / PIN) ** (1 / power)
            labels["prompts_to_pin_the_weight"] = math.ceil(min(needed, 1e9))
    return labels


def _spread(scores: FloatArray, counts: FloatArray) -> float:
    return float(best_weights(mean_curves(counts, scores)).std())


def _half_counts(units: IntArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    k = int(units.max()) + 1
    drawn = rng.multinomial(k // 2, np.full(k, 1 / k), size=n_resamples)
    return drawn[:, units].T.astype(np.float64)


def compare_groups(
    groups: Sequence[str], pick: FloatArray, others: Mapping[str, FloatArray], scores: FloatArray
) -> dict[str, Any]:
    """Per group: prompts, the pick's and the others' mean, wins and losses, and the group's own best weight."""
    table: dict[str, Any] = {}
    for group in sorted(set(groups)):
        rows = np.asarray([i for i, g in enumerate(groups) if g == group])
        entry: dict[str, Any] = {"prompts": int(rows.size), "pick": float(pick[rows].mean())}
        for name, other in others.items():
            difference = pick[rows] - other[rows]
            entry[name] = {
                "mean": float(other[rows].mean()),
                "difference": float(difference.mean()),
                "wins": int((difference > SAME).sum()),
                "ties": int((np.abs(difference) <= SAME).sum()),
                "losses": int((difference < -SAME).sum()),
            }
        entry["best_weight"] = float(best_weights(scores[rows].mean(axis=0)[None, :])[0])
        table[group] = entry
    return table


def weigh_groups(
    groups: Sequence[str], scores: FloatArray, units: IntArray, seed: int, home_weight: float
) -> dict[str, Any] | None:
    """Whether a weight for each group pays on prompts left out: mean gain over one weight for all, with its interval.

    None with fewer than two groups. Both sides are chosen by the same rule on the same training folds.
    """
    names = sorted(set(groups))
    if len(names) < 2 or int(units.max()) + 1 < 10:
        return None
    of_group = np.asarray([names.index(group) for group in groups])
    gain, repeats = np.zeros(units.size), 3
    for repeat in range(repeats):
        fold = split_folds(units, 5, make_rng(seed, PURPOSE, 1, repeat))
        for left_out in range(int(fold.max()) + 1):
            train, test = fold != left_out, fold == left_out
            common = _cell(scores[train], units[train], make_rng(seed, PURPOSE, 2, repeat, left_out), home_weight)
            for number in range(len(names)):
                own, held = train & (of_group == number), test & (of_group == number)
                if not own.any() or not held.any():
                    continue
                rng = make_rng(seed, PURPOSE, 3, repeat, left_out, number)
                cell = _cell(scores[own], units[own], rng, GRID[common])
                gain[held] += scores[held, cell] - scores[held, common]
    gain /= repeats
    interval = mean_interval(gain, units)
    return {"gain": float(gain.mean()), **({"interval": list(interval)} if interval is not None else {})}


def _cell(scores: FloatArray, units: IntArray, rng: np.random.Generator, home_weight: float) -> int:
    own = np.unique(units, return_inverse=True)[1].astype(np.int32)
    weight = choose_weight(scores, own, rng, float(home_weight)).weight
    return int(np.argmin(np.abs(GRID - weight)))


@dataclass(frozen=True)
class Holes:
    """Unjudged documents among the first top_k of the pick or of what is kept, and what they could do.

    The arrays are (n_pairs,): the query, the row, whether the pick and the kept system return it, and by how much the
    query's difference changes if it is relevant. `lowest` and `highest` bound the mean difference: every unjudged
    document that only one side returns is relevant for the one and not for the other.
    """

    query: IntArray
    row: IntArray
    in_pick: IntArray
    in_kept: IntArray
    change: FloatArray
    lowest: float
    highest: float


def find_holes(hybrid: Hybrid, conventions: Conventions, pick: Params, kept: Params, measure: Measure, top_k: int) -> Holes:
    """The holes in the judgements of the first `top_k` of both systems."""
    tops = [_top_rows(hybrid, params, top_k) for params in (pick, kept)]
    pairs: list[tuple[int, int, int, int]] = []
    for q in range(hybrid.qrels.rows.shape[0]):
        judged = set(hybrid.qrels.rows[q].tolist())
        ranks = [{int(row): rank for rank, row in enumerate(top[q], 1)} for top in tops]
        pairs += [(q, row, ranks[0].get(row, 0), ranks[1].get(row, 0)) for row in sorted({*ranks[0], *ranks[1]} - judged)]
    query, row, in_pick, in_kept = (
        (np.asarray(c, dtype=np.int32) for c in zip(*pairs, strict=True)) if pairs else (np.zeros(0, dtype=np.int32),) * 4
    )
    base = _differences(hybrid, hybrid.qrels, conventions, pick, kept, measure, top_k)
    change = np.zeros(query.size)
    if query.size:
        added = _add_judgement(hybrid.qrels, query, row, conventions.relevance_threshold)
        change = _differences(hybrid, added, conventions, pick, kept, measure, top_k, queries=query) - base[query]
    bounds = []
    for mine, theirs in ((in_pick, in_kept), (in_kept, in_pick)):
        only = (mine > 0) & (theirs == 0)
        filled = _fill(hybrid.qrels, query[only], row[only], conventions.relevance_threshold)
        bounds.append(float(_differences(hybrid, filled, conventions, pick, kept, measure, top_k).mean()))
    return Holes(query, row, in_pick, in_kept, change, min(bounds), max(bounds))


def _top_rows(hybrid: Hybrid, params: Params, top_k: int) -> list[IntArray]:
    return [rows[:top_k] for rows, _ in hybrid.results(params)]


def _add_judgement(qrels: Qrels, query: IntArray, row: IntArray, grade: int) -> Qrels:
    """One row a pair: the query's judgements and one more."""
    grades = np.full(query.size, max(grade, 1), dtype=np.int32)
    return Qrels(
        np.concatenate([qrels.rows[query], row[:, None]], axis=1),
        np.concatenate([qrels.grades[query], grades[:, None]], axis=1),
    )


def _fill(qrels: Qrels, query: IntArray, row: IntArray, grade: int) -> Qrels:
    """The judgements with all these pairs judged relevant."""
    most = int(np.bincount(query).max()) if query.size else 0
    n_queries = qrels.rows.shape[0]
    rows = np.concatenate([qrels.rows, np.full((n_queries, most), -1, dtype=np.int32)], axis=1)
    grades = np.concatenate([qrels.grades, np.zeros((n_queries, most), dtype=np.int32)], axis=1)
    place = np.zeros(n_queries, dtype=np.int64) + qrels.rows.shape[1]
    for q, r in zip(query, row, strict=True):
        rows[q, place[q]], grades[q, place[q]] = r, max(grade, 1)
        place[q] += 1
    return Qrels(rows, grades)


def _differences(
    hybrid: Hybrid,
    qrels: Qrels,
    conventions: Conventions,
    pick: Params,
    kept: Params,
    measure: Measure,
    top_k: int,
    queries: IntArray | None = None,
) -> FloatArray:
    """Pick minus kept for each row of `qrels`; row i is about the query `queries[i]`."""
    judgements = prepare_judgements(qrels, conventions)
    sides = []
    for params in (pick, kept):
        ranking = _rank_rows(hybrid, params, qrels, queries).cut(top_k)
        sides.append(score_queries(measure.at(top_k), ranking, judgements))
    difference: FloatArray = sides[0] - sides[1]
    return difference


def _rank_rows(hybrid: Hybrid, params: Params, qrels: Qrels, queries: IntArray | None) -> Ranking:
    candidates, lines, _ = hybrid.setting(params)
    ranks, returned = rank_columns(order_keys(lines, params.semantic_weight))
    everyone = np.arange(ranks.shape[0], dtype=np.int32) if queries is None else queries
    columns = find_columns(candidates.rows[everyone], qrels.rows)
    found = np.take_along_axis(ranks[everyone], np.maximum(columns, 0), axis=1)
    return Ranking(np.where((columns >= 0) & (found > 0), found, np.inf), returned[everyone])


def rank_holes(holes: Holes) -> IntArray:
    """The pairs in order of influence, largest first; only those that change anything, at most MOST_PAIRS."""
    order = np.lexsort((holes.row, holes.query, -np.abs(holes.change)))
    kept = [i for i in order if abs(holes.change[i]) > SAME]
    return np.asarray(kept[:MOST_PAIRS], dtype=np.int32)


def worst_losses(
    hybrid: Hybrid, pick: Params, other: Params, difference: FloatArray, top_k: int, most: int = 5
) -> list[dict[str, Any]]:
    """The prompts where the pick loses most: query number, difference, and the rows of relevant documents that fell.

    A relevant document fell when its rank is lower under the pick, or it is no longer among the first top_k.
    """
    ranks = [hybrid.rank(params).ranks for params in (pick, other)]
    worst = []
    for q in np.argsort(difference, kind="stable")[:most]:
        if difference[q] >= -SAME:
            break
        fell = hybrid.judgements.relevant[q] & (ranks[1][q] <= top_k) & (ranks[0][q] > ranks[1][q])
        documents = []
        for j in np.flatnonzero(fell):
            document = {"row": int(hybrid.qrels.rows[q, j]), "rank_kept": int(ranks[1][q, j])}
            if np.isfinite(ranks[0][q, j]):  # absent where the pick does not return it at all
                document["rank"] = int(ranks[0][q, j])
            documents.append(document)
        worst.append({"query": int(q), "difference": float(difference[q]), "documents": documents})
    return worst
