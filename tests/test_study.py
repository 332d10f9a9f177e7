"""A study end to end on a small collection, with the real model: the O cases, the folder's contracts, foreign checks."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import yaml

import harness
from harness.cli import run
from harness.commands import tune as tune_module
from harness.config import read_config
from harness.errors import HarnessError, SurroundingsError
from harness.space import list_values
from harness.study import Outcome, best_of, hold_study, pareto_of
from harness.study import Trial as StudyTrial

Write = Callable[..., Path]
SAME_BYTES = ("config.yaml", "trials.csv", "per_query.csv", "summary.json", "weights.yaml", "candidates.npz")


def tuned(config: Path, **changes: Any) -> Path:
    return harness.tune(config, **changes).folder


def digest(folder: Path) -> dict[str, str]:
    files = [*(folder / name for name in SAME_BYTES), *sorted((folder / "runs").glob("*.trec"))]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def in_a_fresh_process(config: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "tune", str(config), *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def with_trials(write_config: Write, trials: int, **changes: Any) -> Path:
    search = yaml.safe_load(write_config().read_text())["search"]
    return write_config(search={**search, "trials": trials}, **changes)


def test_o1_the_same_study_in_fresh_processes_whatever_the_hash_seed_and_the_threads(write_config: Write) -> None:
    config = write_config()
    tuned(config, name="warm")  # fills the cache, so that the processes below load no model
    seen = []
    for name, hash_seed, threads in (("a", "1", "1"), ("b", "2", "2")):
        done = in_a_fresh_process(config, "--name", name, PYTHONHASHSEED=hash_seed, OMP_NUM_THREADS=threads)
        assert done.returncode == 0, done.stderr
        seen.append(digest(Path("studies") / name))
    for key in ("trials.csv", "per_query.csv", "candidates.npz", "weights.yaml", *(k for k in seen[0] if k.startswith("runs"))):
        assert seen[0][key] == seen[1][key], key
    other = write_config("other.yaml", name="other", seed=8)
    assert [r["semantic_weight"] for r in rows(tuned(other))] != [r["semantic_weight"] for r in rows(Path("studies/a"))]


def test_same_inputs_same_bytes_encoded_anew(write_config: Write, workdir: Path) -> None:
    config = write_config(cache="one")
    first = digest(tuned(config))
    Path("studies").rename("studies-before")
    assert digest(tuned(write_config(cache="two"))) | {"config.yaml": ""} == first | {"config.yaml": ""}


def test_o3_a_study_that_was_stopped_equals_an_uninterrupted_one(write_config: Write) -> None:
    whole = tuned(with_trials(write_config, 20, name="whole"))
    tuned(with_trials(write_config, 7, name="legs"))
    legs = tuned(with_trials(write_config, 20, name="legs"))
    assert (whole / "trials.csv").read_bytes() == (legs / "trials.csv").read_bytes()


@pytest.mark.parametrize("sampler", ["random", "qmc", "nsgaii", "nsgaiii", "gp"])
def test_o3_holds_for_every_sampler(write_config: Write, sampler: str) -> None:
    search = yaml.safe_load(write_config().read_text())["search"] | {"sampler": sampler}
    sizes = (14, 7) if sampler != "gp" else (12, 5)
    whole = tuned(write_config(name="whole", search={**search, "trials": sizes[0]}))
    tuned(write_config(name="legs", search={**search, "trials": sizes[1]}))
    legs = tuned(write_config(name="legs", search={**search, "trials": sizes[0]}))
    assert (whole / "trials.csv").read_bytes() == (legs / "trials.csv").read_bytes()


def test_o3_a_killed_process_leaves_a_study_that_goes_on_the_same(write_config: Write) -> None:
    config = with_trials(write_config, 300, name="whole")
    whole = tuned(config)
    killed = subprocess.Popen(
        [sys.executable, "-m", "harness", "tune", str(config), "--name", "killed"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = Path("studies/killed/journal.log")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.is_file() and journal.stat().st_size > 40_000):
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=30)
    with journal.open("ab") as file:
        file.write(b'{"op_code": 8, "torn')  # a line that was being written
    assert rows_of_journal(journal) < 300
    resumed = in_a_fresh_process(config, "--name", "killed")
    assert resumed.returncode == 0, resumed.stderr
    assert (whole / "trials.csv").read_bytes() == Path("studies/killed/trials.csv").read_bytes()


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc", "nsgaii"])
def test_o3_a_trial_that_was_cut_anywhere_is_drawn_again_whole(write_config: Write, sampler: str) -> None:
    """Every place at which a kill can leave the journal while a trial is drawn: the study goes on as if nothing had been."""
    search = yaml.safe_load(write_config().read_text())["search"] | {"sampler": sampler, "trials": 9}
    config = write_config(search=search)
    folder = tuned(config)
    whole, journal = (folder / "trials.csv").read_bytes(), (folder / "journal.log").read_bytes()
    lines = journal.splitlines(keepends=True)
    for trial in (0, 6):
        start = [i for i, line in enumerate(lines) if b'"op_code":4,' in line][trial]
        for cut in range(start + 1, start + 8):
            (folder / "journal.log").write_bytes(b"".join(lines[:cut]))
            tuned(config)
            assert (folder / "trials.csv").read_bytes() == whole, (trial, cut - start)


def test_a_study_that_another_process_runs_is_left_alone(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    config = with_trials(write_config, 5)
    with hold_study(Path("studies/study")):
        done = in_a_fresh_process(config)
    assert done.returncode == 3 and "another process is running this study" in done.stderr
    assert run(["tune", str(config)]) == 0


def rows_of_journal(journal: Path) -> int:
    return sum(b'"state":1' in line for line in journal.read_bytes().splitlines())


def test_o4_a_finished_study_adds_nothing_and_prints_the_same(write_config: Write, capsys: pytest.CaptureFixture[str]) -> None:
    config = with_trials(write_config, 5)
    assert run(["tune", str(config)]) == 0
    first, files = capsys.readouterr().out, digest(Path("studies/study"))
    assert run(["tune", str(config)]) == 0
    assert capsys.readouterr().out == first
    assert digest(Path("studies/study")) == files
    assert len(rows(Path("studies/study"))) == 5


def test_o5_an_interrupt_keeps_the_finished_trials_and_says_how_to_go_on(
    write_config: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tuned(with_trials(write_config, 10, name="whole"))
    config = with_trials(write_config, 10)
    measure, calls = tune_module.measure_trial, []

    def interrupt_at_the_fourth(prepared: Any, params: Any) -> Outcome:
        calls.append(params)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return measure(prepared, params)

    monkeypatch.setattr(tune_module, "measure_trial", interrupt_at_the_fourth)
    assert run(["tune", str(config)]) == 130
    said = capsys.readouterr().err
    assert "stopped after 4 of 10 trials" in said and f"python -m harness tune {config}" in said
    assert not Path("studies/study/weights.yaml").exists()
    monkeypatch.undo()
    assert run(["tune", str(config)]) == 0
    assert (whole / "trials.csv").read_bytes() == Path("studies/study/trials.csv").read_bytes()


def test_o11_a_trial_without_a_finite_value_fails_with_the_reason_and_is_never_the_best(
    write_config: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, calls = tune_module.measure_trial, []

    def sometimes_not_finite(prepared: Any, params: Any) -> Outcome:
        calls.append(params)
        outcome = measure(prepared, params)
        bad = {2: math.nan, 3: math.inf}.get(len(calls))
        return outcome if bad is None else replace(outcome, values=(bad,))

    monkeypatch.setattr(tune_module, "measure_trial", sometimes_not_finite)
    result = harness.tune(with_trials(write_config, 6))
    assert [row["state"] for row in rows(result.folder)] == ["COMPLETE", "FAIL", "FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]
    assert result.summary["best_trial"]["number"] not in (1, 2)
    assert "not a finite number" in result.trials[1].reason
    assert any("2 trials failed" in warning for warning in result.summary["warnings"])


def test_o12_no_completed_trial_is_an_error_with_the_first_cause_and_no_weights(
    write_config: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tune_module, "measure_trial", lambda prepared, params: Outcome((math.nan,), {}))
    with pytest.raises(SurroundingsError, match="no trial completed: the objective is"):
        harness.tune(with_trials(write_config, 3))
    assert run(["tune", str(with_trials(write_config, 3))]) == 3
    assert "no trial completed" in capsys.readouterr().err
    assert not Path("studies/study/weights.yaml").exists()


def change_corpus(collection: dict[str, str]) -> None:
    path = Path(collection["corpus"])
    path.write_text(path.read_text().replace("cool cellar", "cold cellar"))


def change_qrels(collection: dict[str, str]) -> None:
    path = Path(collection["qrels"])
    path.write_text(path.read_text().replace("q01\tseed\t0", "q01\tseed\t1"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"objective": "MRR@5"}, "objective"),
        ({"seed": 8}, "seed"),
        ({"search": {"trials": 12, "space": {"semantic_weight": {"low": 0, "high": 0.5}}}}, "search.space"),
        ({"keyword": {"analyzer": "english"}}, "keyword.analyzer"),
        (change_corpus, "content of collection.corpus"),
        (change_qrels, "content of collection.qrels"),
    ],
)
def test_o13_another_question_under_a_known_name_is_refused_with_what_changed(
    write_config: Write, workdir: Path, change: Any, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from conftest import write_collection

    collection = write_collection(workdir / "data")
    config = write_config(collection=collection)
    before = digest(tuned(config))
    if callable(change):
        change(collection)
    else:
        config = write_config(collection=collection, **change)
    assert run(["tune", str(config)]) == 2
    said = capsys.readouterr().err
    assert named in said and "--name" in said and "--fresh" in said
    assert digest(Path("studies/study")) == before
    assert run(["tune", str(config), "--fresh"]) == 0
    assert digest(Path("studies/study.old-1")) == before


def test_o13_what_does_not_change_the_question_is_no_change(write_config: Write, workdir: Path) -> None:
    from conftest import write_collection

    collection = write_collection(workdir / "data")
    tuned(with_trials(write_config, 5, collection=collection))
    for path in map(Path, collection.values()):  # another order of the lines is the same content
        head, *rest = path.read_text().splitlines(keepends=True)
        path.write_text("".join([head, *reversed(rest)]) if path.suffix == ".tsv" else "".join([*reversed(rest), head]))
    more = with_trials(write_config, 8, collection=collection, semantic={"device": "cpu"}, cache="elsewhere")
    assert len(rows(tuned(more))) == 8
    with pytest.raises(HarnessError, match=r"search\.trials: must be at least 8"):
        harness.tune(with_trials(write_config, 7, collection=collection))


@pytest.mark.parametrize("sampler", ["grid", "bruteforce", "tpe"])
def test_o16_a_point_is_computed_once_and_reused_and_that_is_said(
    write_config: Write, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {"semantic_weight": [0.25, 0.5, 0.75], "top_k": [3, 5]}
    measure, calls = tune_module.measure_trial, []

    def counted(prepared: Any, params: Any) -> Outcome:
        calls.append(params)
        return measure(prepared, params)

    monkeypatch.setattr(tune_module, "measure_trial", counted)
    result = harness.tune(write_config(search={"trials": 20, "sampler": sampler, "space": space}))
    assert len(calls) == len(set(calls)) <= 6
    if sampler == "tpe":
        assert len(result.trials) == 20
        assert any("6 settings for 20 trials" in warning for warning in result.summary["warnings"])
    else:
        assert len(result.trials) == 6 and result.legs.ended == "exhausted"
        again = harness.tune(write_config(search={"trials": 20, "sampler": sampler, "space": space}))
        assert again.legs.new_trials == 0


@pytest.mark.parametrize("bm25", [False, True])
def test_o21_the_weights_given_to_evaluate_are_the_bits_of_the_record(write_config: Write, bm25: bool) -> None:
    space: dict[str, Any] = {"semantic_weight": {"low": 0.0, "high": 1.0}, "depth": [5, 10], "top_k": [3, 5]}
    if bm25:
        space |= {"k1": {"low": 0.5, "high": 3.0}, "b": {"low": 0.0, "high": 1.0}}
    config = write_config(search={"trials": 12, "space": space})
    result = harness.tune(config)
    system = {s.name: s for s in harness.evaluate(config, weights=result.folder / "weights.yaml").systems}["weights"]
    assert system.means()["objective"] == result.summary["best_trial"]["value"]
    assert system.means() == result.summary["systems"]["best_trial"]


def test_timeout_gives_a_prefix_of_the_full_study(write_config: Write) -> None:
    whole = tuned(with_trials(write_config, 12, name="whole"))
    search = yaml.safe_load(write_config().read_text())["search"]
    cut = harness.tune(write_config(name="cut", search={**search, "timeout": 1e-9}))
    assert cut.legs.ended == "timeout" and 0 < len(cut.trials) < 12
    assert rows(cut.folder) == rows(whole)[: len(cut.trials)]
    assert (tuned(write_config(name="cut", search=search)) / "trials.csv").read_bytes() == (whole / "trials.csv").read_bytes()


def test_a_trial_row_holds_its_params_objective_and_trade_off(write_config: Write) -> None:
    folder = tuned(write_config())
    frame = pd.read_csv(folder / "trials.csv")
    params = ["semantic_weight", "top_k", "fusion", "rrf_k"]
    logged = [f"{name}@{c}" for c in (1, 3, 5, "top_k") for name in ("Precision", "Recall")]
    assert list(frame.columns) == ["number", "state", *params, "objective", *logged]
    assert frame["rrf_k"].notna().tolist() == (frame["fusion"] == "rrf").tolist()
    summary = json.loads((folder / "summary.json").read_text())
    best = frame.loc[frame["number"] == summary["best_trial"]["number"]].iloc[0]
    assert best["objective"] == summary["best_trial"]["value"] == frame["objective"].max()
    assert best["Recall@3"] == summary["systems"]["best_trial"]["Recall@3"]


def test_k_the_objective_sees_the_cut_list_and_the_measures_the_whole_one(write_config: Write) -> None:
    space = {"semantic_weight": 0.5, "top_k": [1]}
    summary = harness.tune(write_config(objective="MAP@5", search={"trials": 1, "space": space})).summary
    equal = summary["systems"]["equal"]
    assert summary["best_trial"]["value"] == equal["objective"] == equal["MAP@1"] < equal["MAP@5"]


def test_m16_the_mean_of_per_query_is_the_trials_value(write_config: Write) -> None:
    folder = tuned(write_config())
    frame = pd.read_csv(folder / "per_query.csv")
    assert list(frame.columns[:4]) == ["query_id", "group", "cluster", "relevant"]
    summary = json.loads((folder / "summary.json").read_text())
    assert frame["best_trial"].mean() == pytest.approx(summary["best_trial"]["value"], abs=1e-15)
    for name, means in summary["systems"].items():
        assert frame[name].mean() == pytest.approx(means["objective"], abs=1e-15)


MEASURES_OF_OTHERS = {
    "HitRate": "Success@{}", "Precision": "P@{}", "Recall": "R@{}", "MRR": "RR@{}", "MAP": "AP@{}", "nDCG": "nDCG@{}",
    "Judged": "Judged@{}",
}  # fmt: skip


def test_the_runs_given_to_ir_measures_reproduce_every_number(write_config: Write) -> None:
    folder = tuned(write_config(report_at=[1, 3, 5, 10]))
    assert_foreign_agreement(folder, top_k=None)


def assert_foreign_agreement(folder: Path, top_k: int | None) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    qrels = list(ir_measures.read_trec_qrels(str(folder / "runs/qrels.trec")))
    judged = {q.query_id for q in qrels}
    for name, means in summary["systems"].items():
        ranked = list(ir_measures.read_trec_run(str(folder / f"runs/{name}.trec")))
        compared = 0
        for measure, value in means.items():
            base, _, cutoff = measure.partition("@")
            if base not in MEASURES_OF_OTHERS or (not cutoff and base not in ("MAP", "MRR")):
                continue
            foreign = MEASURES_OF_OTHERS[base].format(cutoff) if cutoff else {"MAP": "AP", "MRR": "RR"}[base]
            parsed = ir_measures.parse_measure(foreign)
            per_query = {m.query_id: m.value for m in ir_measures.iter_calc([parsed], qrels, ranked)}
            expected = sum(per_query.get(q, 0.0) for q in judged) / len(judged)
            assert value == pytest.approx(expected, abs=1e-9), (name, measure)
            compared += 1
        assert compared >= 7 * 4
        tags = {line.split()[5] for line in (folder / f"runs/{name}.trec").read_text().splitlines()}
        assert tags == {name}


def test_two_objectives_leave_a_pareto_front_and_no_best_trial(write_config: Write) -> None:
    result = harness.tune(write_config(objective=["Precision@top_k", "Recall@top_k"]))
    assert "best_trial" not in result.summary
    frame = pd.read_csv(result.folder / "trials.csv")
    points = frame[["objective", "objective_2"]].to_numpy()
    front = [
        i
        for i, p in enumerate(points)
        if not any((q >= p).all() and (q > p).any() for q in points) and not any((q == p).all() for q in points[:i])
    ]
    assert result.summary["pareto"] == front
    assert not (result.folder / "weights.yaml").exists()


def test_a_free_k_under_a_growing_objective_is_called_trivial(write_config: Write) -> None:
    said = "picks itself"
    assert any(said in w for w in harness.tune(write_config(objective="Recall@top_k")).summary["warnings"])
    assert not any(said in w for w in harness.tune(write_config(name="f1", objective="F1@top_k")).summary["warnings"])


def test_equal_scores_go_to_the_smaller_k_then_depth_then_number(write_config: Write) -> None:
    config = read_config(write_config())

    def trial(number: int, top_k: int, depth: int, value: float = 0.5) -> StudyTrial:
        return StudyTrial(number, "COMPLETE", {"top_k": top_k, "depth": depth}, (value,), {}, 0.0)

    assert best_of([trial(0, 5, 10), trial(1, 4, 10), trial(2, 4, 5), trial(3, 4, 5)], config) == trial(2, 4, 5)
    assert best_of([trial(0, 5, 10), trial(1, 9, 99, 0.6)], config) == trial(1, 9, 99, 0.6)
    assert best_of([], config) is None
    assert pareto_of(
        [replace(trial(i, 1, 1), values=v) for i, v in enumerate([(1.0, 0.0), (0.5, 0.5), (0.5, 0.4), (1.0, 0.0)])]
    ) == [0, 1]


def test_stepped_ranges_list_their_values() -> None:
    assert list_values("semantic_weight", {"low": 0.0, "high": 1.0, "step": 0.1}) == [i / 10 for i in range(11)]
    assert list_values("top_k", {"low": 3, "high": 9, "step": 3}) == [3, 6, 9]


def test_optuna_sees_the_trade_off_of_every_trial(write_config: Write) -> None:
    import optuna

    folder = tuned(write_config())
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / "journal.log")))
    study = optuna.load_study(study_name="study", storage=storage)
    frame = pd.read_csv(folder / "trials.csv")
    for trial in study.trials:
        row = frame.iloc[trial.number]
        assert trial.user_attrs["Precision@3"] == row["Precision@3"]
        assert trial.user_attrs["Recall@top_k"] == row["Recall@top_k"]


def test_runs_are_strictly_decreasing_floats(write_config: Write) -> None:
    folder = tuned(write_config())
    for path in (folder / "runs").glob("*.trec"):
        if path.name == "qrels.trec":
            continue
        last: dict[str, np.float32] = {}
        for line in path.read_text().splitlines():
            query, _, _, rank, score, _ = line.split()
            assert int(rank) == 1 or np.float32(score) < last[query]
            last[query] = np.float32(score)


def test_a_cached_run_imports_no_torch(write_config: Write) -> None:
    config = write_config()
    tuned(config)
    code = (
        "import sys; from harness.cli import run; code = run(sys.argv[1:]);"
        "print(sorted({'torch', 'sentence_transformers', 'faiss', 'optuna'} & set(sys.modules)), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "tune", str(config), "--name", "second"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "['optuna'] 0", done.stderr


def test_x2_a_cache_file_that_is_a_pickle_is_refused_and_rebuilt(write_config: Write, workdir: Path) -> None:
    import pickle

    class Touch:
        def __reduce__(self) -> Any:
            return (Path.touch, (workdir / "marker",))

    config = write_config(cache="own")
    before = digest(tuned(config))
    for path in Path("own").rglob("*.npz"):
        path.write_bytes(pickle.dumps(Touch()))
    assert digest(tuned(config, name="again")) | {"summary.json": "", "config.yaml": ""} == before | {
        "summary.json": "",
        "config.yaml": "",
    }
    assert not (workdir / "marker").exists()


def test_search_explains_what_each_retriever_gave(write_config: Write) -> None:
    config = write_config()
    found = harness.search(config, "fleece against cold nights for flowers")
    assert found.query_id == "q03"
    by_id = {r.doc_id: r for r in found.results}
    assert by_id["frost"].relevance == 2 and by_id["carrot"].relevance == 1 and by_id["garlic"].relevance is None
    assert [r.rank for r in found.results] == list(range(1, len(found.results) + 1))
    scores = [r.score for r in found.results]
    assert scores == sorted(scores, reverse=True)
    top = min(found.results, key=lambda r: r.keyword_rank or 99)
    assert top.keyword_rank == 1 and top.keyword_score == max(r.keyword_score or 0.0 for r in found.results)
    assert harness.search(config, "fleece against cold nights for flowers").results == found.results
    new = harness.search(config, "zzz unknown zzz")
    assert all(r.keyword_rank is None for r in new.results) and new.results


def test_evaluate_scores_a_foreign_run_beside_the_baselines(write_config: Write) -> None:
    config = write_config()
    folder = tuned(config)
    result = harness.evaluate(config, runs=(folder / "runs/best_trial.trec",))
    by_name = {system.name: system for system in result.systems}
    best = json.loads((folder / "summary.json").read_text())["systems"]["best_trial"]
    means = by_name["best_trial"].means()
    assert all(means[name] == pytest.approx(best[name], abs=1e-12) for name in means if "@" in name)
    assert {"keyword", "semantic", "equal", "rrf"} <= set(by_name)
