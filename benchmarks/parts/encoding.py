"""Encoding with the packaged model: this program beside `SentenceTransformer.encode` with its defaults, and its own backends.

On the collection's documents. What a backend loses is printed twice: the least cosine between its vectors and those of `torch`,
and MAP@10 of the semantic retriever alone with each. Compiling is timed apart: it is paid once a process.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np

from benchmarks.measuring import Row, alternate, bare, faster, seconds
from benchmarks.parts.collection import find_collection, prepare_collection
from harness.backends import BACKENDS
from harness.measures import Measure, Ranking, prepare_judgements, score_queries
from harness.prepare import Prepared
from harness.retrieve import rows_with_text
from harness.semantic import encode, find_model, load_model, rank_semantic
from harness.types import Vectors

PART = "encoding"
TEXTS = 200  # documents that are timed


def measure(*, quick: bool) -> list[Row]:
    """Against the defaults; then each other backend against ours."""
    import torch

    prepared = prepare_collection()
    options = prepared.config.semantic
    texts = prepared.dataset.texts
    timed = [text for text in texts if text][: 32 if quick else TEXTS]
    models, first = {}, {}
    for name in ("torch", *(n for n in BACKENDS if not n.startswith("openvino") or importlib.util.find_spec("openvino"))):
        chosen = options.model_copy(update={"backend": name})
        models[name] = load_model(find_model(options), chosen)
        first[name] = seconds(lambda name=name: encode(models[name], timed[:32], "document", options))

    def run(name: str) -> float:
        return seconds(lambda: encode(models[name], timed, "document", options))

    plain = load_model(find_model(options), options)

    def defaults() -> float:
        torch.set_num_threads(os.cpu_count() or 1)
        took = seconds(lambda: plain.encode(timed, show_progress_bar=False))
        torch.set_num_threads(1)
        return took

    defaults()
    found = alternate({"defaults": defaults, **{name: (lambda name=name: run(name)) for name in models}}, 1 if quick else 5)
    what = f"{len(timed)} documents of {find_collection().name}"
    ours = found["torch"]
    rows = [
        faster(
            PART, what, "SentenceTransformer.encode, its defaults", ours, found["defaults"], 1, note=_same(models, plain, timed)
        ),
        bare(PART, f"{what}: documents a second", [len(timed) / one for one in ours], None, "", at_least=True),
    ]
    prompts = [query.text for query in prepared.dataset.queries]
    filled = rows_with_text(texts)
    kept, scores = {}, {}
    for name, model in models.items():
        shown = timed if quick else texts
        kept[name] = encode(model, shown, "document", options).vectors
        if not quick:
            scores[name] = _map_at_10(prepared, kept[name], encode(model, prompts, "query", options).vectors)
    for name in list(models)[1:]:
        cosines = (kept[name] * kept["torch"]).sum(axis=1)
        note = f"least cosine {(cosines if quick else cosines[filled]).min():.5f}"
        if scores:
            note += f"; MAP@10 of the semantic side {scores[name]:.4f}, torch {scores['torch']:.4f}"
        note += f"; first call {first[name]:.1f} s"
        rows.append(faster(PART, f"{what}: backend {name}", "backend torch", found[name], ours, None, note=note))
    return rows


def _same(models: dict[str, Any], plain: Any, texts: list[str]) -> str:
    from harness.blocks import Semantic

    ours, theirs = encode(models["torch"], texts, "document", Semantic()).vectors, plain.encode(texts, show_progress_bar=False)
    return f"largest difference of a component {np.abs(ours - theirs).max():.0e}"


def _map_at_10(prepared: Prepared, documents: Vectors, queries: Vectors) -> float:
    """MAP@10 of the semantic retriever alone."""
    qrels = prepared.dataset.qrels
    lists = rank_semantic(documents, queries, depth=100, rows=rows_with_text(prepared.dataset.texts))[0].rows
    places = np.full(qrels.rows.shape, np.inf)
    for i, listed in enumerate(lists):
        rank = {int(row): place for place, row in enumerate(listed, 1) if row >= 0}
        places[i] = [rank.get(int(row), np.inf) if row >= 0 else np.inf for row in qrels.rows[i]]
    ranking = Ranking(places, (lists >= 0).sum(axis=1).astype(np.int32))
    judged = prepare_judgements(qrels, prepared.config.measures.conventions())
    return float(np.mean(score_queries(Measure("MAP", 10), ranking, judged)))
