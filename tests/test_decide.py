"""From candidates to a verdict: decisions on numbers written by hand, then whole studies with the real model."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import DOCUMENTS, PROMPTS
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
import harness.decide
from harness.candidates import merge_lists
from harness.choice import Choice
from harness.cli import run
from harness.config import Config, parse_config, read_config
from harness.decide import (
    FOLDS,
    MOST_CHOICES,
    MOST_EXACT,
    MOST_VISITED,
    REPEATS,
    CrossFit,
    Shelf,
    cross_fit,
    decide,
    find_exact,
    make_pick,
    mean_score,
    settle_top_k,
)
from harness.errors import HarnessError
from harness.files import pad_qrels
from harness.hybrid import Hybrid
from harness.inference import FEWEST_DIFFERING, compare, holm, mean_interval
from harness.measures import parse_measure
from harness.prepare import read_data, split_held_out
from harness.profiles import find_optimum, restrict
from harness.progress import Silence
from harness.space import coarse_settings
from harness.splits import make_rng, number_units
from harness.types import Conventions, Params, RankedLists

Write = Callable[..., Path]
DEPTH = 6


def configure(space: dict[str, Any] | None = None, **top: Any) -> Config:
    data: dict[str, Any] = {"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, "depth": DEPTH, **top}
    return parse_config(data if space is None else {**data, "search": {"space": space}})


def make_hybrid(
    keyword: Sequence[dict[int, float]], semantic: Sequence[dict[int, float]], judged: Sequence[dict[int, int]]
) -> Hybrid:
    """Per query row → score of both retrievers, and row → grade."""
    sides = []
    for each in (keyword, semantic):
        rows, scores = np.full((len(each), DEPTH), -1, dtype=np.int32), np.full((len(each), DEPTH), np.nan)
        for i, of in enumerate(each):
            for place, row in enumerate(sorted(of, key=lambda row: (-of[row], row))[:DEPTH]):
                rows[i, place], scores[i, place] = row, of[row]
        sides.append(RankedLists(rows, scores))
    return Hybrid(merge_lists(*sides), pad_qrels(list(judged)), Conventions(), Params(depth=DEPTH))


def alone(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


# --- the verdict -----------------------------------------------------------------------------------------------------

KEPT = np.linspace(0.2, 0.6, 24)
WOBBLE = np.tile([0.03, -0.03], 12)


def verdict_of(
    difference: np.ndarray,
    *,
    units: np.ndarray | None = None,
    guards: dict[str, float] | None = None,
    fall: float = 0.0,
    beside: dict[str, np.ndarray] | None = None,
    kept: str = "equal",
    in_sample: float = 0.5,
) -> harness.decide.Verdict:
    """The verdict where the pick is what is kept plus this difference, and every guarded measure falls by `fall`."""
    n = difference.size
    baseline = KEPT[:n] if n <= KEPT.size else np.full(n, 0.4)
    guards = guards or {}
    fitted = CrossFit(baseline + difference, {name: np.full(n, 0.5 - fall) for name in guards}, (Params(),), 5)
    baselines = {kept: baseline, **(beside or {})}
    guarded = {name: np.full(n, 0.5) for name in guards}
    config = configure(guards=guards)
    return decide(fitted, in_sample, baselines, kept, guarded, config, alone(n) if units is None else units)


def test_adopt_where_the_interval_lies_above_0() -> None:
    verdict = verdict_of(0.1 + WOBBLE)
    assert verdict.decision == "adopt"
    interval = mean_interval(0.1 + WOBBLE, alone(24))
    assert interval is not None and verdict.deciding.interval == pytest.approx(interval)
    assert f"{interval[0]:+.4f} to {interval[1]:+.4f}" in verdict.reasons[0] and "above 0" in verdict.reasons[0]


def test_keep_where_the_interval_lies_below_0() -> None:
    verdict = verdict_of(-0.1 + WOBBLE)
    assert verdict.decision == "keep"
    assert "below 0" in verdict.reasons[0]


def test_undecided_where_the_interval_holds_0() -> None:
    verdict = verdict_of(0.001 + WOBBLE)
    assert verdict.decision == "undecided"
    assert "around 0" in verdict.reasons[0]
    assert "the prompts at hand neither prove a gain nor a loss" in verdict.reasons


def test_keep_where_a_guard_rail_is_broken_whatever_the_gain() -> None:
    verdict = verdict_of(0.1 + WOBBLE, guards={"Recall@20": 0.01}, fall=0.02)
    assert verdict.decision == "keep"
    assert verdict.guards == {"Recall@20": (pytest.approx(-0.02), 0.01)}
    assert any("Recall@20 falls by 0.02" in reason and "0.01" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(("fall", "decision"), [(0.01, "adopt"), (0.0, "adopt"), (-0.3, "adopt"), (0.0101, "keep")])
def test_a_guard_rail_holds_up_to_its_limit(fall: float, decision: str) -> None:
    verdict = verdict_of(0.1 + WOBBLE, guards={"Recall@20": 0.01}, fall=fall)
    assert verdict.decision == decision
    assert any("falls by" in reason for reason in verdict.reasons) == (decision == "keep")


def test_below_ten_differing_prompts_it_is_always_undecided() -> None:
    few = np.zeros(24)
    few[: FEWEST_DIFFERING - 1] = 0.3
    for difference in (few, -few):
        verdict = verdict_of(difference, guards={"Recall@20": 0.0}, fall=0.1)
        assert verdict.decision == "undecided"
        assert any(f"only {FEWEST_DIFFERING - 1} of 24" in reason for reason in verdict.reasons)
    enough = np.zeros(24)
    enough[:FEWEST_DIFFERING] = 0.3
    assert verdict_of(enough).decision == "adopt"
    assert verdict_of(-enough).decision == "keep"


def test_ten_differing_means_ten_clusters_not_ten_prompts() -> None:
    difference = 0.1 + np.tile([0.03, -0.03], 15)
    clusters = [np.repeat(np.arange(n), -(-30 // n))[:30].astype(np.int32) for n in (9, 10)]
    assert verdict_of(difference, units=clusters[0]).decision == "undecided"
    assert verdict_of(difference, units=clusters[1]).decision == "adopt"


def test_optimism_is_what_the_pick_scores_more_on_its_own_prompts() -> None:
    verdict = verdict_of(0.1 + WOBBLE, in_sample=0.55)
    assert verdict.optimism == pytest.approx(0.55 - (KEPT + 0.1).mean())
    assert any(reason.startswith("optimism") and f"{verdict.optimism:+.4f}" in reason for reason in verdict.reasons)


def test_a_retriever_that_is_not_beaten_alone_is_named_and_one_that_is_beaten_is_not() -> None:
    beside = {"semantic": KEPT + 0.1, "keyword": KEPT - 0.2}
    verdict = verdict_of(0.1 + WOBBLE, beside=beside)
    said = [reason for reason in verdict.reasons if "alone" in reason]
    assert len(said) == 1 and "semantic alone" in said[0]


def test_the_comparisons_beside_are_holm_corrected_and_current_is_not_among_them() -> None:
    beside = {"semantic": KEPT + WOBBLE, "keyword": KEPT - 0.2, "equal": KEPT + 0.06, "rrf": KEPT - 2 * WOBBLE}
    verdict = verdict_of(0.1 + WOBBLE, kept="current", beside=beside)
    assert set(verdict.beside) == set(verdict.adjusted) == set(beside)
    assert verdict.adjusted == holm({name: comparison.p_value for name, comparison in verdict.beside.items()})
    assert verdict.deciding.mean == pytest.approx(0.1)
    for name, scores in beside.items():
        expected = compare(KEPT + 0.1 + WOBBLE - scores, alone(24), np.random.default_rng(0))
        assert verdict.beside[name].mean == pytest.approx(expected.mean)
        assert verdict.beside[name].interval == pytest.approx(expected.interval)


def test_differences_of_rounding_alone_lie_around_0() -> None:
    """A mean of ten equal numbers may differ from them in the last bit; that is neither a gain nor a loss."""
    for towards in (0.0, 1.0):
        verdict = verdict_of(np.nextafter(KEPT, towards) - KEPT)
        assert verdict.deciding.differing == 0 and verdict.decision == "undecided"
        assert "nothing to decide" in verdict.reasons[0]


def test_guards_may_be_written_as_a_mapping_or_as_sentences() -> None:
    as_mapping = configure(guards={"Recall@20": 0.01, "P@5": 0})
    as_sentences = configure(guards=["Recall@20 may not fall by more than .01", "Precision@5 may not fall by more than 0"])
    assert as_mapping.guards == as_sentences.guards == {"Recall@20": 0.01, "Precision@5": 0.0}


# --- the exact optimum -----------------------------------------------------------------------------------------------


def find(hybrid: Hybrid, config: Config, visited: Sequence[Params] = ()) -> harness.decide.Exact:
    found = find_exact(hybrid, config, visited, Silence())
    assert found is not None
    return found


row_scores = st.dictionaries(st.integers(0, 7), st.integers(0, 9).map(lambda n: n / 4), max_size=DEPTH)
queries = st.lists(
    st.tuples(row_scores, row_scores, st.dictionaries(st.integers(0, 8), st.integers(0, 2), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=25)
@given(queries, st.sampled_from(["MAP@top_k", "MAP@3", "F1@top_k", "Precision@2", "MRR", "nDCG@top_k"]), st.integers(0, 2**31))
def test_no_weight_of_any_setting_beats_the_exact_optimum_but_a_single_point(each: list, objective: str, seed: int) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    space = {"semantic_weight": {"low": 0, "high": 1}, "top_k": {"low": 1, "high": 4}, "fusion": ["minmax", "zscore", "none"]}
    config = configure(space, objective=objective)
    exact = find(hybrid, config)
    measure = config.objectives[0]
    for weight in np.random.default_rng(seed).random(12):  # a random weight is no point
        for top_k, fusion in itertools.product([1, 2, 3, 4], space["fusion"]):
            tried = Params(semantic_weight=float(weight), top_k=top_k, fusion=fusion, depth=DEPTH)
            assert mean_score(hybrid, tried, measure) <= exact.optimum.score + 1e-12, tried


@settings(deadline=None, max_examples=25)
@given(queries, st.sampled_from(["MAP@top_k", "Recall@top_k", "F1@top_k", "MRR", "HitRate@3"]))
def test_every_weight_between_the_optimums_ends_scores_what_it_says_with_its_own_params(each: list, objective: str) -> None:
    hybrid = make_hybrid(*zip(*each, strict=True))
    space = {"semantic_weight": {"low": 0, "high": 1}, "top_k": {"low": 1, "high": 4}, "fusion": ["minmax", "none"]}
    config = configure(space, objective=objective)
    exact = find(hybrid, config)
    low, high = exact.optimum.weight_from, exact.optimum.weight_to
    for share in (0.01, 0.317, 0.5, 0.742, 0.99):
        at = replace(exact.params, semantic_weight=low + share * (high - low))
        assert mean_score(hybrid, at, config.objectives[0]) == pytest.approx(exact.optimum.score, abs=1e-12), at


def test_the_optimum_of_the_smaller_k_is_given_with_the_weights_of_that_k() -> None:
    """Relevant document 2 leads between .4 and .6 and is second elsewhere: Recall is 1 there at K = 1, everywhere at K = 2."""
    hybrid = make_hybrid([{0: 1.9, 1: 0.9, 2: 1.5}], [{0: 0.9, 1: 1.9, 2: 1.5}], [{2: 1}])
    config = configure(
        {"semantic_weight": {"low": 0, "high": 1}, "top_k": {"low": 1, "high": 2}}, fusion="none", objective="Recall@top_k"
    )
    exact = find(hybrid, config)
    assert (exact.optimum.score, exact.params.top_k) == (1.0, 1)
    assert (exact.optimum.weight_from, exact.optimum.weight_to) == pytest.approx((0.4, 0.6), abs=1e-9)


def test_the_optimum_keeps_to_the_searched_weights() -> None:
    """MRR of document 1 is 1 behind .5 alone; the space ends at .4, and begins at .7."""
    hybrid = make_hybrid([{0: 2.0, 1: 1.0}], [{0: 1.0, 1: 2.0}], [{1: 1}])
    for low, high, expected in ((0.0, 0.4, (0.0, 0.4, 0.5)), (0.7, 0.9, (0.7, 0.9, 1.0)), (0.3, 0.8, (0.5, 0.8, 1.0))):
        exact = find(hybrid, configure({"semantic_weight": {"low": low, "high": high}}, objective="MRR"))
        found = (exact.optimum.weight_from, exact.optimum.weight_to, exact.optimum.score)
        assert found == pytest.approx(expected, abs=1e-9)


def test_a_fixed_weight_has_no_exact_optimum() -> None:
    hybrid = make_hybrid([{0: 2.0, 1: 1.0}], [{0: 1.0, 1: 2.0}], [{1: 1}])
    assert find_exact(hybrid, configure({"semantic_weight": 0.3, "fusion": ["minmax", "l2"]}), [], Silence()) is None


def test_beyond_the_stated_number_only_the_best_visited_settings_and_those_of_the_pick_are_followed() -> None:
    hybrid = make_hybrid([{0: 2.0, 1: 1.0}], [{0: 1.0, 1: 2.0}], [{1: 1}])
    space = {"semantic_weight": {"low": 0, "high": 1}, "fusion": "rrf", "rrf_k": {"low": 1, "high": MOST_EXACT + 1}}
    visited = [Params(semantic_weight=0.1 + i / 500, fusion="rrf", rrf_k=200 - i // 2, depth=DEPTH) for i in range(150)]
    exact = find(hybrid, configure(space, objective="MRR"), visited)
    shelf = {s.rrf_k for s in coarse_settings(configure(space, objective="MRR"), MOST_CHOICES)}
    followed = {200 - i for i in range(MOST_VISITED)} | shelf
    assert (exact.settings, exact.of) == (len(followed), MOST_EXACT + 1)
    assert exact.params.rrf_k in followed
    whole = find(hybrid, configure({**space, "rrf_k": {"low": 1, "high": MOST_EXACT}}, objective="MRR"), visited)
    assert whole.settings == whole.of == MOST_EXACT


# --- K ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tolerance", "expected"), [(0.02, 5), (0.28, 5), (0.29, 1), (0.0, 5)])
def test_k_is_the_smallest_within_the_tolerance_of_the_best(tolerance: float, expected: int) -> None:
    """Relevant at ranks 1 and 5: MAP is .5 up to K = 4 and (1 + 2/5) / 2 = .7 from 5 on; .7 · (1 − 2/7) = .5."""
    scores = {row: 6.0 - row for row in range(6)}
    hybrid = make_hybrid([scores], [scores], [{0: 1, 4: 1}])
    config = configure({"top_k": {"low": 1, "high": 6}}, objective="MAP@top_k", tolerance=tolerance)
    assert settle_top_k(hybrid, config, Params(depth=DEPTH)) == expected


def test_a_k_exactly_at_the_tolerance_is_within_it() -> None:
    scores = {row: 6.0 - row for row in range(6)}
    hybrid = make_hybrid([scores], [scores], [{0: 1, 4: 1}])
    config = configure({"top_k": [1, 6]}, objective="Recall@top_k", tolerance=0.5)
    assert settle_top_k(hybrid, config, Params(depth=DEPTH)) == 1


def test_the_pick_has_the_settled_k_at_its_own_setting() -> None:
    """Under keyword the relevant document is first, under semantic fourth; the pick goes where it is found."""
    keyword = [{row: 6.0 - row for row in range(6)}] * 20
    semantic = [{0: 1.5, 1: 4.0, 2: 3.0, 3: 2.0, 4: 1.0, 5: 0.5}] * 20
    hybrid = make_hybrid(keyword, semantic, [{0: 1}] * 20)
    config = configure({"semantic_weight": {"low": 0, "high": 1}, "top_k": {"low": 1, "high": 6}}, objective="MAP@top_k")
    pick = make_pick(hybrid, config, alone(20), Params(semantic_weight=1.0, top_k=6, depth=DEPTH))
    assert pick.params.top_k == settle_top_k(hybrid, config, pick.params) == 1
    assert mean_score(hybrid, pick.params, parse_measure("MAP@top_k")) == 1


# --- cross-fitting ---------------------------------------------------------------------------------------------------


def opposite(n: int) -> Hybrid:
    """Every prompt's relevant document is first for semantic and second for keyword."""
    return make_hybrid([{0: 2.0, 1: 1.0}] * n, [{0: 1.0, 1: 2.0}] * n, [{1: 1}] * n)


CLUSTERS = ["a", "a", "", "b", "", "b", "b", "c", "", "c", "", "d"]


@pytest.mark.parametrize("cluster", [*sorted({*CLUSTERS} - {""}), "prompt 2", "prompt 10"])
def test_cross_fitting_never_scores_a_prompt_by_a_choice_that_saw_its_cluster(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spy chooses keyword (score 1/2) when it sees the cluster in its training prompts, and semantic (1) when not."""
    mine = [i for i, c in enumerate(CLUSTERS) if c == cluster] or [int(cluster.split()[1])]
    seen: list[set[int]] = []

    def choose(shelf: Shelf, rows: np.ndarray, units: np.ndarray, seed: int, *purpose: int) -> tuple[Params, Choice]:
        seen.append(set(rows.tolist()))
        weight = 0.0 if seen[-1] & set(mine) else 1.0
        return Params(semantic_weight=weight, top_k=2, depth=DEPTH), Choice(weight, weight, 0.0, 0.0, 0.0)

    monkeypatch.setattr(harness.decide, "choose_for", choose)
    units = number_units(CLUSTERS)
    config = configure(objective="MRR", guards={"MRR": 0.1})
    fitted = cross_fit(opposite(12), config, units, Shelf(2, (Params(depth=DEPTH),), (), 0.5, 0.0, 1.0), Silence())
    assert fitted is not None
    assert len(seen) == REPEATS * FOLDS and fitted.folds == FOLDS and len(fitted.chosen) == REPEATS * FOLDS
    assert fitted.objective[mine].tolist() == [1.0] * len(mine)
    assert fitted.guarded["MRR"][mine].tolist() == [1.0] * len(mine)
    others = np.delete(fitted.objective, mine)
    assert (others < 1).all(), "the other prompts were mostly scored by choices that did see the cluster"
    for training in seen:
        assert all(units[i] not in set(units[list(training)]) for i in set(range(12)) - training), "a cluster is torn"


def test_every_prompt_is_scored_once_a_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    hybrid = make_hybrid([{0: 2.0, 1: 1.0}] * 7, [{0: 1.0, 1: 2.0}] * 7, [{i % 2: 1} for i in range(7)])
    fixed = Params(semantic_weight=0.0, top_k=2, depth=DEPTH)
    monkeypatch.setattr(harness.decide, "choose_for", lambda *_: (fixed, Choice(0.0, 0.0, 0.0, 0.0, 0.0)))
    shelf = Shelf(2, (Params(depth=DEPTH),), (), 0.5, 0.0, 1.0)
    fitted = cross_fit(hybrid, configure(objective="MRR"), alone(7), shelf, Silence())
    assert fitted is not None
    assert fitted.objective == pytest.approx([1, 1 / 2, 1, 1 / 2, 1, 1 / 2, 1])


def test_there_are_as_many_folds_as_units_at_most_and_none_for_a_single_one() -> None:
    config = configure({"semantic_weight": {"low": 0, "high": 1}}, objective="MRR")
    for n_units, folds in ((2, 2), (4, 4), (9, FOLDS)):
        units = np.arange(9) % n_units
        hybrid = opposite(9)
        pick = make_pick(hybrid, config, units.astype(np.int32), Params(depth=DEPTH))
        fitted = cross_fit(hybrid, config, units.astype(np.int32), pick.shelf, Silence())
        assert fitted is not None and fitted.folds == folds and len(fitted.chosen) == REPEATS * folds
    one = np.zeros(9, dtype=np.int32)
    assert cross_fit(opposite(9), config, one, make_pick(opposite(9), config, one, Params(depth=DEPTH)).shelf, Silence()) is None


# --- whole studies ---------------------------------------------------------------------------------------------------


def refuse_constant(name: str) -> None:
    raise AssertionError(f"summary.json holds {name}")


def read_summary(folder: Path) -> dict[str, Any]:
    """summary.json: no NaN, no infinity, and what was not computed is absent, not null."""
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=refuse_constant)
    assert_no_null(summary, "summary")
    return summary


def assert_no_null(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            assert_no_null(item, f"{where}.{key}") if not where.startswith("summary.index") else None
    elif isinstance(value, list):
        for i, item in enumerate(value):
            assert_no_null(item, f"{where}[{i}]")
    else:
        assert value is not None, where


def tuned(config: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, dict[str, Any], str]:
    """The study folder, its summary and what was printed; the command ends with 0."""
    code = run(["tune", str(config)])
    out, err = capsys.readouterr()
    assert code == 0, err
    folder = Path("studies") / yaml.safe_load(config.read_text())["name"]
    return folder, read_summary(folder), out


def refused(config: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["tune", str(config)]) == 2
    assert not Path("studies").exists(), "nothing is written"
    return capsys.readouterr().err


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_weights_file(folder: Path) -> dict[str, Any]:
    weights: dict[str, Any] = yaml.safe_load((folder / "weights.yaml").read_text())
    return weights


PART_PROMPT = {"max_seq_length": 8}  # the model reads no further than "Spare part for …": every part looks alike to it


def write_parts(folder: Path, n: int = 24, **query_keys: Callable[[int], Any]) -> dict[str, str]:
    """Parts that differ in their last word, beyond what the model reads; each prompt is such a word.

    Keyword finds the one part. Semantic ties all and returns the first ten by id (depth is 10): of 24 relevant parts ten
    are among them. By min-max the part found is worth 1 − w, plus w if it is among the ten; each of the ten w. So 14
    prompts are right left of .5 and find theirs at rank 11 right of it, and the other ten are right in between.
    """
    codes = [f"zx{100 + i}" for i in range(n)]
    text = "Spare part for the garden pump, sold with a seal and a screw and a paper manual: "
    corpus = [{"_id": f"part{i:02d}", "text": text + code} for i, code in enumerate(codes)]
    prompts = [
        {"_id": f"p{i:02d}", "text": code, **{key: make(i) for key, make in query_keys.items()}} for i, code in enumerate(codes)
    ]
    return write_files(folder, corpus, prompts, [(f"p{i:02d}", f"part{i:02d}", 1) for i in range(n)])


def write_files(folder: Path, corpus: list, prompts: list, qrels: Sequence[tuple[str, str, int]]) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(d) + "\n" for d in prompts))
    (folder / "qrels.tsv").write_text("".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in qrels))
    return {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl"), "qrels": str(folder / "qrels.tsv")}


def write_prompts(folder: Path, prompts: list[dict[str, Any]], labels: dict[str, dict[str, int]]) -> dict[str, str]:
    """Other prompts over the garden's documents."""
    corpus = [{"_id": doc, "title": title, "text": text} for doc, (title, text) in DOCUMENTS.items()]
    return write_files(folder, corpus, prompts, [(q, d, grade) for q, of in labels.items() for d, grade in of.items()])


def weight_space(low: float = 0.0, high: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"trials": 8, "space": {"semantic_weight": {"low": low, "high": high}, **more}}


def test_adopt_writes_the_pick(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(
        collection=write_parts(Path("parts")),
        semantic=PART_PROMPT,
        current={"semantic_weight": 0.9, "top_k": 3},
        search=weight_space(),
        top_k=5,
    )
    folder, summary, out = tuned(config, capsys)
    assert summary["verdict"]["decision"] == "adopt"
    assert summary["verdict"]["compared_with"] == "current"
    assert summary["cross_fitted"]["baselines"]["current"]["interval"][0] > 0
    weights = read_weights_file(folder)
    assert weights["decision"] == "adopt"
    assert weights["semantic_weight"] == summary["pick"]["semantic_weight"] < 0.5
    assert (weights["top_k"], weights["interval"]) == (5, summary["pick"]["interval"])
    assert "verdict: adopt" in out and all(reason in out for reason in summary["verdict"]["reasons"])


def test_keep_writes_what_is_kept_with_its_own_k(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """The space holds only weights at which 14 of the 24 parts are not found."""
    current = {"semantic_weight": 0.0, "top_k": 3}
    config = write_config(
        collection=write_parts(Path("parts")), semantic=PART_PROMPT, current=current, search=weight_space(0.97, 1.0), top_k=5
    )
    folder, summary, _ = tuned(config, capsys)
    assert summary["verdict"]["decision"] == "keep"
    assert "below 0" in summary["verdict"]["reasons"][0]
    assert 0.97 <= summary["pick"]["semantic_weight"] <= 1
    weights = read_weights_file(folder)
    assert (weights["decision"], weights["semantic_weight"], weights["top_k"]) == ("keep", 0.0, 3)
    assert weights["interval"] == summary["pick"]["interval"]


def test_keep_without_a_current_setting_writes_equal_weights(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """At depth 24 semantic returns every part: equal weights put the right one first, semantic alone the first by id."""
    search = {"trials": 1, "space": {"semantic_weight": 1.0, "fusion": "zscore"}}
    config = write_config(collection=write_parts(Path("parts")), semantic=PART_PROMPT, search=search, top_k=5, depth=24)
    folder, summary, _ = tuned(config, capsys)
    assert summary["verdict"]["decision"] == "keep"
    assert summary["systems"]["equal"]["objective"] == 1
    assert summary["systems"]["pick"]["objective"] == pytest.approx(sum(1 / rank for rank in range(1, 6)) / 24)
    weights = read_weights_file(folder)
    assert (weights["semantic_weight"], weights["fusion"], weights["top_k"]) == (0.5, "minmax", 5)


@pytest.mark.parametrize(
    "guards", [{"Recall@20": 0.01, "MRR": 0}, ["Recall@20 may not fall by more than .01", "RR may not fall by more than 0"]]
)
def test_a_broken_guard_rail_keeps_what_there_is(write_config: Write, capsys: pytest.CaptureFixture[str], guards: Any) -> None:
    current = {"semantic_weight": 0.0}
    collection = write_parts(Path("parts"))
    config = write_config(
        collection=collection, semantic=PART_PROMPT, current=current, search=weight_space(0.97, 1.0), guards=guards
    )
    _, summary, _ = tuned(config, capsys)
    assert summary["verdict"]["decision"] == "keep"
    assert set(summary["verdict"]["guards"]) == {"Recall@20", "MRR"}
    change = summary["verdict"]["guards"]["MRR"]["change"]
    assert change < 0 and summary["verdict"]["guards"]["MRR"]["allowed"] == 0
    assert any(reason.startswith(f"MRR falls by {-change:.4f}") for reason in summary["verdict"]["reasons"])


def test_undecided_writes_the_pick_and_where_the_config_names_it_the_current_setting(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, summary, _ = tuned(write_config(name="free"), capsys)
    assert summary["verdict"]["decision"] == "undecided"
    assert read_weights_file(folder)["semantic_weight"] == summary["pick"]["semantic_weight"]
    current = {"semantic_weight": 0.4, "fusion": "rrf", "rrf_k": 20, "top_k": 6, "depth": 7}
    folder, summary, _ = tuned(write_config(name="bound", current=current), capsys)
    assert summary["verdict"]["decision"] == "undecided"
    weights = read_weights_file(folder)
    assert {name: weights[name] for name in current} == current


def test_the_current_setting_stands_among_the_systems_at_the_picks_k(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    current = {"semantic_weight": 0.4, "fusion": "rrf", "rrf_k": 20, "top_k": 2}
    folder, summary, out = tuned(write_config(current=current, objective="Recall@top_k", top_k=8), capsys)
    assert {"keyword", "semantic", "equal", "rrf", "current", "best_trial", "pick"} == set(summary["systems"])
    assert (folder / "runs" / "current.trec").is_file()
    table = read_rows(folder / "per_query.csv")
    mean = np.mean([float(row["current"]) for row in table])
    assert summary["systems"]["current"]["objective"] == pytest.approx(mean)
    assert summary["systems"]["current"]["objective"] == pytest.approx(
        summary["systems"]["current"][f"Recall@{summary['top_k']}"] if summary["top_k"] in (1, 3, 5) else mean
    )
    own = summary["current_at_its_own_top_k"]
    assert own["top_k"] == 2 and own["objective"] <= summary["systems"]["current"]["objective"]
    assert "current setting" in out


def test_the_difference_of_every_prompt_is_pick_minus_what_is_kept(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, changes, kept in (("a", {}, "equal"), ("b", {"current": {"semantic_weight": 0.1}}, "current")):
        folder, summary, _ = tuned(write_config(name=name, **changes), capsys)
        table = read_rows(folder / "per_query.csv")
        for row in table:
            assert float(row["difference"]) == pytest.approx(float(row["pick"]) - float(row[kept]), abs=1e-12)
        fitted = np.mean([float(row["cross_fitted"]) for row in table])
        assert summary["cross_fitted"]["pick"]["objective"] == pytest.approx(fitted)
        assert summary["cross_fitted"]["pick"]["optimism"] == pytest.approx(summary["systems"]["pick"]["objective"] - fitted)
        deciding = summary["cross_fitted"]["baselines"][kept]
        assert deciding["mean"] == pytest.approx(np.mean([float(r["cross_fitted"]) - float(r[kept]) for r in table]))


def test_profile_csv_is_the_curve_of_the_picks_setting(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder, summary, _ = tuned(write_config(), capsys)
    curve = [tuple(float(row[n]) for n in ("weight_from", "weight_to", "score")) for row in read_rows(folder / "profile.csv")]
    assert curve[0][:2] == (0, 0) and curve[-1][:2] == (1, 1)
    weight = summary["pick"]["semantic_weight"]
    here = [score for low, high, score in curve if low == high == weight or low < weight < high]
    assert here == [pytest.approx(summary["systems"]["pick"]["objective"], abs=1e-12)]


def test_no_trial_beats_the_exact_optimum(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder, summary, out = tuned(write_config(), capsys)
    values = [float(row["objective"]) for row in read_rows(folder / "trials.csv")]
    assert max(values) == summary["best_trial"]["value"] <= summary["exact"]["score"] + 1e-12
    assert (summary["exact"]["settings"], summary["exact"]["of"]) == (102, 102), "minmax, zscore and a hundred constants of rrf"
    assert f"{summary['best_trial']['value'] / summary['exact']['score']:.1%}" in out


def test_a_study_says_which_numbers_are_on_the_prompts_it_was_tuned_on(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, out = tuned(write_config(), capsys)
    assert "on the prompts that the study was tuned on" in out


def test_the_same_study_twice_has_the_same_bytes_in_what_the_choice_writes(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first time with an empty cache, the second time from it."""
    seen = []
    for leg in ("one", "two"):
        folder, _, _ = tuned(write_config(current={"semantic_weight": 0.3}, held_out=0.25, cache="cache"), capsys)
        names = ("summary.json", "weights.yaml", "profile.csv", "to_judge.csv", "per_query.csv")
        seen.append({name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names})
        Path("studies").rename(f"studies-{leg}")
    assert seen[0] == seen[1]


def test_two_objectives_have_no_pick_and_no_verdict(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder, summary, _ = tuned(write_config(objective=["Precision@top_k", "Recall@top_k"]), capsys)
    assert not {"pick", "exact", "verdict", "cross_fitted", "best_trial"} & set(summary)
    assert not any((folder / name).exists() for name in ("weights.yaml", "profile.csv", "to_judge.csv"))


def test_a_weight_that_the_space_does_not_name_is_the_top_level_one(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    search = {"trials": 2, "sampler": "bruteforce", "space": {"fusion": ["minmax", "rrf"]}}
    _, summary, _ = tuned(write_config(semantic_weight=0.3, search=search), capsys)
    assert summary["best_trial"]["params"]["semantic_weight"] == 0.3
    assert summary["pick"]["semantic_weight"] == 0.3
    assert "exact" not in summary


# --- the sampler exact -----------------------------------------------------------------------------------------------


def test_exact_runs_each_discrete_setting_once_at_its_exact_optimum(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {
        "semantic_weight": {"low": 0.2, "high": 0.95},
        "fusion": ["minmax", "zscore", "rrf"],
        "rrf_k": [1, 60],
        "depth": [5, 10],
    }
    search = {"trials": 50, "sampler": "exact", "space": space}
    folder, summary, out = tuned(write_config(search=search, top_k=5), capsys)
    table = read_rows(folder / "trials.csv")
    found = [(row["fusion"], row["rrf_k"], row["depth"]) for row in table]
    fusions = [("minmax", ""), ("zscore", ""), ("rrf", "1"), ("rrf", "60")]
    assert sorted(found) == sorted((f, k, d) for (f, k), d in itertools.product(fusions, ["5", "10"]))
    config = read_config("study.yaml")
    for row in table:
        setting = {"fusion": row["fusion"], "rrf_k": int(row["rrf_k"] or 60), "depth": int(row["depth"]), "top_k": 5}
        Path("setting.yaml").write_text(yaml.safe_dump(setting))
        optimum = find_optimum(restrict(harness.profile(config, weights="setting.yaml").curve, 0.2, 0.95))
        assert float(row["semantic_weight"]) == optimum.weight
        assert float(row["objective"]) == pytest.approx(optimum.score, abs=1e-12)
    assert summary["exact"]["score"] == pytest.approx(summary["best_trial"]["value"], abs=1e-12)
    assert "100.0%" in out


def test_exact_stops_at_the_number_of_trials_and_goes_on_from_there(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"semantic_weight": {"low": 0, "high": 1}, "fusion": ["minmax", "zscore", "rrf", "l2"]}
    written = []
    for name, legs in (("legs", (1, 3, 4)), ("whole", (4,))):
        for trials in legs:
            config = write_config(name=name, search={"trials": trials, "sampler": "exact", "space": space})
            folder, _, _ = tuned(config, capsys)
            assert len(read_rows(folder / "trials.csv")) == trials
        written.append((folder / "trials.csv").read_bytes())
    assert written[0] == written[1]


def test_exact_begins_with_the_top_level_setting(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"semantic_weight": {"low": 0, "high": 1}, "fusion": ["l2", "minmax", "zscore"]}
    folder, _, _ = tuned(write_config(fusion="zscore", search={"trials": 1, "sampler": "exact", "space": space}), capsys)
    assert [row["fusion"] for row in read_rows(folder / "trials.csv")] == ["zscore"]


@pytest.mark.parametrize("weight", [[0.0, 0.5, 1.0], {"low": 0, "high": 1, "step": 0.1}], ids=["list", "step"])
def test_exact_is_refused_for_weights_that_cannot_be_any_number(
    write_config: Write, capsys: pytest.CaptureFixture[str], weight: Any
) -> None:
    space = {"semantic_weight": weight, "fusion": ["minmax", "rrf"]}
    assert "semantic_weight" in refused(write_config(search={"trials": 4, "sampler": "exact", "space": space}), capsys)


# --- few prompts, and prompts that are all alike ---------------------------------------------------------------------


def first_prompts(folder: Path, n: int) -> dict[str, str]:
    chosen = list(PROMPTS)[:n]
    return write_prompts(folder, [{"_id": q, "text": PROMPTS[q][0]} for q in chosen], {q: PROMPTS[q][2] for q in chosen})


def copies(folder: Path, n: int, cluster: str = "") -> dict[str, str]:
    text, _, labels = PROMPTS["q03"]
    prompts = [{"_id": f"c{i:02d}", "text": text, **({"cluster": cluster} if cluster else {})} for i in range(n)]
    return write_prompts(folder, prompts, {f"c{i:02d}": labels for i in range(n)})


@pytest.mark.parametrize("n", [1, 2, 5])
def test_with_a_handful_of_prompts_it_is_undecided_in_plain_words(
    write_config: Write, capsys: pytest.CaptureFixture[str], n: int
) -> None:
    _, summary, out = tuned(write_config(collection=first_prompts(Path("few"), n), guards={"Recall@5": 0}), capsys)
    assert summary["verdict"]["decision"] == "undecided"
    reasons = " ".join(summary["verdict"]["reasons"])
    assert any(words in reasons for words in ("too few prompts", "nothing to decide", "one independent prompt has no spread"))
    assert not {"nan", "inf", "none"} & set(out.lower().replace(",", " ").split())
    assert ("cross_fitted" in summary) == (n > 1)
    assert 0 <= summary["pick"]["interval"][0] <= summary["pick"]["semantic_weight"] <= summary["pick"]["interval"][1] <= 1


def test_with_one_prompt_the_weight_stays_at_home(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    one = first_prompts(Path("one"), 1)
    _, summary, _ = tuned(write_config(name="a", collection=one, search=weight_space()), capsys)
    assert (summary["pick"]["semantic_weight"], summary["pick"]["interval"]) == (0.5, [0, 1])
    config = write_config(name="b", collection=one, search=weight_space(), current={"semantic_weight": 0.3})
    assert tuned(config, capsys)[1]["pick"]["semantic_weight"] == 0.3


@pytest.mark.parametrize("cluster", ["", "same"], ids=["without clusters", "one cluster"])
def test_with_all_prompts_identical_the_words_are_sensible(
    write_config: Write, capsys: pytest.CaptureFixture[str], cluster: str
) -> None:
    _, summary, out = tuned(write_config(collection=copies(Path("copies"), 14, cluster)), capsys)
    reasons = " ".join(summary["verdict"]["reasons"])
    assert summary["verdict"]["decision"] in ("adopt", "keep", "undecided")
    if cluster:
        assert summary["verdict"]["decision"] == "undecided" and "one independent prompt has no spread" in reasons
    assert not {"nan", "inf", "none"} & set(out.lower().replace(",", " ").split())
    assert summary["labels"]["prompts_to_prove_a_gain"] == {}, "no spread, no number"


def test_with_a_pick_that_is_what_is_kept_it_is_undecided(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    search = {"trials": 2, "space": {"semantic_weight": 0.5, "fusion": "minmax", "top_k": 5}}
    folder, summary, out = tuned(write_config(search=search, guards={"MRR": 0}), capsys)
    assert summary["verdict"]["decision"] == "undecided"
    deciding = summary["cross_fitted"]["baselines"]["equal"]
    assert (deciding["p_value"], deciding["differing"]) == (1, 0)
    assert [deciding["mean"], *deciding["interval"]] == pytest.approx([0, 0, 0], abs=1e-12)
    assert "-0.0000" not in out, "no difference has no sign"
    assert summary["holes"]["difference_at_least"] == summary["holes"]["difference_at_most"] == 0
    assert read_rows(folder / "to_judge.csv") == []
    assert all(float(row["difference"]) == 0 for row in read_rows(folder / "per_query.csv"))
    assert summary["worst_losses"] == []
    assert not {"nan", "inf", "none"} & set(out.lower().replace(",", " ").split())


def test_with_prompts_that_nothing_answers_the_study_still_ends_in_words(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """The relevant document is not in the corpus: every score is 0 at every weight."""
    prompts = [{"_id": f"n{i}", "text": f"{text}"} for i, (text, _, _) in enumerate(PROMPTS.values())]
    labels = {f"n{i}": {"no such document": 1, "fence": 0} for i in range(len(prompts))}
    _, summary, out = tuned(write_config(collection=write_prompts(Path("nothing"), prompts, labels)), capsys)
    assert summary["verdict"]["decision"] == "undecided"
    assert summary["exact"]["score"] == 0 and summary["pick"]["semantic_weight"] == 0.5
    assert not {"nan", "inf", "none"} & set(out.lower().replace(",", " ").split())


def test_clusters_count_as_one_prompt_each(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    collection = write_parts(Path("parts"), 24, cluster=lambda i: f"cluster {i // 3}")
    config = write_config(collection=collection, semantic=PART_PROMPT, current={"semantic_weight": 0.9}, search=weight_space())
    _, summary, _ = tuned(config, capsys)
    deciding = summary["cross_fitted"]["baselines"]["current"]
    assert deciding["units"] == summary["labels"]["independent"] == 8
    assert summary["verdict"]["decision"] == "undecided", "twenty-four prompts, but eight clusters"


# --- held-out prompts ------------------------------------------------------------------------------------------------


def kept_and_held(config: Path) -> tuple[list[str], list[str]]:
    read = read_config(config)
    kept, held = split_held_out(read, read_data(read))
    assert held is not None
    return [query.query_id for query in kept.queries], [query.query_id for query in held.queries]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_a_share_is_held_out_at_random_by_the_seed(write_config: Write, share: float) -> None:
    kept, held = kept_and_held(write_config(held_out=share))
    assert sorted(kept + held) == sorted(PROMPTS)
    assert len(held) == round(12 * share)
    assert kept_and_held(write_config(held_out=share))[1] == held
    others = [kept_and_held(write_config(held_out=share, seed=seed))[1] for seed in range(6)]
    assert len(set(map(tuple, others))) > 1


@pytest.mark.parametrize("seed", range(6))
def test_a_share_holds_out_whole_clusters(write_config: Write, seed: int) -> None:
    collection = write_parts(Path("parts"), 12, cluster=lambda i: "" if i < 3 else f"cluster {i % 3}")
    kept, held = kept_and_held(write_config(collection=collection, held_out=0.5, seed=seed))
    clusters = {f"p{i:02d}": f"cluster {i % 3}" for i in range(3, 12)}
    assert not {clusters.get(q, q) for q in kept} & {clusters.get(q, q) for q in held}
    assert len({clusters.get(q, q) for q in held}) == 3, "half of six independent prompts"


def test_a_list_is_held_out_as_it_stands(write_config: Write) -> None:
    kept, held = kept_and_held(write_config(held_out=["q07", "q02"]))
    assert held == ["q02", "q07"] and sorted(kept + held) == sorted(PROMPTS)


def test_held_out_prompts_are_scored_and_nothing_else_sees_them(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """A study with two prompts held out is the study without them, but for what it says about them."""
    held = ["q02", "q07"]
    with_them, summary, _ = tuned(write_config(name="with", held_out=held), capsys)
    rest = [q for q in PROMPTS if q not in held]
    prompts = [{"_id": q, "text": PROMPTS[q][0], "group": PROMPTS[q][1]} for q in rest]
    collection = write_prompts(Path("rest"), prompts, {q: PROMPTS[q][2] for q in rest})
    without, other, _ = tuned(write_config(name="without", collection=collection), capsys)
    for name in ("trials.csv", "profile.csv", "per_query.csv", "weights.yaml", "to_judge.csv", "runs/pick.trec"):
        assert (with_them / name).read_bytes() == (without / name).read_bytes(), name
    assert summary["verdict"]["decision"] == other["verdict"]["decision"]
    for part in ("pick", "cross_fitted", "systems", "exact", "labels"):
        assert summary[part] == other[part], part
    assert summary["collection"]["queries_used"] == 10
    assert summary["held_out"]["queries"] == 2 and "held_out" not in other
    difference = summary["held_out"]["pick"] - summary["held_out"]["kept"]
    assert summary["held_out"]["difference"]["mean"] == pytest.approx(difference)
    assert any("2 held-out prompts" in reason for reason in summary["verdict"]["reasons"])


def test_held_out_scores_are_those_of_the_pick_and_of_what_is_kept(
    write_config: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    held = ["q01", "q03", "q06", "q11"]
    _, summary, _ = tuned(write_config(held_out=held, current={"semantic_weight": 0.1, "top_k": 2}), capsys)
    prompts = [{"_id": q, "text": PROMPTS[q][0]} for q in held]
    collection = write_prompts(Path("held"), prompts, {q: PROMPTS[q][2] for q in held})
    for name, setting in (("pick", summary["pick"]["params"]), ("kept", {"semantic_weight": 0.1})):
        Path("setting.yaml").write_text(yaml.safe_dump({**setting, "top_k": summary["top_k"]}))
        data = harness.evaluate(write_config("held.yaml", collection=collection), weights="setting.yaml").to_dict()
        assert summary["held_out"][name] == pytest.approx(data["systems"]["weights"]["objective"]), name


def other_files(folder: Path, prompts: list[dict[str, Any]], labels: dict[str, dict[str, int]]) -> dict[str, str]:
    files = write_prompts(folder, prompts, labels)
    return {"queries": files["queries"], "qrels": files["qrels"]}


def test_files_of_their_own_are_held_out(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    files = other_files(
        Path("later"),
        [{"_id": "x1", "text": "dark pot over the crown in January"}, {"_id": "x2", "text": "bark against weeds"}],
        {"x1": {"rhubarb": 1}, "x2": {"mulch": 2}},
    )
    _, summary, _ = tuned(write_config(held_out=files), capsys)
    assert summary["collection"]["queries_used"] == 12
    assert summary["held_out"]["queries"] == 2


@pytest.mark.parametrize(
    "prompt",
    [{"_id": "q03", "text": "something else"}, {"_id": "x1", "text": PROMPTS["q03"][0]}],
    ids=["the same id", "the same text"],
)
def test_d18_a_prompt_on_both_sides_is_refused(
    write_config: Write, capsys: pytest.CaptureFixture[str], prompt: dict[str, str]
) -> None:
    clean = {"_id": "x9", "text": "bark against weeds"}
    files = other_files(Path("later"), [prompt, clean], {prompt["_id"]: {"mulch": 1}, "x9": {"mulch": 1}})
    message = refused(write_config(held_out=files), capsys)
    assert "held_out" in message and repr(prompt["_id"]) in message and "x9" not in message


def test_a_cluster_on_both_sides_is_refused(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    collection = write_prompts(
        Path("tuned"),
        [{"_id": "a", "text": "late frost", "cluster": "cold"}, {"_id": "b", "text": "leeks"}],
        {"a": {"frost": 1}, "b": {"leek": 1}},
    )
    prompts = [{"_id": "x1", "text": "cold nights", "cluster": "cold"}]
    files = other_files(Path("later"), prompts, {"x1": {"frost": 1}})
    assert "'x1'" in refused(write_config(collection=collection, held_out=files), capsys)


@pytest.mark.parametrize(
    ("held_out", "said"),
    [
        (["q01", "nobody"], "nobody"),
        (list(PROMPTS), "12"),
        (0.01, "0 of 12"),
        (0.99, "12 of 12"),
        (1.5, "held_out"),
        (0, "held_out"),
        ([], "held_out"),
    ],
)
def test_a_split_that_leaves_one_side_empty_or_names_nobody_is_refused(
    write_config: Write, capsys: pytest.CaptureFixture[str], held_out: Any, said: str
) -> None:
    message = refused(write_config(held_out=held_out), capsys)
    assert "held_out" in message and said in message


def test_a_list_that_tears_a_cluster_is_refused(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    collection = write_parts(Path("parts"), 12, cluster=lambda i: f"cluster {i // 4}")
    message = refused(write_config(collection=collection, held_out=["p00", "p01", "p02"]), capsys)
    assert "cluster 0" in message and "cluster 1" not in message
    whole = write_config(collection=collection, held_out=["p00", "p01", "p02", "p03"])
    assert kept_and_held(whole)[1] == ["p00", "p01", "p02", "p03"]


def test_other_held_out_prompts_are_another_question(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    files = other_files(Path("later"), [{"_id": "x1", "text": "bark against weeds"}], {"x1": {"mulch": 1}})
    tuned(write_config(held_out=files), capsys)
    Path(files["qrels"]).write_text("x1\tcompost\t1\n")
    with pytest.raises(HarnessError, match="held_out"):
        harness.tune(write_config(held_out=files))


def test_purposes_do_not_share_random_numbers() -> None:
    """Folds, resamples and held-out prompts of one seed are drawn apart."""
    draws = {tuple(make_rng(7, purpose).integers(0, 1000, 5)) for purpose in range(1, 7)}
    assert len(draws) == 6
