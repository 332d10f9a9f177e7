"""The complete exact curve against what else there is, in one run.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/profile_speed.py [--collection cranfield] [--rounds 5]

On one collection's candidates at depth 100, MAP@10, minmax: the full exact curve; ranx's optimize_fusion with a step of .01
(where ranx is installed); 101 of this program's own trials; and one pass of the obvious loop for a single weight, rank_bm25
and FAISS and dictionaries. All sides run in each round; medians and ratios of medians are printed. Then growth: twice the
prompts, twice the depth, ten times the depth.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from decision import prepare_collection  # noqa: E402

from harness.decide import profiles_of  # noqa: E402
from harness.hybrid import Hybrid  # noqa: E402
from harness.measures import parse_measure, score_queries  # noqa: E402
from harness.prepare import Prepared  # noqa: E402
from harness.profiles import mean_curve  # noqa: E402
from harness.progress import Silence  # noqa: E402
from harness.retrieve import embeddings  # noqa: E402
from harness.types import Candidates, Params, Qrels  # noqa: E402

MEASURE = parse_measure("MAP@10")


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def exact_curve(hybrid: Hybrid, depth: int = 100) -> None:
    """Everything from the candidates to the mean curve, nothing remembered."""
    fresh = Hybrid(hybrid.candidates, hybrid.qrels, hybrid.judgements.conventions, hybrid.base)
    mean_curve(profiles_of(fresh, Params(depth=depth), MEASURE, [depth])[0])


def own_trials(hybrid: Hybrid) -> None:
    """101 trials of this program, one after the other."""
    fresh = Hybrid(hybrid.candidates, hybrid.qrels, hybrid.judgements.conventions, hybrid.base)
    for weight in np.linspace(0, 1, 101):
        ranking = fresh.rank(Params(semantic_weight=float(weight)))
        float(np.mean(score_queries(MEASURE, ranking, fresh.judgements)))


def make_naive(prepared: Prepared) -> Callable[[], float]:
    """One pass of the obvious loop at weight .5: rank_bm25, FAISS, dictionaries; indexes are built beforehand."""
    import faiss
    import rank_bm25

    dataset, config = prepared.dataset, prepared.config
    texts = [query.text for query in dataset.queries]
    documents, queries = embeddings(dataset, config, Silence())
    tokens = [re.findall(r"\w+", text.lower()) for text in dataset.texts]
    bm25 = rank_bm25.BM25Okapi(tokens)
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


def make_ranx(prepared: Prepared) -> Callable[[], Any] | None:
    """ranx's own search over a grid of .01; None where ranx is not installed. Its first call (compiling) is not timed."""
    try:
        import ranx
    except ImportError:
        return None
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


def repeat_queries(hybrid: Hybrid, times: int) -> Hybrid:
    """The same prompts several times over."""
    candidates = Candidates(*(np.tile(array, (times, 1)) for array in vars(hybrid.candidates).values()))
    qrels = Qrels(np.tile(hybrid.qrels.rows, (times, 1)), np.tile(hybrid.qrels.grades, (times, 1)))
    return Hybrid(candidates, qrels, hybrid.judgements.conventions, hybrid.base)


def deeper(prepared: Prepared, depth: int) -> Hybrid:
    """The same prompts with lists of another depth."""
    from harness.prepare import Timings, prepare

    config = prepared.config.model_copy(update={"depth": depth})
    return prepare(config, prepared.dataset, Silence(), Timings()).hybrid


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collection", default="cranfield")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    root = os.environ.get("HARNESS_COLLECTIONS")
    folder = Path(root) / options.collection if root else ROOT / "corpora/handbook"
    prepared = prepare_collection(folder)
    hybrid = prepared.hybrid
    sides: dict[str, Callable[[], Any]] = {
        "exact curve, all weights": lambda: exact_curve(hybrid),
        "101 own trials": lambda: own_trials(hybrid),
        "naive loop, one weight": make_naive(prepared),
    }
    ranx_search = make_ranx(prepared)
    if ranx_search is not None:
        sides["ranx, 101 weights"] = ranx_search
    else:
        print("ranx is not installed: its line is left out")
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, work in sides.items():
            times[name].append(seconds(work))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians["exact curve, all weights"]
    print(f"{folder.name}, {len(prepared.dataset.queries)} prompts, depth 100, MAP@10, medians of {options.rounds} rounds")
    for name, median in medians.items():
        print(f"  {name:<26}{median * 1e3:10.1f} ms{median / base:10.1f} ×")
    print("growth of the exact curve")
    grown = {"prompts × 2": (repeat_queries(hybrid, 2), 100)}
    grown |= {f"depth × {n}": (deeper(prepared, 100 * n), 100 * n) for n in (2, 10)}
    for name, (other, depth) in grown.items():
        pairs = [(seconds(lambda o=other, d=depth: exact_curve(o, d)), seconds(lambda: exact_curve(hybrid))) for _ in range(5)]
        print(f"  {name:<26}{statistics.median(a / b for a, b in pairs):10.1f} ×")


if __name__ == "__main__":
    main()
