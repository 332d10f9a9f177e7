"""The command `profile`: what it prints and writes, and that its curve is what `evaluate` computes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import DOCUMENTS, PROMPTS

import harness
from harness.cli import run
from harness.commands.profile import ProfileResult
from harness.config import Config, parse_config
from harness.errors import HarnessError
from harness.printing import print_profile, sketch
from harness.profiles import Curve, find_optimum
from harness.types import Params

Write = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


def read_curve(path: Path | str) -> list[tuple[float, float, float]]:
    with Path(path).open(newline="") as file:
        return [tuple(float(row[name]) for name in ("weight_from", "weight_to", "score")) for row in csv.DictReader(file)]


def profiled(arguments: list[str], capsys: Capture) -> str:
    code = run(["profile", *arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def objective_at(config: Path, weight: float, **setting: Any) -> float:
    """The objective that `evaluate` computes at this weight."""
    Path("at.yaml").write_text(yaml.safe_dump({"semantic_weight": weight, **setting}))
    value: float = harness.evaluate(config, weights="at.yaml").to_dict()["systems"]["weights"]["objective"]
    return value


def test_it_writes_the_curve_and_prints_optimum_plateau_and_sketch(write_config: Write, capsys: Capture) -> None:
    config = write_config()
    out = profiled([str(config)], capsys)
    rows = read_curve("profile.csv")
    curve = harness.profile(config).curve
    assert rows == list(curve.rows())
    optimum = find_optimum(curve)
    assert f"optimum {optimum.score:.4f} for weights {optimum.weight_from:.6f} to {optimum.weight_to:.6f}" in out
    assert "plateau: weights" in out
    assert out.count("█") > 72, "the sketch has at least a row"
    assert "MAP@5" in out and "minmax" in out


def test_the_curve_has_an_interval_or_a_point_for_every_weight(write_config: Write, capsys: Capture) -> None:
    profiled([str(write_config(fusion="rrf"))], capsys)
    rows = read_curve("profile.csv")
    assert rows[0][:2] == (0, 0) and rows[-1][:2] == (1, 1)
    for i, (low, high, score) in enumerate(rows):
        assert (low == high) == (i % 2 == 0) and 0 <= score <= 1
        assert i == 0 or rows[i - 1][1] == low


@pytest.mark.parametrize(
    ("fusion", "objective", "top_k"), [("minmax", "MAP@5", 10), ("rrf", "MRR@top_k", 3), ("zscore", "nDCG@5", 4)]
)
def test_the_curve_is_what_evaluate_computes(write_config: Write, fusion: str, objective: str, top_k: int) -> None:
    config = write_config(fusion=fusion, objective=objective, top_k=top_k)
    result = harness.profile(config)
    for weight in (0.0, 0.1234, 0.5, 0.7071, 1.0):
        here = [s for low, high, s in result.curve.rows() if low == high == weight] or [
            s for low, high, s in result.curve.rows() if low < weight < high
        ]
        assert here == [pytest.approx(objective_at(config, weight, top_k=top_k), abs=1e-12)], weight
    assert result.at_half == pytest.approx(objective_at(config, 0.5, top_k=top_k))


def test_the_setting_is_the_configs_own_and_not_the_spaces(write_config: Write, capsys: Capture) -> None:
    data = json.loads(profiled([str(write_config(fusion="l2", depth=7, top_k=4)), "--json"], capsys))
    assert data["params"] == {"top_k": 4, "fusion": "l2", "depth": 7, "k1": 1.5, "b": 0.75}


def test_json_holds_what_is_printed(write_config: Write, capsys: Capture) -> None:
    config = write_config()
    data = json.loads(profiled([str(config), "--json"], capsys))
    curve = harness.profile(config).curve
    optimum = find_optimum(curve)
    assert data["objective"] == "MAP@5" and data["intervals"] == curve.on.size
    for name in ("weight", "weight_from", "weight_to", "score"):
        assert data["optimum"][name] == getattr(optimum, name)
    assert (data["keyword"], data["semantic"]) == (curve.at[0], curve.at[-1])
    assert data["at_half"] == pytest.approx(objective_at(config, 0.5))
    enough = 0.99 * optimum.score
    for low, high in data["plateau"]:
        within = [score for a, b, score in curve.rows() if low <= a and b <= high]
        assert min(within) >= enough - 1e-12
    assert any(low <= optimum.weight <= high for low, high in data["plateau"])


def test_a_weights_file_gives_the_setting(write_config: Write, capsys: Capture) -> None:
    Path("setting.yaml").write_text(yaml.safe_dump({"fusion": "rrf", "rrf_k": 5, "top_k": 3, "k1": 0.9, "semantic_weight": 0.1}))
    config = write_config()
    data = json.loads(profiled([str(config), "--weights", "setting.yaml", "--json"], capsys))
    assert data["params"] == {"top_k": 3, "fusion": "rrf", "rrf_k": 5, "depth": 10, "k1": 0.9, "b": 0.75}
    assert data["at_half"] == pytest.approx(objective_at(config, 0.5, fusion="rrf", rrf_k=5, top_k=3, k1=0.9))


def test_the_weights_of_a_study_give_the_studys_own_curve(write_config: Write, capsys: Capture) -> None:
    config = write_config()
    folder = harness.tune(config).folder
    profiled([str(config), "--weights", str(folder / "weights.yaml"), "--out", "again.csv"], capsys)
    assert Path("again.csv").read_bytes() == (folder / "profile.csv").read_bytes()


def test_out_names_another_file_and_the_function_writes_none_unasked(write_config: Write, capsys: Capture) -> None:
    config = write_config()
    assert "curve.csv" in profiled([str(config), "--out", "curve.csv"], capsys)
    assert not Path("profile.csv").exists()
    before = set(Path().iterdir())
    assert harness.profile(config).out is None
    assert set(Path().iterdir()) == before


def test_a_point_that_beats_every_interval_is_said(capsys: Capture) -> None:
    curve = Curve(np.array([0, 0.25, 1.0]), np.array([0.1, 0.9, 0.1]), np.array([0.5, 0.4]))
    print_profile(ProfileResult(plain_config(), Params(), curve, 0.4, Path("x.csv")))
    out = capsys.readouterr().out
    assert "the single weight 0.250000 scores higher" in out
    assert "optimum 0.5000 for weights 0.000000 to 0.250000" in out


def plain_config() -> Config:
    return parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}})


def test_two_objectives_are_refused(write_config: Write, capsys: Capture) -> None:
    config = write_config(objective=["Precision@5", "Recall@5"])
    assert run(["profile", str(config)]) == 2
    assert "objective" in capsys.readouterr().err
    assert not Path("profile.csv").exists()
    with pytest.raises(HarnessError, match="objective"):
        harness.profile(config)


@pytest.mark.parametrize(
    ("text", "said"),
    [("fusoin: rrf\n", "fusion"), ("semantic_weight: 2\n", "semantic_weight"), ("[1]\n", "mapping")],
)
def test_a_weights_file_that_is_wrong_is_refused(write_config: Write, capsys: Capture, text: str, said: str) -> None:
    Path("setting.yaml").write_text(text)
    assert run(["profile", str(write_config()), "--weights", "setting.yaml"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("profile.csv").exists()


def test_files_that_are_missing_are_the_users_error(write_config: Write, capsys: Capture) -> None:
    assert run(["profile", "no-such.yaml"]) == 2
    assert "no-such.yaml" in capsys.readouterr().err
    assert run(["profile", str(write_config()), "--weights", "no-such.yaml"]) == 2
    assert "no-such.yaml" in capsys.readouterr().err


def test_one_prompt_and_a_curve_that_is_flat_are_drawn_too(write_config: Write, capsys: Capture) -> None:
    folder = Path("one")
    folder.mkdir()
    corpus = [{"_id": doc, "title": title, "text": text} for doc, (title, text) in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q08", "text": PROMPTS["q08"][0]}) + "\n")
    (folder / "qrels.tsv").write_text("q08\tno such document\t1\nq08\tfence\t0\n")
    collection = {
        name: str(folder / f"{name}.{end}") for name, end in (("corpus", "jsonl"), ("queries", "jsonl"), ("qrels", "tsv"))
    }
    out = profiled([str(write_config(collection=collection))], capsys)
    assert read_curve("profile.csv") == [(0, 0, 0), (0, 1, 0), (1, 1, 0)]
    assert "optimum 0.0000 for weights 0.000000 to 1.000000" in out
    assert "plateau: weights 0.000 to 1.000" in out
    assert not {"nan", "inf", "none"} & set(out.lower().replace(",", " ").split())


def test_the_sketch_is_as_high_as_the_score_is_good() -> None:
    curve = Curve(np.array([0, 0.5, 1.0]), np.array([0.1, 0.2, 0.5]), np.array([0.2, 0.4]))
    lines = sketch(curve, columns=10, rows=4)
    assert lines[:4] == [
        " 0.4000 |" + " " * 5 + "█" * 5,
        "        |" + " " * 5 + "█" * 5,
        "        |" + " " * 5 + "█" * 5,
        " 0.2000 |" + "█" * 10,
    ]
