"""What every command needs first: the data read and joined, the candidates built, the hybrid search ready."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from harness.chunks import Counting
from harness.collection import DataFiles, Source, check_found, read_dataset
from harness.config import Config, HeldOutFiles
from harness.engines import rules_of
from harness.errors import HarnessError, SurroundingsError
from harness.fields import with_titles
from harness.hybrid import Hybrid
from harness.indexes import retrieve_indexes
from harness.progress import Progress
from harness.semantic import NotCountedError, load_counter
from harness.space import value_range
from harness.splits import make_rng, number_units
from harness.traffic import check_sides, say_uneven, traffic_of
from harness.types import BoolArray, Candidates, Counts, Dataset, IntArray, Params, Retrieved

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


def data_files(config: Config) -> DataFiles:
    """Where the config's collection is, with the model's tokenizer where chunks are counted in tokens."""
    return count_in_tokens(config.data, config)


def count_in_tokens(files: DataFiles, config: Config) -> DataFiles:
    """The same with the tokenizer of the config's model where chunks are counted in tokens; HarnessError where there is none."""
    corpus = files.corpus
    if not isinstance(corpus, Source) or corpus.chunking is None or corpus.chunking.unit != "tokens":
        return files
    try:
        counter = load_counter(config.semantic)
    except NotCountedError as error:
        raise HarnessError(
            f"collection.corpus.chunk.unit: must be characters where the model's tokens cannot be counted without loading it, got"
            f" tokens, and {error}; give semantic.model as a folder, or the size in characters"
        ) from None
    counting = Counting(counter.tokenizer, counter.sha256, counter.limit, counter.room)
    return replace(files, corpus=replace(corpus, chunking=replace(corpus.chunking, counting=counting)))


def read_data(config: Config, progress: Progress | None = None) -> Dataset:
    """The config's collection; HarnessError lists every problem of its files."""
    files = data_files(config)
    dataset = read_dataset(files, relevance_threshold=config.measures.relevance_threshold, progress=progress)
    check_found(dataset, files)
    return with_titles(dataset, files.corpus, config.keyword)


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
        other = read_dataset(count_in_tokens(files, config), relevance_threshold=config.measures.relevance_threshold)
        other = replace(other, titles=dataset.titles)  # of the same corpus
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
        check_sides(dataset.queries, other.queries)
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
    tuned, left_out = select_queries(dataset, ~out), select_queries(dataset, out)
    check_sides(tuned.queries, left_out.queries)
    return tuned, left_out


def select_queries(dataset: Dataset, kept: BoolArray) -> Dataset:
    """The same collection with these prompts only; its counts and hashes stay those of the files."""
    rows = np.flatnonzero(kept)
    return replace(dataset, queries=tuple(dataset.queries[i] for i in rows), qrels=dataset.qrels.select(rows))


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
    base = replace(config.base, semantic_weight=0.5, top_k=10, fusion="minmax", rrf_k=60, depth=config.deepest)
    keep_postings = config.tunes_bm25
    if also is not None:
        base = replace(base, depth=max(base.depth, also.depth))
        keep_postings = keep_postings or (also.k1, also.b) != (base.k1, base.b)
    settings = [base, *config.indexes, *([also] if also is not None else [])]
    retrieved = retrieve_indexes(dataset, config, progress, settings, depth=base.depth, keep_postings=keep_postings)
    timings.lap("retrieval")
    refuse_below_zero(config, dataset, retrieved.candidates, also)
    sources, traffic = number_names(dataset.sources), traffic_of(dataset.queries)
    conventions = config.measures.conventions()
    hybrid = Hybrid(
        retrieved.candidates,
        dataset.qrels,
        conventions,
        base,
        retrieved.postings,
        config.engine,
        sources,
        retrieved.others,
        traffic,
        (value_range(config, "k1"), value_range(config, "b")),
    )
    held = prepare(config, held_out, progress, timings, also=also) if held_out is not None else None
    return Prepared(config, dataset, retrieved, hybrid, held)


def number_names(names: Sequence[str]) -> IntArray | None:
    """A number for each of these names, equal where they are; None where there is none."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32) if names else None


def refuse_below_zero(config: Config, dataset: Dataset, candidates: Candidates, also: Params | None) -> None:
    """HarnessError where keyword lists from elsewhere have a negative score beside the fusion theoretical, whose lowest is 0."""
    source = config.list_source("keyword")
    used = config.fusions | ({also.fusion} if also is not None else set())
    below = candidates.keyword_scores < 0  # NaN is not
    if source is None or config.engine is not None or "theoretical" not in used or not below.any():
        return
    query, column = (int(place[0]) for place in np.nonzero(below))
    doc_id, query_id = dataset.doc_ids[candidates.rows[query, column]], dataset.queries[query].query_id
    raise HarnessError(
        f"{source}: must have no score below 0 beside the fusion theoretical, which takes 0 for the lowest keyword score, got"
        f" {float(candidates.keyword_scores[query, column])!r} for {doc_id!r} and the prompt {query_id!r} ({int(below.sum())} in"
        " all); nearest: minmax"
    )


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
    uneven = say_uneven(prepared.dataset.queries)
    said += [uneven] if uneven is not None else []
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
