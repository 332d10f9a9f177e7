"""The command line: what can be typed, and how it ends. Results on stdout, progress and news on stderr.

Exit codes: 0 done, 1 a check said no, 2 the user's input is wrong, 3 the surroundings failed or no trial completed,
70 a bug, 130 interrupted.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.completion import complete_setting, complete_shared, complete_study, complete_target, complete_ties
from harness.errors import HarnessError, InterruptedStudyError, SurroundingsError
from harness.printing import (
    print_evaluation,
    print_explanation,
    print_json,
    print_profile,
    print_report,
    print_reproduction,
    print_tune,
    print_watch,
    print_work,
    visible,
)
from harness.printing_data import print_cache, print_check, print_import_cranfield, print_import_run, print_init
from harness.terminal import open_progress


def examples(*commands: str) -> str:
    """The end of a help page: commands that can be typed as they stand; \\b keeps their lines from being wrapped."""
    return "\n".join(["\b", "Examples:" if len(commands) > 1 else "Example:", *(f"  python -m harness {c}" for c in commands)])


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find the fusion weight and K that serve a hybrid search best, and learn how far to trust the answer.",
    epilog=examples("tune configs/hybrid.yaml", 'search configs/hybrid.yaml "how do I rotate an API key"'),
)
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="The study's YAML file.", show_default=False)]
StudyArgument = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="A study's folder, or its name.", show_default=False, autocompletion=complete_study),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor news; warnings and errors stay.")]
TiesOption = Annotated[
    str,
    typer.Option(
        "--ties", help="How a run's equal scores are ordered: doc_id, trec_eval, or rank.", autocompletion=complete_ties
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
AllowCodeOption = Annotated[
    bool, typer.Option("--allow-code", help="Import and call the function that semantic.embedder names; read it first.")
]
WeightsOption = Annotated[Path | None, typer.Option("--weights", help="A weights.yaml: the setting to use.")]


@app.command(epilog=examples("tune configs/hybrid.yaml", "tune configs/hybrid.yaml --name second --quiet"))
def tune(
    config: ConfigArgument,
    name: Annotated[str | None, typer.Option("--name", help="Another study name: a study folder of its own.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; a study of that name is moved aside.")] = False,
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a study, or go on with it.

    CONFIG says what is searched; the study's folder is written under studies/.
    """
    from harness.commands.tune import tune as run

    result = run(config, name=name, fresh=fresh, allow_code=allow_code, progress=open_progress(quiet=quiet))
    print_json(result.summary) if as_json else print_tune(result, config)


@app.command(epilog=examples("work hybrid", "work studies/hybrid --trials 100"))
def work(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="A study's folder, or its name.", show_default=False, autocompletion=complete_shared
        ),
    ],
    trials: Annotated[int | None, typer.Option("--trials", help="Leave after so many trials.", show_default=False)] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Help to run the trials of a shared study.

    On any machine that sees its folder and the storage that its config names, while tune runs; no corpus and no model is needed.
    """
    from harness.commands.work import work as join

    result = join(study, trials=trials, progress=open_progress(quiet=quiet))
    print_json(result.to_dict()) if as_json else print_work(result)


@app.command(epilog=examples("profile configs/hybrid.yaml", "profile configs/hybrid.yaml --weights studies/hybrid/weights.yaml"))
def profile(
    config: ConfigArgument,
    weights: WeightsOption = None,
    out: Annotated[Path, typer.Option("--out", help="Where the curve is written.")] = Path("profile.csv"),
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the exact curve over the weight.

    The objective as a function of the semantic weight, for CONFIG's top-level setting or that of a weights file.
    """
    from harness.commands.profile import profile as compute

    result = compute(config, weights=weights, out=out, allow_code=allow_code, progress=open_progress(quiet=quiet))
    print_json(result.to_dict()) if as_json else print_profile(result)


@app.command(
    epilog=examples(
        "evaluate configs/hybrid.yaml --weights studies/hybrid/weights.yaml",
        "evaluate configs/hybrid.yaml --run studies/hybrid/runs/pick.trec",
    )
)
def evaluate(
    config: ConfigArgument,
    weights: WeightsOption = None,
    run: Annotated[list[Path] | None, typer.Option("--run", help="A TREC run to score; may be given again.")] = None,
    ties: TiesOption = "doc_id",
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score a fixed setting or TREC runs.

    Every measure with its 95 % interval, beside the baselines.
    """
    from harness.commands.evaluate import evaluate as score

    progress = open_progress(quiet=quiet)
    result = score(config, weights=weights, runs=tuple(run or ()), ties=ties, allow_code=allow_code, progress=progress)
    print_json(result.to_dict()) if as_json else print_evaluation(result)


@app.command(epilog=examples('search configs/hybrid.yaml "how do I rotate an API key"'))
def search(
    config: ConfigArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt.", show_default=False)],
    weights: WeightsOption = None,
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Explain the results of one prompt.

    Each result's keyword rank and score, semantic rank and score, and fused score.
    """
    from harness.commands.search import search as explain

    result = explain(config, text, weights=weights, allow_code=allow_code, progress=open_progress(quiet=quiet))
    print_json(result.to_dict()) if as_json else print_explanation(result)


@app.command(epilog=examples("export hybrid --to json", "export hybrid --to yaml --setting best_trial"))
def export(
    study: StudyArgument,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="The engine, or json or yaml for the plain setting.",
            show_default=False,
            autocompletion=complete_target,
        ),
    ],
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="Where --parity writes.", show_default=False)] = None,
    setting: Annotated[
        str, typer.Option("--setting", help="recommended, pick or best_trial.", autocompletion=complete_setting)
    ] = "recommended",
    parity: Annotated[bool, typer.Option("--parity", help="Also write documents, expected order and a script to check.")] = False,
) -> None:
    """Print a study's setting as an engine's configuration.

    With --parity a fixture is written into FOLDER (parity-ENGINE where none is named): run its check.py against the engine.
    """
    from harness.commands.export import export as make

    if folder is not None and not parity:
        raise HarnessError(f"{folder}: a folder is only for --parity; print into a file with >")
    made = make(study, to=to, setting=setting, parity=(folder or Path(f"parity-{to}")) if parity else None)
    print("\n".join(map(visible, made.text.split("\n"))), end="")
    if made.folder is not None:
        print(
            f"parity fixture written to {made.folder}/: run python {made.folder}/check.py (its first lines say with what)",
            file=sys.stderr,
        )


@app.command(epilog=examples("reproduce hybrid", "reproduce hybrid --from-scratch"))
def reproduce(
    study: StudyArgument,
    from_scratch: Annotated[bool, typer.Option("--from-scratch", help="Build indexes and embeddings anew.")] = False,
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> int:
    """Run a study again and compare.

    From its stored candidates, byte for byte; or from scratch, trial by trial. Exit 1 where it does not come out the same.
    """
    from harness.commands.reproduce import reproduce as again

    result = again(study, from_scratch=from_scratch, allow_code=allow_code, progress=open_progress(quiet=quiet, news=False))
    print_json(result.to_dict()) if as_json else print_reproduction(result)
    return 0 if result.ok else 1


@app.command(epilog=examples("watch hybrid", "watch hybrid --run studies/hybrid/runs/pick.trec --json"))
def watch(
    study: StudyArgument,
    queries: Annotated[Path | None, typer.Option("--queries", help="New prompts (with --qrels).", show_default=False)] = None,
    qrels: Annotated[Path | None, typer.Option("--qrels", help="Their judgements, or new ones.", show_default=False)] = None,
    run: Annotated[Path | None, typer.Option("--run", help="A TREC run of production.", show_default=False)] = None,
    setting: Annotated[
        str,
        typer.Option("--setting", help="What is deployed: recommended, pick or best_trial.", autocompletion=complete_setting),
    ] = "recommended",
    ties: TiesOption = "doc_id",
    latency: Annotated[bool, typer.Option("--latency/--no-latency", help="Time the search.")] = True,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML here.", show_default=False)] = None,
    allow_code: AllowCodeOption = False,
    quiet: QuietOption = False,
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
        allow_code=allow_code,
        progress=open_progress(quiet=quiet),
    )
    print_json(result.to_dict()) if as_json else print_watch(result)
    return 0 if result.ok else 1


@app.command(epilog=examples("report hybrid", "report hybrid reference --out comparison.html"))
def report(
    studies: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY...", help="A study's folder, or its name.", show_default=False, autocompletion=complete_study
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Where the page is written; STUDY/report.html or comparison.html without it.", show_default=False
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a study's HTML report, or compare studies.

    One file that opens without a network: verdict, exact curve, trade-off, every prompt. Several studies stand side by side.
    """
    from harness.commands.report import report as write

    result = write(*studies, out=out, progress=open_progress(quiet=quiet))
    print_json(result.to_dict()) if as_json else print_report(result)


@app.command(
    epilog=examples(
        "import-run corpora/samples/responses.jsonl --out production.trec",
        "import-run corpora/samples/msearch.json --queries corpora/samples/queries.jsonl --out keyword.trec --depth 100",
    )
)
def import_run(
    responses: Annotated[
        Path, typer.Argument(metavar="RESPONSES", help="Search responses, JSON lines or JSON.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the run is written.", show_default=False)],
    queries: Annotated[
        Path | None,
        typer.Option("--queries", help="The prompts in the order of the searches (_msearch).", show_default=False),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option("--id", metavar="FIELD", help="The field that names a document; _id without it.", show_default=False),
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Only so many of each list; all without it.", show_default=False)
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", help="The run's tag; the file's name without it.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a TREC run of a search engine's responses.

    Those of OpenSearch and Elasticsearch, _search or _msearch, one search a prompt; partial results are refused.
    """
    from harness.commands.import_run import import_run as write

    result = write(responses, out=out, tag=tag, field=field, depth=depth, queries=queries)
    print_json(result.to_dict()) if as_json else print_import_run(result)


@app.command(epilog=examples("import-cranfield corpora/samples/cranfield --out corpora/cranfield"))
def import_cranfield(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with the original files.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The new folder to write.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Convert the Cranfield collection's original files.

    FOLDER holds cran.all (or cran.all.1400), cran.qry and cranqrel; DIR gets corpus, queries and qrels in BEIR layout.
    """
    from harness.commands.import_cranfield import import_cranfield as write

    result = write(folder, out=out)
    print_json(result.to_dict()) if as_json else print_import_cranfield(result)


@app.command(epilog=examples("check configs/hybrid.yaml", "check configs/hybrid.yaml --json"))
def check(
    config: ConfigArgument, allow_code: AllowCodeOption = False, quiet: QuietOption = False, as_json: JsonOption = False
) -> None:
    """Look over a config and its data.

    Counts, lengths and everything in the data that deserves a look, with file and line; no index is built, and no model loaded
    but for the vector of the one prompt that a live server is asked for.
    """
    from harness.commands.check import check as look

    result = look(config, allow_code=allow_code, progress=open_progress(quiet=quiet))
    print_json(result.to_dict()) if as_json else print_check(result)


@app.command(epilog=examples("init corpora/handbook", "init corpora/handbook --out configs/mine.yaml"))
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the data.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the config is written; configs/NAME.yaml without it.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a first config for a folder of data.

    Corpus, queries and qrels are found in DIR by their contents; every key of the config has a comment.
    """
    from harness.commands.init import init as write

    result = write(folder, out=out, force=force)
    print_json(result.to_dict()) if as_json else print_init(result)


@app.command(epilog=examples("cache", "cache --clear --older-than 30"))
def cache(
    config: Annotated[Path | None, typer.Option("--config", help="The cache of this config.", show_default=False)] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The cache's folder; .harness-cache without it.", show_default=False)
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete what the program wrote there.")] = False,
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", help="Only what was not used for so long.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List or clear cached indexes and vectors.

    A study that lacks a file builds it again; what is not the program's own is never deleted.
    """
    from harness.commands.cache import cache as look

    result = look(folder, config=config, clear=clear, older_than=older_than)
    print_json(result.to_dict()) if as_json else print_cache(result)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code. SIGTERM ends it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)
    if sys.stderr is None:  # closed by the caller: what would go there must not land among the results
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 – it stays open until the process ends
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
    """Print the lines on stderr, without control characters that came in from outside, and hand the code back."""
    for line in lines:
        print(visible(line), file=sys.stderr)
    return code
