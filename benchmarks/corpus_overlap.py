"""How alike the passages of a corpus are: the largest share of common word 5-grams between two of them.

    python benchmarks/corpus_overlap.py [CORPUS.jsonl]

For each pair the share is of the passage with fewer 5-grams. Words are lower-cased `\\w+` of the text, without the title.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path


def shingles(text: str, n: int = 5) -> set[tuple[str, ...]]:
    """The word n-grams of a text."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def largest_shares(path: Path) -> list[tuple[float, str, str]]:
    """Share and ids of every pair with a common 5-gram, largest first."""
    grams = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        grams[record["_id"]] = shingles(record["text"])
    holders: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for doc_id, found in grams.items():
        for gram in found:
            holders[gram].append(doc_id)
    common: Counter[tuple[str, str]] = Counter()
    for docs in holders.values():
        common.update(combinations(sorted(docs), 2))
    return sorted(((n / min(len(grams[a]), len(grams[b])), a, b) for (a, b), n in common.items()), reverse=True)


def main() -> None:
    """Print the most alike pairs and how many pairs share anything."""
    default = Path(__file__).resolve().parents[1] / "corpora/handbook/corpus.jsonl"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    pairs = largest_shares(path)
    print(f"{len(pairs)} pairs of passages share at least one 5-gram; the most alike:")
    for share, a, b in pairs[:5]:
        print(f"  {share:.4f}  {a}  {b}")


if __name__ == "__main__":
    main()
