"""Documents from a folder of Markdown, text and HTML: each file is cut into chunks that know their headings.

A chunk's id is its file's path within the folder and its number in it: `guide/install.md#0003`. It depends on that file and the
chunking alone. HTML becomes Markdown first, without scripts, styles and navigation.
"""

from __future__ import annotations

import fnmatch
import hashlib
import html
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import HarnessError, Problems
from harness.files import hash_lines, read_bytes
from harness.progress import Progress, Silence

MARKDOWN, TEXT, HTML = "markdown", "text", "html"
ENDINGS = {".md": MARKDOWN, ".markdown": MARKDOWN, ".txt": TEXT, ".html": HTML, ".htm": HTML}
WILD = re.compile(r"[*?\[]")
FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
FRONT_TITLE = re.compile(r"^title:[ \t]*(?:\"(.+)\"|'(.+)'|(.+?))[ \t]*$", re.MULTILINE)
HTML_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
BLOCKS = re.compile(  # what may begin, underline, or hide a heading
    r"^ {0,3}(?:(?P<marks>#{1,6})(?:[ \t]+(?P<title>[^\n]*?))?(?:[ \t]+#+)?[ \t]*"
    r"|(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)|(?P<line>=+|-+)[ \t]*)$",
    re.MULTILINE,
)
SETEXT_BEFORE = re.compile(r" {0,3}(?![#>*+-] |\d+[.)] |`{3}|~{3})(\S.*)")  # a paragraph's line: no list, quote or heading
BETWEEN = " > "  # title and headings


@dataclass(frozen=True)
class Counting:
    """A model's tokenizer (of the package tokenizers), the SHA-256 of its file, and how many tokens the model reads.

    `room` is what is left of these for a document when the model's marks and its prompt are in.
    """

    tokenizer: Any
    sha256: str
    limit: int
    room: int


@dataclass(frozen=True)
class Chunking:
    """How long a chunk may be and how much it may repeat of the one before, in characters or in a model's tokens."""

    size: int = 1000
    overlap: int = 100
    unit: str = "characters"
    counting: Counting | None = None  # needed where the unit is tokens


@dataclass(frozen=True)
class Chunk:
    """A piece of a file: `title` is the file's, then the headings in force where it begins; `text` is file[start:end]."""

    id: str
    title: str
    text: str
    source: str
    start: int
    end: int


@dataclass(frozen=True)
class Found:
    """The files that a folder or pattern means, as paths within `root`, and how many others were left aside, by reason."""

    root: Path
    files: tuple[str, ...]
    skipped: Counter[str]


@dataclass(frozen=True)
class Page:
    """A file's text, its title, and its headings: where each begins, its level and its words."""

    text: str
    title: str
    headings: tuple[tuple[int, int, str], ...]
    markdown: bool


@dataclass
class Chunked:
    """All chunks, file by file in order of paths; the hash of paths, contents and tokenizer; what was left aside."""

    chunks: list[Chunk] = field(default_factory=list)
    digest: str = ""
    skipped: Counter[str] = field(default_factory=Counter)
    n_files: int = 0


def means_chunks(path: str) -> bool:
    """Whether this path is a folder, a pattern, or a file of Markdown or HTML."""
    place = Path(path)
    if place.is_dir():
        return True
    return ENDINGS.get(place.suffix.lower()) in (MARKDOWN, HTML) or (bool(WILD.search(path)) and not place.exists())


# Which files


def find_files(path: str) -> Found:
    """The files that this folder, pattern or single file means; HarnessError where there is none.

    Hidden files and folders, links, and other endings are left aside and counted. A pattern knows `*`, `?`, `[…]`, and `**` for
    any number of folders.
    """
    place = Path(path)
    if place.is_file():
        if place.suffix.lower() not in ENDINGS:
            raise HarnessError(
                f"{path}: must end in {', '.join(ENDINGS)} to be cut into chunks, got {place.suffix or 'no ending'}"
            )
        return Found(place.parent, (place.name,), Counter())
    root, pattern = split_pattern(path)
    if not root.is_dir():
        what = "a file" if root.exists() else "nothing at this path"
        raise HarnessError(f"{path}: must be a file, a folder or a pattern such as docs/**/*.md, got {what}")
    skipped: Counter[str] = Counter()
    files = [name for name in walk(root, skipped) if _keep(name, pattern, skipped)]
    skipped = +skipped  # without the zeros
    if not files:
        there = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common(5)) or "no file at all"
        raise HarnessError(f"{path}: must be a folder or pattern with files that end in {', '.join(ENDINGS)}, got {there}")
    return Found(root, tuple(sorted(files)), skipped)


def split_pattern(path: str) -> tuple[Path, tuple[str, ...]]:
    """The folder before the first wildcard, and the pattern below it, part by part; no pattern for a plain folder."""
    parts = Path(path).parts
    wild = next((i for i, part in enumerate(parts) if WILD.search(part)), len(parts))
    if Path(path).is_dir():
        return Path(path), ()
    return Path(*parts[:wild]), parts[wild:]


def walk(root: Path, skipped: Counter[str]) -> Iterator[str]:
    """The files below a folder as paths within it; hidden ones and links are counted and left aside."""

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(root, onerror=fail):
        for listed, what in ((folders, "folders"), (names, "files")):
            hidden = [name for name in listed if name.startswith(".")]
            links = [name for name in listed if name not in hidden and Path(folder, name).is_symlink()]
            skipped.update({f"hidden {what}": len(hidden), "links": len(links)})
            listed[:] = sorted(set(listed) - {*hidden, *links})
        below = Path(folder).relative_to(root)
        yield from ((below / name).as_posix() for name in names)


def _keep(name: str, pattern: tuple[str, ...], skipped: Counter[str]) -> bool:
    path = PurePosixPath(name)
    if pattern and not fits(path.parts, pattern):
        return False
    if path.suffix.lower() in ENDINGS:
        return True
    skipped[f"files that end in {path.suffix}" if path.suffix else "files without an ending"] += 1
    return False


def fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a path fits a pattern, part by part; `**` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(fits(parts[i:], pattern[1:] or ("*",)) for i in range(len(parts)))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and fits(parts[1:], pattern[1:])


# From a file to chunks


def read_chunks(path: str, chunking: Chunking, progress: Progress | None = None) -> Chunked:
    """The chunks of all files that `path` means; HarnessError names every file that is not UTF-8."""
    found, problems = find_files(path), Problems()
    result = Chunked(skipped=Counter(found.skipped), n_files=len(found.files))
    split = {markdown: make_splitter(chunking, markdown=markdown) for markdown in (True, False)}
    hashes = [chunking.counting.sha256] if chunking.counting is not None else []
    with (progress or Silence())("reading and chunking", len(found.files)) as advance:
        for name in found.files:
            data = read_bytes(found.root / name)
            hashes += [name, hashlib.sha256(data).hexdigest()]
            page = read_page(found.root / name, data, problems)
            if page is not None:
                cut = list(cut_page(name, page, split[page.markdown]))
                result.chunks += cut
                result.skipped["files without text"] += not cut
            advance(1)
    problems.raise_any()
    result.skipped = +result.skipped
    if not result.chunks:
        raise HarnessError(f"{path}: must hold files with text, got {len(found.files)} without any")
    result.digest = hash_lines(hashes)
    return result


def say_long(chunking: Chunking) -> str | None:
    """What it means that a chunk may hold more tokens than the model reads of it; None where it does not."""
    counting = chunking.counting
    if counting is None or chunking.size <= counting.room:
        return None
    return (
        f"chunk.size is {chunking.size} tokens and the model reads {counting.limit}, its {counting.limit - counting.room} tokens"
        f" of marks and prompt among them: of a full chunk the semantic side does not see the end; at most {counting.room} fit,"
        " and fewer with the title, which comes first"
    )


Splitter = Callable[[str], list[tuple[int, str]]]


def make_splitter(chunking: Chunking, *, markdown: bool) -> Splitter:
    """From a text to (offset, chunk) pairs: at headings, blocks, sentences and words, whichever is the highest that fits."""
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    kind = MarkdownSplitter if markdown else TextSplitter
    if chunking.unit == "tokens":
        assert chunking.counting is not None  # harness.prepare sees to it
        count = chunking.counting.tokenizer
        return kind.from_huggingface_tokenizer(count, chunking.size, overlap=chunking.overlap, trim=True).chunk_indices
    return kind(chunking.size, overlap=chunking.overlap, trim=True).chunk_indices


def read_page(path: Path, data: bytes, problems: Problems) -> Page | None:
    """A file's text and headings; None, with a problem, where it is not UTF-8 or no text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(
            f"{path}:{line}", f"must be UTF-8 text, got byte 0x{data[error.start]:02x}; convert the file, or leave it out"
        )
        return None
    if "\0" in text:
        problems.add(f"{path}:{text.count(chr(10), 0, text.index(chr(0))) + 1}", "must be text, got a NUL character")
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return make_page(text, ENDINGS[path.suffix.lower()], path.stem)


def make_page(text: str, kind: str, name: str) -> Page:
    """The page of a text: its title is the front matter's, the first heading of level 1, HTML's title, or the file's name."""
    if kind == TEXT:
        return Page(text, name, (), False)
    titles: list[str] = []
    if kind == HTML:
        named = HTML_TITLE.search(text)
        titles = [" ".join(html.unescape(named[1]).split())] if named is not None else []
        text = to_markdown(text)
    front = FRONT_MATTER.match(text) if kind == MARKDOWN else None
    said = FRONT_TITLE.search(front[1]) if front is not None else None
    text = text[front.end() :] if front is not None else text
    headings = tuple(find_headings(text))
    first = next((words for _, level, words in headings if level == 1 and words), None)
    title = next((words for words in ((said[1] or said[2] or said[3]) if said else None, first, *titles) if words), name)
    return Page(text, title, headings, True)


def to_markdown(page: str) -> str:
    """HTML as Markdown: what a reader sees, without scripts, styles, forms, navigation, images and hidden parts."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    preprocessing = PreprocessingOptions(enabled=True, remove_navigation=True, remove_forms=True)
    options = ConversionOptions(extract_metadata=False, skip_images=True, preprocessing=preprocessing)
    return convert(page, options).content or ""


def find_headings(text: str) -> Iterator[tuple[int, int, str]]:
    """The headings of a Markdown text: offset, level and words; what looks like one within a code fence is none."""
    fence = ""
    for match in BLOCKS.finditer(text):
        mark = match["fence"]
        if fence:
            if mark is not None and mark.startswith(fence) and not match["info"].strip():
                fence = ""
        elif mark is not None:
            fence = mark if not (mark[0] == "`" and "`" in match["info"]) else ""
        elif match["marks"] is not None:
            yield match.start(), len(match["marks"]), plain_words(match["title"] or "")
        elif match["line"] is not None:
            start = text.rfind("\n", 0, max(match.start() - 1, 0)) + 1
            above = SETEXT_BEFORE.fullmatch(text, start, max(match.start() - 1, start))
            if above is not None:
                yield start, 1 if match["line"][0] == "=" else 2, plain_words(above[1])


def plain_words(heading: str) -> str:
    """A heading without links' targets and marks of emphasis or code."""
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return " ".join(re.sub(r"[*`]|\\(?=[^\w\s])|[ \t]*\{#[^}]*\}$|¶", "", words).split())


def cut_page(name: str, page: Page, split: Splitter) -> Iterator[Chunk]:
    """The chunks of one file, numbered from 1."""
    at = 0
    path: list[tuple[int, str]] = []
    for number, (start, text) in enumerate(split(page.text), 1):
        while at < len(page.headings) and page.headings[at][0] <= start:
            _, level, words = page.headings[at]
            path = [*(item for item in path if item[0] < level), (level, words)]
            at += 1
        named = [words for _, words in path if words and words != page.title]
        yield Chunk(f"{name}#{number:04d}", BETWEEN.join([page.title, *named]), text, name, start, start + len(text))
