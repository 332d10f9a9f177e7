"""Measures: by hand, against a slow twin written here, against ir_measures, and against what trec_eval printed."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.collection import DataFiles, read_dataset
from harness.errors import HarnessError
from harness.files import pad_qrels, read_qrels, read_run
from harness.measures import (
    MEASURES,
    WITHOUT_CUTOFF,
    Measure,
    Ranking,
    describe,
    parse_measure,
    prepare_judgements,
    score_all,
    score_queries,
)
from harness.runs import rank_run
from harness.systems import score_system
from harness.types import Conventions

AllGrades = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[str]]
DEFAULTS = Conventions()
needs_collections = pytest.mark.skipif(
    "HARNESS_COLLECTIONS" not in os.environ, reason="HARNESS_COLLECTIONS must name the folder of the collections"
)


def foreign_folder(name: str) -> Path:
    return Path(os.environ["HARNESS_COLLECTIONS"]) / "trec_eval_cases" / name


def rank_by_hand(grades: AllGrades, run: Run) -> tuple[list[dict[int, int]], Ranking]:
    """Padded judgements and the judged documents' ranks, from plain dictionaries; queries in the order of `grades`."""
    doc_ids = sorted({doc for docs in grades.values() for doc in docs})
    row_of = {doc: row for row, doc in enumerate(doc_ids)}
    judged = [{row_of[doc]: grade for doc, grade in docs.items()} for docs in grades.values()]
    ranks = np.full((len(judged), max(1, *map(len, judged))), np.inf)
    for i, query_id in enumerate(grades):
        rank_of = {row_of[doc]: rank for rank, doc in enumerate(run.get(query_id, ()), 1) if doc in row_of}
        for j, row in enumerate(sorted(judged[i])):
            ranks[i, j] = rank_of.get(row, np.inf)
    returned = np.array([len(run.get(query_id, ())) for query_id in grades], dtype=np.int32)
    return judged, Ranking(ranks, returned)


def score_each(name: str, grades: AllGrades, run: Run, conventions: Conventions = DEFAULTS) -> list[float]:
    """The measure's score of every query, in the order of `grades`."""
    judged, ranking = rank_by_hand(grades, run)
    judgements = prepare_judgements(pad_qrels(judged), conventions)
    return [float(score) for score in score_queries(parse_measure(name), ranking, judgements)]


def score_one(name: str, grades: Mapping[str, int], ranked: Sequence[str], conventions: Conventions = DEFAULTS) -> float:
    return score_each(name, {"q": grades}, {"q": ranked}, conventions)[0]


def hits_at(ranks: Sequence[int], returned: int) -> list[str]:
    """A list of `returned` documents with relevant ones r1, r2, … at these ranks and unjudged ones elsewhere."""
    return [f"r{ranks.index(rank) + 1}" if rank in ranks else f"x{rank}" for rank in range(1, returned + 1)]


def relevant(total: int) -> dict[str, int]:
    return {f"r{i}": 1 for i in range(1, total + 1)}


# --- golden values of the definitions -------------------------------------------------------------------------------


def test_twelve_returned_eight_relevant_of_ten() -> None:
    ranked = hits_at([1, 2, 3, 4, 5, 6, 7, 8], 12)
    assert score_one("Precision@12", relevant(10), ranked) == pytest.approx(8 / 12)
    assert score_one("Recall@12", relevant(10), ranked) == pytest.approx(8 / 10)


def test_fifteen_returned_nine_relevant_precision_falls_and_recall_rises() -> None:
    ranked = hits_at([1, 2, 3, 4, 5, 6, 7, 8, 14], 15)
    assert score_one("Precision@15", relevant(10), ranked) == pytest.approx(9 / 15)
    assert score_one("Recall@15", relevant(10), ranked) == pytest.approx(9 / 10)


def test_two_of_the_first_five_relevant() -> None:
    assert score_one("Precision@5", relevant(4), hits_at([2, 5, 6], 8)) == pytest.approx(2 / 5)


def test_six_of_the_first_ten_relevant_of_eight() -> None:
    ranked = hits_at([1, 2, 4, 7, 9, 10, 11], 12)
    assert score_one("Precision@10", relevant(8), ranked) == pytest.approx(6 / 10)
    assert score_one("Recall@10", relevant(8), ranked) == pytest.approx(6 / 8)


def test_average_precision_of_hits_at_1_4_5_of_three() -> None:
    assert score_one("AP@6", relevant(3), hits_at([1, 4, 5], 6)) == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)
    assert score_one("AP@6", relevant(3), hits_at([1, 4, 5], 6)) == pytest.approx(0.7)


def test_average_precision_of_hits_at_1_4_of_two() -> None:
    assert score_one("AP", relevant(2), hits_at([1, 4], 5)) == pytest.approx((1 / 1 + 2 / 4) / 2)


@pytest.mark.parametrize("first", [2, 4])
def test_reciprocal_rank_is_one_over_the_first_relevant_rank(first: int) -> None:
    assert score_one("RR", relevant(2), hits_at([first, first + 1], 6)) == 1 / first


def test_mean_reciprocal_rank_of_four_queries() -> None:
    grades = {f"q{first}": relevant(1) for first in (1, 3, 6, 2)}
    run = {f"q{first}": hits_at([first], 7) for first in (1, 3, 6, 2)}
    assert score_each("MRR", grades, run) == [1, 1 / 3, 1 / 6, 1 / 2]
    assert np.mean(score_each("MRR", grades, run)) == pytest.approx(0.5)


@pytest.mark.parametrize("ranked", [["x", "y", "z"], []], ids=["nothing relevant", "empty list"])
@pytest.mark.parametrize(
    "conventions",
    [DEFAULTS, Conventions(2, "min(R,K)", "returned", "exponential"), Conventions(1, "retrieved", "returned", "linear")],
    ids=["defaults", "min(R,K)", "retrieved"],
)
def test_nothing_relevant_or_nothing_at_all_scores_0_by_every_measure(ranked: list[str], conventions: Conventions) -> None:
    judged, ranking = rank_by_hand({"q": {"a": 2, "b": 3}}, {"q": ranked})
    scores = score_all(ranking, prepare_judgements(pad_qrels(judged), conventions), [1, 3, 10])
    assert len(scores) == 3 * len(MEASURES) + len(WITHOUT_CUTOFF)
    assert {name: float(score[0]) for name, score in scores.items()} == dict.fromkeys(scores, 0.0)


def test_ap_denominators_of_twelve_relevant_at_ten_with_hits_at_1_and_3() -> None:
    total, ranked = 1 + 2 / 3, hits_at([1, 3], 10)
    assert score_one("AP@10", relevant(12), ranked) == pytest.approx(total / 12)
    assert score_one("AP@10", relevant(12), ranked, Conventions(ap_denominator="min(R,K)")) == pytest.approx(total / 10)
    assert score_one("AP@10", relevant(12), ranked, Conventions(ap_denominator="retrieved")) == pytest.approx(total / 2)


def test_ap_by_retrieved_without_cutoff_divides_by_the_relevant_documents_that_came_back() -> None:
    ranked = hits_at([1, 3], 10)
    assert score_one("MAP", relevant(12), ranked, Conventions(ap_denominator="retrieved")) == pytest.approx((1 + 2 / 3) / 2)
    assert score_one("MAP", relevant(12), ranked, Conventions(ap_denominator="min(R,K)")) == pytest.approx((1 + 2 / 3) / 12)


# --- cases M1 … M16 -------------------------------------------------------------------------------------------------


def test_m1_each_ap_denominator_gives_its_own_value() -> None:
    ranked = hits_at([1, 3], 3)
    values = {
        name: score_one("AP@3", relevant(4), ranked, Conventions(ap_denominator=name)) for name in ("R", "min(R,K)", "retrieved")
    }
    assert values == pytest.approx({"R": (1 + 2 / 3) / 4, "min(R,K)": (1 + 2 / 3) / 3, "retrieved": (1 + 2 / 3) / 2})
    assert score_one("AP@3", relevant(4), ranked) == values["R"]


def test_m1_the_convention_is_said_in_the_measures_description() -> None:
    said = [describe("MAP", Conventions(ap_denominator=name)) for name in ("R", "min(R,K)", "retrieved")]
    assert "min(R, K)" in said[1]
    assert len(set(said)) == 3


def test_m2_ap_and_recall_never_fall_as_k_grows_and_precision_does() -> None:
    ranked = hits_at([1, 4], 5)
    every_k = range(1, 6)
    assert [score_one(f"AP@{k}", relevant(2), ranked) for k in every_k] == pytest.approx([0.5, 0.5, 0.5, 0.75, 0.75])
    assert [score_one(f"Recall@{k}", relevant(2), ranked) for k in every_k] == pytest.approx([0.5, 0.5, 0.5, 1, 1])
    assert [score_one(f"Precision@{k}", relevant(2), ranked) for k in every_k] == pytest.approx([1, 1 / 2, 1 / 3, 2 / 4, 2 / 5])


M_GRADES = {
    "q1": {"a": 1, "b": 1, "c": 1, "d": 1},
    "q2": {"e": 1, "f": 0},
    "q3": {"g": 0},
    "q4": {"h": 1},
    "q5": {"i": 2, "j": 1},
    "q6": {"k": 1},
}
M_RUN = {"q1": ["a", "x", "b", "y", "c"], "q2": ["f", "e"], "q3": ["g"], "q5": ["i", "z"], "q9": ["a"]}
M_EXPECTED = {  # q1, q2, q4, q5, q6; q3 has no relevant document
    "AP@3": [(1 + 2 / 3) / 4, 1 / 2, 0, 1 / 2, 0],
    "RR@3": [1, 1 / 2, 0, 1, 0],
    "Recall@3": [2 / 4, 1, 0, 1 / 2, 0],
    "Precision@3": [2 / 3, 1 / 3, 0, 1 / 3, 0],
}


@pytest.fixture
def m_files(tmp_path: Path) -> tuple[DataFiles, Path]:
    """The fixture of the cases as files: a collection and a run."""
    documents = sorted({*"abcdefghijk", *"xyz"})
    (tmp_path / "corpus.jsonl").write_text("".join(f'{{"_id": "{doc}", "text": "text {doc}"}}\n' for doc in documents))
    queries = [*M_GRADES, "q9"]
    (tmp_path / "queries.jsonl").write_text("".join(f'{{"_id": "{query}", "text": "ask"}}\n' for query in queries))
    judgements = [f"{query}\t{doc}\t{grade}" for query, docs in M_GRADES.items() for doc, grade in docs.items()]
    (tmp_path / "qrels.tsv").write_text("\n".join(judgements) + "\n")
    lines = [f"{q} Q0 {doc} {rank} {100 - rank} tag" for q, docs in M_RUN.items() for rank, doc in enumerate(docs, 1)]
    (tmp_path / "run.trec").write_text("\n".join(lines) + "\n")
    files = DataFiles(tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    return files, tmp_path / "run.trec"


@pytest.mark.parametrize("name", M_EXPECTED)
def test_m_fixture_gives_the_values_of_the_table(name: str, m_files: tuple[DataFiles, Path]) -> None:
    files, run = m_files
    dataset = read_dataset(files)
    ranking = rank_run(read_run(run), dataset)
    scores = score_queries(parse_measure(name), ranking, prepare_judgements(dataset.qrels, DEFAULTS))
    assert [query.query_id for query in dataset.queries] == ["q1", "q2", "q4", "q5", "q6"]
    assert scores.tolist() == pytest.approx(M_EXPECTED[name], abs=1e-12)


def test_m3_a_judged_query_absent_from_the_run_scores_0_and_is_counted(m_files: tuple[DataFiles, Path]) -> None:
    """M3: q4 and q6 have no results; they stay in every mean."""
    files, run = m_files
    dataset = read_dataset(files)
    ranking = rank_run(read_run(run), dataset)
    judgements = prepare_judgements(dataset.qrels, DEFAULTS)
    system = score_system("run", None, ranking, judgements, objectives=[Measure("MAP", 3)], top_k=3, cutoffs=[3])
    assert system.queries_without_results == 2
    assert system.means()["queries_without_results"] == 2
    assert system.means()["MAP@3"] == pytest.approx(sum(M_EXPECTED["AP@3"]) / 5)


def test_m3_the_only_query_without_results_counts_one() -> None:
    judged, ranking = rank_by_hand({"q1": relevant(1), "q2": relevant(1)}, {"q1": ["r1"]})
    judgements = prepare_judgements(pad_qrels(judged), DEFAULTS)
    system = score_system("run", None, ranking, judgements, objectives=[Measure("Recall", 5)], top_k=5, cutoffs=[5])
    assert system.queries_without_results == 1
    assert system.means()["Recall@5"] == 0.5


def test_m4_a_query_without_a_relevant_document_is_left_out_counted_and_named(m_files: tuple[DataFiles, Path]) -> None:
    """M4: q3 is judged but has nothing relevant; q9 has results but no judgements. The mean is over five queries."""
    files, run = m_files
    dataset = read_dataset(files)
    assert dataset.counts.without_relevant == ("q3",)
    assert dataset.counts.without_judgements == ("q9",)
    ranking = rank_run(read_run(run), dataset)
    scores = score_queries(Measure("MAP", 3), ranking, prepare_judgements(dataset.qrels, DEFAULTS))
    assert scores.mean() == pytest.approx(0.283333, abs=5e-7)


def test_m4_the_rule_follows_the_relevance_threshold(m_files: tuple[DataFiles, Path]) -> None:
    dataset = read_dataset(m_files[0], relevance_threshold=2)
    assert [query.query_id for query in dataset.queries] == ["q5"]
    assert dataset.counts.without_relevant == ("q1", "q2", "q3", "q4", "q6")


def test_m6_precision_divides_by_k_where_fewer_came_back() -> None:
    ranked = hits_at([1, 2], 2)
    assert score_one("Precision@5", relevant(2), ranked) == 2 / 5
    assert score_one("Precision@5", relevant(2), ranked, Conventions(precision_denominator="returned")) == 2 / 2


def test_precision_by_returned_divides_by_k_where_enough_came_back() -> None:
    assert score_one("Precision@3", relevant(2), hits_at([1, 5], 6), Conventions(precision_denominator="returned")) == 1 / 3


def test_m7_a_first_relevant_document_at_rank_11_counts_without_cutoff_only() -> None:
    ranked = hits_at([11], 20)
    assert score_one("RR", relevant(1), ranked) == 1 / 11
    assert score_one("RR@10", relevant(1), ranked) == 0
    assert (str(parse_measure("RR")), str(parse_measure("RR@10"))) == ("MRR", "MRR@10")


M11_GRADES, M11_RANKED = {"a": 3, "b": 1, "c": 0, "d": -1}, ["d", "b", "a", "c"]


def test_m11_grades_of_0_and_below_are_never_relevant() -> None:
    assert score_one("AP", M11_GRADES, M11_RANKED) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert score_one("RR", M11_GRADES, M11_RANKED) == 1 / 2
    assert score_one("Precision@3", M11_GRADES, M11_RANKED) == 2 / 3


def test_m11_threshold_2_leaves_only_the_document_of_grade_3() -> None:
    assert score_one("AP", M11_GRADES, M11_RANKED, Conventions(relevance_threshold=2)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("threshold", [0, -5])
def test_m11_a_threshold_below_1_does_not_make_grade_0_relevant(threshold: int) -> None:
    conventions = Conventions(relevance_threshold=threshold)
    assert score_one("AP", M11_GRADES, M11_RANKED, conventions) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_m16_recalls_of_one_in_one_and_none_in_nine_average_to_a_half() -> None:
    grades = {"q1": relevant(1), "q2": relevant(9)}
    scores = score_each("Recall@10", grades, {"q1": ["r1"], "q2": ["x"]})
    assert scores == [1, 0]
    assert np.mean(scores) == 0.5


# --- nDCG, F1, Judged, HitRate --------------------------------------------------------------------------------------


def test_ndcg_has_linear_gain_and_0_for_grades_below_0() -> None:
    dcg = 1 / math.log2(3) + 3 / math.log2(4)  # d at rank 1 has grade -1
    assert score_one("nDCG@4", M11_GRADES, M11_RANKED) == pytest.approx(dcg / (3 + 1 / math.log2(3)))


def test_ndcg_with_exponential_gain() -> None:
    dcg = (2**1 - 1) / math.log2(3) + (2**3 - 1) / math.log2(4)
    ideal = (2**3 - 1) + (2**1 - 1) / math.log2(3)
    assert score_one("nDCG@4", M11_GRADES, M11_RANKED, Conventions(gain="exponential")) == pytest.approx(dcg / ideal)


def test_ndcg_ideal_order_stops_at_k_and_holds_documents_that_were_not_returned() -> None:
    assert score_one("nDCG@1", {"a": 1, "b": 3}, ["a", "x"]) == pytest.approx(1 / 3)
    assert score_one("nDCG@2", {"a": 1, "b": 3}, ["a", "x"]) == pytest.approx(1 / (3 + 1 / math.log2(3)))


def test_the_relevance_threshold_plays_no_part_in_ndcg() -> None:
    values = {score_one("nDCG@3", M11_GRADES, M11_RANKED, Conventions(relevance_threshold=t)) for t in (1, 2, 3)}
    assert len(values) == 1
    assert min(values) > 0


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    p, r = 2 / 5, 2 / 3
    assert score_one("F1@5", relevant(3), hits_at([1, 4], 7)) == pytest.approx(2 * p * r / (p + r))


def test_judged_is_the_share_of_the_first_min_k_n_with_any_judgement() -> None:
    grades = {"a": 1, "b": 0, "c": -1}
    assert score_one("Judged@4", grades, ["a", "x", "b", "c", "y"]) == 3 / 4
    assert score_one("Judged@10", grades, ["x", "c"]) == 1 / 2


@pytest.mark.parametrize(("cutoff", "expected"), [(2, 0.0), (3, 1.0), (9, 1.0)])
def test_hit_rate_is_1_from_the_first_relevant_rank_on(cutoff: int, expected: float) -> None:
    assert score_one(f"HitRate@{cutoff}", relevant(2), hits_at([3], 5)) == expected


def test_a_relevant_document_that_the_corpus_lacks_stays_in_r() -> None:
    """D12 at the level of measures: it is never returned, so recall cannot reach 1."""
    assert score_one("Recall@10", {"r1": 1, "not in the corpus": 1}, ["r1"]) == 1 / 2


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Success@5", Measure("HitRate", 5)),
        ("P@5", Measure("Precision", 5)),
        ("R@5", Measure("Recall", 5)),
        ("RR@5", Measure("MRR", 5)),
        ("RR", Measure("MRR", None)),
        ("AP@5", Measure("MAP", 5)),
        ("AP", Measure("MAP", None)),
        ("MAP@top_k", Measure("MAP", "top_k")),
        ("nDCG@10", Measure("nDCG", 10)),
    ],
)
def test_aliases_name_the_same_measure(text: str, expected: Measure) -> None:
    assert parse_measure(text) == expected


@pytest.mark.parametrize("name", [*(f"{name}@7" for name in MEASURES), "MAP", "MRR", "nDCG@top_k"])
def test_a_measures_name_reads_back_as_itself(name: str) -> None:
    assert str(parse_measure(name)) == name


@pytest.mark.parametrize("text", ["NDGC@10", "map@10", "MAP@0", "MAP@-1", "MAP@1.5", "MAP@", "@10", "", "Recall", "nDCG", "F1@k"])
def test_what_names_no_measure_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        parse_measure(text)


def test_a_misspelt_measure_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(ValueError, match="nearest: Recall"):
        parse_measure("Recal@10")


def test_an_objective_at_top_k_is_scored_at_the_trials_own_k() -> None:
    objective = parse_measure("MAP@top_k")
    judged, ranking = rank_by_hand({"q": relevant(2)}, {"q": hits_at([1, 4], 5)})
    judgements = prepare_judgements(pad_qrels(judged), DEFAULTS)
    assert score_queries(objective.at(3), ranking.cut(3), judgements)[0] == 0.5
    assert score_queries(objective.at(4), ranking.cut(4), judgements)[0] == 0.75
    with pytest.raises(ValueError, match="top_k"):
        score_queries(objective, ranking, judgements)


def test_a_cut_list_ends_after_top_k_for_a_measure_with_a_larger_cutoff() -> None:
    """MAP@10 of a trial with top_k 5 is computed on 5 documents."""
    judged, ranking = rank_by_hand({"q": relevant(2)}, {"q": hits_at([5, 6], 10)})
    judgements = prepare_judgements(pad_qrels(judged), Conventions(precision_denominator="returned"))
    cut = ranking.cut(5)
    assert score_queries(Measure("MAP", 10), cut, judgements)[0] == pytest.approx((1 / 5) / 2)
    assert score_queries(Measure("Precision", 10), cut, judgements)[0] == 1 / 5
    assert cut.returned.tolist() == [5]


# --- against a slow twin --------------------------------------------------------------------------------------------


def slow_hits(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> list[int]:
    relevant_docs = [doc for doc, grade in grades.items() if grade >= c.relevance_threshold and grade > 0]
    return [rank for rank, doc in enumerate(ranked, 1) if doc in relevant_docs and rank <= k]


def slow_total(grades: Mapping[str, int], c: Conventions) -> int:
    return len([grade for grade in grades.values() if grade >= c.relevance_threshold and grade > 0])


def slow_hit_rate(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    return 1.0 if slow_hits(grades, ranked, k, c) else 0.0


def slow_precision(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    divisor = k if c.precision_denominator == "K" else min(k, len(ranked))
    return len(slow_hits(grades, ranked, k, c)) / divisor if divisor else 0.0


def slow_recall(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    total = slow_total(grades, c)
    return len(slow_hits(grades, ranked, k, c)) / total if total else 0.0


def slow_f1(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    p, r = slow_precision(grades, ranked, k, c), slow_recall(grades, ranked, k, c)
    return 2 / (1 / p + 1 / r) if p and r else 0.0


def slow_rr(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    hits = slow_hits(grades, ranked, k, c)
    return 1 / hits[0] if hits else 0.0


def slow_ap(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    hits = slow_hits(grades, ranked, k, c)
    total = slow_total(grades, c)
    divisor = {"R": total, "min(R,K)": min(total, k), "retrieved": len(hits)}[c.ap_denominator]
    return sum(i / rank for i, rank in enumerate(hits, 1)) / divisor if divisor else 0.0


def slow_gain(grade: int, c: Conventions) -> float:
    if grade <= 0:
        return 0.0
    return 2.0**grade - 1 if c.gain == "exponential" else float(grade)


def slow_ndcg(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    def total(gains: Sequence[float]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1) if rank <= k)

    ideal = total(sorted((slow_gain(grade, c) for grade in grades.values()), reverse=True))
    return total([slow_gain(grades.get(doc, 0), c) for doc in ranked]) / ideal if ideal else 0.0


def slow_judged(grades: Mapping[str, int], ranked: Sequence[str], k: float, c: Conventions) -> float:
    first = ranked[: int(min(k, len(ranked)))]
    return sum(doc in grades for doc in first) / len(first) if first else 0.0


SLOW: dict[str, Callable[[Mapping[str, int], Sequence[str], float, Conventions], float]] = {
    "HitRate": slow_hit_rate,
    "Precision": slow_precision,
    "Recall": slow_recall,
    "F1": slow_f1,
    "MRR": slow_rr,
    "MAP": slow_ap,
    "nDCG": slow_ndcg,
    "Judged": slow_judged,
}


def test_the_slow_twin_knows_every_measure() -> None:
    assert set(SLOW) == set(MEASURES)


DOCUMENTS = [f"d{i}" for i in range(9)]
all_grades = st.lists(st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 4), min_size=1), min_size=1, max_size=4).map(
    lambda each: {f"q{i}": grades for i, grades in enumerate(each)}
)
rankings = st.permutations(DOCUMENTS).flatmap(lambda docs: st.integers(0, len(docs)).map(lambda n: docs[:n]))
runs = st.lists(rankings, min_size=4, max_size=4).map(lambda each: {f"q{i}": docs for i, docs in enumerate(each)})
all_conventions = st.builds(
    Conventions,
    relevance_threshold=st.integers(1, 3),
    ap_denominator=st.sampled_from(["R", "min(R,K)", "retrieved"]),
    precision_denominator=st.sampled_from(["K", "returned"]),
    gain=st.sampled_from(["linear", "exponential"]),
)


@given(all_grades, runs, all_conventions, st.integers(1, 12))
def test_every_measure_equals_the_slow_twin(grades: AllGrades, run: Run, conventions: Conventions, cutoff: int) -> None:
    judged, ranking = rank_by_hand(grades, run)
    scores = score_all(ranking, prepare_judgements(pad_qrels(judged), conventions), [cutoff])
    for name in [*(f"{name}@{cutoff}" for name in MEASURES), *WITHOUT_CUTOFF]:
        k = cutoff if "@" in name else math.inf
        expected = [SLOW[name.partition("@")[0]](grades[q], run[q], k, conventions) for q in grades]
        assert scores[name].tolist() == pytest.approx(expected, abs=1e-12), name


@given(all_grades, runs, all_conventions)
def test_every_score_lies_between_0_and_1(grades: AllGrades, run: Run, conventions: Conventions) -> None:
    judged, ranking = rank_by_hand(grades, run)
    for name, scores in score_all(ranking, prepare_judgements(pad_qrels(judged), conventions), [1, 4, 20]).items():
        assert ((scores >= 0) & (scores <= 1 + 1e-12)).all(), name


# --- invariants -----------------------------------------------------------------------------------------------------


@given(
    all_grades,
    runs,
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from(["R", "min(R,K)"]),
    st.sampled_from(["K", "returned"]),
    st.sampled_from(["linear", "exponential"]),
)
def test_moving_a_relevant_document_up_never_lowers_a_measure(
    grades: AllGrades, run: Run, cutoff: int, threshold: int, ap: str, precision: str, gain: str
) -> None:
    """One step up, past a document that is not relevant. (`retrieved` can fall: that is why the convention is printed.)"""
    conventions = Conventions(threshold, ap, precision, gain)
    for query_id, ranked in run.items():
        judged = grades.get(query_id, {})
        is_relevant = [judged.get(doc, 0) >= threshold for doc in ranked]
        for i in range(1, len(ranked)):
            if not is_relevant[i] or is_relevant[i - 1]:
                continue
            moved = [*ranked[: i - 1], ranked[i], ranked[i - 1], *ranked[i + 1 :]]
            for name in [*(f"{name}@{cutoff}" for name in MEASURES), *WITHOUT_CUTOFF]:
                before, after = (score_one(name, judged, docs, conventions) for docs in (ranked, moved))
                assert after >= before - 1e-12, name


def test_moving_a_relevant_document_up_can_lower_ap_by_retrieved() -> None:
    """The remark of the conventions' table: this denominator does not punish missed documents."""
    by_retrieved = Conventions(ap_denominator="retrieved")
    before = score_one("AP@4", relevant(2), hits_at([1, 5], 5), by_retrieved)
    after = score_one("AP@4", relevant(2), hits_at([1, 4], 5), by_retrieved)
    assert (before, after) == (1, (1 + 2 / 4) / 2)


@given(all_grades, runs, all_conventions)
def test_measures_that_grow_with_k_never_fall(grades: AllGrades, run: Run, conventions: Conventions) -> None:
    by_r = Conventions(relevance_threshold=conventions.relevance_threshold)
    for name in ("HitRate", "Recall", "MRR", "MAP"):
        by_k = np.array([score_each(f"{name}@{k}", grades, run, by_r) for k in range(1, 11)])
        assert (np.diff(by_k, axis=0) >= -1e-12).all(), name


@given(all_grades, runs, all_conventions)
def test_scoring_leaves_its_inputs_unchanged(grades: AllGrades, run: Run, conventions: Conventions) -> None:
    judged, ranking = rank_by_hand(grades, run)
    judgements = prepare_judgements(pad_qrels(judged), conventions)
    arrays = [*vars(ranking).values(), *(a for a in vars(judgements).values() if isinstance(a, np.ndarray))]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    score_all(ranking.cut(3), judgements, [1, 5])
    score_all(ranking, judgements, [1, 5])
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


@given(all_grades, runs, all_conventions)
def test_the_order_of_the_judgements_decides_nothing(grades: AllGrades, run: Run, conventions: Conventions) -> None:
    backwards = {query: dict(reversed(docs.items())) for query, docs in grades.items()}
    for name in (*(f"{name}@3" for name in MEASURES), *WITHOUT_CUTOFF):
        assert score_each(name, grades, run, conventions) == score_each(name, backwards, run, conventions)


# --- against ir_measures --------------------------------------------------------------------------------------------

IR_CUTOFFS = (1, 3, 5, 10)
# ours → ir_measures', with rel= where ir_measures has it; F1 has no counterpart with a cutoff
IR_NAMES = {
    "HitRate": "Success(rel={rel})@{k}",
    "Precision": "P(rel={rel})@{k}",
    "Recall": "R(rel={rel})@{k}",
    "MRR": "RR(rel={rel})@{k}",
    "MAP": "AP(rel={rel})@{k}",
    "nDCG": "nDCG@{k}",
    "Judged": "Judged@{k}",
}


def random_collection(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """Six queries over forty documents with grades from -1 to 3, and a run that lacks the last query."""
    draw = np.random.default_rng(seed)
    documents = [f"doc{i:02d}" for i in range(40)]
    grades: dict[str, dict[str, int]] = {}
    run: dict[str, list[str]] = {}
    for q in range(6):
        judged = draw.choice(documents, size=int(draw.integers(1, 25)), replace=False)
        grades[f"q{q}"] = {str(doc): int(draw.integers(-1, 4)) for doc in judged}
        grades[f"q{q}"]["doc00"] = 2  # so that ir_measures too counts the query at both thresholds
        if q < 5:
            run[f"q{q}"] = [str(doc) for doc in draw.permutation(documents)[: int(draw.integers(1, 40))]]
    return grades, run


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rel", [1, 2])
def test_scores_equal_ir_measures_per_query(seed: int, rel: int) -> None:
    grades, run = random_collection(seed)
    qrels = [ir_measures.Qrel(q, doc, grade) for q, docs in grades.items() for doc, grade in docs.items()]
    scored = [ir_measures.ScoredDoc(q, doc, float(-rank)) for q, docs in run.items() for rank, doc in enumerate(docs)]
    theirs_of = {f"{name}@{k}": IR_NAMES[name].format(rel=rel, k=k) for name in IR_NAMES for k in IR_CUTOFFS}
    theirs_of |= {"MAP": f"AP(rel={rel})", "MRR": f"RR(rel={rel})"}
    parsed = {ours: ir_measures.parse_measure(theirs) for ours, theirs in theirs_of.items()}
    theirs = {
        (metric.query_id, str(metric.measure)): metric.value for metric in ir_measures.iter_calc(parsed.values(), qrels, scored)
    }
    for ours, measure in parsed.items():
        expected = [theirs.get((query, str(measure)), 0.0) for query in grades]
        scores = score_each(ours, grades, run, Conventions(relevance_threshold=rel))
        assert scores == pytest.approx(expected, abs=1e-9), ours
    assert sum(value > 0 for value in theirs.values()) > len(parsed)


@pytest.mark.parametrize("seed", range(4))
def test_exponential_gain_equals_ir_measures_with_mapped_gains(seed: int) -> None:
    grades, run = random_collection(seed)
    qrels = [ir_measures.Qrel(q, doc, grade) for q, docs in grades.items() for doc, grade in docs.items()]
    scored = [ir_measures.ScoredDoc(q, doc, float(-rank)) for q, docs in run.items() for rank, doc in enumerate(docs)]
    measure = ir_measures.nDCG(gains={0: 0, 1: 1, 2: 3, 3: 7}) @ 10
    theirs = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, scored)}
    scores = score_each("nDCG@10", grades, run, Conventions(gain="exponential"))
    assert scores == pytest.approx([theirs.get(query, 0.0) for query in grades], abs=1e-9)


# --- foreign values from a folder -----------------------------------------------------------------------------------

TREC_NAMES = {
    "map": "MAP",
    "map_cut": "MAP",
    "recip_rank": "MRR",
    "P": "Precision",
    "recall": "Recall",
    "ndcg_cut": "nDCG",
    "success": "HitRate",
}
PRINTED = 5e-5 + 1e-9  # trec_eval prints four decimals


def our_name(trec_name: str) -> str | None:
    """Ours for a name that trec_eval prints, None where measures of ours do not define it."""
    name, _, last = trec_name.rpartition("_")
    if trec_name in ("map", "recip_rank"):
        return TREC_NAMES[trec_name]
    return f"{TREC_NAMES[name]}@{last}" if name in TREC_NAMES and last.isdigit() else None


def read_printed(path: Path) -> dict[str, dict[str, float]]:
    """Our measure → query (or `all`) → the value as printed."""
    printed: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        trec_name, query_id, value = line.split()
        ours = our_name(trec_name)
        if ours is not None:
            printed.setdefault(ours, {})[query_id] = float(value)
    return printed


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for judgement in read_qrels(path):
        grades.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.grade
    return grades


def without_remarks(path: Path, folder: Path) -> Path:
    """The run with six columns a line: trec_eval's own test file has words behind the tag, which it does not read."""
    plain = folder / path.name
    plain.write_text("".join(" ".join(line.split()[:6]) + "\n" for line in path.read_text().splitlines()))
    return plain


def compare_printed(
    printed: Mapping[str, Mapping[str, float]], grades: AllGrades, run: Run, conventions: Conventions = DEFAULTS
) -> int:
    """Every printed value against ours; the number of values compared."""
    wrong, compared = [], 0
    for ours, values in printed.items():
        scores = dict(zip(grades, score_each(ours, grades, run, conventions), strict=True))
        for query_id, value in values.items():
            score = float(np.mean(list(scores.values()))) if query_id == "all" else scores[query_id]
            compared += 1
            if abs(score - value) > PRINTED:
                wrong.append((ours, query_id, value, score))
    assert not wrong
    return compared


@needs_collections
@pytest.mark.parametrize(
    ("expected", "qrels", "results", "top", "threshold", "at_least"),
    [
        ("out.test", "qrels.test", "results.test", None, 1, 11),
        ("out.test.a", "qrels.test", "results.test", None, 1, 41),
        ("out.test.aq", "qrels.test", "results.test", None, 1, 164),
        ("out.test.aqc", "qrels.test", "results.trunc", None, 1, 164),
        ("out.test.aqcM", "qrels.test", "results.trunc", 100, 1, 164),
        ("out.test.aql", "qrels.rel_level", "results.test", None, 2, 164),
        ("out.test.meas_params", "qrels.test", "results.test", None, 1, 44),
    ],
)
def test_trec_eval_9_printed_these_values(
    expected: str, qrels: str, results: str, top: int | None, threshold: int, at_least: int, tmp_path: Path
) -> None:
    folder = foreign_folder("trec_eval_test")
    printed = read_printed(folder / expected)
    run = {q: docs[:top] for q, docs in read_run(without_remarks(folder / results, tmp_path), ties="trec_eval").items()}
    conventions = Conventions(relevance_threshold=threshold)
    assert compare_printed(printed, read_grades(folder / qrels), run, conventions) >= at_least


@needs_collections
def test_a_qrels_file_with_comment_lines_is_refused() -> None:
    path = foreign_folder("trec_eval_test") / "qrels.test.with-comments"
    with pytest.raises(HarnessError, match=f"{path.name}:1:"):
        read_qrels(path)


IR_CASES = {"Success": "HitRate", "P": "Precision", "R": "Recall", "RR": "MRR", "AP": "MAP", "nDCG": "nDCG"}


def ir_case(measure: str) -> tuple[str, Conventions] | None:
    """Our measure and conventions for a case of ir_measures, None where ours do not define it."""
    text = measure.replace(" ", "")
    name = text.partition("@")[0].partition("(")[0]
    params = text[len(name) :].partition("@")[0].strip("()")
    cutoff = text.partition("@")[2]
    if name not in IR_CASES or (not cutoff and name not in ("AP", "RR")):
        return None
    conventions = Conventions(
        relevance_threshold=int(params.removeprefix("rel=")) if params.startswith("rel=") else 1,
        gain="exponential" if "exp-log2" in params else "linear",
    )
    return IR_CASES[name] + (f"@{cutoff}" if cutoff else ""), conventions


def digits_given(value: float) -> float:
    """Half of the last digit where the value was written with four to six decimals, else what floats can differ by."""
    decimals = len(repr(value).partition(".")[2])
    return 0.5 * 10**-decimals + 1e-12 if 4 <= decimals <= 6 else 1e-12


@needs_collections
def test_ir_measures_own_cases_hold(tmp_path: Path) -> None:
    """Values of its unit tests, for the measures that are ours too."""
    cases = json.loads((foreign_folder("ir_measures") / "cases.json").read_text())
    compared = 0
    for number, case in enumerate(cases):
        known = ir_case(case["measure"])
        if known is None:
            continue
        name, conventions = known
        if case["source"] == "test_gdeval.py":  # gdeval's nDCG has the exponential gain, and prints five decimals
            conventions = Conventions(gain="exponential")
        qrels, run = tmp_path / f"{number}.qrels", tmp_path / f"{number}.run"
        qrels.write_text(case["qrels"].lstrip())
        run.write_text(case["run"].lstrip())
        grades, ranked = read_grades(qrels), read_run(run, ties="trec_eval")
        scores = score_each(name, grades, ranked, conventions)
        if "query_index" in case:
            value = scores[case["query_index"]]
        elif case["query"] == "all":
            value = sum(scores) / len(scores)  # the queries without a relevant document score 0 here too
        else:
            value = scores[list(grades).index(case["query"])]
        assert value == pytest.approx(case["value"], abs=digits_given(case["value"]), rel=0), case
        compared += 1
    assert compared == 48


def unzip(path: Path, folder: Path) -> Path:
    plain = folder / path.name.removesuffix(".gz")
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


GLASGOW = [(s, m) for s in ("medline", "cacm", "npl_vaswani") for m in ("bm25", "minil6", "mpnetv2", "glove")]


@needs_collections
@pytest.mark.parametrize(("collection", "model"), GLASGOW)
def test_published_runs_have_their_published_map(collection: str, model: str, tmp_path: Path) -> None:
    folder = foreign_folder("published_runs_glasgow")
    grades = read_grades(folder / f"{collection}.published.qrels")
    run = read_run(unzip(folder / f"{collection}.{model}.run.gz", tmp_path), ties="trec_eval")
    printed = read_printed(folder / f"{collection}.{model}.map.txt")
    assert compare_printed(printed, grades, run) == len(grades) + 1
    summary = json.loads((folder / "summary.json").read_text())[f"{collection}/{model}"]
    assert summary["queries"] == len(grades)
    means = {"nDCG10": "nDCG@10", "R100": "Recall@100", "P10": "Precision@10", "MRR": "MRR", "map": "MAP"}
    for key, name in means.items():
        assert np.mean(score_each(name, grades, run)) == pytest.approx(summary[key], abs=PRINTED), key


@needs_collections
@pytest.mark.parametrize(("collection", "model"), GLASGOW)
def test_published_runs_have_the_corrected_means_once_ids_are_written_alike(collection: str, model: str, tmp_path: Path) -> None:
    """The published judgements pad some ids with zeros (`0756`), the runs do not; `0756` is not `756` until mended."""
    folder = foreign_folder("published_runs_glasgow")
    published = read_grades(folder / f"{collection}.published.qrels")
    grades = {q: {doc.lstrip("0"): grade for doc, grade in docs.items()} for q, docs in published.items()}
    run = read_run(unzip(folder / f"{collection}.{model}.run.gz", tmp_path), ties="trec_eval")
    summary = json.loads((folder / "summary.json").read_text())[f"{collection}/{model}"]
    assert sum(doc.startswith("0") for docs in published.values() for doc in docs) == summary["zero_padded_qrels"]
    for trec_name, value in summary["corrected"].items():
        assert np.mean(score_each(our_name(trec_name) or "", grades, run)) == pytest.approx(value, abs=PRINTED), trec_name


@needs_collections
def test_a_production_run_scores_by_its_given_rank_order() -> None:
    """Its scores tie often, so the rank column decides; queries without a hit count 0."""
    folder = foreign_folder("cnil_epitca_run")
    expected = json.loads((folder / "expected.json").read_text())
    grades, run = read_grades(folder / "qrels.txt"), read_run(folder / "run.txt", ties="rank")
    assert len(grades) == expected["queries"]
    for k in (1, 3, 10):
        assert np.mean(score_each(f"HitRate@{k}", grades, run)) == pytest.approx(expected[f"success_{k}"], abs=PRINTED)
    assert sum(score_each("HitRate@10", grades, run)) == expected["found"]
    assert np.mean(score_each("MRR", grades, run)) == pytest.approx(expected["mrr"], abs=PRINTED)
