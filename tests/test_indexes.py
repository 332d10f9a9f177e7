"""Several indexes in one study: every value is what a study of that index alone finds; what is built is built once."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import ROOT
from test_sources import examples, problems_of, put

import harness
from harness import indexes, retrieve
from harness.cli import run
from harness.config import parse_config, read_config, read_weights
from harness.decide import objective_scores
from harness.errors import HarnessError
from harness.folder import read_prepared, read_study
from harness.prepare import Timings, prepare, read_data
from harness.progress import Silence
from harness.space import count_settings, list_settings, space_values
from harness.types import Params

__all__ = ["examples"]  # the fixture
WEIGHT = {"semantic_weight": {"low": 0.0, "high": 1.0}}
Write = Callable[..., Path]


def space_of(**entries: Any) -> dict[str, Any]:
    return {"trials": 12, "space": {**WEIGHT, "fusion": ["minmax", "rrf"], **entries}}


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def summary_of(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return data


# ---- a value of the space is an index of its own ---------------------------------------------------------------------


def test_every_trial_is_what_its_index_alone_gives(write_config: Write) -> None:
    path = write_config(search=space_of(analyzer=["simple", "english"], variant=["okapi", "lucene", "plus"]))
    folder = harness.tune(path).folder
    seen = set()
    for row in rows_of(folder):
        alone = write_config(
            "alone.yaml",
            keyword={"analyzer": row["analyzer"], "variant": row["variant"]},
            semantic_weight=float(row["semantic_weight"]),
            fusion=row["fusion"],
        )
        (system,) = [s for s in harness.evaluate(alone).systems if s.name == "config"]
        assert float(row["objective"]) == system.objective[0].mean()
        seen.add((row["analyzer"], row["variant"]))
    assert len(seen) >= 4  # the sampler went to most of the six


def test_each_value_has_the_exact_optimum_of_a_study_of_its_own(write_config: Write) -> None:
    data = write_config(search=space_of(analyzer=["simple", "english", "code"]))
    found = {e["value"]: e for e in summary_of(harness.tune(data).folder)["exact"]["by_index"]["analyzer"]}
    assert list(found) == ["simple", "english", "code"]
    for analyzer, entry in found.items():
        alone = write_config("alone.yaml", name=f"alone-{analyzer}", keyword={"analyzer": analyzer}, search=space_of())
        exact = summary_of(harness.tune(alone).folder)["exact"]
        assert {k: entry[k] for k in ("score", "weight_from", "weight_to")} == {
            k: exact[k] for k in ("score", "weight_from", "weight_to")
        }
        assert entry["params"] == exact["params"] | {"analyzer": analyzer}


def test_the_baselines_keep_the_top_level_index(write_config: Write) -> None:
    """The space does not hold the top-level analyzer: its index is built all the same, and no trial goes there."""
    folder = harness.tune(
        write_config(keyword={"analyzer": "whitespace"}, search=space_of(analyzer=["simple", "english"]))
    ).folder
    alone = summary_of(harness.tune(write_config(name="alone", keyword={"analyzer": "whitespace"}, search=space_of())).folder)
    summary = summary_of(folder)
    for system in ("keyword", "semantic", "equal", "rrf"):
        assert summary["systems"][system]["MAP@5"] == alone["systems"][system]["MAP@5"]
    assert {row["analyzer"] for row in rows_of(folder)} == {"simple", "english"}
    assert summary["index"]["keyword"]["analyzer"] == "whitespace"
    assert [e["params"] for e in summary["indexes"]] == [{"analyzer": "simple"}, {"analyzer": "english"}]
    assert summary["pick"]["params"]["analyzer"] in ("simple", "english")


def test_a_side_that_indexes_share_is_filled_once(write_config: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[str] = []
    for side in ("keyword", "semantic"):
        real = getattr(retrieve, f"{side}_side")

        def count(*args: Any, side: str = side, real: Any = real, **named: Any) -> Any:
            filled.append(side)
            return real(*args, **named)

        monkeypatch.setattr(retrieve, f"{side}_side", count)
    config = read_config(write_config(cache="cold", search=space_of(analyzer=["simple", "english"], variant=["okapi", "l"])))
    prepare(config, read_data(config), Silence(), Timings())
    assert (filled.count("keyword"), filled.count("semantic")) == (4, 1)
    prepare(config, read_data(config), Silence(), Timings())
    assert len(filled) == 5  # the second time all of it comes from the cache


def test_two_models(write_config: Write, tmp_path: Path) -> None:
    """The packaged model, and the same weights under another name: the same scores, both named with their hashes."""
    from harness.semantic import find_model

    packaged = find_model(read_config(write_config()).semantic)
    copy = tmp_path / "a-copy"
    shutil.copytree(packaged.source, copy)
    name = os.path.relpath(copy)
    folder = harness.tune(write_config(search=space_of(model=["all-MiniLM-L6-v2", name]))).folder
    summary, manifest = summary_of(folder), json.loads((folder / "manifest.json").read_text())
    assert list(manifest["sha256"]["models"]) == ["all-MiniLM-L6-v2", name]
    first, other = summary["exact"]["by_index"]["model"]
    assert (first["score"], first["weight_from"]) == (other["score"], other["weight_from"])
    assert summary["indexes"][0]["semantic"]["dimension"] == 384
    shutil.rmtree(copy)
    assert run(["reproduce", "study"]) == 0  # the stored candidates need no model
    assert run(["reproduce", "study", "--from-scratch"]) == 2


# ---- chunks ----------------------------------------------------------------------------------------------------------


def chunk_config(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((ROOT / "configs/examples/indexes.yaml").read_text())
    return data | changes


def test_each_way_of_cutting_has_the_lists_of_its_own_study(examples: Path) -> None:
    config = parse_config(chunk_config())
    dataset = read_data(config)
    assert set(dataset.cuts) == {(400, 60), (250, 60)} and list(dataset.doc_ids) == sorted(dataset.doc_ids)
    prepared = prepare(config, dataset, Silence(), Timings())
    for params in config.indexes:
        data = chunk_config(search={"space": WEIGHT}, keyword={"analyzer": params.analyzer, "variant": params.variant})
        data["collection"]["corpus"]["chunk"]["size"] = params.chunk_size
        alone = parse_config(data)
        own = prepare(alone, read_data(alone), Silence(), Timings())
        for weight in (0.0, 0.3, 1.0):
            ours = prepared.hybrid.results(replace(params, semantic_weight=weight, depth=20))
            theirs = own.hybrid.results(Params(semantic_weight=weight, depth=20))
            for (rows, scores), (own_rows, own_scores) in zip(ours, theirs, strict=True):
                names = [dataset.doc_ids[row] for row in rows]
                assert names == [f"{own.dataset.doc_ids[row]}@{params.chunk_size}/60" for row in own_rows]
                assert np.array_equal(scores, own_scores)
        measure = config.objectives[0]
        at = replace(params, semantic_weight=0.4, depth=20)
        alike = objective_scores(own.hybrid, Params(semantic_weight=0.4, depth=20), measure, 10)
        assert np.array_equal(objective_scores(prepared.hybrid, at, measure, 10), alike)


def test_the_example_from_start_to_finish(examples: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "configs/examples/indexes.yaml"]) == 0
    out = capfd.readouterr().out
    assert all(f"  by {name}: " in out for name in ("analyzer", "variant", "chunk_size"))
    folder = examples / "studies/indexes"
    weights = yaml.safe_load((folder / "weights.yaml").read_text())
    assert {"analyzer", "variant", "chunk_size"} <= set(weights) and "model" not in weights and "chunk_overlap" not in weights
    assert run(["reproduce", "indexes"]) == 0 and run(["reproduce", "indexes", "--from-scratch"]) == 0
    assert run(["evaluate", "configs/examples/indexes.yaml", "--weights", str(folder / "weights.yaml")]) == 0
    assert run(["search", "configs/examples/indexes.yaml", "swap", "--weights", str(folder / "weights.yaml")]) == 0
    assert run(["watch", "indexes"]) == 0 and run(["report", "indexes"]) == 0
    assert run(["watch", "indexes", "--run", str(folder / "runs/pick.trec")]) == 0
    assert run(["check", "configs/examples/indexes.yaml"]) == 0
    assert run(["profile", "configs/examples/indexes.yaml"]) == 0
    capfd.readouterr()
    assert run(["export", "indexes", "--to", "json"]) == 0
    notes = json.loads(capfd.readouterr().out)
    assert f"analyzer {weights['analyzer']}" in json.dumps(notes) and f"at most {weights['chunk_size']}" in json.dumps(notes)


def test_overlaps_alone_may_be_searched_and_none_is_one(examples: Path) -> None:
    data = chunk_config(search={"trials": 6, "space": {**WEIGHT, "chunk_overlap": [0, 60]}})
    config = parse_config(data)
    assert set(read_data(config).cuts) == {(400, 0), (400, 60)}
    folder = harness.tune(config).folder
    assert {row["chunk_overlap"] for row in rows_of(folder)} == {"0", "60"}
    assert summary_of(folder)["pick"]["params"]["chunk_overlap"] in (0, 60)
    assert run(["reproduce", "indexes"]) == 0


@pytest.mark.parametrize("sampler", ["exact", "bruteforce", "random", "tpe", "nsgaii"])
def test_every_sampler_draws_indexes(sampler: str, write_config: Write) -> None:
    search = {"trials": 12, "sampler": sampler, "space": {"analyzer": ["simple", "english"], "variant": ["okapi", "lucene"]}}
    if sampler == "exact":
        search["space"] |= WEIGHT
    folder = harness.tune(write_config(search=search)).folder
    drawn = {(row["analyzer"], row["variant"]) for row in rows_of(folder)}
    assert len(drawn) == 4
    if sampler == "exact":
        best = max(float(row["objective"]) for row in rows_of(folder))
        assert best == summary_of(folder)["exact"]["score"]


def test_held_out_prompts_and_bm25_are_at_every_index(write_config: Write) -> None:
    folder = harness.tune(
        write_config(
            held_out=0.25,
            search={"trials": 10, "space": {**WEIGHT, "k1": [0.5, 1.5], "analyzer": ["english", "simple"]}},
        )
    ).folder
    assert "held_out" in summary_of(folder)
    prepared = read_prepared(read_study(folder))
    assert prepared.held_out is not None and set(prepared.held_out.hybrid.others) == set(prepared.hybrid.others)
    assert all(other.postings is not None for other in prepared.retrieved.others.values())
    assert run(["reproduce", "study"]) == 0


def test_the_space_counts_and_lists_indexes(write_config: Write) -> None:
    config = read_config(write_config(search=space_of(analyzer=["simple", "english"], variant=["okapi", "lucene", "l"])))
    assert count_settings(config) == 12 and len(config.indexes) == 6
    names = ("fusion", "rrf_k", "depth", "k1", "b", "analyzer", "variant", "model", "chunk_size", "chunk_overlap")
    settings = list_settings(config, {name: space_values(config, name) for name in names})
    assert len(settings) == len(set(settings)) == 12
    assert (settings[0].analyzer, settings[0].variant, settings[0].fusion) == ("simple", "okapi", "minmax")


# ---- what is refused -------------------------------------------------------------------------------------------------

TEXTS = {"corpus": {"path": "pages", "chunk": {"size": 300}}, "queries": "q.csv", "qrels": "l.csv"}
TABLE = {"corpus": "c.jsonl", "queries": "q.jsonl", "qrels": "l.tsv"}
WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (TABLE, {"analyzer": {"low": 1, "high": 2}}, "search.space.analyzer: must be a list of values, each of which is built"),
    (
        TABLE,
        {"analyzer": ["simple", "englisch"]},
        "search.space.analyzer.1: must be the name of an analyzer, got 'englisch'; nearest: english",
    ),
    (TABLE, {"variant": ["okapi", "bm25f"]}, "search.space.variant.1: must be one of okapi, l, plus, lucene"),
    (TABLE, {"analyzer": ["simple", "simple"]}, "search.space.analyzer: must list at least one value, each once"),
    (TABLE, {"model": [7]}, "search.space.model.0: must be text"),
    (
        TABLE,
        {"chunk_size": [100, 200]},
        "search.space.chunk_size: must be left out where the corpus is no folder, pattern or file of texts",
    ),
    (TEXTS, {"chunk_size": [100, 200]}, "search.space.chunk_size: must stand beside collection.relevance: source"),
    (
        {**TEXTS, "relevance": "source"},
        {"chunk_size": [100, 200], "chunk_overlap": [50, 150]},
        "search.space.chunk_size: every overlap < every size must hold, got 150 and 100",
    ),
    (
        TABLE,
        {"analyser": ["simple"]},
        "search.space.analyser: must be a parameter that can be searched, got 'analyser'; nearest: analyzer",
    ),
]


@pytest.mark.parametrize(("collection", "space", "said"), WRONG)
def test_a_wrong_space_is_refused(collection: dict[str, Any], space: dict[str, Any], said: str) -> None:
    problems = problems_of(lambda: parse_config({"name": "x", "collection": collection, "search": {"space": space}}))
    assert any(problem.startswith(said) for problem in problems), problems


def test_indexes_beside_lists_from_elsewhere_are_refused() -> None:
    data: dict[str, Any] = {
        "name": "x",
        "collection": TABLE,
        "search": {"space": {"analyzer": ["simple", "english"], "model": ["a", "b"]}},
    }
    (problem,) = problems_of(lambda: parse_config({**data, "keyword": {"run": "k.trec"}}))
    assert problem == "search.space.analyzer: must be left out beside keyword.run, where it does nothing"
    (problem,) = problems_of(lambda: parse_config({**data, "semantic": {"vectors": {"documents": "d.npy", "queries": "q.npy"}}}))
    assert problem == "search.space.model: must be left out beside semantic.vectors, where it does nothing"


def test_too_many_indexes_are_refused() -> None:
    space = {
        "analyzer": ["simple", "english", "french", "german", "code"],
        "variant": ["okapi", "l", "plus", "lucene"],
        "model": list("abcd"),
    }
    (problem,) = problems_of(lambda: parse_config({"name": "x", "collection": TABLE, "search": {"space": space}}))
    assert problem.startswith("search.space: must name at most 64 indexes, got 81 from analyzer, variant, model")


def test_weights_of_an_index_that_is_not_there_are_refused(write_config: Write) -> None:
    config = read_config(write_config(search=space_of(analyzer=["simple", "english"])))
    assert read_weights(put(Path("w.yaml"), "analyzer: english\nvariant: okapi\n"), config).analyzer == "english"
    (problem,) = problems_of(lambda: read_weights(put(Path("w.yaml"), "analyzer: french\n"), config))
    assert "must make one of the indexes of the config's space" in problem
    (problem,) = problems_of(lambda: read_weights(put(Path("w.yaml"), "variant: lucene\n"), config))
    assert problem.endswith("must be the variant of the config's index, okapi, got 'lucene'")
    (problem,) = problems_of(lambda: read_weights(put(Path("w.yaml"), "model: other\n"), config))
    assert problem.endswith("must be the model of the config's index, all-MiniLM-L6-v2, got 'other'")


def test_candidates_without_an_index_are_refused(write_config: Write) -> None:
    folder = harness.tune(write_config(search=space_of(analyzer=["simple", "english"]))).folder
    with np.load(folder / "candidates.npz") as stored:
        arrays = {name: stored[name] for name in stored if not name.startswith("index1_") and name != "sha256"}
    harness.files.write_arrays(folder / "candidates.npz", arrays)
    with pytest.raises(HarnessError, match="must be what tune wrote"):
        read_prepared(read_study(folder))


def test_a_name_of_an_index_says_what_is_apart() -> None:
    home = Params(analyzer="simple", variant="okapi")
    assert indexes.name_index(replace(home, analyzer="english", variant="l"), home) == "analyzer english, variant l"
