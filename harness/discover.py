"""Which files of a folder are corpus, queries and qrels: told by their contents, that is by what reads and what joins.

Names decide only between files that fit equally well. Hidden files are not looked at, and folders one level down only; but pages
of Markdown and HTML, at any depth, are one corpus together. Where nothing is judged, prompts with answers join the corpus that
holds them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from harness import chunks, tables
from harness.answers import find_answers
from harness.chunks import Chunking
from harness.collection import DataFiles, Parts, Place, Source, read_documents, read_parts, table_of
from harness.errors import HarnessError
from harness.files import Judgement, read_corpus, read_qrels, read_queries
from harness.types import Query

PAGES = tuple(ending for ending, kind in chunks.ENDINGS.items() if kind != chunks.TEXT)
GUESSES = {  # what a role's column may be called beside its usual names, the most telling first
    "corpus": {
        "id": ("doc_id", "docid", "document_id", "passage_id", "faq_id", "article_id", "key", "number", "nr"),
        "text": ("body", "content", "answer", "passage", "description"),
        "title": ("question", "heading", "name", "subject"),
    },
    "queries": {
        "id": ("query_id", "query-id", "qid", "question_id", "prompt_id", "ticket"),
        "text": ("query", "question", "prompt", "asked"),
        "answers": (),
        "group": ("kind", "category", "area", "type"),
        "cluster": ("intent",),
    },
    "qrels": {
        "query": ("question", "question_id", "prompt", "prompt_id", "ticket"),
        "document": ("doc", "document_id", "passage", "faq_id", "entry"),
        "relevance": ("rel", "label", "rating"),
    },
}
MOST_FILES = 200  # of a folder; more is not a folder of data
ROLES = ("corpus", "queries", "qrels")
NAMES = {  # what the files of each role are usually called, the most telling first
    "corpus": ("corpus", "documents", "docs", "collection", "passages"),
    "queries": ("queries", "prompts", "questions", "topics"),
    "qrels": ("qrels", "test", "dev", "validation", "valid", "train"),
}


@dataclass(frozen=True)
class Looked:
    """One file, or all pages: what it reads as, and for the rest the first thing that is wrong with it.

    `sources` says how it is read in the roles in which its path alone does not say it.
    """

    path: Path
    corpus: dict[str, str] | None = None
    queries: tuple[Query, ...] | None = None
    qrels: list[Judgement] | None = None
    wrong: dict[str, str] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)

    def place(self, role: str) -> Place:
        """What the config has to name for this role."""
        return self.sources.get(role, self.path)


@dataclass(frozen=True)
class Fit:
    """A file in a role: how many documents, prompts or judgements it holds."""

    path: Path
    size: int


@dataclass(frozen=True)
class Discovery:
    """The chosen files with their contents, what else would have fitted in each role, and how many files were looked at.

    `found` says how many of the judged queries and documents the chosen files hold: (found, of). Without qrels it says how many
    of the prompts with answers have one in the corpus, and how many documents hold one.
    """

    files: DataFiles
    parts: Parts
    chosen: dict[str, Fit]
    alternatives: dict[str, tuple[Fit, ...]]
    found: dict[str, tuple[int, int]]
    looked_at: int


@dataclass(frozen=True)
class Triple:
    """Files that join, with the numbers of judged queries and documents that are found, and of all; see Discovery."""

    corpus: Looked
    queries: Looked
    qrels: Looked | None
    found: dict[str, tuple[int, int]]

    def chosen(self) -> dict[str, Looked]:
        """The file of each role that is filled."""
        return {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}

    def shares(self) -> tuple[float, float]:
        """The shares of judged queries and of judged documents that are found, to a tenth."""
        return tuple(round(found / of, 1) for found, of in self.found.values())  # type: ignore[return-value]  # two

    def rank(self) -> tuple[Any, ...]:
        """What is compared: how well they join, whether documents are longer than prompts, names, judgements, paths."""
        chosen = self.chosen()
        names = [-name_rank(role, looked.path) for role, looked in chosen.items()]
        paths = [-len(looked.path.parts) for looked in chosen.values()]
        judgements = len(self.qrels.qrels or ()) if self.qrels is not None else 0
        return (*self.shares(), longer(self.corpus, self.queries), *names, judgements, *paths)


def discover(folder: Path) -> Discovery:
    """The collection in this folder; HarnessError names every file and what it cannot be, where no files join."""
    paths, pages = list_files(folder), list_pages(folder)
    looked = [look_at(path) for path in paths] + ([look_at_pages(folder, pages)] if pages else [])
    triples = list(join_files(looked)) or list(join_by_answers(looked))
    if not triples:
        raise HarnessError(explain_nothing(folder, looked))
    best = max(reversed(triples), key=Triple.rank)  # reversed: of equals the first
    chosen = best.chosen()
    lost = best.qrels is not None and best.found["queries"][0] < best.found["queries"][1]
    places = {role: one.place(role) for role, one in chosen.items()}
    files = DataFiles(places["corpus"], places["queries"], places.get("qrels"), "ignore" if lost else "refuse")
    return Discovery(
        files,
        parts_of(best) if best.qrels is not None else read_parts(files),
        {role: fit_of(role, one) for role, one in chosen.items()},
        {role: others(role, best, triples) for role in chosen},
        best.found,
        len(paths) + len(pages),
    )


def parts_of(best: Triple) -> Parts:
    """The contents of the chosen files, which were read already."""
    corpus, judged = best.corpus.corpus or {}, best.qrels.qrels if best.qrels is not None else None
    ids = tuple(sorted(corpus))
    return Parts(ids, tuple(corpus[doc_id] for doc_id in ids), best.queries.queries or (), judged or [])


def list_files(folder: Path) -> list[Path]:
    """The files of the folder and of the folders in it, hidden ones aside; HarnessError where it is none or holds too many."""
    if not folder.is_dir():
        raise HarnessError(f"{folder}: must be a folder with the data, got {'a file' if folder.exists() else 'nothing there'}")
    paths: list[Path] = []
    for path in (*sorted(folder.glob("*")), *sorted(folder.glob("*/*"))):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.suffix.lower() not in PAGES and path.is_file():
            paths.append(path)
        if len(paths) > MOST_FILES:
            raise HarnessError(f"{folder}: must hold at most {MOST_FILES} files in two levels, got more; name the data's folder")
    return paths


def list_pages(folder: Path) -> list[Path]:
    """The pages of Markdown and HTML below the folder, at any depth, hidden ones and links aside."""
    return [folder / name for name in chunks.walk(folder, Counter()) if Path(name).suffix.lower() in PAGES]


def look_at_pages(folder: Path, pages: list[Path]) -> Looked:
    """All pages as one corpus: the folder that holds them all, cut into chunks."""
    root = folder / os.path.commonpath([page.parent.relative_to(folder) for page in pages])
    source = Source(str(root), chunking=Chunking())
    try:
        documents = read_documents(source)
    except HarnessError as error:
        return Looked(root, wrong=dict.fromkeys(ROLES, error.problems[0].removeprefix(str(root)).removeprefix(":").strip()))
    wrong = dict.fromkeys(ROLES[1:], "must be a file, got pages")
    return Looked(root, dict(zip(documents.ids, documents.texts, strict=True)), wrong=wrong, sources={"corpus": source})


def look_at(path: Path) -> Looked:
    """What this file reads as."""
    wrong: dict[str, str] = {}

    def attempt(role: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except HarnessError as error:
            rest = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
            wrong[role] = f"{error.problems[0].removeprefix(str(path)).removeprefix(':').strip()}{rest}"
        except OSError as error:
            wrong[role] = f"cannot be read: {error.strerror or error}"
        return None

    if path.suffix.lower() in tables.ENDINGS:
        return look_at_table(path, attempt, wrong)
    if is_binary(path):
        return Looked(path, wrong=dict.fromkeys(ROLES, "must be text, got a binary file"))
    corpus = attempt("corpus", lambda: read_corpus(path))
    return Looked(
        path,
        dict(zip(*corpus, strict=True)) if corpus is not None else None,
        attempt("queries", lambda: read_queries(path)),
        attempt("qrels", lambda: read_qrels(path)),
        wrong,
    )


def look_at_table(path: Path, attempt: Callable[[str, Callable[[], Any]], Any], wrong: dict[str, str]) -> Looked:
    """What this table reads as, its columns guessed by their names; a .tsv may be BEIR's qrels, which are tried first."""
    sources: dict[str, Source] = {}

    def read(role: str, read_table: Callable[[Mapping[str, str]], Any]) -> Any:
        named = attempt(role, lambda: guess_columns(path, role))
        if named is None:
            return None
        sources[role] = Source(str(path), named)
        wrong.pop(role, None)
        return attempt(role, lambda: read_table(named))

    beir = path.suffix.lower() == ".tsv"
    judged = attempt("qrels", lambda: read_qrels(path)) if beir else None
    said = wrong.get("qrels")
    corpus = read("corpus", lambda named: tables.read_table_corpus(path, named))
    queries = read("queries", lambda named: sorted_queries(tables.read_table_queries(path, named, None, answers=False)))
    if judged is None:
        judged = read("qrels", lambda named: tables.read_table_qrels(path, named, None))
        if judged is None and said is not None and "qrels" not in sources:
            wrong["qrels"] = said  # no header that names columns: more likely BEIR's
    return Looked(path, corpus, queries, judged, wrong, sources)


def sorted_queries(queries: Iterable[Query]) -> tuple[Query, ...]:
    """Prompts in order of their ids."""
    return tuple(sorted(queries, key=lambda query: query.query_id))


def guess_columns(path: Path, kind: str) -> dict[str, str]:
    """The column of each role, where one has a likely name; HarnessError where a needed one has none."""
    present = tables.columns_of(path)
    by_name = {name.lower(): name for name in reversed(present)}
    guessed: dict[str, str] = {}
    for role, guesses in GUESSES[kind].items():
        found = next((by_name[name] for name in (*tables.USUAL[kind][role], *guesses) if name in by_name), None)
        if found is not None and found not in guessed.values():
            guessed[role] = found
        elif role in tables.REQUIRED[kind]:
            shown = ", ".join(map(repr, present))
            raise HarnessError(f"{path}: no column looks like the {role}, got {shown}")
    return guessed


def is_binary(path: Path) -> bool:
    """Whether the file begins as no text does."""
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(4096)
    except OSError:
        return False  # the readers say why


def join_files(looked: Iterable[Looked]) -> Iterable[Triple]:
    """Every corpus, queries and qrels that share at least one judged query and one judged document."""
    looked = list(looked)
    documents = [one for one in looked if one.corpus is not None]
    prompts = [(one, {query.query_id for query in one.queries}) for one in looked if one.queries is not None]
    for judged in looked:
        if judged.qrels is None:
            continue
        query_ids = {judgement.query_id for judgement in judged.qrels}
        doc_ids = {judgement.doc_id for judgement in judged.qrels}
        for corpus, (queries, known) in product(documents, prompts):
            found = {
                "queries": (len(query_ids & known), len(query_ids)),
                "corpus": (len(doc_ids & (corpus.corpus or {}).keys()), len(doc_ids)),
            }
            if corpus is not queries and all(n for n, _ in found.values()):
                yield Triple(corpus, queries, judged, found)


def join_by_answers(looked: Iterable[Looked]) -> Iterable[Triple]:
    """Every corpus and prompts with answers of which at least one is in the corpus; without qrels."""
    looked = list(looked)
    for prompts in looked:
        asked = [query for query in answers_of(prompts) if query.answers] if prompts.queries is not None else []
        for corpus in looked if asked else ():
            if corpus.corpus is None or corpus is prompts:
                continue
            rows = find_answers([query.answers for query in asked], corpus.corpus.values())
            holding = {row for found in rows for row in found}
            if holding:
                found = {"queries": (sum(map(bool, rows)), len(asked)), "corpus": (len(holding), len(corpus.corpus))}
                yield Triple(corpus, prompts, None, found)


def answers_of(looked: Looked) -> list[Query]:
    """The prompts of this file with their answers; none where these do not read."""
    try:
        path, columns = table_of(looked.place("queries"))
        return tables.read_table_queries(path, columns, None, answers=True)
    except HarnessError:
        return []


def name_rank(role: str, path: Path) -> int:
    """How usual the file's name is for this role, 0 the most."""
    names = NAMES[role]
    return names.index(path.stem) if path.stem in names else len(names)


def longer(corpus: Looked, queries: Looked) -> bool:
    """Whether the documents are at least as long as the prompts."""
    documents = median(len(text) for text in (corpus.corpus or {"": ""}).values())
    return documents >= median(len(query.text) for query in queries.queries or ())


def fit_of(role: str, looked: Looked) -> Fit:
    """The file in this role."""
    return Fit(looked.path, len(getattr(looked, role)))


def others(role: str, best: Triple, triples: Iterable[Triple]) -> tuple[Fit, ...]:
    """The files that join as well in this role, the other two roles as chosen."""
    rest = [other for other in ROLES if other != role]
    taken = {one.path for one in best.chosen().values()}
    fits = [
        fit_of(role, getattr(triple, role))
        for triple in triples
        if all(getattr(triple, other) is getattr(best, other) for other in rest) and triple.shares() == best.shares()
    ]
    return tuple(fit for fit in fits if fit.path not in taken)


def explain_nothing(folder: Path, looked: list[Looked]) -> list[str]:
    """A line for the folder, and one for each file: what it reads as, or what is wrong with it in each role."""
    lacking = [role for role in ROLES if all(getattr(one, role) is None for one in looked)]
    why = f"no file that reads as {' or as '.join(lacking)}" if lacking else "files whose ids do not meet"
    lines = [f"{folder}: must hold a corpus, queries and qrels whose ids join, got {why if looked else 'no file'}"]
    for one in looked:
        reads = [role for role in ROLES if getattr(one, role) is not None]
        said = [f"reads as {' and as '.join(reads)}"] if reads else []
        reasons: dict[str, list[str]] = {}
        for role, reason in one.wrong.items():
            reasons.setdefault(reason, []).append(role)
        said += [f"as {' or '.join(roles)}: {_placed(reason)}" for reason, roles in reasons.items()]
        lines.append(f"{one.path}: {'; '.join(said)}")
    return lines


def _placed(reason: str) -> str:
    number, colon, rest = reason.partition(": ")
    return f"line {number}: {rest}" if colon and number.isdigit() else reason
