"""`tune` with a Ray of its own; apart from tests/test_cluster.py, whose Ray `auto` would join."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

try:
    import ray  # noqa: F401

    missing = ""
except ImportError as error:
    missing = str(error)

needs_ray = pytest.mark.skipif(bool(missing), reason=f"ray is not installed: {missing}")


@needs_ray
def test_a_scale_is_no_part_of_a_study_and_ray_says_nothing(write_config: Callable[..., Path], workdir: Path) -> None:
    """A Ray of the command's own: the same study as without it, which goes on without it."""
    config = write_config(scale={"shards": 3}, cache="cache-shards")
    answer = tune(config)
    assert answer.returncode == 0, answer.stderr
    for said in ("raylet", "Ray instance", "dashboard", "WARNING", "INFO"):
        assert said not in answer.stdout + answer.stderr
    folder = workdir / "studies" / "study"
    before = {name: (folder / name).read_bytes() for name in ("candidates.npz", "trials.csv", "summary.json")}
    again = tune(write_config(cache="cache-alone"))
    assert again.returncode == 0, again.stderr
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert "scale" not in (folder / "config.yaml").read_text()


@needs_ray
def test_ctrl_c_ends_ray_and_the_command(write_config: Callable[..., Path], workdir: Path) -> None:
    """While a job runs; nothing of Ray is left, and nothing is said but that it was interrupted."""
    psutil = pytest.importorskip("psutil")
    process = start_tune(write_config(scale={"shards": 3}, cache="cache-shards"))
    family: list[Any] = []
    while not any("run_job" in title_of(one) for one in family):
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.05)
        family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 130, error.decode()
    assert out == b""
    assert "Traceback" not in error.decode() and "ray" not in error.decode().lower()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert [title_of(one) for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []


def title_of(process: Any) -> str:
    """What the process calls itself; nothing where it is gone."""
    try:
        return " ".join(process.cmdline())
    except Exception:  # psutil's errors, where a process has ended
        return ""


def start_tune(config: Path) -> subprocess.Popen[bytes]:
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness", "tune", str(config)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, env=variables, start_new_session=True)


def tune(config: Path) -> subprocess.CompletedProcess[str]:
    process = start_tune(config)
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess([], process.returncode, out.decode(), err.decode())
