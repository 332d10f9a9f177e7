"""`profile`: the exact curve over the semantic weight for one discrete setting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import record
from harness.charts import curve_figure
from harness.commands.judge import params_as_dict, plateau_of
from harness.config import Config, load_config, read_weights
from harness.decide import mean_score, profiles_of
from harness.errors import HarnessError
from harness.live import with_lists
from harness.notebook import Rows, Shown, as_figure
from harness.prepare import Timings, prepare, read_data, split_held_out
from harness.profiles import Curve, find_optimum, mean_curve
from harness.progress import Progress, Silence
from harness.types import Params


@dataclass(frozen=True)
class ProfileResult(Shown):
    """The curve, the discrete setting that it belongs to, its value at .5, and where it was written (None: nowhere)."""

    config: Config
    params: Params
    curve: Curve
    at_half: float
    out: Path | None

    def rows(self) -> Rows:
        """The exact curve as in profile.csv."""
        return [{"weight_from": low, "weight_to": high, "score": score} for low, high, score in self.curve.rows()]

    def short(self) -> Rows:
        """The optimum, the ends and the middle."""
        optimum = find_optimum(self.curve)
        rows = [("keyword alone", 0.0, float(self.curve.at[0])), ("weight .5", 0.5, self.at_half)]
        rows += [("optimum", optimum.weight, optimum.score), ("semantic alone", 1.0, float(self.curve.at[-1]))]
        return [{"what": what, "semantic_weight": weight, "score": score} for what, weight, score in rows]

    def caption(self) -> str:
        """What the curve is of."""
        return f"{self.config.objective[0]} over the semantic weight, {self.params.fusion}, K = {self.params.top_k}"

    def figure(self) -> Any:
        """The curve as a plotly figure."""
        return as_figure(curve_figure(self.curve, self.config.objective[0], plateau=plateau_of(self.curve)))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        optimum = find_optimum(self.curve)
        best = {k: v for k, v in vars(optimum).items() if v is not None}
        setting = {k: v for k, v in params_as_dict(self.params).items() if k != "semantic_weight"}
        return {
            "objective": self.config.objective[0],
            "params": setting,
            "intervals": int(self.curve.on.size),
            "optimum": best,
            "plateau": [list(pair) for pair in plateau_of(self.curve)],
            "keyword": float(self.curve.at[0]),
            "semantic": float(self.curve.at[-1]),
            "at_half": self.at_half,
        }


def profile(
    config: Config | str | Path,
    *,
    weights: str | Path | None = None,
    out: str | Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> ProfileResult:
    """The exact curve for the discrete setting of a weights file, or of the config's top-level values.

    Written as profile.csv to `out` where it is given; `allow_code` is leave to run the config's embedder. HarnessError for
    wrong input or two objectives.
    """
    config = load_config(config, allow_code=allow_code)
    if len(config.objective) > 1:
        raise HarnessError("objective: must be one measure for a profile, got two; name one of them")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    progress = progress or Silence()
    dataset, _ = split_held_out(config, read_data(config, progress))
    dataset, _ = with_lists(config, dataset, None, progress, also=params)
    prepared = prepare(config, dataset, progress, Timings(), also=params)
    measure = config.objectives[0]
    curve = mean_curve(profiles_of(prepared.hybrid, params, measure, [params.top_k])[0], prepared.hybrid.traffic)
    at_half = mean_score(prepared.hybrid, replace(params, semantic_weight=0.5), measure)
    if out is not None:
        record.write_profile(Path(out), curve)
    return ProfileResult(config, params, curve, at_half, Path(out) if out is not None else None)
