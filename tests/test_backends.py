"""Backends of the encoder: near to torch's vectors, never mixed up with them in the cache, and silent towards their makers."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import DOCUMENTS

from harness.backends import BACKENDS, backend_version, use_backend
from harness.blocks import BACKENDS as NAMES
from harness.blocks import Semantic
from harness.commands.tune import identify
from harness.config import parse_config
from harness.errors import HarnessError
from harness.semantic import Model, encode, encoding_key, find_model, load_model

TEXTS = [f"{title} {text}" for title, text in DOCUMENTS.values()]
PACKAGED = Semantic()
LOSS = {"torch-bfloat16": 1e-3, "openvino": 1e-6, "openvino-bfloat16": 1e-3}  # 1 − cosine


@pytest.fixture(scope="module")
def torch_vectors() -> Any:
    return encode(load_model(find_model(PACKAGED), PACKAGED), TEXTS, "document", PACKAGED).vectors


def test_every_name_of_the_config_has_a_backend() -> None:
    assert ("torch", *BACKENDS) == NAMES


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_are_near_to_those_of_torch_and_come_out_the_same_again(backend: str, torch_vectors: Any) -> None:
    if backend.startswith("openvino"):
        pytest.importorskip("openvino")
    options = Semantic(backend=backend)
    loaded = load_model(find_model(options), options)
    vectors = encode(loaded, TEXTS, "document", options).vectors
    cosines = (vectors * torch_vectors).sum(axis=1)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert cosines.min() > 1 - LOSS[backend]
    assert not np.array_equal(vectors, torch_vectors)  # else the default stood in its place
    assert np.array_equal(vectors, encode(loaded, TEXTS, "document", options).vectors)


def test_each_backend_has_its_own_place_in_the_cache() -> None:
    for name in BACKENDS:
        if name.startswith("openvino"):
            pytest.importorskip("openvino")
    model = Model("m", "m", "f" * 64)
    keys = {encoding_key(model, Semantic(backend=name), "document", TEXTS) for name in NAMES}
    assert len(keys) == len(NAMES)
    assert backend_version("torch") == []  # so that vectors of before the key was there are found


def test_the_backend_is_part_of_the_question_and_the_default_is_not_written() -> None:
    files = {"corpus": "c.jsonl", "queries": "q.jsonl", "qrels": "r.tsv"}
    dataset: Any = SimpleNamespace(
        fetched={}, hashes=SimpleNamespace(corpus="1", queries="2", qrels="3"), corpus_source=None, qrels_source=None
    )
    plain = parse_config({"name": "a", "collection": files})
    other = parse_config({"name": "a", "collection": files, "semantic": {"backend": "torch-bfloat16"}})
    assert "backend" not in plain.to_yaml() and "backend: torch-bfloat16" in other.to_yaml()
    assert "semantic.backend" not in identify(plain, dataset)
    assert identify(other, dataset)["semantic.backend"] == "torch-bfloat16"


def test_a_model_without_a_transformer_is_refused() -> None:
    with pytest.raises(HarnessError, match=r"semantic\.backend: openvino needs a model with a transformer, got str; take torch"):
        use_backend(["words"], "openvino")


def test_openvino_stays_on_the_processor() -> None:
    pytest.importorskip("openvino")
    on_gpu = SimpleNamespace(auto_model=SimpleNamespace(device=SimpleNamespace(type="cuda"), forward=None))
    with pytest.raises(HarnessError, match="openvino runs on the CPU"):
        use_backend([on_gpu], "openvino")


def test_openvino_reports_nothing_to_its_makers() -> None:
    pytest.importorskip("openvino")
    code = (
        "import sys; from types import SimpleNamespace as S; from harness.backends import use_backend;"
        "use_backend([S(auto_model=S(device=S(type='cpu'), forward=None))], 'openvino');"
        "sys.exit('openvino' not in sys.modules or sys.modules.get('openvino_telemetry') is not None)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
