"""What each prompt counts in a mean: its share of the traffic, where the prompts have weights. Pure.

Notation: `traffic` (n_queries,) are the prompts' weights, at least 0 and not all 0; None where every prompt counts once. A
weighted mean is Σ w·s / Σ w, the one formula for every mean over prompts. A prompt of weight 0 is in no mean, no spread and
no test: whatever is told apart from a mean leaves it out as if it were not there (`leave_out`).

A semantic weight is something else; so the prompts' weights are called traffic throughout the code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.errors import HarnessError
from harness.types import BoolArray, FloatArray, IntArray, Query

LEAST, MOST = 1e-12, 1e12  # of a weight above 0: squares and sums of such numbers stay far from the ends of float64
CARRYING = 3  # prompts that a warning names


def has_weights(queries: Sequence[Query]) -> bool:
    """Whether the prompts have weights; reading has seen to it that all have one, or none."""
    return any(query.weight is not None for query in queries)


def weights_of(queries: Sequence[Query]) -> FloatArray:
    """The prompts' weights as they were given, (n_queries,); 1 where there are none."""
    return np.asarray([1.0 if query.weight is None else query.weight for query in queries], dtype=np.float64)


def all_zero(queries: Sequence[Query]) -> bool:
    """Whether no prompt counts: there is no mean then."""
    return has_weights(queries) and not weights_of(queries).any()


def check_sides(tuned: Sequence[Query], held_out: Sequence[Query]) -> None:
    """HarnessError where one of the two sides has weights and the other none, or a side has nothing that counts."""
    sides = {"prompts to tune on": tuned, "held-out prompts": held_out}
    if has_weights(tuned) != has_weights(held_out):
        have, lack = sides if has_weights(tuned) else reversed(sides)
        raise HarnessError(f"held_out: both sides must have weights, or none, got weights for the {have} and none for the {lack}")
    for name, queries in sides.items():
        if all_zero(queries):
            raise HarnessError(f"held_out: the {name} must have a weight above 0, got 0 for all {len(queries)}")


def traffic_of(queries: Sequence[Query]) -> FloatArray | None:
    """The weights that means are taken with; None where there are none, and where all are equal: nothing is weighed then."""
    weights = weights_of(queries)
    return None if weights.size == 0 or (weights == weights[0]).all() else weights


def weighted_mean(scores: FloatArray, traffic: FloatArray | None) -> float:
    """Σ w·s / Σ w over the prompts, scores (n_queries,); the plain mean without traffic."""
    return float(scores.mean()) if traffic is None else float((traffic * scores).sum() / traffic.sum())


def column_means(scores: FloatArray, traffic: FloatArray | None) -> FloatArray:
    """The mean of every column of scores (n_queries, n_columns)."""
    means: FloatArray = scores.mean(axis=0) if traffic is None else (traffic[:, None] * scores).sum(axis=0) / traffic.sum()
    return means


def counting(traffic: FloatArray | None, n_queries: int) -> BoolArray:
    """True where a prompt counts at all, (n_queries,)."""
    return np.ones(n_queries, dtype=bool) if traffic is None else traffic > 0


def of_rows(traffic: FloatArray | None, rows: BoolArray | IntArray) -> FloatArray | None:
    """The traffic of some of the prompts."""
    return None if traffic is None else traffic[rows]


def leave_out(scores: FloatArray, units: IntArray, traffic: FloatArray | None) -> tuple[FloatArray, IntArray, FloatArray | None]:
    """The same without the prompts that do not count, the units numbered anew; scores are (n_queries, …)."""
    if traffic is None or (traffic > 0).all():
        return scores, units, traffic
    kept = traffic > 0
    return scores[kept], np.unique(units[kept], return_inverse=True)[1].astype(np.int32), traffic[kept]


def count_units(units: IntArray, traffic: FloatArray | None) -> int:
    """How many units count."""
    return int(np.unique(units[counting(traffic, units.size)]).size)


def effective_number(weights: FloatArray) -> float:
    """Kish's effective number of prompts, (Σ w)² / Σ w²: n where all weights are equal, near 1 where one prompt has them all."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / (shares**2).sum())


def describe_weights(queries: Sequence[Query]) -> dict[str, float]:
    """The counts of summary.json: like how many equal prompts these count, and how many do not count; empty without weights."""
    if not has_weights(queries):
        return {}
    weights = weights_of(queries)
    return {"effective_queries": effective_number(weights), "queries_of_weight_0": int((weights == 0).sum())}


def say_uneven(queries: Sequence[Query]) -> str | None:
    """A sentence where few prompts carry the means: an effective number below half of the prompts; else None."""
    weights = weights_of(queries)
    if not has_weights(queries) or effective_number(weights) * 2 >= weights.size:
        return None
    order = heaviest(queries)
    named = ", ".join(f"{queries[i].query_id!r} {weights[i] / weights.sum():.0%}" for i in order)
    return (
        f"by their weights {weights.size} prompts count like {effective_number(weights):.1f} equal ones: a few carry every mean"
        f" ({named}), and intervals hold the truth less often than they say"
    )


def heaviest(queries: Sequence[Query]) -> list[int]:
    """The numbers of the CARRYING prompts with the largest weights, largest first."""
    return [int(i) for i in np.argsort(-weights_of(queries), kind="stable")[:CARRYING]]
