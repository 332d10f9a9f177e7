"""The command line: the only place that prints and exits. Results on stdout, progress and news on stderr.

Exit codes: 0 done, 1 a check said no, 2 the user's input is wrong, 3 the surroundings failed or no trial completed,
70 a bug, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.errors import HarnessError, InterruptedStudyError, SurroundingsError

if TYPE_CHECKING:
    from harness.commands.evaluate import Evaluation
    from harness.commands.profile import ProfileResult
    from harness.commands.reproduce import Reproduction
    from harness.commands.search import Explanation
    from harness.commands.tune import TuneResult
    from harness.commands.watch import Watch
    from harness.config import Config
    from harness.profiles import Curve

SHOWN_NAMES = {
    "keyword": "keyword alone",
    "semantic": "semantic alone",
    "equal": "equal weights",
    "rrf": "RRF 60",
    "current": "current setting",
    "best_trial": "best trial",
    "pick": "pick",
}

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find the fusion weight and K that serve a hybrid search best, and learn how far to trust the answer.",
)
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="The study's YAML file.", show_default=False)]
StudyArgument = Annotated[str, typer.Argument(metavar="STUDY", help="A study's folder, or its name.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
WeightsOption = Annotated[Path | None, typer.Option("--weights", help="A weights.yaml: the setting to use.")]


class Bars:
    """Progress on stderr: bars with the time that is left, gone when the work is done; news as plain lines above."""

    def __init__(self, *, news: bool = True) -> None:
        from rich.console import Console

        self._news = news
        self._console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with RichProgress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bars:
            task = bars.add_task(description, total=total)
            yield lambda steps: bars.advance(task, steps)

    def say(self, line: str) -> None:
        """Print one line of news, where they are wanted."""
        if self._news:
            self._console.print(line)


@app.command()
def tune(
    config: ConfigArgument,
    name: Annotated[str | None, typer.Option("--name", help="Another study name: a study folder of its own.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; a study of that name is moved aside.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a study, or go on with it.

    CONFIG says what is searched; the study's folder is written under studies/.
    """
    from harness.commands.tune import tune as run

    result = run(config, name=name, fresh=fresh, progress=Bars())
    print_json(result.summary) if as_json else print_tune(result, config)


@app.command()
def profile(
    config: ConfigArgument,
    weights: WeightsOption = None,
    out: Annotated[Path, typer.Option("--out", help="Where the curve is written.")] = Path("profile.csv"),
    as_json: JsonOption = False,
) -> None:
    """Compute the exact curve over the weight.

    The objective as a function of the semantic weight, for CONFIG's top-level setting or that of a weights file.
    """
    from harness.commands.profile import profile as compute

    result = compute(config, weights=weights, out=out, progress=Bars())
    print_json(result.to_dict()) if as_json else print_profile(result)


@app.command()
def evaluate(
    config: ConfigArgument,
    weights: WeightsOption = None,
    run: Annotated[list[Path] | None, typer.Option("--run", help="A TREC run to score; may be given again.")] = None,
    ties: Annotated[
        str, typer.Option("--ties", help="How a run's equal scores are ordered: doc_id, trec_eval, or rank.")
    ] = "doc_id",
    as_json: JsonOption = False,
) -> None:
    """Score a fixed setting or TREC runs.

    Every measure with its 95 % interval, beside the baselines.
    """
    from harness.commands.evaluate import evaluate as score

    result = score(config, weights=weights, runs=tuple(run or ()), ties=ties, progress=Bars())
    print_json(result.to_dict()) if as_json else print_evaluation(result)


@app.command()
def search(
    config: ConfigArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt.", show_default=False)],
    weights: WeightsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain the results of one prompt.

    Each result's keyword rank and score, semantic rank and score, and fused score.
    """
    from harness.commands.search import search as explain

    result = explain(config, text, weights=weights, progress=Bars())
    print_json(result.to_dict()) if as_json else print_explanation(result)


@app.command()
def export(
    study: StudyArgument,
    to: Annotated[str, typer.Option("--to", help="The engine, or json or yaml for the plain setting.", show_default=False)],
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="Where --parity writes.", show_default=False)] = None,
    setting: Annotated[str, typer.Option("--setting", help="recommended, pick or best_trial.")] = "recommended",
    parity: Annotated[bool, typer.Option("--parity", help="Also write documents, expected order and a script to check.")] = False,
) -> None:
    """Print a study's setting as an engine's configuration.

    With --parity a fixture is written into FOLDER (parity-ENGINE where none is named): run its check.py against the engine.
    """
    from harness.commands.export import export as make

    if folder is not None and not parity:
        raise HarnessError(f"{folder}: a folder is only for --parity; print into a file with >")
    made = make(study, to=to, setting=setting, parity=(folder or Path(f"parity-{to}")) if parity else None)
    print(made.text, end="")
    if made.folder is not None:
        print(
            f"parity fixture written to {made.folder}/: run python {made.folder}/check.py (its first lines say with what)",
            file=sys.stderr,
        )


@app.command()
def reproduce(
    study: StudyArgument,
    from_scratch: Annotated[bool, typer.Option("--from-scratch", help="Build indexes and embeddings anew.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Run a study again and compare.

    From its stored candidates, byte for byte; or from scratch, trial by trial. Exit 1 where it does not come out the same.
    """
    from harness.commands.reproduce import reproduce as again

    result = again(study, from_scratch=from_scratch, progress=Bars(news=False))
    print_json(result.to_dict()) if as_json else print_reproduction(result)
    return 0 if result.ok else 1


def print_reproduction(result: Reproduction) -> None:
    """The outcome, how many trials are the same, and what is not."""
    trials = result.trials
    same = f"{trials.compared - trials.different} of {trials.compared} trials are equal"
    far = f", the furthest number is off by {trials.furthest:.2g}" if 0 < trials.furthest < float("inf") else ""
    print(f"{result.outcome}: study {result.study}, {result.how}: {same}{far}")
    for line in result.differences:
        print(f"  differs: {visible(line)}")
    for line in result.changed:
        print(f"  changed: {visible(line)}")


@app.command()
def watch(
    study: StudyArgument,
    queries: Annotated[Path | None, typer.Option("--queries", help="New prompts (with --qrels).", show_default=False)] = None,
    qrels: Annotated[Path | None, typer.Option("--qrels", help="Their judgements, or new ones.", show_default=False)] = None,
    run: Annotated[Path | None, typer.Option("--run", help="A TREC run of production.", show_default=False)] = None,
    setting: Annotated[str, typer.Option("--setting", help="What is deployed: recommended, pick or best_trial.")] = "recommended",
    ties: Annotated[
        str, typer.Option("--ties", help="How a run's equal scores are ordered: doc_id, trec_eval, or rank.")
    ] = "doc_id",
    latency: Annotated[bool, typer.Option("--latency/--no-latency", help="Time the search.")] = True,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML here.", show_default=False)] = None,
    as_json: JsonOption = False,
) -> int:
    """Check that a study's setting is still right.

    On the study's data as it is now, on new labelled prompts, or on a production run. Exit 1 where a check failed.
    """
    from harness.commands.watch import watch as look

    result = look(
        study,
        queries=queries,
        qrels=qrels,
        run=run,
        setting=setting,
        ties=ties,
        latency=latency,
        junit=junit,
        progress=Bars(),
    )
    print_json(result.to_dict()) if as_json else print_watch(result)
    return 0 if result.ok else 1


def print_watch(result: Watch) -> None:
    """A line for each check, then what they add up to."""
    for check in result.checks:
        print(f"{check.status:7} {check.name}: {check.message}")
    what = f"study {result.study}, setting {result.setting}, {result.prompts} prompts"
    print(f"{what}: {'nothing speaks against it' if result.ok else 'look at what failed'}")


def print_json(value: dict[str, Any]) -> None:
    """One strict JSON object on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table: the first column to the left, numbers to the right, nothing cut off."""
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in (headings, *rows):
        first, *rest = row
        print("  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))]).rstrip())


def print_tune(result: TuneResult, config_path: Path) -> None:
    """What a person decides from: the systems side by side, the trade-off over K, where it is, what to type next."""
    summary, config = result.summary, result.config
    counts = summary["collection"]
    trials = sum(summary["trials"].values())
    held = f" ({counts['queries_held_out']} held out)" if counts.get("queries_held_out") else ""
    used = f"{counts['queries_used']} of {counts['queries']} prompts used{held}"
    objective = " and ".join(config.objective)
    print(f"study {config.name}: {counts['documents']} documents, {used}, {trials} trials, objective {objective}")
    but = ", but for the verdict" if "verdict" in summary else ""
    print(f"All numbers are on the prompts that the study was tuned on{but}. K = {summary['top_k']}.\n")
    if "engine" in summary:
        engine = summary["engine"]
        print(f"Fused by the rules of {engine['title']} {engine['version']}; equal weights are its {engine['equal']}.\n")
    cutoffs = config.report_at
    headings = ["system", *["objective", "objective_2"][: len(config.objective)]]
    headings += [f"P@{c}" for c in cutoffs] + [f"R@{c}" for c in cutoffs]
    rows = []
    for name, means in summary["systems"].items():
        numbers = [means[h] for h in ("objective", "objective_2")[: len(config.objective)]]
        numbers += [means[f"{m}@{c}"] for m in ("Precision", "Recall") for c in cutoffs]
        rows.append([shown_name(name, config), *(f"{number:.4f}" for number in numbers)])
    print_table(headings, rows)
    print("\nP is precision, R recall; every mean is over the used prompts.")

    if "best_trial" in summary:
        print_judgement(summary, config.objective[0])
    else:
        print(f"\nPareto front of {' and '.join(config.objective)}:")
        front = {trial.number: trial for trial in result.trials if trial.number in summary["pareto"]}
        names = list(config.search.space)
        shown = [[str(n), *(f"{v:.4f}" for v in t.values), *(_cell(t.params.get(p)) for p in names)] for n, t in front.items()]
        print_table(["trial", *config.objective, *names], shown)
    if "groups" in summary:
        print_groups(summary)
    print(f"\ntrade-off over K of {'the pick' if 'best_trial' in summary else 'equal weights'}")
    columns = [c for c in ("Precision", "Recall", "objective", "objective_2") if c in result.trade_off[0]]
    rows = [[str(int(row["top_k"])), *(f"{row[c]:.4f}" for c in columns)] for row in result.trade_off]
    print_table(["K", *columns], rows)
    for warning in summary["warnings"]:
        print(f"\nnote: {warning}.")
    for note in (*result.notes, *_endings(result)):
        print(f"\n{note}")
    if "verdict" in summary:
        runs = {"adopt": "the pick", "keep": "what is kept"}.get(summary["verdict"]["decision"])
        runs = runs or ("the current setting" if config.current is not None else "the pick, which nothing speaks against")
        print(f"\nstudy folder: {result.folder}/ (weights.yaml holds {runs})")
    else:
        print(f"\nstudy folder: {result.folder}/ (two objectives: no weights.yaml, choose from the front)")
    prompt = "your own prompt"
    weights = f" --weights {result.folder}/weights.yaml" if "best_trial" in summary else ""
    print(f"next: python -m harness evaluate {shlex.quote(str(config_path))}{weights}")
    print(f"      python -m harness search {shlex.quote(str(config_path))} {shlex.quote(prompt)}")
    if "best_trial" in summary:
        print(f"      python -m harness export {result.folder} --to {config.engine or 'json'}")


def shown_name(system: str, config: Config) -> str:
    """A system as the tables call it; `rrf` with the constant that it has by default under the config's engine."""
    from harness.engines import rules_of

    return f"RRF {rules_of(config.engine).rrf_k}" if system == "rrf" else SHOWN_NAMES.get(system, system)


def describe_setting(params: dict[str, Any]) -> str:
    """A setting as text, numbers to four digits."""
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in params.items())


def print_judgement(summary: dict[str, Any], objective: str) -> None:
    """Best trial, exact optimum, pick and verdict, and how many labels it would take to know more."""
    from harness.decide import signed

    best, pick, verdict = summary["best_trial"], summary["pick"], summary["verdict"]
    print(f"\nbest trial: number {best['number']}, {objective} {best['value']:.4f}: {describe_setting(best['params'])}")
    exact = summary.get("exact")
    if exact is not None:
        among = "all of them" if exact["settings"] == exact.get("of") else f"of {exact['of']}" if "of" in exact else "of many"
        share = f": the best trial reaches {best['value'] / exact['score']:.1%}" if exact["score"] > 0 else ""
        print(
            f"exact optimum: {objective} {exact['score']:.4f} for weights {exact['weight_from']:.4f} to"
            f" {exact['weight_to']:.4f}, {describe_setting({k: v for k, v in exact['params'].items() if k != 'semantic_weight'})}"
            f" ({exact['settings']} discrete settings, {among}){share}"
        )
    low, high = pick["interval"]
    alike = f"; the prompts cannot tell weights {low:.3f} to {high:.3f} from it" if low < high else ""
    print(f"pick: {describe_setting(pick['params'])}{alike}")
    print(f"\nverdict: {verdict['decision']}")
    for reason in verdict["reasons"]:
        print(f"  {reason}")
    for name, guard in verdict.get("guards", {}).items():
        print(f"  guard rail: {name} changes by {signed(guard['change'])}, a fall of {guard['allowed']:g} is allowed")
    labels = summary["labels"]
    gains = ", ".join(f"{n} for {gain}" for gain, n in labels["prompts_to_prove_a_gain"].items())
    if gains:
        print(f"labels: to prove a gain with 80 % power takes about this many prompts: {gains}")
    if "prompts_to_pin_the_weight" in labels:
        print(f"labels: to pin the weight to ± .05 takes about {labels['prompts_to_pin_the_weight']}")
    holes = summary["holes"]
    if holes["unjudged_pairs"]:
        print(
            f"holes: {holes['unjudged_pairs']} returned documents are unjudged; were they all relevant for one side and not for"
            f" the other, the difference would be {signed(holes['difference_at_least'])} or {signed(holes['difference_at_most'])}"
            " (to_judge.csv lists the weightiest)"
        )


def print_groups(summary: dict[str, Any]) -> None:
    """Where it helps and where not: the pick against what is kept, group by group."""
    from harness.decide import signed

    kept = summary["verdict"]["compared_with"]
    print(f"\nwhere it helps: pick against {SHOWN_NAMES.get(kept, kept)}, by group, on the prompts it was tuned on")
    rows = []
    for group, entry in summary["groups"].items():
        other = entry[kept]
        counts = [str(other[name]) for name in ("wins", "ties", "losses")]
        numbers = [f"{other['mean']:.4f}", f"{entry['pick']:.4f}", signed(other["difference"])]
        rows.append([visible(group) or "(none)", str(entry["prompts"]), *numbers, *counts, f"{entry['best_weight']:.2f}"])
    print_table(["group", "prompts", "kept", "pick", "difference", "wins", "ties", "losses", "own best weight"], rows)
    weighed = summary.get("group_weights")
    if weighed is not None and "interval" in weighed:
        low, high = weighed["interval"]
        print(
            f"a weight for each group, chosen on other prompts: {weighed['gain']:+.4f} (95 % interval {low:+.4f} to {high:+.4f})"
        )


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _endings(result: TuneResult) -> list[str]:
    wanted, have = result.config.search.trials, len(result.trials)
    if result.legs.ended == "timeout":
        return [f"search.timeout ended the study after {have} of {wanted} trials; run the same command to go on"]
    if result.legs.ended == "exhausted":
        return [f"every setting of the space was visited after {have} trials ({wanted} were allowed)"]
    return []


def print_profile(result: ProfileResult) -> None:
    """The optimum, the plateau, and a sketch of the curve."""
    data = result.to_dict()
    best = data["optimum"]
    print(f"{data['objective']} over the semantic weight; {describe_setting(data['params'])}")
    print(f"{data['intervals']} intervals of one score each, written to {result.out}\n")
    for line in sketch(result.curve):
        print(line)
    print(
        f"\noptimum {best['score']:.4f} for weights {best['weight_from']:.6f} to {best['weight_to']:.6f};"
        f" at .5 {data['at_half']:.4f}, keyword alone {data['keyword']:.4f}, semantic alone {data['semantic']:.4f}"
    )
    if "better_point" in best:
        print(f"the single weight {best['better_point']:.6f} scores higher; a point is never picked")
    plateau = data["plateau"]
    pieces = "one stretch" if len(plateau) == 1 else f"{len(plateau)} stretches"
    print(f"plateau: weights {plateau[0][0]:.3f} to {plateau[-1][1]:.3f} come within 1 % of the optimum, in {pieces}")


def sketch(curve: Curve, columns: int = 72, rows: int = 10) -> list[str]:
    """The curve drawn in text: each column shows the interval that holds its middle."""
    import numpy as np

    middles = (np.arange(columns) + 0.5) / columns
    values = curve.on[np.clip(np.searchsorted(curve.points, middles, side="right") - 1, 0, curve.on.size - 1)]
    low, high = float(values.min()), float(values.max())
    height = np.full(columns, rows) if high == low else 1 + np.round((values - low) / (high - low) * (rows - 1)).astype(int)
    lines = []
    for row in range(rows, 0, -1):
        label = f"{high:.4f}" if row == rows else f"{low:.4f}" if row == 1 else ""
        lines.append(f"{label:>7} |" + "".join("█" if h >= row else " " for h in height).rstrip())
    return [*lines, f"{'':7} +{'-' * columns}", f"{'':8}0{'.5':>{columns // 2}}{'1':>{columns - columns // 2}}"]


def print_evaluation(result: Evaluation) -> None:
    """Every measure for every system, each with half the width of its 95 % interval."""
    data = result.to_dict()
    print(
        f"{data['collection']['queries_used']} prompts, {data['collection']['documents']} documents; objective"
        f" {' and '.join(result.config.objective)} at top_k = {result.top_k}; mean and 95 % interval (Student's t)\n"
    )
    names = list(data["systems"])
    measures = [m for m in data["systems"][names[0]] if m not in ("queries_without_results", "intervals")]
    rows = []
    for measure in measures:
        cells = []
        for name in names:
            system = data["systems"][name]
            interval = system["intervals"].get(measure)
            reach = f" ±{(interval[1] - interval[0]) / 2:.4f}" if interval else ""
            cells.append(f"{system[measure]:.4f}{reach}")
        rows.append([measure, *cells])
    rows.append(["prompts without results", *(str(data["systems"][n]["queries_without_results"]) for n in names)])
    print_table(["measure", *(shown_name(n, result.config) for n in names)], rows)
    if result.latency is not None:
        print_latency(result)
    for warning in result.warnings:
        print(f"\nnote: {warning}.")


def print_latency(result: Evaluation) -> None:
    """Latency, throughput, index size and memory of the harness's own search."""
    latency = result.latency
    assert latency is not None
    print(f"\nsearch: {latency['search']['what']}")
    rows = [
        [
            shown_name(name, result.config),
            *(f"{timed[q] * 1000:.3f} ms" for q in ("p50", "p95")),
            f"{timed['queries_per_second']:.0f}",
        ]
        for name, timed in latency["systems"].items()
    ]
    print_table(["system", "p50", "p95", "queries a second"], rows)
    sizes = latency["index_bytes"]
    print(
        f"index: keyword {sizes['keyword'] / 1e6:.2f} MB, semantic {sizes['semantic'] / 1e6:.2f} MB; peak memory"
        f" {latency['peak_memory_bytes'] / 1e6:.0f} MB{f'; kept in {result.kept_in}' if result.kept_in is not None else ''}"
    )


def print_explanation(result: Explanation) -> None:
    """The results as a table: fused score, then what each retriever gave, then the beginning of the text."""
    from harness.engines import RANK_FUSIONS

    p = result.params
    constant = f" (constant {p.rrf_k})" if p.fusion in RANK_FUSIONS else ""
    print(
        f"{result.text}\n{f'labelled prompt {result.query_id}; ' if result.query_id else ''}semantic_weight"
        f" {p.semantic_weight:g}, {p.fusion}{constant}, depth {p.depth}, top_k {p.top_k}\n"
    )
    rows = []
    for item in result.results:
        rows.append(
            [
                f"{item.rank}. {visible(item.doc_id)}",
                f"{item.score:.4f}",
                _cell(item.keyword_rank),
                _cell(item.keyword_score),
                _cell(item.semantic_rank),
                _cell(item.semantic_score),
                _cell(item.relevance),
            ]
        )
    headings = ["result", "fused", "keyword rank", "score", "semantic rank", "score", "label"]
    print_table(headings, rows)
    print()
    for item in result.results:
        print(f"{item.rank}. {visible(item.text)}")
    if not result.results:
        print("neither retriever returned anything for this prompt")


def visible(text: str) -> str:
    """Text without line breaks and control characters: a document must not steer the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code. SIGTERM ends it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def _interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def run(arguments: Sequence[str]) -> int:
    """The exit code of these arguments; what went wrong is on stderr."""
    if not arguments:
        run(["--help"])
        return 2
    try:
        return int(app(list(arguments), standalone_mode=False, prog_name="harness") or 0)
    except HarnessError as error:
        return complain(error.shown(), 2)
    except InterruptedStudyError as error:
        return complain([str(error), go_on([a for a in arguments if a != "--fresh"])], 130)
    except KeyboardInterrupt:
        return complain(["interrupted", go_on(arguments)], 130)
    except typer.Exit as error:
        if error.exit_code == 130:  # what typer makes of an interrupt
            return complain(["interrupted", go_on(arguments)], 130)
        return error.exit_code
    except SurroundingsError as error:
        return complain([str(error)], 3)
    except MemoryError:
        return complain(["out of memory"], 3)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        return complain([f"{error.filename or 'the system'}: {error.strerror or error}"], 3)
    except Exception as error:
        from click import ClickException

        if isinstance(error, ClickException) or hasattr(error, "format_message"):
            return complain([f"{error.format_message()}; see --help"], 2)
        traceback.print_exc()
        return complain(["this is a bug in harness: please report it with the lines above"], 70)


def go_on(arguments: Sequence[str]) -> str:
    """The command that goes on from here."""
    return f"go on with: {shlex.join(['python', '-m', 'harness', *arguments])}"


def complain(lines: Sequence[str], code: int) -> int:
    """Print the lines on stderr and hand the code back."""
    for line in lines:
        print(line, file=sys.stderr)
    return code
