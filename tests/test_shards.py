"""A corpus in shards: cut, counted, asked and merged as the whole, by workers of any kind. No Ray here: tests/test_cluster.py."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DOCUMENTS
from hypothesis import given
from hypothesis import strategies as st

from harness import keyword, semantic, spread
from harness.blocks import Keyword, Semantic
from harness.config import load_config
from harness.errors import HarnessError, SurroundingsError
from harness.keyword import build_index, rank, select_postings
from harness.progress import Silence
from harness.semantic import encode, find_model, load_model, rank_semantic
from harness.shards import merge_ranked, split_rows
from harness.spread import Found, encode_batches, keyword_lists, semantic_lists
from harness.types import IntArray, RankedLists, Vectors

VARIANTS = ["okapi", "l", "plus", "lucene"]
Tokens = list[str]
words = st.sampled_from(["a", "b", "c", "d", "e", "f"])
corpora = st.lists(st.lists(words, max_size=8), min_size=1, max_size=12)
prompts = st.lists(st.lists(st.sampled_from(["a", "b", "c", "unknown"]), max_size=12), min_size=1, max_size=4)


class Shuffled:
    """A crew in this process, whose jobs end in any order."""

    def __init__(self, seed: int = 0) -> None:
        self.random, self.jobs = random.Random(seed), 0

    def share(self, value: Any) -> Any:
        return value

    def each(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], *, keeps: bool = False, gpus: int = 0
    ) -> Iterator[tuple[int, Any]]:
        numbered = list(enumerate(jobs))
        self.random.shuffle(numbered)
        self.jobs += len(numbered)
        return ((number, function(*arguments)) for number, arguments in numbered)


class Counter(Silence):
    """Progress that counts its steps by stage and total."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, int], int] = {}

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        def advance(steps: int) -> None:
            self.steps[description, total] = self.steps.get((description, total), 0) + steps

        yield advance


def same(one: RankedLists, other: RankedLists) -> bool:
    return np.array_equal(one.rows, other.rows) and np.array_equal(one.scores, other.scores, equal_nan=True)


# ---- cutting and merging -----------------------------------------------------------------------------------------------


def test_a_corpus_is_cut_into_nearly_equal_shards_and_none_is_empty() -> None:
    assert split_rows(10, 4) == [slice(0, 2), slice(2, 5), slice(5, 7), slice(7, 10)]
    assert split_rows(2, 16) == [slice(0, 1), slice(1, 2)]
    assert split_rows(3, 1) == [slice(0, 3)]
    assert split_rows(0, 3) == []


@given(st.integers(0, 300), st.integers(1, 40))
def test_shards_hold_every_row_once(n: int, shards: int) -> None:
    parts = split_rows(n, shards)
    assert [row for part in parts for row in range(n)[part]] == list(range(n))
    assert len(parts) == min(n, shards)
    sizes = {part.stop - part.start for part in parts}
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_merged_lists_are_by_score_then_row_with_padding_last() -> None:
    nan = np.nan
    one = RankedLists(np.asarray([[7, 1, -1], [5, -1, -1]], dtype=np.int32), np.asarray([[2.0, 1.0, nan], [-3.0, nan, nan]]))
    other = RankedLists(np.asarray([[4, 0, 9], [-1, -1, -1]], dtype=np.int32), np.asarray([[2.0, 1.0, 0.5], [nan] * 3]))
    for merged in (merge_ranked(one, other), merge_ranked(other, one)):
        assert merged.rows.tolist() == [[4, 7, 0], [5, -1, -1]]
        assert np.array_equal(merged.scores, [[2.0, 2.0, 1.0], [-3.0, nan, nan]], equal_nan=True)
        assert merged.rows.dtype == np.int32


def test_lists_of_other_queries_are_refused() -> None:
    lists = RankedLists(np.zeros((2, 1), dtype=np.int32), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="got 2 and 1"):
        merge_ranked(lists, RankedLists(lists.rows[:1], lists.scores[:1]))


# ---- keyword -----------------------------------------------------------------------------------------------------------


def spread_out(
    documents: Sequence[Tokens], queries: Sequence[Tokens], options: Keyword, depth: int, shards: int, seed: int = 0
) -> Found:
    texts = [" ".join(tokens) for tokens in documents]
    return keyword_lists(
        Shuffled(seed), texts, queries, options, depth=depth, shards=shards, keep_postings=True, progress=Silence()
    )


def check_as_one(documents: Sequence[Tokens], queries: Sequence[Tokens], options: Keyword, depth: int, found: Found) -> None:
    """Bit for bit what the index of the whole gives."""
    index = build_index(documents, options)
    assert same(found.lists, rank(index, queries, options, depth=depth))
    expected, postings = select_postings(index, queries, options), found.postings
    assert postings is not None
    for name, value in vars(expected).items():
        ours = getattr(postings, name)
        assert np.array_equal(ours, value) and np.asarray(ours).dtype == np.asarray(value).dtype, name
    assert (found.terms, found.index_bytes) == (len(index.terms), index.bytes)
    assert found.weak == keyword.find_weak_terms(index, queries)
    assert found.single == sum(len(tokens) == 1 for tokens in documents)


@pytest.mark.parametrize("variant", VARIANTS)
@given(documents=corpora, queries=prompts, depth=st.integers(1, 14), shards=st.integers(1, 14), seed=st.integers(0, 99))
def test_shards_give_the_lists_and_postings_of_the_whole(
    variant: str, documents: list[Tokens], queries: list[Tokens], depth: int, shards: int, seed: int
) -> None:
    options = Keyword(variant=variant, analyzer="whitespace")
    check_as_one(documents, queries, options, depth, spread_out(documents, queries, options, depth, shards, seed))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shards", [2, 7, 16])
def test_a_larger_corpus_in_shards_gives_the_lists_of_the_whole(variant: str, shards: int) -> None:
    """Words by Zipf's law: the commonest are in most documents, so that okapi's floor and its mean over all terms count."""
    draw = np.random.default_rng(5)
    documents = [[f"w{int(word) % 900}" for word in draw.zipf(1.3, int(draw.integers(0, 40)))] for _ in range(1500)]
    queries = [[f"w{int(word) % 950}" for word in draw.zipf(1.2, int(draw.integers(1, 20)))] for _ in range(40)]
    options = Keyword(variant=variant, analyzer="whitespace")
    assert sum("w1" in tokens for tokens in documents) * 2 > len(documents)
    check_as_one(documents, queries, options, 30, spread_out(documents, queries, options, 30, shards))


def test_every_document_is_a_step_of_every_stage() -> None:
    progress = Counter()
    texts = ["a b"] * 10
    keyword_lists(Shuffled(), texts, [["a"]], Keyword(), depth=3, shards=4, keep_postings=True, progress=progress)
    semantic_lists(
        Shuffled(),
        np.ones((10, 2), dtype=np.float32),
        np.ones((1, 2), dtype=np.float32),
        depth=3,
        rows=np.arange(10, dtype=np.int32),
        shards=4,
        progress=progress,
    )
    assert progress.steps == {
        ("indexing documents", 10): 10,
        ("keyword search", 10): 10,
        ("collecting postings", 4): 4,
        ("semantic search", 10): 10,
    }


def test_an_empty_corpus_is_refused_as_on_one_machine() -> None:
    with pytest.raises(HarnessError, match="at least one document"):
        spread_out([], [["a"]], Keyword(), 3, 2)


def test_postings_that_no_memory_holds_are_refused_before_they_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "MOST_POSTINGS", 3 * keyword.POSTING_BYTES)
    monkeypatch.setattr(spread, "select_shard", None)
    with pytest.raises(HarnessError, match=r"k1 and b .* for 2 prompts and 2 documents"):
        spread_out([["cat", "dog"], ["cat"]], [["cat", "cat", "dog"], ["dog"]], Keyword(analyzer="whitespace"), 1, 2)


# ---- semantic ----------------------------------------------------------------------------------------------------------


@st.composite
def vectors_with_ties(draw: st.DrawFn) -> tuple[Vectors, Vectors, IntArray]:
    """Small whole numbers, so that many scores are equal; and the rows that can be found."""
    n, dimension = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    numbers = st.lists(st.integers(-2, 2), min_size=dimension, max_size=dimension)
    documents = draw(st.lists(numbers, min_size=n, max_size=n))
    queries = draw(st.lists(numbers, min_size=1, max_size=3))
    rows = sorted(draw(st.sets(st.integers(0, n - 1))))
    return np.asarray(documents, dtype=np.float32), np.asarray(queries, dtype=np.float32), np.asarray(rows, dtype=np.int32)


@given(vectors_with_ties(), st.integers(1, 16), st.integers(1, 16), st.integers(0, 99))
def test_semantic_shards_give_the_lists_of_the_whole(
    given_vectors: tuple[Vectors, Vectors, IntArray], depth: int, shards: int, seed: int
) -> None:
    documents, queries, rows = given_vectors
    expected, _ = rank_semantic(documents, queries, depth=depth, rows=rows)
    found = semantic_lists(Shuffled(seed), documents, queries, depth=depth, rows=rows, shards=shards, progress=Silence())
    assert same(found, expected)
    assert found.rows.dtype == expected.rows.dtype


def test_semantic_scores_of_shards_are_those_of_the_whole_to_the_last_bit() -> None:
    draw = np.random.default_rng(8)
    documents, queries = (draw.standard_normal((n, 96)).astype(np.float32) for n in (900, 20))
    rows = np.flatnonzero(draw.random(900) < 0.9).astype(np.int32)
    expected, _ = rank_semantic(documents, queries, depth=50, rows=rows)
    for shards in (2, 9):
        assert same(
            semantic_lists(Shuffled(), documents, queries, depth=50, rows=rows, shards=shards, progress=Silence()), expected
        )


def test_documents_encoded_elsewhere_have_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole batches travel, ended in any order; one worker loads the model once."""
    monkeypatch.setattr(semantic, "BATCH", 4)
    options = Semantic()
    loaded = load_model(find_model(options), options)
    texts = [f"{title} {text}" for title, text in DOCUMENTS.values()] + ["", "Apple storage", "Apple storage"]
    expected = encode(loaded, texts, "document", options)
    spread._load.cache_clear()
    crew = Shuffled(3)
    elsewhere = encode_batches(crew, find_model(options), options, "document", "cpu", shards=3)
    found = encode(loaded, texts, "document", options, elsewhere=elsewhere)
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    assert found.facts == expected.facts
    assert crew.jobs == 3, "seven batches, three in a job"
    assert spread._load.cache_info().misses == 1


def test_a_worker_with_another_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spread._load.cache_clear()
    with pytest.raises(SurroundingsError, match=r"must be the same model on every worker"):
        spread.encode_job(Semantic(), "0" * 64, "document", [["a"]])


# ---- the config --------------------------------------------------------------------------------------------------------


def test_scale_is_auto_and_sixteen_shards(write_config: Callable[..., Path]) -> None:
    config = load_config(write_config(scale={}))
    assert config.scale is not None
    assert (config.scale.ray, config.scale.shards) == ("auto", 16)
    assert "scale:" in config.to_yaml()
    assert "scale" not in load_config(write_config()).to_yaml()


@pytest.mark.parametrize("address", ["auto", "ray://head:10001", "10.0.0.7:6379", "[::1]:6379"])
def test_addresses_of_clusters(address: str, write_config: Callable[..., Path]) -> None:
    config = load_config(write_config(scale={"ray": address}))
    assert config.scale is not None
    assert config.scale.ray == address


@pytest.mark.parametrize("address", ["head", "http://head:10001", "head:", "ray://head", "a b:1", ""])
def test_other_addresses_are_refused(address: str, write_config: Callable[..., Path]) -> None:
    with pytest.raises(HarnessError, match=r"scale\.ray: must be"):
        load_config(write_config(scale={"ray": address}))


def test_an_approximate_index_is_refused_under_scale(write_config: Callable[..., Path]) -> None:
    with pytest.raises(HarnessError, match=r"semantic\.index: must be Flat under scale"):
        load_config(write_config(scale={"shards": 2}, semantic={"index": "HNSW32"}))
