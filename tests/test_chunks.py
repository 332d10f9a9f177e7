"""Folders of Markdown, text and HTML: which files count, what a chunk holds, what its title and id are."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import harness
from harness.blocks import Semantic
from harness.chunks import Chunk, Chunking, cut_page, find_files, find_headings, fits, make_page, make_splitter, read_chunks
from harness.cli import run
from harness.collection import DataFiles, Source, read_dataset, read_documents
from harness.config import Config, parse_config
from harness.errors import HarnessError
from harness.prepare import data_files, read_data
from harness.semantic import load_counter, locate_model

WHOLE = Chunking(100_000, 0)
FOLDER = "must be a folder or pattern with files that end in .md, .markdown, .txt, .html, .htm"


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


def cut(text: str, kind: str = "markdown", chunking: Chunking = WHOLE) -> list[Chunk]:
    page = make_page(text, kind, "name")
    return list(cut_page("name.md", page, make_splitter(chunking, markdown=page.markdown)))


# ---- which files ----------------------------------------------------------------------------------------------------

FILES: dict[str, str | bytes] = {
    "a.md": "# A\n\nfirst",
    "sub/b.HTML": "<p>second</p>",
    "sub/deep/c.txt": "third",
    "sub/d.markdown": "fourth",
    "picture.png": b"\x89PNG",
    "LICENSE": "none",
    ".hidden.md": "no",
    ".git/x.md": "no",
    "sub/empty.md": " \n",
}


def test_a_folder_means_its_texts_at_any_depth_and_counts_what_it_leaves_aside(tmp_path: Path) -> None:
    result = read_chunks(str(write_files(tmp_path, FILES)), Chunking())
    assert [chunk.id for chunk in result.chunks] == [
        "a.md#0001",
        "sub/b.HTML#0001",
        "sub/d.markdown#0001",
        "sub/deep/c.txt#0001",
    ]
    assert [chunk.text for chunk in result.chunks] == ["# A\n\nfirst", "second", "fourth", "third"]
    assert dict(result.skipped) == {
        "hidden files": 1,
        "hidden folders": 1,
        "files that end in .png": 1,
        "files without an ending": 1,
        "files without text": 1,
    }


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.md", ["a.md", "sub/empty.md"]),
        ("*.md", ["a.md"]),
        ("sub/*", ["sub/b.HTML", "sub/d.markdown", "sub/empty.md"]),
        ("**", ["a.md", "sub/b.HTML", "sub/d.markdown", "sub/deep/c.txt", "sub/empty.md"]),
        ("s?b/**/[ac].*", ["deep/c.txt"]),
        ("sub/**/*.txt", ["deep/c.txt"]),
    ],
)
def test_a_pattern(pattern: str, names: list[str], tmp_path: Path) -> None:
    found = find_files(f"{write_files(tmp_path, FILES)}/{pattern}")
    inside = [name.removeprefix("sub/") if pattern.startswith("sub/") else name for name in names]
    inside = ["sub/deep/c.txt"] if pattern.startswith("s?b") else inside
    assert list(found.files) == inside  # names within the folder before the first wildcard


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [("a/b/c", "a/**/c", True), ("a/c", "a/**/c", True), ("b/c", "a/**/c", False), ("a/b", "*", False), ("a/.b", "a/*", True)],
)
def test_fits(path: str, pattern: str, expected: bool) -> None:
    assert fits(tuple(path.split("/")), tuple(pattern.split("/"))) is expected


def test_one_file_alone(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    assert read_documents(tmp_path / "a.md").ids == ("a.md#0001",)
    assert read_documents(Source(str(tmp_path / "sub/deep/c.txt"))).texts == ("c third",)  # a plain path of it is JSON lines


def test_links_are_not_followed(tmp_path: Path) -> None:
    write_files(tmp_path / "outside", {"x.md": "secret"})
    folder = write_files(tmp_path / "docs", {"a.md": "open"})
    (folder / "y.md").symlink_to(tmp_path / "outside/x.md")
    (folder / "all").symlink_to(tmp_path / "outside", target_is_directory=True)
    (folder / "round").symlink_to(folder, target_is_directory=True)
    result = read_chunks(str(folder), Chunking())
    assert [chunk.text for chunk in result.chunks] == ["open"] and dict(result.skipped) == {"links": 3}


def test_the_order_in_which_the_system_lists_files_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(write_files(tmp_path, {f"{i % 3}/{i}.md": f"# T{i}\n\ntext {i}" for i in range(20)}))
    before = read_chunks(folder, Chunking())
    scandir = os.scandir
    rng = random.Random(7)

    class Shuffled:
        def __init__(self, path: Any) -> None:
            with scandir(path) as entries:
                self.entries = list(entries)
            rng.shuffle(self.entries)

        def __enter__(self) -> Any:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None: ...
        def __iter__(self) -> Any:
            return iter(self.entries)

        def __next__(self) -> Any:
            return self.entries.pop() if self.entries else next(iter(()))

        def close(self) -> None: ...

    monkeypatch.setattr(os, "scandir", Shuffled)
    assert read_chunks(folder, Chunking()) == before


def test_a_files_chunks_are_its_own_affair(tmp_path: Path) -> None:
    text = "# One\n\n" + "A sentence of some words. " * 40
    alone = read_chunks(str(write_files(tmp_path / "a", {"x/p.md": text})), Chunking(200, 50)).chunks
    among = read_chunks(str(write_files(tmp_path / "b", {"x/p.md": text, "x/a.md": "other", "y.txt": text})), Chunking(200, 50))
    assert [chunk for chunk in among.chunks if chunk.source == "x/p.md"] == alone and len(alone) > 4


# ---- what a chunk holds ---------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        "# Head",
        "## Sub",
        "plain words here",
        "- item",
        "```",
        "",
        "",
        "| a | b |",
        "Überlänge – ohne Ende",
        "   ",
        "日本語の文。",
        "a" * 70,
    ]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.one_of(
        st.lists(LINES, max_size=40).map("\n".join), st.text(st.characters(blacklist_categories=("Cs",)), max_size=300)
    ),
    size=st.integers(20, 120),
    share=st.sampled_from([0.0, 0.2, 0.5]),
    markdown=st.booleans(),
)
def test_chunks_cover_the_text_in_order_and_within_the_size(text: str, size: int, share: float, markdown: bool) -> None:
    text = text.replace("\r", "").replace("\0", "")
    overlap = int(size * share)
    page = make_page(text, "markdown" if markdown else "text", "name")
    chunks = list(cut_page("name.md", page, make_splitter(Chunking(size, overlap), markdown=markdown)))
    covered = [False] * len(page.text)
    for chunk in chunks:
        assert page.text[chunk.start : chunk.end] == chunk.text and len(chunk.text) <= size
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert all(done or character.isspace() for done, character in zip(covered, page.text, strict=True))
    assert [chunk.id for chunk in chunks] == [f"name.md#{i:04d}" for i in range(1, len(chunks) + 1)]
    for one, other in itertools.pairwise(chunks):
        assert one.start < other.start and one.end < other.end and one.end - other.start <= overlap


def test_the_headings_in_force_where_a_chunk_begins() -> None:
    text = "# Guide\n\nintro\n\n## Install\n\nfirst\n\n### Linux\n\nsecond\n\n## Use\n\nthird\n\n# Annex\n\nlast\n"
    titles = [(chunk.text.split("\n")[-1], chunk.title) for chunk in cut(text, chunking=Chunking(22, 0))]
    assert titles == [
        ("intro", "Guide"),
        ("first", "Guide > Install"),
        ("second", "Guide > Install > Linux"),
        ("third", "Guide > Use"),
        ("last", "Guide > Annex"),
    ]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A #\n## B [link](x) `code`\n", [(1, "A"), (2, "B link code")]),
        ("Title\n=====\nSub\n---\n", [(1, "Title"), (2, "Sub")]),
        ("```\n# no\n```\n# yes\n", [(1, "yes")]),
        ("~~~~ md\n# no\n~~~\n# no\n~~~~\n# yes\n", [(1, "yes")]),
        ("```py\n# no\n", []),
        ("#no\n    # no\n####### no\n", []),
        ("\n---\n- item\n---\n> quote\n---\n", []),
        ("  ### **Bold** heading {#id}\n", [(3, "Bold heading")]),
        ("#\n", [(1, "")]),
    ],
)
def test_headings(text: str, headings: list[tuple[int, str]]) -> None:
    assert [(level, words) for _, level, words in find_headings(text)] == headings


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        ("---\ntitle: 'Front: matter'\n---\n# Heading\n", "markdown", "Front: matter"),
        ("---\nlayout: x\n---\n## Two\n# Heading\n", "markdown", "Heading"),
        ("no heading", "markdown", "name"),
        ("# no heading", "text", "name"),
        ("<title>A &amp; B</title><h2>x</h2>", "html", "A & B"),
        ("<title>A | Site</title><h1>A</h1>", "html", "A"),
    ],
)
def test_the_title_of_a_page(text: str, kind: str, title: str) -> None:
    assert make_page(text, kind, "name").title == title


def test_front_matter_is_no_text_and_a_rule_is_no_front_matter() -> None:
    assert [chunk.text for chunk in cut("---\nsecret: x\n---\nopen")] == ["open"]
    assert "two" in cut("one\n\n---\ntwo\n---\n")[0].text


def test_of_html_only_what_a_reader_sees_is_left() -> None:
    page = (
        "<html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body><nav>menu</nav><h1>T</h1>"
        "<p>Read &amp; <b>see</b><script>hide()</script></p><form><input value=1>ask</form><p hidden>gone</p>"
        "<h2>More</h2><ul><li>one</li></ul><img src='x.png' alt='picture'></body></html>"
    )
    (chunk,) = cut(page, "html")
    assert chunk.text == "# T\n\nRead & **see**\n\n## More\n\n- one" and chunk.title == "T"


# ---- the corpus -----------------------------------------------------------------------------------------------------


def test_the_hash_is_of_paths_and_contents(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,text\nq1,first\n")
    (tmp_path / "l.csv").write_text("query,document,relevance\nq1,a.md#0001,1\n")

    def hashes(files: dict[str, str | bytes], name: str) -> tuple[str, str]:
        folder = write_files(tmp_path / name, files)
        found = read_dataset(DataFiles(folder, tmp_path / "q.csv", tmp_path / "l.csv")).hashes
        return found.corpus, found.files["corpus"]

    base: dict[str, str | bytes] = {"a.md": "one", "b.md": "two"}
    first = hashes(base, "first")
    assert hashes(base, "second") == first  # wherever the folder lies
    other_ends = hashes({"a.md": "one\r\n", "b.md": "two"}, "third")
    assert other_ends[0] == first[0] and other_ends[1] != first[1]
    assert hashes({"a.md": "one", "c.md": "two"}, "fourth")[0] != first[0]


def test_titles_are_indexed_and_what_was_left_aside_is_said(tmp_path: Path) -> None:
    documents = read_documents(write_files(tmp_path, {"a.md": "# A\n\n## B\n\ntext", "x.png": "", "y.png": ""}))
    assert documents.texts == ("A # A\n\n## B\n\ntext",)
    (remark,) = documents.remarks
    assert remark.name == "files_left_aside"
    assert remark.message == f"{tmp_path}: 1 files were read, left aside were 2 files that end in .png"


@pytest.fixture
def refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("id,text\nq1,how\n")
    (tmp_path / "l.csv").write_text("query,document,relevance\nq1,1,1\n")

    def answer(corpus: Any) -> list[str]:
        data = {"name": "x", "collection": {"corpus": corpus, "queries": "q.csv", "qrels": "l.csv"}}
        Path("config.yaml").write_text(yaml.safe_dump(data))
        assert run(["check", "config.yaml"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and "Traceback" not in err
        return err.splitlines()

    return answer


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (
            "docs",
            f"docs: {FOLDER}, got no file at all",
        ),
        (
            "other",
            f"other: {FOLDER}, got 1 files that end in .pdf",
        ),
        ("empty", "empty: must hold files with text, got 1 without any"),
        ("docs/**/*.md", "docs/**/*.md: must be a folder or pattern with files that end in .md"),
        ("nowhere/*.md", "nowhere/*.md: must be a file, a folder or a pattern such as docs/**/*.md, got nothing at this path"),
        ("nowhere.md", "nowhere.md: must be a file, a folder or a pattern"),
        ("latin", "latin/a.md:2: must be UTF-8 text, got byte 0xe9; convert the file, or leave it out"),
        ("wide", "wide/a.md:1: must be UTF-8 text, got byte 0xff"),
        ("zero", "zero/a.md:1: must be text, got a NUL character"),
        ({"path": "latin", "id": "x"}, "latin: texts are cut into chunks and have no columns, got id; take the keys out"),
        ({"path": "l.txtx", "chunk": {"size": 100, "overlap": 0}}, "l.txtx: must end in .md, .markdown, .txt, .html, .htm"),
    ],
)
def test_a_wrong_folder_is_refused_with_one_clear_message(
    corpus: Any, expected: str, tmp_path: Path, refuse: Callable[..., list[str]]
) -> None:
    (tmp_path / "docs").mkdir()
    write_files(tmp_path / "other", {"a.pdf": b"%PDF"})
    write_files(tmp_path / "empty", {"a.md": ""})
    write_files(tmp_path / "latin", {"a.md": "x\ncaf\xe9".encode("latin-1")})
    write_files(tmp_path / "wide", {"a.md": "x".encode("utf-16")})
    write_files(tmp_path / "zero", {"a.md": "x\0"})
    write_files(tmp_path, {"l.txtx": "x"})
    (line,) = refuse(corpus)
    assert line.startswith(expected)


def test_every_file_that_is_not_utf8_is_told_at_once(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": b"\xe9", "b.md": "good", "c.html": b"<p>\n\xe9"})
    with pytest.raises(HarnessError) as caught:
        read_chunks(str(tmp_path), Chunking())
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [f"{tmp_path}/a.md:1", f"{tmp_path}/c.html:2"]


def test_progress_is_told_a_file_at_a_time(tmp_path: Path) -> None:
    from harness.progress import Silence

    class Counted(Silence):
        def __init__(self) -> None:
            self.steps: list[int] = []

        def __call__(self, description: str, total: int) -> Any:
            self.opened = (description, total)
            return contextlib.nullcontext(self.steps.append)

    told = Counted()
    read_chunks(str(write_files(tmp_path, FILES)), Chunking(), told)
    assert told.opened == ("reading and chunking", 5) and sum(told.steps) == 5


def test_init_writes_a_config_for_pages_and_questions_with_answers(workdir: Path) -> None:
    write_files(workdir / "data", {"pages/a.md": "# A\n\nIt takes 30 days.", "pages/sub/b.html": "<p>Use the blue key.</p>"})
    write_files(workdir / "data", {"q.csv": "qid,question,answer\n1,how long,30 days\n2,which key,blue key\n3,who,nobody\n"})
    made = harness.init("data")
    collection = parse_config(yaml.safe_load(made.text)).collection.files()
    assert collection.corpus == Source("data/pages", {}, Chunking())
    assert collection.queries == Source("data/q.csv", {"id": "qid", "text": "question", "answers": "answer"})
    assert collection.qrels is None and "of the 3 prompts with answers 2 have one in the corpus" in " ".join(made.text.split())
    assert harness.check(made.path).facts["collection"]["queries_used"] == 2


# ---- in tokens ------------------------------------------------------------------------------------------------------


@pytest.fixture
def guides(workdir: Path) -> dict[str, Any]:
    """Two files of many words, and prompts with answers; the config's `collection` but for `chunk`."""
    words = " ".join(f"Step {i} rotates the credential of tenant {i}, irrespective of its provenance." for i in range(60))
    write_files(Path("guide"), {"keys.md": f"# Keys\n\n{words}\n\n## Later\n\n{words.upper()}\n", "plain.txt": words})
    Path("q.csv").write_text("id,text,answers\nq1,which step,Step 7 rotates\nq2,whose,of tenant 30\n", encoding="utf-8")
    return {"corpus": {"path": "guide"}, "queries": "q.csv"}


def in_tokens(collection: dict[str, Any], size: int, overlap: int = 0, **semantic: Any) -> Config:
    corpus = {**collection["corpus"], "chunk": {"size": size, "overlap": overlap, "unit": "tokens"}}
    return parse_config({"name": "x", "collection": {**collection, "corpus": corpus}, "semantic": semantic, "cache": "cache"})


def chunks_in_tokens(collection: dict[str, Any], size: int, overlap: int = 0) -> list[Chunk]:
    place = data_files(in_tokens(collection, size, overlap)).corpus
    assert isinstance(place, Source) and place.chunking is not None
    return read_chunks("guide", place.chunking).chunks


def test_no_chunk_has_more_tokens_than_asked_for_and_none_could_take_the_next(guides: dict[str, Any]) -> None:
    tokenizer = load_counter(Semantic()).tokenizer  # the model's file itself cuts texts off, and would count too few

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    whole = Path("guide/plain.txt").read_text()
    for size in (20, 60, 300):
        found = chunks_in_tokens(guides, size)
        assert size - 20 < max(count(chunk.text) for chunk in found) <= size
        plain = [chunk for chunk in found if chunk.source == "plain.txt"]
        for chunk, after in itertools.pairwise(plain):
            assert whole[chunk.start : chunk.end] == chunk.text and count(whole[chunk.start : after.end]) > size
    overlapping = chunks_in_tokens(guides, 60, 30)
    assert any(b.start < a.end for a, b in itertools.pairwise(overlapping) if a.source == b.source)


def test_a_size_that_the_model_does_not_read_is_said(guides: dict[str, Any]) -> None:
    def said(size: int, **semantic: Any) -> list[str]:
        remarks = read_data(in_tokens(guides, size, **semantic)).counts.remarks
        return [remark.message for remark in remarks if remark.name == "long_chunks"]

    assert said(254) == []  # 256, less [CLS] and [SEP]
    (line,) = said(255)
    assert line.startswith("chunk.size is 255 tokens and the model reads 256, its 2 tokens of marks and prompt among them")
    assert "at most 254 fit" in line
    assert said(60, max_seq_length=62) == [] and len(said(60, max_seq_length=61)) == 1
    assert len(said(254, document_prompt="passage: ")) == 1
    notes = {note.name: note.message for note in harness.check(in_tokens(guides, 255)).notes}
    assert notes["long_chunks"] == line


def test_another_tokenizer_makes_other_chunks_and_another_digest(guides: dict[str, Any], tmp_path: Path) -> None:
    folder, mine = locate_model(Semantic()), tmp_path / "model"
    assert folder is not None
    mine.mkdir()
    for name in ("tokenizer.json", "sentence_bert_config.json"):
        shutil.copy(folder / name, mine / name)
    packaged, same = (read_data(in_tokens(guides, 60, **own)) for own in ({}, {"model": str(mine)}))
    assert packaged.hashes == same.hashes
    data = json.loads((mine / "tokenizer.json").read_text())
    data["normalizer"]["lowercase"] = False  # a word in capitals is another number of tokens then
    (mine / "tokenizer.json").write_text(json.dumps(data))
    other = read_data(in_tokens(guides, 60, model=str(mine)))
    assert other.hashes.corpus != packaged.hashes.corpus
    assert other.hashes.files["corpus"] != packaged.hashes.files["corpus"]


def test_a_study_over_chunks_in_tokens_reproduces(guides: dict[str, Any]) -> None:
    folder = harness.tune(parse_config({**in_tokens(guides, 40, 8).model_dump(), "search": {"trials": 3}})).folder
    assert harness.reproduce(folder, from_scratch=True).outcome == "OK"
    assert "unit: tokens" in (folder / "config.yaml").read_text()


def test_tokens_need_a_model_whose_tokenizer_is_here(guides: dict[str, Any], tmp_path: Path) -> None:
    for key, value in (("run", "r.trec"), ("vectors", {"documents": "d.npy", "queries": "q.npy"}), ("embedder", "mine:embed")):
        with pytest.raises(HarnessError) as refused:
            in_tokens(guides, 60, **{key: value})
        expected = f"collection.corpus.chunk.unit: must be characters beside semantic.{key}, got tokens"
        assert any(line.startswith(expected) for line in refused.value.problems)
    (tmp_path / "empty").mkdir()
    for model, expected in (("some/model", "some/model is no folder"), (str(tmp_path / "empty"), ".* names no max_seq_length")):
        for command in (harness.tune, harness.check):
            with pytest.raises(HarnessError, match=rf"collection\.corpus\.chunk\.unit: must be characters .*{expected}"):
                command(in_tokens(guides, 60, model=model))


def test_ways_of_cutting_are_searched_in_characters_and_without_weights_of_fields(guides: dict[str, Any]) -> None:
    base = in_tokens(guides, 60).model_dump()
    base["collection"] |= {"relevance": "source"}
    base["search"]["space"] = {"chunk_size": [60, 90]}
    with pytest.raises(HarnessError, match=r"search\.space\.chunk_size: must be left out beside chunk\.unit: tokens"):
        parse_config(base)
    base["collection"]["corpus"]["chunk"]["unit"] = "characters"
    parse_config(base)
    with pytest.raises(HarnessError, match=r"search\.space\.chunk_size: must be left out beside keyword\.fields"):
        parse_config({**base, "keyword": {"fields": {"title": 2}}})
