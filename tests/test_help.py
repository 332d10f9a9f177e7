"""The help pages and the printed tables, as they are kept under tests/snapshots/, and the examples that the help pages end with.

After a wanted change, or a new command, write them anew and read the difference:

    SNAPSHOTS=write .venv/bin/python -m pytest tests/test_help.py
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from conftest import ROOT, write_collection

from harness.cli import app, run

SNAPSHOTS = Path(__file__).parent / "snapshots"
WRITING = os.environ.get("SNAPSHOTS") == "write"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CLOSE = 2e-3  # embeddings differ in their last digits between machines, and the printed numbers a little with them
EXAMPLE = "python -m harness "


def list_commands(group: object, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command, those of groups too; the program itself is the empty tuple."""
    found = [before]
    for name, command in getattr(group, "commands", {}).items():
        found += list_commands(command, (*before, name))
    return found


COMMANDS = list_commands(typer.main.get_command(app))


def file_of(words: tuple[str, ...]) -> str:
    return f"{'-'.join(words) or 'harness'}.txt"


@pytest.fixture
def help_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[tuple[str, ...]], str]:
    """A command's help page at a width of 80."""
    monkeypatch.setenv("COLUMNS", "80")

    def ask(words: tuple[str, ...]) -> str:
        assert run([*words, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return ask


def examples_of(page: str) -> list[list[str]]:
    """The commands that a help page ends with, as words behind `python -m harness`."""
    end = re.search(r"\n\n  Examples?:\n((?:    .+\n)+)$", page)
    lines = [line.strip() for line in end[1].splitlines()] if end else []
    assert all(line.startswith(EXAMPLE) for line in lines)
    return [shlex.split(line.removeprefix(EXAMPLE)) for line in lines]


# ---- help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", COMMANDS, ids=file_of)
def test_the_help_page_is_the_one_that_is_kept(words: tuple[str, ...], help_of: Callable[[tuple[str, ...]], str]) -> None:
    path, page = SNAPSHOTS / "help" / file_of(words), help_of(words)
    if WRITING:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert path.is_file(), f"no help page is kept for {file_of(words)}: see how to write it at the top of this file"
    assert page == path.read_text(encoding="utf-8")


def test_no_help_page_is_kept_of_a_command_that_is_gone() -> None:
    kept = {path.name for path in (SNAPSHOTS / "help").iterdir()}
    if WRITING:
        for name in kept - {file_of(words) for words in COMMANDS}:
            (SNAPSHOTS / "help" / name).unlink()
        return
    assert kept == {file_of(words) for words in COMMANDS}


@pytest.mark.parametrize("words", COMMANDS, ids=file_of)
def test_the_help_page_ends_with_one_or_two_examples(words: tuple[str, ...], help_of: Callable[[tuple[str, ...]], str]) -> None:
    page = help_of(words)
    examples = examples_of(page)
    assert 1 <= len(examples) <= 2, "give the command epilog=examples(…)"
    assert all(tuple(example[: len(words)]) == words for example in examples)
    assert ("Examples:" in page) == (len(examples) == 2)


def test_the_help_of_a_command_imports_no_numbers_models_or_bars() -> None:
    heavy = "{'numpy', 'scipy', 'optuna', 'pandas', 'torch', 'faiss', 'yaml', 'rich', 'plotly', 'jinja2'}"  # typer has pydantic
    code = f"import sys; from harness.cli import run; run(['tune', '--help']); sys.exit(str({heavy} & set(sys.modules) or ''))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.stderr.strip() == ""


@pytest.mark.parametrize("words", COMMANDS, ids=file_of)
def test_the_options_of_the_examples_exist(words: tuple[str, ...], help_of: Callable[[tuple[str, ...]], str]) -> None:
    for example in examples_of(help_of(words)):
        command = max((known for known in COMMANDS if tuple(example[: len(known)]) == known), key=len)
        assert command, example
        known = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", help_of(command).partition("\nOptions:")[2].partition("Example")[0]))
        assert {word for word in example if word.startswith("-")} <= known, example


@pytest.fixture(scope="module")
def small_hybrid(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A working directory like a checkout's, with few documents and trials: configs/hybrid.yaml, its study, and `reference`."""
    place = tmp_path_factory.mktemp("small")
    config = yaml.safe_load((ROOT / "configs" / "hybrid.yaml").read_text(encoding="utf-8"))
    written = write_collection(place / "written")
    for name, path in config["collection"].items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        Path(written[name]).rename(place / path)
    shutil.copytree(ROOT / "corpora" / "samples", place / "corpora" / "samples")
    config["search"]["trials"] = 8
    (place / "configs").mkdir()
    (place / "configs" / "hybrid.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    (place / ".harness-cache").symlink_to(cache, target_is_directory=True)
    command = [sys.executable, "-m", "harness", "tune", "configs/hybrid.yaml", "--name"]
    for name in ("hybrid", "reference"):
        done = subprocess.run([*command, name], cwd=place, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize("words", COMMANDS, ids=file_of)
def test_the_examples_run(
    words: tuple[str, ...],
    help_of: Callable[[tuple[str, ...]], str],
    small_hybrid: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if words == ("work",):
        pytest.skip("needs a server: tests/test_workers.py runs them")
    shutil.copytree(small_hybrid, tmp_path / "place", symlinks=True)
    monkeypatch.chdir(tmp_path / "place")
    for example in examples_of(help_of(words)):
        code = run(example)
        assert code == 0, f"{shlex.join(example)}: {capsys.readouterr().err}"


# ---- tables ---------------------------------------------------------------------------------------------------------


def without_timings(text: str) -> str:
    """The text with the numbers of the latency table and of the line below it blanked."""
    lines, timed = [], False
    for line in text.splitlines():
        timed = (line.startswith("system ") and " p95 " in line) or (timed and not lines[-1].startswith("index: "))
        lines.append(re.sub(r" +", " ", NUMBER.sub("#", line)) if timed else line)
    return "\n".join(lines) + "\n"


TABLES = {
    "tune": ["tune", "study.yaml"],
    "profile": ["profile", "study.yaml"],
    "evaluate": ["evaluate", "study.yaml", "--weights", "studies/study/weights.yaml"],
    "search": ["search", "study.yaml", "keep birds off cherries"],
    "watch": ["watch", "study", "--no-latency"],
}


def test_the_tables_are_the_ones_that_are_kept(write_config: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write_config()
    for name, words in TABLES.items():
        assert run([*words, "--quiet"]) == 0
        printed = without_timings(capsys.readouterr().out)
        path = SNAPSHOTS / "tables" / f"{name}.txt"
        if WRITING:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(printed, encoding="utf-8")
        kept = path.read_text(encoding="utf-8")
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", kept), name
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (printed, kept)]
        assert numbers[0] == pytest.approx(numbers[1], abs=CLOSE), name
