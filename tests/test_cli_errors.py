"""The user's wrong input on the command line: exit 2, a line a problem on stderr, no traceback, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import run

CORPUS = '{"_id": "d1", "text": "open the window"}\n{"_id": "d2", "text": "close the door"}\n{"_id": "d3", "text": "walk on"}\n'
QUERIES = '{"_id": "q1", "text": "window"}\n{"_id": "q2", "text": "door"}\n'
QRELS = "q1\td1\t1\nq2\td2\t1\n"
CONFIG = "name: small\ncollection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}\nsearch: {trials: 2}\n"
FILES = {"config.yaml": CONFIG, "corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels.tsv": QRELS}
COMMANDS = {
    "tune": ["tune", "config.yaml"],
    "evaluate": ["evaluate", "config.yaml"],
    "search": ["search", "config.yaml", "door"],
    "check": ["check", "config.yaml"],
}


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every path under a folder with its bytes (None for a folder)."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a small collection and its config."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def refuse(workplace: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run a command that must be refused for the user's input; the lines on stderr."""

    def answer(*arguments: str) -> list[str]:
        before = snapshot(workplace)
        code = run(list(arguments))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert code == 2
        assert out == ""
        assert snapshot(workplace) == before  # no studies/, no .harness-cache, nothing else
        return err.splitlines()

    return answer


def put(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


# ---- wrong data, under every command --------------------------------------------------------------------------------

WRONG_DATA = [
    ("d1", "qrels.tsv", "q-id\tdoc\tvalue\n" + QRELS, ["qrels.tsv:1: "]),
    ("d7 three columns", "qrels.tsv", "q1 0 d1 1\nq1 0 d2\n", ["qrels.tsv:2: "]),
    ("d7 score", "qrels.tsv", "q1 0 d1 1\nq1 0 d2 one\n", ["qrels.tsv:2: "]),
    ("d7 five columns", "qrels.tsv", "q1 0 d1 1\nq1 0 d2 1 x\n", ["qrels.tsv:2: "]),
    ("d7 many digits", "qrels.tsv", "q1 0 d1 1\nq1 0 d2 " + "9" * 5000 + "\n", ["qrels.tsv:2: "]),
    ("d7 comment", "qrels.tsv", QRELS + "# done\n", ["qrels.tsv:3: "]),
    ("pair twice", "qrels.tsv", QRELS + "q1\td1\t0\n", ["qrels.tsv:3: "]),
    ("d10 corpus", "corpus.jsonl", CORPUS + '{"_id": "d1", "text": "x"}\n', ["corpus.jsonl:4: "]),
    ("d10 queries", "queries.jsonl", QUERIES + '{"_id": "q2", "text": "x"}\n', ["queries.jsonl:3: "]),
    ("d10 key", "corpus.jsonl", CORPUS + '{"_id": "d4", "_id": "d5", "text": "x"}\n', ["corpus.jsonl:4: "]),
    ("d12", "qrels.tsv", QRELS + "q9\td1\t1\n", ["qrels.tsv: "]),
    ("d13", "qrels.tsv", "1.0\td1\t1\n2.0\td1\t1\n", ["qrels.tsv: "]),
    ("nothing relevant", "qrels.tsv", "q1\td1\t0\n", ["qrels.tsv: "]),
    ("b4 empty corpus", "corpus.jsonl", "", ["corpus.jsonl: "]),
    ("no prompts", "queries.jsonl", "\n", ["queries.jsonl: "]),
    ("no judgements", "qrels.tsv", "query-id\tcorpus-id\tscore\n", ["qrels.tsv: "]),
    ("empty prompt", "queries.jsonl", QUERIES + '{"_id": "q3", "text": ""}\n', ["queries.jsonl:3: "]),
    ("not json", "corpus.jsonl", CORPUS + "d4 walk\n", ["corpus.jsonl:4: "]),
    ("not utf-8", "corpus.jsonl", CORPUS.encode() + b'{"_id": "d4", "text": "caf\xe9"}\n', ["corpus.jsonl:4: "]),
    ("half a pair", "corpus.jsonl", CORPUS + '{"_id": "d4", "text": "\\ud800"}\n', ["corpus.jsonl:4: "]),
    ("several", "qrels.tsv", "q1\td1\t1\nq1\td2\nq2\td2\tx\n", ["qrels.tsv:2: ", "qrels.tsv:3: "]),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "content", "places"), [case[1:] for case in WRONG_DATA], ids=[case[0] for case in WRONG_DATA])
def test_d7_wrong_data_is_exit_2_with_file_and_line_and_nothing_written(
    name: str, content: str | bytes, places: list[str], command: str, workplace: Path, refuse
) -> None:
    put(workplace / name, content)
    lines = refuse(*COMMANDS[command])
    assert len(lines) == len(places)
    for line, place in zip(lines, places, strict=True):
        assert line.startswith(place)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_data_file_that_is_missing_or_a_folder_is_exit_2(name: str, command: str, workplace: Path, refuse) -> None:
    (workplace / name).unlink()
    (line,) = refuse(*COMMANDS[command])
    assert line.startswith(f"{name}: ")
    (workplace / name).mkdir()
    (line,) = refuse(*COMMANDS[command])
    assert line.startswith(f"{name}: ") and "folder" in line


def test_the_problems_of_all_three_data_files_come_in_one_go(workplace: Path, refuse) -> None:
    put(workplace / "corpus.jsonl", "nonsense\n" + CORPUS)
    (workplace / "queries.jsonl").unlink()
    put(workplace / "qrels.tsv", QRELS + "q1\n")
    lines = refuse("tune", "config.yaml")
    assert [line.split(": ")[0] for line in lines] == ["corpus.jsonl:1", "queries.jsonl", "qrels.tsv:3"]


@pytest.mark.parametrize("command", COMMANDS)
def test_d13_without_a_single_match_ignore_does_not_help(command: str, workplace: Path, refuse) -> None:
    put(workplace / "config.yaml", CONFIG.replace("qrels: qrels.tsv", "qrels: qrels.tsv, unmatched: ignore"))
    put(workplace / "qrels.tsv", "1.0\td1\t1\n2.0\td1\t1\n3.0\td2\t1\n")
    (line,) = refuse(*COMMANDS[command])
    assert "0 of 3 judged queries found" in line


def test_d12_the_counts_are_said(workplace: Path, refuse) -> None:
    put(workplace / "qrels.tsv", QRELS + "q9\td1\t1\n")
    (line,) = refuse("tune", "config.yaml")
    assert "2 of 3 judged queries found" in line and "unmatched: ignore" in line


def test_a_file_of_broken_lines_is_a_hundred_lines_and_a_count(workplace: Path, refuse) -> None:
    put(workplace / "corpus.jsonl", "x\n" * 250)
    lines = refuse("tune", "config.yaml")
    assert len(lines) == 101
    assert "150 more" in lines[-1]


# ---- a wrong config -------------------------------------------------------------------------------------------------

WRONG_CONFIGS = [
    ("y2", CONFIG + "depth: 5\ndepth: 6\n", ["config.yaml:5: depth: "]),
    ("y3", CONFIG + "keyword:\n  stemming: off\n", ["config.yaml:5: keyword.stemming: "]),
    ("y3 key", CONFIG + "on: 1\n", ["config.yaml:4: "]),
    ("y5 typo", CONFIG + "semantic_wieght: .5\n", ["config.yaml:4: semantic_wieght: "]),
    ("y5 empty", "", ["config.yaml: "]),
    ("y5 list", "- a\n- b\n", ["config.yaml: "]),
    ("x1 tag", CONFIG + "seed: !!python/object/apply:os.system ['touch marker']\n", ["config.yaml:4: "]),
    ("x1 bool", CONFIG + "seed: !!bool maybe\n", ["config.yaml"]),
    ("x1 aliases", "".join(f"a{i}: &a{i} [{f'*a{i - 1}, ' * 9 if i else 'x'}]\n" for i in range(10)), ["config.yaml: "]),
    ("x1 deep", "a: " + "[" * 20_000, ["config.yaml"]),
    ("u7 nan", CONFIG + "semantic_weight: .nan\n", ["config.yaml:4: semantic_weight: "]),
    ("u7 above 1", CONFIG + "semantic_weight: 1.2\n", ["config.yaml:4: semantic_weight: "]),
    ("objective", CONFIG + "objective: MAP@0\n", ["config.yaml:4: objective: "]),
    ("objectives", CONFIG + "objective: [MAP@5, AP@5]\n", ["config.yaml:4: objective: "]),
    ("digits", CONFIG + "seed: 1" + "0" * 400 + "\n", ["config.yaml:4: seed: "]),
    ("control character", CONFIG + "seed: \x07\n", ["config.yaml"]),
    ("not utf-8", CONFIG.encode() + b"cache: caf\xe9\n", ["config.yaml:4: "]),
    ("not yaml", CONFIG + "seed: [1\n", ["config.yaml:5: "]),
    ("tab", CONFIG + "search:\n\ttrials: 5\n", ["config.yaml:5: "]),
    ("name", CONFIG.replace("small", "../small"), ["config.yaml:1: name: "]),
    ("several", CONFIG + "depth: 0\ntop_k: many\nsede: 1\n", [f"config.yaml:{line}: " for line in (4, 5, 6)]),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("content", "places"), [case[1:] for case in WRONG_CONFIGS], ids=[case[0] for case in WRONG_CONFIGS])
def test_y5_a_wrong_config_is_exit_2_with_line_and_key_and_nothing_written(
    content: str | bytes, places: list[str], command: str, workplace: Path, refuse
) -> None:
    put(workplace / "config.yaml", content)
    lines = refuse(*COMMANDS[command])
    assert len(lines) == len(places)
    for line, place in zip(sorted(lines), places, strict=True):
        assert line.startswith(place)


@pytest.mark.parametrize("name", ["nothing.yaml", "folder", "corpus.jsonl/config.yaml", ""])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_config_that_is_missing_or_a_folder_is_exit_2(name: str, command: str, workplace: Path, refuse) -> None:
    (workplace / "folder").mkdir()
    first, _, *rest = COMMANDS[command]
    (line,) = refuse(first, name, *rest)
    assert "must be a" in line


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", ".."])
def test_a_study_name_that_is_no_plain_folder_name_is_exit_2(name: str, refuse) -> None:
    (line,) = refuse("tune", "config.yaml", "--name", name)
    assert "name" in line and repr(name) in line


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
@pytest.mark.parametrize("line", ["semantic: {model: ./nowhere}\n", "semantic: {index: Nonsense}\n"])
def test_a_model_or_an_index_that_is_none_is_exit_2_and_an_old_study_stays_where_it_is(
    line: str, fresh: list[str], workplace: Path, refuse
) -> None:
    (workplace / "studies" / "small").mkdir(parents=True)
    if fresh:
        put(workplace / "studies" / "small" / "weights.yaml", "semantic_weight: .5\n")
    put(workplace / "config.yaml", CONFIG + line)
    (problem,) = refuse("tune", "config.yaml", *fresh)
    assert line.split("{")[1].split(":")[0] in problem and "semantic." in problem


@pytest.mark.parametrize("content", [None, "no study"])
def test_what_is_no_study_is_not_overwritten(content: str | None, workplace: Path, refuse) -> None:
    (workplace / "studies").mkdir()
    if content is None:
        (workplace / "studies" / "small").mkdir()
        put(workplace / "studies" / "small" / "diary.txt", "mine")
    else:
        put(workplace / "studies" / "small", content)
    (line,) = refuse("tune", "config.yaml")
    assert line.startswith("studies/small: ") and "--name" in line


# ---- evaluate and search --------------------------------------------------------------------------------------------

GOOD_RUN = "q1 Q0 d1 1 2.0 t\nq2 Q0 d2 1 2.0 t\n"


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ("semantic_weight: .nan\n", ["weights.yaml:1: semantic_weight: "]),
        ("semantic_weight: 1.2\ntop_k: 0\n", ["weights.yaml:1: semantic_weight: ", "weights.yaml:2: top_k: "]),
        ("top_k: 3\nsemantic_wieght: .5\n", ["weights.yaml:2: semantic_wieght: "]),
        ("top_k: !!python/name:os.system ''\n", ["weights.yaml:1: "]),
        ("- .5\n", ["weights.yaml: "]),
        ("", ["weights.yaml: "]),
        (b"fusion: \xe9\n", ["weights.yaml:1: "]),
        (None, ["weights.yaml: "]),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "search"])
def test_wrong_weights_are_exit_2_with_their_lines(
    content: str | bytes | None, places: list[str], command: str, workplace: Path, refuse
) -> None:
    if content is not None:
        put(workplace / "weights.yaml", content)
    lines = refuse(*COMMANDS[command], "--weights", "weights.yaml")
    assert len(lines) == len(places)
    for line, place in zip(lines, places, strict=True):
        assert line.startswith(place)


@pytest.mark.parametrize(
    ("content", "places"),
    [
        (GOOD_RUN + "q1 Q0 d1 2 1.0 t\n", ["our.trec:3: "]),
        (GOOD_RUN + "q1 Q0 d2 2 nan t\nq1 Q0 d3 3 1.0\n", ["our.trec:3: ", "our.trec:4: "]),
        ("", ["our.trec: "]),
        ("q9 Q0 d1 1 2.0 t\n", ["our.trec: "]),
        (GOOD_RUN.encode("utf-16"), ["our.trec:1: "]),
        (None, ["our.trec: "]),
    ],
)
def test_a_wrong_run_is_exit_2_with_its_lines(content: str | bytes | None, places: list[str], workplace: Path, refuse) -> None:
    if content is not None:
        put(workplace / "our.trec", content)
    lines = refuse("evaluate", "config.yaml", "--run", "our.trec")
    assert len(lines) == len(places)
    for line, place in zip(lines, places, strict=True):
        assert line.startswith(place)


def test_the_problems_of_several_runs_come_together(workplace: Path, refuse) -> None:
    put(workplace / "good.trec", GOOD_RUN)
    put(workplace / "bad.trec", "q1 Q0 d1 1\n")
    (workplace / "folder.trec").mkdir()
    lines = refuse("evaluate", "config.yaml", "--run", "bad.trec", "--run", "good.trec", "--run", "folder.trec")
    assert [line.split(": ")[0] for line in lines] == ["bad.trec:1", "folder.trec"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--ties", "random"], ["--ties", "doc_id", "trec_eval", "rank", "'random'"]),
        (["--weights", "w.yaml", "--run", "r.trec"], ["--weights", "--run"]),
    ],
)
def test_options_that_do_not_go_are_exit_2(arguments: list[str], named: list[str], refuse) -> None:
    (line,) = refuse("evaluate", "config.yaml", *arguments)
    assert all(word in line for word in named)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_prompt_to_search_is_exit_2(text: str, refuse) -> None:
    (line,) = refuse("search", "config.yaml", text)
    assert "prompt" in line


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["tune"], "CONFIG"),
        (["search", "config.yaml"], "TEXT"),
        (["tune", "config.yaml", "--bogus"], "--bogus"),
        (["tune", "config.yaml", "another"], "another"),
        (["tune", "config.yaml", "--name"], "--name"),
        (["tuna", "config.yaml"], "tuna"),
    ],
)
def test_a_wrong_call_is_exit_2_and_points_to_the_help(arguments: list[str], named: str, refuse) -> None:
    (line,) = refuse(*arguments)
    assert named in line and "--help" in line
