"""Whole collections against independent values: a slow twin on the handbook, a stranger's figures on real collections.

Real collections are read from the folder that HARNESS_COLLECTIONS names, in BEIR layout; without it those tests skip.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import slow_twin
from conftest import ROOT

from harness.config import Config, parse_config
from harness.measures import parse_measure, score_queries
from harness.prepare import Prepared, Timings, prepare, read_data
from harness.progress import Silence
from harness.retrieve import embeddings
from harness.types import Params

# keyword, semantic, minmax .5, rrf60 .5, then the best weight (middle of its interval) and score for minmax and rrf60.
REFERENCE = {
    ("cranfield", "MAP@10"): (0.205066, 0.255011, 0.265192, 0.263198, (0.653432, 0.272538), (0.7997585, 0.268960)),
    ("cranfield", "MRR@10"): (0.487633, 0.534605, 0.553536, 0.559586, (0.7121145, 0.562942), (0.689303, 0.572656)),
    ("cranfield", "Recall@10"): (0.355494, 0.413646, 0.426208, 0.423323, (0.6385065, 0.436914), (0.6314085, 0.428134)),
    ("medline", "MAP@10"): (0.255357, 0.313817, 0.323344, 0.311094, (0.6859735, 0.334126), (0.6889725, 0.325718)),
    ("medline", "MRR@10"): (0.915873, 0.911111, 0.938889, 0.961111, (0.816395, 0.966667), (0.7973855, 0.966667)),
    ("medline", "Recall@10"): (0.302510, 0.359239, 0.368411, 0.351868, (0.6859735, 0.381253), (0.8846785, 0.371459)),
    ("rag_docs", "MAP@10"): (0.577258, 0.589461, 0.716300, 0.700829, (0.5748045, 0.718302), (0.5614275, 0.708266)),
    ("rag_docs", "MRR@10"): (0.773579, 0.734762, 0.887528, 0.896667, (0.4499985, 0.891278), (0.518617, 0.907278)),
    ("rag_docs", "Recall@10"): (0.740000, 0.804167, 0.867500, 0.837500, (0.4856855, 0.872500), (0.5862205, 0.845000)),
}


def config_for(folder: Path, qrels: Path, cache: Path) -> Config:
    collection = {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl"), "qrels": str(qrels)}
    return parse_config({"name": folder.name, "collection": collection, "cache": str(cache)})


@pytest.fixture(scope="session")
def prepared_collections() -> dict[str, Prepared]:
    return {}


@pytest.fixture
def collection(request: pytest.FixtureRequest, cache: Path, prepared_collections: dict[str, Prepared]) -> Prepared:
    name = request.param
    root = os.environ.get("HARNESS_COLLECTIONS")
    if root is None:
        pytest.skip("HARNESS_COLLECTIONS names no folder of real collections")
    if name not in prepared_collections:
        folder = Path(root) / name
        config = config_for(folder, folder / "qrels/test.tsv", cache)
        prepared_collections[name] = prepare(config, read_data(config), Silence(), Timings())
    return prepared_collections[name]


def mean_score(prepared: Prepared, measure: str, **params: float | str) -> float:
    ranking = prepared.hybrid.rank(Params(**params))
    return float(np.mean(score_queries(parse_measure(measure), ranking, prepared.hybrid.judgements)))


@pytest.mark.parametrize(
    ("collection", "measure"), [pytest.param(*key, id="-".join(key)) for key in REFERENCE], indirect=["collection"]
)
def test_the_values_of_an_independent_implementation_are_met(collection: Prepared, measure: str) -> None:
    keyword, semantic, equal, rrf, best_minmax, best_rrf = REFERENCE[collection.config.name, measure]
    assert mean_score(collection, measure, semantic_weight=0.0) == pytest.approx(keyword, abs=1e-6)
    assert mean_score(collection, measure, semantic_weight=1.0) == pytest.approx(semantic, abs=1e-3)
    assert mean_score(collection, measure, semantic_weight=0.5) == pytest.approx(equal, abs=1e-3)
    assert mean_score(collection, measure, semantic_weight=0.5, fusion="rrf") == pytest.approx(rrf, abs=1e-3)
    for fusion, (weight, score) in (("minmax", best_minmax), ("rrf", best_rrf)):
        assert mean_score(collection, measure, semantic_weight=weight, fusion=fusion) == pytest.approx(score, abs=1e-3)


@pytest.fixture(scope="session")
def handbook(cache: Path) -> Prepared:
    folder = ROOT / "corpora/handbook"
    config = config_for(folder, folder / "qrels/test.tsv", cache)
    return prepare(config, read_data(config), Silence(), Timings())


def test_the_handbook_meets_the_slow_twin(handbook: Prepared) -> None:
    dataset, config = handbook.dataset, handbook.config
    texts = dict(zip(dataset.doc_ids, dataset.texts, strict=True))
    prompts = [query.text for query in dataset.queries]
    documents, queries = embeddings(dataset, config, Silence())
    twin = slow_twin.SlowTwin(texts, dict(zip(texts, documents.vectors, strict=True)))
    lists = [(twin.keyword(text), twin.semantic(queries.vectors[i])) for i, text in enumerate(prompts)]
    relevant = [
        {dataset.doc_ids[row] for row, good in zip(rows, mask, strict=True) if good}
        for rows, mask in zip(dataset.qrels.rows, dataset.qrels.relevant(1), strict=True)
    ]
    for fusion, normalise in (("minmax", slow_twin.minmax), ("rrf", slow_twin.rrf)):
        for weight in (0.0, 0.2, 0.5, 0.73, 1.0):
            ranking = [slow_twin.fuse(keyword, semantic, weight, normalise) for keyword, semantic in lists]
            for measure, score in slow_twin.MEASURES.items():
                expected = np.mean([score(r, rel, 10) for r, rel in zip(ranking, relevant, strict=True)])
                got = mean_score(handbook, measure, semantic_weight=weight, fusion=fusion)
                assert got == pytest.approx(expected, abs=1e-12), (fusion, weight, measure)
