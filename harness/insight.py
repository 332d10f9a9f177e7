"""What a person asks next: how many labels, where it helps, and which judgements are missing. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.choice import GRID, best_weights, choose_weight, mean_curves, weigh
from harness.fusion import order_keys, rank_columns
from harness.hybrid import Hybrid, find_columns
from harness.inference import FEWEST_DIFFERING, SAME, mean_interval, prompts_to_prove
from harness.measures import Measure, Ranking, best_of_sources, prepare_judgements, score_queries
from harness.splits import make_rng, resample_counts, split_folds
from harness.traffic import column_means, counting, leave_out, of_rows, weighted_mean
from harness.types import Conventions, FloatArray, IntArray, Params, Qrels

GAINS = (0.005, 0.01, 0.02, 0.05)  # the sizes of a gain for which the number of prompts is given
PIN = 0.05  # to which half-width the weight is to be pinned
PURPOSE = 4
MOST_PAIRS = 50  # in to_judge.csv


def plan_labels(
    difference: FloatArray, scores: FloatArray, units: IntArray, seed: int, traffic: FloatArray | None = None
) -> dict[str, Any]:
    """How many prompts prove a gain, and how many pin the weight; both numbers, since they differ by far.

    `difference` are the deciding per-prompt differences, `scores` the picked setting's grid scores. For the weight the
    spread of the best weight over resamples of m units is measured at m = half of them and at all; its fall as a power of
    m, between 1/3 (a corner) and 1/2 (a smooth maximum), is carried on. Prompts are those that count, with weights like these.
    """
    scores = scores[counting(traffic, units.size)]
    difference, units, traffic = leave_out(difference, units, traffic)
    interval = mean_interval(difference, units, traffic=traffic)
    labels: dict[str, Any] = {"prompts": int(units.size), "independent": int(units.max()) + 1}
    if interval is not None:
        labels["half_width"] = (interval[1] - interval[0]) / 2
    differing = np.unique(units[np.abs(difference) > SAME]).size  # units; the verdict needs FEWEST_DIFFERING of them
    fewest = math.ceil(FEWEST_DIFFERING / differing * units.size) if differing > 0 else None

    def needed_for(gain: float) -> int | None:
        found = prompts_to_prove(difference, units, gain, traffic=traffic)
        return None if found is None or fewest is None else max(found, fewest)

    gains = {gain: needed_for(gain) for gain in GAINS}
    labels["prompts_to_prove_a_gain"] = {str(gain): n for gain, n in gains.items() if n is not None}
    mean = weighted_mean(difference, traffic)
    observed = needed_for(abs(mean)) if interval is not None else None
    if observed is not None and mean > SAME:
        labels["prompts_to_prove_the_observed_gain"] = observed
    k = int(units.max()) + 1
    if k >= 10:
        rng = make_rng(seed, PURPOSE)
        full = _spread(scores, weigh(resample_counts(units, 400, rng), traffic))
        half = _spread(scores, weigh(_half_counts(units, 400, rng), traffic))
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
    groups: Sequence[str],
    pick: FloatArray,
    others: Mapping[str, FloatArray],
    scores: FloatArray,
    traffic: FloatArray | None = None,
) -> dict[str, Any]:
    """Per group: prompts, the pick's and the others' mean, wins and losses, and the group's own best weight.

    With traffic also the group's `share` of it; prompts of weight 0 are left out, and so is a group of nothing else.
    """
    table: dict[str, Any] = {}
    counts = counting(traffic, len(groups))
    for group in sorted({g for g, counted in zip(groups, counts, strict=True) if counted}):
        rows = np.asarray([i for i, g in enumerate(groups) if g == group and counts[i]])
        own = of_rows(traffic, rows)
        entry: dict[str, Any] = {"prompts": int(rows.size), "pick": weighted_mean(pick[rows], own)}
        if traffic is not None and own is not None:
            entry["share"] = float(own.sum() / traffic.sum())
        for name, other in others.items():
            difference = pick[rows] - other[rows]
            entry[name] = {
                "mean": weighted_mean(other[rows], own),
                "difference": weighted_mean(difference, own),
                "wins": int((difference > SAME).sum()),
                "ties": int((np.abs(difference) <= SAME).sum()),
                "losses": int((difference < -SAME).sum()),
            }
        entry["best_weight"] = float(best_weights(column_means(scores[rows], own)[None, :])[0])
        table[group] = entry
    return table


def weigh_groups(
    groups: Sequence[str],
    scores: FloatArray,
    units: IntArray,
    seed: int,
    home_weight: float,
    traffic: FloatArray | None = None,
) -> dict[str, Any] | None:
    """Whether a weight for each group pays on prompts left out: mean gain over one weight for all, with its interval.

    None with fewer than two groups. Both sides are chosen by the same rule on the same training folds.
    """
    groups = [group for group, counted in zip(groups, counting(traffic, units.size), strict=True) if counted]
    scores, units, traffic = leave_out(scores, units, traffic)
    names = sorted(set(groups))
    if len(names) < 2 or int(units.max()) + 1 < 10:
        return None
    of_group = np.asarray([names.index(group) for group in groups])
    gain, repeats = np.zeros(units.size), 3
    for repeat in range(repeats):
        fold = split_folds(units, 5, make_rng(seed, PURPOSE, 1, repeat))
        for left_out in range(int(fold.max()) + 1):
            train, test = fold != left_out, fold == left_out
            rng = make_rng(seed, PURPOSE, 2, repeat, left_out)
            common = _cell(scores[train], units[train], rng, home_weight, of_rows(traffic, train))
            for number in range(len(names)):
                own, held = train & (of_group == number), test & (of_group == number)
                if not own.any() or not held.any():
                    continue
                rng = make_rng(seed, PURPOSE, 3, repeat, left_out, number)
                cell = _cell(scores[own], units[own], rng, GRID[common], of_rows(traffic, own))
                gain[held] += scores[held, cell] - scores[held, common]
    gain /= repeats
    interval = mean_interval(gain, units, traffic=traffic)
    return {"gain": weighted_mean(gain, traffic), **({"interval": list(interval)} if interval is not None else {})}


def _cell(scores: FloatArray, units: IntArray, rng: np.random.Generator, home_weight: float, traffic: FloatArray | None) -> int:
    own = np.unique(units, return_inverse=True)[1].astype(np.int32)
    weight = choose_weight(scores, own, rng, float(home_weight), traffic=traffic).weight
    return int(np.argmin(np.abs(GRID - weight)))


@dataclass(frozen=True)
class Holes:
    """Unjudged documents among the first top_k of the pick or of what is kept, and what they could do.

    The arrays are (n_pairs,): the query, the row, whether the pick and the kept system return it, by how much the query's
    difference changes if it is relevant, and what the query counts in the mean. `lowest` and `highest` bound the mean
    difference: every unjudged document that only one side returns is relevant for the one and not for the other.
    """

    query: IntArray
    row: IntArray
    in_pick: IntArray
    in_kept: IntArray
    change: FloatArray
    lowest: float
    highest: float
    traffic: FloatArray | None = None


def find_holes(hybrid: Hybrid, conventions: Conventions, pick: Params, kept: Params, measure: Measure, top_k: int) -> Holes:
    """The holes in the judgements of the first `top_k` of both systems."""
    tops = [_top_rows(hybrid, params, top_k) for params in (pick, kept)]
    pairs: list[tuple[int, ...]] = []
    for q in range(hybrid.qrels.rows.shape[0]):
        judged = set(hybrid.qrels.rows[q].tolist())
        first = [_first_documents(top[q], judged, hybrid.source_of) for top in tops]
        for unit in {*first[0], *first[1]}:
            (row_pick, rank_pick), (row_kept, rank_kept) = (side.get(unit, (-1, 0)) for side in first)
            own = sorted({row_pick, row_kept} - {-1})
            pairs.append((q, own[0], rank_pick, rank_kept, *own, *[-1] * (2 - len(own))))
    pairs.sort()
    query, row, in_pick, in_kept, *both = (
        (np.asarray(c, dtype=np.int32) for c in zip(*pairs, strict=True)) if pairs else (np.zeros(0, dtype=np.int32),) * 6
    )
    rows = np.stack(both, axis=1) if hybrid.source_of is not None else row[:, None]
    base = _differences(hybrid, hybrid.qrels, conventions, pick, kept, measure, top_k)
    change = np.zeros(query.size)
    if query.size:
        added = _add_judgement(hybrid.qrels, query, rows, conventions.relevance_threshold)
        change = _differences(hybrid, added, conventions, pick, kept, measure, top_k, queries=query) - base[query]
    bounds = []
    for mine, theirs in ((in_pick, in_kept), (in_kept, in_pick)):
        only = (mine > 0) & (theirs == 0)
        filled = _fill(hybrid.qrels, query[only], row[only], conventions.relevance_threshold)
        bounds.append(weighted_mean(_differences(hybrid, filled, conventions, pick, kept, measure, top_k), hybrid.traffic))
    return Holes(query, row, in_pick, in_kept, change, min(bounds), max(bounds), of_rows(hybrid.traffic, query))


def _top_rows(hybrid: Hybrid, params: Params, top_k: int) -> list[IntArray]:
    return [rows[:top_k] for rows, _ in hybrid.results(params)]


def _first_documents(top: IntArray, judged: set[int], source_of: IntArray | None) -> dict[int, tuple[int, int]]:
    """Row and rank of the first unjudged document of each source in this list, by source; of every one without sources."""
    found: dict[int, tuple[int, int]] = {}
    for rank, row in enumerate(top.tolist(), 1):
        if row not in judged:
            found.setdefault(row if source_of is None else int(source_of[row]), (row, rank))
    return found


def _add_judgement(qrels: Qrels, query: IntArray, rows: IntArray, grade: int) -> Qrels:
    """One row a pair: the query's judgements and one more, of these rows, (n_pairs, 1), or of one source's, -1 for none."""
    grades = np.where(rows < 0, 0, np.int32(max(grade, 1))).astype(np.int32)
    sources = qrels.sources
    if sources is not None:
        added = np.where(rows < 0, -1, sources[query].max(axis=1, keepdims=True) + 1).astype(np.int32)
        sources = np.concatenate([sources[query], added], axis=1)
    return Qrels(
        np.concatenate([qrels.rows[query], rows], axis=1), np.concatenate([qrels.grades[query], grades], axis=1), sources
    )


def _fill(qrels: Qrels, query: IntArray, row: IntArray, grade: int) -> Qrels:
    """The judgements with all these pairs judged relevant."""
    most = int(np.bincount(query).max()) if query.size else 0
    n_queries = qrels.rows.shape[0]
    rows = np.concatenate([qrels.rows, np.full((n_queries, most), -1, dtype=np.int32)], axis=1)
    grades = np.concatenate([qrels.grades, np.zeros((n_queries, most), dtype=np.int32)], axis=1)
    sources = None
    if qrels.sources is not None:  # each pair is a source of its own
        sources = np.concatenate([qrels.sources, np.full((n_queries, most), -1, dtype=np.int32)], axis=1)
    place = np.zeros(n_queries, dtype=np.int64) + qrels.rows.shape[1]
    for q, r in zip(query, row, strict=True):
        rows[q, place[q]], grades[q, place[q]] = r, max(grade, 1)
        if sources is not None:
            sources[q, place[q]] = sources[q].max() + 1
        place[q] += 1
    return Qrels(rows, grades, sources)


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
    """The pairs in order of influence on the mean, largest first; only those that change anything, at most MOST_PAIRS."""
    influence = np.abs(holes.change) * (1.0 if holes.traffic is None else holes.traffic)
    order = np.lexsort((holes.row, holes.query, -influence))
    kept = [i for i in order if abs(holes.change[i]) > SAME and influence[i] > 0]
    return np.asarray(kept[:MOST_PAIRS], dtype=np.int32)


def worst_losses(
    hybrid: Hybrid, pick: Params, other: Params, difference: FloatArray, top_k: int, most: int = 5
) -> list[dict[str, Any]]:
    """The prompts where the pick loses most: query number, difference, and the rows of relevant documents that fell.

    With traffic it is the difference times the prompt's weight that counts.

    A relevant document fell when its rank is lower under the pick, or it is no longer among the first top_k.
    """
    sources = hybrid.qrels.sources
    ranks = [best_of_sources(hybrid.rank(params), sources) for params in (pick, other)]
    shown = hybrid.rank(other).ranks == ranks[1]  # of a source the document that was returned first
    worst = []
    weighed = difference if hybrid.traffic is None else difference * hybrid.traffic
    for q in np.argsort(weighed, kind="stable")[:most]:
        if difference[q] >= -SAME or weighed[q] == 0:
            break
        fell = hybrid.judgements.relevant[q] & shown[q] & (ranks[1][q] <= top_k) & (ranks[0][q] > ranks[1][q])
        documents = []
        for j in np.flatnonzero(fell):
            document = {"row": int(hybrid.qrels.rows[q, j]), "rank_kept": int(ranks[1][q, j])}
            if np.isfinite(ranks[0][q, j]):  # absent where the pick does not return it at all
                document["rank"] = int(ranks[0][q, j])
            documents.append(document)
        worst.append({"query": int(q), "difference": float(difference[q]), "documents": documents})
    return worst
