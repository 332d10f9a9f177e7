"""From texts to the keyword index: in blocks, on all cores where that pays, and every finished block stays.

A large corpus is counted a block at a time (`postings.count_texts`), and each block is written to the cache under a name of its
own: a run that is killed goes on with the blocks that are missing. The index is merged from the blocks in the order of the
documents, so it is the same however many processes counted, and in whatever order they ended.

The processes are fresh Python interpreters (never forked, and the caller's own script is not run again in them). They read texts
from a pipe, write blocks to the cache, and end when the pipe does: with the program, however that ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from harness.analyzers import make_analyzer
from harness.blocks import Keyword
from harness.errors import HarnessError, SurroundingsError
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.keyword import KeywordIndex, index_blocks, pack_terms, save_index, unpack_terms
from harness.postings import BLOCK, Block, count_texts, split
from harness.progress import Progress

PAYS = 10_000_000  # characters: below, starting processes takes longer than they save
TRIES = 2  # processes that may die over one block
HEAD = struct.Struct("<qqq")  # bytes of the path, of the texts' lengths, and of the texts
ARRAYS = ("found_in", "rows", "frequencies", "lengths")


def index_texts(texts: Sequence[str], options: Keyword, path: Path, progress: Progress) -> KeywordIndex:
    """The index over these texts, written to `path`, whose name is its key; blocks of a large corpus stand beside it meanwhile.

    HarnessError for an empty corpus; SurroundingsError where processes die over a block.
    """
    if not texts:
        raise HarnessError("keyword index: must have at least one document, got none")
    with progress("indexing documents", len(texts)) as advance:
        if len(texts) <= BLOCK:
            index = index_blocks([count_texts(texts, _advancing(make_analyzer(options.analyzer), advance))], options)
            save_index(index, path)
            return index
        parts = list(split(len(texts), BLOCK))
        places = [place_of(path, number) for number in range(len(parts))]
        missing = []
        for part, place in zip(parts, places, strict=True):
            if load_block(place, part.stop - part.start) is None:
                missing.append((part, place))
            else:
                advance(part.stop - part.start)
        cores = count_cores()
        if cores > 1 and len(missing) > 1 and sum(map(len, texts)) >= PAYS and sys.executable:
            count_side_by_side(texts, missing, options.analyzer, min(cores, len(missing)), advance)
        else:
            analyze = _advancing(make_analyzer(options.analyzer), advance)
            for part, place in missing:
                save_block(count_texts(texts[part], analyze), place)
    index = index_blocks((_reload(place, part.stop - part.start) for part, place in zip(parts, places, strict=True)), options)
    save_index(index, path)
    for place in places:
        place.unlink(missing_ok=True)
    return index


def _advancing(analyze: Callable[[str], list[str]], advance: Callable[[int], None]) -> Callable[[str], list[str]]:
    def analyze_one(text: str) -> list[str]:
        advance(1)
        return analyze(text)

    return analyze_one


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Blocks in the cache


def place_of(path: Path, number: int) -> Path:
    """Where a block of the index with this path lies: named by what it depends on, as everything in the cache."""
    name = hashlib.sha256(json.dumps(["block 1", path.stem, BLOCK, number]).encode()).hexdigest()
    return path.with_name(f"{name}.npz")


def save_block(block: Block, path: Path) -> None:
    """Write a block, complete or not at all."""
    write_arrays(path, {"terms": pack_terms(block.terms), **{name: getattr(block, name) for name in ARRAYS}})


def load_block(path: Path, n_documents: int) -> Block | None:
    """The block in this file; None where it is not there or is not what it should be (it is then counted anew)."""
    try:
        stored = read_arrays(path)
        block = Block(tuple(unpack_terms(stored["terms"])), *(stored[name] for name in ARRAYS))
    except (DamagedFileError, KeyError, ValueError):
        return None
    sound = block.lengths.size == n_documents and len(block.terms) == block.found_in.size
    return block if sound and int(block.found_in.sum()) == block.rows.size == block.frequencies.size else None


def _reload(path: Path, n_documents: int) -> Block:
    block = load_block(path, n_documents)
    if block is None:
        raise SurroundingsError(f"{path}: must hold what was just written, got something else; is somebody clearing the cache?")
    return block


# Processes


class Worker:
    """A process that counts blocks, one after the other."""

    def __init__(self, analyzer: str) -> None:
        root = str(Path(__file__).resolve().parents[1])
        code = f"import sys; sys.path.insert(0, {root!r}); from harness.indexing import serve; serve({analyzer!r})"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the program, which ends this one
        )

    def count(self, texts: Sequence[str], path: Path) -> str:
        """Count these texts into a file; what went wrong as JSON, nothing where all went well. EOFError where it died."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)).tobytes()
        name, joined = os.fsencode(path.absolute()), b"".join(encoded)
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            for data in (HEAD.pack(len(name), len(lengths), len(joined)), name, lengths, joined):
                self.process.stdin.write(data)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except (OSError, ValueError):  # a broken or closed pipe
            answer = b""
        if not answer.endswith(b"\n"):
            raise EOFError
        return answer.decode().strip()

    def end(self) -> int:
        """End the process at once; its exit code."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        return self.process.wait()


def count_side_by_side(
    texts: Sequence[str],
    missing: Sequence[tuple[slice, Path]],
    analyzer: str,
    workers: int,
    advance: Callable[[int], None],
) -> None:
    """Count the missing blocks in so many processes; a block over which one dies is given to another, once."""
    idle: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
    running: set[Worker] = set()
    stopped = False
    for _ in range(workers):
        idle.put(None)

    def count(part: slice, place: Path) -> int:
        worker = idle.get()
        try:
            for tried in range(1, TRIES + 1):
                if stopped:
                    return 0
                if worker is None:
                    worker = Worker(analyzer)
                    running.add(worker)
                try:
                    wrong = worker.count(texts[part], place)
                except EOFError:
                    running.discard(worker)
                    code, worker = worker.end(), None
                    if tried == TRIES and not stopped:
                        raise SurroundingsError(describe_death(part, code)) from None
                    continue
                if wrong:
                    number, reason = json.loads(wrong)
                    raise OSError(number, reason, str(place))
                return int(part.stop - part.start)
            return 0
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(count, part, place) for part, place in missing]
            for future in as_completed(futures):
                advance(future.result())
        finally:
            stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in list(running):
                worker.end()


def describe_death(part: slice, code: int) -> str:
    """What to say of processes that died over the same documents."""
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    hint = "; it is what the system does when memory runs out: close other programs" if code == -signal.SIGKILL else ""
    return (
        f"indexing documents {part.start + 1} to {part.stop}: a process must end its block, got {TRIES} that died ({how}){hint},"
        " then run the same command again: it goes on where it was"
    )


def serve(analyzer: str) -> None:
    """What a process does: read texts, count them, write the block, say so; until the pipe ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    analyze = make_analyzer(analyzer)
    for path, texts in _jobs(sys.stdin.buffer):
        wrong = ""
        try:
            save_block(count_texts(texts, analyze), path)
        except OSError as error:
            wrong = json.dumps([error.errno, error.strerror])
        try:
            answers.write(f"{wrong}\n".encode())
            answers.flush()
        except BrokenPipeError:  # the program has ended; the block stays for the next run
            os._exit(0)


def _jobs(pipe: BinaryIO) -> Iterator[tuple[Path, list[str]]]:
    while len(head := pipe.read(HEAD.size)) == HEAD.size:
        sizes = HEAD.unpack(head)
        name, lengths, joined = (pipe.read(size) for size in sizes)
        if len(joined) < sizes[2]:
            return  # the program has ended
        yield Path(os.fsdecode(name)), _cut(joined, np.frombuffer(lengths, dtype=np.int64))


def _cut(joined: bytes, lengths: np.ndarray[Any, Any]) -> list[str]:
    ends = np.cumsum(lengths).tolist()
    return [joined[start:end].decode("utf-8", "surrogatepass") for start, end in zip([0, *ends], ends, strict=False)]
