"""How fast a folder of Markdown is read, cut into chunks and hashed, and how fast answers are found in the chunks.

Makes its own files: ones that look like documentation, with headings, lists, code and tables, from a seed.

    python benchmarks/chunking.py [--files 10000] [--prompts 1000]
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path

from harness.answers import find_answers, plain_answer
from harness.chunks import Chunking
from harness.collection import Source, read_documents
from harness.files import hash_lines

WORDS = [
    f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ner", "pu", "sol") for b in ("d", "r", "st", "v") for c in ("a", "en", "io", "ur")
]


def write_page(path: Path, rng: random.Random) -> int:
    """One file of about 10 kB with ten sections; returns its bytes."""

    def sentence() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(6, 16))).capitalize() + "."

    def paragraph() -> str:
        return " ".join(sentence() for _ in range(rng.randint(3, 6)))

    parts = [f"# {sentence()}"]
    for _ in range(10):
        parts += [f"## {sentence()}", paragraph(), paragraph()]
        parts.append("\n".join(f"- {sentence()}" for _ in range(4)))
        parts.append(f"```\n# {sentence()}\n```\n\n| a | b |\n|---|---|\n| {rng.choice(WORDS)} | 2 |")
    text = "\n\n".join(parts) + "\n"
    path.write_text(text, encoding="utf-8")
    return len(text.encode())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--prompts", type=int, default=1000)
    asked = parser.parse_args()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        size = 0
        for i in range(asked.files):
            path = Path(folder, f"part{i // 100:03d}", f"page{i:05d}.md")
            path.parent.mkdir(exist_ok=True)
            size += write_page(path, rng)
        print(f"{asked.files} files, {size / 1e6:.0f} MB")
        started = time.perf_counter()
        documents = read_documents(Source(folder, chunking=Chunking(1200, 100)))
        content = hash_lines(part for pair in zip(documents.ids, documents.texts, strict=True) for part in pair)
        seconds = time.perf_counter() - started
        print(f"read, chunked and hashed: {seconds:.1f} s, {size / 1e6 / seconds:.1f} MB/s")
        print(f"{len(documents.ids)} chunks, content {content[:12]}")
    bodies = documents.bodies
    answers = []
    for _ in range(asked.prompts):
        words = bodies[rng.randrange(len(bodies))].split()
        at = rng.randrange(max(1, len(words) - 4))
        answers.append((" ".join(words[at : at + 4]),))
    answers = [told if plain_answer(told[0]) else ("nowhere at all",) for told in answers]
    started = time.perf_counter()
    rows = find_answers(answers, bodies)
    seconds = time.perf_counter() - started
    print(f"answers of {asked.prompts} prompts in {len(bodies)} chunks: {seconds:.1f} s, {sum(map(bool, rows))} found")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
