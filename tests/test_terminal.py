"""What a person sees while a command runs: on a real pseudo-terminal, in a pipe, with --quiet, after Ctrl-C."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyte
import pytest
from conftest import write_collection

from harness.cli import run
from harness.progress import Silence
from harness.terminal import Lines, describe_seconds, open_progress

ROWS, COLUMNS = 40, 220  # so wide that no line of these runs is broken at the right edge
COLOUR = re.compile(rb"\x1b\[[0-9;:]*m")
WARNINGS = ["warning: the keyword retriever returns nothing", "warning: MAP@5 never falls as K grows"]
PATIENCE = 60.0  # seconds until a run counts as hanging

# Runs the command line on the terminal that is its stdin; each call of the named function takes a while, the third one warns,
# and the one that `raise` names raises what no person can mend.
SLOWLY = """
import fcntl, importlib, signal, sys, termios, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from harness.cli import main
place, name, seconds, bad = sys.argv.pop(1), sys.argv.pop(1), float(sys.argv.pop(1)), int(sys.argv.pop(1))
module, calls = importlib.import_module(place), []
inner = getattr(module, name)
def slow(*arguments, **options):
    calls.append(1)
    if len(calls) == 3:
        warnings.warn("what a library finds odd", stacklevel=1)
    if len(calls) == bad:
        raise ZeroDivisionError("what nobody thought of")
    time.sleep(seconds)
    return inner(*arguments, **options)
setattr(module, name, slow)
main()
"""
TRIALS, FOLDS = ("harness.commands.tune", "measure_trial"), ("harness.decide", "choose_for")


def environment(**changes: str) -> dict[str, str]:
    """The surroundings without what could decide about colours or widths, and as an ordinary terminal has them."""
    left_out = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES", "TERM")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", **changes}


@dataclass
class Seen:
    """A run on a terminal: every byte, the screen after each of them came, the screen and the rows above it at the end."""

    raw: bytes = b""
    screens: list[list[str]] = field(default_factory=list)
    code: int = 0
    stdout: str = ""
    cursor: tuple[int, bool] = (0, False)  # its column, and whether it is hidden
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What stands on the terminal in the end."""
        return "".join(line.rstrip() + "\n" for line in self.lines)


def row_text(row: Any, columns: int) -> str:
    return "".join(row[i].data for i in range(columns))


def see(
    place: Path,
    *arguments: str,
    slow: tuple[str, str] = TRIALS,
    seconds: float = 0.03,
    bad: int = 0,
    interrupt: Callable[[str], bool] | None = None,
    stdout: bool = True,
    columns: int = COLUMNS,
    **changes: str,
) -> Seen:
    """Run the command on a pseudo-terminal; Ctrl-C is typed once, when `interrupt` says so of the screen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *slow, str(seconds), str(bad), *arguments],
        cwd=place,
        env=environment(**changes),
        stdin=theirs,
        stderr=theirs,
        stdout=theirs if stdout else subprocess.PIPE,
        start_new_session=True,
    )
    os.close(theirs)
    screen = pyte.HistoryScreen(columns, ROWS, history=1000)
    stream, seen = pyte.ByteStream(screen), Seen()
    try:
        for data in read_all(ours):
            seen.raw += data
            stream.feed(data)
            seen.screens.append([line.rstrip() for line in screen.display])
            if interrupt is not None and interrupt("\n".join(seen.screens[-1])):
                os.write(ours, b"\x03")
                interrupt = None
        seen.stdout = process.communicate(timeout=PATIENCE)[0].decode() if not stdout else ""
        seen.code = process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    seen.lines = [row_text(row, columns) for row in screen.history.top] + list(screen.display)
    seen.cursor = (screen.cursor.x, screen.cursor.hidden)
    return seen


def read_all(terminal: int) -> Iterator[bytes]:
    """What is written to the terminal, as it comes, until its other side is closed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):  # how Linux says that the other side is closed
                data = os.read(terminal, 65536)
                if data:
                    yield data
                    continue
            return
    raise AssertionError("the command does not end")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, write_module_config: Callable[..., Path]) -> Seen:
    """One undisturbed `tune` on a terminal."""
    return see(write_module_config(tmp_path_factory.mktemp("shown")), "tune", "study.yaml")


@pytest.fixture(scope="module")
def write_module_config(cache: Path) -> Callable[..., Path]:
    """Makes a working directory with the garden and a config that is worth two warnings."""

    def write(place: Path, text: str = "") -> Path:
        write_collection(place)
        space = "{semantic_weight: {low: 0, high: 1}, top_k: {low: 2, high: 8}, fusion: [minmax, rrf]}"
        (place / "study.yaml").write_text(
            "name: study\ncollection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}\n"
            "keyword: {analyzer: simple}\nobjective: MAP@5\nreport_at: [1, 5]\ndepth: 10\n"
            f"search: {{trials: 12, space: {space}}}\ncache: {json.dumps(str(cache))}\n{text}"
        )
        return place

    return write


@pytest.fixture
def place(tmp_path: Path, write_module_config: Callable[..., Path]) -> Path:
    return write_module_config(tmp_path)


# ---- on a terminal --------------------------------------------------------------------------------------------------


def test_a_running_stage_has_a_bar_with_count_elapsed_and_remaining_time(shown: Seen) -> None:
    assert shown.code == 0, shown.text
    rows = [line for screen in shown.screens for line in screen if re.match(r"trials +\S", line)]
    assert any(re.search(r"trials +[━╸╺ ]+ +\d+/12 +\d:\d\d:\d\d +(\d|-):(\d\d|--):(\d\d|--) left$", row) for row in rows), rows


def test_the_best_trial_so_far_is_one_line_below_the_bar(shown: Seen) -> None:
    found = 0
    for screen in shown.screens:
        bars = [i for i, line in enumerate(screen) if re.search(r"\d+/12 .*left$", line)]
        best = [i for i, line in enumerate(screen) if line.startswith("trial ")]
        assert len(best) <= 1 and len(bars) <= 1, "\n".join(screen)
        found += bool(bars and best and best[0] == bars[0] + 1)
    assert found
    assert re.search(
        r"^trial \d+: MAP@5 0\.\d{4}, precision/recall @top_k \d\.\d+/\d\.\d+ @1 .* \(semantic_weight=.*\)$",
        shown.text,
        re.MULTILINE,
    )


def test_a_finished_stage_leaves_its_count_and_time_and_no_bar(shown: Seen) -> None:
    for stage, count in (("trials", "12"), ("choosing again on training folds", "50")):
        assert re.search(rf"^{stage}: {count} in \d+\.\d s$", shown.text, re.MULTILINE), shown.text
    assert "━" not in shown.text and " left\n" not in shown.text


def test_warnings_and_the_table_stand_whole_on_the_final_screen(shown: Seen) -> None:
    assert all(line in shown.text for line in WARNINGS)
    assert "UserWarning: what a library finds odd" in shown.text
    assert re.search(r"^system +objective +P@1 +P@5 +R@1 +R@5$", shown.text, re.MULTILINE)
    assert shown.text.rstrip().endswith("python -m harness export studies/study --to json")
    assert shown.cursor == (0, False)


def test_a_narrow_terminal_folds_the_live_line_and_keeps_none_of_its_pieces(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", columns=50)
    assert seen.code == 0
    folded = "".join(line.ljust(50) for line in seen.text.splitlines())
    assert folded.count("precision/recall @top_k") == 1 and folded.count("trials: 12 in") == 1
    assert "━" not in seen.text and seen.cursor == (0, False)


def begun(total: int) -> Callable[[str], bool]:
    """Whether the screen shows a stage of so many steps that has done one; a busy machine may skip any single count."""
    return lambda screen: re.search(rf" [1-9]\d*/{total} ", screen) is not None


def test_a_second_run_says_what_is_there_and_shows_no_stage_without_work(place: Path) -> None:
    stopped = see(place, "tune", "study.yaml", seconds=0.1, interrupt=begun(12))
    there = int(re.findall(r"stopped after (\d+) of 12 trials", stopped.text)[0])
    again = see(place, "tune", "study.yaml")
    assert f"going on: {there} of 12 trials are there\n" in again.text and f"trials: {12 - there} in " in again.text
    assert "\ntrials: " not in see(place, "tune", "study.yaml").text


def test_ctrl_c_among_the_trials_leaves_clean_lines_and_130(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", seconds=0.1, interrupt=begun(12))
    assert seen.code == 130
    stage, best, stopped, go_on = [line for line in seen.text.splitlines() if line][-4:]
    assert re.fullmatch(r"trials: \d+ of 12 in \d+\.\d s", stage)
    assert best.startswith("trial ")
    assert re.fullmatch(r"stopped after \d+ of 12 trials; they are kept in studies/study", stopped)
    assert go_on == "go on with: python -m harness tune study.yaml"
    assert "━" not in seen.text and seen.cursor == (0, False)


def test_ctrl_c_within_a_stage_leaves_clean_lines_and_130(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", slow=FOLDS, seconds=0.1, interrupt=begun(50))
    assert seen.code == 130 and "Traceback" not in seen.text
    stage, *_, go_on = [line for line in seen.text.splitlines() if line][-3:]
    assert re.fullmatch(r"choosing again on training folds: \d+ of 50 in \d+\.\d s", stage)
    assert go_on == "go on with: python -m harness tune study.yaml"
    assert "━" not in seen.text and seen.cursor == (0, False)


def test_a_bug_in_the_middle_of_a_bar_keeps_its_whole_traceback(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", slow=FOLDS, bad=9)
    assert seen.code == 70
    assert "Traceback (most recent call last):\n" in seen.text and "ZeroDivisionError: what nobody thought of\n" in seen.text
    assert seen.text.rstrip().endswith("this is a bug in harness: please report it with the lines above")
    assert "━" not in seen.text and seen.cursor == (0, False)


def test_colours_are_left_out_where_no_color_is_set(shown: Seen, place: Path) -> None:
    assert COLOUR.search(shown.raw)
    seen = see(place, "tune", "study.yaml", NO_COLOR="1")
    assert COLOUR.search(seen.raw) is None
    assert any("/12 " in line for screen in seen.screens for line in screen)


def test_a_dumb_terminal_gets_plain_lines(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", TERM="dumb")
    assert b"\x1b" not in seen.raw and "trial 0: " in seen.text


def test_json_is_alone_on_stdout_while_bars_are_shown(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", "--json", stdout=False)
    assert json.loads(seen.stdout)["study"] == "study"
    assert any("/12 " in line for screen in seen.screens for line in screen)


def test_quiet_shows_warnings_alone_on_a_terminal(place: Path) -> None:
    seen = see(place, "tune", "study.yaml", "--quiet", stdout=False)
    said = [line for line in seen.text.splitlines() if line]
    assert [line for line in said if not line.startswith(("warning: ", "<string>:", "  "))] == []
    assert all(line in seen.text for line in [*WARNINGS, "UserWarning: what a library finds odd"])
    assert b"\x1b" not in seen.raw


# ---- without one ----------------------------------------------------------------------------------------------------


def piped(place: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(
        command, cwd=place, env=environment(**changes), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("changes", [{}, {"FORCE_COLOR": "1"}])
def test_a_pipe_gets_no_escape_and_a_line_for_each_improvement(changes: dict[str, str], place: Path) -> None:
    done = piped(place, "tune", "study.yaml", **changes)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stderr
    said = done.stderr.splitlines()
    assert [line for line in said if not re.match(r"warning: |trial \d+: MAP@5 ", line)] == []
    assert sum(line.startswith("trial ") for line in said) > 1
    assert all(any(line.startswith(warning) for line in said) for warning in WARNINGS)


def test_a_closed_stderr_sends_nothing_to_stdout(place: Path) -> None:
    command = f"{sys.executable} -m harness tune study.yaml --json 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=place, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["study"] == "study"


@pytest.fixture
def in_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def test_quiet_leaves_results_and_warnings_of_every_command(in_place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["tune", "study.yaml"],
        ["profile", "study.yaml"],
        ["evaluate", "study.yaml"],
        ["search", "study.yaml", "apples"],
        ["reproduce", "study"],
        ["watch", "study"],
    ):
        assert run([*words, "-q"]) == 0
        out, err = capsys.readouterr()
        assert out and [line for line in err.splitlines() if not line.startswith("warning: ")] == [], words
        assert words[0] != "tune" or all(warning in err for warning in WARNINGS)
        assert run([*words, "--quiet", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)


def test_quiet_keeps_errors(in_place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "nowhere.yaml", "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("nowhere.yaml: ")


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_stage_says_at_most_every_thirty_seconds_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock=clock)
    with lines("encoding document texts", 400) as advance:
        for _ in range(400):
            clock.now += 0.25
            advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "encoding document texts: 30%, about 1 min 10 s left",
        "encoding document texts: 60%, about 40 s left",
        "encoding document texts: 90%, about 10 s left",
    ]


def test_a_short_stage_and_a_finished_one_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock=clock)
    with lines("loading the model", 1) as advance:
        clock.now = 90
        advance(1)
    with lines("nothing to do", 0):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_lengths_of_time_are_said_as_a_person_does(seconds: float, said: str) -> None:
    assert describe_seconds(seconds) == said


def test_news_warnings_and_best_trials_go_where_they_belong(capsys: pytest.CaptureFixture[str]) -> None:
    for progress, said in (
        (open_progress(), "news\nwarning: odd\ntrial 1\n"),
        (open_progress(news=False), "warning: odd\n"),
        (open_progress(quiet=True), "warning: odd\n"),
        (Silence(), ""),
    ):
        progress.say("news")
        progress.warn("odd")
        progress.best("trial 1")
        assert capsys.readouterr().err == said


# ---- texts from outside ---------------------------------------------------------------------------------------------

NASTY = "\x1b[2J\x1b]0;gone\x07\x9b31m"


def test_no_text_from_outside_steers_the_terminal(in_place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    progress = open_progress()
    progress.warn(f"odd {NASTY}")
    with contextlib.suppress(SystemExit):
        run(["tune", f"{NASTY}.yaml"])
    prompt = {"_id": f"q{NASTY}", "text": f"apples {NASTY}", "group": NASTY}
    (in_place / "queries.jsonl").write_text((in_place / "queries.jsonl").read_text() + json.dumps(prompt) + "\n")
    with (in_place / "qrels.tsv").open("a") as file:
        file.write("q01\tno such\t1\n")
    (in_place / "corpus.jsonl").write_text(
        (in_place / "corpus.jsonl").read_text() + json.dumps({"_id": "d1", "title": f"apples {NASTY}", "text": NASTY}) + "\n"
    )
    assert run(["search", "study.yaml", prompt["text"]]) == 0
    assert run(["search", "study.yaml", prompt["text"], "--json"]) == 0
    assert run(["tune", "study.yaml"]) == 0
    out, err = capsys.readouterr()
    assert "apples" in out and "odd" in err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err)


def test_json_keeps_control_characters_as_escapes(in_place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "study.yaml", f"apples {NASTY}", "--json"]) == 0
    out = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)
    assert json.loads(out)["text"] == f"apples {NASTY}"
