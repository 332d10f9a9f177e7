"""What every command needs first: the data read and joined, the candidates built, the hybrid search ready."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from harness.config import Config
from harness.files import read_dataset
from harness.hybrid import Hybrid
from harness.progress import Progress
from harness.retrieve import retrieve
from harness.types import Dataset, Params, Retrieved


@dataclass
class Timings:
    """Seconds by stage, in the order in which they ended."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """The time since the last lap (or the start) belongs to this stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True)
class Prepared:
    """A collection with its hybrid search, ready for trials."""

    config: Config
    dataset: Dataset
    retrieved: Retrieved
    hybrid: Hybrid


def read_data(config: Config) -> Dataset:
    """The config's collection; HarnessError lists every problem of its files."""
    return read_dataset(config.collection.files(), relevance_threshold=config.measures.relevance_threshold)


def prepare(config: Config, dataset: Dataset, progress: Progress, timings: Timings, *, also: Params | None = None) -> Prepared:
    """Candidates (from the cache where they are there) and the hybrid search over them.

    They serve every setting of the search space, the baselines, and the setting `also`.
    """
    base = Params(depth=config.deepest, k1=config.keyword.k1, b=config.keyword.b)
    keep_postings = config.tunes_bm25
    if also is not None:
        base = replace(base, depth=max(base.depth, also.depth))
        keep_postings = keep_postings or (also.k1, also.b) != (base.k1, base.b)
    retrieved = retrieve(dataset, config, progress, depth=base.depth, keep_postings=keep_postings)
    timings.lap("retrieval")
    hybrid = Hybrid(retrieved.candidates, dataset.qrels, config.measures.conventions(), base, retrieved.postings)
    return Prepared(config, dataset, retrieved, hybrid)


def warn(prepared: Prepared) -> list[str]:
    """Everything a person should know about this collection and config before believing a number."""
    counts, config = prepared.dataset.counts, prepared.config
    said = list(prepared.retrieved.warnings)
    if counts.empty_documents:
        said.append(f"{len(counts.empty_documents)} documents are empty: they count, and are never returned")
    if counts.unknown_documents:
        said.append(
            f"{counts.unknown_documents} judged documents are not in the corpus: they stay relevant, so recall cannot reach 1"
        )
    if counts.unmatched:
        said.append(f"{len(counts.unmatched)} judged prompts are not in the queries file and were ignored, as the config asks")
    if counts.without_judgements:
        said.append(f"{len(counts.without_judgements)} prompts have no judgements and are left out of every mean")
    if counts.without_relevant:
        said.append(f"{len(counts.without_relevant)} judged prompts have no relevant document and are left out of every mean")
    fusions = config.search.space.get("fusion", config.fusion)
    if "none" in (fusions if isinstance(fusions, list) else [fusions]):
        said.append("fusion none adds raw scores: only right where both retrievers share a scale, and BM25 and cosine do not")
    if config.picks_itself:
        said.append(
            f"{config.objective[0]} never falls as K grows, so a free top_k picks itself: the best trial sits at the upper"
            " end. Take a fixed cutoff, F1, or two objectives to let K matter"
        )
    return said
