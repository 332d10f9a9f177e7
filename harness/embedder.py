"""A function of the user's in the place of the model: found without importing anything, run only by leave, checked at each call.

It is called as `function(texts, kind)`, `texts` a list of text and `kind` "document" or "query", and gives one row of real
numbers for each text. Its source is compiled from the very bytes that were hashed, so that a cached vector belongs to what ran.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError
from harness.progress import Progress, Silence
from harness.types import Vectors
from harness.vectors import LONGEST, lengths_of, scale_to_unit

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
BATCH = 32  # texts a call: which texts these are follows from the texts alone
KEY = "semantic.embedder"
Call = Callable[[list[str], str], Any]


@dataclass(frozen=True)
class Embedder:
    """Where a function of this name (module:function) is, with the SHA-256 of its module's file."""

    name: str
    path: Path
    sha256: str


def check_name(name: str) -> str:
    """The name; ValueError where it is not that of a function in a module."""
    if not NAME.fullmatch(name):
        raise ValueError(f"must be module:function, a function in a module that Python can find, got {name!r:.80}")
    return name


def find_embedder(name: str) -> Embedder:
    """The module's file, in the working directory or installed; HarnessError where there is none. Nothing is imported."""
    path = Path(str(_find_spec(name).origin))
    return Embedder(name, path, hashlib.sha256(_read(path, name)).hexdigest())


def refuse(name: str) -> HarnessError:
    """What is said where code would be run without leave: what it is, where it lies, and how to allow it."""
    return HarnessError(
        f"{KEY}: {name} is code from outside ({find_embedder(name).path}): this command would import that file and call its"
        " function with your texts; read it, then give --allow-code (in Python: allow_code=True)"
    )


def load_embedder(found: Embedder) -> Call:
    """The function, its module run anew; HarnessError where it does not import, is not there, or cannot be called."""
    module_name, _, function = found.name.partition(":")
    source = _read(found.path, found.name)
    if hashlib.sha256(source).hexdigest() != found.sha256:
        raise HarnessError(f"{KEY}: {found.path} must stay as it is while the command runs, got another content")
    with _said_of(found, f"must be importable, {module_name} is not"):
        parent = module_name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        module = _run(module_name, _find_spec(found.name), source, found.path)
    call = getattr(module, function, None)
    if not callable(call):
        have = sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))
        what = f"{type(call).__name__} {call!r:.40}" if hasattr(module, function) else "nothing of that name"
        raise HarnessError(
            f"{KEY}: {found.name} must be a function in {found.path}, got {what}; it has {', '.join(have[:5]) or 'none'}"
        )
    checked: Call = call
    return checked


def embed(
    call: Call, found: Embedder, texts: Sequence[str], kind: str, *, normalize: bool, progress: Progress | None = None
) -> tuple[Vectors, list[float]]:
    """The texts' vectors, (n_texts, dimension) float32, and the smallest and largest length that they came with.

    Equal texts share one vector, an empty one gets zeros. HarnessError where the function fails, or what it gives is not one row
    of real numbers a text, of one dimension, finite and not all zeros.
    """
    distinct = sorted({text for text in texts if text}, key=lambda text: (len(text), text))
    batches = [distinct[start : start + BATCH] for start in range(0, len(distinct), BATCH)]
    parts: list[Vectors] = []
    with (progress or Silence())(f"embedding {kind} texts", len(distinct)) as advance:
        for batch in batches:
            with _said_of(found, f"must take {len(batch)} {kind} texts, it failed"):
                answer = np.asarray(call(list(batch), kind))
            parts.append(_check(answer, batch, kind, found, parts[0].shape[1] if parts else None))
            advance(len(batch))
    if not parts:
        return np.zeros((len(texts), 0), dtype=np.float32), []
    vectors = np.concatenate(parts)
    lengths = lengths_of(vectors)
    if normalize:
        vectors = scale_to_unit(vectors, lengths)
    elif lengths.max() > LONGEST:
        raise HarnessError(
            f"{KEY}: {found.name} must give vectors of lengths up to {LONGEST:g} where semantic.normalize is false, got"
            f" {lengths.max():.4g} for the {kind} text {distinct[int(lengths.argmax())]!r:.60}"
        )
    row_of = {text: row for row, text in enumerate(distinct)}
    result = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    for i, text in enumerate(texts):
        if text:
            result[i] = vectors[row_of[text]]
    return result, [float(lengths.min()), float(lengths.max())]


def _find_spec(name: str) -> ModuleSpec:
    """The module's spec, step by step through its packages, none of which is imported."""
    module_name = name.partition(":")[0]
    search: list[str] = [str(Path.cwd()), *sys.path]
    importlib.invalidate_caches()
    spec: ModuleSpec | None = None
    for part in module_name.split("."):
        spec = PathFinder.find_spec(part, search)
        if spec is None:
            raise HarnessError(
                f"{KEY}: must name a module in the working directory or an installed one, got none for {part!r} of {name}"
            )
        search = list(spec.submodule_search_locations or ())
    if spec is None or spec.loader is None or not spec.has_location or spec.origin is None:
        raise HarnessError(f"{KEY}: must name a module with a file of its own, got a folder for {module_name!r} of {name}")
    locations = spec.submodule_search_locations
    named = importlib.util.spec_from_file_location(module_name, spec.origin, submodule_search_locations=locations)
    assert named is not None  # the same file has just been found
    return named


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HarnessError(f"{KEY}: the file of {name} must be readable, got: {path}: {error.strerror or error}") from None


def _run(name: str, spec: ModuleSpec, source: bytes, path: Path) -> Any:
    """The module, from these bytes where it is Python source."""
    if not isinstance(spec.loader, SourceFileLoader):
        return importlib.import_module(name)
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and pickles look their module up
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before
        raise
    return module


class _said_of(contextlib.AbstractContextManager["_said_of"]):  # noqa: N801 – it reads as a statement
    """What the user's code raises becomes one line with its place; what it prints goes to stderr, away from the results.

    It imports as it was found: from the working directory first.
    """

    def __init__(self, found: Embedder, what: str) -> None:
        self.found, self.what, self.redirected = found, what, contextlib.redirect_stdout(sys.stderr)
        self.here = str(Path.cwd())

    def __enter__(self) -> _said_of:
        sys.path.insert(0, self.here)
        self.redirected.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.redirected.__exit__(kind, error, trace)
        with contextlib.suppress(ValueError):  # its own doing, if it is gone
            sys.path.remove(self.here)
        if isinstance(error, HarnessError | MemoryError) or not isinstance(error, Exception | SystemExit):
            return
        path = self.found.path
        lines = [frame.lineno for frame in traceback.extract_tb(trace) if Path(frame.filename) == path]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        said = " ".join(str(error).split())[:300]
        raise HarnessError(
            f"{KEY}: {self.found.name} {self.what}: {type(error).__name__}{f': {said}' if said else ''}"
            f" ({path}{f':{lines[-1]}' if lines else ''})"
        ) from None


def _check(answer: Any, batch: Sequence[str], kind: str, found: Embedder, dimension: int | None) -> Vectors:
    """The answer as float32; HarnessError says what must hold of it."""
    where = f"{KEY}: {found.name} must give"
    if answer.dtype.kind != "f" or answer.ndim != 2 or len(answer) != len(batch) or answer.shape[1] == 0:
        raise HarnessError(
            f"{where} one row of real numbers for each of {len(batch)} {kind} texts, got shape {answer.shape}, {answer.dtype}"
        )
    if dimension not in (None, answer.shape[1]):
        raise HarnessError(f"{where} vectors of one dimension, got {dimension} and then {answer.shape[1]} for {kind} texts")
    with np.errstate(over="ignore"):  # beyond single precision lies infinity, which is refused
        vectors: Vectors = np.ascontiguousarray(answer, dtype=np.float32)
    must = {
        "finite numbers, got NaN or infinity": ~np.isfinite(vectors).all(axis=1),
        "vectors that are not all zeros, got such a one": ~vectors.any(axis=1),
    }
    for what, bad in must.items():
        if bad.any():
            raise HarnessError(f"{where} {what} for the {kind} text {batch[int(np.argmax(bad))]!r:.60}")
    return vectors
