"""A study of 1,000 prompts and 2,000 trials over a made-up collection, for whatever has to show one that large.

    python benchmarks/big_report.py [--documents 5000] [--prompts 1000] [--trials 2000] [--into FOLDER]

The collection is drawn from the handbook's words. Documents come in families that say the same thing with a few words
changed; a prompt asks for one family, whose members are its relevant documents, in one of five manners (its group). The
study itself is `tune` as anyone runs it, with the packaged model. Printed are the seconds of every stage. With --into
the folder keeps the collection, the config and `studies/big`, and a second call only looks; without it all is thrown away.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parents[1]
NAME = "big"
TOPICS = 40
TOPIC_WORDS = 60
COMMON = 60  # the handbook's most frequent words: no topic is made of "the" and "and"
FAMILY = 5  # documents that say the same thing
# By group: how many words a prompt has, the share of the family's own words among them, and of words in another form.
MANNERS = {
    "quoted": (5, 0.8, 0.0),
    "inflected": (6, 0.8, 0.9),
    "mixed": (6, 0.6, 0.5),
    "terse": (2, 1.0, 0.3),
    "rambling": (12, 0.5, 0.5),
}


@dataclass(frozen=True)
class Size:
    """How large a study is made."""

    documents: int = 5000
    prompts: int = 1000
    trials: int = 2000


def read_words() -> list[str]:
    """The handbook's words, the most frequent first, without the commonest."""
    counts: collections.Counter[str] = collections.Counter()
    for line in (ROOT / "corpora/handbook/corpus.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        counts.update(re.findall(r"[a-z]{3,}", f"{document['title']} {document['text']}".lower()))
    return sorted(counts, key=lambda word: (-counts[word], word))[COMMON:]


def inflect(word: str) -> str:
    """Another form of the word, which the keyword retriever does not match without a stemmer."""
    return word[:-1] if word.endswith("s") else f"{word}s"


def write_collection(folder: Path, size: Size, seed: int = 7) -> dict[str, str]:
    """The made-up collection as three files; returns the config's `collection` block. The same bytes for the same arguments."""
    rng = np.random.default_rng(seed)
    words = np.array(read_words())
    zipf = 1.0 / np.arange(1, len(words) + 1)
    zipf /= zipf.sum()
    topics = [rng.choice(words, TOPIC_WORDS, replace=False) for _ in range(TOPICS)]
    families = [  # (topic, the words that its documents share)
        (topic, rng.choice(topics[topic], 9, replace=False)) for topic in rng.integers(TOPICS, size=-(-size.documents // FAMILY))
    ]

    corpus = []
    for i in range(size.documents):
        topic, own = families[i // FAMILY]
        kept = rng.choice(own, 6, replace=False)
        text = rng.permutation([*kept, *rng.choice(topics[topic], 2), *rng.choice(words, 2, p=zipf)])
        corpus.append({"_id": f"d{i:05}", "title": " ".join(rng.choice(own, 2, replace=False)), "text": " ".join(text)})

    queries, qrels = [], ["query-id\tcorpus-id\tscore\n"]
    manners = list(MANNERS.items())
    for i in range(size.prompts):
        group, (length, share, changed) = manners[i % len(manners)]
        family = int(rng.integers(len(families)))
        topic, own = families[family]
        ours = round(length * share)
        drawn = [*rng.choice(own, min(ours, len(own)), replace=False), *rng.choice(topics[topic], length - ours)]
        said = [inflect(word) if rng.random() < changed else word for word in rng.permutation(drawn)]
        queries.append({"_id": f"q{i:04}", "text": " ".join(said), "group": group, "cluster": f"c{family:04}"})
        members = range(family * FAMILY, min((family + 1) * FAMILY, size.documents))
        qrels += [f"q{i:04}\td{member:05}\t{2 if n < 2 else 1}\n" for n, member in enumerate(members)]

    folder.mkdir(parents=True, exist_ok=True)
    files = {"corpus": corpus, "queries": queries}
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "qrels.tsv").write_text("".join(qrels), encoding="utf-8")
    return {**{name: str(folder / f"{name}.jsonl") for name in files}, "qrels": str(folder / "qrels.tsv")}


def make_study(folder: Path, size: Size | None = None) -> Path:
    """The finished study below `folder` (`studies/big`), which may be there already; RuntimeError where `tune` fails."""
    size = size or Size()
    config: dict[str, Any] = {
        "name": NAME,
        "seed": 7,
        "collection": write_collection(folder / "collection", size),
        "keyword": {"variant": "lucene", "analyzer": "simple"},
        "depth": 100,
        "objective": "nDCG@10",
        "report_at": [1, 3, 5, 10],
        "search": {
            "trials": size.trials,
            "sampler": "random",
            "space": {
                "semantic_weight": {"low": 0.0, "high": 1.0},
                "top_k": {"low": 5, "high": 15},
                "fusion": ["minmax", "theoretical", "rrf"],
                "rrf_k": [1, 10, 60],
            },
        },
        "cache": str(folder / "cache"),
    }
    path = folder / "big.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "harness", "tune", str(path), "--json"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return folder / "studies" / NAME


def main() -> None:
    """Make the study and print where the time went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    size = Size(options.documents, options.prompts, options.trials)
    with tempfile.TemporaryDirectory() as scratch:
        study = make_study((options.into or Path(scratch)).resolve(), size)
        print(f"{size.documents} documents, {size.prompts} prompts, {size.trials} trials")
        for stage, seconds in json.loads((study / "timings.json").read_text())["stages"].items():
            print(f"  {stage:24}{seconds:8.1f} s")
        for path in sorted(p for p in study.iterdir() if p.is_file()):
            print(f"  {path.name:24}{path.stat().st_size / 1e6:8.2f} MB")


if __name__ == "__main__":
    main()
