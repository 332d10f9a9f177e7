"""`search`: one prompt, explained: what each retriever gave a result, and what the fusion made of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import keyword, semantic
from harness.bm25 import rank_keyword
from harness.candidates import merge_lists
from harness.config import Config, load_config, read_weights
from harness.engines import apply_rules
from harness.errors import HarnessError
from harness.fusion import fuse, order_keys
from harness.prepare import read_data
from harness.progress import Progress, Silence
from harness.retrieve import embeddings, keyword_index, rows_with_text
from harness.types import Dataset, Params, Vectors

SNIPPET = 160  # characters of a document's text that are shown


@dataclass(frozen=True)
class Result:
    """One result: rank from 1, fused score, and each retriever's rank and score (None where its list lacks it)."""

    rank: int
    doc_id: str
    score: float
    keyword_rank: int | None
    keyword_score: float | None
    semantic_rank: int | None
    semantic_score: float | None
    relevance: int | None
    text: str


@dataclass(frozen=True)
class Explanation:
    """The results of one prompt at one setting; `query_id` where the prompt is one of the labelled ones."""

    text: str
    query_id: str | None
    params: Params
    results: tuple[Result, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def search(
    config: Config | str | Path, text: str, *, weights: str | Path | None = None, progress: Progress | None = None
) -> Explanation:
    """The first `top_k` results of this prompt at the setting of a weights file, or of the config."""
    progress = progress or Silence()
    config = load_config(config)
    if not text.strip():
        raise HarnessError("search: the prompt must not be empty")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    dataset = read_data(config)
    same = next((i for i, query in enumerate(dataset.queries) if query.text == text), None)

    key = keyword.index_key(dataset.hashes.corpus, config.keyword)
    analyze, index = keyword_index(dataset.texts, config, key, progress)
    postings = keyword.select_postings(index, [analyze(text)], config.keyword)
    keyword_list = rank_keyword(postings, k1=params.k1, b=params.b, depth=params.depth)
    documents, query = encode_one(text, same, dataset, config, progress)
    semantic_list, _ = semantic.rank_semantic(
        documents, query, depth=params.depth, factory=config.semantic.index, rows=rows_with_text(dataset.texts)
    )
    candidates, lines = apply_rules(merge_lists(keyword_list, semantic_list), params, config.engine)
    keys, scores = order_keys(lines, params.semantic_weight)[0], fuse(lines, params.semantic_weight)[0]
    grades = {} if same is None else dict(zip(dataset.qrels.rows[same], dataset.qrels.grades[same], strict=True))
    results = []
    for rank, column in enumerate(np.argsort(-keys, kind="stable")[: params.top_k], 1):
        if keys[column] == -np.inf:
            break
        row = int(candidates.rows[0, column])
        in_keyword, in_semantic = candidates.keyword_ranks[0, column] > 0, candidates.semantic_ranks[0, column] > 0
        results.append(
            Result(
                rank=rank,
                doc_id=dataset.doc_ids[row],
                score=float(scores[column]),
                keyword_rank=int(candidates.keyword_ranks[0, column]) if in_keyword else None,
                keyword_score=float(candidates.keyword_scores[0, column]) if in_keyword else None,
                semantic_rank=int(candidates.semantic_ranks[0, column]) if in_semantic else None,
                semantic_score=float(candidates.semantic_scores[0, column]) if in_semantic else None,
                relevance=int(grades[row]) if row in grades else None,
                text=dataset.texts[row][:SNIPPET],
            )
        )
    return Explanation(text, dataset.queries[same].query_id if same is not None else None, params, tuple(results))


def encode_one(text: str, same: int | None, dataset: Dataset, config: Config, progress: Progress) -> tuple[Vectors, Vectors]:
    """The documents' vectors, and this prompt's, (1, dimension); a labelled prompt's come from the cache."""
    queries = [query.text for query in dataset.queries] if same is not None else [text]
    documents, encoded = embeddings(dataset.texts, queries, config, progress)
    return documents.vectors, encoded.vectors[same or 0 : (same or 0) + 1]
