"""The study folder: every file that a study leaves behind, complete or not there.

Same inputs and seed, same bytes, for every file but manifest.json, timings.json, journal.log and report.html.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import INDEX_PARAMS, PARAM_NAMES, Config
from harness.engines import RANK_FUSIONS, rules_of
from harness.errors import HarnessError
from harness.files import write_arrays, write_beside, write_text
from harness.insight import Holes, rank_holes
from harness.measures import MEASURES, describe
from harness.profiles import Curve
from harness.retrieve import pack
from harness.study import JOURNAL, Trial, params_of
from harness.systems import System
from harness.traffic import describe_weights, has_weights, weights_of
from harness.types import Dataset, FloatArray, IntArray, Params, Retrieved
from harness.yamlfile import dump_yaml

STUDIES = Path("studies")
HELD_OUT = "held_out_"  # in front of the names of the held-out prompts' arrays in candidates.npz
SHOWN_TEXT = 300  # characters of a document in to_judge.csv
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute such a cell


def folder_of(name: str) -> Path:
    """The folder of a study of this name, in the working directory."""
    return STUDIES / name


def move_aside(folder: Path) -> Path | None:
    """Rename an existing study folder to `NAME.old-1` (or the next free number); the new path, None where there was none."""
    if not folder.exists():
        return None
    number = 1
    while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def check_folder(folder: Path) -> None:
    """HarnessError where something that is no study is in the way."""
    if folder.exists() and not folder.is_dir():
        raise HarnessError(f"{folder}: must be a study's folder or free, got a file; give another --name")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JOURNAL).is_file():
        raise HarnessError(f"{folder}: must be a study's folder or empty, got other files; give another --name, or --fresh")


def sweep(folder: Path) -> None:
    """Take away what a killed process was writing beside the files of a study; the caller holds the study."""
    for leftover in [*folder.glob(".*.part"), *folder.glob("runs/.*.part")]:
        leftover.unlink(missing_ok=True)


def to_json(value: Any) -> str:
    """Strict JSON, two spaces, a final newline; a number that is not finite is a bug and raises ValueError."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON, complete or not at all."""
    write_text(path, to_json(value))


def keep_timings(folder: Path, measured: Mapping[str, Any]) -> Path | None:
    """Put what was measured into the study's timings.json; its path, None where there is no finished study."""
    path = folder / "timings.json"
    if not path.is_file():
        return None
    known = read_timings(folder)
    write_json(path, {**known, **measured})
    return path


def read_timings(folder: Path) -> dict[str, Any]:
    """The study's timings.json; empty where it is missing or damaged: it decides nothing that could not be measured again."""
    try:
        known = json.loads((folder / "timings.json").read_text(encoding="utf-8"))
        to_json(known).encode()  # what could not be written again is damage: NaN, half a surrogate pair
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def write_trials(path: Path, trials: Sequence[Trial], config: Config) -> None:
    """trials.csv: number, state, the searched params, the objective, then the logged precision and recall."""
    import pandas as pd

    columns, rows = list_trials(trials, config)
    _write_csv(path, pd.DataFrame(rows, columns=columns, dtype=object))


def list_trials(trials: Sequence[Trial], config: Config) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns of trials.csv, and a row for each trial."""
    params = [name for name in PARAM_NAMES if isinstance(config.search.space.get(name), (dict, list))]
    objectives = ["objective", "objective_2"][: len(config.objective)]
    logged = [f"{name}@{c}" for c in (*config.report_at, "top_k") for name in ("Precision", "Recall")]
    rows = []
    for trial in trials:
        full = params_of(trial, config)
        row: dict[str, Any] = {"number": trial.number, "state": trial.state}
        for name in params:
            drawn = trial.state == "COMPLETE" or name in trial.params
            used = name != "rrf_k" or full.fusion in RANK_FUSIONS
            row[name] = getattr(full, name) if drawn and used else None
        row |= dict(zip(objectives, trial.values, strict=False))
        row |= {name: trial.logged.get(name) for name in logged}
        rows.append(row)
    return ["number", "state", *params, *objectives, *logged], rows


def write_per_query(
    path: Path,
    dataset: Dataset,
    relevant: IntArray,
    systems: Sequence[System],
    extra: Mapping[str, FloatArray],
) -> None:
    """per_query.csv: one row a query with each system's objective, then the extra columns (n_queries,) by name."""
    import pandas as pd

    columns: dict[str, Any] = {
        "query_id": [query.query_id for query in dataset.queries],
        "group": [defuse(query.group) for query in dataset.queries],
        "cluster": [defuse(query.cluster) for query in dataset.queries],
        **({"weight": weights_of(dataset.queries)} if has_weights(dataset.queries) else {}),
        "relevant": relevant,
    }
    columns |= {system.name: system.objective[0] for system in systems}
    columns |= extra
    _write_csv(path, pd.DataFrame(columns))


def write_profile(path: Path, curve: Curve) -> None:
    """profile.csv: the exact curve, open intervals and points from 0 to 1."""
    import pandas as pd

    _write_csv(path, pd.DataFrame(curve.rows(), columns=["weight_from", "weight_to", "score"]))


def write_to_judge(path: Path, holes: Holes, dataset: Dataset) -> None:
    """to_judge.csv: the pairs whose judgement moves the deciding difference most, with the texts to judge by."""
    import pandas as pd

    rows = [
        {
            "query_id": dataset.queries[holes.query[i]].query_id,
            "doc_id": (dataset.sources or dataset.doc_ids)[holes.row[i]],
            "change_of_difference": float(holes.change[i]),
            "rank_pick": int(holes.in_pick[i]) or None,
            "rank_kept": int(holes.in_kept[i]) or None,
            "query": defuse(dataset.queries[holes.query[i]].text),
            "text": defuse(dataset.texts[holes.row[i]][:SHOWN_TEXT]),
        }
        for i in rank_holes(holes)
    ]
    names = ["query_id", "doc_id", "change_of_difference", "rank_pick", "rank_kept", "query", "text"]
    _write_csv(path, pd.DataFrame(rows, columns=names, dtype=object))


def _write_csv(path: Path, frame: Any) -> None:
    with write_beside(path) as beside:
        frame.to_csv(beside, index=False, lineterminator="\n", encoding="utf-8")


def defuse(text: str) -> str:
    """Text that a spreadsheet would take for a formula, with an apostrophe in front."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def strictly_decreasing(scores: FloatArray) -> Iterator[np.float32]:
    """The scores in single precision, each below the one before: by one float32 step where it is not already.

    trec_eval ignores the rank column, compares floats, and breaks ties by document id, descending.
    """
    previous = np.float32(np.inf)
    for score in scores.astype(np.float32):
        previous = np.nextafter(previous, np.float32(-np.inf)) if score >= previous else score
        yield previous


def write_run(path: Path, tag: str, query_ids: Sequence[str], results: Iterable[tuple[Sequence[str], FloatArray]]) -> None:
    """A TREC run: the whole list of each query, best first; ids must be encoded already."""
    lines = []
    for query_id, (doc_ids, scores) in zip(query_ids, results, strict=True):
        for rank, (doc_id, score) in enumerate(zip(doc_ids, strictly_decreasing(scores), strict=True), 1):
            lines.append(f"{query_id} Q0 {doc_id} {rank} {score:.9g} {tag}\n")
    write_text(path, "".join(lines))


def write_qrels(path: Path, dataset: Dataset, codes: Mapping[str, str]) -> None:
    """The judgements of the used prompts in TREC form, by query, then document."""
    lines = []
    for i, query in enumerate(dataset.queries):
        for row, grade in zip(dataset.qrels.rows[i], dataset.qrels.grades[i], strict=True):
            if row >= 0:
                lines.append(f"{codes[query.query_id]} 0 {codes[(dataset.sources or dataset.doc_ids)[row]]} {grade}\n")
    write_text(path, "".join(dict.fromkeys(lines)))  # a source is judged once, whatever number of documents it has


def write_candidates(
    path: Path, retrieved: Retrieved, dataset: Dataset, held_out: tuple[Retrieved, Dataset] | None = None
) -> None:
    """candidates.npz: what a trial reads, the judgements, and the ids of the rows in them; no pickle.

    The held-out prompts' own stand beside them under `held_out_…`: enough to judge the study again without the corpus.
    """
    arrays = {**pack(retrieved), **_pack_prompts(retrieved, dataset)}
    if held_out is not None:
        other, prompts = held_out
        arrays |= {f"{HELD_OUT}{name}": array for name, array in {**pack(other), **_pack_prompts(other, prompts)}.items()}
    write_arrays(path, arrays)


def _pack_prompts(retrieved: Retrieved, dataset: Dataset) -> dict[str, np.ndarray[Any, Any]]:
    """The prompts with their judgements, and the documents that these and the candidates name."""
    held = [one.candidates.rows.ravel() for one in (retrieved, *retrieved.others.values())]
    rows = np.unique(np.concatenate([*held, dataset.qrels.rows.ravel()]))
    rows = rows[rows >= 0]
    ids = {
        "queries": [query.query_id for query in dataset.queries],
        "groups": [query.group for query in dataset.queries],
        "clusters": [query.cluster for query in dataset.queries],
        "documents": [dataset.doc_ids[row] for row in rows],
        **({"sources": [dataset.sources[row] for row in rows]} if dataset.sources else {}),
    }
    return {
        **({"qrels_sources": dataset.qrels.sources} if dataset.qrels.sources is not None else {}),
        "qrels_rows": dataset.qrels.rows,
        "qrels_grades": dataset.qrels.grades,
        "document_rows": rows,
        "ids": np.frombuffer(json.dumps(ids, ensure_ascii=False).encode(), dtype=np.uint8),
        **({"weights": weights_of(dataset.queries)} if has_weights(dataset.queries) else {}),
    }


def write_weights(path: Path, params: Params, variant: str, **decided: Any) -> None:
    """weights.yaml: what should run in production, and nothing else."""
    setting = {name: getattr(params, name) for name in PARAM_NAMES}
    data = {
        **{k: setting[k] for k in ("semantic_weight", "top_k", "fusion", "rrf_k", "depth")},
        "variant": params.variant or variant,
    }
    data |= {"k1": params.k1, "b": params.b}
    data |= {name: setting[name] for name in INDEX_PARAMS if setting[name] != getattr(Params(), name) and name != "variant"}
    data |= decided
    write_text(path, dump_yaml(data))


def describe_measures(config: Config, *, weighted: bool = False) -> dict[str, str]:
    """What each number in summary.json means, under this config's conventions; `weighted` where the prompts have weights."""
    conventions = config.measures.conventions()
    counts = "each counting by its weight: Σ weight · score / Σ weight" if weighted else "each counting once"
    return {
        **{name: describe(name, conventions) for name in MEASURES},
        "objective": " and ".join(config.objective) + " on the list as cut at top_k",
        "name@K": f"describes the uncut ranking; every mean is over the used prompts, {counts}",
        "ties": "score (fused: rounded to 12 decimals), then document id in code-point order"
        + (
            ", but for fused lists as the engine meets them, the keyword list first" if rules_of(config.engine).first_seen else ""
        ),
        "ap_denominator": conventions.ap_denominator,
        "precision_denominator": conventions.precision_denominator,
        "gain": conventions.gain,
        "relevance_threshold": str(conventions.relevance_threshold),
    }


def summarize_collection(dataset: Dataset) -> dict[str, Any]:
    """The counts of summary.json, with the ids of the prompts that are left out of every mean."""
    counts = dataset.counts
    return {
        "documents": counts.documents,
        "queries": counts.queries,
        "queries_used": len(dataset.queries),
        **describe_weights(dataset.queries),
        "judgements": counts.judgements,
        "queries_without_judgements": len(counts.without_judgements),
        "queries_without_relevant": len(counts.without_relevant),
        "left_out": [*counts.without_judgements, *counts.without_relevant],
        "judged_documents_not_in_corpus": counts.unknown_documents,
        "judged_queries_not_in_queries": len(counts.unmatched),
        "empty_documents": len(counts.empty_documents),
        **(
            {"remarks": [{**vars(remark), "query_ids": list(remark.query_ids)} for remark in counts.remarks]}
            if counts.remarks
            else {}
        ),
    }
