"""BM25 and its index: rank-bm25's own scores, a slow Lucene, the cases, the analyzers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rank_bm25
from hypothesis import given
from hypothesis import strategies as st

from harness.analyzers import ANALYZERS, ENGLISH_STOP_WORDS, analyze_cjk, analyze_simple, make_analyzer
from harness.blocks import Keyword
from harness.bm25 import best_first, rank_keyword, score_documents
from harness.errors import HarnessError
from harness.keyword import KeywordIndex, build_index, find_weak_terms, index_key, load_index, save_index, select_postings

VARIANTS = ["okapi", "l", "plus", "lucene"]
Tokens = Sequence[str]


def score_all(documents: Sequence[Tokens], queries: Sequence[Tokens], options: Keyword) -> list[dict[int, float]]:
    """Per query: row → score of every document that contains a query term."""
    postings = select_postings(build_index(documents, options), queries, options)
    scored: list[dict[int, float]] = [{} for _ in queries]
    for query, row, score in zip(*score_documents(postings, k1=options.k1, b=options.b), strict=True):
        assert int(row) not in scored[query], "a document must be scored once"
        scored[query][int(row)] = float(score)
    return scored


def rank_all(texts: Sequence[str], query: str, options: Keyword, depth: int) -> tuple[list[int], list[float]]:
    """One query's list: rows and scores, without the padding."""
    analyze = make_analyzer(options.analyzer)
    postings = select_postings(build_index([analyze(text) for text in texts], options), [analyze(query)], options)
    lists = rank_keyword(postings, k1=options.k1, b=options.b, depth=depth)
    assert lists.rows.shape == lists.scores.shape == (1, depth)
    held = lists.rows[0] >= 0
    assert np.isfinite(lists.scores[0][held]).all()
    assert np.isnan(lists.scores[0][~held]).all()
    assert (np.diff(held.astype(int)) <= 0).all(), "padding stands behind the end"
    return lists.rows[0][held].tolist(), lists.scores[0][held].tolist()


# --- against rank-bm25 and a slow Lucene ----------------------------------------------------------------------------

words = st.sampled_from(["a", "b", "c", "d", "e", "f"])
corpora = st.lists(st.lists(words, min_size=1, max_size=8), min_size=1, max_size=9)
prompts = st.lists(st.sampled_from(["a", "b", "c", "d", "unknown"]), max_size=6)
k1s, bs = st.floats(0.0, 4.0), st.floats(0.0, 1.0)


def scored_by_rank_bm25(documents: Sequence[Tokens], query: Tokens, options: Keyword) -> list[float]:
    given_k1_b = {"k1": options.k1, "b": options.b}
    if options.variant == "okapi":
        model = rank_bm25.BM25Okapi(documents, epsilon=options.epsilon, **given_k1_b)
    elif options.variant == "l":
        model = rank_bm25.BM25L(documents, delta=0.5 if options.delta is None else options.delta, **given_k1_b)
    else:
        model = rank_bm25.BM25Plus(documents, delta=1 if options.delta is None else options.delta, **given_k1_b)
    with np.errstate(invalid="ignore"):  # rank-bm25 divides 0 by 0 at k1 = 0 for documents without the term
        return [float(score) for score in model.get_scores(query)]


@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
@given(corpora, prompts, k1s, bs, st.floats(0.0, 2.0), st.one_of(st.none(), st.floats(0.0, 2.0)))
def test_scores_equal_rank_bm25s_own(
    variant: str, documents: list[list[str]], query: list[str], k1: float, b: float, epsilon: float, delta: float | None
) -> None:
    """Repeated query terms included; a document without a query term is not in the list at all."""
    options = Keyword(variant=variant, k1=k1, b=b, epsilon=epsilon, delta=delta)
    scored = score_all(documents, [query], options)[0]
    assert sorted(scored) == [row for row, tokens in enumerate(documents) if set(tokens) & set(query)]
    assert np.isfinite(list(scored.values())).all()
    if k1 > 1e-9:  # below, rank-bm25 itself gives NaN where a document lacks one of the terms
        theirs = scored_by_rank_bm25(documents, query, options)
        assert scored == pytest.approx({row: theirs[row] for row in scored}, abs=1e-9)


@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
def test_scores_equal_rank_bm25s_own_on_a_larger_random_corpus(variant: str) -> None:
    draw = np.random.default_rng(5)
    vocabulary = [f"w{i}" for i in range(60)]
    documents = [[vocabulary[int(w)] for w in draw.zipf(1.4, int(draw.integers(1, 60))) % 60] for _ in range(300)]
    queries = [[vocabulary[int(w)] for w in draw.integers(0, 60, int(draw.integers(1, 9)))] for _ in range(25)]
    options = Keyword(variant=variant, k1=1.2, b=0.6)
    for query, scored in zip(queries, score_all(documents, queries, options), strict=True):
        theirs = scored_by_rank_bm25(documents, query, options)
        assert scored == pytest.approx({row: theirs[row] for row in scored}, abs=1e-9)
        assert sorted(scored) == [row for row, tokens in enumerate(documents) if set(tokens) & set(query)]


def slow_lucene(documents: Sequence[Tokens], query: Tokens, k1: float, b: float) -> dict[int, float]:
    """Lucene's BM25Similarity, term by term, with exact lengths."""
    average = sum(len(tokens) for tokens in documents) / len(documents)
    scored: dict[int, float] = {}
    for row, tokens in enumerate(documents):
        for term in query:
            f = list(tokens).count(term)
            if f == 0:
                continue
            df = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            scored[row] = scored.get(row, 0.0) + idf * f / (f + k1 * (1 - b + b * len(tokens) / average))
    return scored


@given(corpora, prompts, k1s, bs)
def test_lucene_equals_its_slow_twin(documents: list[list[str]], query: list[str], k1: float, b: float) -> None:
    options = Keyword(variant="lucene", k1=k1, b=b)
    assert score_all(documents, [query], options)[0] == pytest.approx(slow_lucene(documents, query, k1, b), abs=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@given(documents=corpora, queries=st.lists(prompts, min_size=1, max_size=4))
def test_queries_do_not_touch_each_other(variant: str, documents: list[list[str]], queries: list[list[str]]) -> None:
    options = Keyword(variant=variant)
    together = score_all(documents, queries, options)
    assert together == [score_all(documents, [query], options)[0] for query in queries]


@pytest.mark.parametrize("variant", VARIANTS)
@given(documents=corpora, query=prompts, depth=st.integers(1, 10))
def test_the_list_is_by_score_then_row_also_at_the_cut(
    variant: str, documents: list[list[str]], query: list[str], depth: int
) -> None:
    options = Keyword(variant=variant)
    scored = score_all(documents, [query], options)[0]
    expected = sorted(scored, key=lambda row: (-scored[row], row))[:depth]
    lists = rank_keyword(
        select_postings(build_index(documents, options), [query], options), k1=options.k1, b=options.b, depth=depth
    )
    assert lists.rows[0].tolist() == expected + [-1] * (depth - len(expected))
    assert lists.scores[0, : len(expected)].tolist() == [scored[row] for row in expected]
    assert np.isnan(lists.scores[0, len(expected) :]).all()


@given(st.lists(st.integers(0, 4).map(float), max_size=20), st.integers(1, 22))
def test_best_first_takes_the_lower_position_among_equals(scores: list[float], depth: int) -> None:
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:depth]
    assert best_first(np.array(scores, dtype=np.float64), depth).tolist() == expected


def test_ranking_leaves_the_postings_unchanged() -> None:
    options = Keyword()
    postings = select_postings(build_index([["a", "b"], ["b"], ["c", "a", "a"]], options), [["a", "b"], ["z"]], options)
    arrays = [value for value in vars(postings).values() if isinstance(value, np.ndarray)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    rank_keyword(postings, k1=0.7, b=0.1, depth=5)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


# --- cases B1 … B12 -------------------------------------------------------------------------------------------------

B1_TEXTS = ["hello good man", "windy in london"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_b1_the_document_with_the_words_ranks_first(variant: str) -> None:
    rows, _ = rank_all(B1_TEXTS, "windy london", Keyword(variant=variant), depth=2)
    assert rows == [1]


def test_b1_okapis_idf_is_0_in_half_of_the_documents_and_such_terms_are_named() -> None:
    options = Keyword()
    index = build_index([analyze_simple(text) for text in B1_TEXTS], options)
    assert find_weak_terms(index, [["windy", "london", "unknown"]]) == ["london", "windy"]
    assert rank_all(B1_TEXTS, "windy london", options, depth=2) == ([1], [0.0])


@given(corpora)
def test_b1_lucene_has_no_term_that_weighs_nothing(documents: list[list[str]]) -> None:
    index = build_index(documents, Keyword(variant="lucene"))
    assert find_weak_terms(index, documents) == []
    assert (index.idf > 0).all()


def test_b4_an_empty_corpus_is_refused() -> None:
    with pytest.raises(HarnessError, match="at least one document"):
        build_index([], Keyword())


@pytest.mark.parametrize("variant", VARIANTS)
def test_b4_a_corpus_of_empty_documents_gives_empty_lists(variant: str) -> None:
    assert rank_all(["", ""], "any words", Keyword(variant=variant), depth=3) == ([], [])
    assert find_weak_terms(build_index([[], []], Keyword(variant=variant)), [["any"]]) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_document_among_others_counts_and_is_never_found(variant: str) -> None:
    rows, _ = rank_all(["", "cat", "", "cat dog"], "cat dog", Keyword(variant=variant), depth=4)
    assert sorted(rows) == [1, 3]
    index = build_index([[], ["cat"]], Keyword(variant=variant))
    assert index.lengths.tolist() == [0, 1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_b6_only_documents_with_a_query_term_in_doc_id_order_among_equals(variant: str) -> None:
    texts = [f"m word{i}" if i in (2, 7, 11) else f"other word{i}" for i in range(13)]
    rows, scores = rank_all(texts, "m", Keyword(variant=variant), depth=4)
    assert rows == [2, 7, 11]
    assert len(set(scores)) == 1


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("query", ["unknown", "", "unknown words only"])
def test_b6_an_unknown_word_gives_an_empty_list(variant: str, query: str) -> None:
    assert rank_all(["cat dog", "bird"], query, Keyword(variant=variant), depth=3) == ([], [])


def test_b6_a_document_counts_as_found_by_its_words_not_by_a_positive_score() -> None:
    """`cat` is in three of four documents, its idf is epsilon times a mean: with epsilon 0 it weighs nothing."""
    rows, scores = rank_all(["cat", "cat", "dog", "cat"], "cat", Keyword(epsilon=0.0), depth=4)
    assert (rows, scores) == ([0, 1, 3], [0.0, 0.0, 0.0])


def test_b7_a_string_where_tokens_are_expected_is_refused() -> None:
    with pytest.raises(TypeError, match=r"document 1 .*list of tokens"):
        build_index([["cat"], "cat dog"], Keyword())
    index = build_index([["cat"]], Keyword())
    with pytest.raises(TypeError, match=r"query 0 .*list of tokens"):
        select_postings(index, ["cat"], Keyword())


@pytest.mark.parametrize("name", sorted(set(ANALYZERS) - {"whitespace"}))  # which keeps the case
def test_b7_one_analyzer_serves_corpus_and_queries(name: str) -> None:
    """A text is found by itself, whichever way it is written."""
    options = Keyword(analyzer=name, variant="lucene")
    rows, _ = rank_all(["The Running Dogs of LONDON", "nothing here"], "running dogs london", options, depth=2)
    assert rows == [0]


B8_TEXTS = ["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"]


def test_b8_the_cjk_analyzer_finds_only_the_last() -> None:
    rows, scores = rank_all(B8_TEXTS, "故乡", Keyword(analyzer="cjk"), depth=4)
    assert rows == [3]
    assert scores[0] > 0


@pytest.mark.parametrize("analyzer", ["simple", "english"])
def test_b8_a_word_analyzer_makes_each_document_a_single_token(analyzer: str) -> None:
    analyze = make_analyzer(analyzer)
    index = build_index([analyze(text) for text in B8_TEXTS], Keyword(analyzer=analyzer))
    assert index.lengths.tolist() == [1, 1, 1, 1]
    assert rank_all(B8_TEXTS, "故乡", Keyword(analyzer=analyzer), depth=4) == ([], [])


B10_TEXTS = ["cat dog dog", "cat fish", "bird", "sun moon sea sky"]


def test_b10_okapi_gives_a_term_in_half_of_the_documents_no_weight() -> None:
    rows, scores = rank_all(B10_TEXTS, "cat dog", Keyword(k1=1.5, b=0.75), depth=4)
    idf_dog = math.log((4 - 1 + 0.5) / (1 + 0.5))
    dog = idf_dog * 2 * (1.5 + 1) / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / 2.5))
    assert rows == [0, 1]
    assert scores == pytest.approx([dog, 0])
    assert scores[0] == pytest.approx(1.1373, abs=5e-5)


def test_b10_lucene_gives_every_term_weight() -> None:
    rows, scores = rank_all(B10_TEXTS, "cat dog", Keyword(variant="lucene", k1=1.5, b=0.75), depth=4)
    idf_cat, idf_dog = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5)), math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    long, short = 1.5 * (1 - 0.75 + 0.75 * 3 / 2.5), 1.5 * (1 - 0.75 + 0.75 * 2 / 2.5)
    assert rows == [0, 1]
    assert scores == pytest.approx([idf_cat / (1 + long) + idf_dog * 2 / (2 + long), idf_cat / (1 + short)])
    assert scores == pytest.approx([0.9008, 0.3047], abs=5e-5)


def test_b12_another_k1_and_b_need_no_new_index() -> None:
    """B12: the postings of one index give the scores of an index built with that k1 and b."""
    documents, query = [analyze_simple(text) for text in B10_TEXTS], ["cat", "dog", "sky"]
    kept = select_postings(build_index(documents, Keyword()), [query], Keyword())
    for k1, b in ((0.5, 0.2), (2.0, 1.0)):
        theirs = scored_by_rank_bm25(documents, query, Keyword(k1=k1, b=b))
        _, rows, scores = score_documents(kept, k1=k1, b=b)
        assert scores.tolist() == pytest.approx([theirs[row] for row in rows], abs=1e-9)


# --- analyzers ------------------------------------------------------------------------------------------------------


def test_the_simple_analyzer_only_lowers_and_splits() -> None:
    assert analyze_simple("The Dog's 3rd café—Ünïcode_x!") == ["the", "dog", "s", "3rd", "café", "ünïcode_x"]


def test_the_english_analyzer_stems_and_leaves_stop_words_out() -> None:
    analyze = make_analyzer("english")
    assert analyze("The runners are running to the cities") == ["runner", "run", "citi"]
    assert analyze(" ".join(sorted(ENGLISH_STOP_WORDS))) == []
    assert len(ENGLISH_STOP_WORDS) == 33  # Lucene's list


def test_the_english_analyzer_normalizes_and_folds_case() -> None:
    analyze = make_analyzer("english")
    assert analyze("ﬁle") == analyze("FILE") == ["file"]
    assert analyze("STRASSE") == analyze("straße")


def test_the_cjk_analyzer_gives_bigrams_of_runs_and_whole_other_words() -> None:
    assert analyze_cjk("低头思故乡") == ["低头", "头思", "思故", "故乡"]
    assert analyze_cjk("月") == ["月"]
    assert analyze_cjk("Python3で検索") == ["python3", "で検", "検索"]
    assert analyze_cjk("한국어, ok") == ["한국", "국어", "ok"]
    assert analyze_cjk("ＡＢＣ") == ["abc"]


@pytest.mark.parametrize("name", ANALYZERS)
@given(text=st.text(max_size=40))
def test_no_analyzer_gives_an_empty_token_or_white_space(name: str, text: str) -> None:
    tokens = make_analyzer(name)(text)
    assert all(token and not any(character.isspace() for character in token) for token in tokens)


# --- the index on disk and its key ----------------------------------------------------------------------------------


def same_index(one: KeywordIndex, other: KeywordIndex) -> bool:
    arrays = all(np.array_equal(getattr(one, n), getattr(other, n)) for n in ("idf", "indptr", "rows", "frequencies", "lengths"))
    return arrays and list(one.terms.items()) == list(other.terms.items())


@pytest.mark.parametrize("documents", [[["cat", "dog", "dog"], [], ["故乡", "ünï", "cat"]], [[], []]], ids=["tokens", "none"])
def test_an_index_read_back_is_the_same(documents: list[list[str]], tmp_path: Path) -> None:
    index = build_index(documents, Keyword())
    save_index(index, tmp_path / "index.npz")
    read = load_index(tmp_path / "index.npz")
    assert read is not None
    assert same_index(read, index)


class Toucher:
    """A pickle of it touches a file when it is loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def test_x2_a_pickle_in_place_of_the_index_is_not_executed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    armed = pickle.dumps(Toucher(marker))
    pickle.loads(armed)
    assert marker.exists(), "the pickle must be able to do harm"
    marker.unlink()
    (tmp_path / "index.npz").write_bytes(armed)
    assert load_index(tmp_path / "index.npz") is None
    assert not marker.exists()


def test_a_damaged_or_missing_index_is_built_anew(tmp_path: Path) -> None:
    assert load_index(tmp_path / "index.npz") is None
    save_index(build_index([["cat", "dog"], ["dog"]], Keyword()), tmp_path / "index.npz")
    (tmp_path / "index.npz").write_bytes((tmp_path / "index.npz").read_bytes()[:-40])
    assert load_index(tmp_path / "index.npz") is None


def test_the_index_key_follows_what_decides_the_index_and_nothing_else() -> None:
    base = Keyword()
    changed = [Keyword(variant="lucene"), Keyword(analyzer="english"), Keyword(epsilon=0.1)]
    keys = [index_key("corpus", base), index_key("other corpus", base), *(index_key("corpus", options) for options in changed)]
    assert len(set(keys)) == len(keys)
    assert index_key("corpus", Keyword(k1=0.9, b=0.4)) == index_key("corpus", base)
