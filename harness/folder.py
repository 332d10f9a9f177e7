"""A finished study, read back from its folder: its config, what it found, and the hybrid search over its stored candidates."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import PARAM_NAMES, TEXT_PARAMS, WHOLE_PARAMS, Config, check_params, read_config, read_weights
from harness.errors import HarnessError, Problems
from harness.exports import SETTINGS
from harness.files import DamagedFileError, read_arrays, read_text
from harness.hybrid import Hybrid
from harness.prepare import Prepared, number_names
from harness.record import HELD_OUT, STUDIES
from harness.retrieve import unpack
from harness.shared import INPUTS, NAMED
from harness.study import Trial
from harness.traffic import MOST, traffic_of
from harness.types import Counts, Dataset, Hashes, Params, Qrels, Query, Remark

NOTHING = Hashes("", "", "")
COUNTED = (  # in summary.json's collection
    "documents",
    "queries",
    "judgements",
    "empty_documents",
    "judged_documents_not_in_corpus",
    "queries_without_judgements",
    "judged_queries_not_in_queries",
)
MOST_COUNTED = 10**7  # of one kind


@dataclass(frozen=True)
class Stored:
    """A study folder's config and summary.json."""

    folder: Path
    config: Config
    summary: dict[str, Any]


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


def find_shared(name: str | Path) -> Path:
    """The folder of a study that workers may join, by its path or its name; HarnessError where it is none."""
    given = Path(name)
    folder = given if given.exists() else STUDIES / given
    if not folder.is_dir():
        raise HarnessError(f"{name}: must be a study's folder, or its name under {STUDIES}/, got {_what_is(folder)}")
    missing = [file for file in (*INPUTS, NAMED) if not (folder / file).is_file()]
    if missing:
        raise HarnessError(
            f"{folder}: must be a study that is shared, got no {' and no '.join(missing)}; start tune with a storage in the"
            " config first, and leave it running"
        )
    return folder


def _what_is(path: Path) -> str:
    return "a file" if path.exists() else "nothing there"


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
        path = study.folder / "weights.yaml"
        recommended = read_weights(path, study.config)
        refuse_unserved(study.config, recommended, str(path))
        return recommended
    where = study.folder / "summary.json"
    entry = study.summary.get(name)
    params = entry.get("params") if isinstance(entry, dict) else None
    if not isinstance(params, dict):
        raise HarnessError(f"{where}: must have {name}.params, got none; run tune again")
    problems = Problems()
    values = {key: value for key, value in params.items() if key in PARAM_NAMES}
    checked = check_params(values, study.config, lambda key: f"{where}: {name}.params.{key}", problems)
    problems.raise_any()
    refuse_unserved(study.config, checked, f"{where}: {name}")
    return checked


def refuse_unserved(config: Config, params: Params, where: str) -> None:
    """HarnessError where the study's candidates cannot say what this setting finds: a file was edited."""
    problems = Problems()
    if params.depth > config.deepest:
        problems.add(where, f"depth must be at most {config.deepest}, that of the study's candidates, got {params.depth}")
    for name in () if config.tunes_bm25 else ("k1", "b"):
        now, stays = getattr(params, name), getattr(config.keyword, name)
        if now != stays:
            problems.add(where, f"{name} must be {stays}, that of the study's candidates, got {now}")
    problems.raise_any()


def read_trials(study: Stored) -> list[Trial]:
    """The study's trials from trials.csv, in its order: params, values and logged numbers (seconds are not in it, 0).

    HarnessError where the file is not what `tune` writes.
    """
    path = study.folder / "trials.csv"
    table = csv.DictReader(read_text(path).splitlines())
    rows = list(table)
    missing = [name for name in ("number", "state") if name not in (table.fieldnames or ())]
    if missing or not rows:
        lacks = f"no {', '.join(missing)}" if missing else "no row"
        raise HarnessError(f"{path}: must be a table of trials, got {lacks}; run tune again")
    logged = [f"{name}@{c}" for c in (*study.config.report_at, "top_k") for name in ("Precision", "Recall")]
    objectives = ["objective", "objective_2"][: len(study.config.objective)]
    trials = []
    for i, row in enumerate(rows, 2):
        try:
            state = row["state"]
            if state not in ("COMPLETE", "FAIL"):
                raise ValueError(f"state must be COMPLETE or FAIL, got {state!r:.40}")
            complete = state == "COMPLETE"
            params = {name: _param(name, row[name]) for name in PARAM_NAMES if row.get(name)}
            values = tuple(_finite(row[name]) for name in objectives) if complete else ()
            trials.append(Trial(int(row["number"]), state, params, values, {n: _finite(row[n]) for n in logged if complete}, 0.0))
        except (KeyError, TypeError, ValueError) as error:
            raise HarnessError(f"{path}:{i}: must be a trial as tune writes it, got: {error}; run tune again") from None
    return trials


def _param(name: str, text: str) -> Any:
    return text if name in TEXT_PARAMS else int(text) if name in WHOLE_PARAMS else _finite(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a finite number is needed, got {text!r:.40}")
    return value


def read_prepared(study: Stored, counts: Counts | None = None) -> Prepared:
    """The study's prompts, judgements and candidates from its candidates.npz, ready for trials: no corpus, no model.

    What is counted in a collection comes from the summary, or from `counts` while there is no summary.

    Documents that neither the candidates nor the judgements name have an empty id, and no text is known. HarnessError where the
    file is not what `tune` writes.
    """
    path, counts = study.folder / "candidates.npz", counts or _recorded_counts(study)
    try:
        stored = read_arrays(path)
        other = {name.removeprefix(HELD_OUT): array for name, array in stored.items() if name.startswith(HELD_OUT)}
        held_out = _unpack_prepared(study, other, counts) if other else None
        return replace(_unpack_prepared(study, stored, counts), held_out=held_out)
    except (DamagedFileError, KeyError, ValueError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise HarnessError(f"{path}: must be what tune wrote, got: {error}; run tune again") from None


def _unpack_prepared(study: Stored, stored: Mapping[str, Any], counts: Counts) -> Prepared:
    config, retrieved = study.config, unpack(stored)
    ids = json.loads(stored["ids"].tobytes())
    queries, groups, clusters, documents = (ids[name] for name in ("queries", "groups", "clusters", "documents"))
    if config.tunes_bm25 and retrieved.postings is None:
        raise ValueError("the study's space needs postings")
    if not all(isinstance(text, str) for texts in (queries, groups, clusters, documents) for text in texts):
        raise ValueError("ids must be text")
    n_queries = len(queries)
    if not n_queries == len(stored["qrels_rows"]) == len(retrieved.candidates.rows):
        raise ValueError("prompts, judgements and candidates differ in number")
    rows, judged, grades = stored["document_rows"], stored["qrels_rows"], stored["qrels_grades"]
    if any(array.dtype != np.int32 for array in (rows, judged, grades)) or rows.ndim != 1:
        raise ValueError("document_rows, qrels_rows and qrels_grades must be whole numbers, int32")
    if rows.size and (rows[0] < 0 or np.diff(rows).min(initial=1) < 1 or rows[-1] > MOST_COUNTED):
        raise ValueError(f"document_rows must ascend from at least 0 to at most {MOST_COUNTED}")
    if (judged < -1).any():
        raise ValueError("qrels_rows must be rows, or -1")
    doc_ids = [""] * (int(rows.max(initial=-1)) + 1)
    for row, doc_id in zip(rows, documents, strict=True):
        doc_ids[row] = doc_id
    sources, of_source = ids.get("sources", ()), stored.get("qrels_sources")
    if (of_source is None) != (not sources) or not all(isinstance(text, str) for text in sources):
        raise ValueError("sources must be text, and there with qrels_sources alone")
    named = [""] * len(doc_ids) if sources else []
    for row, source in zip(rows, sources, strict=True) if sources else ():
        named[row] = source
    if of_source is not None and (of_source.dtype != np.int32 or not np.array_equal(of_source >= 0, judged >= 0)):
        raise ValueError("qrels_sources must number the source of every judged row, int32")
    qrels = Qrels(judged, grades, of_source)
    weights = _stored_weights(stored.get("weights"), n_queries)
    if max(int(retrieved.candidates.rows.max(initial=-1)), int(qrels.rows.max(initial=-1))) >= len(doc_ids):
        raise ValueError("a row names no document")
    dataset = Dataset(
        doc_ids=tuple(doc_ids),
        texts=("",) * len(doc_ids),
        queries=tuple(Query(q, "", g, c, (), w) for q, g, c, w in zip(queries, groups, clusters, weights, strict=True)),
        qrels=qrels,
        counts=counts,
        hashes=NOTHING,
        sources=tuple(named),
    )
    base = replace(config.base, semantic_weight=0.5, top_k=10, fusion="minmax", rrf_k=60, depth=config.deepest)
    if not {params.index for params in config.indexes} <= {base.index, *retrieved.others}:
        raise ValueError("the study's space needs other indexes")
    hybrid = Hybrid(
        retrieved.candidates,
        qrels,
        config.measures.conventions(),
        base,
        retrieved.postings,
        config.engine,
        number_names(named),
        retrieved.others,
        traffic_of(dataset.queries),
    )
    return Prepared(config, dataset, retrieved, hybrid)


def _stored_weights(stored: Any, n_queries: int) -> list[float | None]:
    """The prompts' weights; None for each where the study has none."""
    if stored is None:
        return [None] * n_queries
    if stored.dtype != np.float64 or stored.shape != (n_queries,) or not ((stored >= 0) & (stored <= MOST)).all():
        raise ValueError(f"weights must be a number from 0 to {MOST:g} for each prompt")
    if not stored.any():
        raise ValueError("a weight must be above 0")
    found: list[float | None] = stored.tolist()
    return found


def _remark(item: Mapping[str, Any]) -> Remark:
    """A remark as summary.json holds it."""
    remark = Remark(item["name"], item["message"], tuple(item["query_ids"]))
    if not all(isinstance(text, str) for text in (remark.name, remark.message, *remark.query_ids)):
        raise ValueError("remarks must be text")
    return remark


def _recorded_counts(study: Stored) -> Counts:
    """What the summary says of the files that the study read; the prompts that were left out by id, the rest as numbers."""
    path = study.folder / "summary.json"
    try:
        said = study.summary["collection"]
        left_out = tuple(map(str, said["left_out"]))
        counted = {name: said[name] for name in COUNTED}
        remarks = tuple(_remark(item) for item in said.get("remarks", ()))
        wrong = [name for name, count in counted.items() if type(count) is not int or not 0 <= count <= MOST_COUNTED]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} must be whole numbers")
    except (KeyError, TypeError, ValueError) as error:
        raise HarnessError(f"{path}: must have the counts of the collection, got: {error}; run tune again") from None
    unjudged = counted["queries_without_judgements"]
    return Counts(
        documents=counted["documents"],
        queries=counted["queries"],
        judgements=counted["judgements"],
        empty_documents=("",) * counted["empty_documents"],
        unknown_documents=counted["judged_documents_not_in_corpus"],
        without_judgements=left_out[:unjudged],
        without_relevant=left_out[unjudged:],
        unmatched=("",) * counted["judged_queries_not_in_queries"],
        remarks=remarks,
    )
