"""Keyword lists, vectors and semantic lists of a corpus in shards, by workers that may be anywhere.

    keyword_lists(crew, texts, query_tokens, options, …)     counts every shard, merges the statistics, asks every shard
    encode_batches(crew, batches, …)                         whole batches, as `semantic.encode` composed them
    semantic_lists(crew, documents, queries, …)              exact search in every shard

Everything is bit for bit what one machine computes: idf and mean length are the whole's, a vector depends on its batch alone, and
lists are merged by score, then row. What a worker runs is a plain function of its arguments, so that a job may be done twice, and
by anybody: `harness.cluster` has the crew that does so on Ray.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness import keyword, semantic
from harness.analyzers import make_analyzer
from harness.blocks import Keyword, Semantic
from harness.errors import HarnessError, SurroundingsError
from harness.maxscore import Weighted
from harness.postings import Counted
from harness.progress import Progress
from harness.shards import count_rows, join_postings, merge_ranked, shift_rows, split_rows
from harness.types import IntArray, Postings, RankedLists, Vectors

BATCHES = 32  # that are encoded by one job at most


class Crew(Protocol):
    """Workers that run functions anywhere."""

    def share(self, value: Any) -> Any:
        """What stands for the value among the arguments of many jobs."""

    def each(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], *, keeps: bool = False, gpus: int = 0
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of every job, as they end; with `keeps`, of a pair of results the second stays with the workers.

        It then comes as what stands for it among the arguments of later jobs.
        """


@dataclass(frozen=True)
class Found:
    """What all shards together say of the keyword side: lists, postings where asked for, and what there is to report."""

    lists: RankedLists
    postings: Postings | None
    terms: int
    index_bytes: int
    weak: list[str]
    single: int


@dataclass(frozen=True)
class Told:
    """What a shard tells once it is counted; `single` documents are one token each."""

    statistics: keyword.Statistics
    single: int


@dataclass(frozen=True)
class Asked:
    """What every shard is asked: prompts as tokens and weighed by the whole's idf, which is given for their terms."""

    options: Keyword
    queries: Sequence[Sequence[str]]
    weighted: Sequence[Weighted]
    idf: Mapping[str, float]
    average: float
    depth: int


def keyword_lists(
    crew: Crew,
    texts: Sequence[str],
    queries: Sequence[Sequence[str]],
    options: Keyword,
    *,
    depth: int,
    shards: int,
    keep_postings: bool,
    progress: Progress,
) -> Found:
    """The lists of `keyword.rank` over the index of all texts, without that index; postings where k1 and b may change."""
    if not texts:
        raise HarnessError("keyword index: must have at least one document, got none")
    parts = split_rows(len(texts), shards)
    counted: dict[int, Any] = {}
    told: dict[int, Told] = {}
    with progress("indexing documents", len(texts)) as advance:
        jobs = ((list(texts[part]), options.analyzer) for part in parts)
        for number, (said, kept) in crew.each(count_shard, jobs, keeps=True):
            told[number], counted[number] = said, kept
            advance(said.statistics.n_documents)
    whole = keyword.merge_statistics(told[number].statistics for number in range(len(parts)))
    if keep_postings:
        keyword.check_entries(whole.found_in, whole.n_documents, queries)
    idf = keyword.weigh_terms(whole, options)
    known = {term: idf[term] for tokens in queries for term in tokens if term in idf}
    weighted = keyword.weigh_queries(queries, known)
    asked = crew.share(Asked(options, queries, weighted, known, whole.average, depth))
    lists: RankedLists | None = None
    with progress("keyword search", len(texts)) as advance:
        questions = ((counted[number], part.start, asked) for number, part in enumerate(parts))
        for number, found in crew.each(rank_shard, questions):
            lists = found if lists is None else merge_ranked(lists, found)
            advance(told[number].statistics.n_documents)
    assert lists is not None  # there is a shard
    return Found(
        lists=lists,
        postings=_postings(crew, counted, parts, asked, weighted, progress) if keep_postings else None,
        terms=len(whole.found_in),
        index_bytes=keyword.count_bytes(whole.found_in, sum(whole.found_in.values()), whole.n_documents),
        weak=keyword.weak_among(known),
        single=sum(one.single for one in told.values()),
    )


def _postings(
    crew: Crew,
    counted: Mapping[int, Any],
    parts: Sequence[slice],
    asked: Any,
    weighted: Sequence[Weighted],
    progress: Progress,
) -> Postings:
    found: dict[int, Postings] = {}
    with progress("collecting postings", len(parts)) as advance:
        jobs = ((counted[number], asked) for number in range(len(parts)))
        for number, postings in crew.each(select_shard, jobs):
            found[number] = postings
            advance(1)
    base = np.asarray([query.base for query in weighted], dtype=np.float64)
    return join_postings([(part.start, found[number]) for number, part in enumerate(parts)], base)


def count_shard(texts: Sequence[str], analyzer: str) -> tuple[Told, Counted]:
    """A worker's job: what these documents add to the statistics, and their postings."""
    counted = count_rows(texts, make_analyzer(analyzer))
    return Told(keyword.statistics_of(counted), int((counted.lengths == 1).sum())), counted


def rank_shard(counted: Counted, first_row: int, asked: Asked) -> RankedLists:
    """A worker's job: the best of this shard for every prompt, with the scores and rows of the whole."""
    index = _as_index(counted, asked)
    return shift_rows(keyword.rank_weighted(index, asked.weighted, asked.options, depth=asked.depth), first_row)


def select_shard(counted: Counted, asked: Asked) -> Postings:
    """A worker's job: the postings of the prompts' terms in this shard."""
    return keyword.select_postings(_as_index(counted, asked), asked.queries, asked.options)


def _as_index(counted: Counted, asked: Asked) -> keyword.KeywordIndex:
    """The shard as an index; idf is there for the prompts' terms alone, which are all that is looked up."""
    idf = np.zeros(len(counted.terms))
    for term, value in asked.idf.items():
        if term in counted.terms:
            idf[counted.terms[term]] = value
    return keyword.KeywordIndex(**vars(counted), idf=idf, average=asked.average)


def encode_batches(
    crew: Crew, model: semantic.Model, options: Semantic, kind: semantic.Kind, device: str, shards: int
) -> semantic.Batches:
    """What encodes batches elsewhere, on this kind of device, for `semantic.encode`; the vectors come in the batches' order."""
    there = options.model_copy(update={"device": device})

    def encode(batches: Sequence[Sequence[str]]) -> Iterator[Vectors]:
        size = max(1, min(BATCHES, -(-len(batches) // shards)))
        jobs = ((there, model.fingerprint, kind, list(batches[i : i + size])) for i in range(0, len(batches), size))
        waiting: dict[int, list[Vectors]] = {}
        following = 0
        for number, vectors in crew.each(encode_job, jobs, gpus=1 if device == "cuda" else 0):
            waiting[number] = vectors
            while following in waiting:
                yield from waiting.pop(following)
                following += 1

    return encode


def encode_job(options: Semantic, fingerprint: str, kind: semantic.Kind, batches: Sequence[Sequence[str]]) -> list[Vectors]:
    """A worker's job: the vectors of these batches, by a model that a worker loads once."""
    loaded = _load(options.model_dump_json(), fingerprint)
    with semantic.encoder_here(loaded, kind, options, workers=1) as encode:
        return list(encode(batches))


@functools.lru_cache(maxsize=1)
def _load(options_json: str, fingerprint: str) -> Any:
    options = Semantic.model_validate_json(options_json)
    model = semantic.find_model(options)
    if model.fingerprint != fingerprint:
        raise SurroundingsError(
            f"semantic.model: {model.name!r} must be the same model on every worker, got one with fingerprint"
            f" {model.fingerprint[:12]}…, not {fingerprint[:12]}…; put the same files there"
        )
    return semantic.load_model(model, options)


def semantic_lists(
    crew: Crew, documents: Vectors, queries: Vectors, *, depth: int, rows: IntArray, shards: int, progress: Progress
) -> RankedLists:
    """The exact lists of `semantic.rank_semantic` over `rows` of all documents."""
    parts = split_rows(len(documents), shards)
    bounds = [np.searchsorted(rows, (part.start, part.stop)) for part in parts]
    asked = crew.share((queries, depth))
    lists = RankedLists(np.full((len(queries), depth), -1, dtype=np.int32), np.full((len(queries), depth), np.nan))
    with progress("semantic search", len(documents)) as advance:
        jobs = (
            (np.asarray(documents[part]), rows[low:high] - np.int32(part.start), part.start, asked)
            for part, (low, high) in zip(parts, bounds, strict=True)
        )
        for number, found in crew.each(search_shard, jobs):
            lists = merge_ranked(lists, found)
            advance(parts[number].stop - parts[number].start)
    return lists


def search_shard(documents: Vectors, rows: IntArray, first_row: int, asked: tuple[Vectors, int]) -> RankedLists:
    """A worker's job: the best of these vectors for every prompt, with the rows of the whole."""
    queries, depth = asked
    index = semantic.build_vector_index(documents, "Flat", rows)
    return shift_rows(semantic.search_vectors(index, queries, depth), first_row)
