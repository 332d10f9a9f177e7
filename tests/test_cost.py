"""What the work costs, by counts and never by seconds: calls, bytes, reads and writes of the disk, crossings followed.

A slow machine counts the same. The bounds stand some way above what is counted today, and far below what a lost idea would cost:
a loop over prompts, a file opened in a trial, every crossing sorted, every trial read for each draw.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from optuna.search_space import IntersectionSearchSpace, intersection

from harness import profiles
from harness.candidates import merge_lists
from harness.commands.tune import measure_trial
from harness.config import read_config
from harness.decide import profiles_of
from harness.hybrid import Hybrid
from harness.measures import parse_measure
from harness.prepare import Prepared, Timings, prepare, read_data
from harness.profiles import mean_curve
from harness.progress import Silence
from harness.study import Outcome, open_study, run_trials
from harness.types import Conventions, Params, Qrels, RankedLists

MAP_AT_10 = parse_measure("MAP@10")
OPENED: list[str] = []
LISTENING = False


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if LISTENING and event == "open":
        OPENED.append(str(arguments[0]))


sys.addaudithook(_listen)  # cannot be taken away again: it listens only when asked to


@contextmanager
def opened() -> Iterator[list[str]]:
    """The files that are opened meanwhile."""
    global LISTENING
    OPENED.clear()
    LISTENING = True
    try:
        yield OPENED
    finally:
        LISTENING = False


def count_calls(work: Callable[[], Any]) -> int:
    """How many functions are called, Python's and C's; the second time, when everything is imported."""
    work()
    n = 0

    def hook(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most that was allocated at once; the second time, when everything is imported."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def make_hybrid(prompts: int, depth: int, *, spread: int = 1, relevant: int = 5) -> Hybrid:
    """Random lists over 2 · depth documents, whose rows are `spread` apart, and judged ones among them."""
    rng = np.random.default_rng(7)

    def lists() -> RankedLists:
        rows = np.stack([rng.choice(2 * depth, depth, replace=False) for _ in range(prompts)]) * spread
        return RankedLists(rows.astype(np.int32), -np.sort(-rng.gamma(2.0, 1.0, (prompts, depth)), axis=1))

    rows = np.sort(np.stack([rng.choice(2 * depth, relevant, replace=False) for _ in range(prompts)]) * spread, axis=1)
    qrels = Qrels(rows.astype(np.int32), np.ones(rows.shape, dtype=np.int32))
    return Hybrid(merge_lists(lists(), lists()), qrels, Conventions(), Params(depth=depth))


def fresh(hybrid: Hybrid) -> Hybrid:
    return Hybrid(hybrid.candidates, hybrid.qrels, hybrid.judgements.conventions, hybrid.base)


def score(hybrid: Hybrid) -> Callable[[], Any]:
    return lambda: fresh(hybrid).rank(Params(semantic_weight=0.4, depth=hybrid.base.depth))


def curve(hybrid: Hybrid) -> Callable[[], Any]:
    return lambda: mean_curve(profiles_of(fresh(hybrid), Params(depth=hybrid.base.depth), MAP_AT_10, [100])[0])


@pytest.fixture
def prepared(write_config: Callable[..., Path]) -> Prepared:
    config = read_config(write_config(search={"trials": 40, "space": {"semantic_weight": {"low": 0, "high": 1}}}))
    return prepare(config, read_data(config), Silence(), Timings())


def test_calls_of_a_trial_do_not_grow_with_prompts_depth_or_corpus() -> None:
    few = count_calls(score(make_hybrid(20, 20)))
    for larger in (make_hybrid(200, 20), make_hybrid(20, 200), make_hybrid(20, 20, spread=1000)):
        assert count_calls(score(larger)) == few
    assert few < 400  # 176 when this was written


def test_calls_of_the_exact_curve_do_not_grow_with_prompts_or_depth() -> None:
    few = count_calls(curve(make_hybrid(20, 20)))
    for larger in (make_hybrid(200, 20), make_hybrid(20, 200)):
        assert count_calls(curve(larger)) == few
    assert few < 2500  # 1,265 when this was written


def test_a_trial_and_the_curve_need_memory_by_the_candidates_and_no_more() -> None:
    small, large = make_hybrid(50, 100), make_hybrid(200, 100)
    candidates = large.candidates.rows.size
    for work, bytes_each in ((score, 100), (curve, 500)):  # 53 and 234 when this was written
        peaks = [peak_bytes(work(hybrid)) for hybrid in (small, large)]
        assert peaks[1] < 4.4 * peaks[0], work.__name__
        assert peaks[1] < bytes_each * candidates, work.__name__


def test_a_trial_opens_no_file(prepared: Prepared) -> None:
    with opened() as files:
        for weight in (0.0, 0.3, 1.0):
            measure_trial(prepared, Params(semantic_weight=weight, top_k=5, depth=prepared.config.depth))
    assert files == []
    with opened() as files, Path(os.devnull).open() as _:
        pass
    assert files == [os.devnull]  # it does listen


def test_a_trial_is_two_writes_of_the_journal_and_no_read(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = open_study(tmp_path / "study", prepared.config, {}, {})
    synced: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(file), sync(file))[1])
    outcome = Outcome((0.5,), {f"Precision@{n}": 0.5 for n in range(20)})
    with opened() as files:
        run_trials(study, prepared.config, lambda _params: outcome, lambda _trial: None)
    assert len(synced) == 2 * prepared.config.search.trials  # it begins, it ends: what lies between goes with the end
    assert Counter(files) == {str(tmp_path / "study/journal.log"): 2 * prepared.config.search.trials}


def test_drawing_a_trial_does_not_read_all_trials_again(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    calculate = intersection._calculate

    def count(trials: Any, *arguments: Any) -> Any:
        nonlocal compared
        known = arguments[-1]
        compared += sum(trial.number >= known for trial in trials)
        return calculate(trials, *arguments)

    monkeypatch.setattr(intersection, "_calculate", count)
    study = open_study(tmp_path / "study", prepared.config, {}, {})
    run_trials(study, prepared.config, lambda _params: Outcome((0.5,), {}), lambda _trial: None)
    assert prepared.config.search.trials <= compared <= 3 * prepared.config.search.trials


def test_what_trials_have_in_common_is_what_optuna_finds_anew(prepared: Prepared, tmp_path: Path) -> None:
    study = open_study(tmp_path / "study", prepared.config, {}, {})
    run_trials(study, prepared.config, lambda _params: Outcome((0.5,), {}), lambda _trial: None)
    remembered: IntersectionSearchSpace = study.sampler._in_common["_search_space"]
    anew = IntersectionSearchSpace(include_pruned=True).calculate(study)
    assert remembered.calculate(study) == anew
    assert list(anew) == ["semantic_weight"]


def test_only_crossings_that_can_reach_the_cutoff_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relevant document that 10 others beat on both sides never enters the first 10."""
    followed: list[int] = []
    order = profiles._by_row_and_weight
    monkeypatch.setattr(profiles, "_by_row_and_weight", lambda p, when: (followed.append(p.size), order(p, when))[1])
    hybrid = make_hybrid(50, 200, relevant=8)
    _, lines, columns = hybrid.setting(hybrid.base)
    crossings, near = 0, 0
    for q in range(50):
        a, b, held = lines.keyword_end[q], lines.semantic_end[q], lines.held[q]
        for column in columns[q][columns[q] >= 0]:
            above_a, above_b = held & (a > a[column]), held & (b > b[column])
            crosses = int((above_a != above_b).sum())
            crossings += crosses
            near += crosses if int((above_a & above_b).sum()) < 10 else 0
    curve(hybrid)()
    assert followed and 0 < sum(followed) <= near * 1.05 < crossings / 2


def test_importance_does_without_scikit_learn_and_leaves_optuna_whole() -> None:
    """In a process of its own: importing scikit-learn costs more than all trials of a small study."""
    code = """
import sys
from harness.config import parse_config
from harness.importance import importances
from harness.study import Trial
space = {"semantic_weight": {"low": 0, "high": 1}, "top_k": {"low": 1, "high": 9}}
files = {"corpus": "c", "queries": "q", "qrels": "r"}
config = parse_config({"name": "x", "collection": files, "objective": "MAP@5", "search": {"space": space}})
def trial(n):
    return Trial(n, "COMPLETE", {"semantic_weight": n / 40, "top_k": 1 + n % 9}, (n / 40,), {}, 0.0)
shares = importances([trial(n) for n in range(40)], config)
assert shares["semantic_weight"] > 0.9 and abs(sum(shares.values()) - 1) < 1e-9, shares
assert not any(name.split(".")[0] == "sklearn" for name in sys.modules)
import optuna.importance
optuna.importance.FanovaImportanceEvaluator()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
