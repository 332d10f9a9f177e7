"""The timed search does what the search behind it does; what evaluate keeps of it; one vector index for both."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import latency, semantic
from harness.bm25 import rank_keyword
from harness.candidates import merge_lists
from harness.cli import run
from harness.config import read_config
from harness.engines import ALONE, apply_rules
from harness.fusion import order_keys
from harness.latency import (
    MOST_PROMPTS,
    ROUNDS,
    Indexes,
    build_indexes,
    measure,
    peak_memory,
    search_once,
    this_machine,
    time_search,
)
from harness.prepare import Timings, prepare, read_data
from harness.progress import Silence
from harness.retrieve import retrieve
from harness.semantic import build_vector_index, rank_semantic, search_vectors
from harness.types import Candidates, Params, RankedLists

SPACE = {"semantic_weight": {"low": 0.0, "high": 1.0}}
KEPT = ["search", "systems", "index_bytes", "peak_memory_bytes", "measured_on"]


def indexes_of(path: Path) -> tuple[Any, Any, Indexes]:
    config = read_config(path)
    dataset = read_data(config)
    return config, dataset, build_indexes(dataset, config, Silence())


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RankedLists, RankedLists]]:
    """The keyword and the semantic list of each search from here on, as they go into the fusion."""
    seen: list[tuple[RankedLists, RankedLists]] = []

    def merge(keyword: RankedLists, semantic: RankedLists) -> Candidates:
        seen.append((keyword, semantic))
        return merge_lists(keyword, semantic)

    monkeypatch.setattr(latency, "merge_lists", merge)
    return seen


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often each side is asked from here on."""
    counts = {"keyword": 0, "semantic": 0}

    def count(side: str, search: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            counts[side] += 1
            return search(*args, **kwargs)

        return counted

    monkeypatch.setattr(latency.keyword, "rank", count("keyword", latency.keyword.rank))
    monkeypatch.setattr(latency.semantic, "search_vectors", count("semantic", latency.semantic.search_vectors))
    return counts


def same_documents(one: Candidates, several: Candidates, number: int) -> None:
    """The candidates of one prompt by itself are its row among all, but for the padding."""
    held = several.rows[number] >= 0
    assert one.rows.shape == (1, max(1, int(held.sum())))
    for name, array in vars(one).items():
        np.testing.assert_array_equal(array[0, : int(held.sum())], getattr(several, name)[number][held], err_msg=name)


# --- the timed search is the search --------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 5, 40])
@pytest.mark.parametrize(
    "keyword",
    [{"analyzer": "simple"}, {"analyzer": "english", "variant": "plus"}, {"analyzer": "simple", "variant": "lucene", "k1": 0.9}],
)
def test_the_lists_it_fuses_are_those_of_the_candidates(
    keyword: dict[str, Any], depth: int, write_config: Callable[..., Path], fused: list[tuple[RankedLists, RankedLists]]
) -> None:
    config, dataset, indexes = indexes_of(write_config(keyword=keyword, depth=depth))
    expected = retrieve(dataset, config, Silence(), depth=depth, keep_postings=False).candidates
    for number in range(len(indexes.texts)):
        search_once(indexes, number, config.base, config)
        same_documents(merge_lists(*fused[number]), expected, number)
    assert len(fused) == len(dataset.queries) == 12


def test_the_lists_are_those_of_each_retriever_by_itself(
    write_config: Callable[..., Path], fused: list[tuple[RankedLists, RankedLists]]
) -> None:
    config, _, indexes = indexes_of(write_config())
    tokens = [indexes.analyze(text) for text in indexes.texts]
    postings = latency.keyword.select_postings(indexes.keyword, tokens, config.keyword)
    keyword = rank_keyword(postings, k1=config.keyword.k1, b=config.keyword.b, depth=7)
    vectors = search_vectors(indexes.semantic, indexes.vectors, 7)
    for number in range(len(indexes.texts)):
        search_once(indexes, number, replace(config.base, depth=7), config)
        for ours, theirs in zip(fused[number], (keyword, vectors), strict=True):
            np.testing.assert_array_equal(ours.rows[0], theirs.rows[number])
            np.testing.assert_array_equal(ours.scores[0], theirs.scores[number])


def test_another_k1_and_b_are_those_of_the_setting(
    write_config: Callable[..., Path], fused: list[tuple[RankedLists, RankedLists]]
) -> None:
    config, dataset, indexes = indexes_of(write_config())
    params = replace(config.base, k1=0.4, b=0.1, depth=6)
    hybrid = prepare(config, dataset, Silence(), Timings(), also=params).hybrid
    expected = hybrid.candidates_for(params)
    for number in range(len(indexes.texts)):
        search_once(indexes, number, params, config)
        same_documents(merge_lists(*fused[number]), expected, number)


@pytest.mark.parametrize("engine", [None, "opensearch", "qdrant"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_what_it_orders_is_what_the_hybrid_search_orders(
    weight: float, engine: str | None, write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys of the last step, sorted, are those of the search that scores: here for each engine's first fusion."""
    changes = {"engine": engine, "search": {"trials": 1, "space": SPACE}} if engine else {}
    config, dataset, indexes = indexes_of(write_config(**changes))
    params = replace(config.base, semantic_weight=weight)
    hybrid = prepare(config, dataset, Silence(), Timings()).hybrid
    _, lines, _ = hybrid.setting(params)
    expected = order_keys(lines, weight)
    seen: list[np.ndarray] = []

    def keep(lines: Any, semantic_weight: float) -> np.ndarray:
        seen.append(order_keys(lines, semantic_weight))
        return seen[-1]

    monkeypatch.setattr(latency, "order_keys", keep)
    for number in range(len(indexes.texts)):
        assert search_once(indexes, number, params, config) is None
        ours, theirs = (np.sort(keys[keys > -np.inf]) for keys in (seen[number][0], expected[number]))
        np.testing.assert_array_equal(ours, theirs)


def test_a_search_leaves_its_inputs_unchanged(write_config: Callable[..., Path]) -> None:
    config, _, indexes = indexes_of(write_config())
    before = indexes.vectors.copy(), indexes.semantic.searched.copy()
    for number in range(3):
        search_once(indexes, number, config.base, config)
    np.testing.assert_array_equal(indexes.vectors, before[0])
    np.testing.assert_array_equal(indexes.semantic.searched, before[1])


# --- which sides are asked -----------------------------------------------------------------------------------------------

BOTH, KEYWORD, SEMANTIC = {"keyword": 1, "semantic": 1}, {"keyword": 1, "semantic": 0}, {"keyword": 0, "semantic": 1}


@pytest.mark.parametrize(
    ("engine", "fusion", "weight", "expected"),
    [
        (None, "minmax", 0.0, KEYWORD),
        (None, "rrf", 1.0, SEMANTIC),
        (None, "minmax", 0.5, BOTH),
        (None, "minmax", 1e-9, BOTH),
        ("weaviate", "relativeScoreFusion", 0.0, KEYWORD),
        ("weaviate", "rankedFusion", 1.0, SEMANTIC),
        ("opensearch", "min_max", 0.0, BOTH),  # at a weight of 0 the other list's documents stand behind
        ("opensearch", "min_max", 1.0, BOTH),
        ("opensearch", ALONE, 0.0, KEYWORD),  # but a baseline is one list alone, whatever the engine
        ("opensearch", ALONE, 1.0, SEMANTIC),
    ],
)
def test_a_side_is_asked_where_its_list_can_be_returned(
    engine: str | None,
    fusion: str,
    weight: float,
    expected: dict[str, int],
    write_config: Callable[..., Path],
    asked: dict[str, int],
) -> None:
    changes = {"engine": engine, "search": {"trials": 1, "space": SPACE}} if engine else {}
    config, _, indexes = indexes_of(write_config(**changes))
    params = replace(config.base, fusion=fusion, semantic_weight=weight)
    search_once(indexes, 0, params, config)
    assert asked == expected


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_leaving_a_side_out_orders_as_asking_both_would(
    weight: float, write_config: Callable[..., Path], fused: list[tuple[RankedLists, RankedLists]]
) -> None:
    config, _, indexes = indexes_of(write_config())
    for number in range(len(indexes.texts)):
        search_once(indexes, number, replace(config.base, semantic_weight=weight), config)
        search_once(indexes, number, replace(config.base, semantic_weight=0.5), config)
    for one, both in zip(fused[::2], fused[1::2], strict=True):
        orders = []
        for lists in (one, both):
            candidates, lines = apply_rules(merge_lists(*lists), config.base, None)
            keys = order_keys(lines, weight)[0]
            best = np.argsort(-keys, kind="stable")[: int((keys > -np.inf).sum())]
            orders.append(candidates.rows[0, best].tolist())
        assert orders[0] == orders[1]


# --- the statistics of the clock -----------------------------------------------------------------------------------------


def clock(monkeypatch: pytest.MonkeyPatch, seconds: Callable[[int, int], float]) -> list[int]:
    """Searches that take `seconds(prompt, round)` on a clock of its own; the prompts that were searched."""
    now, searched = [0.0], []

    def search(indexes: Any, number: int, params: Params, config: Any) -> None:
        now[0] += seconds(number, searched.count(number))
        searched.append(number)

    monkeypatch.setattr(latency, "search_once", search)
    monkeypatch.setattr(latency, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return searched


def test_a_prompts_time_is_its_fastest_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten prompts whose fastest round is the third, with 1 to 10 ms."""
    clock(monkeypatch, lambda number, turn: (number + 1) / 1000 + (0.0 if turn == 2 else 0.5))
    timed = time_search(SimpleNamespace(texts=("",) * 10), Params(), None)  # type: ignore[arg-type]
    fastest = np.arange(1, 11) / 1000
    assert timed == pytest.approx(
        {"p50": np.quantile(fastest, 0.5), "p95": np.quantile(fastest, 0.95), "queries_per_second": 1 / fastest.mean()}
    )


@pytest.mark.parametrize("prompts", [1, MOST_PROMPTS, MOST_PROMPTS + 50])
def test_every_prompt_is_searched_in_each_round_up_to_the_most(prompts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = clock(monkeypatch, lambda number, turn: 0.25)
    timed = time_search(SimpleNamespace(texts=("",) * prompts), Params(), None)  # type: ignore[arg-type]
    assert searched == [number for number in range(min(prompts, MOST_PROMPTS)) for _ in range(ROUNDS)]
    assert timed == {"p50": 0.25, "p95": 0.25, "queries_per_second": 4.0}


def test_what_is_kept_names_the_setting_that_was_searched(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, _, indexes = indexes_of(write_config())
    monkeypatch.setattr(latency, "time_search", lambda indexes, params, config: {"p50": params.semantic_weight})
    timed = {"keyword": Params(0.0), "ours": Params(0.7, fusion="rrf", depth=3)}
    kept = measure(indexes, timed, "ours", config)
    assert list(kept) == KEPT
    assert {k: v for k, v in kept["search"].items() if k != "what"} == {
        "p50": 0.7,
        "semantic_weight": 0.7,
        "fusion": "rrf",
        "depth": 3,
    }
    assert kept["systems"] == {"keyword": {"p50": 0.0}, "ours": {"p50": 0.7}}
    assert kept["index_bytes"] == {"keyword": indexes.keyword.bytes, "semantic": 24 * 384 * 4}
    assert kept["measured_on"] == this_machine()
    json.dumps(kept, allow_nan=False)


def test_the_machine_is_named_and_its_memory_counted_in_bytes() -> None:
    machine = this_machine()
    assert set(machine) == {"platform", "processor", "cores"} and machine == this_machine()
    assert machine == json.loads(json.dumps(machine))  # it is compared with what a file says
    assert peak_memory() > 10_000_000  # numpy alone is more


# --- the indexes ---------------------------------------------------------------------------------------------------------


def test_the_indexes_come_from_the_cache_where_they_are_there(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config()
    _, _, first = indexes_of(path)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing must be computed twice")

    monkeypatch.setattr(semantic, "load_model", refuse)
    monkeypatch.setattr(latency.keyword, "build_index", refuse)
    _, _, second = indexes_of(path)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.semantic.searched, second.semantic.searched)


def test_an_empty_document_is_in_no_index(
    write_config: Callable[..., Path], garden: dict[str, str], tmp_path: Path, fused: list[tuple[RankedLists, RankedLists]]
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "aaa", "text": ""}\n' + Path(garden["corpus"]).read_text())
    config, dataset, indexes = indexes_of(write_config(collection=garden | {"corpus": str(corpus)}, depth=40))
    assert dataset.doc_ids[0] == "aaa"
    assert indexes.semantic.rows.tolist() == list(range(1, 25))
    for number in range(len(indexes.texts)):
        search_once(indexes, number, config.base, config)
        assert not any((lists.rows == 0).any() for lists in fused[number])
        assert set(fused[number][1].rows[0].tolist()) == {-1, *range(1, 25)}


# --- evaluate ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Path:
    """A working directory with a finished study over the garden."""
    folder = tmp_path_factory.mktemp("tuned")
    data = {
        "name": "study",
        "collection": garden,
        "depth": 10,
        "objective": "MAP@5",
        "search": {"trials": 4, "space": SPACE},
        "cache": str(cache),
    }
    (folder / "study.yaml").write_text(json.dumps(data))
    with contextlib.chdir(folder):
        assert run(["tune", "study.yaml"]) == 0
    return folder


@pytest.fixture
def place(tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that working directory, and in it."""
    folder = tmp_path / "place"
    shutil.copytree(tuned, folder)
    monkeypatch.chdir(folder)
    return folder


WEIGHTS = ["--weights", "studies/study/weights.yaml"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def evaluate(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["evaluate", "study.yaml", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("arguments", "searched"), [(WEIGHTS, "weights"), ([], "config")])
def test_evaluate_keeps_what_it_measured_in_the_study_and_leaves_all_else(
    arguments: list[str], searched: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = place / "studies/study"
    before, files = json.loads((folder / "timings.json").read_text()), contents(place)
    found = evaluate(capsys, *arguments)["latency"]
    after = json.loads((folder / "timings.json").read_text())
    assert list(found) == KEPT
    assert {key: after[key] for key in KEPT} == found
    assert {k: v for k, v in after.items() if k not in KEPT} == {k: v for k, v in before.items() if k not in KEPT}
    assert {"stages", "trials"} <= set(after)
    assert list(found["systems"]) == ["keyword", "semantic", searched]
    assert {q: found["search"][q] for q in ("p50", "p95", "queries_per_second")} == found["systems"][searched]
    now = contents(place)
    changed = "studies/study/timings.json"
    assert {k: v for k, v in now.items() if k != changed} == {k: v for k, v in files.items() if k != changed}


def test_evaluate_again_replaces_what_it_kept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "studies/study/timings.json"
    evaluate(capsys, *WEIGHTS)
    first = json.loads(path.read_text())
    found = evaluate(capsys)["latency"]
    assert json.loads(path.read_text()) == {**first, **found}


def test_evaluate_shows_the_search_and_where_it_is_kept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "study.yaml", *WEIGHTS]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    table = next(i for i, line in enumerate(lines) if line.startswith("search: from a prompt's text"))
    assert lines[table + 1].split() == ["system", "p50", "p95", "queries", "a", "second"]
    assert [line.split(" ms")[0].rsplit(None, 1)[0].strip() for line in lines[table + 2 : table + 5]] == [
        "keyword alone",
        "semantic alone",
        "weights",
    ]
    assert lines[table + 5].startswith("index: keyword ") and lines[table + 5].endswith("kept in studies/study/timings.json")


def test_without_a_study_nothing_is_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(place / "studies")
    before = contents(place)
    assert "search" in evaluate(capsys)["latency"]
    assert contents(place) == before
    assert run(["evaluate", "study.yaml"]) == 0
    out = capsys.readouterr().out
    assert "peak memory" in out and "kept in" not in out
    assert not (place / "studies").exists()


def test_a_study_without_timings_gets_none(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a finished study has the file: an interrupted one is left alone."""
    (place / "studies/study/timings.json").unlink()
    evaluate(capsys)
    assert not (place / "studies/study/timings.json").exists()


def test_foreign_runs_are_not_timed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(place)
    found = evaluate(capsys, "--run", "studies/study/runs/pick.trec")
    assert "latency" not in found
    assert contents(place) == before


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"\xff\xfe", b"[]", b"3", b"null", b"[" * 200_000, b'{"stages": NaN}', b'{"stages": 1e999}', b'{"a": "\\ud800"}'],
    ids=["empty", "torn", "not utf-8", "list", "number", "null", "deep", "NaN", "infinity", "half a pair"],
)
def test_damaged_timings_do_not_break_evaluate(damaged: bytes, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "studies/study/timings.json"
    path.write_bytes(damaged)
    found = evaluate(capsys, *WEIGHTS)["latency"]
    assert {key: json.loads(path.read_text())[key] for key in KEPT} == found


def test_depth_1_and_a_larger_depth_are_both_measured(
    write_config: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for depth in (1, 24, 1000):
        path = write_config(depth=depth, search={"trials": 1, "space": SPACE})
        assert run(["evaluate", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["latency"]
        assert found["search"]["depth"] == depth
        for timed in found["systems"].values():
            assert all(value > 0 for value in timed.values()) and timed["p50"] <= timed["p95"]
        assert found["index_bytes"]["semantic"] == 24 * 384 * 4 and found["index_bytes"]["keyword"] > 0


def test_an_engines_study_times_its_own_fusion(write_config: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = write_config(engine="opensearch", search={"trials": 1, "space": SPACE})
    assert run(["evaluate", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["latency"]
    assert found["search"]["fusion"] == "min_max"


# --- one vector index ----------------------------------------------------------------------------------------------------


def unit_vectors(seed: int, n: int, dimension: int = 16) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def slow_search(documents: np.ndarray, query: np.ndarray, depth: int, rows: list[int]) -> list[int]:
    products = {row: float((documents[row].astype(float) * query.astype(float)).sum()) for row in rows}
    return sorted(rows, key=lambda row: (-products[row], row))[:depth]


@given(st.integers(0, 1000), st.integers(1, 60), st.integers(1, 70), st.booleans(), st.sampled_from(["Flat", "HNSW8"]))
@settings(max_examples=40, deadline=None)
def test_one_prompt_at_a_time_finds_what_all_at_once_find(seed: int, n: int, depth: int, some: bool, factory: str) -> None:
    documents, queries = unit_vectors(seed, n), unit_vectors(seed + 1, 4)
    rows = np.arange(0, n, 2 if some else 1, dtype=np.int32)
    expected, recall = rank_semantic(documents, queries, depth=depth, factory=factory, rows=rows)
    index = build_vector_index(documents, factory, rows)
    assert index.exact == (factory == "Flat")
    for i in range(len(queries)):
        found = search_vectors(index, queries[i : i + 1], depth)
        np.testing.assert_array_equal(found.rows[0], expected.rows[i])
        np.testing.assert_array_equal(found.scores[0], expected.scores[i])
        if factory == "Flat":
            assert recall == 1
            assert [row for row in found.rows[0].tolist() if row >= 0] == slow_search(documents, queries[i], depth, rows.tolist())


def test_without_rows_all_are_searched() -> None:
    documents, queries = unit_vectors(1, 30), unit_vectors(2, 3)
    index = build_vector_index(documents)
    assert index.rows.tolist() == list(range(30))
    expected, _ = rank_semantic(documents, queries, depth=5)
    np.testing.assert_array_equal(search_vectors(index, queries, 5).rows, expected.rows)


def test_rows_that_are_left_out_are_never_found_and_keep_their_numbers() -> None:
    documents = unit_vectors(3, 20)
    rows = np.array([2, 3, 11, 19], dtype=np.int32)
    found = search_vectors(build_vector_index(documents, "Flat", rows), documents, 6)
    assert found.rows.shape == (20, 6)
    for i in range(20):
        assert found.rows[i].tolist() == [*slow_search(documents, documents[i], 6, rows.tolist()), -1, -1]
        assert np.isnan(found.scores[i, 4:]).all() and np.isfinite(found.scores[i, :4]).all()
    assert (found.rows[rows, 0] == rows).all()


@pytest.mark.parametrize("factory", ["Flat", "HNSW8"])
@pytest.mark.parametrize("documents", [np.zeros((0, 16), dtype=np.float32), unit_vectors(4, 5)])
def test_an_index_of_nothing_finds_nothing(documents: np.ndarray, factory: str) -> None:
    index = build_vector_index(documents, factory, np.zeros(0, dtype=np.int32))
    found = search_vectors(index, unit_vectors(5, 3), 4)
    assert found.rows.tolist() == [[-1] * 4] * 3 and np.isnan(found.scores).all()
    expected, recall = rank_semantic(documents, unit_vectors(5, 3), depth=4, factory=factory, rows=np.zeros(0, dtype=np.int32))
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert recall == 1


def test_no_prompts_give_no_lists() -> None:
    found = search_vectors(build_vector_index(unit_vectors(6, 5)), np.zeros((0, 16), dtype=np.float32), 3)
    assert found.rows.shape == found.scores.shape == (0, 3)


def test_an_approximate_index_orders_what_it_finds_by_exact_products() -> None:
    documents, queries = unit_vectors(7, 200), unit_vectors(8, 5)
    factory = "IVF8,Flat"  # looks into one of eight cells
    index = build_vector_index(documents, factory)
    found = search_vectors(index, queries, 40)
    expected, recall = rank_semantic(documents, queries, depth=40, factory=factory)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert recall < 1
    for i in range(5):
        held = [row for row in found.rows[i].tolist() if row >= 0]
        assert held == slow_search(documents, queries[i], 40, held)
