"""Every reader of outside bytes, against seeded inputs of benchmarks/fuzz.py and against each find that it ever made."""

from __future__ import annotations

import importlib.util
import io
import json
import random
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness.files import read_arrays

INPUTS = 200  # of each reader; `python benchmarks/fuzz.py` runs a hundred thousand


# What is known and not mended yet: by reader for the seeded inputs, by name for the finds. Take a name out with its mending.
def load_fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[1] / "benchmarks" / "fuzz.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


fuzz = load_fuzzer()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the small study lies."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def readers(home: Path) -> dict[str, Any]:
    """Every reader, over a small study with candidates out of the air."""
    return fuzz.make_readers(home)


@pytest.fixture(scope="module")
def stored(readers: dict[str, Any], home: Path) -> dict[str, Any]:
    """The arrays of the small study's candidates.npz."""
    return read_arrays(home / "small" / "candidates.npz")


@pytest.fixture
def find(readers: dict[str, Any], tmp_path: Path) -> Callable[[str, dict[str, bytes]], str]:
    """What is wrong with how this reader takes these files; nothing where it gives a result or a refusal in plain lines."""

    def try_files(name: str, files: dict[str, bytes]) -> str:
        _, _, found = fuzz.try_input(readers[name], files, tmp_path / "input")
        return "" if found is None or found.kind == "noise" else f"{found.kind}, {found.where}\n{found.tail}"

    return try_files


# ---- seeded inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fuzz.SHARES)
def test_no_bytes_bring_a_reader_down(name: str, readers: dict[str, Any], tmp_path: Path) -> None:
    reader, past, finds = readers[name], 0, {}
    for number in range(INPUTS):
        files = fuzz.make_input(reader, 0, number)
        _, said, found = fuzz.try_input(reader, files, tmp_path / "input")
        past += reader.syntax(files, said)
        if found is not None and found.kind != "noise":
            finds.setdefault(f"{found.kind}, {found.where}", (number, found.tail))
    assert past * 2 >= INPUTS, "the mix must get past the syntax to the checks of the fields"
    assert not finds, "\n\n".join(f"#{number}: {where}\n{tail}" for where, (number, tail) in finds.items())


def test_the_same_seed_makes_the_same_inputs(readers: dict[str, Any]) -> None:
    for name in ("config", "corpus", "qrels-tsv", "journal", "trials", "candidates", "timings"):
        assert fuzz.make_input(readers[name], 5, 1) == fuzz.make_input(readers[name], 5, 1)
        assert fuzz.make_input(readers[name], 5, 1) != fuzz.make_input(readers[name], 6, 1)


def test_the_fuzzer_sees_a_traceback_a_hang_a_feast_and_a_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    monkeypatch.setattr(fuzz, "ROOM", 1 << 28)

    def hang(_folder: Path) -> None:
        while True:
            pass

    def refuse(_folder: Path) -> None:
        raise fuzz.HarnessError("x: must be one line, got a\nb")

    calls = {
        "traceback": lambda _folder: {}["a"],
        "hang": hang,
        "memory": lambda _folder: bytes(1 << 29),
        "lines": refuse,
    }
    for kind, call in calls.items():
        reader = fuzz.Reader("x", lambda _rng: {}, call, lambda _files, _said: True)
        found = fuzz.try_input(reader, {"x": b""}, tmp_path / "input")[2]
        assert found is not None and found.kind == kind


# ---- the finds: text --------------------------------------------------------------------------------------------------

CONFIG = "collection: {corpus: c.jsonl, queries: q.jsonl, qrels: r.tsv}\n"


def journal(*operations: dict[str, Any]) -> bytes:
    """A journal of these operations after the creation of the study."""
    first = {"op_code": 0, "study_name": "study", "directions": [2]}
    return "".join(json.dumps({"worker_id": "w", **item}) + "\n" for item in (first, *operations)).encode()


def trial(name: str, distribution: dict[str, Any], drawn: Any = 0, values: Any = (0.5,)) -> list[dict[str, Any]]:
    """A complete trial that drew one parameter."""
    return [
        {"op_code": 4, "study_id": 0, "datetime_start": "2026-01-01T00:00:00"},
        {
            "op_code": 5,
            "trial_id": 0,
            "param_name": name,
            "param_value_internal": drawn,
            "distribution": json.dumps(distribution),
        },
        {"op_code": 6, "trial_id": 0, "state": 1, "values": values, "datetime_complete": "2026-01-01T00:00:01"},
    ]


def of_kind(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"name": f"{kind}Distribution", "attributes": attributes}


WEIGHT = of_kind("Float", low=0.0, high=1.0, step=None, log=False)
DEEP = "[" * 3000 + "]" * 3000
MEASURED = "Precision@1,Recall@1,Precision@5,Recall@5,Precision@top_k,Recall@top_k"
TRIALS = f"number,state,semantic_weight,top_k,fusion,rrf_k,k1,objective,{MEASURED}\n"
ROW = "0,COMPLETE,0.5,2,rrf,1,1.2,0.1,0.1,0.1,0.1,0.1,0.1,0.1\n"

TEXT_FINDS: dict[str, tuple[str, str, bytes]] = {
    "a key tagged int": ("config", "config.yaml", b"!!int x: 1\n"),
    "a key tagged float": ("config", "config.yaml", b"!!float x: 1\n"),
    "a key tagged bool": ("config", "config.yaml", b"!!bool x: 1\n"),
    "a key tagged timestamp": ("config", "config.yaml", b"!!timestamp 2001-99-99: 1\n"),
    "a tag below a key that is no text": ("config", "config.yaml", b"on: {a: [!!int x]}\n"),
    "a tagged key of weights": ("weights", "weights.yaml", b"!!int x: 1\n"),
    "a list as the fusion of an engine": ("config", "config.yaml", f"{CONFIG}engine: opensearch\nfusion: []\n".encode()),
    "a mapping as the fusion of an engine": ("config", "config.yaml", f"{CONFIG}engine: opensearch\nfusion: {{}}\n".encode()),
    "a list as today's fusion of an engine": ("config", "config.yaml",
    f"{CONFIG}engine: qdrant\ncurrent: {{fusion: []}}\n".encode()),
    "a mapping among the searched fusions of an engine": (
        "config", "config.yaml", f"{CONFIG}engine: qdrant\nsearch: {{space: {{fusion: [{{}}]}}}}\n".encode(),
    ),
    "a list as the fusion of an engine's weights": ("weights", "weights.yaml", b"fusion: []\n"),
    "a step below one for whole numbers": (
        "config", "config.yaml", f"{CONFIG}search: {{space: {{top_k: {{low: 1, high: 5, step: .5}}}}}}\n".encode(),
    ),
    "a step so small that the steps are infinite": (
        "config", "config.yaml", f"{CONFIG}search: {{space: {{semantic_weight: {{low: 0, high: 1, step: 1e-310}}}}}}\n".encode(),
    ),
    "a key of held_out that turns the text": ("config", "config.yaml", f'{CONFIG}held_out: {{"\\u202E": 1}}\n'.encode()),
    "a billion steps": (
        "config", "config.yaml", f"{CONFIG}search: {{space: {{semantic_weight: {{low: 0, high: 1, step: 1e-9}}}}}}\n".encode(),
    ),
    "a key of held_out with a line break": ("config", "config.yaml", f'{CONFIG}held_out: {{"a\\nb": 1}}\n'.encode()),
    "weights deeper than the candidates": ("weights", "weights.yaml", b"depth: 7\n"),
    "a study's weights deeper than its candidates": ("study-weights", "weights.yaml", b"depth: 7\n"),
    "steps that a decimal cannot count": (
        "journal", "journal.log", journal(*trial("semantic_weight", of_kind("Float", low=0, high=1e308, step=1e-300, log=False))),
    ),
    "a whole step of nothing": (
        "journal", "journal.log", journal(*trial("top_k", of_kind("Int", low=1, high=5, step=1e-3, log=False), 5)),
    ),
    "an identity that is a list": (
        "journal", "journal.log",
        journal({"op_code": 0, "study_name": "other", "directions": [2]}, {"op_code": 1, "study_id": 0},
                {"op_code": 0, "study_name": "study", "directions": [2]}, {"op_code": 2, "study_id": 2,
                    "user_attr": {"identity": ["x"]}}),
    ),
    "an identity that is an empty list": (
        "journal", "journal.log", journal({"op_code": 2, "study_id": 0, "user_attr": {"identity": []}}),
    ),
    "a drawn value that is a mapping": (
        "journal", "journal.log", journal(*trial("fusion", of_kind("Categorical", choices=[{}]))),
    ),
    "a drawn value that cannot be hashed": ("journal", "journal.log", journal(*trial("k1", of_kind("Categorical",
    choices=[{}])))),
    "a parameter that the space fixes": ("journal", "journal.log", journal(*trial("depth", of_kind("Int", low=1, high=9,
    step=1, log=False), 3))),
    "another distribution than the space's": (
        "journal", "journal.log", journal(*trial("k1", of_kind("Categorical", choices=[1.2, 9.9]))),
    ),
    "two values for one objective, then one": (
        "journal", "journal.log",
        journal(*trial("semantic_weight", WEIGHT, 0.5, [0.1, 0.2]),
                *({**item, **({"trial_id": 1} if "trial_id" in item else {})} for item in trial("semantic_weight", WEIGHT,
                    0.5, [0.1]))),
    ),
    "no value for one objective": ("journal", "journal.log", journal(*trial("semantic_weight", WEIGHT, 0.5, []))),
    "no column of a measure": ("trials", "trials.csv", b"number,state,semantic_weight,objective\n0,COMPLETE,.5,.1\n"),
    "a measure that is text": ("trials", "trials.csv", (TRIALS + ROW.replace("0.1\n", "x\n")).encode()),
    "no column of the state": ("trials", "trials.csv", b"number,objective\n0,.1\n"),
    "every column but the state": ("trials", "trials.csv", f"objective,{MEASURED}\n.1,.1,.1,.1,.1,.1,.1\n".encode()),
    "a fusion that nobody has": ("trials", "trials.csv", (TRIALS + ROW.replace("rrf", "x")).encode()),
    "a top_k beyond 32 bits": ("trials", "trials.csv", (TRIALS + ROW.replace(",2,", f",{10**30},")).encode()),
    "a manifest nested too deep": ("manifest", "manifest.json", f'{{"a": {DEEP}}}'.encode()),
    "a manifest whose config has no hash": (
        "manifest", "manifest.json", b'{"config_sha256": null, "content": {}, "packages": {}, "sha256": {"model": "x"}}',
    ),
    "an rrf_k beyond 32 bits": ("trials", "trials.csv", (TRIALS + ROW.replace(",1,1.2", f",{10**10},1.2")).encode()),
    "timings of infinity": ("timings", "timings.json", b'{"a": Infinity}'),
    "timings with half a surrogate pair": ("timings", "timings.json", b'{"a": "\\ud800"}'),
    "a holder nested too deep": ("timings", "timings.json", f'{{"process": {DEEP}}}'.encode()),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXT_FINDS)
def test_a_find_in_text_stays_mended(name: str, find: Callable[[str, dict[str, bytes]], str]) -> None:
    reader, file, data = TEXT_FINDS[name]
    assert find(reader, {file: data}) == ""


@pytest.mark.parametrize("name", ["more cells than columns"])
def test_more_cells_than_columns_stay_mended(
    name: str, find: Callable[[str, dict[str, bytes]], str], readers: Any, home: Path
) -> None:
    head, first, *rest = (home / "small" / "trials.csv").read_text().splitlines()
    assert find("trials", {"trials.csv": "\n".join([head, first + ",1", *rest, ""]).encode()}) == ""


@pytest.mark.parametrize("count", [10**9, 10**18, 10**30, -1, 1.5, None, float("inf")])
def test_counts_that_nobody_can_hold_stay_refused(count: Any, find: Any, readers: Any, home: Path) -> None:
    for name in ("empty_documents", "judged_queries_not_in_queries", "queries_without_judgements"):
        summary = json.loads((home / "small" / "summary.json").read_text())
        summary["collection"][name] = count
        assert find("summary", {"summary.json": json.dumps(summary).encode()}) == ""


@pytest.mark.parametrize("name", ["pick", "best_trial"])
def test_a_setting_deeper_than_the_candidates_stays_refused(name: str, find: Any, readers: Any, home: Path) -> None:
    summary = json.loads((home / "small" / "summary.json").read_text())
    summary[name]["params"]["depth"] = 7
    assert find("summary", {"summary.json": json.dumps(summary).encode()}) == ""


# ---- the finds: arrays ------------------------------------------------------------------------------------------------


def packed(arrays: dict[str, Any]) -> bytes:
    """An npz file with the right digest: the reader of the arrays takes it, and their checks are what is left."""
    return fuzz.write_npz(arrays, random.Random(0))


def as_json(value: Any) -> Any:
    return np.frombuffer((value if isinstance(value, str) else json.dumps(value)).encode(), dtype=np.uint8)


def member(header: str) -> bytes:
    """A zip file with one npy member of this header."""
    text = header.encode() + b"\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64))
    return stream.getvalue()


HEADER_FINDS = {
    "a type of one part": "{'descr': ('<f8',), 'fortran_order': False, 'shape': (1,), }",
    "a type of no part": "{'descr': (), 'fortran_order': False, 'shape': (1,), }",
}


@pytest.mark.parametrize("name", HEADER_FINDS)
def test_a_find_in_a_header_stays_mended(name: str, find: Callable[[str, dict[str, bytes]], str]) -> None:
    assert find("arrays", {"x.npz": member(HEADER_FINDS[name])}) == ""


@pytest.mark.parametrize("name", ["arrays", "cache", "candidates"])
def test_a_file_that_lost_a_part_stays_refused(name: str, find: Callable[[str, dict[str, bytes]], str], stored: Any) -> None:
    data = packed(stored)
    for missing in (1, 50, 1000):
        for at in (0, 100, len(data) // 2):
            torn = data[:at] + data[at + missing :]
            assert find(name, {"candidates.npz" if name == "candidates" else "x.npz": torn}) == ""


ARRAY_FINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a row of two billion": lambda a: {"document_rows": np.where(a["document_rows"] == a["document_rows"][-1], 2**31 - 1,
    a["document_rows"])},
    "a row of infinity": lambda a: {"document_rows": np.full(len(a["document_rows"]), np.inf)},
    "rows as bytes": lambda a: {"document_rows": a["document_rows"].astype(np.uint8)},
    "candidates as bytes": lambda a: {"rows": a["rows"].astype(np.uint8)},
    "judgements as bytes": lambda a: {"qrels_rows": a["qrels_rows"].astype(np.uint8)},
    "meta nested too deep": lambda _: {"meta": as_json(DEEP)},
    "ids nested too deep": lambda _: {"ids": as_json(DEEP)},
    "postings of another length": lambda a: {"postings_row": a["postings_row"][:-3]},
    "postings of another shape": lambda _: {"postings_frequency": np.ones((3, 0))},
    "postings of another variant": lambda a: {
        "meta": as_json({**json.loads(bytes(a["meta"])), "postings": {"variant": "x", "delta": 0.0}})
    },
    "no postings": lambda a: {
        "meta": as_json({k: v for k, v in json.loads(bytes(a["meta"])).items() if k != "postings"}),
        "held_out_meta": a["held_out_meta"],
    },
    "a format with a control character": lambda a: {"meta": as_json({**json.loads(bytes(a["meta"])), "format": "\x00\n"})},
    "scores as text": lambda a: {"keyword_scores": a["keyword_scores"].astype("S5")},
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAY_FINDS)
def test_a_find_in_candidates_stays_mended(name: str, find: Callable[[str, dict[str, bytes]], str], stored: Any) -> None:
    assert find("candidates", {"candidates.npz": packed({**stored, **ARRAY_FINDS[name](stored)})}) == ""


@pytest.mark.parametrize("name", [n for n in ARRAY_FINDS if not n.startswith("ids")])
def test_a_find_in_a_cached_file_stays_mended(name: str, find: Callable[[str, dict[str, bytes]], str], stored: Any) -> None:
    kept = {n: array for n, array in stored.items() if not n.startswith("held_out_")}
    assert find("cache", {"x.npz": packed({**kept, **ARRAY_FINDS[name](stored)})}) == ""


@pytest.mark.parametrize("name", ["facts nested too deep"])
def test_facts_nested_too_deep_stay_mended(name: str, find: Callable[[str, dict[str, bytes]], str]) -> None:
    assert find("cache", {"x.npz": packed({"vectors": np.ones((12, 4), np.float32), "facts": as_json(DEEP)})}) == ""
