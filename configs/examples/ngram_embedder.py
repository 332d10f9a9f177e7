"""An embedder for configs/examples/embedder.yaml: hashed character n-grams, in numpy alone.

The harness calls `embed(texts, kind)`: a list of texts, and "document" or "query". It wants one row of real numbers for each
text, always of one length. Put your own model, or the call of an API, in the place of what stands here.
"""

import zlib

import numpy as np

DIMENSION = 512
SIZES = (3, 4, 5)  # characters of a piece


def embed(texts: list[str], kind: str) -> np.ndarray:
    """A vector for each text, (texts, DIMENSION). Documents and prompts are treated alike: `kind` is for models that do not."""
    return np.stack([vector_of(text) for text in texts])


def vector_of(text: str) -> np.ndarray:
    """Each piece of the text adds 1 or -1 at a place that its hash gives; pieces that occur often add less and less."""
    words = f" {' '.join(text.lower().split())} "
    pieces = [words[start : start + size] for size in SIZES for start in range(max(1, len(words) - size + 1))]
    counts: dict[str, int] = {}
    for piece in pieces:
        counts[piece] = counts.get(piece, 0) + 1
    vector = np.zeros(DIMENSION, dtype=np.float32)
    for piece, count in counts.items():
        number = zlib.crc32(piece.encode("utf-8", "surrogatepass"))
        vector[number % DIMENSION] += np.sqrt(count) * (1 if number & 0x80000000 else -1)
    return vector
