"""The lengths of vectors, and vectors of length 1."""

from __future__ import annotations

import numpy as np

from harness.types import FloatArray, Vectors

LONGEST = 1e18  # of a vector whose inner products single precision can hold
UNIT = 1e-6  # a length this close to 1 is that of a unit vector in single precision


def lengths_of(vectors: Vectors) -> FloatArray:
    """Each row's length, (n,)."""
    lengths: FloatArray = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1))
    return lengths


def scale_to_unit(vectors: Vectors, lengths: FloatArray) -> Vectors:
    """The rows at length 1, by their lengths; zeros stay zeros, and what is a unit vector already stays as it is."""
    divisors = np.where((lengths == 0) | (np.abs(lengths - 1) <= UNIT), 1.0, lengths)
    scaled: Vectors = (vectors / divisors[:, None]).astype(np.float32)
    return scaled
