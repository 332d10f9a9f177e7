"""The union of both lists, and the same at a smaller depth, against plain dictionaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.candidates import at_depth, merge_lists, semantic_lists
from harness.types import Candidates, RankedLists

Ranked = list[tuple[int, float]]  # one query's list, best first


def make_lists(each: list[Ranked], depth: int) -> RankedLists:
    rows, scores = np.full((len(each), depth), -1, dtype=np.int32), np.full((len(each), depth), np.nan)
    for i, ranked in enumerate(each):
        for place, (row, score) in enumerate(ranked[:depth]):
            rows[i, place], scores[i, place] = row, score
    return RankedLists(rows, scores)


def read_candidates(candidates: Candidates) -> list[dict[int, tuple[int, float | None, int, float | None]]]:
    """Per query: row → keyword rank, keyword score, semantic rank, semantic score (None where not held)."""
    read = []
    for i in range(candidates.rows.shape[0]):
        documents = {}
        for column, row in enumerate(candidates.rows[i]):
            scores = [float(s[i, column]) for s in (candidates.keyword_scores, candidates.semantic_scores)]
            ranks = [int(r[i, column]) for r in (candidates.keyword_ranks, candidates.semantic_ranks)]
            if row < 0:
                assert ranks == [0, 0], "padding has no rank"
                assert all(map(math.isnan, scores)), "padding has no score"
                continue
            kept = [None if math.isnan(score) else score for score in scores]
            documents[int(row)] = (ranks[0], kept[0], ranks[1], kept[1])
        read.append(documents)
    return read


def merge_slowly(keyword: list[Ranked], semantic: list[Ranked]) -> list[dict[int, tuple[int, float | None, int, float | None]]]:
    merged = []
    for one, other in zip(keyword, semantic, strict=True):
        of_keyword = {row: (rank, score) for rank, (row, score) in enumerate(one, 1)}
        of_semantic = {row: (rank, score) for rank, (row, score) in enumerate(other, 1)}
        rows = sorted(of_keyword.keys() | of_semantic.keys())
        merged.append({row: (*of_keyword.get(row, (0, None)), *of_semantic.get(row, (0, None))) for row in rows})
    return merged


ranked_lists = st.lists(st.integers(0, 15), unique=True, max_size=8).flatmap(
    lambda rows: st.lists(st.floats(-5, 5), min_size=len(rows), max_size=len(rows)).map(
        lambda scores: list(zip(rows, sorted(scores, reverse=True), strict=True))
    )
)
pairs = st.lists(st.tuples(ranked_lists, ranked_lists), min_size=1, max_size=4)


def test_a_document_has_rank_and_score_of_each_list_that_holds_it() -> None:
    keyword, semantic = make_lists([[(0, 12.0), (1, 9.0), (2, 3.0)]], 3), make_lists([[(2, 0.82), (3, 0.80), (0, 0.40)]], 3)
    merged = merge_lists(keyword, semantic)
    assert merged.rows.tolist() == [[0, 1, 2, 3]]
    assert merged.keyword_ranks.tolist() == [[1, 2, 3, 0]]
    assert merged.semantic_ranks.tolist() == [[3, 0, 1, 2]]
    assert np.array_equal(merged.keyword_scores, [[12, 9, 3, np.nan]], equal_nan=True)
    assert np.array_equal(merged.semantic_scores, [[0.40, np.nan, 0.82, 0.80]], equal_nan=True)


@given(pairs)
def test_merging_equals_the_union_of_dictionaries(each: list[tuple[Ranked, Ranked]]) -> None:
    keyword, semantic = [pair[0] for pair in each], [pair[1] for pair in each]
    merged = merge_lists(make_lists(keyword, 8), make_lists(semantic, 8))
    assert read_candidates(merged) == merge_slowly(keyword, semantic)


@given(pairs)
def test_rows_ascend_and_padding_stands_at_the_end(each: list[tuple[Ranked, Ranked]]) -> None:
    merged = merge_lists(make_lists([k for k, _ in each], 8), make_lists([s for _, s in each], 8))
    for rows in merged.rows.tolist():
        filled = [row for row in rows if row >= 0]
        assert rows == sorted(filled) + [-1] * (len(rows) - len(filled))
    assert merged.rows.shape[1] == max(1, max(len({row for row, _ in [*k, *s]}) for k, s in each))


@given(pairs, st.integers(1, 9))
def test_at_depth_equals_merging_the_shorter_lists(each: list[tuple[Ranked, Ranked]], depth: int) -> None:
    keyword, semantic = [pair[0] for pair in each], [pair[1] for pair in each]
    deep = merge_lists(make_lists(keyword, 8), make_lists(semantic, 8))
    shallow = merge_lists(make_lists(keyword, depth), make_lists(semantic, depth))
    assert read_candidates(at_depth(deep, depth)) == read_candidates(shallow)


def test_at_depth_a_document_loses_the_score_of_the_list_that_no_longer_reaches_it() -> None:
    deep = merge_lists(make_lists([[(0, 3.0), (1, 2.0)]], 2), make_lists([[(1, 0.9), (2, 0.8)]], 2))
    assert read_candidates(at_depth(deep, 1)) == [{0: (1, 3.0, 0, None), 1: (0, None, 1, 0.9)}]


@given(pairs, st.integers(1, 8))
def test_the_semantic_lists_come_back_from_the_candidates(each: list[tuple[Ranked, Ranked]], depth: int) -> None:
    semantic = make_lists([pair[1] for pair in each], depth)
    merged = merge_lists(make_lists([pair[0] for pair in each], 8), semantic)
    back = semantic_lists(merged, depth)
    assert np.array_equal(back.rows, semantic.rows)
    assert np.array_equal(back.scores, semantic.scores, equal_nan=True)


def test_two_empty_lists_give_no_candidate() -> None:
    merged = merge_lists(make_lists([[]], 4), make_lists([[]], 4))
    assert read_candidates(merged) == [{}]


def test_lists_may_differ_in_depth_but_not_in_queries() -> None:
    merged = merge_lists(make_lists([[(5, 1.0)]], 1), make_lists([[(5, 0.5), (4, 0.4)]], 3))
    assert read_candidates(merged) == [{4: (0, None, 2, 0.4), 5: (1, 1.0, 1, 0.5)}]
    with pytest.raises(ValueError, match="1 and 2"):
        merge_lists(make_lists([[]], 1), make_lists([[], []], 1))


@given(pairs)
def test_merging_and_cutting_leave_their_inputs_unchanged(each: list[tuple[Ranked, Ranked]]) -> None:
    keyword, semantic = make_lists([k for k, _ in each], 8), make_lists([s for _, s in each], 8)
    merged = merge_lists(keyword, semantic)
    arrays = [array for holder in (keyword, semantic, merged) for array in vars(holder).values()]
    before = [array.copy() for array in arrays]
    merge_lists(keyword, semantic)
    at_depth(merged, 2)
    semantic_lists(merged, 8)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, before, strict=True))


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        RankedLists(np.zeros((1, 2), dtype=np.int32), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="shape"):
        Candidates(
            np.zeros((1, 2), dtype=np.int32),
            np.zeros((1, 2)),
            np.zeros((1, 3)),
            np.zeros((1, 2), dtype=np.int32),
            np.zeros((1, 2), dtype=np.int32),
        )
