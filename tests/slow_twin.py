"""The obvious, slow way to the same numbers: rank_bm25's own scores, dictionaries, one document at a time.

Shares nothing with the package but the embeddings; written from docs/measures.md and docs/fusion.md alone.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import rank_bm25

Scores = dict[str, float]


class SlowTwin:
    """Both retrievers' lists and their fusion over a collection given as dictionaries."""

    def __init__(self, texts: dict[str, str], vectors: dict[str, Any], depth: int = 100) -> None:
        self.ids = sorted(texts)
        self.depth = depth
        self.tokens = {doc: re.findall(r"\w+", texts[doc].lower()) for doc in self.ids}
        self.bm25 = rank_bm25.BM25Okapi([self.tokens[doc] for doc in self.ids], k1=1.5, b=0.75, epsilon=0.25)
        self.sets = {doc: set(self.tokens[doc]) for doc in self.ids}
        self.found = [doc for doc in self.ids if texts[doc]]
        self.matrix = np.stack([vectors[doc] for doc in self.found]).astype(np.float64)

    def keyword(self, text: str) -> Scores:
        query = re.findall(r"\w+", text.lower())
        scores = dict(zip(self.ids, self.bm25.get_scores(query), strict=True))
        return self._top({doc: score for doc, score in scores.items() if self.sets[doc] & set(query)})

    def semantic(self, vector: Any) -> Scores:
        products = (self.matrix * np.asarray(vector, dtype=np.float64)).sum(axis=1)
        return self._top(dict(zip(self.found, products, strict=True)))

    def _top(self, scores: Scores) -> Scores:
        order = sorted(scores, key=lambda doc: (-scores[doc], doc))
        return {doc: float(scores[doc]) for doc in order[: self.depth]}


def minmax(scores: Scores) -> Scores:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {doc: 1.0 if high == low else (score - low) / (high - low) for doc, score in scores.items()}


def rrf(scores: Scores, constant: int = 60) -> Scores:
    return {doc: 1 / (constant + rank) for rank, doc in enumerate(scores, 1)}


def fuse(keyword: Scores, semantic: Scores, weight: float, normalise: Any) -> list[str]:
    if weight in (0, 1):
        return list(keyword if weight == 0 else semantic)
    q, s = normalise(keyword), normalise(semantic)
    fused = {doc: round((1 - weight) * q.get(doc, 0.0) + weight * s.get(doc, 0.0), 12) for doc in {*q, *s}}
    return sorted(fused, key=lambda doc: (-fused[doc], doc))


def average_precision(ranking: list[str], relevant: set[str], cutoff: int) -> float:
    hits, total = 0, 0.0
    for rank, doc in enumerate(ranking[:cutoff], 1):
        if doc in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def reciprocal_rank(ranking: list[str], relevant: set[str], cutoff: int) -> float:
    return next((1 / rank for rank, doc in enumerate(ranking[:cutoff], 1) if doc in relevant), 0.0)


def recall(ranking: list[str], relevant: set[str], cutoff: int) -> float:
    return len(relevant & set(ranking[:cutoff])) / len(relevant)


MEASURES = {"MAP@10": average_precision, "MRR@10": reciprocal_rank, "Recall@10": recall}
