"""`cache`: what is listed, and that only what the program wrote is ever deleted."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.cli import run
from harness.commands.cache import DAY, KINDS, Cache, cache
from harness.errors import HarnessError
from harness.files import looks_whole, write_arrays
from harness.prepare import OLD_LEFTOVER
from harness.retrieve import load_retrieved

HEX = "0123456789abcdef" * 4


def name_of(number: int) -> str:
    return f"{number:064x}.npz"


def put(path: Path, *, days: float = 0, size: int | None = None) -> Path:
    """A file as the program writes it (or of so many bytes), last used so many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if size is None:
        write_arrays(path, {"vectors": np.arange(4)})
    else:
        path.write_bytes(b"x" * size)
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with something of everything, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".harness-cache"
    put(folder / "embeddings" / name_of(1))
    put(folder / "embeddings" / name_of(2), days=40)
    put(folder / "candidates" / name_of(3), days=10)
    put(folder / "keyword" / name_of(4), size=7)  # cut
    put(folder / "keyword" / f".{HEX}.npz.k3x_1.part", size=5, days=2)
    put(folder / "keyword" / f".{HEX}.npz.young1.part", size=5)
    return folder


FOREIGN = [
    "readme.txt",
    "keyword/notes.npz",
    f"keyword/{HEX[:-1]}.npz",
    f"keyword/{HEX}.npz.bak",
    f"embeddings/{HEX.upper()}.npz",
]


def add_foreign(folder: Path) -> list[str]:
    for name in FOREIGN:
        (folder / name).write_text("mine")
    (folder / "embeddings/sub").mkdir()
    (folder / "more").mkdir()
    (folder / "more" / name_of(9)).write_text("mine")
    return sorted([*FOREIGN, "embeddings/sub/", "more/"])


def listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def states(result: Cache) -> dict[str, str]:
    return {f"{file.kind}/{file.path.name}": file.state for file in result.files}


def test_the_files_of_each_kind_with_sizes_and_last_use(place: Path) -> None:
    result = cache()
    sizes = {
        n: (place / kind / name_of(n)).stat().st_size for n, kind in ((1, "embeddings"), (2, "embeddings"), (3, "candidates"))
    }
    data = result.to_dict()
    assert data["folder"] == ".harness-cache" and list(data["kinds"]) == list(KINDS)
    assert data["kinds"]["embeddings"]["files"] == 2 and data["kinds"]["embeddings"]["bytes"] == sizes[1] + sizes[2]
    assert data["kinds"]["candidates"]["files"] == 1 and data["kinds"]["candidates"]["bytes"] == sizes[3]
    assert data["kinds"]["keyword"]["files"] == 1 and data["kinds"]["keyword"]["bytes"] == 7
    assert data["leftovers"]["files"] == 2 and data["leftovers"]["bytes"] == 10
    used = data["kinds"]["embeddings"]
    apart = [time.mktime(time.strptime(used[name], "%Y-%m-%dT%H:%M:%SZ")) for name in ("oldest_use", "newest_use")]
    assert apart[1] - apart[0] == pytest.approx(40 * DAY, abs=5)
    assert data["unreadable"] == [f".harness-cache/keyword/{name_of(4)}"] and data["foreign"] == []


def test_looking_is_no_use_of_a_file(place: Path) -> None:
    before = {path: path.stat().st_atime_ns for path in place.rglob("*.npz")}
    cache()
    assert {path: path.stat().st_atime_ns for path in place.rglob("*.npz")} == before


def test_a_file_that_is_cut_or_something_else_is_no_whole_one(tmp_path: Path) -> None:
    whole = put(tmp_path / "whole.npz")
    assert looks_whole(whole)
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:-20])
    np.savez(tmp_path / "other.npz", vectors=np.arange(4))  # without a digest
    (tmp_path / "empty.npz").write_bytes(b"")
    assert not any(looks_whole(tmp_path / f"{name}.npz") for name in ("cut", "other", "empty", "nothing"))


def test_foreign_files_are_named_and_left(place: Path) -> None:
    foreign = add_foreign(place)
    assert sorted(cache().foreign) == foreign
    before = listing(place)
    result = cache(clear=True)
    gone = before - listing(place)
    assert gone == {f"embeddings/{name_of(1)}", f"embeddings/{name_of(2)}", f"candidates/{name_of(3)}"} | {
        f"keyword/{name_of(4)}",
        f"keyword/.{HEX}.npz.k3x_1.part",
    }
    assert len(result.selected) == len(gone) == 5 and result.to_dict()["selected"]["bytes"] == sum(
        f.bytes for f in result.selected
    )
    assert sorted(cache().foreign) == foreign


def test_what_a_process_may_be_writing_still_is_left(place: Path) -> None:
    cache(clear=True)
    assert [path.name for path in place.rglob("*.part")] == [f".{HEX}.npz.young1.part"]
    young = next(place.rglob("*.part"))
    os.utime(young, (time.time() - OLD_LEFTOVER - 5,) * 2)
    cache(clear=True, older_than=0)
    assert not young.exists()


def test_older_than_takes_what_was_not_used_for_so_long(place: Path) -> None:
    assert {file.path.name for file in cache(older_than=30).selected} == {name_of(2)}
    assert cache(older_than=30).to_dict()["cleared"] is False and (place / "embeddings" / name_of(2)).exists()
    cache(clear=True, older_than=30)
    assert sorted(file.path.name for file in cache().files if file.state == "whole") == [name_of(1), name_of(3)]
    used = place / "candidates" / name_of(3)
    os.utime(used, (time.time(), used.stat().st_mtime))  # read a moment ago
    cache(clear=True, older_than=5)
    assert used.exists()


def test_links_are_not_followed(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    target = put(outside / name_of(7), days=100)
    (place / "embeddings" / name_of(8)).symlink_to(target)
    (place / "keyword").rename(tmp_path / "elsewhere")
    (place / "keyword").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert set(cache().foreign) == {f"embeddings/{name_of(8)}", "keyword"}
    cache(clear=True)
    assert target.exists() and (place / "embeddings" / name_of(8)).is_symlink()
    assert (tmp_path / "elsewhere" / name_of(4)).exists()


def test_a_cache_that_is_reached_by_a_link_is_a_cache(place: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(place, target_is_directory=True)
    assert len(cache("linked").files) == 6


@pytest.mark.parametrize("folder", ["nothing", "file.txt", "photos"])
def test_another_folder_is_refused(folder: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file.txt").write_text("x")
    put(tmp_path / "photos" / name_of(1))
    assert run(["cache", "--folder", folder, "--clear"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"{folder}: must be a cache folder") and len(err.splitlines()) == 1
    assert (tmp_path / "photos" / name_of(1)).exists()


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf")])
def test_days_that_are_none_are_refused(days: float, place: Path) -> None:
    with pytest.raises(HarnessError, match="--older-than"):
        cache(older_than=days)


def test_config_and_folder_do_not_go_together(place: Path) -> None:
    with pytest.raises(HarnessError, match="--config and --folder"):
        cache(place, config="x.yaml")


def test_the_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_foreign(place)
    assert run(["cache"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("cache .harness-cache/\nkind") and "1 files are cut, damaged" in out
    assert "7 entries are not of this program and are left alone" in out and "--clear would delete 5 files" in out
    assert run(["cache", "--clear", "--older-than", "30"]) == 0
    assert "deleted: 1 files, 0.0 MB, not used for 30 days" in capsys.readouterr().out
    assert run(["cache", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["kinds"]["embeddings"]["files"] == 1 and len(printed["foreign"]) == 7 and printed["cleared"] is False


def test_the_cache_of_a_study_holds_what_the_study_needs_and_comes_back_when_cleared(
    write_config: Callable[..., Path], workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_config(cache="own", search={"trials": 2, "space": {"semantic_weight": {"low": 0, "high": 1}}})
    before = harness.tune(path).folder.joinpath("trials.csv").read_bytes()
    counted = cache(config=path)
    assert {kind: counted.to_dict()["kinds"][kind]["files"] for kind in KINDS} == {"embeddings": 2, "candidates": 1, "keyword": 1}
    assert set(states(counted).values()) == {"whole"} and counted.foreign == ()
    assert run(["cache", "--config", str(path), "--clear"]) == 0
    assert "deleted: 4 files" in capsys.readouterr().out and cache("own").files == ()
    assert harness.tune(path, fresh=True).folder.joinpath("trials.csv").read_bytes() == before
    assert len(cache("own").files) == 4


def test_a_file_that_goes_while_a_study_looks_for_it_is_built_again(tmp_path: Path) -> None:
    assert load_retrieved(tmp_path / name_of(1)) is None
