"""What computes the model's layers: torch, or something faster that gives slightly other vectors. Home of openvino.

A backend takes the place of the transformer's forward pass alone: tokens, batches, pooling and normalisation stay those of
`semantic`, in float32. Every kernel runs in one thread, as there; several batches are at work side by side.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from harness.blocks import DEFAULT_BACKEND
from harness.errors import HarnessError, SurroundingsError


def use_backend(loaded: Any, backend: str) -> Any:
    """The SentenceTransformer with this backend under its transformer; HarnessError where the model has none to replace."""
    if backend == DEFAULT_BACKEND:
        return loaded
    model = getattr(loaded[0], "auto_model", None)
    if model is None:
        found = type(loaded[0]).__name__
        raise HarnessError(f"semantic.backend: {backend} needs a model with a transformer, got {found}; take {DEFAULT_BACKEND}")
    model.forward = BACKENDS[backend](model)
    return loaded


def backend_version(backend: str) -> list[str]:
    """What the vectors of this backend depend on beside the model and its libraries; empty for the default."""
    if backend == DEFAULT_BACKEND:
        return []
    return [backend, importlib.metadata.version("openvino")] if backend.startswith("openvino") else [backend]


def _bfloat16(model: Any) -> Callable[..., Any]:
    """torch's matrix products in bfloat16, sums and norms in float32."""
    import torch

    forward, kind = model.forward, model.device.type

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(kind, dtype=torch.bfloat16):
            answer = forward(*args, **kwargs)
        answer["last_hidden_state"] = answer["last_hidden_state"].float()
        return answer

    return run


def _openvino(precision: str) -> Callable[[Any], Callable[..., Any]]:
    """OpenVINO's own kernels, compiled for this processor from the loaded model; nothing is downloaded or written."""

    def make(model: Any) -> Callable[..., Any]:
        if model.device.type != "cpu":
            raise HarnessError(
                f"semantic.backend: openvino runs on the CPU, got a model on {model.device}; set semantic.device: cpu"
            )
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # it would report its import to its makers
        try:
            import openvino
        except ImportError:
            raise SurroundingsError(
                "semantic.backend: openvino needs the package openvino; install the extra: pip install"
                " 'hybrid-search-harness[openvino]'"
            ) from None
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        compiling, here, forward = threading.Lock(), threading.local(), model.forward
        compiled: list[Any] = []

        def compile_for(inputs: dict[str, Any]) -> Any:
            class Layers(torch.nn.Module):
                def __init__(self) -> None:
                    super().__init__()
                    self.model = model

                def forward(self, *values: Any) -> Any:
                    return forward(**dict(zip(names, values, strict=True))).last_hidden_state

            names, cores = list(inputs), os.cpu_count() or 1
            options = {"INFERENCE_NUM_THREADS": cores, "NUM_STREAMS": cores, "INFERENCE_PRECISION_HINT": precision}
            with torch.no_grad(), warnings.catch_warnings(), _silence():
                warnings.simplefilter("ignore")  # the trace touches what transformers will rename
                converted = openvino.convert_model(Layers(), example_input=tuple(inputs.values()))
            return openvino.Core().compile_model(converted, "CPU", options)

        def run(**kwargs: Any) -> Any:
            inputs = {name: value for name, value in kwargs.items() if isinstance(value, torch.Tensor)}
            with compiling:
                if not compiled:
                    compiled.append(compile_for(inputs))
            if not hasattr(here, "request"):
                here.request = compiled[0].create_infer_request()  # one a thread: they run side by side
            answer = here.request.infer([value.numpy() for value in inputs.values()])
            return BaseModelOutput(last_hidden_state=torch.from_numpy(answer[0].copy()))

        return run

    return make


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """transformers speaks of losses and shards when the trace touches them; nobody asked for either."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers has no types here
    try:
        yield
    finally:
        logging.set_verbosity(before)


BACKENDS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "torch-bfloat16": _bfloat16,
    "openvino": _openvino("f32"),
    "openvino-bfloat16": _openvino("bf16"),
}
