"""Completion by the shells: asked as bash, zsh and fish ask, of the program as it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.completion import complete_setting, complete_study, complete_target, complete_ties
from harness.exports import EXPORTS
from harness.files import RUN_TIES
from harness.folder import SETTINGS
from harness.record import STUDIES

HARNESS = Path(sys.executable).with_name("harness")
BASH = """
eval "$(_HARNESS_COMPLETE=source_bash harness)"
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_harness_completion harness
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two finished studies, one that was begun, and a config."""
    for name in ("alpha", "beta", "begun"):
        (tmp_path / STUDIES / name).mkdir(parents=True)
    for name in ("alpha", "beta"):
        (tmp_path / STUDIES / name / "summary.json").write_text("{}")
    (tmp_path / "config.yaml").write_text("name: x\n")
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "COMPLETE" not in name}
    return {**kept, "PATH": f"{HARNESS.parent}{os.pathsep}{os.environ['PATH']}", **changes}


def ask_bash(place: Path, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    command = ["bash", "--norc", "-c", BASH, "bash", *words]
    done = subprocess.run(command, cwd=place, env=environment(), capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["harness", "repr"], ["reproduce"]),
        (["harness", "export", ""], ["alpha", "beta"]),
        (["harness", "watch", "al"], ["alpha"]),
        (["harness", "export", "alpha", "--to", "open"], ["opensearch"]),
        (["harness", "export", "alpha", "--to", "js"], ["json"]),
        (["harness", "export", "alpha", "--setting", ""], list(SETTINGS)),
        (["harness", "watch", "alpha", "--setting", "pi"], ["pick"]),
        (["harness", "evaluate", "config.yaml", "--ties", ""], list(RUN_TIES)),
        (["harness", "tune", "config.yaml", "--qu"], ["--quiet"]),
        (["harness", "tune", ""], []),  # bash then offers files: complete -o default
    ],
)
def test_bash_is_offered_what_fits(words: list[str], offered: list[str], place: Path) -> None:
    assert ask_bash(place, *words) == offered


def ask(place: Path, shell: str, **changes: str) -> subprocess.CompletedProcess[str]:
    asked = environment(_HARNESS_COMPLETE=f"complete_{shell}", **changes)
    return subprocess.run([str(HARNESS)], cwd=place, env=asked, capture_output=True, text=True, timeout=60, check=False)


def test_zsh_is_offered_studies_and_else_files(place: Path) -> None:
    assert ask(place, "zsh", _TYPER_COMPLETE_ARGS="harness export ").stdout.split() == [
        "_arguments",
        "'*:",
        ':(("alpha"',
        '"beta"))\'',
    ]
    assert ask(place, "zsh", _TYPER_COMPLETE_ARGS="harness tune con").stdout == "_files\n"


def test_fish_is_offered_studies_and_else_files(place: Path) -> None:
    words = {"_TYPER_COMPLETE_ARGS": "harness export "}
    assert ask(place, "fish", _TYPER_COMPLETE_FISH_ACTION="get-args", **words).stdout.split() == ["alpha", "beta"]
    assert ask(place, "fish", _TYPER_COMPLETE_FISH_ACTION="is-args", **words).returncode == 0
    words = {"_TYPER_COMPLETE_ARGS": "harness tune con"}
    assert ask(place, "fish", _TYPER_COMPLETE_FISH_ACTION="is-args", **words).returncode == 1  # files then


def test_an_answer_takes_no_time_that_a_person_would_notice(place: Path) -> None:
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        ask(place, "bash", COMP_WORDS="harness export alpha --to ", COMP_CWORD="4")
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 1  # 0.2 s on an idle machine of two cores


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("words", [["harness"], [sys.executable, "-m", "harness"]])
def test_it_is_set_up_by_one_command(words: list[str], place: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    line = f"{' '.join(words)} --install-completion; exit $?"  # bash must be there as the parent, to be found
    asked = environment(HOME=str(home))
    done = subprocess.run(["bash", "--norc", "-c", line], env=asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "bash completion installed" in done.stdout, done.stderr
    assert (home / ".bash_completions" / "harness.sh").read_text().endswith("complete -o default -F _harness_completion harness")
    assert ".bash_completions/harness.sh" in (home / ".bashrc").read_text()


def test_what_is_offered_is_what_the_commands_know(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert complete_study() == ["alpha", "beta"]
    assert (complete_target(), complete_setting(), complete_ties()) == (list(EXPORTS), list(SETTINGS), list(RUN_TIES))
    monkeypatch.chdir(place / STUDIES)
    assert complete_study() == []
