"""`reproduce`: does a study come out the same again? From its stored candidates byte for byte, or from scratch."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.commands.tune import fingerprints, given_content, maker_of, measure_trial, package_versions, run_study
from harness.config import PARAM_NAMES, TEXT_PARAMS, WHOLE_PARAMS, Config, check_params, permit_code
from harness.errors import HarnessError, Problems
from harness.files import read_text
from harness.folder import Stored, read_prepared, read_study
from harness.live import with_lists
from harness.notebook import Rows, Shown
from harness.prepare import Prepared, Timings, prepare, read_data, split_held_out
from harness.progress import Progress, Silence
from harness.types import Dataset, Params, Retrieved

OK, OKISH, FAIL = "OK", "OKish", "FAIL"
CLOSE = 0.0005  # a trial's numbers may differ by this much where another build computed the vectors
COMPARED = ("trials.csv", "profile.csv", "per_query.csv", "summary.json", "weights.yaml", "to_judge.csv", "candidates.npz")
SERVER = ("server", "pgvector")  # facts of a live engine that are versions
TEXT_COLUMNS = ("query", "text")  # of to_judge.csv: known to the corpus alone


@dataclass(frozen=True)
class Trials:
    """How the trials compare: how many there are, how many differ at all, by how much at most (inf: not comparable)."""

    compared: int
    different: int
    furthest: float


@dataclass(frozen=True)
class Reproduction(Shown):
    """The outcome (OK, OKish, FAIL), why, the files that differ, and the inputs that are not what the study recorded."""

    study: str
    how: str
    outcome: str
    trials: Trials
    differences: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """OK or OKish."""
        return self.outcome != FAIL

    def rows(self) -> Rows:
        """A row for each thing that is not as it was."""
        found = [{"what": "differs", "where": line} for line in self.differences]
        return [*found, *({"what": "changed", "where": line} for line in self.changed)]

    def caption(self) -> str:
        """The outcome."""
        same = self.trials.compared - self.trials.different
        return f"{self.outcome}: study {self.study}, {self.how}: {same} of {self.trials.compared} trials are equal"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; a distance that cannot be told is absent."""
        trials = {"compared": self.trials.compared, "different": self.trials.different}
        if np.isfinite(self.trials.furthest):
            trials["furthest"] = self.trials.furthest  # type: ignore[assignment]
        return {
            "study": self.study,
            "how": self.how,
            "outcome": self.outcome,
            "trials": trials,
            "differences": list(self.differences),
            "changed": list(self.changed),
        }


def reproduce(
    study: str | Path, *, from_scratch: bool = False, allow_code: bool = False, progress: Progress | None = None
) -> Reproduction:
    """Run a finished study again and compare.

    From its stored candidates: every trial, the profile, the pick, the verdict and the runs must be the same bytes; no corpus
    and no model is needed. `from_scratch`: indexes and embeddings are built anew from the files that the config names, and every
    recorded trial is computed on them: OK where all is equal, OKish where no number is further than CLOSE, else FAIL, with
    the inputs that changed; `allow_code` is leave to run the config's embedder for it. Nothing in the study's folder is touched.
    HarnessError where there is no such study.
    """
    progress = progress or Silence()
    stored = read_study(study)
    recorded = read_prepared(stored)
    if from_scratch:
        stored = replace(stored, config=permit_code(stored.config, allow_code=allow_code))
        return rebuild(stored, recorded, progress)
    differences, trials = replay(stored, recorded, progress)
    changed = () if not differences else tuple(changed_inputs(stored, None))
    return Reproduction(
        stored.config.name, "from the stored candidates", FAIL if differences else OK, trials, differences, changed
    )


def replay(stored: Stored, prepared: Prepared, progress: Progress) -> tuple[tuple[str, ...], Trials]:
    """Run the study again over these candidates in a folder of its own; the files that came out otherwise, and the trials."""
    known = read_trials(stored)
    search = stored.config.search.model_copy(update={"trials": max(1, len(known)), "timeout": None})
    config = stored.config.model_copy(update={"search": search, "storage": None})
    with tempfile.TemporaryDirectory(prefix="harness-reproduce-") as place:
        folder = Path(place) / stored.config.name
        run_study(replace(prepared, config=config), folder, {}, progress, Timings())
        differences = compare_folders(stored.folder, folder)
        again = read_rows(folder / "trials.csv")
    return tuple(differences), compare_rows([row for row, _ in known], again)


def compare_folders(recorded: Path, again: Path) -> list[str]:
    """One line for each file that is not the same, with the first line that differs."""
    names = [*COMPARED, *sorted(f"runs/{path.name}" for folder in (recorded, again) for path in (folder / "runs").glob("*.trec"))]
    differences = []
    for name in dict.fromkeys(names):
        ours, theirs = recorded / name, again / name
        if not ours.is_file() or not theirs.is_file():
            if ours.is_file() != theirs.is_file():
                differences.append(f"{name}: is there {'only in the study' if ours.is_file() else 'only in the new run'}")
            continue
        difference = compare_files(name, ours.read_bytes(), theirs.read_bytes())
        if difference is not None:
            differences.append(difference)
    return differences


def compare_files(name: str, ours: bytes, theirs: bytes) -> str | None:
    """The first difference of two files as a line, None where there is none."""
    if name == "to_judge.csv":
        ours, theirs = _without_texts(ours), _without_texts(theirs)
    if ours == theirs:
        return None
    if name.endswith(".npz"):
        return (
            f"{name}: other bytes (sha256 {hashlib.sha256(ours).hexdigest()[:12]} and {hashlib.sha256(theirs).hexdigest()[:12]})"
        )
    pairs = zip(ours.splitlines(), theirs.splitlines(), strict=False)
    line = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), None)
    if line is None:
        return f"{name}: {len(ours.splitlines())} lines, and {len(theirs.splitlines())} in the new run"
    shown = [text.splitlines()[line - 1].decode(errors="replace")[:120] for text in (ours, theirs)]
    return f"{name}:{line}: {shown[0]!r}, and {shown[1]!r} in the new run"


def _without_texts(data: bytes) -> bytes:
    """to_judge.csv without what only the corpus can tell."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8", errors="replace"))))
    kept = [i for i, name in enumerate(rows[0]) if name not in TEXT_COLUMNS] if rows else []
    return "\n".join(",".join(row[i] for i in kept if i < len(row)) for row in rows).encode()


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text."""
    try:
        return list(csv.DictReader(io.StringIO(read_text(path))))
    except csv.Error as error:
        raise HarnessError(f"{path}: must be what tune wrote, got: {error}; run tune again") from None


def read_trials(stored: Stored) -> list[tuple[dict[str, str], Params]]:
    """Every recorded trial, with its complete parameters; HarnessError names the row that is not what `tune` writes."""
    path, config = stored.folder / "trials.csv", stored.config
    fixed = {name: entry for name, entry in config.search.space.items() if not isinstance(entry, (dict, list))}
    found = []
    for line, row in enumerate(read_rows(path), 2):
        where = f"{path}:{line}"
        try:
            if None in row or None in row.values() or row["state"] not in ("COMPLETE", "FAIL"):
                raise ValueError("a cell in every column, and a state of COMPLETE or FAIL")
            drawn = {name: _typed(name, row[name]) for name in PARAM_NAMES if row.get(name)}
            for name in measured_columns(config):
                if not np.isfinite(float(row[name] or 0)) or (not row[name] and row["state"] == "COMPLETE"):
                    raise ValueError(f"{name} must be a number, got {row[name]!r:.40}")
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise HarnessError(f"{where}: must be a trial as tune writes it, got: {error}; run tune again") from None
        problems = Problems()
        params = check_params(fixed | drawn, config, lambda key, at=where: f"{at}: {key}", problems)  # type: ignore[misc]
        if params.depth > config.deepest or (
            (params.k1, params.b) != (config.keyword.k1, config.keyword.b) and not config.tunes_bm25
        ):
            problems.add(where, "depth, k1 and b must be those of the config's space")
        problems.raise_any()
        found.append((row, params))
    return found


def measured_columns(config: Config) -> list[str]:
    """The columns of trials.csv that hold what a trial measured."""
    logged = [f"{name}@{cutoff}" for cutoff in (*config.report_at, "top_k") for name in ("Precision", "Recall")]
    return [*["objective", "objective_2"][: len(config.objective)], *logged]


def _typed(name: str, text: str) -> Any:
    return text if name in TEXT_PARAMS else int(text) if name in WHOLE_PARAMS else float(text)


def compare_rows(recorded: Sequence[Mapping[str, str]], again: Sequence[Mapping[str, str]]) -> Trials:
    """How far the numbers of two trials.csv lie apart; inf where rows or parameters are not the same."""
    different, furthest = 0, 0.0
    for ours, theirs in zip(recorded, again, strict=False):
        if ours == theirs:
            continue
        different += 1
        alike = [ours.get(name) == theirs.get(name) for name in ("state", *PARAM_NAMES)]
        furthest = max(furthest, _distance(ours, theirs) if all(alike) else np.inf)
    if len(recorded) != len(again):
        return Trials(min(len(recorded), len(again)), different + abs(len(recorded) - len(again)), np.inf)
    return Trials(len(recorded), different, furthest)


def _distance(ours: Mapping[str, str], theirs: Mapping[str, str]) -> float:
    """The largest difference of two rows' measured numbers."""
    measured = [name for name in ours if name.startswith("objective") or "@" in name]
    return max((abs(float(ours[n] or 0) - float(theirs.get(n) or 0)) for n in measured), default=0.0)


def rebuild(stored: Stored, recorded: Prepared, progress: Progress) -> Reproduction:
    """Build candidates anew from the files, compute every recorded trial on them, and compare."""
    with tempfile.TemporaryDirectory(prefix="harness-reproduce-") as place:
        config = stored.config.model_copy(update={"cache": place, "scale": None})  # a cluster gives the same bytes
        dataset, held_out = with_lists(config, *split_held_out(config, read_data(config, progress)), progress)
        prepared = prepare(config, dataset, progress, Timings(), held_out=held_out)
    how = "from scratch"
    changed = (*changed_inputs(stored, dataset), *changed_lists(stored, recorded, prepared))
    same = all(
        _same_candidates(*pair)
        for pair in [
            (recorded.retrieved, prepared.retrieved),
            *([(recorded.held_out.retrieved, prepared.held_out.retrieved)] if recorded.held_out and prepared.held_out else []),
        ]
    )
    if same and not changed_content(changed):
        differences, trials = replay(stored, name_server_as(recorded, prepared), progress)
        return Reproduction(stored.config.name, how, FAIL if differences else OK, trials, differences, changed)
    trials = recompute(stored, prepared)
    close = trials.furthest <= CLOSE and not changed_content(changed)
    outcome = OK if close and trials.different == 0 else OKISH if close else FAIL
    differences = ("the candidates are not the same",) if not same else ()
    return Reproduction(stored.config.name, how, outcome, trials, differences, changed)


def changed_lists(stored: Stored, recorded: Prepared, prepared: Prepared) -> list[str]:
    """One line for each side whose lists the server gives otherwise today, and for each of its versions that is another."""
    lines = []
    for side in prepared.dataset.fetched:
        known, now = recorded.retrieved.facts[side], prepared.retrieved.facts[side]
        for key in SERVER:
            if now.get(key) != known.get(key):
                lines.append(f"package {key}: {now.get(key)}, in the study {known.get(key)}")
        if now["lists_sha256"] == known.get("lists_sha256"):
            continue
        pairs = [(recorded, prepared), *([(recorded.held_out, prepared.held_out)] if recorded.held_out else [])]
        then = {name: listed for before, _ in pairs if before for name, listed in lists_of(before, side).items()}
        today = {name: listed for _, after in pairs if after for name, listed in lists_of(after, side).items()}
        other = sum(then.get(name) != listed for name, listed in today.items())
        lines.append(f"live.{side}: the server gives other lists for {other} of {len(today)} prompts than in the study")
    return lines


def lists_of(prepared: Prepared, side: str) -> dict[str, list[tuple[str, float]]]:
    """One side's lists by query id, ids with scores, best first."""
    candidates, ids = prepared.retrieved.candidates, prepared.dataset.doc_ids
    ranks, scores = getattr(candidates, f"{side}_ranks"), getattr(candidates, f"{side}_scores")
    found = {}
    for i, query in enumerate(prepared.dataset.queries):
        held = np.flatnonzero(ranks[i] > 0)
        order = held[np.argsort(ranks[i, held])]
        found[query.query_id] = [(ids[candidates.rows[i, j]], float(scores[i, j])) for j in order]
    return found


def name_server_as(recorded: Prepared, prepared: Prepared) -> Prepared:
    """The same with the server's versions as the study recorded them: others that give the same lists change nothing."""
    facts = dict(prepared.retrieved.facts)
    for side in prepared.dataset.fetched:
        known = recorded.retrieved.facts[side]
        facts[side] = {key: known.get(key, value) if key in SERVER else value for key, value in facts[side].items()}
    return replace(prepared, retrieved=replace(prepared.retrieved, facts=facts))


def _same_candidates(ours: Retrieved, theirs: Retrieved) -> bool:
    return all(np.array_equal(a, vars(theirs.candidates)[name], equal_nan=True) for name, a in vars(ours.candidates).items())


def recompute(stored: Stored, prepared: Prepared) -> Trials:
    """Every recorded trial's numbers on these candidates, against the recorded ones."""
    different, furthest = 0, 0.0
    known = read_trials(stored)
    for row, params in known:
        if row["state"] != "COMPLETE":
            continue
        outcome = measure_trial(prepared, params)
        again = dict(zip(("objective", "objective_2"), outcome.values, strict=False)) | dict(outcome.logged)
        apart = max(abs(float(row[name] or 0) - value) for name, value in again.items())
        different += apart > 0
        furthest = max(furthest, apart)
    return Trials(len(known), different, furthest)


def changed_content(changed: Sequence[str]) -> bool:
    """Whether an input that a number depends on by right is another one: not only a library's version."""
    return any(not line.startswith("package ") for line in changed)


def changed_inputs(stored: Stored, dataset: Dataset | None) -> list[str]:
    """One line for each input that is not what manifest.json recorded; without a dataset the files are not looked at."""
    path = stored.folder / "manifest.json"
    try:
        manifest = json.loads(read_text(path))
        config_hash, content, packages = manifest["config_sha256"], manifest["content"], manifest["packages"]
        model = manifest["sha256"][maker_of(stored.config)] if stored.config.encodes else ""
        given, others = manifest["sha256"].get("given", {}), manifest["sha256"].get("models", {})
        if not all(isinstance(part, dict) for part in (content, packages, given, others)):
            raise TypeError("content, packages, given and models must be objects")
        if not all(isinstance(text, str) for text in (config_hash, model, *content.values())):
            raise TypeError("hashes must be text")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HarnessError(f"{path}: must be what tune wrote, got: {error}; run tune again") from None
    lines = []
    if hashlib.sha256(stored.config.to_yaml().encode()).hexdigest() != config_hash:
        lines.append(
            f"config: {stored.folder / 'config.yaml'} is not the one that the study ran with (sha256 {config_hash[:12]})"
        )
    if dataset is not None:
        for name in ("corpus", "queries", "qrels"):
            now, then = vars(dataset.hashes)[name], content.get(name, "")
            if now != then:
                lines.append(f"{name}: content {now[:12]}, in the study {str(then)[:12]}")
        if stored.config.encodes:
            recorded = {stored.config.semantic.embedder or stored.config.semantic.model: model, **others}
            for name, found in fingerprints(stored.config).items():
                if found != recorded.get(name):
                    maker = maker_of(stored.config)
                    lines.append(f"{maker}: {name} has {found[:12]}, in the study {str(recorded.get(name))[:12]}")
        for name, digest in given_content(stored.config).items():
            if given.get(name) != digest:
                lines.append(f"{name}: {digest[:12]}, in the study {str(given.get(name))[:12]}")
    for name, version in package_versions().items():
        if packages.get(name) != version:
            lines.append(f"package {name}: {version}, in the study {packages.get(name)}")
    return lines
