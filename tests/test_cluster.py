"""The same candidates on Ray as on one machine, also where workers are killed; skipped where ray is not installed."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import cluster, spread
from harness import retrieve as retrieve_module
from harness.cli import run
from harness.cluster import Cluster, open_cluster
from harness.config import Config, load_config
from harness.errors import SurroundingsError
from harness.prepare import read_data
from harness.progress import Silence
from harness.retrieve import pack, retrieve
from harness.types import Dataset, Retrieved

try:
    import ray

    missing = ""
except ImportError as error:
    missing = str(error)

needs_ray = pytest.mark.skipif(bool(missing), reason=f"ray is not installed: {missing}")
pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]


@pytest.fixture(scope="module")
def crew() -> Iterator[Cluster]:
    """A Ray of its own with three workers and little memory for objects, which the code under test joins as the caller's."""
    os.environ |= cluster.QUIET
    with cluster._own_signals(), cluster._own_package():
        ray.init(
            address="local", num_cpus=3, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False,
            logging_level="CRITICAL",
        )  # fmt: skip
    with cluster._unheard(ray), open_cluster("auto", Silence()) as joined:
        yield joined
    ray.shutdown()


def kill_once(function: Callable[..., Any], mark: Path) -> Callable[..., Any]:
    """The function, whose first call anywhere is killed when its work is done, before it can answer."""
    place = str(mark)

    def deadly(*arguments: Any) -> Any:
        answer = function(*arguments)
        if not os.path.exists(place):  # noqa: PTH110 – a worker knows this function, not what the test imports
            os.close(os.open(place, os.O_CREAT))
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return deadly


def as_bytes(retrieved: Retrieved) -> dict[str, tuple[str, bytes]]:
    """All that stands in candidates.npz."""
    return {name: (str(array.dtype), array.tobytes()) for name, array in pack(retrieved).items()}


def both(config: Config, dataset: Dataset, caches: Path, *, keep_postings: bool = True) -> tuple[Retrieved, Retrieved]:
    """The candidates alone and by shards, which find nothing in a cache."""
    alone, shards = config.model_copy(update={"scale": None}), config.model_copy(update={"cache": str(caches / "shards")})
    found = [retrieve(dataset, one, Silence(), depth=config.depth, keep_postings=keep_postings) for one in (alone, shards)]
    return found[0], found[1]


@pytest.fixture
def garden_config(write_config: Callable[..., Path]) -> Config:
    return load_config(write_config(scale={"shards": 5}, keyword={"analyzer": "english"}))


@needs_ray
@pytest.mark.parametrize("killed", ["count_shard", "rank_shard", "select_shard", "encode_job", "search_shard"])
def test_a_killed_worker_changes_nothing(
    killed: str, crew: Cluster, garden_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "killed"
    monkeypatch.setattr(spread, killed, kill_once(getattr(spread, killed), mark))
    alone, shards = both(garden_config, read_data(garden_config, Silence()), tmp_path)
    assert mark.exists(), "nobody was killed"
    assert as_bytes(shards) == as_bytes(alone)


@needs_ray
def test_cranfield_has_the_same_candidates_with_a_worker_killed(
    crew: Cluster, write_config: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With seeded vectors: that encoding gives the same bytes is tested on fewer texts."""
    place = os.environ.get("HARNESS_COLLECTIONS")
    if place is None:
        pytest.skip("HARNESS_COLLECTIONS names no folder with collections")
    folder = Path(place) / "cranfield"
    files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels/test.tsv"}
    collection = {name: str(folder / file) for name, file in files.items()}
    plain = load_config(write_config(collection=collection, keyword={"analyzer": "english"}))
    dataset = read_data(plain, Silence())
    draw = np.random.default_rng(3)
    vectors = {}
    for name, ids in (("document", dataset.doc_ids[: len(dataset.texts)]), ("query", [q.query_id for q in dataset.queries])):
        np.save(tmp_path / f"{name}.npy", draw.standard_normal((len(ids), 48)).astype(np.float32))
        (tmp_path / f"{name}.txt").write_text("".join(f"{one}\n" for one in ids))
        plural = "documents" if name == "document" else "queries"
        vectors |= {plural: str(tmp_path / f"{name}.npy"), f"{name}_ids": str(tmp_path / f"{name}.txt")}
    config = load_config(
        write_config(
            collection=collection, keyword={"analyzer": "english"}, semantic={"vectors": vectors}, depth=100, scale={"shards": 16}
        )
    )
    mark = tmp_path / "killed"
    monkeypatch.setattr(spread, "rank_shard", kill_once(spread.rank_shard, mark))
    alone, shards = both(config, dataset, tmp_path)
    assert mark.exists()
    assert as_bytes(shards) == as_bytes(alone)
    assert (alone.candidates.keyword_ranks == 100).any() and (alone.candidates.semantic_ranks == 100).any()


@needs_ray
def test_what_died_with_a_worker_is_made_again_and_a_job_that_kills_every_worker_is_said(crew: Cluster) -> None:
    def kill_always(_number: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(SurroundingsError, match=r"scale\.ray: a job must end within 4 tries, got: .*"):
        list(crew.each(kill_always, [(1,)]))
    assert dict(crew.each(abs, [(-1,), (-2,)])) == {0: 1, 1: 2}, "the others live"


@needs_ray
def test_an_error_of_a_worker_is_the_programs_own(crew: Cluster) -> None:
    with pytest.raises(SurroundingsError, match=r"semantic\.model: .* same model on every worker"):
        list(crew.each(spread.encode_job, [(load_semantic(), "0" * 64, "document", [["a"]])]))
    with pytest.raises(ValueError, match="invalid literal"):
        list(crew.each(int, [("x",)]))


def load_semantic() -> Any:
    from harness.blocks import Semantic

    return Semantic()


@needs_ray
def test_a_worker_with_other_versions_is_refused(crew: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "versions_here", lambda: {"numpy": "0.0", "nothing": "1"})
    with pytest.raises(SurroundingsError, match=r"versions of this machine, got numpy \S+ \(not 0\.0\), nothing none \(not 1\)"):
        list(crew.each(abs, [(1,)]))


@needs_ray
def test_no_more_jobs_are_handed_out_than_will_run_soon(crew: Cluster) -> None:
    asked = []

    def jobs() -> Iterator[tuple[int]]:
        for number in range(40):
            asked.append(number)
            yield (number,)

    answers = crew.each(abs, jobs())
    next(answers)
    assert len(asked) <= crew.ahead + 1
    answers.close()  # type: ignore[attr-defined]  # it is a generator


# ---- the command line --------------------------------------------------------------------------------------------------


@needs_ray
def test_a_study_made_on_a_cluster_is_reproduced_without_one(
    crew: Cluster, write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tune", str(write_config(scale={"shards": 3}, cache="cache-shards"))]) == 0
    monkeypatch.setattr(cluster, "open_cluster", None)
    monkeypatch.setattr(retrieve_module, "open_cluster", None)
    capsys.readouterr()
    assert run(["reproduce", "study", "--from-scratch"]) == 0
    assert "OK" in capsys.readouterr().out


def test_without_ray_the_extra_is_named(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["tune", str(write_config(scale={}, cache="cache-none"))]) == 2
    error = capsys.readouterr().err
    assert "scale.ray: a corpus in shards needs ray" in error
    assert "pip install 'hybrid-search-harness[ray]'" in error


@needs_ray
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nothing_answers_is_said(scheme: str, write_config: Callable[..., Path]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(SurroundingsError, match=f"must answer at {re.escape(address)}, got: "):
            cluster._join(ray, address)


@needs_ray
def test_a_worker_without_the_program_is_said(crew: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_here.py").write_text("def job(number):\n    return number\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    job = __import__("only_here").job
    with pytest.raises(SurroundingsError, match=r"every worker must be able to import this program, got: .*only_here"):
        list(crew.each(job, [(1,)]))
