"""The collection that trials, profile and process are measured on: Cranfield where it is there, else the handbook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT
from harness.config import Config, parse_config
from harness.prepare import Prepared, Timings, prepare, read_data
from harness.progress import Silence


def find_collection() -> Path:
    """A folder in BEIR layout: Cranfield below the folder that HARNESS_COLLECTIONS names, or the handbook."""
    root = os.environ.get("HARNESS_COLLECTIONS")
    return Path(root) / "cranfield" if root else ROOT / "corpora/handbook"


def make_config(folder: Path, more: dict[str, Any], trials: int) -> dict[str, Any]:
    """The handbook's usual space, with `more` in it, over this collection."""
    import yaml

    config: dict[str, Any] = yaml.safe_load((ROOT / "configs/hybrid.yaml").read_text(encoding="utf-8"))
    files = {"corpus": folder / "corpus.jsonl", "queries": folder / "queries.jsonl", "qrels": folder / "qrels/test.tsv"}
    config["collection"] = {name: str(path) for name, path in files.items()}
    config["search"]["trials"] = trials
    config["search"]["space"] |= more
    config["cache"] = str(ROOT / ".harness-cache")
    return config


def prepare_collection(
    folder: Path | None = None, *, more: dict[str, Any] | None = None, trials: int = 200, **top: Any
) -> Prepared:
    """Both retrievers' candidates; `more` goes into the search space, `top` to the config's top level."""
    config: Config = parse_config({**make_config(folder or find_collection(), more or {}, trials), **top})
    return prepare(config, read_data(config), Silence(), Timings())
