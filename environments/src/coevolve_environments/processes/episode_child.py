"""The place of one episode in a pool."""

import threading
from typing import Any

from coevolve_environments.processes.child_pool import Child, ChildPool


class EpisodeChild:
    """The child that one episode plays in. It goes back to its pool only from between two calls."""

    def __init__(self, pool: ChildPool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._clean = False
        self._closed = False

    def call(self, method: str, **arguments: Any) -> Any:
        """
        Raises:
            BadRequest, ChildFault, CapacityReached: see `ChildPool.acquire` and `Child.call`.
        """
        if self._child is None:
            self._attach(self._pool.acquire())
        child = self._child
        assert child is not None
        self._clean = False
        result = child.call(method, **arguments)
        self._clean = True
        return result

    def close(self) -> None:
        """Safe from another thread while `call` runs, and when repeated."""
        with self._lock:
            child, self._child, self._closed = self._child, None, True
        if child is None:
            return
        if self._clean:
            child.release()
        else:
            child.end()

    def _attach(self, child: Child) -> None:
        with self._lock:
            if not self._closed:
                self._child = child
                return
        child.release()
        raise RuntimeError("the episode was closed while its process started")
