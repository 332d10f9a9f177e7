"""Ray's workers as a crew for `harness.spread`. Home of ray, imported late.

Jobs are plain tasks, with retries: where a worker dies, its job is done again, and what it had kept is made again. Nothing is
reported to anybody (Ray's usage statistics are off), no dashboard is started, and Ray says nothing on stdout and stderr.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import logging
import os
import platform
import re
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, SurroundingsError
from harness.progress import Progress

RETRIES = 3  # of a job whose worker dies
AHEAD = 2  # jobs a worker's core that are handed out before their turn: more would fill the memory for objects
CONNECTS = 10.0  # seconds in which an address has to answer
PACKAGES = ("numpy", "faiss-cpu", "rank-bm25", "sentence-transformers", "transformers", "torch", "PyStemmer")
UNKNOWN = re.compile(r"No module named.*|.*failed to import on the worker|Can't get attribute.*")  # what a worker cannot import
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # how a future version will do it; without it a warning says so
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_LOG_TO_DRIVER": "0",
}


class Cluster:
    """Ray's workers, each job on one core."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """A reference to the value, which is sent once to each machine that needs it."""
        return self.ray.put(value)

    def each(
        self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], *, keeps: bool = False, gpus: int = 0
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of every job, as they end; see `spread.Crew`. What still runs when it is left is cancelled."""
        task = self.ray.remote(run_job).options(max_retries=RETRIES, num_returns=2 if keeps else 1, num_gpus=gpus)
        versions, numbered = self.share(versions_here()), enumerate(jobs)
        running: dict[Any, tuple[int, Any]] = {}
        try:
            while True:
                while len(running) < self.ahead and (following := next(numbered, None)) is not None:
                    number, arguments = following
                    references = task.remote(versions, function, *arguments)
                    first, kept = references if keeps else (references, None)
                    running[first] = number, kept
                if not running:
                    return
                done, _ = self.ray.wait(list(running), num_returns=1)
                number, kept = running.pop(done[0])
                result = self._get(done[0])
                yield number, (result, kept) if keeps else result
        finally:
            for reference in running:
                with contextlib.suppress(Exception):  # the cluster may be what is gone
                    self.ray.cancel(reference, force=True)

    def _get(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference)
        except Exception as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, (HarnessError, SurroundingsError)):
                raise cause from None
            if unknown := UNKNOWN.search(str(error)):
                raise SurroundingsError(
                    f"scale.ray: every worker must be able to import this program, got: {unknown[0].strip()}; install the same"
                    " version on every machine of the cluster"
                ) from None
            exceptions = self.ray.exceptions
            if isinstance(error, exceptions.RayTaskError) or not isinstance(error, exceptions.RayError):
                raise  # what the job itself raised
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise SurroundingsError(
                f"scale.ray: a job must end within {1 + RETRIES} tries, got: {reason}; where memory ran out, take more shards"
            ) from None


def run_job(versions: Mapping[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker runs; SurroundingsError where it has other versions of what decides a number."""
    here = versions_here()
    others = [
        f"{name} {here.get(name, 'none')} (not {version})" for name, version in versions.items() if here.get(name) != version
    ]
    if others:
        raise SurroundingsError(
            f"scale.ray: every worker must have the versions of this machine, got {', '.join(others)} on {platform.node()};"
            " install the same everywhere"
        )
    return function(*arguments)


@functools.cache
def versions_here() -> dict[str, str]:
    """The versions of the libraries that decide a number, and of this program the hash of its source."""
    package = Path(__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))
    found = {"hybrid-search-harness": hashlib.sha256(sources).hexdigest()[:12]}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


@contextlib.contextmanager
def open_cluster(address: str, progress: Progress) -> Iterator[Cluster]:
    """The cluster at this address; `auto` is that of this machine, or one that lives as long as this context.

    Where the calling process is in a cluster already, that one is used and stays as it is.
    """
    ray = _ray()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    with _unheard(ray):
        try:
            with progress("starting Ray" if address == "auto" else "joining Ray", 1) as advance:
                _join(ray, address)
                cluster = Cluster(ray)
                advance(1)
            yield cluster
        finally:
            ray.shutdown()


def _ray() -> Any:
    os.environ.update({name: value for name, value in QUIET.items() if name not in os.environ})
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        reason = str(error).splitlines()[0]
        raise HarnessError(
            f"scale.ray: a corpus in shards needs ray, got: {reason}; install the extra: pip install"
            " 'hybrid-search-harness[ray]', or leave scale out"
        ) from None
    return ray


def _join(ray: Any, address: str) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address != "auto":
        _check_answers(address)
    elif not _has_cluster():
        address = "local"
        options["include_dashboard"] = False
    with _own_signals(), _own_package(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(address=address, **options)
        except ConnectionError as error:
            raise SurroundingsError(f"scale.ray: must be the address of a Ray cluster, got {address!r}: {error}") from None
        except (RuntimeError, OSError, ValueError) as error:
            raise SurroundingsError(f"scale.ray: {address!r} must be a Ray cluster that can be joined, got: {error}") from None


def _has_cluster() -> bool:
    """Whether a cluster of this machine answers; Ray would wait for minutes for one that was killed and left its address."""
    from ray._private.services import get_ray_address_from_environment

    try:
        found = get_ray_address_from_environment("auto", None)
        _check_answers(str(found))
    except (ConnectionError, ValueError, SurroundingsError):
        return False
    return True


def _check_answers(address: str) -> None:
    """SurroundingsError where nothing listens at the address: Ray itself would wait for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTS).close()
    except OSError as error:
        raise SurroundingsError(f"scale.ray: a Ray cluster must answer at {address}, got: {error.strerror or error}") from None


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray sets a handler of its own for SIGTERM; this puts the one before it back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _own_package() -> Iterator[None]:
    """Workers that are started on this machine find the program where this process found it."""
    before = os.environ.get("PYTHONPATH")
    root = str(Path(__file__).resolve().parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextlib.contextmanager
def _unheard(ray: Any) -> Iterator[None]:
    """Ray prints what happens to workers on stdout, where results stand; nothing of it is printed here."""
    worker = sys.modules.get("ray._private.worker")
    printer = getattr(worker, "print_to_stdstream", None)
    if printer is not None:
        setattr(worker, "print_to_stdstream", lambda *_args, **_kwargs: None)  # noqa: B010 – no attribute of a known type
    try:
        yield
    finally:
        if printer is not None:
            setattr(worker, "print_to_stdstream", printer)  # noqa: B010
