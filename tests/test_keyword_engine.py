"""The keyword index in arrays: rank-bm25's own counts and idf, the same lists as scoring everything, blocks and parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import rank_bm25
from hypothesis import given
from hypothesis import strategies as st

from harness import keyword, maxscore
from harness.blocks import Keyword
from harness.bm25 import keep_reachable, rank_keyword
from harness.errors import HarnessError
from harness.keyword import KeywordIndex, build_index, index_blocks, rank, select_postings
from harness.postings import Block, count_block, count_texts, merge
from harness.types import RankedLists

VARIANTS = ["okapi", "l", "plus", "lucene"]
Tokens = list[str]

words = st.sampled_from(["a", "b", "c", "d", "e", "f"])
corpora = st.lists(st.lists(words, max_size=8), min_size=1, max_size=12)
prompts = st.lists(st.lists(st.sampled_from(["a", "b", "c", "unknown"]), max_size=12), min_size=1, max_size=4)


def zipf(n: int, vocabulary: int, seed: int, longest: int = 40) -> list[Tokens]:
    """So many documents of words whose frequencies follow Zipf's law."""
    draw = np.random.default_rng(seed)
    return [[f"w{int(word) % vocabulary}" for word in draw.zipf(1.3, int(draw.integers(0, longest)))] for _ in range(n)]


def same(one: RankedLists, other: RankedLists) -> bool:
    return np.array_equal(one.rows, other.rows) and np.array_equal(one.scores, other.scores, equal_nan=True)


def score_everything(index: KeywordIndex, queries: Sequence[Tokens], options: Keyword, depth: int) -> RankedLists:
    return rank_keyword(select_postings(index, queries, options), k1=options.k1, b=options.b, depth=depth)


# --- counting -------------------------------------------------------------------------------------------------------


@given(corpora)
def test_a_block_counts_as_rank_bm25_does(documents: list[Tokens]) -> None:
    counted = merge([count_block(documents)])
    if not any(documents):
        assert counted.terms == {}
        assert counted.lengths.tolist() == [0] * len(documents)
        return
    theirs = rank_bm25.BM25Plus(documents)
    assert list(counted.terms) == list(theirs.idf), "terms are numbered as rank-bm25's dictionary first sees them"
    assert counted.lengths.tolist() == theirs.doc_len
    for term, number in counted.terms.items():
        part = slice(counted.indptr[number], counted.indptr[number + 1])
        expected = {row: found[term] for row, found in enumerate(theirs.doc_freqs) if term in found}
        assert dict(zip(counted.rows[part].tolist(), counted.frequencies[part].tolist(), strict=True)) == expected
        assert counted.rows[part].tolist() == sorted(expected)


@given(corpora, st.lists(st.integers(0, 12), max_size=4))
def test_blocks_of_any_size_make_the_same_index(documents: list[Tokens], cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(documents)) for cut in cuts), len(documents)]
    blocks = [count_block(documents[start:end]) for start, end in itertools.pairwise(edges)]
    one, other = merge(blocks), merge([count_block(documents)])
    assert list(one.terms.items()) == list(other.terms.items())
    for name in ("indptr", "rows", "frequencies", "lengths"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@given(corpora)
def test_texts_count_as_their_tokens(documents: list[Tokens]) -> None:
    one, other = count_texts([" ".join(tokens) for tokens in documents], str.split), count_block(documents)
    assert one.terms == other.terms
    for name in ("found_in", "rows", "frequencies", "lengths"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("often", [255, 256, 70_000])
def test_frequencies_take_as_few_bytes_as_hold_them(often: int) -> None:
    blocks: list[Block] = [count_block([["a"]]), count_block([["b"] + ["a"] * often])]
    counted = merge(blocks)
    assert counted.frequencies.tolist() == [1, often, 1]
    assert counted.frequencies.itemsize == {255: 1, 256: 2, 70_000: 4}[often]


def test_a_block_of_more_documents_than_its_rows_can_name_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 65536 documents"):
        count_block([[]] * 65_537)


# --- idf ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.7])
@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
@given(documents=corpora)
def test_idf_is_rank_bm25s_bit_for_bit(variant: str, epsilon: float, documents: list[Tokens]) -> None:
    if not any(documents):
        return
    assert_idf(documents, variant, epsilon)


@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
def test_idf_is_rank_bm25s_bit_for_bit_over_many_terms(variant: str) -> None:
    """The mean of thousands of terms depends on the order in which they are added."""
    assert_idf(zipf(2000, 5000, seed=3), variant, 0.25)


def assert_idf(documents: list[Tokens], variant: str, epsilon: float) -> None:
    options = Keyword(variant=variant, epsilon=epsilon)
    if variant == "okapi":
        theirs = rank_bm25.BM25Okapi(documents, epsilon=epsilon)
    else:
        theirs = {"l": rank_bm25.BM25L, "plus": rank_bm25.BM25Plus}[variant](documents)
    index = build_index(documents, options)
    assert dict(zip(index.terms, index.idf.tolist(), strict=True)) == theirs.idf


# --- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@given(documents=corpora, queries=prompts, depth=st.integers(1, 14), k1=st.floats(0, 4), b=st.floats(0, 1))
def test_the_lists_are_those_of_scoring_everything(
    variant: str, documents: list[Tokens], queries: list[Tokens], depth: int, k1: float, b: float
) -> None:
    """Bit for bit; in so small corpora okapi's idf is often 0 or negative."""
    options = Keyword(variant=variant, k1=k1, b=b)
    index = build_index(documents, options)
    assert same(rank(index, queries, options, depth=depth), score_everything(index, queries, options, depth))


@pytest.mark.parametrize("shape", [{}, {"DENSE": 10**9, "LONG": 10**9, "FEW": 0, "SEARCHED": 0}, {"DENSE": 1, "SAMPLE": 3}])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_lists_are_those_of_scoring_everything_in_a_larger_corpus(
    variant: str, shape: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way the sums are made: dense or sparse, with terms looked up at the end or added."""
    for name, value in shape.items():
        monkeypatch.setattr(maxscore, name, value)
    documents, draw = zipf(3000, 400, seed=11), np.random.default_rng(12)
    queries = [[f"w{int(word) % 420}" for word in draw.zipf(1.2, int(draw.integers(1, 25)))] for _ in range(60)]
    options = Keyword(variant=variant)
    index = build_index(documents, options)
    for depth in (1, 10, 100, 3001):
        assert same(rank(index, queries, options, depth=depth), score_everything(index, queries, options, depth))


def test_factors_that_find_no_room_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxscore, "REMEMBERED", 0)
    options, documents = Keyword(), zipf(300, 50, seed=1)
    index = build_index(documents, options)
    queries = [["w1", "w2"], ["w2", "w1", "w3"]]
    assert same(rank(index, queries, options, depth=5), score_everything(index, queries, options, 5))


def test_an_index_and_its_queries_stay_as_they_were() -> None:
    options = Keyword()
    index = build_index(zipf(200, 30, seed=2), options)
    arrays = [value for value in vars(index).values() if isinstance(value, np.ndarray)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    rank(index, [["w1", "w2"], ["w5"]], options, depth=7)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_a_query_that_is_a_string_is_refused() -> None:
    with pytest.raises(TypeError, match=r"query 0 .*list of tokens"):
        rank(build_index([["cat"]], Keyword()), ["cat"], Keyword(), depth=1)


def test_postings_that_no_memory_holds_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    index = build_index([["cat", "dog"], ["cat"]], Keyword())
    monkeypatch.setattr(keyword, "MOST_POSTINGS", 3 * keyword.POSTING_BYTES)
    keyword.check_size(index, [["cat", "cat", "dog", "unknown"]])  # three entries
    with pytest.raises(HarnessError, match=r"search\.space: k1 and b .* fix k1 and b"):
        keyword.check_size(index, [["cat", "cat", "dog"], ["dog"]])


# --- a corpus in parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@given(documents=corpora, queries=prompts, cut=st.integers(0, 12))
def test_parts_with_the_statistics_of_the_whole_give_its_scores(
    variant: str, documents: list[Tokens], queries: list[Tokens], cut: int
) -> None:
    """Also where a part lacks a term that the whole has, or has no token at all."""
    options, depth = Keyword(variant=variant), len(documents)
    whole = rank(build_index(documents, options), queries, options, depth=depth)
    parts = [index_blocks([count_block(some)], options) for some in (documents[:cut], documents[cut:])]
    statistics = keyword.merge_statistics(keyword.statistics_of(part) for part in parts)
    idf = keyword.weigh_terms(statistics, options)
    weighted = keyword.weigh_queries(queries, idf)
    found: list[dict[int, float]] = [{} for _ in queries]
    for first, part in zip((0, cut), parts, strict=True):
        lists = keyword.rank_weighted(keyword.take_statistics(part, idf, statistics), weighted, options, depth=depth)
        for q in range(len(queries)):
            found[q] |= {first + int(r): float(s) for r, s in zip(lists.rows[q], lists.scores[q], strict=True) if r >= 0}
    for q, scores in enumerate(found):
        best = sorted(scores, key=lambda row: (-scores[row], row))
        assert best == [row for row in whole.rows[q].tolist() if row >= 0]
        assert [scores[row] for row in best] == whole.scores[q, : len(best)].tolist()


def test_a_searcher_of_another_k1_and_b_is_used_again() -> None:
    options, documents = Keyword(), zipf(300, 50, seed=4)
    index = build_index(documents, options)
    searcher = keyword.make_searcher(index, options, 0.4, 0.1)
    other = Keyword(k1=0.4, b=0.1)
    for query in (["w1", "w2"], ["w2", "w9", "w9"], ["w1"]):
        assert same(rank(index, [query], options, depth=9, searcher=searcher), score_everything(index, [query], other, 9))


# --- postings for every k1 and b --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@given(
    documents=corpora,
    queries=prompts,
    depth=st.integers(1, 4),
    k1=st.tuples(st.floats(0, 4), st.floats(0, 4)),
    b=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    at=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_documents_that_no_k1_and_b_can_list_are_not_missed(
    variant: str,
    documents: list[Tokens],
    queries: list[Tokens],
    depth: int,
    k1: tuple[float, float],
    b: tuple[float, float],
    at: tuple[float, float],
) -> None:
    options = Keyword(variant=variant)
    postings = select_postings(build_index(documents, options), queries, options)
    low, high = sorted(k1), sorted(b)
    reachable = keep_reachable(postings, k1=(low[0], low[1]), b=(high[0], high[1]), depth=depth)
    for one, other in (at, (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)):
        asked = {"k1": min(low[1], low[0] + one * (low[1] - low[0])), "b": min(high[1], high[0] + other * (high[1] - high[0]))}
        for wanted in {depth, 1}:
            assert same(rank_keyword(reachable, depth=wanted, **asked), rank_keyword(postings, depth=wanted, **asked))


def test_most_documents_of_a_larger_corpus_can_be_left_out() -> None:
    documents, options = zipf(2000, 300, seed=6), Keyword(variant="lucene")
    queries = [["w250", "w1", "w2"], ["w40", "w3"], ["w2"]]
    postings = select_postings(build_index(documents, options), queries, options)
    reachable = keep_reachable(postings, k1=(0.8, 2.0), b=(0.2, 0.9), depth=20)
    assert 0 < reachable.query.size < postings.query.size / 2
    for k1, b in ((0.8, 0.2), (1.3, 0.55), (2.0, 0.9)):
        assert same(rank_keyword(reachable, k1=k1, b=b, depth=20), rank_keyword(postings, k1=k1, b=b, depth=20))
