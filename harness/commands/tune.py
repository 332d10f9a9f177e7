"""`tune`: from a config to a finished study folder."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import record
from harness.backends import backend_version
from harness.blocks import DEFAULT_BACKEND
from harness.commands.judge import Judged, judge, params_as_dict, summarize_judgement, weights_to_run
from harness.commands.report import figure_of, report
from harness.config import GIVEN, READERS, Config, HeldOutFiles, load_config
from harness.decide import profiles_of
from harness.draws import Drawer, run_alone
from harness.engines import apply_rules, rules_of
from harness.errors import HarnessError, InterruptedStudyError, SurroundingsError
from harness.fields import content_to_index
from harness.files import write_text
from harness.fusion import order_keys
from harness.given import hash_file
from harness.ids import encode_ids
from harness.latency import peak_memory
from harness.live import with_lists
from harness.measures import Measure, score_queries
from harness.notebook import Rows, Shown
from harness.prepare import Prepared, Timings, check_places, prepare, read_data, split_held_out, warn
from harness.profiles import find_optimum, mean_curve, restrict
from harness.progress import Progress, Silence
from harness.semantic import THREADS, find_model
from harness.shared import NAMED, open_shared
from harness.space import DISCRETE, count_points, list_settings, list_values, settings_beside, space_values, weight_range
from harness.study import (
    Outcome,
    Trial,
    best_of,
    count_trials,
    deadline_of,
    explain_difference,
    hold_study,
    list_trials,
    open_study,
    params_of,
    pareto_of,
    read_identity,
    read_legs,
    run_trials,
)
from harness.systems import System, score_setting, trade_off
from harness.traffic import has_weights, weighted_mean
from harness.types import Candidates, Dataset, Params, Retrieved
from harness.workers import Worker, lead

MAY_CHANGE = ("cache", "scale", "storage")  # top-level keys that do not make another question of a study
EMBEDDED = ("documents", "queries")
LISTS_OF = "content of live.{}"  # in the identity: the hash of a side's lists
OTHER_LISTS = (
    "the server gives other lists than those that the study was made on: its data, its index or the statement have changed, and"
    " one study is of one moment"
)
ONE_AT_A_TIME = (
    "search.batch is 1 and {} looks at every earlier trial, so that only one worker at a time has something to do; give"
    " search.batch the number of workers, or twice as many"
)
TIMED = 200  # prompts whose fusion is timed
PACKAGES = ("numpy", "scipy", "optuna", "pandas", "faiss-cpu", "rank-bm25", "sentence-transformers", "torch", "PyStemmer")


@dataclass(frozen=True)
class Legs:
    """How the study went: trials added by this leg, why it ended (done, timeout, exhausted), versions of every leg.

    `sharing` says who ran the trials, where several workers did.
    """

    new_trials: int
    ended: str
    versions: tuple[dict[str, str], ...]
    sharing: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TuneResult(Shown):
    """What `tune` found: the study folder, summary.json as a dict, the systems, the trade-off over K, how it ended."""

    folder: Path
    config: Config
    summary: dict[str, Any]
    systems: tuple[System, ...]
    judged: Judged | None
    trade_off: list[dict[str, float]]
    trials: tuple[Trial, ...]
    legs: Legs
    notes: tuple[str, ...]

    def rows(self) -> Rows:
        """The trials as in trials.csv."""
        return record.list_trials(self.trials, self.config)[1]

    def short(self) -> Rows:
        """The systems side by side."""
        shown = ["objective", "objective_2"][: len(self.config.objective)]
        shown += [f"{name}@{c}" for name in ("Precision", "Recall") for c in self.config.report_at]
        return [{"system": name, **{m: means[m] for m in shown}} for name, means in self.summary["systems"].items()]

    def caption(self) -> str:
        """Study and verdict."""
        verdict = self.summary.get("verdict", {}).get("decision")
        return f"study {self.config.name}, K = {self.summary['top_k']}{f', verdict: {verdict}' if verdict else ''}"

    def figure(self, name: str = "curve") -> Any:
        """A chart of the report as a plotly figure; HarnessError lists the names where there is none of this one."""
        return figure_of(self.folder, name)


def tune(
    config: Config | str | Path,
    *,
    name: str | None = None,
    fresh: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> TuneResult:
    """Run (or go on with) the study that the config describes and write its folder under `studies/`.

    `allow_code` is leave to import and call the function that `semantic.embedder` names. HarnessError for wrong input, or for
    another question under a known name; SurroundingsError when no trial completes.
    """
    progress, timings = progress or Silence(), Timings()
    config = load_config(config, name, allow_code=allow_code)
    dataset = read_data(config, progress)
    dataset, held_out = split_held_out(config, dataset)
    encode_ids(
        [*(query.query_id for query in dataset.queries), *dataset.doc_ids, *dataset.sources]
    )  # what cannot be written is said now
    timings.lap("reading")
    dataset, held_out = with_lists(config, dataset, held_out, progress)
    if config.live is not None:
        timings.lap("asking the server")
    folder = record.folder_of(config.name)
    identity = identify(config, dataset, held_out)
    if not fresh:
        refuse_another_question(folder, config, identity)
    check_places(config, dataset, folder)
    prepared = prepare(config, dataset, progress, timings, held_out=held_out)
    with hold_study(folder):
        result = run_study(prepared, folder, identity, progress, timings, fresh=fresh)
        report(folder, dataset=dataset)
    return result


def run_study(
    prepared: Prepared, folder: Path, identity: Mapping[str, Any], progress: Progress, timings: Timings, *, fresh: bool = False
) -> TuneResult:
    """From prepared candidates to a finished folder; the caller holds the study. `identity` is what the study's question is."""
    aside = record.move_aside(folder) if fresh else None  # only now: what is wrong with the input has been said
    notes = [f"the old study is kept in {aside}/"] if aside else []
    record.sweep(folder)
    for warning in warn(prepared):
        progress.warn(warning)
    try:
        return finish_study(prepared, folder, identity, notes, progress, timings)
    except KeyboardInterrupt:
        raise InterruptedStudyError(f"stopped at once; the finished trials are kept in {folder}") from None
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise


def finish_study(
    prepared: Prepared, folder: Path, identity: Mapping[str, Any], notes: list[str], progress: Progress, timings: Timings
) -> TuneResult:
    """Run the missing trials, choose, judge and write."""
    config = prepared.config
    trials, legs = search_space(prepared, folder, identity, progress)
    timings.lap("trials")
    if legs.ended == "stopped":
        raise InterruptedStudyError(f"stopped after {len(trials)} of {config.search.trials} trials; they are kept in {folder}")
    if not any(trial.state == "COMPLETE" for trial in trials):
        reason = next((trial.reason for trial in trials if trial.reason), "no trial was run")
        raise SurroundingsError(f"{folder}: no trial completed: {reason}")
    result = settle(prepared, folder, trials, legs, notes, progress)
    timings.lap("choosing and judging")
    write_folder(result, prepared, timings)
    return result


def identify(config: Config, dataset: Dataset, held_out: Dataset | None = None) -> dict[str, Any]:
    """What one study's question is made of, as plain JSON: the config less what may change, and the contents' hashes."""
    data = config.model_dump(mode="json")
    for key in MAY_CHANGE:
        data.pop(key)
    data["search"].pop("trials")
    data["search"].pop("timeout")
    if data["search"]["batch"] == 1:
        data["search"].pop("batch")
    data["semantic"].pop("device")
    if config.semantic.backend == DEFAULT_BACKEND:
        data["semantic"].pop("backend")
    data.pop("name")
    if data["engine"] is None:
        data.pop("engine")
    elsewhere = given_content(config)
    if config.keyword.fields is None:
        data["keyword"].pop("fields")
    for side, name in GIVEN:
        data[side].pop(name)  # the contents count, not where they lie
    data.pop("collection")  # the contents count, not where they lie
    identity = {
        f"{key}.{inner}": value for key in ("keyword", "semantic", "measures", "search") for inner, value in data.pop(key).items()
    }
    live = data.pop("live")
    if live is not None:  # the lists count, not where the server is
        identity |= {f"live.{side}": live[side] for side in dataset.fetched}
        identity |= {LISTS_OF.format(side): fetched.sha256 for side, fetched in dataset.fetched.items()}
    identity |= {f"search.space.{name}": entry for name, entry in identity.pop("search.space").items()}
    identity |= data
    identity |= {
        "content of collection.corpus": dataset.hashes.corpus,
        **({"content of the fields": content_to_index(dataset, config.keyword)} if config.keyword.fields is not None else {}),
        "content of collection.queries": dataset.hashes.queries,
        "content of collection.qrels": dataset.hashes.qrels,
        **({f"content of semantic.{maker_of(config)}": find_model(config.semantic).fingerprint} if config.encodes else {}),
        **({"semantic.embedder": config.semantic.embedder} if config.semantic.embedder is not None else {}),
        **(
            {f"content of the model {name}": digest for name, digest in fingerprints(config).items()}
            if config.encodes and "model" in config.indexed
            else {}
        ),
        **elsewhere,
        "collection.unmatched": config.collection.unmatched,
    }
    if isinstance(config.held_out, HeldOutFiles) and held_out is not None:
        identity.pop("held_out")  # the contents count
        identity["content of held_out.queries"] = held_out.hashes.queries
        identity["content of held_out.qrels"] = held_out.hashes.qrels
    return identity


def fingerprints(config: Config) -> dict[str, str]:
    """The content hash of every model (or the embedder) that the study encodes with, the top-level one first."""
    found: dict[str, str] = {}
    for params in config.indexes:
        options = config.at_index(params).semantic
        name = options.embedder or options.model
        if name not in found:
            found[name] = find_model(options).fingerprint
    return found


def maker_of(config: Config) -> str:
    """What makes the vectors, by its name in manifest and identity: a model, or an embedder."""
    return "model" if config.semantic.embedder is None else "embedder"


def given_content(config: Config, *, there: bool = True) -> dict[str, str]:
    """The content hash of each run and file of vectors that the config names; those that are gone are left out unless `there`."""
    found = {
        f"content of {side}.run": run for side, run in (("keyword", config.keyword.run), ("semantic", config.semantic.run)) if run
    }
    if config.semantic.vectors is not None:
        files = config.semantic.vectors.model_dump()
        found |= {f"content of semantic.vectors.{name}": path for name, path in files.items() if path is not None}
    return {name: hash_file(Path(path)) for name, path in found.items() if there or Path(path).is_file()}


def refuse_another_question(folder: Path, config: Config, asked: dict[str, Any]) -> None:
    """HarnessError where the folder holds a study of another question, or no study; before anything is built."""
    record.check_folder(folder)
    known = read_identity(folder)
    if known is not None and known != asked:
        moved = any(known.get(name) != asked.get(name) for name in map(LISTS_OF.format, ("keyword", "semantic")))
        raise HarnessError([*([f"{folder}: {OTHER_LISTS}"] if moved else []), *explain_difference(folder, known, asked)])
    have = count_trials(folder)
    if have > config.search.trials:
        raise HarnessError(
            f"search.trials: must be at least {have}, the trials that {folder} has already, got {config.search.trials};"
            " give another --name, or --fresh"
        )


def measure_trial(prepared: Prepared, params: Params) -> Outcome:
    """The objective on the list cut at top_k, and precision and recall at every reported cutoff and at top_k."""
    hybrid, config = prepared.hybrid, prepared.config
    ranking = hybrid.rank(params)
    cut = ranking.cut(params.top_k)
    values = tuple(
        weighted_mean(score_queries(measure.at(params.top_k), cut, hybrid.judgements), hybrid.traffic)
        for measure in config.objectives
    )
    logged: dict[str, float] = {}
    for label, cutoff in [*((str(c), c) for c in config.report_at), ("top_k", params.top_k)]:
        for name in ("Precision", "Recall"):
            scores = score_queries(Measure(name, cutoff), ranking, hybrid.judgements)
            logged[f"{name}@{label}"] = weighted_mean(scores, hybrid.traffic)
    return Outcome(values, logged)


def search_space(prepared: Prepared, folder: Path, identity: Mapping[str, Any], progress: Progress) -> tuple[list[Trial], Legs]:
    """Run the missing trials; all ended ones, and how the study went."""
    config = prepared.config
    study = open_study(folder, config, identity, package_versions())
    versions = read_legs(study)
    if len(versions) > 1:
        progress.warn(describe_versions(versions[-2], versions[-1]))
    before = list_trials(study)
    new, best = 0, best_of(before, config)
    total = config.search.trials - len(before)
    if before and total > 0:
        progress.say(f"going on: {len(before)} of {config.search.trials} trials are there")
    if total > 0:
        for name in ("weights.yaml", "summary.json"):  # they stand only beside a complete study
            (folder / name).unlink(missing_ok=True)
    settings = exact_settings(prepared) if config.search.sampler == "exact" else ()
    with interruptible() as interrupted, progress("trials", total) as advance:

        def seen(trial: Trial) -> None:
            nonlocal new, best
            new += 1
            if len(config.objective) == 1 and best_of([*([best] if best else []), trial], config) is trial:
                best = trial
                progress.best(describe_trial(trial, config))
            advance(1)

        objective, sharing = functools.partial(measure_trial, prepared), None
        if config.storage is not None and total > 0:
            write_inputs(prepared, folder)
            if config.search.batch == 1 and config.search.sampler in READERS:
                progress.warn(ONE_AT_A_TIME.format(config.search.sampler))
            drawer, deadline = Drawer(config, settings), deadline_of(config)
            with open_shared(folder, config, identity, versions[-1]) as shared:
                progress.say(f"workers may join: python -m harness work {folder}")
                worker = Worker(shared, drawer, objective, progress, interrupted, deadline=deadline)
                ended, sharing = lead(worker, study, seen, versions[-1])
        elif config.search.batch > 1 or (folder / NAMED).exists():  # the journal of a shared study lacks the sampler's notes
            ended = run_alone(study, config, Drawer(config, settings), objective, seen, interrupted.is_set)
        else:
            ended = run_trials(study, config, objective, seen, stop=interrupted.is_set, settings=settings)
    return list_trials(study), Legs(new, ended, tuple(versions), sharing)


def write_inputs(prepared: Prepared, folder: Path) -> None:
    """What a worker reads: the config and the candidates."""
    held = (prepared.held_out.retrieved, prepared.held_out.dataset) if prepared.held_out is not None else None
    write_text(folder / "config.yaml", prepared.config.to_yaml())
    record.write_candidates(folder / "candidates.npz", prepared.retrieved, prepared.dataset, held)


def describe_versions(before: dict[str, str], now: dict[str, str]) -> str:
    """What changed between two legs of a study."""
    changed = [f"{name} {before.get(name)} → {now.get(name)}" for name in now if before.get(name) != now.get(name)]
    return f"the study goes on under other versions than it began with: {', '.join(changed)}"


def exact_settings(prepared: Prepared) -> list[Callable[[], Params]]:
    """The trials of the sampler `exact`: every discrete setting with its exact inner optimum, found when its turn comes."""
    config, hybrid = prepared.config, prepared.hybrid
    low, high = weight_range(config)
    values = {name: space_values(config, name) for name in DISCRETE}

    def optimum(setting: Params) -> Params:
        if low == high:
            return replace(setting, semantic_weight=low)
        profiles = profiles_of(hybrid, setting, config.objectives[0], [setting.top_k])[0]
        curve = restrict(mean_curve(profiles, hybrid.traffic), low, high)
        return replace(setting, semantic_weight=find_optimum(curve).weight)

    tops = [int(value) for value in space_values(config, "top_k")]
    settings = [replace(s, top_k=top_k) for s in list_settings(config, values) for top_k in tops]
    return [functools.partial(optimum, setting) for setting in settings]


def describe_trial(trial: Trial, config: Config) -> str:
    """One line for an improving trial: its value, its parameters, precision and recall at each cutoff and at its K."""
    params = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in trial.params.items())
    pairs = [f"@{c} {trial.logged[f'Precision@{c}']:.3f}/{trial.logged[f'Recall@{c}']:.3f}" for c in ("top_k", *config.report_at)]
    return f"trial {trial.number}: {config.objective[0]} {trial.values[0]:.4f}, precision/recall {' '.join(pairs)} ({params})"


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C (or SIGTERM) sets the event, so that the running trial ends whole; a second one interrupts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def handle(_signal: int, _frame: Any) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def settle(prepared: Prepared, folder: Path, trials: list[Trial], legs: Legs, notes: list[str], progress: Progress) -> TuneResult:
    """Choose, judge, score the systems side by side, and put summary.json together."""
    config = prepared.config
    best = best_of(trials, config) if len(config.objective) == 1 else None
    judged = judge(prepared, trials, best, progress) if best is not None else None
    top_k = judged.pick.params.top_k if judged is not None else config.top_k
    settings = settings_beside(config, top_k)
    if best is not None and judged is not None:
        settings |= {"best_trial": params_of(best, config), "pick": judged.pick.params}
    systems = score_systems(prepared, settings, top_k)
    summary: dict[str, Any] = {
        "study": config.name,
        "objective": config.objective[0] if len(config.objective) == 1 else config.objective,
        "top_k": top_k,
        "collection": record.summarize_collection(prepared.dataset) | counted_out(prepared),
        "index": prepared.retrieved.facts,
        **(
            {"indexes": [{"params": index_params(p, config), **other.facts} for p, other in other_indexes(prepared)]}
            if prepared.retrieved.others
            else {}
        ),
        "trials": {state: sum(t.state == state for t in trials) for state in ("COMPLETE", "FAIL")},
        "systems": {system.name: system.means() for system in systems},
    }
    if config.engine is not None:
        summary["engine"] = describe_engine(config.engine)
    if best is not None and judged is not None:
        summary["best_trial"] = {
            "number": best.number,
            "value": best.values[0],
            "params": params_as_dict(params_of(best, config)),
        }
        summary |= summarize_judgement(judged, prepared, systems)
    else:
        summary["pareto"] = pareto_of(trials)
    chosen = settings.get("pick", settings["equal"])
    table = trade_off(chosen, prepared.hybrid, objectives=config.objectives, all_top_k=all_top_k(config, top_k))
    summary["trade_off"] = table
    summary["warnings"] = warn(prepared) + study_warnings(config, trials)
    summary["definitions"] = record.describe_measures(config, weighted=has_weights(prepared.dataset.queries))
    return TuneResult(folder, config, summary, systems, judged, table, tuple(trials), legs, tuple(notes))


def other_indexes(prepared: Prepared) -> list[tuple[Params, Retrieved]]:
    """Every index that the study tried beside the top-level one, with what was found there."""
    others = prepared.retrieved.others
    return [(params, others[params.index]) for params in prepared.config.indexes if params.index in others]


def index_params(params: Params, config: Config) -> dict[str, Any]:
    """The searched parameters that say which index this is."""
    return {name: getattr(params, name) for name in config.indexed}


def describe_engine(name: str) -> dict[str, Any]:
    """The rules that the study fused by: the engine, the version that they were read from, its baselines."""
    rules = rules_of(name)
    return {
        "name": name,
        "title": rules.title,
        "version": rules.version,
        "source": rules.source,
        "equal": rules.score_fusion,
        "rrf": rules.rank_fusion,
        "rrf_k": rules.rrf_k,
        "ties": rules.ties,
    }


def counted_out(prepared: Prepared) -> dict[str, int]:
    """How many prompts are held out; nothing where none is."""
    held = prepared.held_out
    return {"queries_held_out": len(held.dataset.queries)} if held is not None else {}


def score_systems(prepared: Prepared, settings: dict[str, Params], top_k: int) -> tuple[System, ...]:
    """Every system's scores, all compared at one top_k."""
    config = prepared.config
    return tuple(
        score_setting(name, p, prepared.hybrid, objectives=config.objectives, top_k=top_k, cutoffs=config.report_at)
        for name, p in settings.items()
    )


def all_top_k(config: Config, top_k: int) -> list[int]:
    """The Ks of the trade-off table: the searched ones (at most 50), else the reported cutoffs and the fixed one."""
    entry = config.search.space.get("top_k")
    if isinstance(entry, list):
        return sorted(entry)
    if isinstance(entry, dict):
        values = [int(value) for value in list_values("top_k", entry)]
        stride = -(-len(values) // 50)
        return sorted({*values[::stride], values[-1], top_k})
    return sorted({*config.report_at, top_k})


def study_warnings(config: Config, trials: list[Trial]) -> list[str]:
    """What the trials themselves make worth saying."""
    said = []
    failed = [trial for trial in trials if trial.state == "FAIL"]
    if failed:
        said.append(
            f"{len(failed)} trials failed; the first (trial {failed[0].number}): {failed[0].reason or 'no reason was kept'}"
        )
    points = count_points(config)
    if points is not None and points < len(trials):
        said.append(f"the space has {points} settings for {len(trials)} trials: each was computed once and reused after that")
    return said


def package_versions() -> dict[str, str]:
    """The versions of the libraries that a number can depend on; a stored study runs again without some of them."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def write_folder(result: TuneResult, prepared: Prepared, timings: Timings) -> None:
    """Write every file of the study folder; weights.yaml last, so that it stands only beside a complete study."""
    folder, config, dataset = result.folder, result.config, prepared.dataset
    write_inputs(prepared, folder)
    record.write_trials(folder / "trials.csv", result.trials, config)
    extra = {}
    if result.judged is not None:
        by_name = {system.name: system.objective[0] for system in result.systems}
        extra["difference"] = by_name["pick"] - by_name[result.judged.kept]
        if result.judged.fitted is not None:
            extra["cross_fitted"] = result.judged.fitted.objective
        record.write_profile(folder / "profile.csv", result.judged.curve)
        record.write_to_judge(folder / "to_judge.csv", result.judged.holes, dataset)
    record.write_per_query(folder / "per_query.csv", dataset, prepared.hybrid.judgements.relevant_total, result.systems, extra)
    write_runs(result, prepared)
    record.write_json(folder / "summary.json", result.summary)
    record.write_json(folder / "manifest.json", make_manifest(result, prepared))
    timings.lap("writing")
    record.write_json(folder / "timings.json", make_timings(result, prepared, timings))
    if result.judged is not None:
        params, decided = weights_to_run(result.judged, config)
        record.write_weights(folder / "weights.yaml", params, config.keyword.variant, **decided)


def write_runs(result: TuneResult, prepared: Prepared) -> None:
    """One TREC run a system, with its own scores, and the qrels."""
    dataset = prepared.dataset
    codes = encode_ids([*(query.query_id for query in dataset.queries), *dataset.doc_ids, *dataset.sources])
    query_codes = [codes[query.query_id] for query in dataset.queries]
    for system in result.systems:
        results = (([codes[name] for name in dataset.names_of(rows)], scores) for rows, scores in own_results(system, prepared))
        record.write_run(result.folder / "runs" / f"{system.name}.trec", system.name, query_codes, results)
    record.write_qrels(result.folder / "runs" / "qrels.trec", dataset, codes)


def own_results(system: System, prepared: Prepared) -> Iterator[tuple[Any, Any]]:
    """Rows and scores of a system's lists: a single retriever's raw scores, else the fused ones."""
    assert system.params is not None
    if system.name not in ("keyword", "semantic"):
        yield from prepared.hybrid.results(system.params)
        return
    candidates, _, _ = prepared.hybrid.setting(system.params)
    ranks, scores = (
        (candidates.keyword_ranks, candidates.keyword_scores)
        if system.name == "keyword"
        else (candidates.semantic_ranks, candidates.semantic_scores)
    )
    for i in range(ranks.shape[0]):
        held = np.flatnonzero(ranks[i] > 0)
        order = held[np.argsort(ranks[i, held])]
        yield candidates.rows[i, order], scores[i, order]


def make_manifest(result: TuneResult, prepared: Prepared) -> dict[str, Any]:
    """Where every number comes from: hashes, versions, seed, command, machine."""
    config, dataset, facts = result.config, prepared.dataset, prepared.retrieved.facts["semantic"]
    embedded = {side: facts[f"{side}_sha256"] for side in EMBEDDED if f"{side}_sha256" in facts}
    return {
        "harness": {"version": importlib.metadata.version("hybrid-search-harness"), "commit": find_commit()},
        "command": ["harness", *sys.argv[1:]],
        "seed": config.seed,
        "config_sha256": hashlib.sha256(config.to_yaml().encode()).hexdigest(),
        "sha256": {
            **dataset.hashes.files,
            **({"embeddings": embedded} if embedded else {}),
            **({maker_of(config): facts[f"{maker_of(config)}_sha256"]} if config.encodes else {}),
            **({"models": fingerprints(config)} if config.encodes and "model" in config.indexed else {}),
            **({"given": elsewhere} if (elsewhere := given_content(config, there=False)) else {}),
        },
        "content": {"corpus": dataset.hashes.corpus, "queries": dataset.hashes.queries, "qrels": dataset.hashes.qrels},
        "packages": package_versions(),
        "python": platform.python_version(),
        "machine": {"platform": platform.platform(), "processor": platform.machine()},
        "threads": THREADS,
        **({"backend": made} if (made := backend_version(config.semantic.backend)) and config.encodes else {}),
        "legs": list(result.legs.versions),
        **({"sharing": dict(result.legs.sharing)} if result.legs.sharing is not None else {}),
        "ties": result.summary["definitions"]["ties"],
        "ap_denominator": result.summary["definitions"]["ap_denominator"],
    }


def find_commit() -> str | None:
    """The commit of the harness's own checkout, None outside one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def make_timings(result: TuneResult, prepared: Prepared, timings: Timings) -> dict[str, Any]:
    """What depends on the clock: seconds by stage and trial, the fusion's latency, the index's bytes, peak memory."""
    facts = prepared.retrieved.facts
    settings = {system.name: system.params for system in result.systems}
    seconds = time_fusion(prepared, settings.get("pick") or result.config.base)
    asked = {side: describe_seconds(fetched.seconds) for side, fetched in prepared.dataset.fetched.items()}
    return {
        "stages": timings.seconds,
        "trials": {str(trial.number): trial.seconds for trial in result.trials},
        "search": {
            "what": "from both retrievers' lists of one prompt to the fused one, one prompt at a time",
            **describe_seconds(seconds),
        },
        **({"live": asked} if asked else {}),
        "index_bytes": {side: facts[side].get("index_bytes", 0) for side in ("keyword", "semantic")},
        "peak_memory_bytes": peak_memory(),
    }


def describe_seconds(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile, and how many a second one after the other."""
    return {
        "p50": float(np.quantile(seconds, 0.5)),
        "p95": float(np.quantile(seconds, 0.95)),
        "queries_per_second": 1 / float(np.mean(seconds)),
    }


def time_fusion(prepared: Prepared, params: Params) -> list[float]:
    """Seconds to fuse the lists of one prompt, for up to TIMED prompts."""
    candidates = prepared.hybrid.candidates_for(params)
    seconds = []
    for i in range(min(TIMED, candidates.rows.shape[0])):
        one = Candidates(*(array[i : i + 1] for array in vars(candidates).values()))
        started = time.perf_counter()
        order_keys(apply_rules(one, params, prepared.config.engine)[1], params.semantic_weight).argsort(axis=1)
        seconds.append(time.perf_counter() - started)
    return seconds
