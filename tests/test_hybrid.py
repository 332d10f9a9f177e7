"""From candidates and parameters to ranks: against a slow twin, the ends, depth, k1 and b, and what a trial may touch."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import harness.hybrid
from harness.analyzers import analyze_simple
from harness.blocks import Keyword
from harness.bm25 import rank_keyword
from harness.candidates import merge_lists
from harness.engines import apply_rules
from harness.files import pad_qrels, read_qrels
from harness.fusion import FUSIONS
from harness.hybrid import KEPT_LINES, Hybrid, find_columns
from harness.keyword import build_index, select_postings
from harness.measures import parse_measure, score_queries
from harness.types import Candidates, Conventions, Params, RankedLists

Scores = dict[int, float]  # row → score
needs_collections = pytest.mark.skipif(
    "HARNESS_COLLECTIONS" not in os.environ, reason="HARNESS_COLLECTIONS must name the folder of the collections"
)


def best_rows(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda row: (-scores[row], row))


def make_lists(each: Sequence[Scores], depth: int) -> RankedLists:
    rows, scores = np.full((len(each), depth), -1, dtype=np.int32), np.full((len(each), depth), np.nan)
    for i, of in enumerate(each):
        for place, row in enumerate(best_rows(of)[:depth]):
            rows[i, place], scores[i, place] = row, of[row]
    return RankedLists(rows, scores)


def make_hybrid(
    keyword: Sequence[Scores], semantic: Sequence[Scores], judged: Sequence[dict[int, int]] = (), *, depth: int = 10
) -> Hybrid:
    candidates = merge_lists(make_lists(keyword, depth), make_lists(semantic, depth))
    qrels = pad_qrels(list(judged) or [{0: 1} for _ in keyword])
    return Hybrid(candidates, qrels, Conventions(), Params(depth=depth))


def at_weight(weight: float) -> Params:
    return Params(semantic_weight=weight, depth=10)


def listed(hybrid: Hybrid, params: Params) -> list[list[int]]:
    """Each query's rows, best first."""
    return [rows.tolist() for rows, _ in hybrid.results(params)]


row_scores = st.dictionaries(st.integers(0, 11), st.integers(0, 12).map(lambda n: n / 4), max_size=10)
queries = st.lists(
    st.tuples(row_scores, row_scores, st.dictionaries(st.integers(0, 14), st.integers(-1, 2), min_size=1, max_size=5)),
    min_size=1,
    max_size=3,
)
weights = st.one_of(st.sampled_from([0.0, 1.0]), st.fractions(0, 1, max_denominator=16).map(float), st.floats(0.001, 0.999))
all_params = st.builds(
    Params,
    semantic_weight=weights,
    fusion=st.sampled_from(sorted(FUSIONS)),
    rrf_k=st.integers(1, 100),
    depth=st.integers(1, 10),
    top_k=st.integers(1, 15),
)


# --- the lists ------------------------------------------------------------------------------------------------------


@given(queries, all_params)
def test_results_are_in_the_order_of_rounded_scores_then_rows(each: list, params: Params) -> None:
    """Against Python's sort of the lines' own sums; the scores that come back are these sums."""
    hybrid = make_hybrid(*zip(*each, strict=True))
    candidates, lines, _ = hybrid.setting(params)
    w = params.semantic_weight
    assume(0 < w < 1)
    for i, (rows, scores) in enumerate(hybrid.results(params)):
        sums = {
            int(row): (1 - w) * float(lines.keyword_end[i, column]) + w * float(lines.semantic_end[i, column])
            for column, row in enumerate(candidates.rows[i])
            if row >= 0
        }
        assume(all(abs(score * 1e12 % 1 - 0.5) > 0.01 for score in sums.values()))  # the last decimal is a matter of opinion
        assert rows.tolist() == sorted(sums, key=lambda row: (-round(sums[row], 12), row))
        assert scores.tolist() == pytest.approx([round(sums[row], 12) for row in rows.tolist()], abs=1e-15)


@pytest.mark.parametrize("fusion", FUSIONS)
@given(queries, st.integers(1, 10))
def test_weights_0_and_1_give_exactly_that_retrievers_list(fusion: str, each: list, depth: int) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    keyword, semantic = ([best_rows(query[side])[:depth] for query in each] for side in (0, 1))
    assert listed(hybrid, Params(semantic_weight=0.0, fusion=fusion, depth=depth)) == keyword
    assert listed(hybrid, Params(semantic_weight=1.0, fusion=fusion, depth=depth)) == semantic


@given(queries, all_params)
def test_ranks_are_the_places_of_the_judged_documents_in_the_results(each: list, params: Params) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    ranking = hybrid.rank(params)
    for i, rows in enumerate(listed(hybrid, params)):
        places = {row: place for place, row in enumerate(rows, 1)}
        expected = [places.get(row, np.inf) for row in sorted(each[i][2])]
        assert ranking.ranks[i, : len(expected)].tolist() == expected
        assert ranking.returned[i] == len(rows)


@given(queries, all_params)
def test_a_smaller_depth_equals_candidates_of_shorter_lists(each: list, params: Params) -> None:
    keyword, semantic, judged = zip(*each, strict=True)
    deep = make_hybrid(keyword, semantic, judged, depth=10)
    shallow = make_hybrid(keyword, semantic, judged, depth=params.depth)
    assert listed(deep, params) == listed(shallow, params)
    assert np.array_equal(deep.rank(params).ranks, shallow.rank(params).ranks)
    assert np.array_equal(deep.rank(params).returned, shallow.rank(params).returned)


@given(queries, all_params, st.integers(1, 15))
def test_top_k_does_not_change_the_ranking(each: list, params: Params, top_k: int) -> None:
    """A trial's ranking is scored at the reported cutoffs before it is cut."""
    hybrid = make_hybrid(*zip(*each, strict=True))
    other = replace(params, top_k=top_k)
    assert np.array_equal(hybrid.rank(params).ranks, hybrid.rank(other).ranks)


def test_u12_two_documents_with_one_text_are_two_candidates() -> None:
    """U12: rows 0 and 1 score alike in both lists, only row 1 is relevant: rank 2, RR 1/2, at every weight."""
    alike = {0: 3.0, 1: 3.0}
    hybrid = make_hybrid([alike], [{**alike, 2: 0.5}], [{1: 1}])
    for weight in (0.0, 0.5, 1.0):
        ranking = hybrid.rank(at_weight(weight))
        assert score_queries(parse_measure("RR"), ranking, hybrid.judgements).tolist() == [1 / 2]


def test_a_query_for_which_nothing_came_back_has_an_empty_list() -> None:
    hybrid = make_hybrid([{0: 1.0}, {}], [{0: 1.0}, {}], [{0: 1}, {0: 1}])
    for weight in (0.0, 0.5, 1.0):
        assert listed(hybrid, at_weight(weight)) == [[0], []]
        assert hybrid.rank(at_weight(weight)).returned.tolist() == [1, 0]
        assert hybrid.rank(at_weight(weight)).ranks[1].tolist() == [np.inf]


def test_only_one_retriever_finding_something_is_enough_between_the_ends() -> None:
    hybrid = make_hybrid([{}], [{4: 1.0, 2: 0.5}])
    assert listed(hybrid, at_weight(0.0)) == [[]]
    assert listed(hybrid, at_weight(0.01)) == [[4, 2]]


# --- columns of judged documents ------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 20), max_size=8), st.sets(st.integers(0, 25), min_size=1, max_size=8)),
        min_size=1,
        max_size=5,
    )
)
def test_find_columns_equals_looking_each_row_up(each: list[tuple[set[int], set[int]]]) -> None:
    width, judged_width = max(1, *(len(c) for c, _ in each)), max(len(j) for _, j in each)
    candidate_rows = np.array([sorted(c) + [-1] * (width - len(c)) for c, _ in each], dtype=np.int32)
    judged_rows = np.array([sorted(j) + [-1] * (judged_width - len(j)) for _, j in each], dtype=np.int32)
    expected = [
        [candidates.index(row) if row >= 0 and row in candidates else -1 for row in judged]
        for candidates, judged in zip(candidate_rows.tolist(), judged_rows.tolist(), strict=True)
    ]
    assert find_columns(candidate_rows, judged_rows).tolist() == expected


def test_find_columns_with_padding_between_and_very_large_rows() -> None:
    large = 2**31 - 2
    candidate_rows = np.array([[3, -1, large], [-1, -1, -1], [0, large - 1, -1]], dtype=np.int32)
    judged_rows = np.array([[large, 3], [0, -1], [large, 0]], dtype=np.int32)
    assert find_columns(candidate_rows, judged_rows).tolist() == [[2, 0], [-1, -1], [-1, 0]]


# --- depth, k1 and b ------------------------------------------------------------------------------------------------

TEXTS = [
    "the cat sat on the mat",
    "dog and cat",
    "a dog chased the cat and the dog barked at the cat on the mat",
    "fish swim",
    "mat mat mat",
    "the bird saw a fish and a dog",
    "cat fish bird dog mat sun moon",
]
PROMPTS = ["cat dog", "mat", "fish bird fish"]
SIMILAR = [{0: 0.9, 3: 0.8, 6: 0.7, 2: 0.1}, {5: 0.9, 4: 0.85, 1: 0.2}, {1: 0.4, 0: 0.3, 5: 0.2}]


def make_searched(depth: int, **keyword: object) -> Hybrid:
    """A hybrid over a real keyword index with postings, so that k1 and b can change."""
    options = Keyword(**keyword)
    index = build_index([analyze_simple(text) for text in TEXTS], options)
    postings = select_postings(index, [analyze_simple(prompt) for prompt in PROMPTS], options)
    lists = rank_keyword(postings, k1=options.k1, b=options.b, depth=depth)
    qrels = pad_qrels([{0: 1, 2: 1}, {4: 1}, {5: 1, 6: 2}])
    base = Params(depth=depth, k1=options.k1, b=options.b)
    return Hybrid(merge_lists(lists, make_lists(SIMILAR, depth)), qrels, Conventions(), base, postings)


@pytest.mark.parametrize("variant", ["okapi", "l", "plus", "lucene"])
@pytest.mark.parametrize(("k1", "b"), [(0.5, 0.75), (1.5, 0.1), (3.0, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("depth", [6, 3, 1])
@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_k1_b_and_depth_of_a_trial_equal_an_index_built_with_them(
    variant: str, k1: float, b: float, depth: int, weight: float
) -> None:
    searched = make_searched(6, variant=variant)
    built = make_searched(depth, variant=variant, k1=k1, b=b)
    for fusion in FUSIONS:
        params = Params(semantic_weight=weight, fusion=fusion, depth=depth, k1=k1, b=b)
        for (rows, scores), (expected_rows, expected_scores) in zip(searched.results(params), built.results(params), strict=True):
            assert rows.tolist() == expected_rows.tolist()
            assert scores.tolist() == expected_scores.tolist()
        assert np.array_equal(searched.rank(params).ranks, built.rank(params).ranks)


@pytest.mark.parametrize("variant", ["okapi", "l", "plus", "lucene"])
def test_bounds_of_k1_and_b_change_nothing_within_and_beyond_them(variant: str) -> None:
    bounded, free = make_searched(2, variant=variant), make_searched(2, variant=variant)
    bounded.k1_b = ((0.5, 2.0), (0.2, 0.8))
    for k1, b, depth in itertools.product((0.0, 0.5, 1.1, 2.0, 3.0), (0.0, 0.2, 0.8, 1.0), (1, 2)):
        params = Params(depth=depth, k1=k1, b=b)
        one, other = bounded.candidates_for(params), free.candidates_for(params)
        assert all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in vars(one)), params


def test_another_k1_without_postings_is_refused() -> None:
    hybrid = make_hybrid([{0: 1.0}], [{0: 1.0}])
    with pytest.raises(ValueError, match="postings"):
        hybrid.rank(Params(k1=2.0, depth=10))


def test_a_depth_beyond_the_candidates_is_refused() -> None:
    hybrid = make_hybrid([{0: 1.0}], [{0: 1.0}], depth=10)
    with pytest.raises(ValueError, match="at most 10"):
        hybrid.rank(Params(depth=11))


# --- what a trial may touch -----------------------------------------------------------------------------------------


def test_values_are_functions_of_the_params_alone() -> None:
    """However many other settings were asked for in between, and in whichever order."""
    settings_asked = [
        Params(semantic_weight=w, fusion=fusion, rrf_k=c, depth=d, k1=k1)
        for w, fusion, c, d, k1 in itertools.product([0.3, 0.7], ["minmax", "rrf"], [1, 20, 60], [2, 6], [0.8, 1.5])
    ]
    assert len({(p.fusion, p.rrf_k, p.depth, p.k1) for p in settings_asked if p.fusion == "rrf"}) * 2 < len(settings_asked)
    fresh = [make_searched(6).rank(params).ranks for params in settings_asked]
    kept = make_searched(6)
    for _ in range(3):
        for params, expected in zip(settings_asked, fresh, strict=True):
            assert np.array_equal(kept.rank(params).ranks, expected)
    for params, expected in reversed(list(zip(settings_asked, fresh, strict=True))):
        assert np.array_equal(kept.rank(params).ranks, expected)


def test_only_so_many_settings_stay_in_memory() -> None:
    hybrid = make_hybrid([{0: 1.0, 1: 0.5}], [{1: 1.0}])
    for rrf_k in range(1, KEPT_LINES + 20):
        hybrid.rank(Params(fusion="rrf", rrf_k=rrf_k, depth=10))
    assert len(hybrid._kept) == KEPT_LINES


def test_b12_twenty_trials_over_the_weight_search_and_normalise_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """B12: the lists are neither searched nor merged again, and the lines are made once."""
    hybrid = make_searched(6)
    calls: list[str] = []

    def counted(candidates: Candidates, params: Params, engine: str | None) -> object:
        calls.append(params.fusion)
        return apply_rules(candidates, params, engine)

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a trial over the weight must not search or merge again")

    monkeypatch.setattr(harness.hybrid, "apply_rules", counted)
    for name in ("rank_keyword", "merge_lists", "semantic_lists", "at_depth"):
        monkeypatch.setattr(harness.hybrid, name, refuse)
    rankings = [hybrid.rank(Params(semantic_weight=i / 19, depth=6)).ranks for i in range(20)]
    assert calls == ["minmax"]
    assert any(not np.array_equal(rankings[0], ranks) for ranks in rankings)


NO_DISK_NO_MODEL = """
import sys
import numpy as np
from harness.bm25 import rank_keyword
from harness.hybrid import Hybrid
from harness.candidates import merge_lists
from harness.measures import parse_measure, score_all, score_queries
from harness.types import Conventions, Params, Postings, Qrels, RankedLists

heavy = {"faiss", "optuna", "rank_bm25", "sentence_transformers", "torch", "transformers", "pandas", "yaml"}
found = heavy & set(sys.modules)
assert not found, f"a trial must not need {found}"

lists = RankedLists(np.array([[2, 0, 1]], dtype=np.int32), np.array([[3.0, 2.0, 1.0]]))
zeros = np.zeros(3, dtype=np.int32)
rows, ratios = np.arange(3, dtype=np.int32), np.array([0.5, 1.0, 1.5])
postings = Postings("okapi", 0.0, zeros, rows, np.ones(3), ratios, np.ones(3), np.ones(1))
qrels = Qrels(np.array([[1, 2]], dtype=np.int32), np.array([[1, 2]], dtype=np.int32))
hybrid = Hybrid(merge_lists(lists, lists), qrels, Conventions(), Params(depth=3), postings)
touched = []
on = False

def watch(event, args):
    if on and event.split(".")[0] in ("open", "os", "socket", "subprocess", "import", "shutil"):
        touched.append((event, args))

sys.addaudithook(watch)
on = True
for fusion in ("minmax", "theoretical", "zscore", "dbsf", "l2", "none", "rrf"):
    for weight in (0.0, 0.25, 1.0):
        for k1 in (1.5, 0.7):
            params = Params(semantic_weight=weight, fusion=fusion, depth=2, k1=k1)
            ranking = hybrid.rank(params)
            score_all(ranking, hybrid.judgements, [1, 3])
            score_queries(parse_measure("MAP@top_k").at(2), ranking.cut(2), hybrid.judgements)
on = False
assert not touched, touched
print("untouched")
"""


def test_b12_a_trial_needs_no_disk_no_network_and_no_heavy_library() -> None:
    """In a fresh process that watches every file, socket and import during 42 trials."""
    done = subprocess.run([sys.executable, "-c", NO_DISK_NO_MODEL], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "untouched"), done.stderr


def test_b12_a_trial_reads_arrays_whose_size_does_not_depend_on_the_corpus() -> None:
    """The same lists out of a corpus of ten and of two thousand million documents: the same widths, the same ranks."""
    factor = 200_000_000
    keyword, semantic, judged = {0: 3.0, 4: 2.0, 9: 1.0}, {4: 0.9, 7: 0.8}, {4: 1, 8: 1}
    small = make_hybrid([keyword], [semantic], [judged])
    large = make_hybrid(*([{row * factor: value for row, value in of.items()}] for of in (keyword, semantic, judged)))
    sizes = [[array.shape for array in vars(hybrid.candidates).values()] for hybrid in (small, large)]
    assert sizes[0] == sizes[1] == [(1, 4)] * 5
    for weight in (0.0, 0.5, 1.0):
        params = at_weight(weight)
        assert [[row * factor for row in rows] for rows in listed(small, params)] == listed(large, params)
        assert np.array_equal(small.rank(params).ranks, large.rank(params).ranks)


@settings(max_examples=50)
@given(queries, all_params)
def test_trials_leave_candidates_and_judgements_unchanged(each: list, params: Params) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    arrays = [*vars(hybrid.candidates).values(), hybrid.qrels.rows, hybrid.qrels.grades]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    hybrid.rank(params)
    list(hybrid.results(params))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, before, strict=True))


def test_a_trial_with_another_k1_leaves_the_postings_unchanged() -> None:
    hybrid = make_searched(6)
    assert hybrid.postings is not None
    arrays = [array for array in vars(hybrid.postings).values() if isinstance(array, np.ndarray)]
    before = [array.copy() for array in arrays]
    hybrid.rank(Params(k1=0.3, b=0.2, depth=4))
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


# --- foreign values from a folder -----------------------------------------------------------------------------------


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """A gzipped TREC run as query → document → score."""
    scores: dict[str, dict[str, float]] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        scores.setdefault(query_id, {})[doc_id] = float(score)
    return scores


@needs_collections
@pytest.mark.parametrize("collection", ["medline", "cacm", "npl_vaswani"])
@pytest.mark.parametrize("model", ["minil6", "mpnetv2"])
def test_fusing_published_runs_gives_the_reference_values(collection: str, model: str) -> None:
    """Whole lists of two published runs, fused, with the measures of each, as an independent implementation gave them.

    Its ties are trec_eval's (ids descending), so rows are numbered in that order here. RRF is full of exact ties, and how
    that implementation ordered them before writing its ranks is not known: these values are held to .003 only.
    """
    folder = Path(os.environ["HARNESS_COLLECTIONS"]) / "trec_eval_cases" / "published_runs_glasgow"
    reference = json.loads((folder / "fusion_reference.json").read_text())[f"{collection}/{model}"]
    judged: dict[str, dict[str, int]] = {}
    for judgement in read_qrels(folder / f"{collection}.published.qrels"):
        judged.setdefault(judgement.query_id, {})[judgement.doc_id.lstrip("0")] = judgement.grade
    runs = [read_scores(folder / f"{collection}.{name}.run.gz") for name in ("bm25", model)]
    documents = {doc for of_queries in [*runs, judged] for of_documents in of_queries.values() for doc in of_documents}
    row_of = {doc: row for row, doc in enumerate(sorted(documents, reverse=True))}
    keyword, semantic = ([{row_of[doc]: score for doc, score in run.get(query, {}).items()} for query in judged] for run in runs)
    qrels = [{row_of[doc]: grade for doc, grade in docs.items()} for docs in judged.values()]
    hybrid = make_hybrid(keyword, semantic, qrels, depth=1000)

    base = Params(depth=1000)
    wanted = {"bm25": replace(base, semantic_weight=0.0), model: replace(base, semantic_weight=1.0)}
    wanted |= {"raw_sum": replace(base, fusion="none")}
    wanted |= {f"rrf{c}": replace(base, fusion="rrf", rrf_k=c) for c in (1, 5, 20, 60)}
    wanted |= {f"minmax_dense_weight_{i / 10}": replace(base, semantic_weight=i / 10) for i in range(1, 10)}
    wrong = []
    for name, params in wanted.items():
        ranking = hybrid.rank(params)
        allowed = 3e-3 if params.fusion == "rrf" else 5e-5 + 1e-9  # four decimals were printed
        for trec_name, ours in (("map", "MAP"), ("ndcg_cut_10", "nDCG@10"), ("recall_100", "Recall@100"), ("recip_rank", "MRR")):
            value = float(np.mean(score_queries(parse_measure(ours), ranking, hybrid.judgements)))
            if abs(value - reference[name][trec_name]) > allowed:
                wrong.append((name, trec_name, reference[name][trec_name], value))
    assert not wrong
