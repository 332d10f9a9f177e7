"""The keyword index: building from tokens and searching, beside rank_bm25 and bm25s, each side in a fresh process.

Documents are synthetic: Zipf–Mandelbrot words (a vocabulary of 200,000, the most frequent one in about a fifth of the documents,
as after stop words), 60 a document in the middle. Prompts are five words of a document. Tokens are made before the clock starts,
and strings are shared among the documents, as an analyzer with a memory gives them; so the added memory is the index's alone.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measuring import Row, added_peak, bare, faster, in_child, seconds

PART = "keyword"
VOCABULARY, SHIFT, MEDIAN_LENGTH = 200_000, 30, 60
PROMPTS, PROMPT_WORDS, DEPTH = 1000, 5, 100
SLOW_PROMPTS = 20  # of rank_bm25, whose time grows with the documents: per prompt it is the same
K1, B = 1.5, 0.75
K1_RANGE, B_RANGE = (0.5, 2.5), (0.0, 1.0)  # within which it is scored again
ROUNDS = {10_000: 5, 100_000: 3, 1_000_000: 1}
BM25S = [("numpy", "scipy", 0), ("numba", "scipy", 1), ("numba", "scipy", 2)]  # backend, csc, threads


def make_tokens(n: int, seed: int = 7) -> tuple[list[list[str]], list[list[str]]]:
    """The documents and the prompts as lists of words."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1 / (np.arange(VOCABULARY) + SHIFT))
    lengths = np.maximum(PROMPT_WORDS, rng.lognormal(np.log(MEDIAN_LENGTH), 0.4, n).astype(np.int64))
    words = np.asarray([f"word{i}" for i in range(VOCABULARY)], dtype=object)
    documents: list[list[str]] = []
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    for start in range(0, n, 50_000):
        stop = min(n, start + 50_000)
        drawn = words[np.searchsorted(share, rng.random(bounds[stop] - bounds[start]) * share[-1])].tolist()
        offset = bounds[start]
        documents += [drawn[bounds[i] - offset : bounds[i + 1] - offset] for i in range(start, stop)]
    prompts = [list(dict.fromkeys(documents[i]))[:PROMPT_WORDS] for i in rng.integers(0, n, PROMPTS)]
    return documents, prompts


# ---- one side, in its own process ------------------------------------------------------------------------------------------


def run_harness(documents: list[list[str]], prompts: list[list[str]]) -> dict[str, Any]:
    """This program's index, variant lucene: build, search, and re-scoring for another k1 and b."""
    from harness.blocks import Keyword
    from harness.bm25 import keep_reachable, rank_keyword
    from harness.keyword import build_index, make_searcher, rank, select_postings

    options = Keyword(variant="lucene", k1=K1, b=B)

    def make() -> Any:  # until the first prompt can be answered, as bm25s's index is
        index = build_index(documents, options)
        return index, make_searcher(index, options)

    (index, searcher), build, build_bytes = added_peak(make)

    def search() -> Any:
        return rank(index, prompts, options, depth=DEPTH, searcher=searcher).rows

    rows, first, search_bytes = added_peak(search)
    again = [seconds(search) for _ in range(2)] if first < 20 else [first]
    found = {
        "build": build,
        "build_bytes": build_bytes,
        "search": statistics.median([first, *again]),
        "search_bytes": search_bytes,
    }
    if len(documents) <= 100_000:
        whole = select_postings(index, prompts, options)
        started = time.perf_counter()
        postings = keep_reachable(whole, k1=K1_RANGE, b=B_RANGE, depth=DEPTH)  # once a study, as `hybrid` does
        found["reach"] = time.perf_counter() - started
        found["rescore"] = statistics.median(
            seconds(lambda: rank_keyword(postings, k1=1.2, b=0.6, depth=DEPTH)) for _ in range(3)
        )
    return {**found, "rows": [[row for row in one if row >= 0] for one in rows[:50].tolist()]}


def run_bm25s(documents: list[list[str]], prompts: list[list[str]], backend: str, csc: str, threads: int) -> dict[str, Any]:
    """bm25s with one backend; what numba compiles is compiled before the clock starts."""
    import bm25s

    def make() -> Any:
        return bm25s.BM25(method="lucene", k1=K1, b=B, backend=backend, csc_backend=csc)

    def ask(retriever: Any, tokens: list[list[str]], k: int) -> Any:
        return retriever.retrieve(tokens, k=k, show_progress=False, n_threads=threads, return_as="documents")

    small = make()
    small.index(documents[:200], show_progress=False)
    ask(small, prompts[:10], 10)
    retriever = make()
    _, build, build_bytes = added_peak(lambda: retriever.index(documents, show_progress=False))
    rows, first, search_bytes = added_peak(lambda: ask(retriever, prompts, DEPTH))
    again = [seconds(lambda: ask(retriever, prompts, DEPTH)) for _ in range(2)] if first < 20 else [first]
    found = {
        "build": build,
        "build_bytes": build_bytes,
        "search": statistics.median([first, *again]),
        "search_bytes": search_bytes,
    }
    return {**found, "rows": rows[:50].tolist()}


def run_rank_bm25(documents: list[list[str]], prompts: list[list[str]]) -> dict[str, Any]:
    """rank_bm25 with numpy's argpartition behind it."""
    import rank_bm25

    index, build, build_bytes = added_peak(lambda: rank_bm25.BM25Okapi(documents, k1=K1, b=B))

    def search() -> None:
        for tokens in prompts[:SLOW_PROMPTS]:
            scores = index.get_scores(tokens)
            best = np.argpartition(-scores, DEPTH)[:DEPTH]
            best[np.argsort(-scores[best])]

    _, took, search_bytes = added_peak(search)
    return {"build": build, "build_bytes": build_bytes, "search": took / SLOW_PROMPTS * PROMPTS, "search_bytes": search_bytes}


def child(side: str, n: str, *arguments: str) -> None:
    """One side; prints its figures as JSON."""
    documents, prompts = make_tokens(int(n))
    sides: dict[str, Callable[..., dict[str, Any]]] = {"harness": run_harness, "bm25s": run_bm25s, "rank_bm25": run_rank_bm25}
    more = [arguments[0], arguments[1], int(arguments[2])] if arguments else []
    print(json.dumps(sides[side](documents, prompts, *more)))


# ---- the comparison --------------------------------------------------------------------------------------------------------


def fastest(n: int) -> tuple[tuple[str, str, int], list[Row]]:
    """bm25s's fastest way to search on this machine, and a line for each that was tried."""
    rows, best, best_time = [], BM25S[0], float("inf")
    for way in BM25S:
        took = in_child("benchmarks.parts.keyword", "bm25s", n, *way)
        name = f"bm25s, backend {way[0]}, csc {way[1]}, {way[2]} threads"
        note = f"build {took['build']:.2f} s"
        rows.append(bare(PART, f"{n:,} documents: {name}, 1,000 prompts", [took["search"]], None, "s", note=note))
        if took["search"] < best_time:
            best, best_time = way, took["search"]
    return best, rows


def measure(*, quick: bool) -> list[Row]:
    """All rows of this part."""
    sizes = [10_000] if quick else list(ROUNDS)
    way, rows = fastest(10_000 if quick else 100_000)
    against = f"bm25s ({way[0]}, csc {way[1]}, {way[2]} threads)"
    for n in sizes:
        sides: dict[str, tuple[object, ...]] = {"harness": ("harness", n), "bm25s": ("bm25s", n, *way)}
        if n <= 100_000:
            sides["rank_bm25"] = ("rank_bm25", n)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        for _ in range(1 if quick else ROUNDS[n]):
            for name, arguments in sides.items():
                found[name].append(in_child("benchmarks.parts.keyword", *arguments))

        def of(side: str, figure: str, found: dict[str, list[dict[str, Any]]] = found) -> list[float]:
            return [one[figure] for one in found[side]]

        same = np.mean(
            [len({*a} & {*b}) / len(a) for a, b in zip(found["harness"][0]["rows"], found["bm25s"][0]["rows"], strict=True)]
        )
        what = f"{n:,} documents"
        rows += [
            faster(PART, f"{what}: build", against, of("harness", "build"), of("bm25s", "build"), 3),
            faster(
                PART,
                f"{what}: memory added by the build",
                against,
                of("harness", "build_bytes"),
                of("bm25s", "build_bytes"),
                2,
                measured_in="bytes",
            ),
            faster(
                PART,
                f"{what}: 1,000 prompts, best {DEPTH}",
                against,
                of("harness", "search"),
                of("bm25s", "search"),
                1,
                note=f"the same documents: {same:.2%}",
            ),
        ]
        if "rank_bm25" in sides:
            aim = 1000 if n == 100_000 else None
            rows += [
                faster(PART, f"{what}: build", "rank_bm25", of("harness", "build"), of("rank_bm25", "build"), None),
                faster(
                    PART,
                    f"{what}: 1,000 prompts, best {DEPTH}",
                    "rank_bm25",
                    of("harness", "search"),
                    of("rank_bm25", "search"),
                    aim,
                    note=f"rank_bm25 from {SLOW_PROMPTS} prompts",
                ),
            ]
            rebuild = [a + b for a, b in zip(of("harness", "build"), of("harness", "search"), strict=True)]
            elsewhere = statistics.median(a + b for a, b in zip(of("bm25s", "build"), of("bm25s", "search"), strict=True))
            rows.append(
                faster(
                    PART,
                    f"{what}: another k1 and b",
                    "building and searching again",
                    of("harness", "rescore"),
                    rebuild,
                    20,
                    note=f"bm25s has to build again: {elsewhere / statistics.median(of('harness', 'rescore')):.0f} × that; once"
                    f" a study {statistics.median(of('harness', 'reach')):.1f} s for what can be reached at all",
                )
            )
    return rows


if __name__ == "__main__":
    child(*sys.argv[1:])
