"""Findings as Plotly figures: plain dicts of traces and layout, which a page embeds as JSON and a notebook shows. Pure.

Every system has one colour, dash and symbol everywhere, so that
nothing is told by colour alone; the colours are told apart in the common forms of colour blindness and reach a contrast of 3 : 1
on white and on the dark page. What comes from outside (names of groups, studies) goes through `plain`: Plotly reads tags.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.engines import rules_of
from harness.types import FloatArray

if TYPE_CHECKING:
    from harness.profiles import Curve

MOST_STEPS = 12_000  # of a curve that is drawn; profile.csv has them all
LONGEST_LABEL = 40


@dataclass(frozen=True)
class Look:
    """How one system is drawn."""

    name: str
    color: str
    dash: str
    symbol: str


LOOKS: dict[str, Look] = {
    "pick": Look("pick", "#d86000", "solid", "star"),
    "equal": Look("equal weights", "#4884b4", "dash", "diamond"),
    "current": Look("current setting", "#b4489c", "dash", "square"),
    "best_trial": Look("best trial", "#189c78", "dot", "triangle-up"),
    "keyword": Look("keyword alone", "#9c843c", "longdash", "cross"),
    "semantic": Look("semantic alone", "#6c6cc0", "dashdot", "x"),
    "rrf": Look("RRF", "#788490", "longdashdot", "circle-open"),
}
STUDY_COLORS = ("#d86000", "#4884b4", "#189c78", "#b4489c", "#9c843c", "#6c6cc0", "#788490")
STUDY_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
CURVE, NEUTRAL = LOOKS["equal"].color, LOOKS["rrf"].color  # of what is no system: the exact curve, helping lines
Figure = dict[str, Any]


def system_name(system: str, engine: str | None) -> str:
    """A system as people read it; `rrf` with the constant that it has by default under the engine, another name as it is."""
    if system == "rrf":
        return f"RRF {rules_of(engine).rrf_k}"
    return LOOKS[system].name if system in LOOKS else system


def plain(text: str) -> str:
    """Text from outside as a label: shortened, and its `<` and `&` shown as they are (Plotly renders some tags)."""
    short = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    return html.escape(short, quote=False)


def translucent(color: str, opacity: float) -> str:
    """A #rrggbb colour as rgba."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def layout(x_title: str, y_title: str, **more: Any) -> dict[str, Any]:
    """What all figures share; fonts and backgrounds are left to the page's theme."""
    base: dict[str, Any] = {
        "margin": {"l": 64, "r": 16, "t": 36, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"title": {"text": x_title}, "zeroline": False, "automargin": True},
        "yaxis": {"title": {"text": y_title}, "zeroline": False, "automargin": True},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
    }
    return {**base, **more}


def row_height(rows: int) -> int:
    """The height in pixels of a chart that has a line for each row."""
    return 90 + 42 * max(rows, 1)


def rounded(values: Any, digits: int = 7) -> list[float]:
    """Numbers for drawing, to so many digits: far below a pixel, and a third of the bytes."""
    return [round(float(value), digits) for value in values]


def thin_curve(points: FloatArray, on: FloatArray, most: int = MOST_STEPS) -> tuple[FloatArray, FloatArray]:
    """At most about `most` steps that look the same: of each bundle of neighbouring steps the lowest and the highest stay."""
    if on.size <= most:
        return points, on
    kept: list[int] = []
    for part in np.array_split(np.arange(on.size), most // 2):
        kept += sorted({int(part[np.argmin(on[part])]), int(part[np.argmax(on[part])])})
    kept = sorted({0, *kept})
    return np.concatenate([points[kept], points[-1:]]), on[kept]


def step_trace(curve: Curve, **more: Any) -> dict[str, Any]:
    """The exact curve as a line of steps."""
    points, on = thin_curve(curve.points, curve.on)
    line = {"shape": "hv", **more.pop("line", {})}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(points),
        "y": rounded([*on, on[-1]]),
        "line": line,
        "hovertemplate": "weight %{x:.4f}: %{y:.4f}<extra></extra>",
        **more,
    }


def band_traces(grid: FloatArray, low: FloatArray, high: FloatArray, color: str, name: str) -> list[dict[str, Any]]:
    """A shaded band between two curves."""
    edge = {"type": "scatter", "mode": "lines", "x": rounded(grid, 4), "line": {"width": 0, "color": color}, "hoverinfo": "skip"}
    return [
        {**edge, "y": rounded(low, 6), "showlegend": False},
        {**edge, "y": rounded(high, 6), "fill": "tonexty", "fillcolor": translucent(color, 0.16), "name": name},
    ]


def mark_trace(system: str, weight: float, score: float, note: str = "") -> dict[str, Any]:
    """One system's symbol."""
    look = LOOKS[system]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": look.name,
        "x": [weight],
        "y": [score],
        "marker": {
            "symbol": look.symbol,
            "size": 15 if system == "pick" else 11,
            "color": look.color,
            "line": {"width": 1.5, "color": look.color},
        },
        "hovertemplate": f"{look.name}{note}<br>weight %{{x:.4f}}: %{{y:.4f}}<extra></extra>",
    }


def curve_figure(
    curve: Curve,
    objective: str,
    *,
    band: tuple[FloatArray, FloatArray, FloatArray] | None = None,
    plateau: Sequence[tuple[float, float]] = (),
    interval: tuple[float, float] | None = None,
    marks: Sequence[tuple[str, float, float, bool]] = (),
) -> Figure:
    """The exact curve of the objective over the semantic weight.

    `band` is (grid, low, high); `marks` are (system, weight, score, lies on the curve); `interval` is the pick's.
    """
    traces = [] if band is None else band_traces(*band, color=CURVE, name="95 % interval")
    traces.append(step_trace(curve, name="exact curve", line={"color": CURVE, "width": 1.6}))
    if plateau:
        xs: list[float | None] = [end for low, high in plateau for end in (low, high, None)]
        low = min(float(curve.on.min()), *(score for _, _, score, _ in marks)) if marks else float(curve.on.min())
        ys = [None if x is None else low for x in xs]
        line = {"color": LOOKS["best_trial"].color, "width": 7}
        traces.append(
            {"type": "scatter", "mode": "lines", "name": "plateau", "x": xs, "y": ys, "line": line,
             "hovertemplate": "plateau, weight %{x:.4f}<extra></extra>"}
        )  # fmt: skip
    shapes = []
    if interval is not None and interval[0] < interval[1]:
        shapes.append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": interval[0], "x1": interval[1], "y0": 0, "y1": 1,
             "line": {"width": 0}, "fillcolor": translucent(LOOKS["pick"].color, 0.10), "layer": "below"}
        )  # fmt: skip
        traces.append(
            {"type": "scatter", "mode": "markers", "x": [None], "y": [None],
             "name": "as good as the pick, for all these prompts say",
             "marker": {"symbol": "square", "size": 12, "color": translucent(LOOKS["pick"].color, 0.35)}}
        )  # fmt: skip
    for system, weight, score, same in marks:
        note = "" if same else " (another fusion or depth: it need not lie on the curve)"
        traces.append(mark_trace(system, weight, score, note))
    axis = {"title": {"text": "semantic weight"}, "range": [-0.02, 1.02], "zeroline": False}
    return {"data": traces, "layout": layout("", plain(objective), xaxis=axis, shapes=shapes)}


def difference_figure(
    grid: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray, kept: str, pick_weight: float
) -> Figure:
    """The paired difference to what is kept over the weight, with its interval: where the band leaves 0, the prompts prove it."""
    color = LOOKS["pick"].color
    traces = band_traces(grid, low, high, color, "95 % interval")
    traces.append(
        {"type": "scatter", "mode": "lines", "name": f"difference to {LOOKS[kept].name}", "x": rounded(grid, 4),
         "y": rounded(mean, 6), "line": {"color": color, "width": 1.6},
         "hovertemplate": "weight %{x:.4f}: %{y:+.4f}<extra></extra>"}
    )  # fmt: skip
    shapes = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"width": 1.2, "color": NEUTRAL}},
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": pick_weight, "x1": pick_weight,
         "line": {"width": 1.2, "dash": "dot", "color": color}},
    ]  # fmt: skip
    axis = {"title": {"text": "semantic weight"}, "range": [-0.02, 1.02], "zeroline": False}
    return {"data": traces, "layout": layout("", "difference", xaxis=axis, shapes=shapes)}


@dataclass(frozen=True)
class TrialPoint:
    """One trial in the trade-off: at its own K."""

    number: int
    precision: float
    recall: float
    top_k: int
    semantic_weight: float
    fusion: str
    objective: tuple[float, ...]


def trade_off_figure(
    trials: Sequence[TrialPoint], front: Sequence[int], systems: Mapping[str, tuple[float, float]], top_k: int
) -> Figure:
    """Precision over recall of every trial at its own K, with the Pareto front; the systems' (precision, recall) at `top_k`."""
    numbers = {trial.number: trial for trial in trials}
    template = (
        "trial %{customdata[0]}<br>K %{marker.color}, weight %{customdata[1]:.4f}, %{customdata[2]}<br>"
        "recall %{x:.4f}, precision %{y:.4f}<br>objective %{customdata[3]}<extra></extra>"
    )
    cloud = {
        "type": "scatter",
        "mode": "markers",
        "name": "trials (colour: K)",
        "x": rounded([t.recall for t in trials], 6),
        "y": rounded([t.precision for t in trials], 6),
        "customdata": [
            [t.number, round(t.semantic_weight, 6), t.fusion, ", ".join(f"{value:.4f}" for value in t.objective)] for t in trials
        ],
        "marker": {
            "size": 7,
            "opacity": 0.75,
            "color": [t.top_k for t in trials],
            "colorscale": "Cividis",
            "colorbar": {"title": {"text": "K"}, "thickness": 12, "outlinewidth": 0},
            "line": {"width": 0.5, "color": NEUTRAL},
        },
        "hovertemplate": template,
    }
    best = [numbers[number] for number in front]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto front",
        "x": rounded([t.recall for t in best], 6),
        "y": rounded([t.precision for t in best], 6),
        "line": {"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }
    marks = []
    for system, (precision, recall) in systems.items():
        mark = mark_trace(system, recall, precision)
        mark["hovertemplate"] = f"{LOOKS[system].name} at K = {top_k}<br>recall %{{x:.4f}}, precision %{{y:.4f}}<extra></extra>"
        marks.append(mark)
    return {"data": [cloud, line, *marks], "layout": layout("recall at K", "precision at K")}


def objectives_figure(trials: Sequence[TrialPoint], front: Sequence[int], names: Sequence[str]) -> Figure:
    """Both objectives of every trial, and the front of the trials that no other beats in both."""
    numbers = {trial.number: trial for trial in trials}
    best = sorted((numbers[n] for n in front), key=lambda t: t.objective[0])
    cloud = {
        "type": "scatter",
        "mode": "markers",
        "name": "trials (colour: semantic weight)",
        "x": rounded([t.objective[0] for t in trials], 6),
        "y": rounded([t.objective[1] for t in trials], 6),
        "customdata": [[t.number, t.top_k, t.fusion] for t in trials],
        "marker": {"size": 7, "opacity": 0.75, "color": rounded([t.semantic_weight for t in trials], 4), "colorscale": "Cividis",
                   "colorbar": {"title": {"text": "weight"}, "thickness": 12, "outlinewidth": 0}},
        "hovertemplate": "trial %{customdata[0]}: K %{customdata[1]}, weight %{marker.color:.4f}, %{customdata[2]}<br>"
                         "%{x:.4f}, %{y:.4f}<extra></extra>",
    }  # fmt: skip
    line = {"type": "scatter", "mode": "lines+markers", "name": "Pareto front", "x": rounded([t.objective[0] for t in best], 6),
            "y": rounded([t.objective[1] for t in best], 6), "line": {"color": LOOKS["pick"].color, "width": 1.5},
            "marker": {"symbol": "circle-open", "size": 11}, "hoverinfo": "skip"}  # fmt: skip
    return {"data": [cloud, line], "layout": layout(plain(names[0]), plain(names[1]))}


def cutoff_figure(curves: Sequence[tuple[str, Sequence[int], Sequence[float]]], measure: str, top_k: int | None) -> Figure:
    """One measure over K for several systems: (system, Ks, values); a dotted line stands at the pick's K."""
    traces = []
    for system, cutoffs, values in curves:
        look = LOOKS[system]
        traces.append(
            {"type": "scatter", "mode": "lines+markers", "name": look.name, "x": [int(c) for c in cutoffs],
             "y": rounded(values, 6), "line": {"color": look.color, "dash": look.dash, "width": 2.4 if system == "pick" else 1.5},
             "marker": {"symbol": look.symbol, "size": 6, "color": look.color},
             "hovertemplate": f"{look.name}, K = %{{x}}: %{{y:.4f}}<extra></extra>"}
        )  # fmt: skip
    shapes = []
    if top_k is not None:
        shapes.append(
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": top_k, "x1": top_k,
             "line": {"width": 1.2, "dash": "dot", "color": NEUTRAL}}
        )  # fmt: skip
    return {"data": traces, "layout": layout("K", measure, shapes=shapes)}


def swings_figure(rows: Sequence[tuple[str, float, float, float]]) -> Figure:
    """For each parameter (name, lowest, at the pick, highest) the range of the objective when it alone changes, a bar each."""
    rows = list(reversed(rows))
    names = [name for name, *_ in rows]
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": "from its worst to its best value",
        "y": names,
        "base": rounded([low for _, low, _, _ in rows], 6),
        "x": rounded([high - low for _, low, _, high in rows], 6),
        "marker": {"color": CURVE},
        "customdata": [[round(low, 6), round(high, 6)] for _, low, _, high in rows],
        "hovertemplate": "%{y}: %{customdata[0]:.4f} to %{customdata[1]:.4f}<extra></extra>",
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "as picked",
        "y": names,
        "x": rounded([at for _, _, at, _ in rows], 6),
        "marker": {"symbol": "star", "size": 14, "color": LOOKS["pick"].color},
        "hovertemplate": "%{y} as picked: %{x:.4f}<extra></extra>",
    }
    return {"data": [bars, points], "layout": layout("objective", "", height=row_height(len(rows)))}


def groups_figure(rows: Sequence[tuple[str, int, float, tuple[float, float] | None]], kept: str) -> Figure:
    """Each group's (or study's) difference to `kept` with its interval: (group, prompts, difference, interval)."""
    look = LOOKS[kept].name if kept in LOOKS else plain(kept)
    rows = list(reversed(rows))
    places = list(range(len(rows)))
    ends = [interval or (difference, difference) for _, _, difference, interval in rows]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded([difference for _, _, difference, _ in rows], 6),
        "y": places,
        "marker": {"symbol": "circle", "size": 10, "color": LOOKS["pick"].color},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": rounded([high - d for (_, _, d, _), (_, high) in zip(rows, ends, strict=True)], 6),
            "arrayminus": rounded([d - low for (_, _, d, _), (low, _) in zip(rows, ends, strict=True)], 6),
            "color": LOOKS["pick"].color,
            "thickness": 1.6,
        },
        "showlegend": False,
        "hovertemplate": "%{x:+.4f}<extra></extra>",
    }
    labels = [f"{plain(group) or '(none)'} ({prompts})" for group, prompts, _, _ in rows]
    axis = {"tickmode": "array", "tickvals": places, "ticktext": labels, "zeroline": False, "automargin": True}
    shapes = [{"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": 0, "x1": 0, "line": {"width": 1.2, "color": NEUTRAL}}]
    return {
        "data": [trace],
        "layout": layout(f"difference to {look}", "", yaxis=axis, shapes=shapes, height=row_height(len(rows))),
    }


def curves_figure(curves: Sequence[tuple[str, Curve, float, float]], objective: str) -> Figure:
    """Several studies' exact curves on one axis, each with its pick: (study, curve, picked weight, its score)."""
    traces = []
    for i, (study, curve, weight, score) in enumerate(curves):
        color, dash = STUDY_COLORS[i % len(STUDY_COLORS)], STUDY_DASHES[i % len(STUDY_DASHES)]
        traces.append(step_trace(curve, name=plain(study), line={"color": color, "dash": dash, "width": 1.6}, legendgroup=str(i)))
        traces.append(
            {"type": "scatter", "mode": "markers", "x": [weight], "y": [score], "showlegend": False, "legendgroup": str(i),
             "marker": {"symbol": "star", "size": 14, "color": color},
             "hovertemplate": f"{plain(study)}: pick<br>weight %{{x:.4f}}: %{{y:.4f}}<extra></extra>"}
        )  # fmt: skip
    axis = {"title": {"text": "semantic weight"}, "range": [-0.02, 1.02], "zeroline": False}
    return {"data": traces, "layout": layout("", plain(objective), xaxis=axis)}
