"""Measures from the ranks of the judged documents, one score a query.

Notation, for one query: `R` relevant documents in the qrels; `n` documents returned; `r_1 < r_2 < …` the ranks (from 1)
of the relevant ones among them; `K` the cutoff (inf without one); `h` = how many r_i ≤ K. Arrays: ranks are
(n_queries, most_judged) in the order of the qrels, inf where a judged document was not returned. Every function returns
(n_queries,) float64 in [0, 1]; a query with nothing returned scores 0. Nothing is rounded.

The conventions that the field leaves open are options (`Conventions`); the defaults are those of `trec_eval -c`.
"""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.types import BoolArray, Conventions, FloatArray, IntArray, Qrels, number_sources

ALIASES = {"Success": "HitRate", "P": "Precision", "R": "Recall", "RR": "MRR", "AP": "MAP"}
WITHOUT_CUTOFF = ("MAP", "MRR")
GROWS_WITH_K = ("HitRate", "Recall", "MRR", "MAP")  # never falls as K grows: a free K picks itself


@dataclass(frozen=True)
class Measure:
    """A measure and where it stops: a rank, a trial's own `top_k`, or nowhere (None)."""

    name: str
    cutoff: int | Literal["top_k"] | None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def at(self, top_k: int) -> Measure:
        """The same with a cutoff of `top_k` filled in."""
        return Measure(self.name, top_k) if self.cutoff == "top_k" else self


def parse_measure(text: str) -> Measure:
    """The measure that a text such as `MAP@10`, `MRR` or `P@top_k` names; ValueError says what is allowed."""
    match = re.fullmatch(r"(\w+?)(?:@(\d+|top_k))?", text)
    name = ALIASES.get(match[1], match[1]) if match else text
    if match is None or name not in MEASURES:
        known = [*MEASURES, *ALIASES]
        near = difflib.get_close_matches(text.partition("@")[0], known, n=1)
        raise ValueError(
            f"must be a measure, one of {', '.join(MEASURES)} with @cutoff or @top_k (or MAP, MRR alone), got {text!r}"
            + (f"; nearest: {near[0]}" if near else "")
        )
    if match[2] is None:
        if name not in WITHOUT_CUTOFF:
            raise ValueError(f"{name} needs a cutoff, such as {name}@10 or {name}@top_k, got {text!r}")
        return Measure(name, None)
    if match[2] == "top_k":
        return Measure(name, "top_k")
    if int(match[2]) < 1:
        raise ValueError(f"a cutoff must be at least 1, got {text!r}")
    return Measure(name, int(match[2]))


@dataclass(frozen=True)
class Ranking:
    """What a measure sees of a run: the judged documents' ranks, and how many documents each query got, (n_queries,)."""

    ranks: FloatArray
    returned: IntArray

    def cut(self, top_k: int) -> Ranking:
        """The same list, ended after `top_k` documents."""
        return Ranking(np.where(self.ranks <= top_k, self.ranks, np.inf), np.minimum(self.returned, np.int32(top_k)))


@dataclass(frozen=True)
class Judgements:
    """The qrels as measures read them: masks and gains are (n_queries, most_judged), `relevant_total` is R.

    `sources` is the qrels' own: of documents of one source only the first returned counts.
    """

    judged: BoolArray
    relevant: BoolArray
    relevant_total: IntArray
    gains: FloatArray
    ideal_gains: FloatArray
    conventions: Conventions
    sources: IntArray | None = None


def prepare_judgements(qrels: Qrels, conventions: Conventions) -> Judgements:
    """Masks, totals and gains of these qrels; gains ignore the relevance threshold, and are 0 for grades below 0."""
    relevant = qrels.relevant(conventions.relevance_threshold)
    grades = np.where(qrels.judged, np.maximum(qrels.grades, 0), 0).astype(np.float64)
    gains = np.ldexp(1.0, grades.astype(np.int64)) - 1 if conventions.gain == "exponential" else grades
    return Judgements(
        judged=qrels.judged,
        relevant=relevant,
        relevant_total=qrels.count_relevant(conventions.relevance_threshold),
        gains=gains,
        ideal_gains=-np.sort(-np.where(qrels.first_of_source, gains, 0.0), axis=1),
        conventions=conventions,
        sources=qrels.sources,
    )


def first_of_sources(ranking: Ranking, sources: IntArray) -> Ranking:
    """The same list with the rank of each source's first document alone: its others, further down, are as good as not there."""
    return Ranking(np.where(ranking.ranks == best_of_sources(ranking, sources), ranking.ranks, np.inf), ranking.returned)


def best_of_sources(ranking: Ranking, sources: IntArray | None) -> FloatArray:
    """For each judged document the best rank of its source's documents, (n_queries, most_judged); its own without sources."""
    if sources is None:
        return ranking.ranks
    keys = number_sources(sources)
    best = np.full(int(keys.max(initial=0)) + 1, np.inf)
    np.minimum.at(best, keys, ranking.ranks)
    found: FloatArray = best[keys]
    return found


def _within(ranking: Ranking, cutoff: float) -> BoolArray:
    return np.isfinite(ranking.ranks) & (ranking.ranks <= cutoff)


def _hits(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    hits: FloatArray = (judgements.relevant & _within(ranking, cutoff)).sum(axis=1, dtype=np.float64)
    return hits


def _divide(numerator: FloatArray, denominator: FloatArray | IntArray) -> FloatArray:
    """numerator / denominator, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)


def hit_rate(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """1 if a relevant document is among the first K, else 0."""
    return (_hits(ranking, judgements, cutoff) > 0).astype(np.float64)


def precision(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """h / K, also where fewer than K came back; by the convention `returned`: h / min(K, n)."""
    hits = _hits(ranking, judgements, cutoff)
    if judgements.conventions.precision_denominator == "returned":
        return _divide(hits, np.minimum(ranking.returned, cutoff))
    return hits / cutoff


def recall(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """h / R."""
    return _divide(_hits(ranking, judgements, cutoff), judgements.relevant_total)


def f1(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """The harmonic mean of precision and recall, 0 if both are 0."""
    p, r = precision(ranking, judgements, cutoff), recall(ranking, judgements, cutoff)
    return _divide(2 * p * r, p + r)


def reciprocal_rank(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """1 / r_1 if r_1 ≤ K, else 0."""
    first = np.where(judgements.relevant, ranking.ranks, np.inf).min(axis=1, initial=np.inf)
    return np.where(first <= cutoff, 1.0 / first, 0.0)


def average_precision(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """(Σ over r_i ≤ K of i / r_i) / R; the conventions `min(R,K)` and `retrieved` (= h) change the denominator only."""
    ranks = np.sort(np.where(judgements.relevant, ranking.ranks, np.inf), axis=1)  # r_1, r_2, … then inf
    nth = np.arange(1, ranks.shape[1] + 1)
    total = np.where(ranks <= cutoff, nth / ranks, 0.0).sum(axis=1)
    denominator: FloatArray = judgements.relevant_total.astype(np.float64)
    if judgements.conventions.ap_denominator == "min(R,K)":
        denominator = np.minimum(denominator, cutoff)
    elif judgements.conventions.ap_denominator == "retrieved":
        denominator = _hits(ranking, judgements, cutoff)
    return _divide(total, denominator)


def discounts(ranks: FloatArray | IntArray) -> FloatArray:
    """log2(rank + 1) by the C library, from a table: numpy's own depends on the processor in its last digit."""
    whole = ranks.astype(np.int64)
    return _discounts_to(max(1024, 1 << int(whole.max(initial=1)).bit_length()))[whole]


@functools.lru_cache(maxsize=4)
def _discounts_to(size: int) -> FloatArray:
    return np.asarray([math.log2(rank + 1) for rank in range(size + 1)])


def ndcg(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """Σ gain / log2(rank + 1) up to K, over the same sum for the ideal order; gain = grade, or 2^grade − 1 by option.

    Järvelin and Kekäläinen (2002) with trec_eval's discount; 0 when no grade is above 0.
    """
    within = _within(ranking, cutoff)
    dcg = np.where(within, judgements.gains / discounts(np.where(within, ranking.ranks, 1.0)), 0.0).sum(axis=1)
    place = np.arange(1, judgements.ideal_gains.shape[1] + 1)
    ideal = np.where(place <= cutoff, judgements.ideal_gains / discounts(place), 0.0).sum(axis=1)
    return _divide(dcg, ideal)


def judged(ranking: Ranking, judgements: Judgements, cutoff: float) -> FloatArray:
    """Share of the first min(K, n) documents that have any judgement."""
    known = (judgements.judged & _within(ranking, cutoff)).sum(axis=1).astype(np.float64)
    return _divide(known, np.minimum(ranking.returned, cutoff))


MEASURES: dict[str, Callable[[Ranking, Judgements, float], FloatArray]] = {
    "HitRate": hit_rate,
    "Precision": precision,
    "Recall": recall,
    "F1": f1,
    "MRR": reciprocal_rank,
    "MAP": average_precision,
    "nDCG": ndcg,
    "Judged": judged,
}


def score_queries(measure: Measure, ranking: Ranking, judgements: Judgements) -> FloatArray:
    """Each query's score, (n_queries,); a cutoff of `top_k` must have been filled in (`Measure.at`)."""
    if measure.cutoff == "top_k":
        raise ValueError(f"{measure} has no cutoff of its own: fill it in with Measure.at(top_k)")
    if judgements.sources is not None and measure.name != "Judged":  # a second document of a source is judged, too
        ranking = first_of_sources(ranking, judgements.sources)
    return MEASURES[measure.name](ranking, judgements, np.inf if measure.cutoff is None else measure.cutoff)


def score_all(ranking: Ranking, judgements: Judgements, cutoffs: Iterable[int]) -> dict[str, FloatArray]:
    """Every measure at every cutoff, and MRR and MAP without one: name → each query's score, (n_queries,)."""
    every = [Measure(name, cutoff) for cutoff in cutoffs for name in MEASURES]
    every += [Measure(name, None) for name in WITHOUT_CUTOFF]
    return {str(measure): score_queries(measure, ranking, judgements) for measure in every}


def describe(name: str, conventions: Conventions) -> str:
    """One sentence: what the measure's number means under these conventions."""
    at_least = f"relevance ≥ {conventions.relevance_threshold}"
    sentences = {
        "HitRate": f"share of the prompts with a relevant document ({at_least}) among the first K",
        "Precision": "relevant documents among the first K, divided by "
        + ("K, also where fewer came back" if conventions.precision_denominator == "K" else "min(K, number returned)"),
        "Recall": "relevant documents among the first K, divided by all relevant ones (R)",
        "F1": "harmonic mean of Precision@K and Recall@K, per prompt",
        "MRR": "mean of 1 / rank of the first relevant document, 0 if that rank is beyond K",
        "MAP": "mean of the precisions at the ranks of the relevant documents up to K, summed and divided by "
        + {"R": "R", "min(R,K)": "min(R, K)", "retrieved": "the number found up to K"}[conventions.ap_denominator],
        "nDCG": f"gain / log2(rank + 1) up to K over the ideal order's, {conventions.gain} gain",
        "Judged": "share of the first min(K, number returned) documents that have any judgement",
    }
    return sentences[name]
