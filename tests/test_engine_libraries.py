"""The rules of four engines against the engines' own libraries, each run through its public entry point on random lists.

Equal sums: where two scores are equal as fractions, a library's floats may differ in the last bit (.5/2 + .5/6 against
.5/3 + .5/3), and that noise is then its order. The harness rounds to 12 decimals, so they tie and the first seen goes
first. It is rare (at most one case of 50). So the orders may differ among documents whose exact scores, computed here in
fractions, are equal, and only where the library's floats differ: what ties in the library stands as in the harness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from harness.candidates import merge_lists
from harness.engines import apply_rules
from harness.fusion import fuse, order_keys, rank_columns
from harness.types import Params, RankedLists

Ranking = list[tuple[int, float]]  # documents (by row) and their scores, best first
Worth = Callable[[list[Fraction], Fraction], list[Fraction]]  # a list's scores and its weight → what each document gets
Combine = Callable[[list[Fraction]], Any]

N_CASES, N_SAME = 400, 380  # drawn for each fusion, and of these at least so many with the same order throughout
N_DOCUMENTS = 14
TENTHS, QUARTERS = 10, 4  # quarters are exact in floats, single precision too, and so is the mean of equal ones


class Case(NamedTuple):
    keyword: Ranking
    semantic: Ranking
    weight: float  # of the semantic list


def draw_list(rng: np.random.Generator, parts: int) -> Ranking:
    """Empty, short or long; constant, with many, few or no equal scores; below 0 too. By score, then row."""
    size = int(rng.choice([0, 1, 2, int(rng.integers(3, N_DOCUMENTS + 1))], p=[0.06, 0.1, 0.08, 0.76]))
    kind = rng.choice(["constant", "coarse", "fine", "real"], p=[0.12, 0.4, 0.24, 0.24])
    scores = {
        "constant": np.full(size, rng.integers(-8, 25) / parts),
        "coarse": rng.integers(-2, 4, size) / parts,
        "fine": rng.integers(-100, 1000, size) / parts,
        "real": rng.normal(5, 10, size).astype(np.float32),
    }[kind]
    rows = rng.choice(N_DOCUMENTS, size=size, replace=False)
    return sorted(zip(rows.tolist(), scores.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))


def draw_cases(seed: int, parts: int) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for _ in range(N_CASES):
        lists = [draw_list(rng, parts) for _ in range(2)]
        yield Case(*lists, float(rng.choice([0, 1, 0.5, 0.25, 0.3, rng.random()])))


def fuse_here(case: Case, engine: str, fusion: str, rrf_k: int) -> Ranking:
    """The harness's order and scores under the engine's rules."""
    keyword, semantic = (
        RankedLists(np.array([[row for row, _ in hits]], dtype=np.int32), np.array([[x for _, x in hits]], dtype=np.float64))
        for hits in (case.keyword, case.semantic)
    )
    params = Params(semantic_weight=case.weight, fusion=fusion, rrf_k=rrf_k)
    candidates, lines = apply_rules(merge_lists(keyword, semantic), params, engine)
    scores, ranks = fuse(lines, case.weight)[0], rank_columns(order_keys(lines, case.weight))[0][0]
    returned = sorted((int(rank), column) for column, rank in enumerate(ranks) if rank > 0)
    return [(int(candidates.rows[0, column]), float(scores[column])) for _, column in returned]


# --- the rules once more, in fractions ------------------------------------------------------------------------------


def by_rank(constant: int, factor: int = 1) -> Worth:
    return lambda x, share: [factor * share / (constant + rank) for rank in range(1, len(x) + 1)]


def by_rank_and_absolute_weight(k: int) -> Worth:
    return lambda x, share: [1 / (rank / share + k - 1) if share else Fraction(0) for rank in range(1, len(x) + 1)]


def by_range(x: list[Fraction], share: Fraction) -> list[Fraction]:
    low, high = min(x), max(x)
    return [share * ((v - low) / (high - low) if high > low else int(high > 0)) for v in x]


def by_distribution(constant: Callable[[Fraction], Fraction], *, sample: bool = False, weighted: bool = False) -> Worth:
    """(x − (μ − 3σ)) / 6σ, σ to 60 decimals; `constant` makes the scores of a constant list."""

    def worth(x: list[Fraction], share: Fraction) -> list[Fraction]:
        factor = share if weighted else Fraction(1)
        if min(x) == max(x):
            return [factor * constant(v) for v in x]
        mean = sum(x, Fraction(0)) / len(x)
        variance = sum((v - mean) ** 2 for v in x) / (len(x) - int(sample))
        deviation = Fraction(math.isqrt(variance.numerator * 10**120 // variance.denominator), 10**60)
        return [factor * (v - mean + 3 * deviation) / (6 * deviation) for v in x]

    return worth


def exact_scores(case: Case, worth: Worth, combine: Combine) -> dict[int, Fraction]:
    """Every document's score to 40 decimals; scores and weight are the decimal numbers that they are written as."""
    weight = Fraction(repr(case.weight))
    parts: dict[int, list[Fraction]] = {}
    for hits, share in ((case.keyword, 1 - weight), (case.semantic, weight)):
        gained = worth([Fraction(repr(x)) for _, x in hits], share) if hits else []
        for (row, _), part in zip(hits, gained, strict=True):
            parts.setdefault(row, []).append(part)
    return {row: round(combine(both), 40) for row, both in parts.items()}


def assert_agreement(
    results: Iterable[tuple[Case, Ranking]], engine: str, fusion: str, worth: Worth, rrf_k: int = 60, combine: Combine = sum
) -> None:
    """The library's results are the harness's: documents, scores, and order up to noise in equal sums."""
    same = 0
    for case, library in results:
        here, exact = fuse_here(case, engine, fusion, rrf_k), exact_scores(case, worth, combine)
        assert len(here) == len(library) == len(exact)
        assert dict(library) == pytest.approx(dict(here), abs=1e-9)
        assert dict(here) == pytest.approx({row: float(score) for row, score in exact.items()}, abs=1e-9)
        assert [exact[row] for row, _ in library] == [exact[row] for row, _ in here]
        place = {row: i for i, (row, _) in enumerate(here)}
        for i, (row, score) in enumerate(library):
            assert all(place[row] < place[later] for later, other in library[i + 1 :] if other == score)
        same += [row for row, _ in here] == [row for row, _ in library]
    assert same >= N_SAME


# --- LangChain ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1, 10, 60])
def test_langchain_rrf_is_its_ensemble_retrievers(c: int) -> None:
    """It returns no scores, so they are summed here as it does, floats and all."""
    ensemble = pytest.importorskip("langchain_classic.retrievers", reason="langchain-classic is not installed").EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        hits: list[Any]

        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(page_content="the same text", metadata={"row": row}) for row, _ in self.hits]

    def run(case: Case) -> Ranking:
        lists, weights = [case.keyword, case.semantic], [1 - case.weight, case.weight]
        scores = dict.fromkeys(range(N_DOCUMENTS), 0.0)
        for hits, weight in zip(lists, weights, strict=True):
            for rank, (row, _) in enumerate(hits, start=1):
                scores[row] += weight / (rank + c)
        retriever = ensemble(retrievers=[Fixed(hits=hits) for hits in lists], weights=weights, c=c, id_key="row")
        return [(document.metadata["row"], scores[document.metadata["row"]]) for document in retriever.invoke("query")]

    assert_agreement(((case, run(case)) for case in draw_cases(c, TENTHS)), "langchain", "rrf", by_rank(c), rrf_k=c)


# --- LlamaIndex -----------------------------------------------------------------------------------------------------

LLAMAINDEX: dict[str, tuple[Worth, int]] = {
    "relative_score": (by_range, TENTHS),
    "dist_based_score": (by_distribution(lambda x: Fraction(x > 0), weighted=True), QUARTERS),  # tenths: see below
    "reciprocal_rerank": (lambda x, share: by_rank(59)(x, Fraction(1)), TENTHS),  # it takes no weights
}


def run_llamaindex(case: Case, mode: str) -> Ranking:
    retrievers = pytest.importorskip("llama_index.core.retrievers", reason="llama-index-core is not installed")
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Fixed(retrievers.BaseRetriever):
        def __init__(self, hits: Ranking) -> None:
            super().__init__()
            self.hits = hits

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=str(row), text=f"text {row}"), score=score) for row, score in self.hits]

    settings = {"similarity_top_k": 100, "num_queries": 1, "use_async": False, "llm": MockLLM()}
    weights, both = [1 - case.weight, case.weight], [Fixed(case.keyword), Fixed(case.semantic)]
    fusion = retrievers.QueryFusionRetriever(both, mode=mode, retriever_weights=weights, **settings)
    return [(int(node.node.node_id), node.score) for node in fusion.retrieve("query")]


@pytest.mark.parametrize("mode", LLAMAINDEX)
def test_llamaindex_fusions_are_its_query_fusion_retrievers(mode: str) -> None:
    worth, parts = LLAMAINDEX[mode]
    results = ((case, run_llamaindex(case, mode)) for case in draw_cases(2, parts))
    assert_agreement(results, "llamaindex", mode, worth, rrf_k=59)


@pytest.mark.parametrize(("size", "noise"), [(2, 1), (3, 1 / 3), (4, 1), (7, 2 / 3)])
def test_llamaindex_tells_a_constant_list_by_a_float_mean(size: int, noise: float) -> None:
    """A known difference: it compares μ − 3σ with μ + 3σ, and σ is no 0 where the mean of equal scores rounds (.1 three times).

    Each document then gets 1/3 or 2/3, by the direction of the rounding; the harness gives what a constant list gets.
    """
    case = Case([(row, 0.1) for row in range(size)], [], 0.0)
    assert fuse_here(case, "llamaindex", "dist_based_score", 59) == [(row, 1.0) for row in range(size)]
    assert run_llamaindex(case, "dist_based_score") == [(row, pytest.approx(noise)) for row in range(size)]


# --- Haystack -------------------------------------------------------------------------------------------------------

HAYSTACK: dict[str, tuple[Worth, Combine]] = {
    "reciprocal_rank_fusion": (by_rank(60, factor=61), sum),
    "merge": (lambda x, share: [share * v for v in x], sum),
    "distribution_based_rank_fusion": (by_distribution(lambda x: x), max),
}


@pytest.mark.parametrize("mode", HAYSTACK)
def test_haystack_fusions_are_its_document_joiners(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    joiner = pytest.importorskip("haystack.components.joiners", reason="haystack-ai is not installed").DocumentJoiner
    from haystack import Document

    def run(case: Case) -> Ranking:
        lists = [[Document(id=str(row), score=score) for row, score in hits] for hits in (case.keyword, case.semantic)]
        joined = joiner(join_mode=mode, weights=[1 - case.weight, case.weight]).run(documents=lists)
        return [(int(document.id), document.score) for document in joined["documents"]]

    worth, combine = HAYSTACK[mode]
    assert_agreement(((case, run(case)) for case in draw_cases(3, TENTHS)), "haystack", mode, worth, combine=combine)


# --- Qdrant ---------------------------------------------------------------------------------------------------------


class Collection:
    """Many cases in one collection of the local client: a case's number is its sparse index and its dense dimension.

    A prefetch's score is then the case's own, whatever the others hold. `cases` has the lists as the client returns them:
    equal scores in its order.
    """

    def __init__(self, drawn: list[Case]) -> None:
        library = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
        m = self.models = library.models
        self.client = library.QdrantClient(":memory:")
        dense, sparse = m.VectorParams(size=len(drawn), distance=m.Distance.DOT), m.SparseVectorParams()
        self.client.create_collection("cases", vectors_config={"dense": dense}, sparse_vectors_config={"sparse": sparse})
        keyword, semantic = [dict(case.keyword) for case in drawn], [dict(case.semantic) for case in drawn]
        for row in range(N_DOCUMENTS):
            held = [number for number, scores in enumerate(keyword) if row in scores]
            sparse = m.SparseVector(indices=held, values=[keyword[number][row] for number in held])
            dense = [scores.get(row, 0.0) for scores in semantic]
            self.client.upsert("cases", [m.PointStruct(id=row, vector={"dense": dense, "sparse": sparse})])
        self.prefetches, self.cases = [], []
        for case, one_hot in zip(drawn, np.eye(len(drawn)).tolist(), strict=True):
            number = m.SparseVector(indices=[len(self.cases)], values=[1.0])
            held = m.Filter(must=[m.HasIdCondition(has_id=[row for row, _ in case.semantic])])
            prefetches = [
                m.Prefetch(query=number, using="sparse", limit=100),
                m.Prefetch(query=one_hot, using="dense", filter=held, limit=100),
            ]
            lists = [self.query(query=p.query, using=p.using, query_filter=p.filter) for p in prefetches]
            assert [sorted(hits) for hits in lists] == [sorted(case.keyword), sorted(case.semantic)]
            self.prefetches.append(prefetches)
            self.cases.append(Case(*lists, case.weight))

    def query(self, **arguments: Any) -> Ranking:
        points = self.client.query_points("cases", limit=100, **arguments).points
        return [(point.id, point.score) for point in points]

    def rrf(self, number: int, k: int, weights: list[float]) -> Ranking:
        query = self.models.RrfQuery(rrf=self.models.Rrf(k=k, weights=weights))
        return self.query(prefetch=self.prefetches[number], query=query)

    def dbsf(self, number: int) -> Ranking:
        return self.query(prefetch=self.prefetches[number], query=self.models.FusionQuery(fusion=self.models.Fusion.DBSF))


@pytest.fixture(scope="module")
def collection() -> Collection:
    return Collection(list(draw_cases(4, QUARTERS)))


@pytest.mark.parametrize("k", [2, 3, 61])
def test_qdrant_rrf_is_its_local_clients(collection: Collection, k: int) -> None:
    results = [(case, collection.rrf(n, k, [1 - case.weight, case.weight])) for n, case in enumerate(collection.cases)]
    assert_agreement(results, "qdrant", "rrf", by_rank_and_absolute_weight(k), rrf_k=k - 1)


def test_qdrant_dbsf_is_its_local_clients(collection: Collection) -> None:
    results = [(case, collection.dbsf(number)) for number, case in enumerate(collection.cases)]
    assert_agreement(results, "qdrant", "dbsf", by_distribution(lambda x: Fraction(1, 2), sample=True))


def test_qdrant_rrf_halving_both_weights_turns_two_documents() -> None:
    """A (0) is first in one list and not in the other, B (1) second and fourth; k = 2."""
    case = Case([(0, 9.0), (1, 8.0)], [(2, 9.0), (3, 8.0), (4, 7.0), (1, 6.0)], 0.5)
    whole, half = (dict(Collection([case]).rrf(0, 2, weights)) for weights in ([1.0, 1.0], [0.5, 0.5]))
    assert (whole[0], whole[1]) == pytest.approx((1 / 2, 1 / 3 + 1 / 5))
    assert (half[0], half[1]) == pytest.approx((1 / 3, 1 / 5 + 1 / 9))
    assert list(whole).index(1) < list(whole).index(0)
    assert list(half).index(0) < list(half).index(1)
    assert fuse_here(case, "qdrant", "rrf", 1) == [(row, pytest.approx(score, abs=1e-9)) for row, score in half.items()]
