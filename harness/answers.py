"""Answers as labels: a document that contains one of a prompt's answers is relevant to it.

Both are compared as `plain_text` makes them, and an answer without the punctuation at its ends. An answer counts only where
it is not a part of a longer word or number: `30 days` is not in `130 days`. That does not hold for scripts that put no
spaces between words.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ENDS = " .,;:!?…\"'`´“”‘’„‚«»‹›()[]{}。、「」『』【】《》·"  # what a person writes around an answer
MANY = 20  # documents: an answer that stands in more of them tells little about which one helps
NO_SPACES = "\u0e00"  # Thai: from here on most scripts put no spaces between words


def plain_text(text: str) -> str:
    """The text in one case and Unicode form, every run of white space one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def plain_answer(text: str) -> str:
    """An answer as it is looked for; empty where it has nothing but punctuation."""
    return plain_text(text).strip(ENDS)


@dataclass(frozen=True)
class Passage:
    """Where a document's text comes from: `source[start:end]`, in characters; neighbours in one source may overlap."""

    source: str
    start: int
    end: int


class Finder:
    """Finds the answers of many prompts in one pass over a text (Aho and Corasick's automaton)."""

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        from ahocorasick_rs import AhoCorasick

        owners: dict[str, list[int]] = defaultdict(list)
        for prompt, texts in enumerate(answers):
            for plain in {plain_answer(text) for text in texts} - {""}:
                owners[plain].append(prompt)
        self._owners = list(owners.values())
        self._automaton = AhoCorasick(list(owners)) if owners else None

    def find(self, text: str) -> set[int]:
        """The prompts of which this text contains an answer."""
        if self._automaton is None:
            return set()
        plain = plain_text(text)
        matches = self._automaton.find_matches_as_indexes(plain, overlapping=True)
        answers = {answer for answer, start, end in matches if stands_alone(plain, start, end)}
        return {prompt for answer in answers for prompt in self._owners[answer]}


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is no part of a longer word or number."""
    before = start > 0 and _joined(text[start - 1], text[start])
    return not before and not (end < len(text) and _joined(text[end - 1], text[end]))


def _joined(one: str, other: str) -> bool:
    return one.isalnum() and other.isalnum() and one < NO_SPACES and other < NO_SPACES


def find_answers(answers: Sequence[Sequence[str]], texts: Iterable[str]) -> list[list[int]]:
    """For each prompt the rows of the texts that contain one of its answers, ascending."""
    finder = Finder(answers)
    rows: list[list[int]] = [[] for _ in answers]
    for row, text in enumerate(texts):
        for prompt in finder.find(text):
            rows[prompt].append(row)
    return rows


def find_torn(answers: Sequence[Sequence[str]], bodies: Sequence[str], passages: Sequence[Passage]) -> dict[int, list[int]]:
    """The prompts of which two neighbouring passages contain an answer together, with the numbers of the first of each two.

    One alone is for `find_answers` to find.
    """
    finder = Finder(answers)
    found: dict[int, list[int]] = {}
    for number, text in neighbours(bodies, passages):
        for prompt in finder.find(text):
            found.setdefault(prompt, []).append(number)
    return found


def neighbours(bodies: Sequence[str], passages: Sequence[Passage]) -> Iterator[tuple[int, str]]:
    """Every two neighbours in one source: the number of the first, and their texts, what they share once.

    A space stands where white space was cut away.
    """
    order = sorted(range(len(passages)), key=lambda i: (passages[i].source, passages[i].start))
    for one, other in itertools.pairwise(order):
        first, second = passages[one], passages[other]
        if first.source == second.source:
            gap = " " if second.start > first.end else ""
            yield one, bodies[one] + gap + bodies[other][max(first.end - second.start, 0) :]
