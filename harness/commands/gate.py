"""The questions of `watch`, each asked of a study's deployed setting now and then, and each with its test."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness import record
from harness.choice import GRID
from harness.decide import objective_scores, profiles_of, signed
from harness.drift import LEVEL, Change, compare_pairs, compare_samples, find_rival
from harness.folder import Stored
from harness.hybrid import Hybrid
from harness.inference import SAME
from harness.latency import build_indexes, this_machine, time_search
from harness.measures import Judgements, Measure, Ranking, score_queries
from harness.prepare import Prepared
from harness.progress import Progress
from harness.splits import make_rng
from harness.traffic import column_means, of_rows, weighted_mean
from harness.types import Candidates, Dataset, FloatArray, IntArray, Params, Qrels
from harness.values import is_number

PURPOSE = 7
SLOWER = 2.0  # times the recorded p95 that the search may take: less is noise of a shared machine
LEAST_SLOWER = 0.001  # seconds: below this no latency is worth an alarm
OK, FAILED, SKIPPED = "ok", "failed", "skipped"
ON_NEW_PROMPTS = 3  # checks that share the level where prompts are new: quality, alternatives, judgements


@dataclass(frozen=True)
class Check:
    """One question with its answer: ok, failed (a reason to act) or skipped (it cannot be asked), and the numbers behind it."""

    name: str
    status: str
    message: str
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """What is known of one side, now or then: the prompts and their judgements, the deployed setting's ranking on them, and
    the hybrid search (None for a production run, which brings its ranking alone). `traffic` is what each prompt counts; today's
    prompts of weight 0 are not here."""

    query_ids: tuple[str, ...]
    judgements: Judgements
    ranking: Ranking
    hybrid: Hybrid | None
    traffic: FloatArray | None = None

    def scores(self, measure: Measure, top_k: int) -> FloatArray:
        """Each prompt's score on the list as cut at top_k."""
        return score_queries(measure.at(top_k), self.ranking.cut(top_k), self.judgements)


@dataclass(frozen=True)
class Asked:
    """Everything that the checks look at; `alternatives` are the other recorded settings, by name."""

    stored: Stored
    recorded: Prepared
    params: Params
    measure: Measure
    dataset: Dataset
    now: Side
    then: Side
    units: IntArray
    then_units: IntArray
    alternatives: dict[str, Params]

    @functools.cached_property
    def shared(self) -> tuple[IntArray, IntArray]:
        """The rows of the prompts that are in both, now and then."""
        place = {query_id: i for i, query_id in enumerate(self.then.query_ids)}
        pairs = [(i, place[q]) for i, q in enumerate(self.now.query_ids) if q in place]
        now, then = zip(*pairs, strict=True) if pairs else ((), ())
        return np.asarray(now, dtype=np.int32), np.asarray(then, dtype=np.int32)

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of the study's seed, for tests."""
        return make_rng(self.stored.config.seed, PURPOSE)


def check_quality(asked: Asked) -> Check:
    """Has the objective fallen?"""
    top_k, name = asked.params.top_k, str(asked.measure.at(asked.params.top_k))
    now, then = asked.now.scores(asked.measure, top_k), asked.then.scores(asked.measure, top_k)
    then = then - optimism_of(asked) if not shared_all(asked) else then
    change, mean_now, mean_then = compare_sides(asked, now, then)
    numbers = {"now": mean_now, "then": mean_then, **describe_change(change)}
    return judge_change("quality", change, numbers, name, "fallen", asked)


def check_judgements(asked: Asked) -> Check:
    """Has the share of unjudged results grown?"""
    top_k = asked.params.top_k
    measure = Measure("Judged", top_k)
    now, then = asked.now.scores(measure, top_k), asked.then.scores(measure, top_k)
    change, mean_now, mean_then = compare_sides(asked, now, then)  # of judged ones: a fall is the harm
    numbers = {"now": 1 - mean_now, "then": 1 - mean_then, **describe_change(change, sign=-1)}
    what = f"the share of unjudged results among the first {top_k}"
    return judge_change("judgements", change, numbers, what, "grown", asked, sign=-1)


def shared_all(asked: Asked) -> bool:
    """Whether every prompt of today was in the study."""
    return asked.shared[0].size == len(asked.now.query_ids)


def compare_sides(asked: Asked, now: FloatArray, then: FloatArray) -> tuple[Change, float, float]:
    """In pairs where every prompt was in the study, else the new prompts against all recorded ones; and the two means.

    Pairs count by today's weights, two samples each by their own.
    """
    rows_now, rows_then = asked.shared
    traffic = asked.now.traffic
    if rows_now.size == len(now):
        then = then[rows_then]
        return compare_pairs(now, then, asked.units, traffic), weighted_mean(now, traffic), weighted_mean(then, traffic)
    new = np.setdiff1d(np.arange(len(now)), rows_now)
    units, traffic = np.unique(asked.units[new], return_inverse=True)[1].astype(np.int32), of_rows(traffic, new)
    change = compare_samples(
        now[new],
        then,
        units,
        asked.then_units,
        asked.rng,
        level=LEVEL / ON_NEW_PROMPTS,
        now_traffic=traffic,
        then_traffic=asked.then.traffic,
    )
    return change, weighted_mean(now[new], traffic), weighted_mean(then, asked.then.traffic)


def optimism_of(asked: Asked) -> float:
    """By how much the pick's recorded score flatters it on prompts that did not choose it; 0 for another setting."""
    try:
        pick = asked.stored.summary["pick"]["params"]
        chosen = pick["semantic_weight"] == asked.params.semantic_weight and pick["fusion"] == asked.params.fusion
        optimism = asked.stored.summary["cross_fitted"]["pick"]["optimism"]
    except (KeyError, TypeError, IndexError):
        return 0.0
    return max(0.0, float(optimism)) if chosen and is_number(optimism) else 0.0


def describe_change(change: Change, sign: int = 1) -> dict[str, Any]:
    """The change as plain JSON, turned around where the opposite is told (sign −1)."""
    interval = {"interval": sorted(sign * end + 0.0 for end in change.interval)} if change.interval is not None else {}
    return {"change": sign * change.mean + 0.0, **interval, "p_value": change.p_value, "paired": change.paired}


def judge_change(name: str, change: Change, numbers: dict[str, Any], what: str, verb: str, asked: Asked, sign: int = 1) -> Check:
    """ok or failed, in a sentence with the numbers."""
    prompts = f"{len(asked.now.query_ids)} prompts" + ("" if change.paired else f", {count_new(asked)} of them new")
    if change.interval is None:
        return Check(name, SKIPPED, f"{what}: one independent prompt has no spread, nothing can be said ({prompts})", numbers)
    if change.paired and change.mean == 0 and change.interval == (0.0, 0.0):
        return Check(name, OK, f"{what} is what it was on the same {prompts}", numbers)
    low, high = sorted(sign * end for end in change.interval)
    level = 0.025 if change.paired else LEVEL / ON_NEW_PROMPTS
    reach = "95 %" if change.paired else f"{100 * (1 - 2 * level):.1f} %"
    text = (
        f"{signed(sign * change.mean)} ({reach} interval {signed(low)} to {signed(high)}, {say_p(change.p_value)}) against the"
        f" study, {prompts}"
    )
    if change.harmful(level):
        return Check(name, FAILED, f"{what} has {verb}: {text}", numbers)
    return Check(name, OK, f"{what} has not provably {verb}: {text}", numbers)


def say_p(p_value: float) -> str:
    """A p-value for people."""
    return "p < 0.0001" if p_value < 0.0001 else f"p {p_value:.4f}"


def count_new(asked: Asked) -> int:
    """How many of today's prompts the study did not use."""
    return len(asked.now.query_ids) - int(asked.shared[0].size)


def check_alternatives(asked: Asked) -> Check:
    """Has the best plateau moved away, or does a recorded alternative lead now?"""
    name, params, top_k = "alternatives", asked.params, asked.params.top_k
    deployed = asked.now.scores(asked.measure, top_k)
    rows_now, rows_then = asked.shared
    everyone = rows_now.size == len(deployed)
    if asked.now.hybrid is None:
        if not everyone:
            return Check(name, SKIPPED, "a run of prompts that the study did not use has no recorded alternatives")
        labels, scores = rivals(asked, rejudge(asked, rows_then), curve=False)
    else:
        labels, scores = rivals(asked, asked.now.hybrid, curve=True)
    what = f"the deployed weight {params.semantic_weight:.4g}" if asked.now.hybrid is not None else "the run"
    gains = scores - deployed[:, None]
    rival = find_rival(gains, asked.units, asked.rng, asked.now.traffic)
    level = LEVEL / ON_NEW_PROMPTS
    if rival is None or rival.p_value > level:
        numbers = {} if rival is None else {"leads": labels[rival.index], "gain": rival.gain, "p_value": rival.p_value}
        lead = "" if rival is None else f" (the nearest, {labels[rival.index]}, {signed(rival.gain)}, {say_p(rival.p_value)})"
        return Check(name, OK, f"nothing leads {what} beyond chance{lead}", numbers)
    numbers = {"leads": labels[rival.index], "gain": rival.gain, "p_value": rival.p_value}
    if rival.interval is not None:
        numbers["interval"] = list(rival.interval)
    if everyone and not grown(asked, gains[:, rival.index], rival.index, rows_then, curve=asked.now.hybrid is not None):
        return Check(name, OK, f"{labels[rival.index]} leads by {signed(rival.gain)}, as it did in the study", numbers)
    where = describe_plateau(asked, gains, labels)
    advice = "tune again" if asked.now.hybrid is not None else "see whether production still runs the study's setting"
    return Check(
        name,
        FAILED,
        f"{labels[rival.index]} leads {what} by {signed(rival.gain)} ({say_p(rival.p_value)} over {len(labels)}"
        f" alternatives){where}: {advice}",
        numbers,
    )


def rejudge(asked: Asked, rows_then: IntArray) -> Hybrid:
    """The study's own search of these recorded prompts, by today's judgements: what a run is compared with.

    A document that the study's candidates do not name was not found then; judged relevant today it stays so.
    """
    recorded = asked.recorded
    row_of = {doc_id: row for row, doc_id in enumerate(recorded.dataset.doc_ids) if doc_id}
    ids, today = asked.dataset.doc_ids, asked.dataset.qrels
    known = {row: row_of.get(ids[row], len(recorded.dataset.doc_ids) + row) for row in np.unique(today.rows) if row >= 0}
    rows = np.asarray([[known.get(row, -1) for row in line] for line in today.rows], dtype=np.int32).reshape(today.rows.shape)
    order = np.argsort(np.where(rows < 0, np.iinfo(np.int32).max, rows), axis=1, kind="stable")
    qrels = Qrels(*(np.take_along_axis(part, order, axis=1) for part in (rows, today.grades, today.sources) if part is not None))
    hybrid = recorded.hybrid
    whole = rows_then.size == len(hybrid.candidates.rows)

    def of_these(candidates: Candidates) -> Candidates:
        return Candidates(*(array[rows_then] for array in vars(candidates).values()))

    others = {
        index: replace(other, candidates=of_these(other.candidates), postings=other.postings if whole else None)
        for index, other in hybrid.others.items()
    }
    return Hybrid(
        of_these(hybrid.candidates),
        qrels,
        asked.stored.config.measures.conventions(),
        hybrid.base,
        hybrid.postings if whole else None,
        hybrid.engine,
        hybrid.source_of,
        others,
    )


def rivals(asked: Asked, hybrid: Hybrid | None, *, curve: bool) -> tuple[list[str], FloatArray]:
    """The alternatives' names and scores, (n_queries, n_alternatives); with `curve` also every cell of the weight's curve."""
    assert hybrid is not None
    top_k = asked.params.top_k
    own = (hybrid.base.k1, hybrid.base.b)
    served = {name: p for name, p in asked.alternatives.items() if hybrid.postings is not None or (p.k1, p.b) == own}
    labels = list(served)
    columns = [objective_scores(hybrid, p, asked.measure, top_k) for p in served.values()]
    if curve:
        cells = profiles_of(hybrid, asked.params, asked.measure, [top_k])[0].scores_at(GRID)
        labels += [f"weight {weight:.4g}" for weight in GRID]
        columns += list(cells.T)
    scores: FloatArray = np.stack(columns, axis=1) if columns else np.zeros((len(asked.now.query_ids), 0))
    return labels, scores


def grown(asked: Asked, gain: FloatArray, index: int, rows_then: IntArray, *, curve: bool) -> bool:
    """Whether the rival leads by more than it did when the study was made, on the same prompts."""
    _, scores = rivals(asked, asked.then.hybrid, curve=curve)
    before = scores[rows_then, index] - asked.then.scores(asked.measure, asked.params.top_k)[rows_then]
    return weighted_mean(gain - before, asked.now.traffic) > SAME


def describe_plateau(asked: Asked, gains: FloatArray, labels: list[str]) -> str:
    """The weights whose mean comes within a hundredth of the best one's, where the curve was looked at."""
    cells = [i for i, label in enumerate(labels) if label.startswith("weight ")]
    if not cells:
        return ""
    traffic = asked.now.traffic
    means = column_means(gains[:, cells], traffic) + weighted_mean(asked.now.scores(asked.measure, asked.params.top_k), traffic)
    good = GRID[means >= means.max() - 0.01 * abs(means.max())]
    return f"; the best plateau lies within weights {good.min():.3f} to {good.max():.3f}"


def check_latency(asked: Asked, progress: Progress) -> Check:
    """Has the harness's own search become slower on this machine?"""
    known = record.read_timings(asked.stored.folder)
    searched = known.get("search")
    config = asked.stored.config
    if config.given_lists:
        return Check("latency", SKIPPED, "lists that were made elsewhere take no time here")
    if not isinstance(searched, dict) or "measured_on" not in known or not is_number(searched.get("p95")):
        return Check("latency", SKIPPED, "no whole search was timed in this study: run evaluate with its weights.yaml")
    same = all(searched.get(k) == getattr(asked.params, k) for k in ("semantic_weight", "fusion", "depth"))
    if not same:
        return Check("latency", SKIPPED, "another setting's search was timed: run evaluate with the deployed weights.yaml")
    if known["measured_on"] != this_machine():
        return Check("latency", SKIPPED, "the search was timed on another machine")
    timed = time_search(build_indexes(asked.dataset, config, progress, asked.params), asked.params, config.at_index(asked.params))
    numbers = {"p95": timed["p95"], "p95_then": searched["p95"], "p50": timed["p50"]}
    if is_number(searched.get("p50")):
        numbers["p50_then"] = searched["p50"]
    text = f"p95 {timed['p95'] * 1000:.2f} ms, in the study {searched['p95'] * 1000:.2f} ms"
    slower = timed["p95"] > SLOWER * searched["p95"] and timed["p95"] > searched["p95"] + LEAST_SLOWER
    if slower:
        return Check("latency", FAILED, f"the search has become more than {SLOWER:g} times as slow: {text}", numbers)
    return Check("latency", OK, f"the search is not more than {SLOWER:g} times as slow: {text}", numbers)
