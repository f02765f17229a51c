"""Pools of child processes with one episode each, for engines that cannot run inside the server."""

import queue
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from coevolve_environments.processes.child import Child, ChildFault, ChildLimits
from coevolve_environments.processes.launcher import ChildProgram, LaunchedProcess, Launcher
from coevolve_environments.protocol import CapacityReached

__all__ = ["Child", "ChildFault", "ChildPool", "ChildProgram", "ChildUsage", "PoolLimits", "usage_by_pool"]

_CHECK_SECONDS = 1.0
_POOLS: "weakref.WeakSet[ChildPool]" = weakref.WeakSet()


@dataclass(frozen=True)
class PoolLimits:
    size: int
    """Maximum number of children that play at the same time."""
    episodes: int = 50
    """Episodes of a child before it is replaced."""
    memory_mb: int = 1024
    """Resident memory of a child and its descendants; the child is killed above it."""
    disk_mb: int = 2048
    """Disk space of a child's home with all its files; the child is killed above it."""
    start_seconds: float = 60
    call_seconds: float = 60
    idle_seconds: float = 600
    """An unused child is ended after this time."""


@dataclass(frozen=True)
class ChildUsage:
    pid: int
    resident_bytes: int
    """Of the child and its descendants."""
    episodes: int
    busy: bool


class ChildPool:
    """Starts children on demand: at most `size` for episodes, and one more for data requests."""

    def __init__(self, name: str, program: ChildProgram, limits: PoolLimits) -> None:
        """
        Raises:
            Unavailable: a policy's code runs in the children, and this machine cannot confine it.
        """
        self.name = name
        self.limits = limits
        self._launcher = Launcher(name, program)
        self._launcher.check()
        self._lock = threading.Lock()
        self._alive: set[Child] = set()
        self._in_use: set[Child] = set()
        self._idle: dict[Child, float] = {}
        self._starting = 0
        self._data_child: Child | None = None
        self._data_lock = threading.Lock()
        self._closed = False
        self._start_requests: queue.SimpleQueue[Future[LaunchedProcess] | None] = queue.SimpleQueue()
        self._starter: threading.Thread | None = None
        _POOLS.add(self)

    def acquire(self) -> Child:
        """Returns an idle child, or starts a new one and waits for it.

        Raises:
            CapacityReached: `size` children are in use.
            ChildFault, Unavailable: no child could be started.
        """
        while True:
            with self._lock:
                self._refuse_above_size()
                child = self._idle.popitem()[0] if self._idle else None
                if child is None:
                    self._starting += 1
                    break
                self._in_use.add(child)
            if not child.ended:  # it may have been killed for its memory meanwhile
                return child
        return self._start_for_episode()

    @contextmanager
    def data_child(self) -> Iterator[Child]:
        """Yields the child for data requests. It is kept between callers; they wait for each other."""
        with self._data_lock:
            child = self._data_child
            if child is None or child.ended or child.episodes >= self.limits.episodes:
                if child is not None:
                    child.end()
                child = self._data_child = self._start()
            try:
                yield child
            except BaseException:
                child.end()
                raise
            child.episodes += 1

    def usage(self) -> list[ChildUsage]:
        with self._lock:
            alive, busy = list(self._alive), set(self._in_use)
        return [
            ChildUsage(child.pid, child.measure(), child.episodes, child in busy)
            for child in alive
            if not child.ended
        ]

    def close(self) -> None:
        """Ends all children; a closed pool starts no others."""
        with self._lock:
            self._closed = True
            self._start_requests.put(None)
            alive = list(self._alive)
        for child in alive:
            child.end()

    def _refuse_above_size(self) -> None:
        if self._closed:
            raise CapacityReached(f"{self.name}: its pool of children is closed")
        if len(self._in_use) + self._starting >= self.limits.size:
            raise CapacityReached(f"{self.name}: all {self.limits.size} children are in use")

    def _start_for_episode(self) -> Child:
        child: Child | None = None
        try:
            child = self._start()
        finally:
            with self._lock:
                self._starting -= 1
                if child is not None and not child.ended:
                    self._in_use.add(child)
        return child

    def _start(self) -> Child:
        launched: Future[LaunchedProcess] = Future()
        with self._lock:
            if self._closed:
                raise CapacityReached(f"{self.name}: its pool of children is closed")
            if self._starter is None:
                self._starter = threading.Thread(
                    target=self._run_starter, name=f"{self.name}-starter", daemon=True
                )
                self._starter.start()
            self._start_requests.put(launched)
        limits = ChildLimits(
            self.limits.memory_mb, self.limits.disk_mb, self.limits.start_seconds, self.limits.call_seconds
        )
        process = launched.result()
        child = Child(self.name, process, limits, self._on_free)
        with self._lock:
            self._alive.add(child)
            closed = self._closed
        if closed:
            child.end()
        child.start(process.first_message)
        return child

    def _on_free(self, child: Child, released: bool) -> None:
        with self._lock:
            self._in_use.discard(child)
            if released and child.episodes < self.limits.episodes and not child.ended:
                self._idle[child] = time.monotonic()
                return
            self._idle.pop(child, None)
            self._alive.discard(child)
        child.end()

    def _run_starter(self) -> None:
        """Starts children and checks their memory and disk space.

        One thread runs as long as the pool: the kernel kills a child with the thread that started it.
        """
        while True:
            try:
                request = self._start_requests.get(timeout=_CHECK_SECONDS)
            except queue.Empty:
                self._check_children()
                continue
            if request is None:
                return
            try:
                request.set_result(self._launcher.launch())
            except Exception as error:  # otherwise the caller would wait for ever
                request.set_exception(
                    ChildFault("crashed", f"{self.name}: a child could not be started: {error}")
                )

    def _check_children(self) -> None:
        with self._lock:
            alive = list(self._alive)
            since = time.monotonic() - self.limits.idle_seconds
            unused = [child for child, at in self._idle.items() if at < since]
            for child in unused:
                del self._idle[child]
        for child in unused:
            child.end()
        for child in alive:
            child.measure()


def usage_by_pool() -> dict[str, list[ChildUsage]]:
    """Returns the children of every pool of this process by the pool's name."""
    usage: dict[str, list[ChildUsage]] = {}
    for pool in list(_POOLS):
        usage.setdefault(pool.name, []).extend(pool.usage())
    return usage
