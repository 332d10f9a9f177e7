"""`import-cranfield`: the Cranfield collection's three original files in BEIR layout.

Two traps are avoided. cranqrel numbers the prompts by their place in cran.qry, 1 to 225, while the labels there (`.I 001` to
`.I 365`) have gaps: joined by label, most prompts get another one's judgements. And its codes fall with the relevance: 1 is a
complete answer, 4 of minimum interest, 5 (and −1) of none; grades rise, so a grade is 5 − code, and 0 for −1.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, Problems
from harness.files import read_lines, sync_folder, write_text
from harness.notebook import Rows, Shown

CORPUS_NAMES = ("cran.all.1400", "cran.all")
QUERIES_NAME, QRELS_NAME = "cran.qry", "cranqrel"
PUBLISHED = {"documents": 1400, "queries": 225, "judgements": 1837}
GRADES = {1: 4, 2: 3, 3: 2, 4: 1, 5: 0, -1: 0}  # code → grade; cranqrel.readme defines 1 to 5, −1 stands once a prompt
ENTRY = re.compile(r"\.I\s+([0-9]{1,9})")
MARKER = re.compile(r"\.([A-Z])")
FIELDS = {"T": "title", "A": "author", "B": "bibliography", "W": "text"}
WHOLE = re.compile(r"[-+]?[0-9]{1,9}")
SHOWN = 5  # names in a message


@dataclass(frozen=True)
class Entry:
    """One entry of an original file: the line and the label of its `.I`, and the lines under each marker."""

    line: int
    label: str
    fields: dict[str, list[str]] = field(default_factory=dict)

    def text_of(self, letter: str) -> str:
        """What stands under a marker, as one line with single spaces."""
        return " ".join(" ".join(self.fields.get(letter, ())).split())


@dataclass(frozen=True)
class Judged:
    """One line of cranqrel: the prompt's place in cran.qry, the document's number, the code."""

    query: int
    document: int
    code: int


@dataclass(frozen=True)
class Collection:
    """The three files, checked and joined: documents are (number, title, text), prompts (label, text) by place."""

    documents: tuple[tuple[int, str, str], ...]
    prompts: tuple[tuple[str, str], ...]
    judged: tuple[Judged, ...]
    titles_cut: int


@dataclass(frozen=True)
class ImportedCranfield(Shown):
    """The folder that was written, and the counts of what is in it."""

    folder: Path
    collection: Collection

    @property
    def next(self) -> list[str]:
        """The command to run next."""
        return [f"python -m harness init {shlex.quote(str(self.folder))}"]

    def rows(self) -> Rows:
        """A row for each code of cranqrel: the grade that it became, and how often it stands there."""
        counted = Counter(judged.code for judged in self.collection.judged)
        return [{"code": code, "grade": GRADES[code], "judgements": counted[code]} for code in GRADES if counted[code]]

    def caption(self) -> str:
        """How much was read."""
        counts = self.counts()
        return f"{counts['documents']} documents, {counts['queries']} prompts, {counts['judgements']} judgements in {self.folder}"

    def counts(self) -> dict[str, int]:
        """Documents, prompts and judgements."""
        data = self.collection
        return {"documents": len(data.documents), "queries": len(data.prompts), "judgements": len(data.judged)}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        data, counts = self.collection, self.counts()
        grades = Counter(GRADES[judged.code] for judged in data.judged)
        return {
            "folder": str(self.folder),
            **counts,
            "as_published": counts == PUBLISHED,
            "published": PUBLISHED,
            "grades": {str(grade): grades[grade] for grade in sorted(grades, reverse=True)},
            "codes": [dict(row) for row in self.rows()],
            "labels_that_are_not_the_place": sum(int(label) != i for i, (label, _) in enumerate(data.prompts, 1)),
            "titles_cut": data.titles_cut,
            "empty_documents": [str(number) for number, title, text in data.documents if not title and not text],
            "next": self.next,
        }


def import_cranfield(folder: str | Path, *, out: str | Path) -> ImportedCranfield:
    """Write cran.all (or cran.all.1400), cran.qry and cranqrel of `folder` to the new folder `out` in BEIR layout.

    HarnessError lists the problems of all three files with their lines, and then nothing is written.
    """
    target = Path(out)
    if target.exists() or target.is_symlink():
        raise HarnessError(f"{target}: must not be there yet; name a new folder with --out")
    collection = read_collection(Path(folder))
    write_folder(target, collection)
    return ImportedCranfield(target, collection)


# Reading


def read_collection(folder: Path) -> Collection:
    """The three files of a folder, each checked and all joined."""
    corpus, queries, qrels = find_originals(folder)
    problems = Problems()
    documents = read_entries(corpus, "TABW", "TW", problems)
    prompts = read_entries(queries, "W", "W", problems)
    for entry in prompts:
        if "W" in entry.fields and not entry.text_of("W"):
            problems.add(f"{queries}:{entry.line}", "a prompt must have a text under .W, got none")
    whole = not problems.lines  # else numbers and places are not those of the whole files
    judged = read_judged(qrels, problems)
    if whole:
        check_join(qrels, judged, {int(entry.label) for entry in documents}, len(prompts), problems)
    problems.raise_any()
    cut = [cut_title(entry.text_of("T"), entry.text_of("W")) for entry in documents]
    return Collection(
        tuple((int(e.label), e.text_of("T"), text) for e, (text, _) in zip(documents, cut, strict=True)),
        tuple((entry.label, entry.text_of("W")) for entry in prompts),
        tuple(judged.values()),
        sum(was_there for _, was_there in cut),
    )


def find_originals(folder: Path) -> tuple[Path, Path, Path]:
    """Documents, prompts and judgements; HarnessError names all that are missing, or two files of documents."""
    if not folder.is_dir():
        raise HarnessError(f"{folder}: must be the folder with the original files, got {'a file' if folder.exists() else 'none'}")
    corpora = [folder / name for name in CORPUS_NAMES if (folder / name).exists()]
    problems = Problems()
    if len(corpora) != 1:
        got = "both" if corpora else "neither"
        problems.add(str(folder), f"must hold the documents as {' or '.join(CORPUS_NAMES)}, got {got}")
    for name, what in ((QUERIES_NAME, "prompts"), (QRELS_NAME, "judgements")):
        if not (folder / name).exists():
            problems.add(str(folder), f"must hold the {what} as {name}, got no such file")
    problems.raise_any()
    return corpora[0], folder / QUERIES_NAME, folder / QRELS_NAME


def lines_of(path: Path, problems: Problems) -> list[tuple[int, str]] | None:
    """The lines that are not blank, with their numbers; None, and a problem, where the file is not text."""
    try:
        return read_lines(path)
    except HarnessError as error:
        problems.lines.extend(error.problems)
        return None


def read_entries(path: Path, markers: str, required: str, problems: Problems) -> list[Entry]:
    """The entries of a file in which `.I NUMBER` begins one and a marker each field; what does not hold goes into `problems`."""
    lines = lines_of(path, problems)
    if lines is None:
        return []
    if not lines or not ENTRY.fullmatch(lines[0][1].rstrip()):
        got = repr(lines[0][1][:80]) if lines else "an empty file"
        problems.add(f"{path}:{lines[0][0] if lines else 1}", f"must begin with .I and a number, got {got}")
        return []
    entries: list[Entry] = []
    letter = ""
    for number, line in lines:
        text = line.rstrip()
        begins, marks = ENTRY.fullmatch(text), MARKER.fullmatch(text)
        if begins:
            entries.append(Entry(number, begins[1]))
            letter = ""
        elif text.startswith(".I "):
            problems.add(f"{path}:{number}", f"must be .I and a number, got {text[:80]!r}")
        elif marks:
            letter = marks[1]
            note_marker(f"{path}:{number}", letter, entries[-1], markers, problems)
        elif letter:
            entries[-1].fields[letter].append(text)
        else:
            problems.add(f"{path}:{number}", f"must be a marker ({list_markers(markers)}) below .I, got {text[:80]!r}")
    check_entries(path, entries, required, problems)
    return entries


def note_marker(where: str, letter: str, entry: Entry, markers: str, problems: Problems) -> None:
    """Open the field of a marker; one that does not belong there, or stands twice, is a problem."""
    if letter not in markers:
        problems.add(where, f"must be a marker of this file ({list_markers(markers)}), got .{letter}: is it another file?")
    elif letter in entry.fields:
        problems.add(where, f"a marker must stand once in an entry, got .{letter} again")
    entry.fields.setdefault(letter, [])


def list_markers(markers: str) -> str:
    return ", ".join(f".{letter} {FIELDS[letter]}" for letter in markers)


def check_entries(path: Path, entries: Sequence[Entry], required: str, problems: Problems) -> None:
    """Note the entries that lack a marker, and numbers that stand twice."""
    first: dict[int, int] = {}
    for entry in entries:
        where = f"{path}:{entry.line}"
        lacking = [f".{letter}" for letter in required if letter not in entry.fields]
        if lacking:
            problems.add(where, f"an entry must have {' and '.join(lacking)}, got none under .I {entry.label}")
        if first.setdefault(int(entry.label), entry.line) != entry.line:
            problems.add(where, f"a number must stand once, .I {entry.label} is on line {first[int(entry.label)]} already")


def cut_title(title: str, text: str) -> tuple[str, bool]:
    """The text without the title that .W repeats at its start, and whether it was there."""
    if title and (text == title or text.startswith(f"{title} ")):
        return text[len(title) :].lstrip(), True
    return text, False


def read_judged(path: Path, problems: Problems) -> dict[int, Judged]:
    """The lines of cranqrel by their number; what does not hold goes into `problems`."""
    judged: dict[int, Judged] = {}
    first: dict[tuple[int, int], int] = {}
    lines = lines_of(path, problems)
    if lines == []:
        problems.add(str(path), "must hold at least one judgement, got an empty file")
    for number, line in lines or ():
        where, parts = f"{path}:{number}", line.split()
        if len(parts) != 3 or not all(WHOLE.fullmatch(part) for part in parts):
            problems.add(where, f"must be three whole numbers (place of the prompt, document, code), got {line[:80]!r}")
            continue
        query, document, code = map(int, parts)
        if code not in GRADES:
            problems.add(where, f"the code must be {', '.join(map(str, GRADES))}, got {code}")
        elif first.setdefault((query, document), number) != number:
            problems.add(where, f"a pair must be judged once, {query} {document} is on line {first[query, document]} already")
        else:
            judged[number] = Judged(query, document, code)
    return judged


def check_join(path: Path, judged: Mapping[int, Judged], documents: set[int], n_prompts: int, problems: Problems) -> None:
    """Note judgements of prompts or documents that there are not, and prompts without any: the first column must be places."""
    places = f"the prompt's place in {QUERIES_NAME}, 1 to {n_prompts} (not its label)"
    for number, line in judged.items():
        if not 1 <= line.query <= n_prompts:
            problems.add(f"{path}:{number}", f"the first column must be {places}, got {line.query}")
        if line.document not in documents:
            problems.add(f"{path}:{number}", f"the second column must be the number of a document, got {line.document}")
    unjudged = sorted(set(range(1, n_prompts + 1)) - {line.query for line in judged.values()})
    if unjudged and not problems.lines:
        got = ", ".join(map(str, unjudged[:SHOWN])) + (f" and {len(unjudged) - SHOWN} more" if len(unjudged) > SHOWN else "")
        problems.add(
            str(path),
            f"every prompt must be judged, the first column being {places}, got no judgement for {got}; are the files complete,"
            " and of one collection?",
        )


# Writing


def write_folder(target: Path, collection: Collection) -> None:
    """Write the BEIR layout into a new folder, complete or not there; query_labels.tsv keeps the labels of cran.qry."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
    try:
        for name, text in compose(collection).items():
            write_text(beside / name, text)
        beside.chmod(0o755)
        beside.rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def compose(collection: Collection) -> dict[str, str]:
    """The text of each file by its name."""
    documents = [{"_id": str(number), "title": title, "text": text} for number, title, text in collection.documents]
    prompts = [{"_id": str(place), "text": text} for place, (_, text) in enumerate(collection.prompts, 1)]
    qrels = [f"{line.query}\t{line.document}\t{GRADES[line.code]}\n" for line in collection.judged]
    labels = [f"{place}\t{label}\n" for place, (label, _) in enumerate(collection.prompts, 1)]
    return {
        "corpus.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in documents),
        "queries.jsonl": "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in prompts),
        "qrels/test.tsv": "".join(["query-id\tcorpus-id\tscore\n", *qrels]),
        "query_labels.tsv": "".join(["query-id\toriginal_I_label\n", *labels]),
    }
