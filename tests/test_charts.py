"""Charts as plain dicts: labels that are text only, curves thinned without a loss that one sees, colours that are told apart."""

from __future__ import annotations

import html
import itertools
import json
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import charts
from harness.charts import (
    LONGEST_LABEL,
    LOOKS,
    MOST_STEPS,
    STUDY_COLORS,
    STUDY_DASHES,
    TrialPoint,
    plain,
    step_trace,
    thin_curve,
    translucent,
)
from harness.choice import GRID
from harness.notebook import HEIGHT, as_figure
from harness.page import embed
from harness.profiles import Curve

PAGES = {"light": "#ffffff", "dark": "#12171e"}

# ---- labels -----------------------------------------------------------------------------------------------------------


def test_a_label_is_shortened_and_its_tags_are_text() -> None:
    assert plain("billing") == "billing"
    assert plain("<b>bold</b> & co") == "&lt;b&gt;bold&lt;/b&gt; &amp; co"
    assert plain("\"quotes\" and 'single'") == "\"quotes\" and 'single'"
    assert plain("x" * LONGEST_LABEL) == "x" * LONGEST_LABEL
    assert plain("x" * (LONGEST_LABEL + 1)) == "x" * (LONGEST_LABEL - 1) + "…"
    assert plain("&" * 100) == "&amp;" * (LONGEST_LABEL - 1) + "…"  # no entity is cut in two


@given(st.text(max_size=100))
def test_no_label_holds_a_tag_or_is_long(text: str) -> None:
    label = plain(text)
    assert "<" not in label and ">" not in label
    assert len(html.unescape(label)) <= LONGEST_LABEL or "&" in text
    if len(text) <= LONGEST_LABEL:
        assert label.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


def test_translucent() -> None:
    assert translucent("#d55e00", 0.16) == "rgba(213,94,0,0.16)"


# ---- curves -----------------------------------------------------------------------------------------------------------

scores = st.lists(st.integers(0, 50).map(lambda n: n / 50), min_size=1, max_size=400)


@given(on=scores, most=st.integers(4, 60), seed=st.integers(0, 99))
def test_a_thinned_curve_keeps_extremes_and_ends(on: list[float], most: int, seed: int) -> None:
    values = np.asarray(on)
    inner = np.sort(np.random.default_rng(seed).random(values.size - 1))
    points = np.concatenate([[0.0], inner, [1.0]])
    before = points.copy(), values.copy()
    thin, kept = thin_curve(points, values, most)
    assert thin.size == kept.size + 1
    assert (kept.min(), kept.max()) == (values.min(), values.max())
    assert (thin[0], thin[-1]) == (0.0, 1.0)
    assert (np.diff(thin) >= 0).all() and set(thin) <= set(points)
    for point, value in zip(thin[:-1], kept, strict=True):  # what is kept stands where it stood
        assert value in values[points[:-1] == point]
    assert kept.size <= max(most, values.size if values.size <= most else 0) + 1
    if values.size <= most:
        assert thin is points and kept is values
    assert np.array_equal(points, before[0]) and np.array_equal(values, before[1])


def make_curve(n: int) -> Curve:
    rng = np.random.default_rng(3)
    points = np.concatenate([[0.0], np.sort(rng.random(n - 1)), [1.0]])
    return Curve(points, rng.random(n + 1), rng.random(n))


def test_a_step_trace_holds_every_step() -> None:
    curve = Curve(np.asarray([0.0, 0.25, 1.0]), np.asarray([0.1, 0.2, 0.3]), np.asarray([0.4, 0.5]))
    trace = step_trace(curve, name="n", line={"width": 3})
    assert (trace["x"], trace["y"]) == ([0.0, 0.25, 1.0], [0.4, 0.5, 0.5])  # the last step reaches the end
    assert trace["line"] == {"shape": "hv", "width": 3} and trace["name"] == "n"
    long = step_trace(make_curve(3 * MOST_STEPS))
    assert len(long["x"]) == len(long["y"]) <= MOST_STEPS + 2


# ---- figures ----------------------------------------------------------------------------------------------------------

CURVE = make_curve(30)
MARKS = [(system, i / 10, 0.3 + i / 100, i % 2 == 0) for i, system in enumerate(LOOKS) if system != "rrf"]
BAND = (GRID, GRID * 0.1, GRID * 0.2)
TRIALS = [TrialPoint(n, n / 10, 1 - n / 10, 3 + n, n / 9, "minmax" if n % 2 else "rrf", (n / 7, 1 - n / 7)) for n in range(8)]
GROUPS = [("<b>a</b>", 12, 0.125, (-0.05, 0.3)), ("", 1, -0.25, None), ("z" * 60, 3, 0.0, (0.0, 0.0))]
SWINGS = [("semantic_weight", 0.2, 0.5, 0.6), ("top_k", 0.4, 0.5, 0.5)]
FIGURES: dict[str, dict[str, Any]] = {
    "curve": charts.curve_figure(CURVE, "MAP@5", band=BAND, plateau=[(0.2, 0.3), (0.5, 0.6)], interval=(0.1, 0.4), marks=MARKS),
    "bare curve": charts.curve_figure(CURVE, "MAP@5"),
    "difference": charts.difference_figure(GRID, GRID - 0.5, GRID - 0.7, GRID - 0.4, "current", 0.375),
    "trade-off": charts.trade_off_figure(TRIALS, (7, 3, 0), {"pick": (0.4, 0.5), "rrf": (0.2, 0.3)}, 5),
    "objectives": charts.objectives_figure(TRIALS, [5, 1], ["MAP@5", "<i>"]),
    "cutoffs": charts.cutoff_figure([("pick", [1, 2, 4], [0.1, 0.2, 0.4]), ("rrf", [1, 2, 4], [0.3, 0.3, 0.3])], "recall", 4),
    "no cutoff": charts.cutoff_figure([("pick", [1], [0.1])], "recall", None),
    "swings": charts.swings_figure(SWINGS),
    "groups": charts.groups_figure(GROUPS, "current"),
    "studies": charts.groups_figure(GROUPS, "<i>first"),
    "curves": charts.curves_figure([(f"<b>{i}", CURVE, i / 10, i / 9) for i in range(9)], "MAP@5"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_knows_every_name_in_a_figure(name: str) -> None:
    figure = as_figure(FIGURES[name])  # plotly refuses a property or a value that it does not know
    assert isinstance(figure, go.Figure)
    assert len(figure.data) == len(FIGURES[name]["data"])
    assert figure.layout.height == FIGURES[name]["layout"].get("height", HEIGHT)
    json.loads(embed(FIGURES[name]))  # what a page embeds: no numpy numbers, nothing that is not finite


def test_plotly_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="symbole"):
        as_figure({"data": [{"type": "scatter", "marker": {"symbole": "star"}}], "layout": {}})
    with pytest.raises(ValueError, match="stars"):
        as_figure({"data": [{"type": "scatter", "marker": {"symbol": "stars"}}], "layout": {}})


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_holds_a_tag_from_outside(name: str) -> None:
    text = json.dumps(FIGURES[name])
    for tag in ("<b>a", "<b>0", "<b>8", "<i>"):
        assert tag not in text


def named(figure: dict[str, Any], name: str) -> dict[str, Any]:
    (trace,) = (trace for trace in figure["data"] if trace.get("name") == name)
    return trace  # type: ignore[no-any-return]


def test_the_curve_holds_its_numbers() -> None:
    figure = FIGURES["curve"]
    line = named(figure, "exact curve")
    assert line["x"] == pytest.approx(CURVE.points.tolist(), abs=1e-7) and line["y"][:-1] == pytest.approx(
        CURVE.on.tolist(), abs=1e-7
    )
    low, high = figure["data"][:2]
    assert low["y"] == pytest.approx(BAND[1].tolist(), abs=1e-6) and high["y"] == pytest.approx(BAND[2].tolist(), abs=1e-6)
    assert low["x"] == pytest.approx(GRID.tolist()) and high["fill"] == "tonexty"
    for system, weight, score, same in MARKS:
        mark = named(figure, LOOKS[system].name)
        assert (mark["x"], mark["y"]) == ([weight], [score])
        assert ("need not lie on the curve" in mark["hovertemplate"]) is not same
    assert named(figure, "plateau")["x"] == [0.2, 0.3, None, 0.5, 0.6, None]
    (rectangle,) = figure["layout"]["shapes"]
    assert (rectangle["x0"], rectangle["x1"]) == (0.1, 0.4)
    assert len(FIGURES["bare curve"]["data"]) == 1 and not FIGURES["bare curve"]["layout"]["shapes"]


def test_an_interval_of_one_weight_is_not_drawn() -> None:
    figure = charts.curve_figure(CURVE, "MAP@5", interval=(0.5, 0.5))
    assert not figure["layout"]["shapes"] and len(figure["data"]) == 1


def test_the_difference_holds_its_numbers() -> None:
    figure = FIGURES["difference"]
    line = named(figure, "difference to current setting")
    assert line["x"] == pytest.approx(GRID.tolist()) and line["y"] == pytest.approx((GRID - 0.5).tolist())
    assert figure["data"][0]["y"] == pytest.approx((GRID - 0.7).tolist()) and figure["data"][1]["y"] == pytest.approx(
        (GRID - 0.4).tolist()
    )
    zero, pick = figure["layout"]["shapes"]
    assert (zero["y0"], zero["y1"]) == (0, 0) and (pick["x0"], pick["x1"]) == (0.375, 0.375)


def test_the_trade_off_holds_its_numbers() -> None:
    cloud, front, *systems = FIGURES["trade-off"]["data"]
    assert cloud["x"] == pytest.approx([t.recall for t in TRIALS]) and cloud["y"] == pytest.approx([t.precision for t in TRIALS])
    assert cloud["marker"]["color"] == [t.top_k for t in TRIALS]
    assert [row[0] for row in cloud["customdata"]] == [t.number for t in TRIALS]
    assert cloud["customdata"][5] == [5, round(5 / 9, 6), "minmax", f"{5 / 7:.4f}, {2 / 7:.4f}"]
    assert (front["x"], front["y"]) == (pytest.approx([0.3, 0.7, 1.0]), pytest.approx([0.7, 0.3, 0.0]))
    assert [(s["name"], s["x"], s["y"]) for s in systems] == [("pick", [0.5], [0.4]), ("RRF", [0.3], [0.2])]


def test_both_objectives_hold_their_numbers() -> None:
    cloud, front = FIGURES["objectives"]["data"]
    assert cloud["x"] == pytest.approx([t.objective[0] for t in TRIALS], abs=1e-6)
    assert cloud["y"] == pytest.approx([t.objective[1] for t in TRIALS], abs=1e-6)
    assert cloud["customdata"][3] == [3, 6, "minmax"]
    assert front["x"] == pytest.approx([1 / 7, 5 / 7], abs=1e-6)  # from left to right, whatever the order of the numbers


def test_cutoffs_swings_and_groups_hold_their_numbers() -> None:
    pick, rrf = FIGURES["cutoffs"]["data"]
    assert (pick["x"], pick["y"], rrf["y"]) == ([1, 2, 4], [0.1, 0.2, 0.4], [0.3, 0.3, 0.3])
    assert FIGURES["cutoffs"]["layout"]["shapes"][0]["x0"] == 4 and not FIGURES["no cutoff"]["layout"]["shapes"]
    bars, stars = FIGURES["swings"]["data"]
    assert bars["y"] == stars["y"] == ["top_k", "semantic_weight"]  # the first row is drawn on top
    assert bars["base"] == [0.4, 0.2] and bars["x"] == pytest.approx([0.1, 0.4]) and stars["x"] == [0.5, 0.5]
    (dots,) = FIGURES["groups"]["data"]
    assert dots["x"] == [0.0, -0.25, 0.125]
    assert dots["error_x"]["array"] == pytest.approx([0.0, 0.0, 0.175])
    assert dots["error_x"]["arrayminus"] == pytest.approx([0.0, 0.0, 0.175])
    labels = FIGURES["groups"]["layout"]["yaxis"]["ticktext"]
    assert labels == ["z" * (LONGEST_LABEL - 1) + "… (3)", "(none) (1)", "&lt;b&gt;a&lt;/b&gt; (12)"]
    assert FIGURES["groups"]["layout"]["xaxis"]["title"]["text"] == "difference to current setting"
    assert FIGURES["studies"]["layout"]["xaxis"]["title"]["text"] == "difference to &lt;i&gt;first"


def test_studies_are_told_apart_by_colour_and_dash() -> None:
    traces = FIGURES["curves"]["data"]
    lines, stars = traces[::2], traces[1::2]
    assert [line["name"] for line in lines] == [f"&lt;b&gt;{i}" for i in range(9)]
    assert len({(line["line"]["color"], line["line"]["dash"]) for line in lines}) == 9
    assert [(star["x"], star["y"]) for star in stars] == [([i / 10], [i / 9]) for i in range(9)]
    assert [star["marker"]["color"] for star in stars] == [line["line"]["color"] for line in lines]
    assert math.gcd(len(STUDY_COLORS), len(STUDY_DASHES)) == 1  # so many pairs before one comes again


# ---- colours ----------------------------------------------------------------------------------------------------------


def linear(color: str) -> np.ndarray[Any, Any]:
    """The sRGB colour as linear light."""
    values = np.asarray([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's ratio of relative luminances."""
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


# Machado, Oliveira and Fernandes 2009, severity 1, on linear light
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.asarray([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.asarray(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
XYZ = np.asarray([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, blindness: str) -> np.ndarray[Any, Any]:
    """CIE L*a*b* (D65) of the colour as someone with this form of colour blindness sees it."""
    seen = np.clip(BLINDNESS[blindness] @ linear(color), 0, 1)
    x, y, z = (XYZ @ seen) / [0.9505, 1.0, 1.089]
    fx, fy, fz = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z))
    return np.asarray([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def test_the_colour_arithmetic() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert lab("#ffffff", "none") == pytest.approx([100, 0, 0], abs=0.1)
    red_green = [float(np.linalg.norm(lab("#c00000", b) - lab("#5a6a00", b))) for b in ("none", "deuteranopia")]
    assert red_green[0] > 60 > 25 > red_green[1]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("color", sorted({look.color for look in LOOKS.values()} | set(STUDY_COLORS)))
def test_every_colour_stands_out_from_both_pages(color: str, page: str) -> None:
    assert contrast(color, PAGES[page]) >= 3


def test_every_system_has_a_look_of_its_own() -> None:
    for attribute in ("name", "color", "symbol"):
        assert len({getattr(look, attribute) for look in LOOKS.values()}) == len(LOOKS), attribute
    assert len({(look.dash, look.symbol) for look in LOOKS.values()}) == len(LOOKS)
    assert list(LOOKS) == ["pick", "equal", "current", "best_trial", "keyword", "semantic", "rrf"]


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_systems_are_told_apart_in_the_forms_of_colour_blindness(blindness: str) -> None:
    """A distance of 10 in L*a*b* is seen at a glance (2.3 is just noticeable); dash and symbol differ besides."""
    near = {}
    for one, other in itertools.combinations(LOOKS.values(), 2):
        distance = float(np.linalg.norm(lab(one.color, blindness) - lab(other.color, blindness)))
        if distance < 10:
            near[one.name, other.name] = round(distance, 1)
    assert near == {}
