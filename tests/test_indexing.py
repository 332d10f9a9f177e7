"""Indexing in blocks and processes: the same index, finished blocks stay, a process that dies is replaced, nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from harness import indexing, retrieve
from harness.analyzers import make_analyzer
from harness.blocks import Keyword
from harness.config import read_config
from harness.errors import HarnessError, SurroundingsError
from harness.indexing import Worker, index_texts, load_block, place_of, save_block
from harness.keyword import KeywordIndex, build_index, load_index
from harness.postings import count_texts
from harness.prepare import read_data
from harness.progress import Silence

TEXTS = [f"document {n % 7} über das Läufer's word{n} word{n % 5} 検索" for n in range(50)] + ["", "\n", "a\nb"]
OPTIONS = Keyword(analyzer="german")


class Counter(Silence):
    """Progress that counts its steps by stage."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {}

    @contextlib.contextmanager
    def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        steps = self.steps.setdefault(f"{description} {total}", [])
        yield steps.append


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the index will lie; blocks of eight documents, counted in two processes."""
    monkeypatch.setattr(indexing, "BLOCK", 8)
    monkeypatch.setattr(indexing, "PAYS", 0)
    monkeypatch.setattr(indexing, "count_cores", lambda: 2)
    return tmp_path / "keyword" / f"{'ab' * 32}.npz"


def assert_same(one: KeywordIndex | None, other: KeywordIndex) -> None:
    assert one is not None
    assert list(one.terms.items()) == list(other.terms.items())
    for name in ("indptr", "rows", "frequencies", "lengths", "idf"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.average == other.average


def at_once(texts: Sequence[str] = TEXTS) -> KeywordIndex:
    return build_index([make_analyzer(OPTIONS.analyzer)(text) for text in texts], OPTIONS)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_blocks_in_processes_make_the_index_of_one_pass(path: Path, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "count_cores", lambda: cores)
    progress = Counter()
    assert_same(index_texts(TEXTS, OPTIONS, path, progress), at_once())
    assert_same(load_index(path), at_once())
    assert list(path.parent.iterdir()) == [path], "the blocks are gone once the index stands"
    assert {stage: sum(steps) for stage, steps in progress.steps.items()} == {f"indexing documents {len(TEXTS)}": len(TEXTS)}


def test_a_small_corpus_starts_no_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "Worker", None)
    assert_same(index_texts(TEXTS[:8], OPTIONS, path, Silence()), at_once(TEXTS[:8]))
    monkeypatch.setattr(indexing, "PAYS", 10**6)
    assert_same(index_texts(TEXTS, OPTIONS, path, Silence()), at_once())


def test_no_document_is_refused(path: Path) -> None:
    with pytest.raises(HarnessError, match="at least one document"):
        index_texts([], OPTIONS, path, Silence())


def test_finished_blocks_are_not_counted_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is damaged is."""
    analyze = make_analyzer(OPTIONS.analyzer)
    for number in (0, 2, 5):
        save_block(count_texts(TEXTS[number * 8 : number * 8 + 8], analyze), place_of(path, number))
    place_of(path, 5).write_bytes(place_of(path, 5).read_bytes()[:-50])
    counted: list[int] = []

    def count_here(texts: Sequence[str], missing: Sequence[tuple[slice, Path]], *_rest: object) -> None:
        for part, place in missing:
            counted.append(part.start // 8)
            save_block(count_texts(texts[part], analyze), place)

    monkeypatch.setattr(indexing, "count_side_by_side", count_here)
    assert_same(index_texts(TEXTS, OPTIONS, path, Silence()), at_once())
    assert counted == [1, 3, 4, 5, 6]


def test_a_block_read_back_is_the_same_and_one_of_other_documents_is_not_taken(path: Path) -> None:
    block = count_texts(TEXTS, make_analyzer("simple"))
    save_block(block, path)
    read = load_block(path, len(TEXTS))
    assert read is not None
    assert read.terms == block.terms
    assert all(np.array_equal(getattr(read, name), getattr(block, name)) for name in indexing.ARRAYS)
    assert load_block(path, len(TEXTS) - 1) is None


class Dying(Worker):
    """A process that is killed over its first job, as many times as there are deaths left."""

    deaths = 0

    def count(self, texts: Sequence[str], path: Path) -> str:
        if type(self).deaths:
            type(self).deaths -= 1
            os.kill(self.process.pid, signal.SIGKILL)
        return super().count(texts, path)


def test_a_process_that_is_killed_is_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dying, "deaths", 1)
    monkeypatch.setattr(indexing, "Worker", Dying)
    assert_same(index_texts(TEXTS, OPTIONS, path, Silence()), at_once())
    assert Dying.deaths == 0


def test_processes_that_die_again_and_again_are_said_and_what_is_finished_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dying, "deaths", 10**6)
    monkeypatch.setattr(indexing, "Worker", Dying)
    with pytest.raises(SurroundingsError, match=r"documents \d+ to \d+.*got 2 that died \(SIGKILL\).*same command again"):
        index_texts(TEXTS, OPTIONS, path, Silence())
    monkeypatch.setattr(Dying, "deaths", 0)
    assert_same(index_texts(TEXTS, OPTIONS, path, Silence()), at_once())


def test_a_block_that_cannot_be_written_is_the_systems_own_error(path: Path) -> None:
    path.parent.write_text("no folder")
    with pytest.raises(OSError, match=r"exists|directory"):
        index_texts(TEXTS, OPTIONS, path, Silence())


def test_an_interrupt_ends_the_processes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Worker] = []

    class Seen(Worker):
        def __init__(self, analyzer: str) -> None:
            super().__init__(analyzer)
            started.append(self)

    class Interrupting(Silence):
        @contextlib.contextmanager
        def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
            def interrupt(_steps: int) -> None:
                raise KeyboardInterrupt

            yield interrupt

    monkeypatch.setattr(indexing, "Worker", Seen)
    with pytest.raises(KeyboardInterrupt):
        index_texts(TEXTS, OPTIONS, path, Interrupting())
    assert started
    assert all(worker.process.wait(timeout=20) == -signal.SIGKILL for worker in started)


def test_a_process_ends_when_the_program_does() -> None:
    """Its pipe ends with the program, however that ends."""
    worker = Worker("simple")
    assert worker.process.stdin is not None
    assert worker.process.stdout is not None
    worker.process.stdin.close()
    assert worker.process.stdout.read() == b""
    assert worker.process.wait(timeout=20) == 0
    worker.process.stdout.close()


# --- one side of a large corpus -----------------------------------------------------------------------------------------


def test_a_side_that_is_finished_is_not_made_again(write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the run ends before the other one is; the file of its own goes when the candidates stand."""
    config = read_config(write_config(depth=9))
    dataset, folder = read_data(config), Path(config.cache) / "candidates"
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    expected = retrieve.retrieve(dataset, config, Silence(), depth=9, keep_postings=False)
    (standing,) = set(folder.iterdir()) - before
    standing.unlink()
    monkeypatch.setattr(retrieve, "BLOCK", 0)
    with monkeypatch.context() as cut:
        cut.setattr(retrieve, "semantic_side", interrupted)
        with pytest.raises(KeyboardInterrupt):
            retrieve.retrieve(dataset, config, Silence(), depth=9, keep_postings=False)
    assert len(set(folder.iterdir()) - before) == 1
    monkeypatch.setattr(retrieve, "keyword_side", interrupted)
    found = retrieve.retrieve(dataset, config, Silence(), depth=9, keep_postings=False)
    assert set(folder.iterdir()) - before == {standing}
    assert (found.facts, found.warnings) == (expected.facts, expected.warnings)
    for name, array in vars(expected.candidates).items():
        assert np.array_equal(getattr(found.candidates, name), array, equal_nan=True), name


def interrupted(*_args: object, **_options: object) -> None:
    raise KeyboardInterrupt
