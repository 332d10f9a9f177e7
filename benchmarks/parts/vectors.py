"""Candidate generation from vectors: exact search beside FAISS and numpy, and approximate indexes beside exact search.

Vectors are synthetic and of length 1: 32 hidden dimensions, 2,000 centres in them with noise around each, projected to 384 with a
little noise more: embeddings lie so too, near a surface of few dimensions. Prompts are drawn the same way. The vectors lie in a
file that each side maps into its memory; each side is a fresh process.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Row, added_peak, bare, costs, faster, in_child, seconds

PART = "vectors"
DIMENSION, HIDDEN, CENTRES, PROMPTS, DEPTH = 384, 32, 2000, 1000, 100
DOCUMENTS, APPROXIMATE = 1_000_000, 100_000
BLOCK = 100_000  # documents at a time, of numpy's side
FACTORIES = ("HNSW32", "IVF1024,Flat", "SQ8")


def write_vectors(folder: Path, n: int, seed: int = 7) -> None:
    """documents.npy and prompts.npy."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CENTRES, HIDDEN), dtype=np.float32)
    projection = rng.standard_normal((HIDDEN, DIMENSION), dtype=np.float32) / np.float32(HIDDEN**0.5)

    def draw(m: int) -> Any:
        hidden = centres[rng.integers(0, CENTRES, m)] + np.float32(0.6) * rng.standard_normal((m, HIDDEN), dtype=np.float32)
        made = hidden @ projection + np.float32(0.1) * rng.standard_normal((m, DIMENSION), dtype=np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    documents = np.lib.format.open_memmap(folder / "documents.npy", mode="w+", dtype=np.float32, shape=(n, DIMENSION))
    for start in range(0, n, 50_000):
        documents[start : start + 50_000] = draw(min(50_000, n - start))
    documents.flush()
    np.save(folder / "prompts.npy", draw(PROMPTS))


# ---- one side, in its own process ------------------------------------------------------------------------------------------


def run_exact(side: str, folder: Path) -> dict[str, Any]:
    """The seconds of index and search, the bytes that they added, and the rows found."""
    documents, prompts = np.load(folder / "documents.npy", mmap_mode="r"), np.load(folder / "prompts.npy")
    made = {"harness": _harness, "faiss": _faiss, "numpy": _numpy}[side](documents)
    rows, took, added = added_peak(lambda: made(prompts))
    return {"search": took, "search_bytes": added, "rows": np.asarray(rows).tolist()}


def _harness(documents: Any) -> Any:
    from harness.semantic import rank_semantic

    return lambda prompts: rank_semantic(documents, prompts, depth=DEPTH)[0].rows


def _faiss(documents: Any) -> Any:
    import faiss

    def search(prompts: Any) -> Any:
        index = faiss.IndexFlatIP(DIMENSION)
        index.add(documents)
        return index.search(prompts, DEPTH)[1]

    return search


def _numpy(documents: Any) -> Any:
    def search(prompts: Any) -> Any:
        scores = np.full((len(prompts), 0), 0.0, dtype=np.float32)
        rows = np.full((len(prompts), 0), 0, dtype=np.int64)
        for start in range(0, len(documents), BLOCK):
            block = prompts @ np.asarray(documents[start : start + BLOCK]).T
            best = np.argpartition(-block, DEPTH, axis=1)[:, :DEPTH]
            scores = np.concatenate([scores, np.take_along_axis(block, best, axis=1)], axis=1)
            rows = np.concatenate([rows, best + start], axis=1)
        order = np.argsort(-scores, axis=1)[:, :DEPTH]
        return np.take_along_axis(rows, order, axis=1)

    return search


def run_approximate(folder: Path, factory: str) -> dict[str, Any]:
    """Build and search of an approximate index by the harness, beside `Flat` in the same process, and its recall."""
    from harness.semantic import build_vector_index, search_vectors

    documents, prompts = np.load(folder / "documents.npy"), np.load(folder / "prompts.npy")
    flat = build_vector_index(documents)
    exact = search_vectors(flat, prompts, DEPTH).rows
    took: list[Any] = []
    build = seconds(lambda: took.append(build_vector_index(documents, factory)))
    index = took[0]
    found = search_vectors(index, prompts, DEPTH).rows
    recall = float(np.mean([len({*a} & {*b}) / DEPTH for a, b in zip(found.tolist(), exact.tolist(), strict=True)]))
    pairs = [
        (seconds(lambda: search_vectors(index, prompts, DEPTH)), seconds(lambda: search_vectors(flat, prompts, DEPTH)))
        for _ in range(3)
    ]
    ours, theirs = zip(*pairs, strict=True)
    return {"build": build, "recall": recall, "search": ours, "flat": theirs}


# ---- the comparison --------------------------------------------------------------------------------------------------------


def measure(*, quick: bool) -> list[Row]:
    """All rows of this part."""
    n, m = (50_000, 20_000) if quick else (DOCUMENTS, APPROXIMATE)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(folder, n)
        found: dict[str, list[dict[str, Any]]] = {"harness": [], "faiss": [], "numpy": []}
        for _ in range(1 if quick else 3):
            for side, answers in found.items():
                answers.append(in_child("benchmarks.parts.vectors", "exact", side, folder))
        ours = [one["search"] for one in found["harness"]]
        what = f"{n:,} × {DIMENSION}, {PROMPTS:,} prompts, best {DEPTH}"
        for side, against in (("faiss", "IndexFlatIP: add, search"), ("numpy", "numpy: @, argpartition")):
            pairs = zip(found["harness"][0]["rows"], found[side][0]["rows"], strict=True)
            same = np.mean([len({*a} & {*b}) / DEPTH for a, b in pairs])
            theirs = [one["search"] for one in found[side]]
            aim = 1.0 if side == "faiss" else None
            rows.append(costs(PART, what, against, ours, theirs, aim, note=f"the same documents: {same:.3%}"))
        size = float(n * DIMENSION * 4)
        rows.append(
            costs(
                PART,
                f"{n:,} × {DIMENSION}: memory added by index and search",
                "the vectors themselves",
                [one["search_bytes"] for one in found["harness"]],
                [size] * len(ours),
                1.05,
                measured_in="bytes",
                note=f"IndexFlatIP adds {statistics.median(one['search_bytes'] for one in found['faiss']) / size:.2f} ×",
            )
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(folder, m)
        for factory in FACTORIES:
            one = in_child("benchmarks.parts.vectors", "approximate", folder, factory)
            note = f"recall at {DEPTH} {one['recall']:.3f}; built in {one['build']:.1f} s"
            what = f"{m:,} × {DIMENSION}: {factory}"
            rows.append(faster(PART, what, "Flat", one["search"], one["flat"], None, note=note))
            rows.append(bare(PART, f"{what}: recall at {DEPTH}", [one["recall"]], None, ""))
    return rows


if __name__ == "__main__":
    if sys.argv[1] == "exact":
        print(json.dumps(run_exact(sys.argv[2], Path(sys.argv[3]))))
    else:
        print(json.dumps(run_approximate(Path(sys.argv[2]), sys.argv[3])))
