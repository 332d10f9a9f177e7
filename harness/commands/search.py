"""`search`: one prompt, explained: what each retriever gave a result, and what the fusion made of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import keyword, semantic
from harness.candidates import merge_lists
from harness.config import Config, load_config, read_weights
from harness.engines import apply_rules
from harness.errors import HarnessError
from harness.fields import content_to_index, texts_to_index
from harness.fusion import fuse, order_keys
from harness.given import cut_lists, list_rows
from harness.indexes import at_index
from harness.live import with_list
from harness.notebook import Rows, Shown
from harness.prepare import read_data, refuse_below_zero
from harness.progress import Progress, Silence
from harness.retrieve import embeddings, keyword_index, rows_with_text, run_side
from harness.types import Dataset, Params, Query, RankedLists, Vectors

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
class Explanation(Shown):
    """The results of one prompt at one setting; `query_id` where the prompt is one of the labelled ones."""

    text: str
    query_id: str | None
    params: Params
    results: tuple[Result, ...]

    def rows(self) -> Rows:
        """A row for each result."""
        return [asdict(result) for result in self.results]

    def caption(self) -> str:
        """The prompt and the setting."""
        return f"{self.text} ({self.params.fusion}, semantic weight {self.params.semantic_weight:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def search(
    config: Config | str | Path,
    text: str,
    *,
    weights: str | Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Explanation:
    """The first `top_k` results of this prompt at the setting of a weights file, or of the config.

    `allow_code` is leave to run the config's embedder.
    """
    progress = progress or Silence()
    config = load_config(config, allow_code=allow_code)
    if not text.strip():
        raise HarnessError("search: the prompt must not be empty")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    dataset = read_data(config, progress)
    same = next((i for i, query in enumerate(dataset.queries) if query.text == text), None)
    prompt = dataset.queries[same] if same is not None else Query("", text)
    dataset = with_list(config, dataset, prompt, same, progress, depth=params.depth)

    judged = {} if same is None else dict(zip(dataset.qrels.rows[same], dataset.qrels.grades[same], strict=True))
    grades = {dataset.doc_ids[row]: int(grade) for row, grade in judged.items() if row >= 0}
    dataset, config = at_index(dataset, config, params)
    keyword_list = list_keyword(text, same, dataset, config, params, progress)
    semantic_list = list_semantic(text, same, dataset, config, params, progress)
    merged = merge_lists(keyword_list, semantic_list)
    refuse_below_zero(config, replace(dataset, queries=(prompt,)), merged, params)
    candidates, lines = apply_rules(merged, params, config.engine)
    keys, scores = order_keys(lines, params.semantic_weight)[0], fuse(lines, params.semantic_weight)[0]
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
                relevance=grades.get(dataset.doc_ids[row]),
                text=dataset.texts[row][:SNIPPET],
            )
        )
    return Explanation(text, dataset.queries[same].query_id if same is not None else None, params, tuple(results))


def list_keyword(
    text: str, same: int | None, dataset: Dataset, config: Config, params: Params, progress: Progress
) -> RankedLists:
    """The keyword retriever's list for this prompt, (1, depth); `same` is its number where it is a labelled one."""
    if "keyword" in dataset.fetched:
        return list_of_engine("keyword", same, dataset, params.depth)
    if config.keyword.run is not None:
        return list_of_run(config.keyword.run, same, dataset, "keyword", params.depth)
    key = keyword.index_key(content_to_index(dataset, config.keyword), config.keyword)
    analyze, index = keyword_index(texts_to_index(dataset, config.keyword), config, key, progress)
    searcher = keyword.make_searcher(index, config.keyword, params.k1, params.b)
    return keyword.rank(index, [analyze(text)], config.keyword, depth=params.depth, searcher=searcher)


def list_semantic(
    text: str, same: int | None, dataset: Dataset, config: Config, params: Params, progress: Progress
) -> RankedLists:
    """The semantic retriever's list for this prompt, (1, depth)."""
    if "semantic" in dataset.fetched:
        return list_of_engine("semantic", same, dataset, params.depth)
    if config.semantic.run is not None:
        return list_of_run(config.semantic.run, same, dataset, "semantic", params.depth)
    documents, query = encode_one(text, same, dataset, config, progress)
    lists, _ = semantic.rank_semantic(
        documents, query, depth=params.depth, factory=config.semantic.index, rows=rows_with_text(dataset.texts)
    )
    return lists


def list_of_engine(side: str, same: int | None, dataset: Dataset, depth: int) -> RankedLists:
    """The list that a live engine gave for this prompt."""
    query_id = dataset.queries[same].query_id if same is not None else ""
    return cut_lists(list_rows([dataset.fetched[side].lists[query_id]], dataset.doc_ids), depth)


def list_of_run(run: str, same: int | None, dataset: Dataset, side: str, depth: int) -> RankedLists:
    """A run's list for a labelled prompt; HarnessError for another, of which the run knows nothing."""
    if same is None:
        raise HarnessError(f"search: must be the text of a labelled prompt, since {side}.run has no list for another")
    lists = run_side(run, dataset, side, depth).lists
    return RankedLists(lists.rows[same : same + 1], lists.scores[same : same + 1])


def encode_one(text: str, same: int | None, dataset: Dataset, config: Config, progress: Progress) -> tuple[Vectors, Vectors]:
    """The documents' vectors, and this prompt's, (1, dimension); a labelled prompt's come from the cache, or from given ones."""
    if same is None:
        if config.semantic.vectors is not None:
            raise HarnessError(
                "search: must be the text of a labelled prompt, since semantic.vectors has no model to encode another"
            )
        dataset = replace(dataset, queries=(Query("", text),))
    documents, encoded = embeddings(dataset, config, progress)
    return documents.vectors, encoded.vectors[same or 0 : (same or 0) + 1]
