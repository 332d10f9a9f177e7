"""`init`: files are found by their contents, and the config that comes out loads and runs.

Real collections are read from the folder that HARNESS_COLLECTIONS names, in BEIR layout; without it those tests skip.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, write_collection

import harness
from harness.cli import run
from harness.commands.init import OBJECTIVES, Init, scalar, study_name
from harness.config import Config, read_config
from harness.discover import MOST_FILES, discover
from harness.engines import ENGINES
from harness.errors import HarnessError
from harness.files import Judgement
from harness.languages import look_at
from harness.propose import choose_analyzer, choose_cutoffs, choose_objective, choose_top_k
from harness.yamlfile import read_yaml

CORPUS = {"d1": "open the window of the house", "d2": "close the door of the house", "d3": "walk on in the rain"}
QUERIES = {"q1": "window", "q2": "door"}


def write_lines(path: Path, records: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in records.items()))


def write_data(folder: Path, *, corpus: str = "corpus.jsonl", queries: str = "queries.jsonl", qrels: str = "qrels.tsv") -> Path:
    """A small collection under these names."""
    write_lines(folder / corpus, CORPUS)
    write_lines(folder / queries, QUERIES)
    (folder / qrels).parent.mkdir(parents=True, exist_ok=True)
    (folder / qrels).write_text("q1\td1\t1\nq2\td2\t1\n")
    return folder


def chosen(folder: Path) -> list[str]:
    files = discover(folder).files
    return [path.relative_to(folder).as_posix() for path in (files.corpus, files.queries, files.qrels)]


# ---- finding the files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("corpus.jsonl", "queries.jsonl", "qrels.tsv"),
        ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"),
        ("a.txt", "b.txt", "c.txt"),
        ("queries.jsonl", "corpus.jsonl", "x"),  # the names lie
    ],
)
def test_the_files_are_found_by_what_is_in_them(names: tuple[str, str, str], tmp_path: Path) -> None:
    corpus, queries, qrels = names
    write_data(tmp_path, corpus=corpus, queries=queries, qrels=qrels)
    assert chosen(tmp_path) == list(names)


def test_trec_qrels_are_found_too(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "qrels.tsv").unlink()
    (tmp_path / "judged.txt").write_text("q1 0 d1 1\n")
    assert chosen(tmp_path)[2] == "judged.txt"


def test_ids_that_are_the_same_on_both_sides_leave_the_longer_texts_to_the_corpus(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", {"1": "short", "2": "brief"})
    write_lines(tmp_path / "b.jsonl", {"1": "a long text about windows", "2": "another long text about doors"})
    (tmp_path / "c.tsv").write_text("1\t2\t1\n2\t1\t1\n")
    assert chosen(tmp_path) == ["b.jsonl", "a.jsonl", "c.tsv"]


def test_of_several_files_that_fit_the_name_decides_and_the_others_are_told(tmp_path: Path) -> None:
    write_data(tmp_path, qrels="qrels/test.tsv")
    for name in ("dev", "train", "another"):
        (tmp_path / f"qrels/{name}.tsv").write_text("q1\td1\t1\n")
    found = discover(tmp_path)
    assert found.files.qrels == tmp_path / "qrels/test.tsv" and found.looked_at == 6
    assert [(fit.path.name, fit.size) for fit in found.alternatives["qrels"]] == [
        ("another.tsv", 1),
        ("dev.tsv", 1),
        ("train.tsv", 1),
    ]
    (tmp_path / "qrels/test.tsv").unlink()
    assert chosen(tmp_path)[2] == "qrels/dev.tsv"


def test_a_file_that_joins_better_is_taken_whatever_its_name(tmp_path: Path) -> None:
    write_data(tmp_path)
    write_lines(tmp_path / "all.jsonl", QUERIES)
    write_lines(tmp_path / "queries.jsonl", {"q1": "window"})
    assert chosen(tmp_path)[1] == "all.jsonl"


def test_prompts_that_are_judged_and_not_there_are_ignored_by_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_data(tmp_path / "data").parent)
    (tmp_path / "data/qrels.tsv").write_text("q1\td1\t1\nq2\td2\t1\nq3\td2\t1\n")
    made = harness.init("data")
    assert read_config(made.path).collection.unmatched == "ignore"
    assert "1 judged prompts are not in the queries file" in made.text


def test_hidden_files_binaries_and_deeper_folders_are_not_taken(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    write_data(tmp_path / ".hidden")
    write_data(tmp_path / "far/away/data")
    (tmp_path / "picture").write_bytes(b"\x89PNG\0\0")
    with pytest.raises(HarnessError) as refused:
        discover(tmp_path / "far")
    assert "got no file" in refused.value.problems[0] and len(refused.value.problems) == 1
    assert chosen(tmp_path)[0] == "data/corpus.jsonl"


def test_where_nothing_fits_every_file_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "qrels.tsv").write_text("q1\td1\tgood\n")
    (tmp_path / "notes.bin").write_bytes(b"\0")
    with pytest.raises(HarnessError) as refused:
        discover(tmp_path)
    head, *lines = refused.value.problems
    assert head == f"{tmp_path}: must hold a corpus, queries and qrels whose ids join, got no file that reads as qrels"
    assert [line.split(": ")[0] for line in lines] == [
        str(tmp_path / name) for name in ("corpus.jsonl", "notes.bin", "qrels.tsv", "queries.jsonl")
    ]
    assert "reads as corpus and as queries; as qrels: line 1: must have 4 columns" in lines[0]
    assert lines[1].endswith("as corpus or queries or qrels: must be text, got a binary file")
    assert "as corpus or queries: no column looks like the id, got 'q1', 'd1', 'good'" in lines[2]
    assert "as qrels: line 1: the score must be a whole number, got 'good'" in lines[2]


def test_files_that_read_and_do_not_join_are_refused(tmp_path: Path) -> None:
    write_data(tmp_path)
    (tmp_path / "qrels.tsv").write_text("Q1\tD1\t1\n")
    with pytest.raises(HarnessError, match="got files whose ids do not meet"):
        discover(tmp_path)


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path) -> None:
    for i in range(MOST_FILES + 1):
        (tmp_path / f"{i}.txt").write_text("")
    with pytest.raises(HarnessError, match=f"at most {MOST_FILES} files"):
        discover(tmp_path)


# ---- what is proposed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "analyzer"),
    [
        ("The window of the house is open, and the rain comes in.", "english"),
        ("Die Fenster des Hauses sind offen, und es regnet hinein.", "german"),
        ("Les fenêtres de la maison sont ouvertes et il pleut.", "french"),
        ("پنجره خانه باز است و باران می‌بارد", "persian"),
        ("打开窗户让空气进来", "cjk"),
        ("窓を開けて空気を入れる API", "cjk"),
        ("창문을 열어 주세요", "cjk"),
        ("", "simple"),
    ],
)
def test_the_analyzer_follows_script_and_stop_words(text: str, analyzer: str) -> None:
    assert choose_analyzer(look_at([text] * 3)) == analyzer


@pytest.mark.parametrize(
    ("grades", "relevant", "objective"),
    [
        ([0, 1, 2], [1, 1], "nDCG@10"),
        ([0, 1], [1] * 9 + [2], "MRR@10"),
        ([1], [1] * 8 + [2] * 2, "MAP@10"),
        ([-1, 0, 2], [5, 6], "MAP@10"),
    ],
)
def test_the_objective_follows_the_labels(grades: list[int], relevant: list[int], objective: str) -> None:
    judgements = [Judgement(i, "q", f"d{i}", grade) for i, grade in enumerate(grades)]
    assert choose_objective(judgements, relevant) == objective


@pytest.mark.parametrize(
    ("median", "documents", "top_k", "cutoffs"),
    [
        (1, 500, (1, 10), [1, 3, 5, 10]),
        (4, 500, (2, 10), [1, 3, 5, 10]),
        (5, 500, (2, 15), [1, 3, 5, 10, 15]),  # 12.5, in fives 15
        (6, 500, (3, 15), [1, 3, 5, 10, 15]),
        (22.5, 500, (10, 50), [1, 3, 5, 10, 50]),  # 56.25 is above 50, 11 above 10
        (5, 4, (2, 4), [1, 3, 4]),
        (1, 1, (1, 1), [1]),
    ],
)
def test_the_range_of_k_follows_the_median(median: float, documents: int, top_k: tuple[int, int], cutoffs: list[int]) -> None:
    assert choose_top_k(median, documents) == top_k and choose_cutoffs(top_k[1]) == cutoffs


def test_every_objective_has_a_sentence() -> None:
    assert set(OBJECTIVES) == {"nDCG@10", "MRR@10", "MAP@10"}


# ---- the config -----------------------------------------------------------------------------------------------------


@pytest.fixture
def data(workdir: Path) -> Path:
    """The hand-written collection in the working directory's folder `my data`."""
    write_collection(workdir / "my data")
    return Path("my data")


def uncommented(text: str) -> dict[str, Any]:
    """The keys that stand in a comment, as they would be read."""
    lines = [line.removeprefix("# ") for line in text.splitlines() if re.match(r"# (engine|current|held_out): ", line)]
    return {key: value for line in lines for key, value in yaml.safe_load(line).items()}


def test_the_config_loads_with_what_the_garden_calls_for(data: Path) -> None:
    made = harness.init(data)
    assert made.path == Path("configs/my-data.yaml") and made.text == made.path.read_text()
    config = read_config(made.path)
    assert config.name == "my-data"
    assert config.collection.model_dump() == {
        "corpus": "my data/corpus.jsonl",
        "queries": "my data/queries.jsonl",
        "qrels": "my data/qrels.tsv",
        "unmatched": "refuse",
        "split": None,
        "relevance": "document",
    }
    assert (config.objective, config.keyword.analyzer) == (["nDCG@10"], "english")  # grades 1 and 2
    assert config.search.space["top_k"] == {"low": 1, "high": 10}  # one relevant document in the median
    assert "24 documents, 12 prompts, 18 judgements" in made.text
    assert "12 of grade 2, 2 of grade 1, 4 of grade 0" in made.text
    assert "feeding 2" in made.text and "12 independent prompts are too few to hold some out" in " ".join(made.text.split())


def test_every_key_stands_below_a_comment(data: Path) -> None:
    text = harness.init(data).text
    lines = text.splitlines()
    blocks = {"keyword:", "semantic:", "search:"}  # whose first key has the comment
    for before, line in zip(["", *lines], lines, strict=False):
        if line.strip() and not line.lstrip().startswith("#") and line not in blocks:
            assert before.lstrip().startswith("#") or before in blocks or line == "  space:", line
    assert max(map(len, lines)) <= 120


def test_what_stands_in_comments_reads_too(data: Path) -> None:
    made = harness.init(data)
    document = read_yaml(made.path)
    for key, value in uncommented(made.text).items():
        space = {**document.value["search"]["space"]}
        if key == "engine":
            assert value in ENGINES
            space.pop("fusion")  # as the comment asks
        changed = {**document.value, key: value, "search": {**document.value["search"], "space": space}}
        made.path.with_name("changed.yaml").write_text(yaml.safe_dump(changed))
        assert isinstance(read_config(made.path.with_name("changed.yaml")), Config), key
    assert set(uncommented(made.text)) == {"engine", "current"}


def test_tune_and_check_run_on_it(data: Path, cache: Path) -> None:
    made = harness.init(data)
    text = made.text.replace("trials: 200", "trials: 3") + f"\ncache: {cache}\n"
    made.path.write_text(text)
    assert harness.check(made.path).config.name == "my-data"
    assert len(harness.tune(made.path).trials) == 3


def test_many_prompts_get_a_line_to_hold_some_out(workdir: Path) -> None:
    write_data(workdir / "data")
    write_lines(workdir / "data/queries.jsonl", {f"q{i}": f"prompt {i}" for i in range(100)})
    (workdir / "data/qrels.tsv").write_text("".join(f"q{i}\td1\t1\n" for i in range(100)))
    made = harness.init("data")
    assert uncommented(made.text)["held_out"] == 0.2 and read_config(made.path).held_out is None


def test_data_outside_the_working_directory_are_named_by_their_whole_path(
    tmp_path_factory: pytest.TempPathFactory, workdir: Path
) -> None:
    outside = write_data(tmp_path_factory.mktemp("outside"))
    made = harness.init(outside, out="mine.yaml")
    assert read_config(made.path).collection.corpus == str(outside.resolve() / "corpus.jsonl")
    os.chdir(outside)
    assert read_config(harness.init(".", out="here.yaml").path).collection.corpus == "corpus.jsonl"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("corpora/handbook", "handbook"),
        ("my data", "my-data"),
        ("2024", "2024"),
        (".hidden", "hidden"),
        ("readme.md", "study"),
        ("داده", "study"),
        ("a" * 150, "a" * 100),
        ("mañana #1", "ma-ana-1"),
    ],
)
def test_the_folders_name_becomes_a_study_name(folder: str, name: str) -> None:
    assert study_name(Path(folder)) == name


@pytest.mark.parametrize(
    "text",
    [
        "plain/path.jsonl",
        "2024",
        "1e-3",
        "yes",
        "a: b",
        "a #b",
        "it's",
        'q"uo\\te',
        "line\nbreak",
        "tab\t",
        "é",
        "\u200c",
        "😀",
        "~",
    ],
)
def test_any_text_reads_back_as_itself(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"key: {scalar(text)}\n", encoding="utf-8")
    assert read_yaml(path).value == {"key": text}


def test_a_path_that_yaml_could_take_for_something_else(workdir: Path) -> None:
    folder = write_data(workdir / "2024: data #1\nnew 'line'")
    config = read_config(harness.init(folder.name).path)
    assert Path(config.collection.corpus) == Path(folder.name) / "corpus.jsonl"
    assert harness.check(config).facts["collection"]["documents"] == 3


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_took_and_what_comes_next(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "my data"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "looked at 3 files",
        "  corpus: my data/corpus.jsonl (24 documents)",
        "  queries: my data/queries.jsonl (12 prompts)",
        "  qrels: my data/qrels.tsv (18 judgements)",
        "analyzer english, objective nDCG@10, K from 1 to 10: the file says why",
        "config: configs/my-data.yaml",
        "next: python -m harness check configs/my-data.yaml",
        "      python -m harness tune configs/my-data.yaml",
    ]
    assert run(["init", "my data", "--out", "b.yaml", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["config"] == "b.yaml" and printed["files"]["queries"] == {"path": "my data/queries.jsonl", "size": 12}
    assert printed["next"][0] == "python -m harness check b.yaml" and printed["alternatives"] == {}


def test_a_file_that_is_there_is_not_overwritten_without_force(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text("mine")
    assert run(["init", "my data", "--out", "mine.yaml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mine.yaml: ") and "--force" in line and Path("mine.yaml").read_text() == "mine"
    assert run(["init", "my data", "--out", "mine.yaml", "--force"]) == 0
    assert read_config("mine.yaml").name == "my-data"
    Path("folder").mkdir()
    assert run(["init", "my data", "--out", "folder", "--force"]) == 2


@pytest.mark.parametrize("folder", ["nowhere", "file.txt", "empty"])
def test_a_folder_without_data_is_exit_2_and_nothing_is_written(
    folder: str, workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file.txt").write_text("x")
    Path("empty").mkdir()
    before = sorted(workdir.rglob("*"))
    assert run(["init", folder]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"{folder}: ") and sorted(workdir.rglob("*")) == before


def test_the_handbook(workdir: Path) -> None:
    made = harness.init(ROOT / "corpora/handbook")
    config = read_config(made.path)
    assert (config.name, config.objective, config.keyword.analyzer) == ("handbook", ["nDCG@10"], "english")
    assert config.search.space["top_k"] == {"low": 2, "high": 15} and config.report_at == [1, 3, 5, 10, 15]  # the median is 5


# ---- real collections -----------------------------------------------------------------------------------------------


@pytest.fixture
def real(workdir: Path) -> Callable[[str], Init]:
    root = os.environ.get("HARNESS_COLLECTIONS")
    if root is None:
        pytest.skip("HARNESS_COLLECTIONS names no folder of real collections")
    return lambda name: harness.init(Path(root) / name)


@pytest.mark.parametrize(
    ("name", "analyzer", "objective", "top_k"),
    [
        ("cacm", "english", "MAP@10", (6, 30)),  # 12 relevant documents in the median
        ("cranfield", "english", "nDCG@10", (3, 15)),  # 6, in four grades
        ("faq_fr", "french", "MRR@10", (1, 10)),  # French, one for 159 of 168 prompts
        ("medline", "english", "MAP@10", (10, 50)),  # 22.5
        ("rag_docs", "english", "MAP@10", (1, 10)),  # 2
        ("reading_fa", "persian", "MRR@10", (1, 10)),  # Persian, one for each
    ],
)
def test_real_collections_get_a_config_that_loads(
    name: str, analyzer: str, objective: str, top_k: tuple[int, int], real: Callable[[str], Init]
) -> None:
    made = real(name)
    config = read_config(made.path)
    assert Path(config.collection.qrels).parts[-2:] == ("qrels", "test.tsv")
    assert (config.keyword.analyzer, config.objective) == (analyzer, [objective])
    assert tuple(config.search.space["top_k"].values()) == top_k
    others = {fit.path.name for fit in made.discovery.alternatives["qrels"]}
    assert all(name in made.text for name in others)
    assert len(others) == {"cranfield": 2, "faq_fr": 2, "reading_fa": 2}.get(name, 0)
