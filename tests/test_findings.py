"""What a report shows is what the study's files say: every number against its file, or computed a second, slow way."""

from __future__ import annotations

import contextlib
import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import yaml
from conftest import PROMPTS, ROOT, write_collection
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.candidates import merge_lists
from harness.choice import GRID
from harness.commands.report import find
from harness.config import INDEX_PARAMS, parse_config
from harness.engines import RANK_FUSIONS
from harness.files import pad_qrels
from harness.findings import (
    MOST_CUTOFFS,
    SHOWN_MISSED,
    SHOWN_RESULTS,
    Findings,
    Mark,
    Sensitivity,
    cutoffs_shown,
    first_results,
    missed_by_both,
    pareto_front,
)
from harness.folder import read_study, read_trials
from harness.hybrid import Hybrid
from harness.importance import FEWEST_TRIALS, importances
from harness.measures import Measure, score_queries
from harness.prepare import Prepared
from harness.study import Trial
from harness.types import Conventions, FloatArray, Params, RankedLists

WEIGHT = {"low": 0.0, "high": 1.0}
SPACE = {"semantic_weight": WEIGHT, "top_k": {"low": 2, "high": 8}, "fusion": ["minmax", "zscore", "rrf"]}
SPACE_RRF = {**SPACE, "rrf_k": {"low": 1, "high": 100, "log": True}}


def searching(space: dict[str, Any], trials: int = 12, **more: Any) -> dict[str, Any]:
    return {"trials": trials, "space": space, **more}


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "current": {"current": {"semantic_weight": 0.3, "fusion": "zscore", "top_k": 4, "depth": 6}},
    "held out": {"held_out": 0.25},
    "two objectives": {"objective": ["MAP@5", "Recall@3"], "search": searching(SPACE, sampler="nsgaii")},
    "one prompt": {"prompts": ["q03"]},
    "no groups": {"groups": False},
    "clusters": {"clusters": True, "objective": "nDCG@5"},
    "opensearch": {
        "engine": "opensearch", "fusion": "min_max",
        "search": searching({"semantic_weight": WEIGHT, "fusion": ["min_max", "z_score", "rrf"]}),
    },
    "qdrant": {
        "engine": "qdrant", "current": {"rrf_k": 2, "fusion": "rrf"},
        "search": searching({"semantic_weight": WEIGHT, "rrf_k": [1, 2, 60]}),
    },
    "bm25": {
        "depth": 6,
        "search": searching(
            {"semantic_weight": {"low": 0.1, "high": 0.7}, "k1": [0.2, 3.0], "b": {"low": 0.0, "high": 0.5}, "depth": [2, 3]}
        ),
    },
    "exact": {"objective": "F1@top_k", "search": searching(SPACE, 42, sampler="exact")},
    "grades": {"measures": {"relevance_threshold": 2, "precision_denominator": "returned"}},
}  # fmt: skip
NAMES = [*VARIANTS, "reference"]
SINGLE = [name for name in NAMES if name != "two objectives"]


@dataclass(frozen=True)
class Study:
    """A finished study, and what it has to show."""

    folder: Path
    config_file: Path
    findings: Findings
    prepared: Prepared

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def column(self, name: str, column: str) -> list[float]:
        return [float(row[column]) for row in self.table(name)]

    def run_of(self, system: str) -> dict[str, list[str]]:
        """Per prompt the documents of a run, best first."""
        lists: dict[str, list[str]] = {query: [] for query in self.query_ids}
        for line in (self.folder / "runs" / f"{system}.trec").read_text().splitlines():
            query, _, document, rank, *_ = line.split()
            lists[query].append(document)
            assert int(rank) == len(lists[query])
        return lists

    @property
    def query_ids(self) -> list[str]:
        return [query.query_id for query in self.prepared.dataset.queries]

    @property
    def summary(self) -> Any:
        return json.loads((self.folder / "summary.json").read_text())

    @property
    def kept(self) -> str:
        return self.findings.prompts.kept

    def scores(self, **changes: Any) -> FloatArray:
        """Each prompt's objective at the pick with these changes, directly."""
        return direct(self, replace(self.findings.settings["pick"], **changes))


def direct(study: Study, params: Params) -> FloatArray:
    """Each prompt's objective, straight from ranking and measure, as docs/measures.md has it: on the list as cut at top_k."""
    hybrid = study.prepared.hybrid
    objective = study.findings.config.objectives[0].at(params.top_k)
    return score_queries(objective, hybrid.rank(params).cut(params.top_k), hybrid.judgements)


def rewrite(folder: Path, *, prompts: Sequence[str] | None, groups: bool, clusters: bool) -> dict[str, str]:
    """The garden with some of its prompts only, without groups, or with three prompts a cluster."""
    collection = write_collection(folder)
    path = Path(collection["queries"])
    queries = [json.loads(line) for line in path.read_text().splitlines()]
    for i, query in enumerate(queries):
        if not groups:
            del query["group"]
        if clusters:
            query["cluster"] = f"c{i // 3}"
    path.write_text("".join(json.dumps(q) + "\n" for q in queries if prompts is None or q["_id"] in prompts))
    if prompts is not None:
        labels = Path(collection["qrels"]).read_text().splitlines()
        kept = [line for line in labels if line.split("\t")[0] in ("query-id", *prompts)]
        Path(collection["qrels"]).write_text("".join(f"{line}\n" for line in kept))
    return collection


@pytest.fixture(scope="module")
def study_of(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Callable[[str], Study]:
    """Studies by the names of VARIANTS, each made once; and the committed one."""
    made: dict[str, Study] = {}
    place = tmp_path_factory.mktemp("findings")

    def make(name: str) -> Study:
        if name not in made:
            if name == "reference":
                folder, path = ROOT / "studies/reference", ROOT / "studies/reference/config.yaml"
            else:
                changes = dict(VARIANTS[name])
                how = {
                    key: changes.pop(key, default) for key, default in (("prompts", None), ("groups", True), ("clusters", False))
                }
                own = (
                    rewrite(place / name / "garden", **how)
                    if how != {"prompts": None, "groups": True, "clusters": False}
                    else garden
                )
                data = {"name": "study", "seed": 7, "collection": own, "keyword": {"analyzer": "simple"}, "depth": 10}
                data |= {"objective": "MAP@5", "report_at": [1, 3, 5], "search": searching(SPACE_RRF), "cache": str(cache)}
                data |= changes
                path = place / name / "study.yaml"
                path.parent.mkdir(exist_ok=True)
                path.write_text(yaml.safe_dump(data))
                with contextlib.chdir(path.parent):
                    folder = harness.tune(path).folder.absolute()
            _, findings, prepared = find(folder)
            made[name] = Study(folder, path, findings, prepared)
        return made[name]

    return make


@pytest.fixture
def study(request: pytest.FixtureRequest, study_of: Callable[[str], Study]) -> Study:
    return study_of(request.param)


every = pytest.mark.parametrize("study", NAMES, indirect=True)
every_single = pytest.mark.parametrize("study", SINGLE, indirect=True)


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("study", names, indirect=True)


# ---- the weight -----------------------------------------------------------------------------------------------------


@every_single
def test_the_curve_is_that_of_profile_csv(study: Study) -> None:
    assert study.findings.curve is not None
    rows = [tuple(map(float, row.values())) for row in study.table("profile.csv")]
    assert len(rows) > 2
    assert list(study.findings.curve.curve.rows()) == rows
    assert study.findings.curve.params == study.findings.settings["pick"]


def on_curve(study: Study, weight: float) -> float:
    """What profile.csv has at this weight."""
    for row in study.table("profile.csv"):
        low, high = float(row["weight_from"]), float(row["weight_to"])
        if low == weight == high or low < weight < high:
            return float(row["score"])
    raise AssertionError(f"no row for {weight}")  # a point that differs from neither neighbour has none


@every_single
def test_the_marks_are_the_systems_of_the_summary(study: Study) -> None:
    summary, curve = study.summary, study.findings.curve
    assert curve is not None
    weights = {"keyword": 0.0, "semantic": 1.0, "equal": 0.5, "pick": summary["pick"]["semantic_weight"]}
    weights["best_trial"] = summary["best_trial"]["params"]["semantic_weight"]
    if study.kept == "current":
        said = VARIANTS[study.config_file.parent.name]["current"]
        weights["current"] = said.get("semantic_weight", 0.5)
    assert {mark.system: mark.weight for mark in curve.marks} == pytest.approx(weights)
    for mark in curve.marks:
        assert mark.score == pytest.approx(summary["systems"][mark.system]["objective"], abs=1e-12), mark
    assert curve.interval == tuple(summary["pick"]["interval"])
    assert [list(pair) for pair in curve.plateau] == summary["pick"]["plateau"]


@every_single
def test_a_mark_that_is_said_to_lie_on_the_curve_does(study: Study) -> None:
    assert study.findings.curve is not None
    lying: list[Mark] = [mark for mark in study.findings.curve.marks if mark.same]
    assert "pick" in [mark.system for mark in lying]
    pick = study.findings.settings["pick"]
    for mark in lying:
        assert mark.score == pytest.approx(study.scores(semantic_weight=mark.weight).mean(), abs=1e-12), (mark, pick)


def t_interval(d: FloatArray, clusters: Sequence[str]) -> tuple[float, float]:
    """Student's t by scipy; with clusters the cluster-robust error by its formula, one cluster after the other."""
    if not any(clusters):
        spread = scipy.stats.sem(d)
        return tuple(scipy.stats.t.interval(0.95, d.size - 1, d.mean(), spread)) if spread > 0 else (d.mean(), d.mean())
    names = sorted(set(clusters))
    k, total = len(names), 0.0
    for name in names:
        total += sum(value - d.mean() for value, of in zip(d, clusters, strict=True) if of == name) ** 2
    error = math.sqrt(k / (k - 1) * total) / d.size
    return (d.mean() - scipy.stats.t.ppf(0.975, k - 1) * error, d.mean() + scipy.stats.t.ppf(0.975, k - 1) * error)


@every_single
def test_the_bands_are_t_intervals_of_what_each_weight_scores(study: Study) -> None:
    found = study.findings.curve
    assert found is not None
    clusters = [query.cluster for query in study.prepared.dataset.queries]
    kept = np.asarray(study.column("per_query.csv", study.kept))
    stride = 9 if study.folder == ROOT / "studies/reference" else 1
    for cell in range(0, GRID.size, stride):
        scores = study.scores(semantic_weight=float(GRID[cell]))
        for band, values in ((found.band, scores), (found.against_kept, scores - kept)):
            low, high = t_interval(values, clusters) if values.size > 1 else (values.mean(), values.mean())
            got = (band.low[cell], band.mean[cell], band.high[cell])
            assert got == pytest.approx((low, values.mean(), high), abs=1e-9), GRID[cell]
    assert {band.mean.shape for band in (found.band, found.against_kept)} == {GRID.shape}


# ---- precision, recall, trials ---------------------------------------------------------------------------------------


@every
def test_precision_and_recall_over_k_are_those_of_the_summary(study: Study) -> None:
    summary, found = study.summary, study.findings
    assert [curve.system for curve in found.cutoffs] == list(summary["systems"])
    top_k = summary["top_k"]
    for curve in found.cutoffs:
        cutoffs = curve.cutoffs.tolist()
        assert cutoffs == sorted(set(cutoffs)) and {1, top_k, *found.config.report_at} <= set(cutoffs)
        for at, k in enumerate(cutoffs):
            ranking = study.prepared.hybrid.rank(found.settings[curve.system])
            for name, values in (("Precision", curve.precision), ("Recall", curve.recall)):
                if k in found.config.report_at:
                    assert values[at] == pytest.approx(summary["systems"][curve.system][f"{name}@{k}"], abs=1e-12)
                scores = score_queries(Measure(name, k), ranking, study.prepared.hybrid.judgements)
                assert values[at] == pytest.approx(float(scores.mean()), abs=1e-12)
    largest = max([*found.config.report_at, top_k, *(int(row.get("top_k") or 0) for row in study.table("trials.csv"))])
    assert found.cutoffs[0].cutoffs[-1] >= largest


@given(low=st.integers(1, 300), more=st.integers(0, 3000), top_k=st.integers(1, 400))
def test_the_ks_that_are_shown(low: int, more: int, top_k: int) -> None:
    config = parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "report_at": [1, 7],
                           "depth": 4000, "search": {"space": {"top_k": {"low": low, "high": low + more}}}})  # fmt: skip
    shown = cutoffs_shown(config, top_k)
    last = max(7, low + more, top_k)
    assert shown == sorted(set(shown)) and {1, last, top_k} <= set(shown) and len(shown) <= MOST_CUTOFFS + 3
    if last <= MOST_CUTOFFS:
        assert shown == list(range(1, last + 1))
    else:
        assert max(np.diff(shown)) <= -(-last // MOST_CUTOFFS)


@every
def test_the_trials_are_those_of_trials_csv(study: Study) -> None:
    rows = study.table("trials.csv")
    assert len(rows) == len(study.findings.trials) > 0
    for row, trial in zip(rows, study.findings.trials, strict=True):
        assert (trial.number, trial.state) == (int(row["number"]), row["state"])
        assert trial.values[0] == float(row["objective"])
        assert {name: str(value) for name, value in trial.logged.items()} == {name: row[name] for name in trial.logged}
    assert study.findings.front == pareto_front(read_trials(read_study(study.folder)))


def trial(number: int, precision: float, recall: float, state: str = "COMPLETE") -> Trial:
    return Trial(number, state, {}, (0.0,), {"Precision@top_k": precision, "Recall@top_k": recall}, 0.0)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 5).map(lambda n: n / 5)] * 2, st.sampled_from(["COMPLETE", "COMPLETE", "FAIL"])), max_size=25
    )
)
def test_the_front_is_what_no_other_trial_beats(points: list[tuple[float, float, str]]) -> None:
    trials = [trial(i, *point) for i, point in enumerate(points)]
    slow = []
    for one, (p, r, state) in enumerate(points):
        beaten = state == "FAIL"
        for other, (q, s, its) in enumerate(points):
            if its == "COMPLETE" and ((q >= p and s >= r and (q > p or s > r)) or ((q, s) == (p, r) and other < one)):
                beaten = True
        if not beaten:
            slow.append(one)
    assert pareto_front(trials) == tuple(sorted(slow, key=lambda i: -points[i][0]))


# ---- prompts ----------------------------------------------------------------------------------------------------------


@every
def test_the_prompts_are_those_of_per_query_csv(study: Study) -> None:
    rows, found = study.table("per_query.csv"), study.findings.prompts
    assert [row["query_id"] for row in rows] == study.query_ids
    assert list(found.scores) == list(study.summary["systems"])
    for system, scores in found.scores.items():
        assert scores.tolist() == pytest.approx([float(row[system]) for row in rows], abs=1e-12), system
    if "pick" in found.scores:
        assert found.difference.tolist() == pytest.approx([float(row["difference"]) for row in rows], abs=1e-12)
        assert found.kept == study.summary["verdict"]["compared_with"]


@every
def test_the_result_lists_are_those_of_the_runs(study: Study) -> None:
    found, documents = study.findings, study.prepared.dataset.doc_ids
    chosen = "pick" if "pick" in found.settings else "equal"
    alone = study.run_of("keyword"), study.run_of("semantic")
    shown = min(found.top_k, SHOWN_RESULTS)
    for side, system in (("kept", study.kept), ("pick", chosen)):
        run, lists = study.run_of(system), found.prompts.lists[side]
        params, base = found.settings[system], found.settings["keyword"]
        for q, query_id in enumerate(study.query_ids):
            rows = [int(row) for row in lists.rows[q] if row >= 0]
            assert [documents[row] for row in rows] == run[query_id][:shown]
            assert (lists.rows[q, len(rows) :] == -1).all()
            if (params.k1, params.b) == (base.k1, base.b):
                for ranks, of in zip((lists.keyword_ranks, lists.semantic_ranks), alone, strict=True):
                    places = {doc: rank for rank, doc in enumerate(of[query_id][: params.depth], 1)}
                    assert ranks[q, : len(rows)].tolist() == [places.get(documents[row], 0) for row in rows]
            assert not lists.keyword_ranks[q, len(rows) :].any() and not lists.semantic_ranks[q, len(rows) :].any()


@only("plain", "opensearch", "bm25")
def test_search_shows_the_same_ranks(study: Study, tmp_path: Path) -> None:
    pick, documents = study.findings.settings["pick"], study.prepared.dataset.doc_ids
    weights = tmp_path / "weights.yaml"
    weights.write_text(
        yaml.safe_dump(
            {name: value for name, value in vars(pick).items() if name not in INDEX_PARAMS or value != getattr(Params(), name)}
        )
    )
    lists = study.findings.prompts.lists["pick"]
    for q, query_id in [*enumerate(study.query_ids)][:3]:
        results = harness.search(study.config_file, PROMPTS[query_id][0], weights=weights).results
        held = [i for i, row in enumerate(lists.rows[q]) if row >= 0]
        assert [(r.doc_id, r.keyword_rank or 0, r.semantic_rank or 0) for r in results] == [
            (documents[lists.rows[q, i]], lists.keyword_ranks[q, i], lists.semantic_ranks[q, i]) for i in held
        ]


@every
def test_what_both_miss_is_relevant_and_in_neither_run(study: Study) -> None:
    found, dataset = study.findings, study.prepared.dataset
    threshold = max(1, found.config.measures.relevance_threshold)
    runs = [study.run_of(study.kept), study.run_of("pick" if "pick" in found.settings else "equal")]
    seen = 0
    for q, query_id in enumerate(study.query_ids):
        judged = zip(dataset.qrels.rows[q], dataset.qrels.grades[q], strict=True)
        relevant = {dataset.doc_ids[row] for row, grade in judged if row >= 0 and grade >= threshold}
        returned = {document for run in runs for document in run[query_id][: found.top_k]}
        missed = found.prompts.missed[q]
        assert {dataset.doc_ids[m.row] for m in missed} <= relevant - returned
        assert len(missed) == min(len(relevant - returned), SHOWN_MISSED)
        for m in missed:
            for rank, run in ((m.kept_rank, runs[0]), (m.pick_rank, runs[1])):
                in_run = run[query_id].index(dataset.doc_ids[m.row]) + 1 if dataset.doc_ids[m.row] in run[query_id] else 0
                assert rank == in_run
        seen += len(missed)
    assert seen or study.folder != ROOT / "studies/reference"  # there at least some are missed


def tiny(keyword: list[int], semantic: list[int], judged: dict[int, int]) -> Hybrid:
    """One query; both lists best first with the scores 1, 1/2, 1/3, …"""
    sides = [
        RankedLists(np.asarray([rows], dtype=np.int32), np.asarray([[1 / (i + 1) for i in range(len(rows))]]))
        for rows in (keyword, semantic)
    ]
    return Hybrid(merge_lists(*sides), pad_qrels([judged]), Conventions(), Params(depth=len(keyword)))


def test_what_both_miss_by_hand() -> None:
    hybrid = tiny([0, 1, 2, 3], [4, 5, 6, 0], {0: 1, 2: 1, 5: 2, 6: 0, 3: 1, 9: 1, 7: 1})
    by_keyword, by_semantic = (Params(semantic_weight=w, top_k=2, depth=4) for w in (0.0, 1.0))
    found = missed_by_both(hybrid, by_keyword, by_semantic, 2)[0]
    # 0 is the keyword list's first and 5 the semantic list's second; 6 is judged not relevant; 7 and 9 are no candidates
    assert [(m.row, m.kept_rank, m.pick_rank, m.keyword_rank, m.semantic_rank) for m in found] == [
        (2, 3, 0, 3, 0), (3, 4, 0, 4, 0), (7, 0, 0, 0, 0), (9, 0, 0, 0, 0),
    ]  # fmt: skip
    swapped = missed_by_both(hybrid, by_semantic, by_keyword, 2)[0]
    assert [(m.row, m.kept_rank, m.pick_rank) for m in swapped] == [(2, 0, 3), (3, 0, 4), (7, 0, 0), (9, 0, 0)]
    assert missed_by_both(hybrid, by_keyword, by_semantic, 4)[0] == tuple(m for m in found if m.row > 3)


def test_no_more_than_so_many_missed_documents_are_listed() -> None:
    hybrid = tiny([0, 1], [1, 0], dict.fromkeys(range(2, 2 + 2 * SHOWN_MISSED), 1))
    found = missed_by_both(hybrid, Params(depth=2), Params(depth=2), 2)[0]
    assert [m.row for m in found] == list(range(2, 2 + SHOWN_MISSED))


def test_a_list_ends_where_its_documents_end() -> None:
    hybrid = tiny([0, 1, 2], [3, 1, 4], {0: 1})
    lists = first_results(hybrid, Params(semantic_weight=0.0, depth=3), 5)
    assert lists.rows.tolist() == [[0, 1, 2, -1, -1]]
    assert (lists.keyword_ranks.tolist(), lists.semantic_ranks.tolist()) == ([[1, 2, 3, 0, 0]], [[0, 2, 0, 0, 0]])


# ---- groups -----------------------------------------------------------------------------------------------------------


@every
def test_the_groups_are_those_of_the_summary(study: Study) -> None:
    summary, found = study.summary, study.findings
    rows = study.table("per_query.csv")
    names = sorted({row["group"] for row in rows})
    if names == [""]:
        assert found.groups == () and "groups" not in summary
        return
    assert [group.group for group in found.groups] == names
    chosen = "pick" if "pick" in found.settings else "equal"
    for group in found.groups:
        own = [row for row in rows if row["group"] == group.group]
        difference = np.asarray([float(row[chosen]) - float(row[study.kept]) for row in own])
        assert group.prompts == len(own)
        assert (group.pick, group.kept) == pytest.approx(
            tuple(np.mean([float(row[n]) for row in own]) for n in (chosen, study.kept))
        )
        assert group.difference == pytest.approx(difference.mean(), abs=1e-12)
        assert (group.wins, group.losses) == (int((difference > 1e-12).sum()), int((difference < -1e-12).sum()))
        assert group.wins + group.ties + group.losses == group.prompts
        if len({row["cluster"] or row["query_id"] for row in own}) == 1:
            assert group.interval is None
        else:
            assert group.interval == pytest.approx(t_interval(difference, [row["cluster"] for row in own]), abs=1e-12)
        if "groups" in summary:
            said = summary["groups"][group.group]
            assert (group.prompts, group.pick, group.best_weight) == (said["prompts"], said["pick"], said["best_weight"])
            against = said[study.kept]
            assert (group.kept, group.difference) == pytest.approx((against["mean"], against["difference"]), abs=1e-12)
            assert (group.wins, group.ties, group.losses) == (against["wins"], against["ties"], against["losses"])


# ---- parameters -------------------------------------------------------------------------------------------------------


def sensitivity(study: Study, name: str) -> Sensitivity:
    (found,) = (s for s in study.findings.sensitivities if s.name == name)
    return found


@every_single
def test_each_parameter_alone_moves_the_objective_so_far(study: Study) -> None:
    found, pick = study.findings, study.findings.settings["pick"]
    searched = {n for n, entry in found.config.search.space.items() if isinstance(entry, (dict, list))}
    expected = searched - ({"rrf_k"} if pick.fusion not in RANK_FUSIONS else set())
    assert {s.name for s in found.sensitivities} == expected
    swings = [s.swing for s in found.sensitivities]
    assert swings == sorted(swings, reverse=True) and min(swings) >= 0
    for s in found.sensitivities:
        assert s.swing == s.highest - s.lowest and s.at_pick == getattr(pick, s.name)
        if s.name == "fusion":
            continue
        for score, at in ((s.lowest, s.lowest_at), (s.highest, s.highest_at)):
            assert score == pytest.approx(study.scores(**{s.name: at}).mean(), abs=1e-12), s
        entry = found.config.search.space[s.name]
        for value in entry if isinstance(entry, list) else (entry["low"], entry["high"]):
            if s.name != "semantic_weight":  # at an end of the weight one retriever alone may score anything
                assert s.lowest - 1e-12 <= study.scores(**{s.name: value}).mean() <= s.highest + 1e-12, (s, value)


@every_single
def test_a_range_of_a_parameter_holds_what_is_picked(study: Study) -> None:
    at_pick = float(study.scores().mean())
    for s in study.findings.sensitivities:
        if s.name not in ("fusion", "semantic_weight"):  # a fusion has its own best weight; a weight may sit on a point
            assert s.lowest - 1e-12 <= at_pick <= s.highest + 1e-12, s


@only("plain", "exact", "current")
def test_whole_and_named_values_are_all_tried(study: Study) -> None:
    top = sensitivity(study, "top_k")
    scores = {k: float(study.scores(top_k=k).mean()) for k in range(2, 9)}
    assert (top.lowest, top.highest) == pytest.approx((min(scores.values()), max(scores.values())), abs=1e-12)
    fusion = sensitivity(study, "fusion")
    fine = np.linspace(0.0005, 0.9995, 1000)
    best = {}
    for name in ("minmax", "zscore", "rrf"):
        best[name] = max(float(study.scores(fusion=name, semantic_weight=float(w)).mean()) for w in fine)
    # between the steps of a fine grid the exact optimum can only be higher
    assert fusion.highest >= max(best.values()) - 1e-12 and fusion.highest == pytest.approx(max(best.values()), abs=0.005)
    assert fusion.lowest >= min(best.values()) - 1e-12 and fusion.lowest == pytest.approx(min(best.values()), abs=0.005)


@every_single
def test_the_weights_swing_is_that_of_profile_csv(study: Study) -> None:
    entry = study.findings.config.search.space["semantic_weight"]
    low, high = entry["low"], entry["high"]
    intervals = [row for row in study.table("profile.csv") if row["weight_from"] != row["weight_to"]]
    inside = [float(row["score"]) for row in intervals if float(row["weight_to"]) > low and float(row["weight_from"]) < high]
    s = sensitivity(study, "semantic_weight")
    assert (s.lowest, s.highest) == pytest.approx((min(inside), max(inside)), abs=1e-12)
    assert low < s.lowest_at < high and low < s.highest_at < high


# ---- Optuna's importance ----------------------------------------------------------------------------------------------


def configure(objective: Any = "MAP@5", **space: Any) -> Any:
    collection = {"corpus": "c", "queries": "q", "qrels": "r"}
    return parse_config({"name": "x", "collection": collection, "objective": objective, "search": {"space": space}})


def drawn(n: int, value: Callable[[dict[str, Any]], float], seed: int = 3) -> list[Trial]:
    rng = np.random.default_rng(seed)
    trials = []
    for i in range(n):
        params = {
            "semantic_weight": float(rng.random()),
            "top_k": int(rng.integers(1, 21)),
            "fusion": str(rng.choice(["minmax", "rrf"])),
        }
        trials.append(Trial(i, "COMPLETE", params, (value(params),), {}, 0.0))
    return trials


CONFIG = configure(semantic_weight=WEIGHT, top_k={"low": 1, "high": 20}, fusion=["minmax", "rrf"])
SEPARATE: dict[str, Callable[[dict[str, Any]], float]] = {
    "semantic_weight": lambda p: -abs(p["semantic_weight"] - 0.8),
    "top_k": lambda p: p["top_k"] + 0.0,
}


@pytest.mark.parametrize("name", SEPARATE)
def test_a_parameter_that_alone_decides_gets_nearly_all(name: str) -> None:
    shares = importances(drawn(300, SEPARATE[name]), CONFIG)
    assert set(shares) == {"semantic_weight", "top_k", "fusion"}
    assert sum(shares.values()) == pytest.approx(1) and min(shares.values()) >= 0
    assert shares[name] > 0.85


def test_no_importance_where_there_is_nothing_to_tell() -> None:
    one = drawn(FEWEST_TRIALS, SEPARATE["top_k"])
    assert importances(one, CONFIG) != {}
    assert importances(one[:-1], CONFIG) == {}
    failed = replace(one[0], state="FAIL", values=())
    assert importances([failed, *one[1:]], CONFIG) == {}
    assert importances([], CONFIG) == {}
    assert importances([replace(t, values=(0.5,)) for t in one], CONFIG) == {}
    two = configure(["MAP@5", "Recall@5"], semantic_weight=WEIGHT)
    assert importances([replace(t, values=(t.values[0], 1.0)) for t in one], two) == {}


@only("exact", "reference")
def test_a_studys_importances_sum_to_one(study: Study) -> None:
    shares = importances(study.findings.trials, study.findings.config)
    assert sum(shares.values()) == pytest.approx(1)
    for s in study.findings.sensitivities:
        assert s.importance == shares.get(s.name)
    assert "rrf_k" not in shares  # not every trial drew it


@only("plain", "current", "two objectives")
def test_too_few_trials_have_no_importances(study: Study) -> None:
    assert importances(study.findings.trials, study.findings.config) == {}
    assert all(s.importance is None for s in study.findings.sensitivities)


# ---- parts that a study does not have ----------------------------------------------------------------------------------


@only("two objectives")
def test_two_objectives_have_no_pick_to_show(study: Study) -> None:
    found = study.findings
    assert found.curve is None and found.sensitivities == ()
    assert list(found.settings) == ["keyword", "semantic", "equal", "rrf"]
    assert found.prompts.difference.tolist() == [0.0] * len(study.query_ids)
    assert found.top_k == found.config.top_k


@only("held out")
def test_held_out_prompts_are_not_shown(study: Study) -> None:
    counts = study.summary["collection"]
    assert counts["queries_held_out"] == 3
    assert len(study.query_ids) == counts["queries_used"] == len(PROMPTS) - 3
    assert study.findings.prompts.difference.shape == (len(PROMPTS) - 3,)


@only("one prompt")
def test_one_prompt_has_curves_without_a_spread(study: Study) -> None:
    curve = study.findings.curve
    assert curve is not None and study.query_ids == ["q03"]
    for band in (curve.band, curve.against_kept):
        assert np.array_equal(band.low, band.mean) and np.array_equal(band.high, band.mean)
    assert [group.interval for group in study.findings.groups] == [None]


@every
def test_all_systems_stand_at_one_k(study: Study) -> None:
    assert {params.top_k for params in study.findings.settings.values()} == {study.summary["top_k"]}
    assert list(study.findings.settings) == list(study.summary["systems"])
