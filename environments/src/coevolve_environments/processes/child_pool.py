"""Pools of child processes, one episode in each, for engines that cannot live in the server."""

import queue
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from coevolve_environments.processes.child import Child, ChildFault, ChildLimits
from coevolve_environments.processes.launcher import ChildProgram, Launched, Launcher
from coevolve_environments.protocol import CapacityReached

__all__ = ["Child", "ChildFault", "ChildPool", "ChildProgram", "ChildUsage", "PoolLimits", "usage_by_pool"]

_WATCH_SECONDS = 1.0
_POOLS: "weakref.WeakSet[ChildPool]" = weakref.WeakSet()


@dataclass(frozen=True)
class PoolLimits:
    size: int
    """Children that play at once."""
    episodes: int = 50
    """A child that has played so many is replaced."""
    memory_mb: int = 1024
    """Of a child and its descendants; past it the child is killed."""
    start_seconds: float = 60
    call_seconds: float = 60
    idle_seconds: float = 600
    """A child that nobody took for so long is ended."""


@dataclass(frozen=True)
class ChildUsage:
    pid: int
    resident: int
    """Bytes of it and its descendants."""
    episodes: int
    busy: bool


class ChildPool:
    """Children are started when they are needed, at most `size` at once beside the one for data work."""

    def __init__(self, name: str, program: ChildProgram, limits: PoolLimits) -> None:
        self.name = name
        self.limits = limits
        self._launcher = Launcher(name, program)
        self._lock = threading.Lock()
        self._alive: set[Child] = set()
        self._taken: set[Child] = set()
        self._idle: dict[Child, float] = {}
        self._starting = 0
        self._borrowed: Child | None = None
        self._borrowing = threading.Lock()
        self._closed = False
        self._wanted: queue.SimpleQueue[Future[Launched] | None] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None
        _POOLS.add(self)

    def acquire(self) -> Child:
        """An idle child, else a new one; waits for its start.

        Raises:
            CapacityReached: `size` are taken.
            ChildFault, Unavailable: none could be started.
        """
        while True:
            with self._lock:
                self._refuse_past_size()
                child = self._idle.popitem()[0] if self._idle else None
                if child is None:
                    self._starting += 1
                    break
                self._taken.add(child)
            if not child.ended:  # it may have been killed for its memory since it was listed
                return child
        return self._start_taken()

    @contextmanager
    def data_child(self) -> Iterator[Child]:
        """One more child beside `size`, for data work: kept between callers, who wait for one another."""
        with self._borrowing:
            child = self._borrowed
            if child is None or child.ended or child.episodes >= self.limits.episodes:
                if child is not None:
                    child.end()
                child = self._borrowed = self._start()
            try:
                yield child
            except BaseException:
                child.end()
                raise
            child.episodes += 1

    def usage(self) -> list[ChildUsage]:
        with self._lock:
            alive, busy = list(self._alive), set(self._taken)
        return [
            ChildUsage(child.pid, child.measure(), child.episodes, child in busy)
            for child in alive
            if not child.ended
        ]

    def close(self) -> None:
        """Ends all children; a pool that was closed gives none out again."""
        with self._lock:
            self._closed = True
            self._wanted.put(None)
            alive = list(self._alive)
        for child in alive:
            child.end()

    def _refuse_past_size(self) -> None:
        if self._closed:
            raise CapacityReached(f"{self.name}: its children have been ended")
        if len(self._taken) + self._starting >= self.limits.size:
            raise CapacityReached(f"{self.name} has {self.limits.size} children; all are taken")

    def _start_taken(self) -> Child:
        child: Child | None = None
        try:
            child = self._start()
        finally:
            with self._lock:
                self._starting -= 1
                if child is not None and not child.ended:
                    self._taken.add(child)
        return child

    def _start(self) -> Child:
        launched: Future[Launched] = Future()
        with self._lock:
            if self._closed:  # its keeper launches no more
                raise CapacityReached(f"{self.name}: its children have been ended")
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name=f"{self.name}-keeper", daemon=True)
                self._keeper.start()
            self._wanted.put(launched)
        limits = ChildLimits(self.limits.memory_mb, self.limits.start_seconds, self.limits.call_seconds)
        child = Child(self.name, launched.result(), limits, self._left)
        with self._lock:
            self._alive.add(child)
            closed = self._closed
        if closed:
            child.end()
        child.start(self._launcher.welcome())
        return child

    def _left(self, child: Child, well: bool) -> None:
        with self._lock:
            self._taken.discard(child)
            if well and child.episodes < self.limits.episodes and not child.ended:
                self._idle[child] = time.monotonic()
                return
            self._idle.pop(child, None)
            self._alive.discard(child)
        child.end()

    def _keep(self) -> None:
        """Starts the children, for they die with the thread that started them, and watches their memory."""
        while True:
            try:
                wanted = self._wanted.get(timeout=_WATCH_SECONDS if self._alive else None)
            except queue.Empty:
                self._watch()
                continue
            if wanted is None:
                return
            try:
                wanted.set_result(self._launcher.launch())
            except OSError as error:
                wanted.set_exception(ChildFault("died", f"{self.name}: no child could be started: {error}"))

    def _watch(self) -> None:
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
    """The children of every pool of this process, by the pool's name."""
    usage: dict[str, list[ChildUsage]] = {}
    for pool in list(_POOLS):
        usage.setdefault(pool.name, []).extend(pool.usage())
    return usage
