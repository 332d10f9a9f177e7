"""`export`: a study's setting as the engine's own configuration, and a fixture to prove that the engine orders alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from harness.engines import NotTheSameError, convert, rules_of
from harness.errors import HarnessError
from harness.exports import EXPORTS, Setting
from harness.files import write_text
from harness.folder import Stored, read_study, setting_of
from harness.parity import fixture_files, make_fixture
from harness.types import Params

MOST_DIMENSIONS = 1_000_000
PLAIN = ("json", "yaml")  # the setting under the rules that it was tuned under, for any program


@dataclass(frozen=True)
class Export:
    """The exported text, the setting behind it, and the parity fixture's folder (None: none was asked for)."""

    text: str
    setting: Setting
    folder: Path | None = None


def export(study: str | Path, *, to: str, setting: str = "recommended", parity: str | Path | None = None) -> Export:
    """A setting of a finished study in the engine's own words; with `parity` also a fixture, written into that folder.

    A setting that was tuned under other rules is converted only where the order is provably the same. HarnessError for that,
    for an unknown study, engine or setting, and for a fixture's folder that holds something else.
    """
    if to not in EXPORTS:
        raise HarnessError(f"--to: must be one of {', '.join(EXPORTS)}, got {to!r}")
    stored = read_study(study)
    params = setting_of(stored, setting)
    target = stored.config.engine if to in PLAIN else to
    try:
        params, notes = convert(params, stored.config.engine, target)
    except NotTheSameError as error:
        name = stored.config.name
        raise HarnessError(
            f"{stored.folder}: its setting cannot run on {rules_of(target).title} in the same order: {error}. Tune under its"
            f" rules: set `engine: {to}` and its fusions in the config, and run tune with --name {name}-{to}"
        ) from None
    made = Setting(
        study=stored.config.name,
        params=params,
        engine=target,
        keyword=describe_keyword(stored, params),
        semantic=describe_semantic(stored, params),
        dimension=dimension_of(stored, params),
        notes=(f"this is the setting called {setting}{describe_decision(stored, setting)}", *notes),
    )
    text = EXPORTS[to](made)
    return Export(text, made, write_parity(made, to, text, Path(parity)) if parity is not None else None)


def describe_keyword(stored: Stored, params: Params) -> str:
    """What made the keyword lists, in words."""
    keyword = stored.config.at_index(params).keyword
    if stored.config.list_source("keyword") is not None:
        return describe_source(stored, "keyword")
    over = "title and text"
    if keyword.fields is not None:
        over = " and ".join(f"{name} ({weight} times)" for name, weight in keyword.fields if weight)
    chunks = f", chunks of at most {params.chunk_size}" if params.chunk_size else ""
    chunks += f" with an overlap of {params.chunk_overlap}" if params.chunk_overlap > 0 else ""
    return f"BM25 ({keyword.variant}, k1 {params.k1:g}, b {params.b:g}, analyzer {keyword.analyzer}) over {over}{chunks}"


def describe_source(stored: Stored, side: str) -> str:
    """What gave the lists of a side that has no index of the program's own."""
    source = stored.config.list_source(side)
    return f"the statement {source} of the study's config" if source == f"live.{side}" else "the run that the study was given"


def describe_semantic(stored: Stored, params: Params) -> str:
    """What made the semantic lists, in words."""
    semantic = stored.config.at_index(params).semantic
    if stored.config.list_source("semantic") is not None:
        return describe_source(stored, "semantic")
    product = "cosine" if semantic.normalize else "inner product"
    what = "the vectors that the study was given" if semantic.vectors is not None else semantic.embedder or semantic.model
    return f"the {product} of {what} (index {semantic.index})"


def dimension_of(stored: Stored, params: Params) -> int | None:
    """The dimension of the vectors of this setting; None where lists were given in their place."""
    if not stored.config.searches_vectors and not (stored.config.live is not None and stored.config.live.wants_vectors):
        return None
    where = stored.folder / "summary.json"
    try:
        facts = stored.summary["index"]
        if params.index != stored.config.base.index:
            named = {name: getattr(params, name) for name in stored.config.indexed}
            facts = next(other for other in stored.summary["indexes"] if other["params"] == named)
        dimension = facts["semantic"]["dimension"]
    except (KeyError, TypeError, StopIteration):
        raise HarnessError(f"{where}: must have index.semantic.dimension, got none; run tune again") from None
    if type(dimension) is not int or not 0 < dimension <= MOST_DIMENSIONS:
        raise HarnessError(f"{where}: index.semantic.dimension must be a whole number of at least 1, got {dimension!r:.40}")
    return dimension


def describe_decision(stored: Stored, setting: str) -> str:
    """What the study decided, where the setting is the recommended one."""
    verdict = stored.summary.get("verdict")
    decision = verdict.get("decision") if isinstance(verdict, dict) else None
    return f" (verdict: {decision})" if setting == "recommended" and decision in ("adopt", "keep", "undecided") else ""


def _fixture_engine(folder: Path) -> str | None:
    """Whose fixture this folder holds; None where it holds none."""
    try:
        return str(json.loads((folder / "expected.json").read_text(encoding="utf-8"))["engine"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_parity(setting: Setting, engine: str, text: str, folder: Path) -> Path:
    """Write the fixture into a folder that is empty, or holds an older fixture; HarnessError else."""
    if engine in PLAIN:
        raise HarnessError(f"--parity: needs an engine to ask, got --to {engine}")
    if folder.exists() and not folder.is_dir():
        raise HarnessError(f"{folder}: must be a folder or free, got a file; name another one")
    if folder.is_dir() and any(folder.iterdir()) and _fixture_engine(folder) != engine:
        raise HarnessError(f"{folder}: must be empty or an older fixture of {engine}, got other files; name another folder")
    for name, content in fixture_files(make_fixture(setting.params, engine), engine, text).items():
        write_text(folder / name, content)
    return folder
