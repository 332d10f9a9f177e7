"""Results as a notebook shows them: tables as HTML and pandas frames, figures as plotly's. Home of plotly, imported late."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]
HEIGHT = 420  # pixels of a figure that says nothing of its own


def as_figure(figure: Mapping[str, Any]) -> Any:
    """A figure of `charts` as a `plotly.graph_objects.Figure`."""
    import plotly.graph_objects as go

    made = go.Figure(figure)
    made.update_layout(template="plotly_white", height=figure["layout"].get("height", HEIGHT))
    return made


class Shown:
    """What a result of a command needs to be shown: its rows, what stands above them, and the rows of the short view."""

    def rows(self) -> Rows:
        """The result as rows, the keys being the columns."""
        raise NotImplementedError

    def caption(self) -> str:
        """One line that says what the rows are."""
        raise NotImplementedError

    def short(self) -> Rows:
        """The rows that a notebook shows."""
        return self.rows()

    def to_frame(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        return as_frame(self.rows())

    def _repr_html_(self) -> str:
        return as_html(self.caption(), self.short())


def as_frame(rows: Rows) -> Any:
    """Rows as a `pandas.DataFrame`, a column for each key; an empty frame for none."""
    import pandas as pd

    return pd.DataFrame([dict(row) for row in rows])


def as_html(caption: str, rows: Rows, *, most: int = 30) -> str:
    """Rows as an HTML table with a caption: numbers right-aligned with four decimals, text escaped, at most `most` rows."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th style='text-align:{_side(rows, name)}'>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:{_side(rows, n)}'>{_cell(row.get(n))}</td>" for n in names) + "</tr>"
        for row in rows[:most]
    )
    more = f"<p>… and {len(rows) - most} more rows</p>" if len(rows) > most else ""
    return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _side(rows: Rows, name: str) -> str:
    return "right" if all(isinstance(row.get(name), (int, float, type(None))) for row in rows) else "left"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else html.escape(str(value))
