"""`import-run`: a search engine's responses as a TREC run that keeps their order; nothing partial is taken."""

from __future__ import annotations

import json
import re
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, Problems
from harness.files import read_records
from harness.ids import encode_id, encode_ids
from harness.notebook import Rows, Shown
from harness.record import strictly_decreasing, write_run
from harness.responses import Hits, read_responses

PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")  # what YAML takes for text without quotes, in a path
ENDINGS = (".trec", ".run", ".txt")  # of a run's file, no part of its name


@dataclass(frozen=True)
class ImportedRun(Shown):
    """The run that was written: its lists as the engine scored them, cut at the asked depth.

    `left_out` hits stood behind that depth; `not_searched` are the prompts of --queries without a search.
    """

    path: Path
    tag: str
    lists: tuple[Hits, ...]
    left_out: int
    not_searched: tuple[str, ...]

    @property
    def next(self) -> list[str]:
        """The command to run next."""
        return [f"python -m harness evaluate CONFIG --run {shlex.quote(str(self.path))}"]

    @property
    def config(self) -> list[str]:
        """What a config says to put the run in the place of a retriever."""
        file = str(self.path)
        scalar = file if PLAIN.fullmatch(file) else json.dumps(file, ensure_ascii=False)
        return [f"{retriever}: {{run: {scalar}}}" for retriever in ("keyword", "semantic")]

    def rows(self) -> Rows:
        """A row for each prompt: its documents, the first and the last score, and hits with the score of the one before."""
        return [
            {
                "query_id": listed.query_id,
                "documents": len(listed.doc_ids),
                "best": listed.scores[0] if listed.scores else None,
                "last": listed.scores[-1] if listed.scores else None,
                "ties": count_ties(listed.scores),
            }
            for listed in self.lists
        ]

    def caption(self) -> str:
        """How many prompts, and the file."""
        return f"{len(self.lists)} prompts in {self.path}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        lengths = [len(listed.doc_ids) for listed in self.lists]
        ties = [count_ties(listed.scores) for listed in self.lists]
        return {
            "run": str(self.path),
            "tag": self.tag,
            "prompts": len(self.lists),
            "documents": {"min": min(lengths), "median": float(statistics.median(lengths)), "max": max(lengths)},
            "depth": max(lengths),
            "shorter": sum(length < max(lengths) for length in lengths),
            "left_out": self.left_out,
            "ties": {
                "hits": sum(ties),
                "prompts": sum(tied > 0 for tied in ties),
                "lowered": sum(count_lowered(listed.scores) for listed in self.lists),
            },
            "without_results": [listed.query_id for listed in self.lists if not listed.doc_ids],
            "not_searched": list(self.not_searched),
            "not_known_to_be_complete": sum(not listed.says_complete for listed in self.lists),
            "next": self.next,
            "config": self.config,
        }


def import_run(
    responses: str | Path,
    *,
    out: str | Path,
    tag: str | None = None,
    field: str | None = None,
    depth: int | None = None,
    queries: str | Path | None = None,
) -> ImportedRun:
    """Write the searches of `responses` to `out` as a TREC run, best first, the first `depth` of each (all, without it).

    A document is named by `_id`, or by the value of `field`; `queries` has the prompts, in the order of the searches where these
    do not name them. HarnessError lists every problem, and then nothing is written.
    """
    source, path = Path(responses), Path(out)
    name = choose_tag(tag, path)
    refuse_options(path, [source, *([Path(queries)] if queries is not None else [])], depth)
    prompts = read_prompts(Path(queries)) if queries is not None else None
    lists = read_responses(source, prompts=prompts, field=field)
    if not any(listed.doc_ids for listed in lists):
        raise HarnessError(f"{source}: must hold at least one hit, got none in {len(lists)} searches; a run cannot be empty")
    cut = tuple(replace(each, doc_ids=each.doc_ids[:depth], scores=each.scores[:depth]) for each in lists)
    write_lists(path, name, cut, source)
    searched = {listed.query_id for listed in lists}
    left_out = sum(len(each.doc_ids) for each in lists) - sum(len(each.doc_ids) for each in cut)
    return ImportedRun(path, name, cut, left_out, tuple(prompt for prompt in prompts or () if prompt not in searched))


def choose_tag(tag: str | None, path: Path) -> str:
    """The tag of the run: the one that is given, else the file's name without its ending."""
    if tag is None:
        name = path.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        return encode_id(name) or "run"
    if not tag or not tag.isprintable() or any(character.isspace() for character in tag):
        raise HarnessError(f"--tag: must be a name without white space, got {tag!r}")
    return tag


def refuse_options(path: Path, sources: Sequence[Path], depth: int | None) -> None:
    """HarnessError where the run would go over what it is made from or onto a folder, or nothing would be left of it."""
    if depth is not None and depth < 1:
        raise HarnessError(f"--depth: must be at least 1, got {depth}")
    if path.is_dir():
        raise HarnessError(f"{path}: must be a file to write the run to, got a folder; name another with --out")
    for source in sources:
        if path.exists() and source.exists() and path.samefile(source):
            raise HarnessError(f"{path}: must not be the file that is read; name another with --out")


def read_prompts(path: Path) -> list[str]:
    """The ids of a prompts file, in its order."""
    problems = Problems()
    ids = [query_id for _, query_id, _ in read_records(path, problems)]
    problems.raise_any()
    if not ids:
        raise HarnessError(f"{path}: must hold at least one prompt, got none")
    return ids


def write_lists(path: Path, tag: str, lists: Sequence[Hits], source: Path) -> None:
    """Write the run, complete or not at all; ids with white space are percent-encoded."""
    try:
        prompts = encode_ids(listed.query_id for listed in lists)
        documents = encode_ids(doc_id for listed in lists for doc_id in listed.doc_ids)
    except HarnessError as error:
        raise HarnessError([f"{source}: {line}" for line in error.problems]) from None
    results = (([documents[doc_id] for doc_id in listed.doc_ids], np.asarray(listed.scores)) for listed in lists)
    write_run(path, tag, [prompts[listed.query_id] for listed in lists], results)


def count_ties(scores: Sequence[float]) -> int:
    """How many scores are, in single precision, the one before."""
    single = np.asarray(scores, dtype=np.float32)
    return int((single[1:] == single[:-1]).sum())


def count_lowered(scores: Sequence[float]) -> int:
    """How many scores the run holds lowered, so that each is below the one before."""
    written = np.asarray(list(strictly_decreasing(np.asarray(scores))), dtype=np.float32)
    return int((written != np.asarray(scores, dtype=np.float32)).sum())
