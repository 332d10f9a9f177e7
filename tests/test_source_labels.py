"""Labels that name sources: any document of a source counts for it, once. By hand, against a slow twin, and trec_eval."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sources import examples, problems_of, put

import harness
from harness.candidates import merge_lists
from harness.cli import run
from harness.collection import DataFiles, Source, read_dataset
from harness.config import parse_config, read_config
from harness.files import pad_qrels, pad_sources
from harness.findings import missed_by_both
from harness.folder import read_prepared, read_study
from harness.hybrid import Hybrid
from harness.insight import find_holes, worst_losses
from harness.measures import MEASURES, Measure, Ranking, parse_measure, prepare_judgements, score_all, score_queries
from harness.prepare import read_data
from harness.profiles import profile
from harness.runs import read_foreign_runs
from harness.types import Conventions, Params, RankedLists

__all__ = ["examples"]  # the fixture
SOURCES = (0, 0, 1, 1, 1, 2, 2, 3, 4, 4)  # of ten documents
ROWS = {source: [row for row, of in enumerate(SOURCES) if of == source] for source in set(SOURCES)}


def judge(each: Sequence[Mapping[int, int]]) -> Any:
    """Grades by source as qrels; a source that no document has is missing from the corpus."""
    return pad_sources([{str(s): (grade, ROWS.get(s, [100 + s])) for s, grade in grades.items()} for grades in each])


def rank_list(qrels: Any, listed: Sequence[Sequence[int]]) -> Ranking:
    """Where the judged rows stand in these lists of rows."""
    ranks = np.full(qrels.rows.shape, np.inf)
    for q, rows in enumerate(listed):
        for j, row in enumerate(qrels.rows[q]):
            if row in rows:
                ranks[q, j] = rows.index(row) + 1
    return Ranking(ranks, np.asarray([len(rows) for rows in listed], dtype=np.int32))


def test_by_hand() -> None:
    # Sources 0 (grade 1), 1 (grade 2), 3 (grade 0) and 9, which no document has (grade 1). R = 3.
    qrels = judge([{0: 1, 1: 2, 3: 0, 9: 1}])
    assert qrels.count_relevant(1).tolist() == [3] and qrels.count_relevant(2).tolist() == [1]
    # The list: 5 (source 2, unjudged), 3 (source 1), 4 (source 1 again), 1 (source 0), 7 (source 3, grade 0), 0 (source 0 again).
    ranking = rank_list(qrels, [[5, 3, 4, 1, 7, 0]])
    found = {
        name: float(scores[0]) for name, scores in score_all(ranking, prepare_judgements(qrels, Conventions()), [3, 5]).items()
    }
    assert found["Precision@3"] == 1 / 3 and found["Precision@5"] == 2 / 5  # the second document of source 1 earns nothing
    assert found["Recall@3"] == 1 / 3 and found["Recall@5"] == 2 / 3
    assert found["MRR"] == 1 / 2 and found["HitRate@3"] == 1.0
    assert found["MAP@5"] == pytest.approx((1 / 2 + 2 / 4) / 3, abs=1e-15)
    ideal = 2 / 1 + 1 / np.log2(3) + 1 / np.log2(4)
    assert found["nDCG@5"] == pytest.approx((2 / np.log2(3) + 1 / np.log2(5)) / ideal, abs=1e-12)
    assert found["Judged@3"] == 2 / 3 and found["Judged@5"] == 4 / 5  # both documents of source 1 are judged


def count_once(listed: Sequence[int], grades: Mapping[int, int], name: str, cutoff: int) -> float:
    """The twin: walk down the list, a source counts where it first stands."""
    seen: set[int] = set()
    gains: list[int | None] = []  # by rank: the grade, None where it is unjudged or not the source's first
    judged = 0
    for rank, row in enumerate(listed, 1):
        source = SOURCES[row]
        judged += rank <= cutoff and source in grades
        gains.append(grades.get(source) if source not in seen else None)
        seen.add(source)
    relevant = [rank for rank, grade in enumerate(gains, 1) if grade is not None and grade >= 1]
    within = [rank for rank in relevant if rank <= cutoff]
    total = sum(grade >= 1 for grade in grades.values())
    if name == "Precision":
        return len(within) / cutoff
    if name == "Recall":
        return len(within) / total
    if name == "HitRate":
        return float(bool(within))
    if name == "F1":
        p, r = len(within) / cutoff, len(within) / total
        return 2 * p * r / (p + r) if within else 0.0
    if name == "MRR":
        return 1 / within[0] if within else 0.0
    if name == "MAP":
        return sum(nth / rank for nth, rank in enumerate(within, 1)) / total
    if name == "nDCG":
        got = sum((grade or 0) / np.log2(rank + 1) for rank, grade in enumerate(gains[:cutoff], 1))
        best = sorted(grades.values(), reverse=True)[:cutoff]
        return got / sum(grade / np.log2(rank + 1) for rank, grade in enumerate(best, 1))
    return judged / min(cutoff, len(listed)) if listed else 0.0


grades = st.dictionaries(st.sampled_from([0, 1, 2, 3, 4, 9]), st.integers(0, 3), min_size=1).filter(lambda g: max(g.values()) > 0)
lists = st.permutations(range(len(SOURCES))).flatmap(lambda rows: st.integers(0, len(rows)).map(lambda n: rows[:n]))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(grades, lists), min_size=1, max_size=4), st.integers(1, 11))
def test_every_measure_is_the_slow_walk_down_the_list(cases: list[tuple[dict[int, int], list[int]]], cutoff: int) -> None:
    qrels = judge([grades for grades, _ in cases])
    ranking, judgements = rank_list(qrels, [listed for _, listed in cases]), prepare_judgements(qrels, Conventions())
    for name in MEASURES:
        scores = score_queries(Measure(name, cutoff), ranking, judgements)
        wanted = [count_once(listed, grades, name, cutoff) for grades, listed in cases]
        assert scores == pytest.approx(wanted, abs=1e-12), name


sides = st.dictionaries(st.integers(0, 9), st.integers(0, 8).map(lambda n: n / 8), max_size=8)


def make_hybrid(
    keyword: Sequence[dict[int, float]], semantic: Sequence[dict[int, float]], each: Sequence[dict[int, int]]
) -> Hybrid:
    both = []
    for lists in (keyword, semantic):
        rows, scores = np.full((len(lists), 8), -1, dtype=np.int32), np.full((len(lists), 8), np.nan)
        for i, of in enumerate(lists):
            for place, row in enumerate(sorted(of, key=lambda row: (-of[row], row))):
                rows[i, place], scores[i, place] = row, of[row]
        both.append(RankedLists(rows, scores))
    numbers = np.asarray(SOURCES, dtype=np.int32)
    return Hybrid(merge_lists(*both), judge(each), Conventions(), Params(depth=8), source_of=numbers)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(sides, sides, grades), min_size=1, max_size=3),
    st.sampled_from(["MAP@3", "MRR", "nDCG@5", "Recall@2", "Precision@4", "F1@3", "HitRate@1", "Judged@4"]),
    st.sampled_from(["minmax", "zscore", "rrf"]),
)
def test_the_exact_profile_is_direct_evaluation(cases: list[tuple[Any, Any, Any]], name: str, fusion: str) -> None:
    hybrid = make_hybrid(*map(list, zip(*cases, strict=True)))
    measure, params = parse_measure(name), Params(depth=8, fusion=fusion)
    _, lines, columns = hybrid.setting(params)
    profiles = profile(lines, columns, hybrid.judgements, measure)
    weights = np.unique(np.concatenate([[0.0, 1.0], profiles.points, profiles.middles]))
    wide = np.concatenate([[True], np.diff(weights) > 1e-8])  # a narrower step is its point
    for weight, scores in zip(weights[wide], profiles.scores_at(weights[wide]).T, strict=True):
        direct = score_queries(measure, hybrid.rank(replace(params, semantic_weight=float(weight))), hybrid.judgements)
        assert scores == pytest.approx(direct, abs=1e-12), weight


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(lists, st.dictionaries(st.integers(0, 9), st.integers(0, 2), min_size=1)), min_size=1, max_size=4))
def test_sources_of_one_document_each_are_documents(cases: list[tuple[list[int], dict[int, int]]]) -> None:
    plain = pad_qrels([grades for _, grades in cases])
    named = pad_sources([{str(row): (grade, [row]) for row, grade in grades.items()} for _, grades in cases])
    listed = [rows for rows, _ in cases]
    one = score_all(rank_list(plain, listed), prepare_judgements(plain, Conventions()), [1, 3, 10])
    other = score_all(rank_list(named, listed), prepare_judgements(named, Conventions()), [1, 3, 10])
    assert all(np.array_equal(one[name], other[name]) for name in one)


# ---- holes, losses, what both miss: a source once ----------------------------------------------------------------------


def test_an_unjudged_source_is_one_hole() -> None:
    # keyword: 0 (source 0, relevant), 2 3 (source 1, unjudged). semantic: 4 (source 1 again), 0.
    hybrid = make_hybrid([{0: 1.0, 2: 0.75, 3: 0.5}], [{4: 1.0, 0: 0.5}], [{0: 1}])
    kept, pick = Params(semantic_weight=0.0, depth=8), Params(semantic_weight=1.0, depth=8)
    holes = find_holes(hybrid, Conventions(), pick, kept, Measure("MRR", 10), 10)
    assert (holes.query.tolist(), holes.row.tolist()) == ([0], [2])
    assert (holes.in_pick.tolist(), holes.in_kept.tolist()) == ([1], [2])  # each list's first document of the source
    assert holes.change.tolist() == [0.5]  # relevant, it is first for the pick: from 1/2 − 1 to 1 − 1
    assert holes.lowest == holes.highest == -0.5  # both return the source: no bound moves


def test_a_source_is_lost_or_missed_once() -> None:
    # Source 1 (rows 2 3 4) is second under the kept list and fourth under the pick; source 4 (8 9) is beyond K = 3 in both.
    keyword = [{0: 1.0, 3: 0.875, 5: 0.75, 9: 0.5, 8: 0.25}]
    semantic = [{0: 1.0, 5: 0.875, 6: 0.75, 2: 0.625, 3: 0.5, 8: 0.25}]
    hybrid = make_hybrid(keyword, semantic, [{1: 1, 4: 1}])
    kept, pick = Params(semantic_weight=0.0, depth=8), Params(semantic_weight=1.0, depth=8)
    (loss,) = worst_losses(hybrid, pick, kept, np.asarray([-0.25]), 3)
    assert loss["documents"] == [{"row": 3, "rank_kept": 2, "rank": 4}]
    ((missed,),) = missed_by_both(hybrid, kept, pick, 3)[:1]
    assert (missed.row, missed.kept_rank, missed.pick_rank) == (8, 4, 6)


# ---- reading -----------------------------------------------------------------------------------------------------------

CORPUS = "id,text,page\na1,one red fox,a\na2,two red foxes,a\nb1,one blue fox,b\nc1,no animal,c\n"
QUERIES = '{"_id": "q1", "text": "red fox"}\n{"_id": "q2", "text": "blue"}\n'


def write_table(folder: Path, corpus: str = CORPUS, labels: str = "q1\ta\t2\nq1\tz\t1\nq2\tb\t1\n") -> DataFiles:
    put(folder / "c.csv", corpus), put(folder / "q.jsonl", QUERIES), put(folder / "l.tsv", labels)
    columns = {"source": "page"} if "page" in corpus.partition("\n")[0] else {}
    return DataFiles(Source(str(folder / "c.csv"), columns), folder / "q.jsonl", folder / "l.tsv", by_source=True)


def test_every_document_of_a_judged_source_has_its_grade(tmp_path: Path) -> None:
    dataset = read_dataset(write_table(tmp_path))
    assert dataset.sources == ("a", "a", "b", "c", "z") and dataset.doc_ids == ("a1", "a2", "b1", "c1", "z")
    assert dataset.qrels.rows.tolist() == [[0, 1, 4], [2, -1, -1]]
    assert dataset.qrels.grades.tolist() == [[2, 2, 1], [1, 0, 0]]
    assert dataset.qrels.sources is not None and dataset.qrels.sources.tolist() == [[0, 0, 1], [0, -1, -1]]
    assert dataset.counts.unknown_documents == 1 and dataset.counts.judgements == 3
    assert dataset.names_of([1, 0, 2]) == ["a", "a1", "b"]


WRONG = [
    (CORPUS.replace("page", "leaf"), "must say which source each document is of where collection.relevance is source"),
    (CORPUS.replace("c1,", "a,"), "no document may have the id of a source with several documents, got 'a'; rename either"),
    (CORPUS.replace("animal,c", "animal,"), "the source must not be empty, got nothing"),
]


@pytest.mark.parametrize(("corpus", "said"), WRONG)
def test_a_corpus_without_sound_sources_is_refused(corpus: str, said: str, tmp_path: Path) -> None:
    (problem,) = problems_of(lambda: read_dataset(write_table(tmp_path, corpus)))
    assert said in problem and "c.csv" in problem


def test_a_source_that_does_nothing_is_refused() -> None:
    corpus = {"path": "c.csv", "source": "page"}
    data = {"name": "x", "collection": {"corpus": corpus, "queries": "q", "qrels": "r"}}
    (problem,) = problems_of(lambda: parse_config(data))
    assert "corpus.source ('page') does nothing where labels name documents; set relevance: source, or take it out" in problem
    sources = {"queries": "q", "qrels": "r", "relevance": "source"}
    data = {"name": "x", "collection": sources, "keyword": {"run": "k.trec"}, "semantic": {"run": "s.trec"}}
    (problem,) = problems_of(lambda: parse_config(data))
    assert "collection.corpus: must be given, got nothing, and it says which source a document has" in problem


def test_an_answer_that_a_chunk_tears_makes_its_page_relevant(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    words = "Sentence number one is here. " * 8
    put(tmp_path / "pages/a.txt", f"{words}The code word is blue whale. {words}")
    put(tmp_path / "pages/b.txt", "Nothing of the kind. " * 5)
    put(tmp_path / "q.jsonl", '{"_id": "q1", "text": "what is it", "answers": ["here. The code word"]}\n')
    corpus = Source(str(tmp_path / "pages"), chunking=harness.chunks.Chunking(240, 0))
    files = DataFiles(corpus, tmp_path / "q.jsonl", None)
    (problem,) = problems_of(lambda: read_dataset(files))  # as documents: torn, and the only one
    assert "at least one answer must be in a document" in problem
    dataset = read_dataset(replace(files, by_source=True))
    assert {dataset.sources[row] for row in dataset.qrels.rows[0]} == {"a.txt"} and dataset.counts.remarks == ()


# ---- from start to finish ------------------------------------------------------------------------------------------------


@pytest.fixture
def tuned(examples: Path) -> Path:
    assert run(["tune", "configs/examples/page_labels.yaml"]) == 0
    return examples / "studies/page_labels"


def test_trec_eval_gives_the_study_s_numbers(tuned: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels: dict[str, dict[str, int]] = {}
    for line in (tuned / "runs/qrels.trec").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        assert doc_id not in qrels.setdefault(query_id, {})  # a page is judged once
        qrels[query_id][doc_id] = int(grade)
    assert {doc for grades in qrels.values() for doc in grades} <= {
        path.relative_to(ROOT / "corpora/examples/pages").as_posix() for path in (ROOT / "corpora/examples/pages").rglob("*.*")
    }
    systems = json.loads((tuned / "summary.json").read_text())["systems"]
    names = {
        "map": "MAP",
        "recip_rank": "MRR",
        "map_cut_5": "MAP@5",
        "P_5": "Precision@5",
        "recall_3": "Recall@3",
        "ndcg_cut_5": "nDCG@5",
    }
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "map_cut.5", "P.5", "recall.3", "ndcg_cut.5"})
    for system, means in systems.items():
        listed: dict[str, dict[str, float]] = {query_id: {} for query_id in qrels}
        for line in (tuned / f"runs/{system}.trec").read_text().splitlines():
            query_id, _, doc_id, _, score, _ = line.split()
            assert doc_id not in listed[query_id]
            listed[query_id][doc_id] = float(score)
        scored = evaluator.evaluate(listed)
        for theirs, ours in names.items():
            assert np.mean([scored[q][theirs] for q in qrels]) == pytest.approx(means[ours], abs=1e-9), (system, ours)


def test_the_study_runs_again_and_shows_itself(tuned: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "page_labels"]) == 0
    assert run(["reproduce", "page_labels", "--from-scratch"]) == 0
    assert run(["report", "page_labels"]) == 0
    assert run(["watch", "page_labels"]) == 0
    assert run(["search", "configs/examples/page_labels.yaml", "how long is a shift"]) == 0
    assert run(["check", "configs/examples/page_labels.yaml"]) == 0
    stored = read_study(tuned)
    prepared = read_prepared(stored)
    read = read_data(read_config(ROOT / "configs/examples/page_labels.yaml"))
    assert [query.query_id for query in read.queries] == [query.query_id for query in prepared.dataset.queries]
    assert np.array_equal(prepared.hybrid.judgements.relevant_total, read.qrels.count_relevant(1))
    with (tuned / "per_query.csv").open() as file:
        relevant = [int(row["relevant"]) for row in csv.DictReader(file)]
    assert relevant == read.qrels.count_relevant(1).tolist() and max(relevant) == 2  # pages, of several chunks each
    with (tuned / "to_judge.csv").open() as file:
        named = [(row["query_id"], row["doc_id"]) for row in csv.DictReader(file)]
    assert len(named) == len(set(named)) and all("#" not in doc_id for _, doc_id in named)


def test_a_run_may_name_pages_or_their_chunks(tuned: Path) -> None:
    dataset = read_data(read_config(ROOT / "configs/examples/page_labels.yaml"))
    by_page = tuned / "runs/pick.trec"
    prepared = read_prepared(read_study(tuned))
    summary = json.loads((tuned / "summary.json").read_text())
    params = Params(**{**summary["pick"]["params"], "rrf_k": summary["pick"]["params"].get("rrf_k", 60)})
    lines = []
    for query, (rows, scores) in zip(dataset.queries, prepared.hybrid.results(params), strict=True):
        lines += [
            f"{query.query_id} Q0 {dataset.doc_ids[row]} {rank} {-rank} x\n"
            for rank, (row, _) in enumerate(zip(rows, scores, strict=True), 1)
        ]
    by_chunk = put(tuned.parent / "chunks.trec", "".join(lines))
    judgements = prepare_judgements(dataset.qrels, Conventions())
    found = [
        score_all(ranking, judgements, [1, 3, 5]) for _, ranking, _ in read_foreign_runs([by_page, by_chunk], dataset, "doc_id")
    ]
    for name in found[0]:
        assert name.startswith("Judged") or found[0][name] == pytest.approx(found[1][name]), name
    assert float(found[0]["MRR"].mean()) == pytest.approx(summary["systems"]["pick"]["MRR"])


def test_labels_of_pages_without_the_key_are_told_what_they_lack(examples: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = yaml.safe_load((ROOT / "configs/examples/page_labels.yaml").read_text())
    data["collection"].pop("relevance")
    put(Path("other.yaml"), yaml.safe_dump(data))
    assert run(["tune", "other.yaml"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "judged documents must be in corpora/examples/pages: 0 of 7 found, missing 'guides/export.md'" in line
    assert line.endswith("they name the files of chunks: set collection.relevance: source")
    assert not Path("studies").exists()
