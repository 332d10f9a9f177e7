"""The union of both retrievers' lists, and the same at a smaller depth. Pure."""

from __future__ import annotations

import numpy as np

from harness.types import Candidates, FloatArray, IntArray, RankedLists


def merge_lists(keyword: RankedLists, semantic: RankedLists) -> Candidates:
    """One column a document that at least one list holds, rows ascending; ranks are the positions in the lists.

    Both lists must be for the same queries; they may differ in depth. Width is the largest union of one query (at
    least 1, so that no array is empty).
    """
    n_queries = keyword.rows.shape[0]
    if semantic.rows.shape[0] != n_queries:
        raise ValueError(f"both lists must be for the same queries, got {n_queries} and {semantic.rows.shape[0]}")
    both = np.concatenate([keyword.rows, semantic.rows], axis=1)  # (n_queries, depth + depth)
    order = np.argsort(np.where(both < 0, np.iinfo(np.int32).max, both), axis=1, kind="stable")
    rows = np.take_along_axis(both, order, axis=1)
    fresh = rows >= 0
    fresh[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    column_of_sorted = np.cumsum(fresh, axis=1) - 1
    width = max(1, int(fresh.sum(axis=1).max(initial=0)))
    column = np.empty_like(column_of_sorted)  # the column of each place of `both`
    np.put_along_axis(column, order, column_of_sorted, axis=1)

    merged_rows = np.full((n_queries, width), -1, dtype=np.int32)
    query, place = np.nonzero(both >= 0)
    merged_rows[query, column[query, place]] = both[query, place]
    split = keyword.rows.shape[1]
    keyword_scores, keyword_ranks = _scatter(keyword, column[:, :split], width)
    semantic_scores, semantic_ranks = _scatter(semantic, column[:, split:], width)
    return Candidates(merged_rows, keyword_scores, semantic_scores, keyword_ranks, semantic_ranks)


def _scatter(lists: RankedLists, column: np.ndarray, width: int) -> tuple[FloatArray, IntArray]:
    n_queries = lists.rows.shape[0]
    scores = np.full((n_queries, width), np.nan)
    ranks = np.zeros((n_queries, width), dtype=np.int32)
    query, place = np.nonzero(lists.rows >= 0)
    scores[query, column[query, place]] = lists.scores[query, place]
    ranks[query, column[query, place]] = place + 1
    return scores, ranks


def at_depth(candidates: Candidates, depth: int) -> Candidates:
    """The candidates that lists of this depth would have given: a document has the score of each list that holds it.

    Columns stay where they are; a document that neither shorter list holds becomes padding (row -1).
    """
    in_keyword = (candidates.keyword_ranks > 0) & (candidates.keyword_ranks <= depth)
    in_semantic = (candidates.semantic_ranks > 0) & (candidates.semantic_ranks <= depth)
    return Candidates(
        rows=np.where(in_keyword | in_semantic, candidates.rows, np.int32(-1)),
        keyword_scores=np.where(in_keyword, candidates.keyword_scores, np.nan),
        semantic_scores=np.where(in_semantic, candidates.semantic_scores, np.nan),
        keyword_ranks=np.where(in_keyword, candidates.keyword_ranks, np.int32(0)),
        semantic_ranks=np.where(in_semantic, candidates.semantic_ranks, np.int32(0)),
    )


def semantic_lists(candidates: Candidates, depth: int) -> RankedLists:
    """The semantic retriever's lists back from the candidates, (n_queries, depth)."""
    n_queries = candidates.rows.shape[0]
    rows = np.full((n_queries, depth), -1, dtype=np.int32)
    scores = np.full((n_queries, depth), np.nan)
    query, column = np.nonzero(candidates.semantic_ranks > 0)
    place = candidates.semantic_ranks[query, column] - 1
    rows[query, place] = candidates.rows[query, column]
    scores[query, place] = candidates.semantic_scores[query, column]
    return RankedLists(rows, scores)


def by_first_seen(candidates: Candidates) -> Candidates:
    """The same with its columns in the order in which an engine meets them: the keyword list, then the semantic one's rest.

    Padding stands at the end. Ids are no longer ascending: this is the order of ties, not of rows.
    """
    in_keyword, in_semantic = candidates.keyword_ranks > 0, candidates.semantic_ranks > 0
    last = int(candidates.keyword_ranks.max(initial=0))
    seen = np.where(
        in_keyword, candidates.keyword_ranks, np.where(in_semantic, last + candidates.semantic_ranks, np.iinfo(np.int32).max)
    )
    order = np.argsort(seen, axis=1, kind="stable")
    return Candidates(*(np.take_along_axis(array, order, axis=1) for array in vars(candidates).values()))
