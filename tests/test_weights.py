"""Prompts' weights from the file to the study folder: what is read, what is refused, and what a weighted study says."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from browser import Browser
from conftest import PROMPTS, write_collection

import harness
from harness.cli import run
from harness.collection import DataFiles, Source, read_dataset
from harness.commands.check import check
from harness.commands.evaluate import evaluate
from harness.commands.profile import profile
from harness.commands.reproduce import reproduce
from harness.commands.watch import watch
from harness.config import load_config
from harness.errors import HarnessError
from harness.files import hash_lines, read_queries
from harness.folder import read_prepared, read_study
from harness.inference import mean_interval
from harness.prepare import read_data
from harness.tables import read_table_queries
from harness.traffic import effective_number

Write = Callable[..., Path]
WEIGHTS = (5, 1, 0, 2.5, 1, 1, 3, 12, 1, 2, 0, 1)
NAMES = tuple(PROMPTS)


def problems_of(read: Callable[[], Any]) -> list[str]:
    with pytest.raises(HarnessError) as caught:
        read()
    return list(caught.value.problems)


def put(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


# --- reading ---------------------------------------------------------------------------------------------------------


def lines_of(*weights: str | None) -> str:
    """Prompts a, b, …; each weight as it stands in the file."""
    return "".join(
        f'{{"_id": "{"abcdefgh"[i]}", "text": "x"{"" if weight is None else f", {chr(34)}weight{chr(34)}: {weight}"}}}\n'
        for i, weight in enumerate(weights)
    )


def test_a_weight_is_read_as_the_number_it_is(tmp_path: Path) -> None:
    queries = read_queries(put(tmp_path / "q", lines_of("3", "0.25", "0", "1e5", "-0.0")))
    assert [query.weight for query in queries] == [3.0, 0.25, 0.0, 1e5, 0.0]
    assert math.copysign(1, queries[4].weight or 0.0) == 1
    assert [query.weight for query in read_queries(put(tmp_path / "q", lines_of(None, "null")))] == [None, None]


@pytest.mark.parametrize(
    "hostile", ['"3"', '"many"', "-1", "1e308", "1e-300", "1e400", "true", "[3]", "{}", '""', "1" + "0" * 400]
)
def test_what_is_no_weight_is_refused_with_its_place(tmp_path: Path, hostile: str) -> None:
    path = put(tmp_path / "q", lines_of("1", hostile, "2"))
    (problem,) = problems_of(lambda: read_queries(path))
    assert problem.startswith(f"{path}:2: weight must be a number, 0 or from 1e-12 to 1e+12, got ")
    assert len(problem) < 250


def test_not_a_number_is_no_json(tmp_path: Path) -> None:
    path = put(tmp_path / "q", lines_of("1", "NaN"))
    (problem,) = problems_of(lambda: read_queries(path))
    assert problem.startswith(f"{path}:2: ")
    assert "NaN is not JSON" in problem


def test_some_prompts_with_a_weight_and_some_without_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "q", lines_of("1", None, "2", "null"))
    (problem,) = problems_of(lambda: read_queries(path))
    assert problem == (
        f"{path}: all prompts must have a weight, or none, got none for 2 of 4: 'b', 'd'; give them one (0: not counted)"
    )


def test_a_table_has_weights_in_a_column(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "id,text,weight,hits\n1,How?, 2 ,7\n2,Why?,0,1e2\n")
    assert [q.weight for q in read_table_queries(path, {}, None, answers=False)] == [2.0, 0.0]
    assert [q.weight for q in read_table_queries(path, {"weight": "hits"}, None, answers=False)] == [7.0, 100.0]
    lines = put(tmp_path / "q.jsonl", '{"id": 1, "text": "How?", "weight": 1.5}\n')
    assert [q.weight for q in read_table_queries(lines, {}, None, answers=False)] == [1.5]


@pytest.mark.parametrize("hostile", ["nan", "inf", "-3", "1e308", "3 times", "1,5", "²"])
def test_a_cell_that_is_no_weight_is_refused_with_its_place(tmp_path: Path, hostile: str) -> None:
    path = put(tmp_path / "q.csv", f'id,text,weight\n1,How?,2\n2,Why?,"{hostile}"\n')
    (problem,) = problems_of(lambda: read_table_queries(path, {}, None, answers=False))
    assert problem.startswith(f"{path}:3: weight must be a number, 0 or from 1e-12 to 1e+12, got '{hostile}'")


def test_an_empty_cell_is_no_weight(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "id,text,weight\n1,How?,2\n2,Why?,\n")
    (problem,) = problems_of(lambda: read_table_queries(path, {}, None, answers=False))
    assert problem.startswith(f"{path}: all prompts must have a weight, or none, got none for 1 of 2: '2'")
    none = put(tmp_path / "n.csv", "id,text,weight\n1,How?,\n2,Why?,\n")
    assert [q.weight for q in read_table_queries(none, {}, None, answers=False)] == [None, None]


def test_parquet_has_weights_as_any_kind_of_number(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from decimal import Decimal

    from pyarrow import parquet

    columns = {"id": ["1", "2"], "text": ["a", "b"]}
    for values, wanted in (([2, 3], [2.0, 3.0]), ([0.5, 2.0], [0.5, 2.0]), ([Decimal("2.5"), Decimal(1)], [2.5, 1.0])):
        parquet.write_table(pyarrow.table({**columns, "weight": values}), tmp_path / "q.parquet")
        assert [q.weight for q in read_table_queries(tmp_path / "q.parquet", {}, None, answers=False)] == wanted
    parquet.write_table(pyarrow.table({**columns, "weight": [float("nan"), 1.0]}), tmp_path / "q.parquet")
    (problem,) = problems_of(lambda: read_table_queries(tmp_path / "q.parquet", {}, None, answers=False))
    assert problem.startswith(f"{tmp_path / 'q.parquet'}: row 1: weight must be a number")


def weighted_garden(folder: Path, weights: Sequence[float] | None) -> dict[str, str]:
    """The hand-written collection with these weights."""
    block = write_collection(folder)
    path = folder / "queries.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for i, record in enumerate(records):
        record |= {} if weights is None else {"weight": weights[i]}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return block


def files_of(block: dict[str, str]) -> DataFiles:
    return DataFiles(Path(block["corpus"]), Path(block["queries"]), Path(block["qrels"]))


def test_the_content_of_the_prompts_is_their_weights_too_but_only_where_they_have_some(tmp_path: Path) -> None:
    plain = read_dataset(files_of(weighted_garden(tmp_path / "a", None)))
    parts = [part for name in NAMES for part in (name, PROMPTS[name][0], PROMPTS[name][1], "")]
    assert plain.hashes.queries == hash_lines(parts)
    hashes = {
        read_dataset(files_of(weighted_garden(tmp_path / f"b{i}", w))).hashes.queries
        for i, w in enumerate(([1.0] * 12, WEIGHTS, WEIGHTS[::-1]))
    }
    assert len(hashes | {plain.hashes.queries}) == 4


def test_weights_that_are_all_0_are_refused(tmp_path: Path) -> None:
    block = weighted_garden(tmp_path, [0] * 12)
    (problem,) = problems_of(lambda: read_dataset(files_of(block)))
    assert problem.endswith("a prompt with a relevant document must have a weight above 0, got 0 for all 12 of them")


def test_the_config_names_the_column_of_the_weights(tmp_path: Path) -> None:
    block = write_collection(tmp_path)
    rows = "".join(f"{name},{PROMPTS[name][0]},{i}\n" for i, name in enumerate(NAMES))
    path = put(tmp_path / "q.csv", "id,text,searches\n" + rows)
    files = DataFiles(Path(block["corpus"]), Source(str(path), {"weight": "searches"}), Path(block["qrels"]))
    assert [query.weight for query in read_dataset(files).queries] == list(range(12))


# --- a study ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return weighted_garden(tmp_path_factory.mktemp("weighted"), WEIGHTS)


def table_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "per_query.csv").read_text().splitlines()))


def test_every_mean_of_a_study_is_weighted(write_config: Write, weighted: dict[str, str], workdir: Path) -> None:
    config = write_config(collection=weighted, current={"semantic_weight": 0.9, "top_k": 5}, guards={"Recall@5": 0.5})
    result = harness.tune(config)
    summary, rows = result.summary, table_of(result.folder)
    assert list(rows[0])[:5] == ["query_id", "group", "cluster", "weight", "relevant"]
    w = np.asarray([float(row["weight"]) for row in rows])
    assert w.tolist() == list(WEIGHTS)

    def by_hand(column: str) -> float:
        return sum(float(row["weight"]) * float(row[column]) for row in rows) / sum(WEIGHTS)

    for name, means in summary["systems"].items():
        assert means["objective"] == pytest.approx(by_hand(name), abs=1e-12), name
    deciding = summary["cross_fitted"]["baselines"]["current"]
    difference = np.asarray([float(row["cross_fitted"]) - float(row["current"]) for row in rows])
    assert deciding["mean"] == pytest.approx(float(np.average(difference, weights=w)), abs=1e-12)
    interval = mean_interval(difference, np.arange(12, dtype=np.int32), traffic=w)
    assert deciding["interval"] == pytest.approx(interval, abs=1e-9)
    assert deciding["units"] == 10  # two of twelve have the weight 0
    assert deciding["wins"] + deciding["ties"] + deciding["losses"] == 10
    assert summary["cross_fitted"]["pick"]["objective"] == pytest.approx(by_hand("cross_fitted"), abs=1e-12)
    best = summary["best_trial"]
    trials = list(csv.DictReader((result.folder / "trials.csv").read_text().splitlines()))
    assert float(trials[best["number"]]["objective"]) == best["value"]
    at_k = next(row for row in summary["trade_off"] if row["top_k"] == summary["top_k"])
    assert at_k["objective"] == pytest.approx(by_hand("pick"), abs=1e-12)
    curve = list(csv.DictReader((result.folder / "profile.csv").read_text().splitlines()))
    held = [r for r in curve if float(r["weight_from"]) < summary["pick"]["semantic_weight"] < float(r["weight_to"])]
    assert float(held[0]["score"]) == pytest.approx(by_hand("pick"), abs=1e-12)
    counts = summary["collection"]
    assert counts["effective_queries"] == pytest.approx(sum(WEIGHTS) ** 2 / sum(x * x for x in WEIGHTS), abs=1e-12)
    assert (counts["queries_used"], counts["queries_of_weight_0"]) == (12, 2)
    assert "each counting by its weight: Σ weight · score / Σ weight" in summary["definitions"]["name@K"]
    groups = summary["groups"]
    assert sum(group["share"] for group in groups.values()) == pytest.approx(1, abs=1e-12)
    assert sum(group["prompts"] for group in groups.values()) == 10
    pests = [row for row in rows if row["group"] == "pests"]
    assert groups["pests"]["pick"] == pytest.approx(
        sum(float(r["weight"]) * float(r["pick"]) for r in pests) / sum(float(r["weight"]) for r in pests), abs=1e-12
    )


def test_ir_measures_values_by_prompt_times_the_weights_are_the_means(
    write_config: Write, weighted: dict[str, str], workdir: Path
) -> None:
    """As docs/measures.md says: a run has no place for a weight, the values by prompt are multiplied by per_query.csv's."""
    result = harness.tune(write_config(collection=weighted))
    rows, qrels = table_of(result.folder), list(ir_measures.read_trec_qrels(str(result.folder / "runs/qrels.trec")))
    for name in ("keyword", "equal", "pick"):
        ranked = list(ir_measures.read_trec_run(str(result.folder / f"runs/{name}.trec")))
        for mine, theirs in (("MAP@5", "AP@5"), ("Recall@3", "R@3"), ("nDCG@5", "nDCG@5"), ("Precision@1", "P@1")):
            values = {m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.parse_measure(theirs)], qrels, ranked)}
            total = sum(float(row["weight"]) * values.get(row["query_id"], 0.0) for row in rows)
            assert result.summary["systems"][name][mine] == pytest.approx(total / sum(WEIGHTS), abs=1e-9), (name, mine)


def test_a_weighted_study_is_reproduced_and_keeps_its_weights(
    write_config: Write, weighted: dict[str, str], workdir: Path
) -> None:
    result = harness.tune(write_config(collection=weighted))
    assert reproduce("study").outcome == "OK"
    assert reproduce("study", from_scratch=True).outcome == "OK"
    assert tuple(query.weight for query in read_prepared(read_study("study")).dataset.queries) == WEIGHTS
    path = Path(weighted["queries"])
    before = path.read_text()
    try:
        path.write_text(before.replace('"weight": 12', '"weight": 13'))
        assert reproduce("study", from_scratch=True).outcome == "FAIL"
        with pytest.raises(HarnessError, match=r"content of collection\.queries"):
            harness.tune(write_config(collection=weighted))
    finally:
        path.write_text(before)
    page = (result.folder / "report.html").read_text()
    n_eff = effective_number(np.asarray(WEIGHTS, dtype=np.float64))
    assert f"which by their weights count like {n_eff:.1f} equal ones" in " ".join(page.split())
    assert 'data-key="weight"' in page
    assert '"weight":2.5' in page
    assert "each counting by its weight" in page


def test_the_page_lists_each_prompt_with_its_weight(
    browser: Browser, write_config: Write, weighted: dict[str, str], workdir: Path
) -> None:
    result = harness.tune(write_config(collection=weighted))
    browser.open(result.folder / "report.html")
    browser.wait("document.documentElement.dataset.ready")
    browser.click('#prompt-table button[data-key="weight"]')  # the heaviest first
    heads = browser.run("return [...document.querySelectorAll('#prompt-table thead th')].map((cell) => cell.textContent.trim())")
    found = browser.run(
        "return [...document.querySelectorAll('#prompt-table tbody tr')].map((line) => [...line.cells].map((c) => c.textContent))"
    )
    place = heads.index("weight")
    assert all(len(line) == len(heads) for line in found)
    assert [float(line[place]) for line in found] == sorted(WEIGHTS, reverse=True)
    assert not browser.errors()


def test_a_study_without_weights_says_nothing_of_them(write_config: Write, workdir: Path) -> None:
    result = harness.tune(write_config())
    for name in ("per_query.csv", "summary.json", "report.html"):
        text = (result.folder / name).read_text()
        assert "effective_queries" not in text
        assert "by its weight" not in text
        assert 'data-key="weight"' not in text
    assert "weight" not in table_of(result.folder)[0]
    assert b"weights.npy" not in (result.folder / "candidates.npz").read_bytes()
    assert "each counting once" in result.summary["definitions"]["name@K"]


def test_one_weight_for_all_gives_the_numbers_of_no_weights(write_config: Write, workdir: Path) -> None:
    """Every file with numbers is the same to the byte, but for what says that there are weights."""
    plain = harness.tune(write_config("plain.yaml", name="plain"))
    same = weighted_garden(workdir / "same", [3.0] * 12)
    equal = harness.tune(write_config("equal.yaml", name="equal", collection=same))
    for name in ("trials.csv", "profile.csv", "weights.yaml", "to_judge.csv", "runs/pick.trec", "runs/qrels.trec"):
        assert (plain.folder / name).read_bytes() == (equal.folder / name).read_bytes(), name
    rows = table_of(equal.folder)
    assert [row.pop("weight") for row in rows] == ["3.0"] * 12
    assert rows == table_of(plain.folder)
    for part in ("systems", "pick", "cross_fitted", "verdict", "labels", "groups", "trade_off"):
        assert plain.summary[part] == equal.summary[part], part
    assert equal.summary["collection"]["effective_queries"] == 12


def test_prompts_of_weight_0_decide_nothing(write_config: Write, workdir: Path) -> None:
    """A study with them and one without them differ in the counts of prompts alone."""
    block = weighted_garden(workdir / "all", WEIGHTS)
    with_them = harness.tune(write_config("a.yaml", name="a", collection=block))
    fewer = weighted_garden(workdir / "fewer", WEIGHTS)
    gone = {name for name, weight in zip(NAMES, WEIGHTS, strict=True) if weight == 0}
    for name in ("queries", "qrels"):
        path = Path(fewer[name])
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not any(q in line.split("\t")[0] for q in gone)))
    without = harness.tune(write_config("b.yaml", name="b", collection=fewer))
    assert {row["query_id"] for row in table_of(with_them.folder)} - {row["query_id"] for row in table_of(without.folder)} == gone
    assert (with_them.folder / "weights.yaml").read_text() == (without.folder / "weights.yaml").read_text()
    first, second = with_them.summary, without.summary
    said = first["verdict"]["reasons"]
    first["verdict"]["reasons"] = [line.replace(" that has a weight above 0", "") for line in said]
    for part in ("best_trial", "exact", "pick", "cross_fitted", "verdict", "labels", "groups", "group_weights", "trade_off"):
        assert alike(first.get(part), second.get(part)), part


def alike(one: Any, other: Any) -> bool:
    """The same JSON, numbers to 1e-12: sums over more terms, some of them 0, are added in another order."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12) if isinstance(one, float) else bool(one == other)


def test_uneven_weights_are_warned_of(
    write_config: Write, weighted: dict[str, str], workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(collection=weighted)
    found = check(config)
    total, squares = sum(WEIGHTS), sum(x * x for x in WEIGHTS)
    assert found.facts["weights"] == {
        "sum": total,
        "effective_prompts": pytest.approx(total**2 / squares),
        "largest_share": pytest.approx(12 / total),
        "zero": 2,
    }
    assert found.facts["independent_prompts"] == 10
    note = next(note for note in found.notes if note.name == "uneven_weights")
    assert [example[0].id for example in note.examples] == ["q08", "q01", "q07"]
    assert [place.where for (place,) in note.examples] == [f"{weighted['queries']}:{line}" for line in (8, 1, 7)]
    assert "'q08' 41%, 'q01' 17%, 'q07' 10%" in note.message
    assert run(["check", str(config)]) == 0
    said = capsys.readouterr().out
    assert "weights: sum 29.5, 2 of them 0; the prompts count like 4.5 equal ones, the largest share is 40.7%" in said
    assert run(["tune", str(config)]) == 0
    said = capsys.readouterr().out
    assert "12 of 12 prompts used, by weight like 4.5 equal ones, 12 trials" in said
    assert "every mean is over the used prompts, each counting by its weight." in said
    assert "by their weights 12 prompts count like 4.5 equal ones" in said


def test_evaluate_and_profile_weigh_foreign_runs_too(
    write_config: Write, weighted: dict[str, str], workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(collection=weighted)
    result = harness.tune(config)
    found = evaluate(config, runs=[result.folder / "runs/pick.trec"], weights=None).to_dict()
    for name, means in found["systems"].items():
        recorded = result.summary["systems"][name if name in result.summary["systems"] else "pick"]
        assert means["MAP"] == pytest.approx(recorded["MAP"], abs=1e-12), name
    mine = found["systems"]["pick"]
    rows = table_of(result.folder)
    scores = evaluate(config, runs=[result.folder / "runs/pick.trec"]).systems[-1].scores["MAP@5"]
    w = np.asarray([float(row["weight"]) for row in rows])
    assert mine["MAP@5"] == pytest.approx(float(np.average(scores, weights=w)), abs=1e-12)
    assert mine["intervals"]["MAP@5"] == pytest.approx(mean_interval(scores, np.arange(12, dtype=np.int32), traffic=w), abs=1e-12)
    assert "by its weight" in found["definitions"]["name@K"]
    assert run(["evaluate", str(config)]) == 0
    assert "12 prompts, by weight like 4.5 equal ones, 24 documents" in capsys.readouterr().out
    curve = profile(config).to_dict()
    assert curve["keyword"] == pytest.approx(result.summary["systems"]["keyword"]["MAP@5"], abs=1e-12)


def test_held_out_prompts_count_by_their_weights(write_config: Write, weighted: dict[str, str], workdir: Path) -> None:
    out = ["q01", "q03", "q08", "q12"]
    result = harness.tune(write_config(collection=weighted, held_out=out))
    held = result.judged.held_out if result.judged is not None else None
    assert held is not None
    assert result.summary["held_out"]["pick"] == pytest.approx(float(np.average(held.pick, weights=[5, 0, 12, 1])), abs=1e-12)
    assert result.summary["held_out"]["difference"]["units"] == 3
    assert reproduce("study").outcome == "OK"
    nothing = write_config("n.yaml", name="n", collection=weighted, held_out=["q03", "q11"])
    with pytest.raises(HarnessError, match="the held-out prompts must have a weight above 0, got 0 for all 2"):
        harness.tune(nothing)


def test_watch_counts_by_todays_weights(write_config: Write, weighted: dict[str, str], workdir: Path) -> None:
    result = harness.tune(write_config(collection=weighted))
    quality = watch("study", latency=False, setting="pick").checks[0]
    assert quality.status == "ok"
    assert quality.numbers["now"] == pytest.approx(result.summary["systems"]["pick"]["objective"], abs=1e-12)
    today = weighted_garden(workdir / "today", [1.0] * 11 + [50.0])
    found = watch("study", queries=today["queries"], qrels=today["qrels"], latency=False, setting="pick").checks[0]
    scores = [float(row["pick"]) for row in table_of(result.folder)]
    expected = float(np.average(scores, weights=[1.0] * 11 + [50.0]))
    assert found.numbers["now"] == pytest.approx(expected, abs=1e-12)
    assert found.numbers["then"] == pytest.approx(expected, abs=1e-12)  # the same prompts, and the same weights for both
    run_of = watch("study", run=result.folder / "runs/pick.trec", setting="pick").checks[0]
    assert run_of.numbers["now"] == pytest.approx(result.summary["systems"]["pick"]["objective"], abs=1e-12)
    plain = weighted_garden(workdir / "plain", None)
    with pytest.raises(HarnessError, match="today's prompts have no weights and the study's weights"):
        watch("study", queries=plain["queries"], qrels=plain["qrels"], latency=False)


def test_studies_side_by_side_are_compared_by_the_first_ones_weights(
    write_config: Write, weighted: dict[str, str], workdir: Path
) -> None:
    harness.tune(write_config("a.yaml", name="a", collection=weighted))
    harness.tune(write_config("b.yaml", name="b", collection=weighted, keyword={"analyzer": "english"}))
    harness.tune(write_config("c.yaml", name="c"))
    assert run(["report", "a", "b", "c"]) == 0
    first, second, third = (table_of(Path("studies") / name) for name in "abc")
    mine = [float(x["pick"]) for x in first]
    page = Path("comparison.html").read_text()
    assert "its prompts have no weights, unlike the first study" in page
    assert f"{float(np.average(mine, weights=WEIGHTS)):.4f}" in page
    assert second and third


def test_a_damaged_weight_in_the_stored_candidates_is_said(write_config: Write, weighted: dict[str, str], workdir: Path) -> None:
    from harness.files import read_arrays, write_arrays

    result = harness.tune(write_config(collection=weighted))
    path = result.folder / "candidates.npz"
    stored = read_arrays(path)
    for bad in (np.full(12, np.nan), np.full(12, -1.0), np.ones(11), np.zeros(12), np.ones(12, dtype=np.int32)):
        write_arrays(path, {**stored, "weights": bad})
        with pytest.raises(HarnessError, match=r"candidates\.npz: must be what tune wrote, got: "):
            read_prepared(read_study("study"))
    shutil.rmtree(result.folder)


def test_the_data_of_a_config_have_their_weights(write_config: Write, weighted: dict[str, str]) -> None:
    dataset = read_data(load_config(write_config(collection=weighted)))
    assert tuple(query.weight for query in dataset.queries) == WEIGHTS
