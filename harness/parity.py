"""A parity fixture: a few documents and queries, the order that the harness expects, and a script that asks a live engine.

Each query has documents of its own. Their keyword scores are BM25's for texts of one length in which one term stands `tf` times,
their semantic scores are cosines of vectors of two numbers: so an engine that takes no scores from outside (Weaviate,
Azure, PostgreSQL) finds the same lists with its own retrievers, and the others are handed them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from harness.candidates import merge_lists
from harness.engines import apply_rules, rules_of
from harness.fusion import fuse, order_keys
from harness.types import Params, RankedLists

TERM, FILLER, LENGTH = "parityterm", "filler", 16
K1 = 1.2  # Lucene's and Weaviate's; with texts of one length b has no effect
FEWEST_APART = 1e-4  # relative gap of neighbouring fused scores: single precision cannot tie them
TOLERANCE = 1e-6  # relative; scores this close are one in single precision
TRIES = 2000
FEW_TRIES = 50  # after these, lists that always tie are taken as they are: one side alone has all the weight
SUFFIXES = {"opensearch": "json", "elasticsearch": "json", "azure": "json", "vespa": "sd", "pgvector": "sql"}  # else Python

CASES = {  # name → documents in the keyword list, in the semantic one, in both
    "two lists that share some documents": (7, 7, 4),
    "constant keyword list": (4, 6, 4),
    "single keyword hit": (1, 6, 1),
    "single hit on each side": (1, 1, 0),
    "no keyword hit": (0, 5, 0),
    "no document in both lists": (4, 4, 0),
    "the same documents in both lists": (8, 8, 8),
}


@dataclass(frozen=True)
class Fixture:
    """Documents, queries and the expected order as plain JSON; `expected` names the engine, its fusion and the tolerance."""

    documents: tuple[dict[str, Any], ...]
    queries: tuple[dict[str, Any], ...]
    expected: dict[str, Any]


def make_fixture(params: Params, engine: str) -> Fixture:
    """The fixture of this setting under this engine's rules; no list is longer than the depth.

    Left out: where ranks alone count, the list of equal scores, whose order is the engine's own; for Vespa every case in which
    a list lacks a document of the other, since there every hit has both features.
    """
    rules = rules_of(engine)
    documents: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    orders: dict[str, list[dict[str, Any]]] = {}
    for case, sizes in CASES.items():
        constant = case.startswith("constant")
        if constant and rules.fusions[params.fusion].by_rank:
            continue
        if engine == "vespa" and len(set(sizes)) > 1:
            continue
        query_id = f"q{len(queries) + 1}"
        keyword, semantic = _spread_lists(query_id, sizes, params, engine, constant=constant)
        order = fuse_lists(keyword_scores(keyword), semantic, params, engine)
        if not order:
            continue  # the only list that counts is empty
        queries.append({"id": query_id, "case": case, "text": TERM, "vector": [1.0, 0.0]})
        documents += [_document(query_id, doc, keyword, semantic) for doc in sorted({*keyword, *semantic})]
        window = params.depth if rules.top_k_within_depth else len(order)  # all that the engine returns
        orders[query_id] = [{"id": doc, "score": score} for doc, score in order[:window]]
    expected = {
        "engine": engine,
        "title": rules.title,
        "version": rules.version,
        "fusion": f"{params.fusion}, semantic_weight {params.semantic_weight!r}, depth {params.depth}"
        + (f", rrf_k {params.rrf_k}" if rules.fusions[params.fusion].by_rank else ""),
        "tolerance": TOLERANCE,
        "queries": orders,
    }
    return Fixture(tuple(documents), tuple(queries), expected)


def keyword_scores(frequencies: Mapping[str, int]) -> dict[str, float]:
    """BM25 without idf, for texts of one length."""
    return {doc: tf * (K1 + 1) / (tf + K1) for doc, tf in frequencies.items()}


def _document(query_id: str, doc: str, keyword: Mapping[str, int], semantic: Mapping[str, float]) -> dict[str, Any]:
    tf, cosine = keyword.get(doc, 0), semantic.get(doc)
    return {
        "id": doc,
        "query_id": query_id,
        "text": " ".join([TERM] * tf + [FILLER] * (LENGTH - tf)),
        "vector": None if cosine is None else [cosine, math.sqrt(1 - cosine**2)],
        "keyword": keyword_scores(keyword).get(doc),
        "semantic": cosine,
    }


def _spread_lists(
    query_id: str, sizes: tuple[int, int, int], params: Params, engine: str, *, constant: bool
) -> tuple[dict[str, int], dict[str, float]]:
    """Term frequencies and cosines by document: the first of TRIES drawn whose fused scores lie furthest from ties."""
    n_keyword, n_semantic, n_both = (min(n, params.depth) for n in sizes)
    n_both = min(n_both, n_keyword, n_semantic)
    total = n_keyword + n_semantic - n_both
    best: tuple[float, dict[str, int], dict[str, float]] | None = None
    for attempt in range(TRIES):
        rng = np.random.default_rng([len(query_id), int(query_id[1:]), attempt])
        names = [f"{query_id}-d{i:02}" for i in rng.permutation(total) + 1]
        frequencies = np.full(n_keyword, 3) if constant else rng.permutation(np.arange(1, LENGTH))[:n_keyword]
        cosines = rng.permutation(np.arange(20, 99))[:n_semantic] / 100
        keyword = dict(zip(names[:n_keyword], map(int, frequencies), strict=True))
        semantic = dict(zip(names[n_keyword - n_both :][:n_semantic], map(float, cosines), strict=True))
        scores = [score for _, score in fuse_lists(keyword_scores(keyword), semantic, params, engine)]
        gap = min((a - b for a, b in itertools.pairwise(scores)), default=1.0) / max([1e-9, *map(abs, scores[:1])])
        if best is None or gap > best[0]:
            best = (gap, keyword, semantic)
        if gap > FEWEST_APART or (attempt >= FEW_TRIES and best[0] == 0):
            break
    assert best is not None
    return best[1], best[2]


def fuse_lists(
    keyword: Mapping[str, float], semantic: Mapping[str, float], params: Params, engine: str | None
) -> list[tuple[str, float]]:
    """Documents and fused scores, best first, of two lists given as scores by document."""
    ids = sorted({*keyword, *semantic})
    candidates = merge_lists(_ranked(keyword, ids), _ranked(semantic, ids))
    candidates, lines = apply_rules(candidates, params, engine)
    keys, scores = order_keys(lines, params.semantic_weight)[0], fuse(lines, params.semantic_weight)[0]
    best = [i for i in np.argsort(-keys, kind="stable") if keys[i] > -np.inf]
    return [(ids[candidates.rows[0, i]], float(scores[i])) for i in best]


def _ranked(scores: Mapping[str, float], ids: list[str]) -> RankedLists:
    order = sorted(scores, key=lambda doc: (-scores[doc], doc))
    rows = np.asarray([[ids.index(doc) for doc in order]], dtype=np.int32).reshape(1, -1)
    return RankedLists(rows, np.asarray([[scores[doc] for doc in order]], dtype=np.float64).reshape(1, -1))


def fixture_files(fixture: Fixture, engine: str, exported: str) -> dict[str, str]:
    """The fixture's files by name: data, the exported setting, and the scripts; `check.py` is the one to run."""
    files = {
        "documents.jsonl": "".join(json.dumps(d, allow_nan=False) + "\n" for d in fixture.documents),
        "queries.jsonl": "".join(json.dumps(q, allow_nan=False) + "\n" for q in fixture.queries),
        "expected.json": json.dumps(fixture.expected, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        f"export.{SUFFIXES.get(engine, 'py')}": exported,
        "compare.py": _script("compare"),
        "check.py": _script(engine),
    }
    if engine == "vespa":
        files |= _vespa_application(exported)
    return files


def _script(name: str) -> str:
    return resources.files("harness").joinpath("checks", f"{name}.py").read_text(encoding="utf-8")


def _vespa_application(exported: str) -> dict[str, str]:
    """An application whose rank profile is the exported one over two attributes in the place of the retrievers' features."""
    profile = exported[exported.index("rank-profile") :]
    for feature, attribute in (("bm25(text)", "attribute(keyword)"), ("closeness(field, embedding)", "attribute(semantic)")):
        profile = profile.replace(feature, attribute)
    kept = [line for line in profile.splitlines() if "query(embedding)" not in line]
    fields = "".join(
        f"        field {name} type {kind} {{ indexing: attribute | summary }}\n"
        for name, kind in (("query_id", "string"), ("doc", "string"), ("keyword", "double"), ("semantic", "double"))
    )
    schema = "schema parity {\n    document parity {\n" + fields + "    }\n"
    schema += "".join(f"    {line}\n" if line else "\n" for line in kept) + "}\n"
    services = """<services version="1.0">
    <container id="default" version="1.0"><search/><document-api/></container>
    <content id="parity" version="1.0">
        <redundancy>1</redundancy>
        <documents><document type="parity" mode="index"/></documents>
        <nodes><node hostalias="node1" distribution-key="0"/></nodes>
    </content>
</services>
"""
    return {"application/schemas/parity.sd": schema, "application/services.xml": services}
