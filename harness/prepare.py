"""What every command needs first: the data read and joined, the candidates built, the hybrid search ready."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from harness.collection import read_dataset
from harness.config import Config, HeldOutFiles
from harness.engines import rules_of
from harness.errors import HarnessError, SurroundingsError
from harness.hybrid import Hybrid
from harness.progress import Progress
from harness.retrieve import retrieve
from harness.splits import make_rng, number_units
from harness.types import BoolArray, Counts, Dataset, Params, Qrels, Retrieved

BYTES_A_CANDIDATE, BYTES_A_TRIAL, BYTES_A_VECTOR = 30, 1000, 256  # what is written at least
OLD_LEFTOVER = 86_400  # seconds
HELD_OUT = 6  # the purpose of the random numbers that choose the held-out prompts


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
    held_out: Prepared | None = None


def read_data(config: Config, progress: Progress | None = None) -> Dataset:
    """The config's collection; HarnessError lists every problem of its files."""
    return read_dataset(config.collection.files(), relevance_threshold=config.measures.relevance_threshold, progress=progress)


def split_held_out(config: Config, dataset: Dataset) -> tuple[Dataset, Dataset | None]:
    """The prompts to tune on and the held-out ones (None where the config holds none out); whole clusters only.

    HarnessError where a listed prompt is not among the used ones, a cluster or a prompt would be on both sides, or
    nothing is left.
    """
    held = config.held_out
    if held is None:
        return dataset, None
    if isinstance(held, HeldOutFiles):
        files = config.held_out_data
        assert files is not None  # there are such files
        other = read_dataset(files, relevance_threshold=config.measures.relevance_threshold)
        ids = {query.query_id for query in dataset.queries}
        texts = {query.text for query in dataset.queries}
        shared = [q.query_id for q in other.queries if q.query_id in ids or q.text in texts]
        clusters = {q.cluster for q in dataset.queries if q.cluster}
        shared += [q.query_id for q in other.queries if q.cluster in clusters and q.query_id not in shared]
        if shared:
            raise HarnessError(
                f"held_out: prompts to tune on and held-out prompts must not share any, got {len(shared)} on both sides:"
                f" {', '.join(map(repr, shared[:5]))}; take them out of one"
            )
        return dataset, other
    units = number_units([query.cluster for query in dataset.queries])
    if isinstance(held, float):
        n_units = int(units.max()) + 1
        chosen = make_rng(config.seed, HELD_OUT).permutation(n_units)[: round(held * n_units)]
        out = np.isin(units, chosen)
    else:
        known = [query.query_id for query in dataset.queries]
        missing = [query_id for query_id in held if query_id not in known]
        if missing:
            raise HarnessError(
                f"held_out: must name prompts that have a relevant document, got {', '.join(map(repr, missing[:5]))}"
            )
        out = np.asarray([query_id in set(held) for query_id in known])
        torn = sorted({dataset.queries[i].cluster for i in np.flatnonzero(out) if (units[~out] == units[i]).any()})
        if torn:
            raise HarnessError(f"held_out: must hold whole clusters, got a part of {', '.join(map(repr, torn[:5]))}")
    if out.all() or not out.any():
        raise HarnessError(f"held_out: must leave prompts on both sides, got {int(out.sum())} of {out.size} held out")
    return select_queries(dataset, ~out), select_queries(dataset, out)


def select_queries(dataset: Dataset, kept: BoolArray) -> Dataset:
    """The same collection with these prompts only; its counts and hashes stay those of the files."""
    rows = np.flatnonzero(kept)
    qrels = Qrels(dataset.qrels.rows[rows], dataset.qrels.grades[rows])
    return replace(dataset, queries=tuple(dataset.queries[i] for i in rows), qrels=qrels)


def prepare(
    config: Config,
    dataset: Dataset,
    progress: Progress,
    timings: Timings,
    *,
    also: Params | None = None,
    held_out: Dataset | None = None,
) -> Prepared:
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
    hybrid = Hybrid(retrieved.candidates, dataset.qrels, config.measures.conventions(), base, retrieved.postings, config.engine)
    held = prepare(config, held_out, progress, timings, also=also) if held_out is not None else None
    return Prepared(config, dataset, retrieved, hybrid, held)


def check_places(config: Config, dataset: Dataset, folder: Path) -> None:
    """SurroundingsError where the study's folder or the cache cannot be written, or has clearly too little room.

    Asked before anything is built. The estimate is a low one: what the files of a study and of the cache hold at least.
    """
    pairs = len(dataset.queries) * 2 * config.deepest
    study = pairs * BYTES_A_CANDIDATE + config.search.trials * BYTES_A_TRIAL
    cached = sum(len(text) for text in dataset.texts) + len(dataset.texts) * BYTES_A_VECTOR + pairs * BYTES_A_CANDIDATE
    cache = Path(config.cache)
    places = [(folder.parent, study), (cache, 0 if (cache / "embeddings").is_dir() else cached)]
    for place, needed in places:
        there = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
            free = shutil.disk_usage(there).free
        except OSError as error:
            raise SurroundingsError(f"{place}: must be a folder that can be written, got: {error.strerror or error}") from None
        _sweep_old(place)
        if free < needed:
            raise SurroundingsError(
                f"{place}: must have room for at least {needed / 1e6:.1f} MB, got {free / 1e6:.1f} MB; make some"
            )


def _sweep_old(place: Path) -> None:
    """Take away what killed processes were writing here, once it is so old that nobody can be writing it still."""
    for leftover in [*place.glob(".*.part"), *place.glob("*/.*.part")]:
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > OLD_LEFTOVER:
                leftover.unlink()


def warn(prepared: Prepared, *, study: bool = True) -> list[str]:
    """Everything a person should know about this collection and config before believing a number.

    With `study`, also what concerns the search space alone.
    """
    config = prepared.config
    counts = prepared.dataset.counts
    said = [*prepared.retrieved.warnings, *warn_of_data(counts).values(), *warn_of_engine(config).values()]
    if config.collection.corpus is None:
        said.append(
            f"no corpus is named: the documents are the {counts.documents} that lists and labels name, and nobody can say which"
            " of the judged ones could be found at all"
        )
    return [*said, *warn_of_space(config).values()] if study else said


def warn_of_data(counts: Counts) -> dict[str, str]:
    """What the files alone make worth saying, by name."""
    said = {}
    if counts.empty_documents:
        said["empty_documents"] = f"{len(counts.empty_documents)} documents are empty: they count, and are never returned"
    if counts.unknown_documents:
        said["unknown_documents"] = (
            f"{counts.unknown_documents} judged documents are not in the corpus: they stay relevant, so recall cannot reach 1"
        )
    if counts.unmatched:
        said["unmatched"] = (
            f"{len(counts.unmatched)} judged prompts are not in the queries file and were ignored, as the config asks"
        )
    if counts.without_judgements:
        said["without_judgements"] = f"{len(counts.without_judgements)} prompts have no judgements and are left out of every mean"
    if counts.without_relevant:
        said["without_relevant"] = (
            f"{len(counts.without_relevant)} judged prompts have no relevant document and are left out of every mean"
        )
    said |= {remark.name: remark.message for remark in counts.remarks}
    return said


def warn_of_engine(config: Config) -> dict[str, str]:
    """What the engine's rules make worth saying, by name."""
    if config.engine is None:
        return {}
    rules, said = rules_of(config.engine), {}
    if rules.caution:
        said["engine"] = f"{rules.title}: {rules.caution}"
    if rules.score_fusion == rules.rank_fusion:
        said["ranks_only"] = f"{rules.title} fuses ranks only: equal weights are its {rules.rank_fusion} at weight 0.5, as rrf is"
    return said


def warn_of_space(config: Config) -> dict[str, str]:
    """What the search space makes worth saying before a trial is run, by name."""
    said = {}
    fusions = config.search.space.get("fusion", config.fusion)
    added = [f for f in (fusions if isinstance(fusions, list) else [fusions]) if rules_of(config.engine).fusions[f].form == "raw"]
    if added:
        said["raw_scores"] = (
            f"fusion {added[0]} adds raw scores: only right where both retrievers share a scale, and BM25 and cosine do not"
        )
    if config.picks_itself:
        said["picks_itself"] = (
            f"{config.objective[0]} never falls as K grows, so a free top_k picks itself: the best trial sits at the upper"
            " end of what the objective sees. Take a fixed cutoff, F1, or two objectives to let K matter"
        )
    return said
