"""The complete exact curve over the weight, beside what else finds the best weight, on one collection's candidates at depth 100.

MAP@10, minmax: the exact curve; ranx's optimize_fusion with a step of .01; 101 of this program's own trials; and one pass of the
obvious loop for a single weight (rank_bm25 and FAISS and dictionaries). All sides run in every round, nothing is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import Row, alternate, faster, seconds
from benchmarks.parts.collection import find_collection, prepare_collection
from harness.decide import profiles_of
from harness.hybrid import Hybrid
from harness.measures import parse_measure, score_queries
from harness.prepare import Prepared
from harness.profiles import mean_curve
from harness.progress import Silence
from harness.retrieve import embeddings
from harness.types import Params

PART = "profile"
MEASURE = parse_measure("MAP@10")


def fresh(hybrid: Hybrid) -> Hybrid:
    """The same search with nothing remembered."""
    return Hybrid(hybrid.candidates, hybrid.qrels, hybrid.judgements.conventions, hybrid.base)


def exact_curve(hybrid: Hybrid, depth: int = 100) -> Any:
    """Everything from the candidates to the mean curve."""
    return mean_curve(profiles_of(fresh(hybrid), Params(depth=depth), MEASURE, [depth])[0])


def own_trials(hybrid: Hybrid, *, trials: int = 101) -> None:
    """So many trials of this program over the weight, one after the other."""
    one = fresh(hybrid)
    for weight in np.linspace(0, 1, trials):
        ranking = one.rank(Params(semantic_weight=float(weight), depth=one.base.depth))
        float(np.mean(score_queries(MEASURE, ranking, one.judgements)))


def make_naive(prepared: Prepared) -> Callable[[], float]:
    """One pass of the obvious loop at weight .5; indexes are built beforehand."""
    import faiss
    import rank_bm25

    dataset, config = prepared.dataset, prepared.config
    texts = [query.text for query in dataset.queries]
    documents, queries = embeddings(dataset, config, Silence())
    bm25 = rank_bm25.BM25Okapi([re.findall(r"\w+", text.lower()) for text in dataset.texts])
    index = faiss.IndexFlatIP(documents.vectors.shape[1])
    index.add(documents.vectors)
    relevant = [set(r[m].tolist()) for r, m in zip(dataset.qrels.rows, dataset.qrels.relevant(1), strict=True)]

    def one_pass() -> float:
        total = 0.0
        for i, text in enumerate(texts):
            scores = bm25.get_scores(re.findall(r"\w+", text.lower()))
            keyword = {int(row): float(scores[row]) for row in np.argsort(-scores)[:100]}
            found, rows = index.search(queries.vectors[i : i + 1], 100)
            semantic = {int(row): float(score) for row, score in zip(rows[0], found[0], strict=True)}
            fused: dict[int, float] = {}
            for side in (keyword, semantic):
                low, high = min(side.values()), max(side.values())
                for row, score in side.items():
                    fused[row] = fused.get(row, 0.0) + 0.5 * (score - low) / ((high - low) or 1.0)
            hits, gained = 0, 0.0
            for rank, row in enumerate(sorted(fused, key=lambda r: -fused[r])[:10], 1):
                if row in relevant[i]:
                    hits += 1
                    gained += hits / rank
            total += gained / len(relevant[i])
        return total / len(texts)

    return one_pass


def make_ranx(prepared: Prepared) -> Callable[[], Any]:
    """ranx's own search over a grid of .01; its first call (compiling) is not timed."""
    import ranx

    dataset, c = prepared.dataset, prepared.hybrid.candidates
    ids = [query.query_id for query in dataset.queries]

    def run_of(scores: Any, ranks: Any) -> Any:
        lists = [{str(c.rows[i, j]): float(scores[i, j]) for j in np.flatnonzero(ranks[i] > 0)} for i in range(len(ids))]
        return ranx.Run(dict(zip(ids, lists, strict=True)))

    judged = [
        {str(row): int(grade) for row, grade in zip(r, g, strict=True) if row >= 0 and grade > 0}
        for r, g in zip(dataset.qrels.rows, dataset.qrels.grades, strict=True)
    ]
    qrels = ranx.Qrels(dict(zip(ids, judged, strict=True)))
    runs = [run_of(c.keyword_scores, c.keyword_ranks), run_of(c.semantic_scores, c.semantic_ranks)]

    def search() -> Any:
        return ranx.optimize_fusion(
            qrels=qrels, runs=runs, norm="min-max", method="wsum", metric="map@10", step=0.01, show_progress=False
        )

    search()
    return search


def measure(*, quick: bool) -> list[Row]:
    """A row for each other way to the best weight."""
    prepared = prepare_collection()
    hybrid = prepared.hybrid
    naive, ranx = make_naive(prepared), make_ranx(prepared)
    exact_curve(hybrid)
    found = alternate(
        {
            "exact": lambda: seconds(lambda: exact_curve(hybrid)),
            "trials": lambda: seconds(lambda: own_trials(hybrid)),
            "naive": lambda: seconds(naive),
            "ranx": lambda: seconds(ranx),
        },
        1 if quick else 7,
    )
    steps = exact_curve(hybrid).on.size
    what = f"exact curve, {find_collection().name}, {len(prepared.dataset.queries)} prompts, depth 100, {steps:,} steps"
    ours = found["exact"]
    per_weight = [one / steps for one in ours]
    return [
        faster(PART, what, "ranx.optimize_fusion, step .01", ours, found["ranx"], 100),
        faster(PART, what, "101 own trials", ours, found["trials"], 5),
        faster(PART, "exact curve, per weight", "the naive loop, one weight", per_weight, found["naive"], 5000),
    ]
