"""A setting as each engine writes it: JSON, YAML, Python, SQL, a rank profile. Pure: a setting in, text out.

Where an engine takes a list of weights the keyword side comes first: [1 − w, w]. The depth stands under the engine's own name
for it. What a person replaces is written in capitals (QUERY_TEXT, QUERY_VECTOR) or is a function's parameter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.engines import Engine, rules_of
from harness.types import Params

FEWEST_WEAVIATE = 100  # each side of a Weaviate hybrid query fetches max(limit, 100)
SETTINGS = ("recommended", "pick", "best_trial")  # those of a study that can be exported or watched


@dataclass(frozen=True)
class Setting:
    """What is exported: the parameters under the rules of `engine` (None: the harness's own), and where they come from.

    `keyword` and `semantic` describe in words what made the two lists; `dimension` is that of the vectors (None: not known).
    """

    study: str
    params: Params
    engine: str | None
    keyword: str
    semantic: str
    dimension: int | None
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> list[float]:
        """The keyword side's weight, then the semantic one's."""
        return [1 - self.params.semantic_weight, self.params.semantic_weight]

    @property
    def numbers(self) -> str:
        """How long a vector is, as the end of a sentence."""
        return f", {self.dimension} numbers" if self.dimension is not None else ""

    @property
    def rules(self) -> Engine:
        """The engine's entry in the table of rules."""
        return rules_of(self.engine)


def all_notes(setting: Setting, *, listed: bool = True) -> list[str]:
    """What a person must know before pasting; `listed`: the engine takes a list of weights."""
    p, rules = setting.params, setting.rules
    weights = ", ".join(map(repr, setting.weights))
    # in quotes: "# … coding: …" in its first lines would tell Python an encoding
    notes = [f"from the study '{setting.study}': fusion {p.fusion}, semantic_weight {p.semantic_weight!r}, top_k {p.top_k}"]
    if setting.engine is not None:
        notes.append(f"rules of {rules.title} {rules.version}, read from {rules.source}")
    if listed and rules.fusions[p.fusion].weighted:
        notes.append(f"weights are [1 - semantic_weight, semantic_weight], the keyword query first: [{weights}]")
    notes += [
        f"depth {p.depth}{f' is {rules.depth_name}' if setting.engine else ''}: the weight belongs to it, keep them together",
        f"the keyword list was made by {setting.keyword}, the semantic list by {setting.semantic}: other lists, another weight",
    ]
    if setting.engine is not None and rules.caution:
        notes.append(f"mind: {rules.caution}")
    return [_one_line(note) for note in (*notes, *setting.notes)]


def _one_line(text: str) -> str:
    """Text that cannot leave its comment: a model's name comes from a file."""
    return "".join(character if character.isprintable() else " " for character in text)


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _comments(setting: Setting, mark: str, *, listed: bool = True) -> str:
    return "".join(f"{mark} {note}\n" for note in all_notes(setting, listed=listed))


def to_json(setting: Setting) -> str:
    """The plain setting, with the formula by which it was tuned."""
    return _json(_plain(setting))


def to_yaml(setting: Setting) -> str:
    """The same as YAML; JSON strings are YAML strings."""
    lines = []
    for key, value in _plain(setting).items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  - {json.dumps(item, ensure_ascii=False)}" for item in value)]
        else:
            lines.append(f"{key}: {_yaml_number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _yaml_number(value: float) -> str:
    """A real number that YAML 1.1 reads as one: 1e-07 without a point is text there."""
    mantissa, mark, exponent = repr(value).partition("e")
    return repr(value) if not mark or "." in mantissa else f"{mantissa}.0e{exponent}"


def _plain(setting: Setting) -> dict[str, Any]:
    p, rules = setting.params, setting.rules
    return {
        "study": setting.study,
        "engine": setting.engine,
        "semantic_weight": p.semantic_weight,
        "keyword_weight": 1 - p.semantic_weight,
        "top_k": p.top_k,
        "fusion": p.fusion,
        **({"rrf_k": p.rrf_k} if rules.fusions[p.fusion].by_rank else {}),
        "depth": p.depth,
        "k1": p.k1,
        "b": p.b,
        "formula": rules.fusions[p.fusion].formula,
        "notes": all_notes(setting),
    }


def to_opensearch(setting: Setting) -> str:
    """A search pipeline, and the hybrid query that goes through it."""
    p = setting.params
    weights = {"weights": setting.weights}
    if setting.rules.fusions[p.fusion].by_rank:
        combination = {"technique": "rrf", "rank_constant": p.rrf_k, "parameters": weights}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
    else:
        normalization, _, mean = p.fusion.partition("+")
        combination = {"technique": mean or "arithmetic_mean", "parameters": weights}
        processor = {"normalization-processor": {"normalization": {"technique": normalization}, "combination": combination}}
    queries: list[dict[str, Any]] = [
        {"match": {"text": {"query": "QUERY_TEXT"}}},
        {"knn": {"embedding": {"vector": "QUERY_VECTOR", "k": p.depth}}},
    ]
    steps = [
        "put search_pipeline with PUT /_search/pipeline/NAME; search with GET /INDEX/_search?search_pipeline=NAME and the body"
        f' {{"size": {p.top_k}, "query": <query>}}',
        f"replace QUERY_TEXT by the prompt and QUERY_VECTOR by its vector{setting.numbers}; text and embedding"
        " are the index's fields",
        "pagination_depth counts per shard: with several shards each gives that many",
    ]
    return _json(
        {
            "search_pipeline": {
                "description": f"hybrid search, weights keyword first, from study {setting.study}",
                "phase_results_processors": [processor],
            },
            "query": {"hybrid": {"pagination_depth": p.depth, "queries": queries}},
            "notes": [*steps, *all_notes(setting)],
        }
    )


def to_elasticsearch(setting: Setting) -> str:
    """A linear or rrf retriever, as the body of a search."""
    p = setting.params
    by_rank = setting.rules.fusions[p.fusion].by_rank
    sides: list[dict[str, Any]] = [
        {"standard": {"query": {"match": {"text": {"query": "QUERY_TEXT"}}}}},
        {"knn": {"field": "embedding", "query_vector": "QUERY_VECTOR", "k": p.depth, "num_candidates": max(p.depth, 100)}},
    ]
    normalizer = {} if by_rank else {"normalizer": p.fusion}
    body: dict[str, Any] = {
        "retrievers": [
            {"retriever": side, "weight": weight, **normalizer} for side, weight in zip(sides, setting.weights, strict=True)
        ],
        **({"rank_constant": p.rrf_k} if by_rank else {}),
        "rank_window_size": p.depth,
    }
    steps = [
        "send retriever and size with POST /INDEX/_search, without these notes",
        f"replace QUERY_TEXT by the prompt and QUERY_VECTOR by its vector{setting.numbers}; text and embedding"
        " are the index's fields",
        "num_candidates decides how exact the nearest neighbours are: the study's own list was exact",
    ]
    if p.fusion == "minmax":
        steps.append("a list of equal scores gives 1 since 8.18.3, 8.19 and 9.1; older versions keep the raw score there")
    return _json({"retriever": {"rrf" if by_rank else "linear": body}, "size": p.top_k, "notes": [*steps, *all_notes(setting)]})


def to_azure(setting: Setting) -> str:
    """The body of a search; the text side has no weight, so the vector query's is w / (1 − w), which orders the same."""
    p = setting.params
    vector = {"kind": "vector", "vector": "QUERY_VECTOR", "fields": "embedding", "k": p.depth}
    body: dict[str, Any] = {}
    notes = [
        "send it with POST /indexes/INDEX/docs/search?api-version=2024-11-01-preview or later, without these notes",
        f"replace QUERY_TEXT by the prompt and QUERY_VECTOR by its vector{setting.numbers}",
    ]
    if p.semantic_weight < 1:
        body |= {"search": "QUERY_TEXT", "hybridSearch": {"maxTextRecallSize": p.depth}}
    if p.semantic_weight > 0:
        weighted = {"weight": p.semantic_weight / (1 - p.semantic_weight)} if p.semantic_weight < 1 else {}
        body["vectorQueries"] = [vector | weighted]
        notes.append("weight is semantic_weight / (1 - semantic_weight): the text side always counts 1")
    if p.semantic_weight in (0, 1):
        notes.append("all the weight is on one side, which a weight of Azure cannot say: the other query is left out")
    return _json({**body, "top": p.top_k, "notes": [*notes, *all_notes(setting, listed=False)]})


def to_weaviate(setting: Setting) -> str:
    """A call of the Python client, version 4."""
    p = setting.params
    kind = "RANKED" if setting.rules.fusions[p.fusion].by_rank else "RELATIVE_SCORE"
    limit = p.top_k if p.depth <= FEWEST_WEAVIATE else max(p.depth, p.top_k)
    shallow = (
        f"# Those lists are longer than the ones that were tuned, at depth {p.depth}.\n" if p.depth < FEWEST_WEAVIATE else ""
    )
    return f'''{_comments(setting, "#", listed=False)}# alpha is the semantic side's share: 1 is semantic alone.
# Each side fetches max(limit, {FEWEST_WEAVIATE}) results, which is what the depth can be.
{shallow}from weaviate.classes.query import HybridFusion


def hybrid_search(collection, text, vector):
    """The best {p.top_k} objects for a prompt and its vector, in a collection of weaviate-client 4."""
    answer = collection.query.hybrid(
        query=text,
        vector=vector,
        alpha={p.semantic_weight!r},
        fusion_type=HybridFusion.{kind},
        limit={limit},
    )
    return answer.objects[:{p.top_k}]
'''


def to_qdrant(setting: Setting) -> str:
    """A call of the Python client with two prefetches."""
    p = setting.params
    if setting.rules.fusions[p.fusion].by_rank:
        fusion = f"models.RrfQuery(rrf=models.Rrf(k={p.rrf_k + 1}, weights={setting.weights!r}))"
        remarks = f"""# weights are absolute: [0.5, 0.5] and [1, 1] order differently, so keep these numbers as they are.
# k = {p.rrf_k + 1} is rrf_k {p.rrf_k} of the study: each list adds 1 / (rank from 1 / weight + {p.rrf_k}). Needs Qdrant 1.17.
"""
    else:
        fusion = "models.FusionQuery(fusion=models.Fusion.DBSF)"
        remarks = "# DBSF takes no weights.\n"
    return f'''{_comments(setting, "#", listed="Rrf(" in fusion)}{remarks}from qdrant_client import QdrantClient, models


def hybrid_search(client: QdrantClient, collection: str, keyword: models.SparseVector, semantic: list[float]):
    """The best {p.top_k} points; keyword and semantic are the prompt's vectors under the names of the collection's vectors."""
    answer = client.query_points(
        collection_name=collection,
        prefetch=[
            models.Prefetch(query=keyword, using="keyword", limit={p.depth}),  # the keyword query first
            models.Prefetch(query=semantic, using="semantic", limit={p.depth}),
        ],
        query={fusion},
        limit={p.top_k},
    )
    return answer.points
'''


def to_vespa(setting: Setting) -> str:
    """A rank profile for a schema with the fields text and embedding."""
    p = setting.params
    if setting.rules.fusions[p.fusion].by_rank:
        sides = [f"reciprocal_rank({feature}, {p.rrf_k})" for feature in ("bm25(text)", "closeness(field, embedding)")]
    else:
        sides = [f"normalize_linear({feature})" for feature in ("bm25(text)", "closeness(field, embedding)")]
    notes = _comments(setting, "#", listed=False)
    return f"""{notes}# query(w) is the semantic side's share; the tensor is that of the schema's embedding field.
# The window is the best rerank-count hits by the first phase. Every hit in it has both features, where the study knew
# a score only of what each list holds: check the order with export --parity, and mind it where lists differ much.
# With distance-metric prenormalized-angular closeness is 1 / (2 - cosine), no straight line in the tuned cosine.
rank-profile hybrid {{
    inputs {{
        query(w) double: {p.semantic_weight!r}
        query(embedding) tensor<float>(x[{setting.dimension or "DIMENSION"}])
    }}
    first-phase {{
        expression: bm25(text) + closeness(field, embedding)
    }}
    global-phase {{
        rerank-count: {p.depth}
        expression: (1 - query(w)) * {sides[0]} + query(w) * {sides[1]}
    }}
}}
"""


def to_langchain(setting: Setting) -> str:
    """An EnsembleRetriever over two retrievers."""
    p = setting.params
    return f'''{_comments(setting, "#")}from langchain_classic.retrievers import EnsembleRetriever


def hybrid_retriever(keyword, semantic):
    """keyword and semantic return {p.depth} documents each (k={p.depth}), id in the metadata; take the first {p.top_k}."""
    return EnsembleRetriever(
        retrievers=[keyword, semantic],  # the keyword retriever first
        weights={setting.weights!r},
        c={p.rrf_k},
        id_key="id",
    )
'''


def to_llamaindex(setting: Setting) -> str:
    """A QueryFusionRetriever over two retrievers."""
    p = setting.params
    weighted = setting.rules.fusions[p.fusion].weighted
    weights = f"        retriever_weights={setting.weights!r},\n" if weighted else ""
    return f'''{_comments(setting, "#")}from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever


def hybrid_retriever(keyword, semantic):
    """keyword and semantic must be made with similarity_top_k={p.depth}; the best {p.top_k} nodes come back."""
    return QueryFusionRetriever(
        [keyword, semantic],  # the keyword retriever first
{weights}        mode="{p.fusion}",
        num_queries=1,
        similarity_top_k={p.top_k},
        use_async=False,
        llm=MockLLM(),  # num_queries=1 writes no query, so that no model is asked
    )
'''


def to_haystack(setting: Setting) -> str:
    """A DocumentJoiner that the keyword retriever and then the semantic one are connected to."""
    p = setting.params
    weights = f"        weights={setting.weights!r},\n" if setting.rules.fusions[p.fusion].weighted else ""
    return f'''{_comments(setting, "#")}from haystack.components.joiners import DocumentJoiner


def hybrid_joiner():
    """Connect the keyword retriever first, then the semantic one, both with top_k={p.depth}."""
    return DocumentJoiner(
        join_mode="{p.fusion}",
{weights}        top_k={p.top_k},
    )
'''


def to_pgvector(setting: Setting) -> str:
    """A SQL function over a table documents (id, text, embedding)."""
    p = setting.params
    keyword, semantic = setting.weights
    vector = f"vector({setting.dimension or 'DIMENSION'})"
    return f"""{_comments(setting, "--")}-- Expects documents(id, text text, embedding {vector}).
-- Call: SELECT * FROM hybrid_search('prompt', '[...]').
-- ts_rank_cd is not BM25: the order of the keyword list is PostgreSQL's own.
CREATE OR REPLACE FUNCTION hybrid_search(prompt text, prompt_vector vector)
RETURNS TABLE (id text, score double precision) LANGUAGE sql STABLE AS $$
    WITH terms AS (
        SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS query  -- any word of the prompt, as BM25 has it
        FROM unnest(to_tsvector('english', prompt))
    ),
    keyword AS (
        SELECT d.id::text AS id,
               row_number() OVER (
                   ORDER BY ts_rank_cd(to_tsvector('english', d.text), terms.query) DESC, d.id::text COLLATE "C"
               ) AS rank
        FROM documents d, terms
        WHERE to_tsvector('english', d.text) @@ terms.query
        ORDER BY rank
        LIMIT {p.depth}
    ),
    semantic AS (
        SELECT d.id::text AS id,
               row_number() OVER (ORDER BY d.embedding <=> prompt_vector, d.id::text COLLATE "C") AS rank
        FROM documents d
        WHERE d.embedding IS NOT NULL
        ORDER BY rank
        LIMIT {p.depth}
    )
    SELECT coalesce(k.id, s.id) AS id,
           coalesce({keyword!r}::double precision / ({p.rrf_k} + k.rank), 0)
           + coalesce({semantic!r}::double precision / ({p.rrf_k} + s.rank), 0) AS score
    FROM keyword k FULL OUTER JOIN semantic s ON k.id = s.id
    ORDER BY score DESC, coalesce(k.id, s.id) COLLATE "C"
    LIMIT {p.top_k}
$$;
"""


EXPORTS: dict[str, Callable[[Setting], str]] = {
    "opensearch": to_opensearch,
    "elasticsearch": to_elasticsearch,
    "weaviate": to_weaviate,
    "qdrant": to_qdrant,
    "vespa": to_vespa,
    "llamaindex": to_llamaindex,
    "langchain": to_langchain,
    "haystack": to_haystack,
    "azure": to_azure,
    "pgvector": to_pgvector,
    "json": to_json,
    "yaml": to_yaml,
}
