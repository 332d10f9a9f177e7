"""A million documents on one small machine: `tune` with given vectors, its peak memory, and whether it survives being killed.

    python benchmarks/million.py [--documents 1000000] [--prompts 1000] [--trials 60] [--folder DIR] [--json FILE] [--no-kills]

Makes a collection (seeded: words by Zipf's law, 60 to 100 a document; each prompt is made of words of its relevant document, and
its vector lies near its relevant documents'), vectors of 384 numbers as .npy, and a config. Then `tune` runs in a process of its
own, whose memory, with that of its own processes, is looked at all the time. After that the same study is made again and killed
(SIGKILL) three times on its way: while vectors are searched, while documents are indexed, and between two trials. Each time the
same command goes on; the study that ends so must be the uninterrupted one, byte for byte. Prints a table and writes it as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import yaml

ROOT = Path(__file__).resolve().parents[1]
DIMENSION, WORDS, EXPONENT, AT_ONCE = 384, 300_000, 1.05, 20_000
COMPARED = ("trials.csv", "weights.yaml", "candidates.npz", "summary.json", "per_query.csv", "profile.csv")
PATIENCE = 7200.0  # seconds


@dataclass(frozen=True)
class Run:
    """One run of the command: its exit code, seconds, the most memory of all its processes together, and its stages."""

    code: int
    seconds: float
    peak_bytes: int
    stages: dict[str, float]


def make_data(place: Path, documents: int, prompts: int) -> None:
    """The collection under `place`, a block of documents at a time."""
    draw = np.random.default_rng(7)
    share = 1 / np.arange(1, WORDS + 1) ** EXPONENT
    edges = np.cumsum(share / share.sum())
    letters = np.asarray(list("etaoinshrdlucmfwygpb"))
    words = ["".join(letters[[int(d) for d in np.base_repr(i + 20, 20).translate(BASE_20).split()]]) for i in range(WORDS)]
    vectors = np.lib.format.open_memmap(place / "documents.npy", mode="w+", dtype=np.float32, shape=(documents, DIMENSION))
    relevant = np.sort(draw.choice(documents, size=prompts * 2, replace=False))
    kept: dict[int, list[str]] = {}
    with (place / "corpus.jsonl").open("w") as corpus, (place / "document_ids.txt").open("w") as ids:
        for start in range(0, documents, AT_ONCE):
            n = min(AT_ONCE, documents - start)
            lengths = draw.integers(60, 101, n)
            drawn = np.minimum(np.searchsorted(edges, draw.random(int(lengths.sum()))), WORDS - 1)
            block = draw.standard_normal((n, DIMENSION), dtype=np.float32)
            vectors[start : start + n] = block / np.linalg.norm(block, axis=1, keepdims=True)
            wanted = set(relevant[(relevant >= start) & (relevant < start + n)].tolist())
            at = 0
            for i in range(n):
                text = [words[w] for w in drawn[at : at + lengths[i]].tolist()]
                at += int(lengths[i])
                name = f"d{start + i:08d}"
                corpus.write(json.dumps({"_id": name, "title": "", "text": " ".join(text)}) + "\n")
                ids.write(f"{name}\n")
                if start + i in wanted:
                    kept[start + i] = text
    queries = np.zeros((prompts, DIMENSION), dtype=np.float32)
    pairs = draw.permutation(relevant).reshape(prompts, 2)
    with (
        (place / "queries.jsonl").open("w") as asked,
        (place / "qrels.tsv").open("w") as qrels,
        (place / "query_ids.txt").open("w") as names,
    ):
        qrels.write("query-id\tcorpus-id\tscore\n")
        for q, (one, other) in enumerate(pairs.tolist()):
            name = f"q{q:06d}"
            picked = draw.choice(len(kept[one]), size=int(draw.integers(3, 9)), replace=False)
            asked.write(json.dumps({"_id": name, "text": " ".join(kept[one][int(i)] for i in picked)}) + "\n")
            names.write(f"{name}\n")
            qrels.write(f"{name}\td{one:08d}\t2\n{name}\td{other:08d}\t1\n")
            near = vectors[one] + vectors[other] + draw.standard_normal(DIMENSION).astype(np.float32) * 0.12
            queries[q] = near / np.linalg.norm(near)
    np.save(place / "queries.npy", queries)
    vectors.flush()


BASE_20 = {ord(c): f"{int(c, 20)} " for c in "0123456789ABCDEFGHIJ"}


def write_config(place: Path, trials: int, depth: int) -> None:
    """The study's config, with relative paths."""
    config: dict[str, Any] = {
        "name": "million",
        "seed": 7,
        "collection": {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"},
        "keyword": {"analyzer": "simple", "variant": "lucene"},
        "semantic": {
            "vectors": {
                "documents": "documents.npy",
                "document_ids": "document_ids.txt",
                "queries": "queries.npy",
                "query_ids": "query_ids.txt",
            }
        },
        "depth": depth,
        "objective": "MAP@10",
        "report_at": [1, 5, 10],
        "search": {
            "trials": trials,
            "space": {"semantic_weight": {"low": 0.0, "high": 1.0}, "fusion": ["minmax", "zscore", "rrf"], "top_k": [5, 10]},
        },
        "cache": "cache",
    }
    (place / "study.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


class Meter(threading.Thread):
    """The most memory that a process and its own processes hold together, looked at twenty times a second.

    Pages that a process only maps (the vectors' file) count as soon as they are in memory.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process, self.peak = psutil.Process(pid), 0

    def run(self) -> None:
        while True:
            try:
                family = [self.process, *self.process.children(recursive=True)]
                held = 0
                for one in family:
                    try:
                        held += one.memory_info().rss
                    except psutil.Error:
                        continue
                self.peak = max(self.peak, held)
            except psutil.Error:
                return
            time.sleep(0.05)


DRIVER = """
import contextlib, sys
import harness
from harness.progress import Silence

class Told(Silence):
    @contextlib.contextmanager
    def __call__(self, stage, total):
        done = 0
        def advance(steps):
            nonlocal done
            done += steps
            told.write(f"{stage}\\t{done}\\t{total}\\n")
            told.flush()
        yield advance

with open("told.txt", "w") as told:
    harness.tune("study.yaml", progress=Told())
"""


def tune(place: Path, stage: str = "", share: float = 0.0) -> Run:
    """Run `tune`; killed as soon as this share of the stage is done (never, without one)."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = place / "told.txt"
    told.unlink(missing_ok=True)
    started = time.monotonic()
    with (place / "said.txt").open("w") as said:
        process = subprocess.Popen([sys.executable, "-c", DRIVER], cwd=place, env=variables, stdout=said, stderr=said)
        meter = Meter(process.pid)
        meter.start()
        stages: dict[str, float] = {}
        while process.poll() is None:
            found = last_told(told)
            if found is not None:
                stages[found[0]] = time.monotonic() - started
                if found[0] == stage and found[1] >= share:
                    process.send_signal(signal.SIGKILL)
                    break
            if time.monotonic() - started > PATIENCE:
                process.kill()
            time.sleep(0.02)
        code = process.wait()
    meter.join(timeout=1)
    return Run(code, time.monotonic() - started, meter.peak, stages)


def last_told(told: Path) -> tuple[str, float] | None:
    """The stage that is running and how much of it is done."""
    if not told.is_file():
        return None
    lines = told.read_bytes()[-4096:].decode(errors="replace").split("\n")
    fields = lines[-2].split("\t") if len(lines) > 1 else []
    return (fields[0], int(fields[1]) / int(fields[2])) if len(fields) == 3 else None


def blocks_there(place: Path) -> int:
    """Files of the keyword index in the cache."""
    return len(list((place / "cache/keyword").glob("[0-9a-f]*.npz")))


def trials_there(place: Path) -> int:
    """Trials that ended, by the journal."""
    journal = place / "studies/million/journal.log"
    return journal.read_bytes().count(b'"state":1') if journal.is_file() else 0


KILLS = (("semantic search", 0.3), ("indexing documents", 0.4), ("trials", 0.33))  # in the order of a run with given vectors


def main() -> None:
    """Make the data, run, kill, compare; exit 1 where something was not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where the data go and stay; without it a temporary folder")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-kills", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-million-") as temporary:
        place = options.folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "queries.npy").is_file():
            started = time.monotonic()
            make_data(place, options.documents, options.prompts)
            print(f"data made in {time.monotonic() - started:.0f} s", flush=True)
        write_config(place, options.trials, options.depth)
        found = measure(place, options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    sys.exit(bool(found["wrong"]))


def measure(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The runs and what was wrong."""
    for name in ("cache", "studies", "whole"):
        shutil.rmtree(place / name, ignore_errors=True)
    wrong: list[str] = []
    whole = tune(place)
    if whole.code:
        print((place / "said.txt").read_text()[-2000:])
        raise SystemExit(f"tune ended with {whole.code}")
    timings = json.loads((place / "studies/million/timings.json").read_text())
    print(f"\n{'run':<28}{'seconds':>9}{'peak GB':>9}  ended")
    print(f"{'uninterrupted, empty cache':<28}{whole.seconds:>9.1f}{whole.peak_bytes / 1e9:>9.2f}  0", flush=True)
    for stage, seconds in timings["stages"].items():
        print(f"    {stage:<24}{seconds:>9.1f}")
    expected = {name: (place / "studies/million" / name).read_bytes() for name in COMPARED}
    runs: dict[str, Any] = {"uninterrupted": asdict(whole)}
    if not options.no_kills:
        shutil.rmtree(place / "cache")
        shutil.rmtree(place / "studies")
        for name, share in KILLS:
            before = kept_before(place)
            run = tune(place, name, share)
            runs[f"killed: {name}"] = asdict(run)
            print(f"{'killed: ' + name:<28}{run.seconds:>9.1f}{run.peak_bytes / 1e9:>9.2f}  {run.code}", flush=True)
            if run.code != -signal.SIGKILL:
                wrong.append(f"not killed while {name}: it ended with {run.code}")
            wrong += [f"{path}: made again before the kill while {name}" for path in made_again(place, before)]
            at = last_told(place / "told.txt")
            print(f"    {blocks_there(place)} files of the keyword index, {trials_there(place)} trials, at {at}")
        last_trials = trials_there(place)
        before = kept_before(place)
        run = tune(place)
        runs["gone on to the end"] = asdict(run)
        print(f"{'gone on to the end':<28}{run.seconds:>9.1f}{run.peak_bytes / 1e9:>9.2f}  {run.code}")
        wrong += [f"{path}: made again after the last kill" for path in made_again(place, before)]
        wrong += ["no trial was finished at the last kill"] if not last_trials else []
        for name, content in expected.items():
            path = place / "studies/million" / name
            if not path.is_file() or path.read_bytes() != content:
                wrong.append(f"{name}: other bytes than the uninterrupted study's")
        print(f"{last_trials} trials were finished at the last kill; files compared: {', '.join(COMPARED)}")
    for line in wrong:
        print(f"WRONG: {line}")
    print("nothing was wrong" if not wrong else f"{len(wrong)} things were wrong")
    return {
        "documents": options.documents,
        "prompts": options.prompts,
        "dimension": DIMENSION,
        "depth": options.depth,
        "trials": options.trials,
        "machine": {"cores": os.cpu_count(), "memory_bytes": psutil.virtual_memory().total},
        "stages": timings["stages"],
        "runs": runs,
        "wrong": wrong,
    }


def kept_before(place: Path) -> dict[Path, int]:
    """Finished files of the cache with the time at which each was written."""
    return {path: path.stat().st_mtime_ns for path in (place / "cache").glob("*/*.npz") if not path.name.startswith(".")}


def made_again(place: Path, before: dict[Path, int]) -> list[str]:
    """Finished files that were written again; blocks of a finished index are gone, which is right."""
    again = [path for path, then in before.items() if path.is_file() and path.stat().st_mtime_ns != then]
    return [str(path.relative_to(place)) for path in again]


if __name__ == "__main__":
    main()
