"""From candidates and parameters to per-query scores: what a trial computes. Pure, no disk, no model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from harness.bm25 import keep_reachable, rank_keyword
from harness.candidates import at_depth, merge_lists, semantic_lists
from harness.engines import RANK_FUSIONS, apply_rules
from harness.fusion import Lines, fuse, order_keys, rank_columns
from harness.measures import Judgements, Ranking, prepare_judgements
from harness.types import Candidates, Conventions, FloatArray, IndexChoice, IntArray, Params, Postings, Qrels, Retrieved

KEPT_LINES = 32  # discrete settings whose lines stay in memory: a sampler comes back to the same few


class Hybrid:
    """The hybrid search of the used queries, frozen at its candidates; `base` holds the depth, k1 and b of these.

    `engine` names the rules by which it fuses (`harness.engines`); None: the harness's own. `source_of` numbers each document's
    source, by row, where sources are judged. `others` are the candidates of other indexes that a setting may name. `traffic` is
    what each query counts in a mean (`harness.traffic`). `k1_b` are the lowest and the highest k1 and b that are
    searched: there, trials are faster, and the same.

    Values are functions of `Params` alone; the object only remembers the lines of recent discrete settings.
    """

    def __init__(
        self,
        candidates: Candidates,
        qrels: Qrels,
        conventions: Conventions,
        base: Params,
        postings: Postings | None = None,
        engine: str | None = None,
        source_of: IntArray | None = None,
        others: Mapping[IndexChoice, Retrieved] = MappingProxyType({}),
        traffic: FloatArray | None = None,
        k1_b: tuple[tuple[float, float], tuple[float, float]] | None = None,
    ) -> None:
        self.candidates = candidates
        self.qrels = qrels
        self.judgements: Judgements = prepare_judgements(qrels, conventions)
        self.base = base
        self.postings = postings
        self.engine = engine
        self.source_of = source_of
        self.others = others
        self.traffic = traffic
        self.k1_b = k1_b
        self._reachable: dict[IndexChoice, Postings] = {}
        self._kept: OrderedDict[Params, tuple[Candidates, Lines, IntArray]] = OrderedDict()

    def candidates_for(self, params: Params) -> Candidates:
        """The candidates at this index, k1, b and depth; k1 and b other than the base's need postings (ValueError)."""
        candidates, postings = self.candidates, self.postings
        if params.index != self.base.index:
            if params.index not in self.others:
                raise ValueError(f"these candidates hold no index of {params.index}, but {[self.base.index, *self.others]}")
            other = self.others[params.index]
            candidates, postings = other.candidates, other.postings
        if params.depth > self.base.depth:
            raise ValueError(f"depth must be at most {self.base.depth}, the candidates' own, got {params.depth}")
        if (params.k1, params.b) != (self.base.k1, self.base.b):
            if postings is None:
                raise ValueError(
                    f"these candidates hold no postings: k1, b must be {self.base.k1}, {self.base.b}, got {params.k1}, {params.b}"
                )
            postings = self._postings_for(params, postings)
            keyword = rank_keyword(postings, k1=params.k1, b=params.b, depth=params.depth)
            return merge_lists(keyword, semantic_lists(at_depth(candidates, params.depth), params.depth))
        return candidates if params.depth == self.base.depth else at_depth(candidates, params.depth)

    def _postings_for(self, params: Params, postings: Postings) -> Postings:
        """Enough of the postings for these k1 and b: within `k1_b`, only those of documents that can be listed there."""
        if self.k1_b is None or not all(
            low <= value <= high for value, (low, high) in zip((params.k1, params.b), self.k1_b, strict=True)
        ):
            return postings
        if params.index not in self._reachable:
            k1, b = self.k1_b
            self._reachable[params.index] = keep_reachable(postings, k1=k1, b=b, depth=self.base.depth)
        return self._reachable[params.index]

    def setting(self, params: Params) -> tuple[Candidates, Lines, IntArray]:
        """Candidates, lines and the judged documents' columns ((n_queries, most_judged), -1: not a candidate).

        Columns are in the order in which the engine returns documents of equal score.
        """
        key = replace(params, semantic_weight=0.0, top_k=1, rrf_k=params.rrf_k if params.fusion in RANK_FUSIONS else 0)
        if key not in self._kept:
            candidates, lines = apply_rules(self.candidates_for(params), params, self.engine)
            self._kept[key] = (candidates, lines, find_columns(candidates.rows, self.qrels.rows))
            if len(self._kept) > KEPT_LINES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def rank(self, params: Params) -> Ranking:
        """The judged documents' ranks in the whole fused list (not cut at top_k)."""
        _, lines, columns = self.setting(params)
        return rank_judged(lines, columns, params.semantic_weight)

    def results(self, params: Params) -> Iterator[tuple[IntArray, FloatArray]]:
        """Per query the rows and fused scores of the whole list, best first."""
        candidates, lines, _ = self.setting(params)
        keys = order_keys(lines, params.semantic_weight)
        scores = fuse(lines, params.semantic_weight)
        order = np.argsort(-keys, axis=1, kind="stable")
        for i in range(keys.shape[0]):
            best = order[i, : int((keys[i] > -np.inf).sum())]
            yield candidates.rows[i, best], scores[i, best]


def rank_judged(lines: Lines, columns: IntArray, semantic_weight: float) -> Ranking:
    """The ranks at this weight of the documents in `columns` ((n_queries, most_judged), -1: not a candidate)."""
    ranks, returned = rank_columns(order_keys(lines, semantic_weight))
    found = np.take_along_axis(ranks, np.maximum(columns, 0), axis=1)
    return Ranking(np.where((columns >= 0) & (found > 0), found, np.inf), returned)


def find_columns(candidate_rows: IntArray, judged_rows: IntArray) -> IntArray:
    """The column of each judged document among the candidates, -1 where it is none; (n_queries, most_judged).

    Candidate rows may stand in any order within a query, with -1 (padding) anywhere.
    """
    query, column = np.nonzero(candidate_rows >= 0)
    span = int(max(candidate_rows.max(initial=0), judged_rows.max(initial=0))) + 1
    keys = query * span + candidate_rows[query, column]
    if (np.diff(keys) < 0).any():  # in order where rows ascend within each query, as they do by the harness's own rules
        order = np.argsort(keys)
        keys, column = keys[order], column[order]
    wanted = np.arange(judged_rows.shape[0])[:, None] * span + judged_rows
    if keys.size == 0:
        return np.full(judged_rows.shape, -1, dtype=np.int32)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    found = (keys[place] == wanted) & (judged_rows >= 0)
    return np.where(found, column[place], -1).astype(np.int32)
