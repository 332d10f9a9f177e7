"""How long the harness's own search takes: one prompt at a time, through both indexes and the fusion."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness import keyword, semantic
from harness.candidates import merge_lists
from harness.config import Config
from harness.engines import ALONE, apply_rules, rules_of
from harness.fields import content_to_index, texts_to_index
from harness.fusion import order_keys
from harness.indexes import at_index
from harness.maxscore import Searcher
from harness.progress import Progress
from harness.retrieve import embeddings, keyword_index, rows_with_text
from harness.types import Dataset, Params, RankedLists, Vectors

MOST_PROMPTS, ROUNDS = 200, 5
WHAT = (
    "from a prompt's text and its vector to the fused list, one prompt at a time, the fastest of"
    f" {ROUNDS} rounds of each; encoding the prompt is not part of it"
)


@dataclass(frozen=True)
class Indexes:
    """Both indexes of a collection, and the vectors of its used prompts, (n_queries, dimension)."""

    analyze: Callable[[str], list[str]]
    keyword: keyword.KeywordIndex
    semantic: semantic.VectorIndex
    texts: tuple[str, ...]
    vectors: Vectors
    searchers: dict[tuple[float, float], Searcher] = field(default_factory=dict)

    def searcher(self, params: Params, config: Config) -> Searcher:
        """What searches the keyword index at these k1 and b; made once, as a server makes it."""
        setting = params.k1, params.b
        if setting not in self.searchers:
            self.searchers[setting] = keyword.make_searcher(self.keyword, config.keyword, *setting)
        return self.searchers[setting]


def build_indexes(dataset: Dataset, config: Config, progress: Progress, params: Params | None = None) -> Indexes:
    """The indexes in memory that these parameters name (the config's own without), from the cache where they are there."""
    dataset, config = at_index(dataset, config, params or config.base)
    texts = tuple(query.text for query in dataset.queries)
    key = keyword.index_key(content_to_index(dataset, config.keyword), config.keyword)
    analyze, index = keyword_index(texts_to_index(dataset, config.keyword), config, key, progress)
    documents, queries = embeddings(dataset, config, progress)
    vectors = semantic.build_vector_index(documents.vectors, config.semantic.index, rows_with_text(dataset.texts))
    return Indexes(analyze, index, vectors, texts, queries.vectors)


def search_once(indexes: Indexes, number: int, params: Params, config: Config) -> None:
    """One search of one prompt; a side that the weight leaves out is not asked where one list alone is returned."""
    alone = params.fusion == ALONE or rules_of(config.engine).alone
    empty = RankedLists(np.full((1, params.depth), -1, dtype=np.int32), np.full((1, params.depth), np.nan))
    keyword_list = semantic_list = empty
    if not (alone and params.semantic_weight == 1):
        tokens = indexes.analyze(indexes.texts[number])
        searcher = indexes.searcher(params, config)
        keyword_list = keyword.rank(indexes.keyword, [tokens], config.keyword, depth=params.depth, searcher=searcher)
    if not (alone and params.semantic_weight == 0):
        semantic_list = semantic.search_vectors(indexes.semantic, indexes.vectors[number : number + 1], params.depth)
    _, lines = apply_rules(merge_lists(keyword_list, semantic_list), params, config.engine)
    order_keys(lines, params.semantic_weight)[0].argsort()


def time_search(indexes: Indexes, params: Params, config: Config) -> dict[str, float]:
    """Seconds: p50 and p95 over up to MOST_PROMPTS prompts, and queries a second (one after the other)."""
    seconds = []
    for number in range(min(MOST_PROMPTS, len(indexes.texts))):
        rounds = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            search_once(indexes, number, params, config)
            rounds.append(time.perf_counter() - started)
        seconds.append(min(rounds))
    return {
        "p50": float(np.quantile(seconds, 0.5)),
        "p95": float(np.quantile(seconds, 0.95)),
        "queries_per_second": 1 / statistics.fmean(seconds),
    }


def measure(indexes: Indexes, settings: dict[str, Params], searched: str, config: Config) -> dict[str, Any]:
    """What timings.json keeps: the search of the setting named `searched`, each setting's beside it, bytes, peak memory."""
    timed = {name: time_search(indexes, params, config) for name, params in settings.items()}
    params = settings[searched]
    setting = {"semantic_weight": params.semantic_weight, "fusion": params.fusion, "depth": params.depth}
    return {
        "search": {"what": WHAT, **timed[searched], **setting},
        "systems": timed,
        "index_bytes": {"keyword": indexes.keyword.bytes, "semantic": int(indexes.semantic.searched.nbytes)},
        "peak_memory_bytes": peak_memory(),
        "measured_on": this_machine(),
    }


def this_machine() -> dict[str, Any]:
    """What must be the same for two latencies to be comparable."""
    return {"platform": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
