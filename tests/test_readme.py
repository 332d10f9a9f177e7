"""The README's commands run, and print what the README says they print."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+\.\d+|\d+")


def console_blocks() -> list[tuple[list[str], str]]:
    """Each console block's commands, and the output behind the last one."""
    blocks = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        output = block.rpartition("$ ")[2].partition("\n")[2]
        blocks.append((commands, output.rstrip()))
    return blocks


def commands() -> list[str]:
    return [command for block, _ in console_blocks() for command in block]


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """What the commands need of a checkout, with the session's cache in the place of its own."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("configs", "corpora", "benchmarks", "studies/reference"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / ".harness-cache").symlink_to(cache, target_is_directory=True)
    return folder


def run(command: str, folder: Path) -> str:
    words = shlex.split(command)
    if words[:2] == ["make", "tune"]:
        words = ["python", "-m", "harness", "tune", "configs/hybrid.yaml"]
    words[0] = {"python": sys.executable, "harness": str(Path(sys.executable).with_name("harness"))}[words[0]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def shape(output: str) -> list[str]:
    """The lines without their numbers, and without the one that says which trial won."""
    return [NUMBER.sub("#", line) for line in output.splitlines() if not line.startswith("best trial: number")]


def test_make_runs_what_this_test_runs_in_its_place() -> None:
    dry = subprocess.run(["make", "-n", "tune", "test"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    assert ".venv/bin/python -m harness tune configs/hybrid.yaml" in dry and ".venv/bin/python -m pytest" in dry


def test_make_tune_prints_what_the_readme_shows(clone: Path) -> None:
    shown = next(output for block, output in console_blocks() if block == ["make tune"])
    printed = run("make tune", clone).rstrip()
    assert shape(printed) == shape(shown)
    # embeddings differ in their last digits between machines, and the trials that they lead to with them
    for ours, theirs in zip(printed.splitlines(), shown.splitlines(), strict=True):
        if ours.startswith(("keyword alone", "semantic alone", "equal weights", "RRF 60")):
            assert [float(n) for n in NUMBER.findall(ours)] == pytest.approx([float(n) for n in NUMBER.findall(theirs)], abs=2e-3)


def shown_outputs() -> dict[str, str]:
    """Every command behind which the README shows what it prints."""
    found: dict[str, list[str]] = {}
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        command = ""
        for line in block.splitlines():
            if line.startswith("$ "):
                command = line[2:]
            else:
                found.setdefault(command, []).append(line)
    return {command: "\n".join(lines).rstrip() for command, lines in found.items()}


# what is built from scratch is tests/test_reproduce.py's
@pytest.mark.parametrize(
    "command",
    [c for c in commands() if not c.startswith(("make", "python benchmarks")) and not c.endswith("--from-scratch")],
)
def test_every_other_command_of_the_readme_runs(command: str, clone: Path) -> None:
    name = next((name for name in ("opensearch", "qdrant", "reference") if name in command), "hybrid")
    if not (clone / f"studies/{name}/weights.yaml").exists():
        run(f"python -m harness tune configs/{name}.yaml", clone)
    if "check.py" in command:
        pytest.importorskip("qdrant_client")
        run("python -m harness export qdrant --to qdrant --parity", clone)
    printed = run(command, clone)
    assert printed.strip()
    if " export " in command or "check.py" in command or command.endswith("reproduce reference"):
        assert shape(printed.rstrip()) == shape(shown_outputs()[command])


def test_every_file_that_the_readme_links_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_command_of_the_program_is_in_the_readme() -> None:
    shown = subprocess.run([sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, timeout=60, check=True)
    listed = shown.stdout.split("Commands:")[1]
    for name in re.findall(r"^  ([\w-]+) ", listed, flags=re.MULTILINE):
        assert f"`python -m harness {name} " in README, name
