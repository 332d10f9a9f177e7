"""Prompts that belong together stay together: folds and resamples of whole units. Pure.

A *unit* is a cluster of prompts (paraphrases of one question, say), or a prompt without a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.types import BoolArray, FloatArray, IntArray


def number_units(clusters: Sequence[str]) -> IntArray:
    """Each prompt's unit, numbered from 0 in order of first appearance, (n_queries,)."""
    seen: dict[str, int] = {}
    keys = [f"cluster {cluster}" if cluster else f"prompt {i}" for i, cluster in enumerate(clusters)]
    return np.asarray([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int32)


def make_rng(seed: int, *purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose: adding one draw somewhere moves no other."""
    return np.random.default_rng([seed, *purpose])


def split_folds(units: IntArray, n_folds: int, rng: np.random.Generator, counts: BoolArray | None = None) -> IntArray:
    """Each prompt's fold, (n_queries,), whole units at random, folds of equal size to one unit.

    There are at most as many folds as units. With `counts` (n_queries,) these are the units of prompts that count; the others
    are dealt out beside them, and move none of them.
    """
    n_units = int(units.max()) + 1
    drawn = np.arange(n_units) if counts is None else np.unique(units[counts])
    n_folds = min(n_folds, drawn.size)
    fold_of_unit = (np.arange(n_units) % n_folds).astype(np.int32)
    fold_of_unit[drawn[rng.permutation(drawn.size)]] = np.arange(drawn.size) % n_folds
    return fold_of_unit[units]


def resample_counts(units: IntArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """How often each prompt counts in each bootstrap resample of the units, (n_queries, n_resamples)."""
    n_units = int(units.max()) + 1
    drawn = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_resamples)
    return drawn[:, units].T.astype(np.float64)
