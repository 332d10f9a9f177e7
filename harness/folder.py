"""A finished study, read back from its folder: its config, what it found, and the hybrid search over its stored candidates."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import PARAM_NAMES, Config, check_params, read_config, read_weights
from harness.errors import HarnessError, Problems
from harness.files import DamagedFileError, read_arrays, read_text
from harness.hybrid import Hybrid
from harness.record import STUDIES
from harness.retrieve import unpack
from harness.types import Counts, Dataset, Hashes, Params, Qrels, Query, Retrieved

NOTHING = Hashes("", "", "")
SETTINGS = ("recommended", "pick", "best_trial")


@dataclass(frozen=True)
class Stored:
    """A study folder's config and summary.json."""

    folder: Path
    config: Config
    summary: dict[str, Any]


@dataclass(frozen=True)
class StoredSearch:
    """The hybrid search of the prompts that a study used, over its stored candidates; rows as in the study's corpus.

    `doc_ids` maps a row to its id, for the rows that stand in the candidates or the judgements.
    """

    retrieved: Retrieved
    hybrid: Hybrid
    query_ids: tuple[str, ...]
    doc_ids: dict[int, str]


def find_study(name: str | Path) -> Path:
    """The folder that this path or name means: a folder as it is, else the study of that name under studies/.

    HarnessError where neither is there, or the folder holds no finished study.
    """
    given = Path(name)
    folder = given if given.exists() else STUDIES / given
    if not folder.exists():
        known = sorted(path.parent.name for path in STUDIES.glob("*/summary.json"))
        have = f"; studies here: {', '.join(known[:10])}" if known else ""
        raise HarnessError(f"{name}: must be a study's folder, or its name under {STUDIES}/, got nothing there{have}")
    if not folder.is_dir():
        raise HarnessError(f"{folder}: must be a study's folder, got a file")
    missing = [file for file in ("config.yaml", "summary.json") if not (folder / file).is_file()]
    if missing:
        raise HarnessError(f"{folder}: must hold a finished study, got no {' and no '.join(missing)}; run tune first")
    return folder


def read_study(name: str | Path) -> Stored:
    """Config and summary of a finished study; HarnessError where they are not what `tune` writes."""
    folder = find_study(name)
    config = read_config(folder / "config.yaml")
    path = folder / "summary.json"
    try:
        summary = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise HarnessError(f"{path}: must be JSON, got: {error}; run tune again") from None
    if not isinstance(summary, dict) or not isinstance(summary.get("systems"), dict):
        raise HarnessError(f"{path}: must be a study's summary, an object with systems; run tune again")
    return Stored(folder, config, summary)


def setting_of(study: Stored, name: str) -> Params:
    """A setting of the study: `recommended` is weights.yaml, `pick` and `best_trial` are the summary's.

    HarnessError where the study has none, as with two objectives.
    """
    if name not in SETTINGS:
        raise HarnessError(f"--setting: must be one of {', '.join(SETTINGS)}, got {name!r}")
    if len(study.config.objective) > 1:
        raise HarnessError(f"{study.folder}: has two objectives, and so no single setting; choose from its front and name it")
    if name == "recommended":
        return read_weights(study.folder / "weights.yaml", study.config)
    where = study.folder / "summary.json"
    entry = study.summary.get(name)
    params = entry.get("params") if isinstance(entry, dict) else None
    if not isinstance(params, dict):
        raise HarnessError(f"{where}: must have {name}.params, got none; run tune again")
    problems = Problems()
    values = {key: value for key, value in params.items() if key in PARAM_NAMES}
    checked = check_params(values, study.config, lambda key: f"{where}: {name}.params.{key}", problems)
    problems.raise_any()
    return checked


def read_stored_search(study: Stored) -> StoredSearch:
    """The stored candidates, ready to be searched with any setting that they can serve; HarnessError where damaged."""
    path = study.folder / "candidates.npz"
    try:
        stored = read_arrays(path)
        retrieved = unpack(stored)
        ids = json.loads(stored["ids"].tobytes())
        qrels = Qrels(stored["qrels_rows"], stored["qrels_grades"])
        doc_ids = dict(zip(map(int, stored["document_rows"]), ids["documents"], strict=True))
        query_ids = tuple(ids["queries"])
        if len(query_ids) != qrels.rows.shape[0] or retrieved.candidates.rows.shape[0] != len(query_ids):
            raise ValueError("queries, judgements and candidates differ in number")
    except (DamagedFileError, KeyError, ValueError, TypeError) as error:
        raise HarnessError(f"{path}: must be what tune wrote, got: {error}; run tune again") from None
    config = study.config
    base = Params(depth=config.deepest, k1=config.keyword.k1, b=config.keyword.b)
    hybrid = Hybrid(retrieved.candidates, qrels, config.measures.conventions(), base, retrieved.postings, config.engine)
    return StoredSearch(retrieved, hybrid, query_ids, doc_ids)


def read_clusters(study: Stored, query_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Each prompt's cluster, as per_query.csv has it; HarnessError where that is not what `tune` writes."""
    path = study.folder / "per_query.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            clusters = {row["query_id"]: row["cluster"] for row in csv.DictReader(file)}
    except (OSError, KeyError, UnicodeDecodeError, csv.Error) as error:
        raise HarnessError(f"{path}: must be what tune wrote, got: {error}; run tune again") from None
    return tuple(clusters.get(query_id) or "" for query_id in query_ids)


def stored_dataset(study: Stored, search: StoredSearch) -> Dataset:
    """The study's prompts and judgements without its files: documents are those of the candidates and the judgements only,
    and no text is known."""
    rows = np.asarray(sorted(search.doc_ids), dtype=np.int32)
    qrels = search.hybrid.qrels
    place = np.where(qrels.rows >= 0, np.searchsorted(rows, np.maximum(qrels.rows, 0)), -1).astype(np.int32)
    clusters = read_clusters(study, search.query_ids)
    queries = tuple(Query(query_id, "", "", cluster) for query_id, cluster in zip(search.query_ids, clusters, strict=True))
    counts = Counts(documents=rows.size, queries=len(queries), judgements=int((qrels.rows >= 0).sum()))
    return Dataset(tuple(search.doc_ids[int(row)] for row in rows), (), queries, Qrels(place, qrels.grades), counts, NOTHING)
