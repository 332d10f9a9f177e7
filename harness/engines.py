"""What each engine computes when it fuses: one table of rules, each with its source and the version it was read from. Pure.

The formulas are in `harness.formulas`, and the notation is theirs. A fusion is known by the engine's own name for it. `rrf_k`
is counted everywhere as in 1 / (rrf_k + rank from 1): an engine that writes 1 / (60 + rank from 0) has 59 here. Scores are
float64; engines that compute in single precision may tie more.

Two rules of one `form` give every candidate the same score, up to one positive factor, at 0 < w < 1 (at w = .5 where one of
them takes no weights): that is what lets a setting that was tuned under one of them run under the other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from harness.candidates import by_first_seen
from harness.formulas import (
    MakeLines,
    absolute_rank_sum,
    elasticsearch_l2_norm,
    elasticsearch_minmax,
    haystack_distribution,
    highest_of,
    llamaindex_dist_based_score,
    llamaindex_relative_score,
    opensearch_arithmetic_mean,
    opensearch_min_max,
    opensearch_rank_sum,
    opensearch_z_score,
    rank_sum,
    skipping_mean,
    unweighted_sum,
    vespa_normalize_linear,
    weighted_sum,
)
from harness.fusion import FUSIONS, Lines, dbsf, l2, minmax, raw
from harness.types import Candidates, Params

ALONE = "alone"  # the fusion of the baselines keyword and semantic: that retriever's own list, whatever the engine
BY_ID, FIRST_SEEN, UNKNOWN = "by id", "first seen", "unknown"  # the order of equal scores
ANY_WEIGHT = 0.5  # the weight of a fusion that has none
HALVED = "(1 + cosine) / 2"  # Lucene has no scores below 0


@dataclass(frozen=True)
class Rule:
    """One fusion: its lines, and what a person must know. `weighted` is False where the engine takes no weights."""

    lines: MakeLines
    form: str
    formula: str
    by_rank: bool = False
    weighted: bool = True


@dataclass(frozen=True)
class Engine:
    """An engine's fusions by its own names (the first is the default here), and what its settings can hold.

    `rrf_k` is the default constant, `rrf_k_range` what can be set (both ends the same: it is fixed). `depth_name` is where the
    depth goes. `alone`: at a weight of exactly 0 or 1 one list alone is returned. `ties` is the order of equal scores: by
    id; as the engine meets them, the keyword list first; or unknown before indexing (Lucene's document numbers, say),
    where the id stands in for it. `cosine_score` is what its retriever makes of a cosine, `fewest_depth` how many each side
    fetches at least. `caution` is what a person must know of the engine before believing a number.
    """

    title: str
    version: str
    source: str
    fusions: Mapping[str, Rule]
    depth_name: str
    rrf_k: int = 60
    rrf_k_range: tuple[int, int] = (1, 1_000_000)
    most_depth: int = 1_000_000
    top_k_within_depth: bool = False
    alone: bool = False
    ties: str = UNKNOWN
    cosine_score: str = "cosine"
    fewest_depth: int = 1
    caution: str = ""

    @property
    def first_seen(self) -> bool:
        """Whether equal scores keep the order in which the engine meets them, the keyword list first."""
        return self.ties == FIRST_SEEN

    @property
    def default_fusion(self) -> str:
        """The first of the table."""
        return next(iter(self.fusions))

    @property
    def score_fusion(self) -> str:
        """The first fusion of scores; its rank fusion where it has none."""
        return next((name for name, rule in self.fusions.items() if not rule.by_rank), self.rank_fusion)

    @property
    def rank_fusion(self) -> str:
        """Its fusion of ranks."""
        return next(name for name, rule in self.fusions.items() if rule.by_rank)


# --- the table ---------------------------------------------------------------------------------------------------------

SHARES = "(1 − w) · n_keyword + w · n_semantic"
ABSOLUTE = "rrf, absolute weights"
RRF = "(1 − w) / (rrf_k + r_keyword) + w / (rrf_k + r_semantic)"

HARNESS = Engine(
    title="the harness",
    version="",
    source="docs/fusion.md",
    depth_name="depth",
    ties=BY_ID,
    alone=True,
    fusions={
        "minmax": Rule(FUSIONS["minmax"], "minmax, constant list 1", SHARES),
        "theoretical": Rule(FUSIONS["theoretical"], "theoretical", SHARES),
        "zscore": Rule(FUSIONS["zscore"], "zscore, missing lowest", SHARES),
        "dbsf": Rule(FUSIONS["dbsf"], "dbsf, sample σ", SHARES),
        "l2": Rule(FUSIONS["l2"], "l2", SHARES),
        "none": Rule(FUSIONS["none"], "raw", SHARES),
        "rrf": Rule(FUSIONS["rrf"], "rrf", RRF, by_rank=True),
    },
)

ENGINES: dict[str, Engine] = {
    "opensearch": Engine(
        title="OpenSearch",
        version="3.1 (z_score since 3.0, weights of rrf since 3.1)",
        source="opensearch-project/neural-search: processor/normalization, processor/combination",
        depth_name="pagination_depth",
        most_depth=10_000,
        rrf_k_range=(1, 10_000),
        cosine_score=HALVED,
        caution="its kNN score of a cosine is (1 + cosine) / 2 and it computes in single precision: min_max, z_score and rrf do"
        " not mind, the l2 fusions do",
        fusions={
            "min_max": Rule(opensearch_arithmetic_mean(opensearch_min_max), "minmax, 0 becomes .001", SHARES),
            "l2": Rule(opensearch_arithmetic_mean(l2), "l2, below 0 left out", SHARES),
            "z_score": Rule(opensearch_arithmetic_mean(opensearch_z_score), "zscore, floor .001", SHARES),
            "min_max+geometric_mean": Rule(
                skipping_mean(opensearch_min_max, "geometric"), "minmax, geometric", "exp(Σ w ln n / Σ w) over n > 0"
            ),
            "min_max+harmonic_mean": Rule(
                skipping_mean(opensearch_min_max, "harmonic"), "minmax, harmonic", "Σ w / Σ (w / n) over n > 0"
            ),
            "l2+geometric_mean": Rule(skipping_mean(l2, "geometric"), "l2, geometric", "exp(Σ w ln n / Σ w) over n > 0"),
            "l2+harmonic_mean": Rule(skipping_mean(l2, "harmonic"), "l2, harmonic", "Σ w / Σ (w / n) over n > 0"),
            "rrf": Rule(opensearch_rank_sum, "rrf, rounded to 10 decimals", RRF, by_rank=True),
        },
    ),
    "elasticsearch": Engine(
        title="Elasticsearch",
        version="9.2 (weights of rrf since 9.2)",
        source="elastic/elasticsearch: x-pack/plugin/rank-rrf, linear and rrf retrievers",
        depth_name="rank_window_size",
        most_depth=10_000,
        rrf_k_range=(1, 1_000_000),
        top_k_within_depth=True,
        cosine_score=HALVED,
        caution="its kNN score of a cosine is (1 + cosine) / 2 and it computes in single precision: minmax and rrf do not mind,"
        " l2_norm and none do",
        fusions={
            "minmax": Rule(weighted_sum(elasticsearch_minmax), "minmax, constant list 1, range below 1e-6 too", SHARES),
            "l2_norm": Rule(weighted_sum(elasticsearch_l2_norm), "l2, norm below 1e-6 raw", SHARES),
            "none": Rule(weighted_sum(raw), "raw", SHARES),
            "rrf": Rule(rank_sum(), "rrf", RRF, by_rank=True),
        },
    ),
    "weaviate": Engine(
        title="Weaviate",
        version="1.3x (rankedFusion of older ones counts from 61)",
        source="weaviate/weaviate: usecases/traverser/hybrid/hybrid_fusion.go",
        depth_name="limit",
        fewest_depth=100,
        caution="each side of its hybrid query fetches max(limit, 100): a depth below 100 is deeper there",
        rrf_k=59,
        rrf_k_range=(59, 59),
        alone=True,
        fusions={
            "relativeScoreFusion": Rule(weighted_sum(minmax, alone=True), "minmax, constant list 1", SHARES),
            "rankedFusion": Rule(rank_sum(alone=True), "rrf", RRF, by_rank=True),
        },
    ),
    "qdrant": Engine(
        title="Qdrant",
        version="1.17 (rrf.k since 1.16, rrf.weights since 1.17)",
        source="qdrant/qdrant: lib/segment/src/common; qdrant-client 1.20.0: hybrid/fusion.py",
        depth_name="prefetch limit",
        caution="its weights are absolute: rrf here is weights [0.5, 0.5], while Qdrant without weights takes [1, 1], which"
        " orders as twice this rrf_k does",
        rrf_k=1,
        ties=FIRST_SEEN,
        fusions={
            "rrf": Rule(
                absolute_rank_sum,
                ABSOLUTE,
                "1 / (r_keyword / (1 − w) + rrf_k) + 1 / (r_semantic / w + rrf_k)",
                by_rank=True,
            ),
            "dbsf": Rule(unweighted_sum(dbsf), "dbsf, sample σ", "n_keyword + n_semantic", weighted=False),
        },
    ),
    "vespa": Engine(
        title="Vespa",
        version="8 (closeness of every hit since 8.15.51)",
        source="vespa-engine/vespa: container-search, com.yahoo.search.ranking",
        depth_name="rerank-count",
        caution="every hit has both features there, also a hit of one list alone, which adds nothing for the other list here",
        fusions={
            "normalize_linear": Rule(weighted_sum(vespa_normalize_linear), "minmax, constant list .5", SHARES),
            "reciprocal_rank": Rule(rank_sum(), "rrf", RRF, by_rank=True),
        },
    ),
    "llamaindex": Engine(
        title="LlamaIndex",
        version="llama-index-core 0.14.25",
        source="llama_index/core/retrievers/fusion_retriever.py",
        depth_name="similarity_top_k of each retriever",
        rrf_k=59,
        rrf_k_range=(59, 59),
        ties=FIRST_SEEN,
        fusions={
            "relative_score": Rule(weighted_sum(llamaindex_relative_score), "minmax, constant list 1 above 0", SHARES),
            "dist_based_score": Rule(
                weighted_sum(llamaindex_dist_based_score), "dbsf, population σ, constant list 1 above 0", SHARES
            ),
            "reciprocal_rerank": Rule(
                rank_sum(weighted=False), "rrf", "1 / (59 + r_keyword) + 1 / (59 + r_semantic)", by_rank=True, weighted=False
            ),
        },
    ),
    "langchain": Engine(
        title="LangChain",
        version="langchain-classic 1.0.8",
        source="langchain_classic/retrievers/ensemble.py",
        depth_name="k of each retriever",
        ties=FIRST_SEEN,
        fusions={"rrf": Rule(rank_sum(), "rrf", RRF, by_rank=True)},
    ),
    "haystack": Engine(
        title="Haystack",
        version="haystack-ai 3.4.1",
        source="haystack/components/joiners/document_joiner.py, haystack/utils/misc.py",
        depth_name="top_k of each retriever",
        rrf_k_range=(60, 60),
        ties=FIRST_SEEN,
        fusions={
            "reciprocal_rank_fusion": Rule(rank_sum(factor=61.0), "rrf", f"61 · ({RRF})", by_rank=True),
            "merge": Rule(weighted_sum(raw), "raw", SHARES),
            "distribution_based_rank_fusion": Rule(
                highest_of(haystack_distribution),
                "dbsf, population σ, higher of both",
                "max(n_keyword, n_semantic)",
                weighted=False,
            ),
        },
    ),
    "azure": Engine(
        title="Azure AI Search",
        version="2025-09-01",
        source="learn.microsoft.com: hybrid-search-ranking, vector weighting",
        depth_name="k of the vector query",
        rrf_k_range=(60, 60),
        alone=True,
        fusions={"rrf": Rule(rank_sum(alone=True), "rrf", RRF, by_rank=True)},
    ),
    "pgvector": Engine(
        title="PostgreSQL with pgvector",
        version="PostgreSQL 18, pgvector 0.8",
        source="the SQL that `export` writes",
        depth_name="LIMIT of each list",
        caution="its ts_rank_cd is not BM25: the keyword lists of this study are only like PostgreSQL's own",
        ties=BY_ID,
        fusions={"rrf": Rule(rank_sum(), "rrf", RRF, by_rank=True)},
    ),
}

RANK_FUSIONS = {name for engine in (HARNESS, *ENGINES.values()) for name, rule in engine.fusions.items() if rule.by_rank}


def rules_of(engine: str | None) -> Engine:
    """The engine of this name; the harness's own rules for None."""
    return HARNESS if engine is None else ENGINES[engine]


def apply_rules(candidates: Candidates, params: Params, engine: str | None) -> tuple[Candidates, Lines]:
    """The candidates with their columns in the order of the engine's ties, and their lines by its rule for this fusion."""
    rules = rules_of(engine)
    if params.fusion == ALONE:
        return candidates, FUSIONS["minmax"](candidates, params.rrf_k)
    if rules.first_seen:
        candidates = by_first_seen(candidates)
    return candidates, rules.fusions[params.fusion].lines(candidates, params.rrf_k)


def nearest_fusion(name: str, engine: str | None) -> str:
    """The engine's fusion that comes nearest to one that it does not have: of ranks for ranks, else of the same kind.

    A name that nobody has is taken for a misspelt one.
    """
    rules = rules_of(engine)
    known = {other for e in (HARNESS, *ENGINES.values()) for other in e.fusions}
    if name not in known:
        lowered = {other.lower(): other for other in rules.fusions}
        close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
        return lowered[close[0]] if close else rules.default_fusion
    if name in RANK_FUSIONS:
        return rules.rank_fusion
    forms = {n: rule.form for e in (HARNESS, *ENGINES.values()) for n, rule in e.fusions.items() if n == name}
    kind = forms.get(name, "").partition(",")[0]
    alike = [n for n, rule in rules.fusions.items() if kind and rule.form.partition(",")[0] == kind and not rule.by_rank]
    return alike[0] if alike else rules.score_fusion


def refuse_value(engine: str | None, name: str, value: float) -> str | None:
    """Why the engine cannot hold this value of one parameter, with the nearest that it can; None where it can."""
    rules = rules_of(engine)
    if name == "rrf_k":
        low, high = rules.rrf_k_range
        if not low <= value <= high:
            allowed = f"from {low} to {high}" if low < high else f"{low}, since the constant is fixed"
            return (
                f"must be {allowed} for {rules.title} (counted as in 1 / (rrf_k + rank from 1)), got {value:g};"
                f" nearest: {min(max(value, low), high):g}"
            )
    if name == "depth" and value > rules.most_depth:
        return f"must be at most {rules.most_depth}, the most that {rules.depth_name} of {rules.title} takes, got {value:g}"
    return None


def refuse_setting(engine: str | None, params: Params) -> Iterator[tuple[str, str]]:
    """Parameter and reason for everything in this setting that the engine cannot express."""
    rules = rules_of(engine)
    for name in ("rrf_k", "depth"):
        reason = refuse_value(engine, name, getattr(params, name))
        if reason is not None:
            yield name, reason
    if not rules.fusions[params.fusion].weighted and params.semantic_weight != ANY_WEIGHT:
        yield "semantic_weight", f"must be {ANY_WEIGHT}: {weightless(engine, params.fusion)}"
    if rules.top_k_within_depth and params.top_k > params.depth:
        yield "top_k", too_many(engine, params.top_k, params.depth)


def weightless(engine: str | None, fusion: str) -> str:
    """The reason and the nearest weighted fusion for one that takes no weights."""
    rules = rules_of(engine)
    nearest = next(name for name, rule in rules.fusions.items() if rule.weighted)
    return f"{fusion} of {rules.title} takes no weights; nearest: {nearest}"


def too_many(engine: str | None, top_k: int, depth: int) -> str:
    """The reason why K may not exceed the depth."""
    rules = rules_of(engine)
    return f"must be at most the depth ({rules.depth_name} of {rules.title} must be at least size), got {top_k} at depth {depth}"


class NotTheSameError(ValueError):
    """A setting that another engine would order differently: why."""


def convert(params: Params, source: str | None, target: str | None) -> tuple[Params, list[str]]:
    """The setting under the target's rules, where it orders every list as under the source's, and what to say about it.

    The same but for documents of equal score, which each engine orders in its own way. NotTheSameError where it is not,
    or where the target cannot hold it.
    """
    if source == target:
        return params, []
    ours, theirs = rules_of(source), rules_of(target)
    rule, weight = ours.fusions[params.fusion], params.semantic_weight
    if weight in (0, 1) and ours.alone != theirs.alone:
        raise NotTheSameError(
            f"at a semantic_weight of exactly {weight:g} {(ours if ours.alone else theirs).title} returns one list alone and"
            f" {(theirs if ours.alone else ours).title} the other's documents behind it"
        )
    if rule.form == "raw" and ours.cosine_score != theirs.cosine_score:
        raise NotTheSameError(
            f"{params.fusion} adds the scores as they are, and a cosine is {ours.cosine_score} for {ours.title} and"
            f" {theirs.cosine_score} for {theirs.title}"
        )
    if params.depth < theirs.fewest_depth:
        raise NotTheSameError(f"{theirs.title} fetches at least {theirs.fewest_depth} from each side, the study {params.depth}")
    found = _same_form(params, rule, theirs)
    if found is None:
        raise NotTheSameError(
            f"{params.fusion} of {ours.title} ({rule.form}) is none of {theirs.title}'s fusions:"
            f" {'; '.join(f'{name} ({other.form})' for name, other in theirs.fusions.items())}"
        )
    reasons = [f"{name} {reason}" for name, reason in refuse_setting(target, found)]
    if reasons:
        raise NotTheSameError("; ".join(reasons))
    notes = [f"tuned under {params.fusion} of {ours.title}, which orders every list as {found.fusion} does"]
    if theirs.ties == UNKNOWN or theirs.ties != ours.ties:
        notes.append("documents of exactly equal score may stand in another order than in the study")
    return found, notes


def _same_form(params: Params, rule: Rule, theirs: Engine) -> Params | None:
    """The setting under the target's fusion of the same form; None where there is none."""
    even = params.semantic_weight == ANY_WEIGHT
    for name, other in theirs.fusions.items():
        if (other.form == rule.form) and ((rule.weighted and other.weighted) or even):
            return replace(params, fusion=name, rrf_k=params.rrf_k if other.by_rank else theirs.rrf_k)
        # at equal weights 1 / (2 r + constant) is half of 1 / (r + constant / 2)
        if even and rule.form == "rrf" and other.form == ABSOLUTE:
            return replace(params, fusion=name, rrf_k=2 * params.rrf_k)
        if even and rule.form == ABSOLUTE and other.form == "rrf" and params.rrf_k % 2 == 0:
            return replace(params, fusion=name, rrf_k=params.rrf_k // 2)
    return None
