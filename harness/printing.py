"""What the commands print on stdout: tables, sentences, JSON."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.commands.evaluate import Evaluation
    from harness.commands.profile import ProfileResult
    from harness.commands.report import Report
    from harness.commands.reproduce import Reproduction
    from harness.commands.search import Explanation
    from harness.commands.tune import TuneResult
    from harness.commands.watch import Watch
    from harness.commands.work import Work
    from harness.profiles import Curve


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


def print_report(result: Report) -> None:
    """Where the page is, and what it lacks."""
    print(f"report of {', '.join(result.studies)} written to {result.path} ({result.bytes / 1e6:.1f} MB)")
    if result.note:
        print(f"note: {visible(result.note)}")


def print_watch(result: Watch) -> None:
    """A line for each check, then what they add up to."""
    for check in result.checks:
        print(f"{check.status:7} {check.name}: {visible(check.message)}")
    what = f"study {result.study}, setting {result.setting}, {result.prompts} prompts"
    print(f"{what}: {'nothing speaks against it' if result.ok else 'look at what failed'}")


def print_work(result: Work) -> None:
    """How many trials ran here, and how far the study is."""
    back = f"; {result.brought_back} trials of dead workers were given back" if result.brought_back else ""
    print(f"study {visible(result.study)}: {result.trials} trials run here; it has {result.complete} of {result.of}{back}")


def print_json(value: dict[str, Any]) -> None:
    """One strict JSON object on stdout, the control characters that JSON allows in texts escaped too."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table: the first column to the left, numbers to the right, nothing cut off, no control characters."""
    headings, rows = [visible(cell) for cell in headings], [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in (headings, *rows):
        first, *rest = row
        print("  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))]).rstrip())


def print_tune(result: TuneResult, config_path: Path) -> None:
    """What a person decides from: the systems side by side, the trade-off over K, where it is, what to type next."""
    from harness.charts import system_name

    summary, config = result.summary, result.config
    counts = summary["collection"]
    trials = sum(summary["trials"].values())
    held = f" ({counts['queries_held_out']} held out)" if counts.get("queries_held_out") else ""
    used = f"{counts['queries_used']} of {counts['queries']} prompts used{held}{say_effective(counts)}"
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
        rows.append([system_name(name, config.engine), *(f"{number:.4f}" for number in numbers)])
    print_table(headings, rows)
    by_weight = ", each counting by its weight" if "effective_queries" in counts else ""
    print(f"\nP is precision, R recall; every mean is over the used prompts{by_weight}.")

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
        print(f"\nnote: {visible(warning)}.")
    for note in (*result.notes, *_endings(result)):
        print(f"\n{note}")
    if "verdict" in summary:
        runs = {"adopt": "the pick", "keep": "what is kept"}.get(summary["verdict"]["decision"])
        runs = runs or ("the current setting" if config.current is not None else "the pick, which nothing speaks against")
        print(f"\nstudy folder: {result.folder}/ (weights.yaml holds {runs})")
    else:
        print(f"\nstudy folder: {result.folder}/ (two objectives: no weights.yaml, choose from the front)")
    print(f"report: {result.folder}/report.html")
    prompt = "your own prompt"
    weights = f" --weights {result.folder}/weights.yaml" if "best_trial" in summary else ""
    leave = " --allow-code" if config.semantic.may_run_code else ""
    print(f"next: python -m harness evaluate {shlex.quote(str(config_path))}{weights}{leave}")
    print(f"      python -m harness search {shlex.quote(str(config_path))} {shlex.quote(prompt)}{leave}")
    if "best_trial" in summary:
        print(f"      python -m harness export {result.folder} --to {config.engine or 'json'}")


def say_effective(counts: dict[str, Any]) -> str:
    """Like how many equal prompts the used ones count; nothing where they have no weights."""
    return f", by weight like {counts['effective_queries']:.1f} equal ones" if "effective_queries" in counts else ""


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
        for name, values in exact.get("by_index", {}).items():
            shown = sorted(values, key=lambda entry: -entry["score"])
            print(
                f"  by {name}: "
                + ", ".join(f"{visible(str(e['value']))} {e['score']:.4f}" for e in shown)
                + ", each at its own optimum"
            )
    low, high = pick["interval"]
    alike = f"; the prompts cannot tell weights {low:.3f} to {high:.3f} from it" if low < high else ""
    print(f"pick: {describe_setting(pick['params'])}{alike}")
    print(f"\nverdict: {verdict['decision']}")
    for reason in verdict["reasons"]:
        print(f"  {visible(reason)}")
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
    from harness.charts import system_name
    from harness.decide import signed

    kept = summary["verdict"]["compared_with"]
    print(f"\nwhere it helps: pick against {system_name(kept, None)}, by group, on the prompts it was tuned on")
    rows = []
    for group, entry in summary["groups"].items():
        other = entry[kept]
        counts = [str(other[name]) for name in ("wins", "ties", "losses")]
        numbers = [f"{other['mean']:.4f}", f"{entry['pick']:.4f}", signed(other["difference"])]
        rows.append([group or "(none)", str(entry["prompts"]), *numbers, *counts, f"{entry['best_weight']:.2f}"])
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
    from harness.charts import system_name

    data = result.to_dict()
    counts = data["collection"]
    print(
        f"{counts['queries_used']} prompts{say_effective(counts)}, {counts['documents']} documents; objective"
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
    print_table(["measure", *(system_name(n, result.config.engine) for n in names)], rows)
    if result.latency is not None:
        print_latency(result)
    for warning in result.warnings:
        print(f"\nnote: {visible(warning)}.")


def print_latency(result: Evaluation) -> None:
    """Latency, throughput, index size and memory of the harness's own search."""
    from harness.charts import system_name

    latency = result.latency
    assert latency is not None
    print(f"\nsearch: {latency['search']['what']}")
    rows = [
        [
            system_name(name, result.config.engine),
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
        f"{visible(result.text)}\n{f'labelled prompt {visible(result.query_id)}; ' if result.query_id else ''}semantic_weight"
        f" {p.semantic_weight:g}, {p.fusion}{constant}, depth {p.depth}, top_k {p.top_k}\n"
    )
    rows = []
    for item in result.results:
        rows.append(
            [
                f"{item.rank}. {item.doc_id}",
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
