"""`profile`: the exact curve over the semantic weight for one discrete setting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import record
from harness.commands.judge import params_as_dict, plateau_of
from harness.config import Config, load_config, read_weights
from harness.decide import mean_score, profiles_of
from harness.errors import HarnessError
from harness.prepare import Timings, prepare, read_data, split_held_out
from harness.profiles import Curve, find_optimum, mean_curve
from harness.progress import Progress, Silence
from harness.types import Params


@dataclass(frozen=True)
class ProfileResult:
    """The curve, the discrete setting that it belongs to, its value at .5, and where it was written (None: nowhere)."""

    config: Config
    params: Params
    curve: Curve
    at_half: float
    out: Path | None

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
    progress: Progress | None = None,
) -> ProfileResult:
    """The exact curve for the discrete setting of a weights file, or of the config's top-level values.

    Written as profile.csv to `out` where it is given. HarnessError for wrong input or two objectives.
    """
    config = load_config(config)
    if len(config.objective) > 1:
        raise HarnessError("objective: must be one measure for a profile, got two; name one of them")
    params = read_weights(Path(weights), config) if weights is not None else config.base
    dataset, _ = split_held_out(config, read_data(config))
    prepared = prepare(config, dataset, progress or Silence(), Timings(), also=params)
    measure = config.objectives[0]
    curve = mean_curve(profiles_of(prepared.hybrid, params, measure, [params.top_k])[0])
    at_half = mean_score(prepared.hybrid, replace(params, semantic_weight=0.5), measure)
    if out is not None:
        record.write_profile(Path(out), curve)
    return ProfileResult(config, params, curve, at_half, Path(out) if out is not None else None)
