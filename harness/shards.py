"""A corpus in shards of rows: how it is cut, and what the lists and postings of the shards make together. Pure.

Scores of a shard are those of the whole where its statistics are (`keyword.merge_statistics`), so nothing is computed here: lists
are merged by score, then row, which is the one rule for ties, and postings are put one behind the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.postings import Counted, count_texts, merge, split
from harness.types import FloatArray, Postings, RankedLists


def split_rows(n: int, shards: int) -> list[slice]:
    """At most so many shards of nearly equal size, in the order of the rows; none is empty."""
    bounds = [n * number // shards for number in range(shards + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(bounds) if start < stop]


def count_rows(texts: Sequence[str], analyze: Callable[[str], Sequence[str]]) -> Counted:
    """The postings of a shard's texts, rows counted from its first."""
    return merge(count_texts(texts[part], analyze) for part in split(len(texts)))


def shift_rows(lists: RankedLists, first_row: int) -> RankedLists:
    """A shard's lists with the rows of the whole; padding stays."""
    return RankedLists(np.where(lists.rows >= 0, lists.rows + np.int32(first_row), np.int32(-1)), lists.scores)


def merge_ranked(one: RankedLists, other: RankedLists) -> RankedLists:
    """The best of both for every query, by score, then row, as many as `one` has places; both are for the same queries.

    The order of shards, and which are merged first, decide nothing.
    """
    if one.rows.shape[0] != other.rows.shape[0]:
        raise ValueError(f"both lists must be for the same queries, got {one.rows.shape[0]} and {other.rows.shape[0]}")
    depth = one.rows.shape[1]
    rows = np.concatenate([one.rows, other.rows], axis=1)
    scores = np.concatenate([one.scores, other.scores], axis=1)
    order = np.lexsort((rows, -scores, rows < 0), axis=1)[:, :depth]  # padding last, whatever the scores are
    return RankedLists(np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1))


def join_postings(parts: Sequence[tuple[int, Postings]], base: FloatArray) -> Postings:
    """The whole's postings from each shard's, which come with their first row in the order of the rows.

    `base` (n_queries,) is by the whole's terms: a shard does not know those that it lacks.
    """
    query = np.concatenate([postings.query for _, postings in parts])
    order = np.argsort(query, kind="stable")  # rows ascend from shard to shard
    row = np.concatenate([postings.row + np.int32(first_row) for first_row, postings in parts])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(postings, name) for _, postings in parts])[order]
        for name in ("frequency", "length_ratio", "weight")
    }
    return replace(parts[0][1], query=query[order], row=row[order], base=base, **columns)
