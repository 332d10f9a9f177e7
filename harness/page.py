"""Findings as one HTML file: text, tables and charts, nothing from a network. Home of jinja2; the templates are in pages/.

Whatever comes from outside is text: jinja2 escapes it, embedded JSON holds no `<`, and the script writes it as text only.
"""

from __future__ import annotations

import base64
import functools
import gzip
import importlib.resources
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness import charts
from harness.choice import GRID
from harness.config import Config
from harness.decide import signed
from harness.engines import rules_of
from harness.findings import Findings, Missed, ResultLists
from harness.sentences import alternatives, compare_sentences, describe, verdict_sentences
from harness.sidebyside import SideBySide
from harness.study import params_of
from harness.types import Dataset, Params

LONGEST_TEXT = 2000  # characters of a prompt
SNIPPET = (80, 320)  # characters of a document, at least and at most
TEXT_BUDGET = 2_500_000  # characters of documents in one report
MOST_DETAILED = 3000  # prompts that can be opened
LONGEST_ID = 300


@dataclass(frozen=True)
class Extras:
    """What a report shows beside the findings: exports by target, manifest.json, to_judge.csv's rows, and the texts.

    `texts` is None where the data's files are not the study's any more; `no_texts` says why. `weights` are empty where
    the prompts have none.
    """

    exports: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    to_judge: Sequence[Mapping[str, str]] = ()
    doc_ids: Sequence[str] = ()
    query_ids: Sequence[str] = ()
    groups: Sequence[str] = ()
    weights: Sequence[float] = ()
    grades: Sequence[Mapping[int, int]] = ()
    texts: Dataset | None = None
    no_texts: str = ""


def embed(value: Any) -> str:
    """JSON for a script element: strict, compact, and without a `<`, so that no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@functools.cache
def plotly_library() -> str:
    """Plotly's script from its package, compressed and in base64: a quarter of its size in the page."""
    script = importlib.resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return base64.b64encode(gzip.compress(script, 9, mtime=0)).decode()


class TemplateDataError(Exception):
    """A template asked for something that the study's files do not hold."""


def render(template: str, values: Mapping[str, Any], figures: Mapping[str, charts.Figure], data: Any) -> str:
    """The page from a template in pages/: every value escaped, the figures and the data embedded as JSON."""
    import jinja2
    from markupsafe import Markup

    pages = importlib.resources.files("harness").joinpath("pages")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: pages.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"score": score, "signed": signed_score, "percent": percent, "cut": cut}
    raw = {name: Markup(pages.joinpath(name).read_text(encoding="utf-8")) for name in ("report.css", "report.js")}
    try:
        return environment.get_template(template).render(
            **values,
            style=raw["report.css"],
            script=raw["report.js"],
            figures=Markup(embed(figures)),
            data=Markup(embed(data)),
            library=Markup(plotly_library()),
        )
    except jinja2.UndefinedError as error:
        raise TemplateDataError(str(error)) from None


def score(value: float | None) -> str:
    """A score with four decimals, as in every table; nothing for None."""
    return "" if value is None else f"{value:.4f}"


def signed_score(value: float | None) -> str:
    """A difference with its sign and a true minus; nothing for None."""
    return "" if value is None else signed(value).replace("-", "−")


def percent(value: float | None) -> str:
    """A share in per cent with one decimal; nothing for None."""
    return "" if value is None else f"{value:.1%}".replace("%", " %")


def cut(text: str, length: int = LONGEST_ID) -> str:
    """The beginning of a text."""
    return text if len(text) <= length else text[: length - 1] + "…"


def report_page(findings: Findings, extras: Extras) -> str:
    """The report of one study."""
    config, summary = findings.config, findings.summary
    chosen = "pick" if "pick" in findings.settings else "equal"
    kept = findings.prompts.kept
    names = {system: charts.system_name(system, config.engine) for system in findings.settings}
    at_k = [name.replace("top_k", str(findings.top_k)) for name in config.objective]
    sentences = None
    if "verdict" in summary:
        sentences = verdict_sentences(summary, at_k[0], findings.settings["pick"], findings.settings[kept])
    prompts, detailed = prompts_data(findings, extras)
    values = {
        "findings": findings,
        "summary": summary,
        "config": config,
        "extras": extras,
        "names": names,
        "kept": kept,
        "chosen": chosen,
        "sentences": sentences,
        "exports": extras.exports,
        "first_export": config.engine if config.engine in extras.exports else "json",
        "detailed": detailed,
        "objective": " and ".join(config.objective),
        "at_k": at_k,
        "alternatives": alternatives(findings, names),
        "front": front_rows(findings),
        "curve_table": curve_table(findings),
        "describe": describe,
        "rules": rules_of(config.engine),
    }
    return render("report.html", values, report_figures(findings), prompts)


def front_rows(findings: Findings) -> list[dict[str, Any]]:
    """The trials of the Pareto front of precision and recall."""
    by_number = {trial.number: trial for trial in findings.trials}
    rows = []
    for number in findings.front:
        trial = by_number[number]
        params = params_of(trial, findings.config)
        rows.append({"number": number, "params": params, "values": trial.values, **_precision_recall(trial.logged)})
    return rows


def _precision_recall(logged: Mapping[str, float]) -> dict[str, float]:
    return {"precision": logged["Precision@top_k"], "recall": logged["Recall@top_k"]}


def curve_table(findings: Findings) -> list[tuple[float, float, float, float]]:
    """The curve and its band as a table, for those who cannot see it: weight, score, low, high at ten cells of the grid."""
    if findings.curve is None:
        return []
    band = findings.curve.band
    return [(float(GRID[i]), float(band.mean[i]), float(band.low[i]), float(band.high[i])) for i in range(9, GRID.size, 20)]


def report_figures(findings: Findings) -> dict[str, charts.Figure]:
    """Every chart of the report, by the id of its place on the page."""
    config, made = findings.config, {}
    points = [trial_point(trial, params_of(trial, config)) for trial in findings.trials if trial.state == "COMPLETE"]
    at_k = {c.system: c.at(findings.top_k) for c in findings.cutoffs}
    if findings.curve is not None:
        drawn = findings.curve
        marks = [(m.system, m.weight, m.score, m.same) for m in drawn.marks]
        made["curve"] = charts.curve_figure(
            drawn.curve,
            config.objective[0].replace("top_k", str(findings.top_k)),
            band=(GRID, drawn.band.low, drawn.band.high),
            plateau=drawn.plateau,
            interval=drawn.interval,
            marks=marks,
        )
        versus = drawn.against_kept
        made["difference"] = charts.difference_figure(
            GRID, versus.mean, versus.low, versus.high, findings.prompts.kept, drawn.params.semantic_weight
        )
    if len(config.objective) > 1:
        made["objectives"] = charts.objectives_figure(points, findings.summary["pareto"], config.objective)
    made["trade_off"] = charts.trade_off_figure(points, findings.front, at_k, findings.top_k)
    for name in ("precision", "recall"):
        curves = [(c.system, c.cutoffs.tolist(), getattr(c, name).tolist()) for c in findings.cutoffs]
        made[name] = charts.cutoff_figure(curves, name, findings.top_k)
    if findings.sensitivities:
        swings = [(s.name, s.lowest, findings.at_pick, s.highest) for s in findings.sensitivities]
        made["swings"] = charts.swings_figure(swings)
    if findings.groups:
        rows = [(g.group, g.prompts, g.difference, g.interval) for g in findings.groups]
        made["groups"] = charts.groups_figure(rows, findings.prompts.kept)
    return made


def trial_point(trial: Any, params: Params) -> charts.TrialPoint:
    """A complete trial as the trade-off shows it."""
    at = _precision_recall(trial.logged)
    return charts.TrialPoint(
        trial.number, at["precision"], at["recall"], params.top_k, params.semantic_weight, params.fusion, tuple(trial.values)
    )


def prompts_data(findings: Findings, extras: Extras) -> tuple[dict[str, Any], int]:
    """The table of prompts for the page's script, and how many can be opened: those that differ most, within the budget."""
    table = findings.prompts
    order = sorted(range(table.difference.size), key=lambda q: (-abs(float(table.difference[q])), q))
    detailed, rows = choose_detailed(findings, order)
    place = {row: i for i, row in enumerate(rows)}
    length = max(SNIPPET[0], min(SNIPPET[1], TEXT_BUDGET // max(len(rows), 1)))
    chosen = "pick" if "pick" in table.scores else "equal"
    prompts = []
    for q in range(table.difference.size):
        prompt: dict[str, Any] = {
            "id": cut(extras.query_ids[q]),
            "group": cut(extras.groups[q], 100),
            "text": cut(extras.texts.queries[q].text, LONGEST_TEXT) if extras.texts is not None else "",
            "kept": round(float(table.scores[table.kept][q]), 6),
            "pick": round(float(table.scores[chosen][q]), 6),
            "difference": round(float(table.difference[q]), 6),
            "relevant": len([grade for grade in extras.grades[q].values() if grade >= max(1, _threshold(findings))]),
        }
        if extras.weights:
            prompt["weight"] = extras.weights[q]
        if q in detailed:
            prompt["lists"] = [_list(table.lists[side], q, place, extras.grades[q]) for side in ("kept", "pick")]
            prompt["missed"] = [_missed(m, place, extras.grades[q]) for m in table.missed[q]]
        prompts.append(prompt)
    documents = [[cut(extras.doc_ids[row]), _snippet(extras, row, length)] for row in rows]
    engine = findings.config.engine
    return {
        "prompts": prompts,
        "documents": documents,
        "names": [charts.system_name(table.kept, engine), charts.system_name(chosen, engine)],
        "top_k": findings.top_k,
        "threshold": _threshold(findings),
    }, len(detailed)


def _threshold(findings: Findings) -> int:
    return findings.config.measures.conventions().relevance_threshold


def choose_detailed(findings: Findings, order: Iterable[int]) -> tuple[set[int], list[int]]:
    """The prompts that can be opened, in this order as far as the budget goes, and the rows of the documents that they show."""
    table, rows, detailed = findings.prompts, dict[int, None](), set[int]()
    for q in order:
        wanted = [int(row) for side in table.lists.values() for row in side.rows[q] if row >= 0]
        wanted += [missed.row for missed in table.missed[q]]
        new = {row for row in wanted if row not in rows}
        if len(detailed) >= MOST_DETAILED or (len(rows) + len(new)) * SNIPPET[0] > TEXT_BUDGET:
            break
        rows |= dict.fromkeys(sorted(new))
        detailed.add(q)
    return detailed, list(rows)


def _list(lists: ResultLists, q: int, place: Mapping[int, int], grades: Mapping[int, int]) -> list[list[int | None]]:
    """One list as [document, grade (None: unjudged), keyword rank, semantic rank] a line, best first."""
    held = np.flatnonzero(lists.rows[q] >= 0)
    return [
        [
            place[int(lists.rows[q, i])],
            grades.get(int(lists.rows[q, i])),
            int(lists.keyword_ranks[q, i]),
            int(lists.semantic_ranks[q, i]),
        ]
        for i in held
    ]


def _missed(missed: Missed, place: Mapping[int, int], grades: Mapping[int, int]) -> list[int | None]:
    return [
        place[missed.row],
        grades.get(missed.row),
        missed.keyword_rank,
        missed.semantic_rank,
        missed.kept_rank,
        missed.pick_rank,
    ]


def _snippet(extras: Extras, row: int, length: int) -> str:
    if extras.texts is None or row >= len(extras.texts.texts):
        return ""
    return cut(extras.texts.texts[row], length)


def comparison_page(both: SideBySide, configs: Sequence[Config]) -> str:
    """The page that sets several studies side by side."""
    others = both.rows[1:]
    shown = [row.fitted or row.difference for row in others]
    rows = [(row.name, row.shared, c.mean, c.interval) for row, c in zip(others, shown, strict=True) if c is not None]
    stars = [(row.name, row.curve, row.params.semantic_weight, row.score) for row in both.rows]
    figures = {
        "curves": charts.curves_figure(stars, both.objective),
        "differences": charts.groups_figure(rows, both.rows[0].name),
    }
    said = {
        "curves": f"{both.objective} over the semantic weight. "
        + "; ".join(f"{row.name}: pick {row.score:.4f} at weight {row.params.semantic_weight:.4f}" for row in both.rows),
        "differences": "; ".join(f"{name}: {signed(mean)}" for name, _, mean, _ in rows),
    }
    values = {"both": both, "configs": configs, "alternatives": said, "sentences": compare_sentences(both)}
    return render("comparison.html", values, figures, {})
