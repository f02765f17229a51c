"""The child process of one episode."""

import threading
from typing import Any

from coevolve_environments.processes.child_pool import Child, ChildFault, ChildPool


class EpisodeChild:
    """Acquires a child of a pool at the first call, and releases it at the end of the episode.

    A child returns to its pool only if no call was running at that moment; otherwise it is killed.
    """

    def __init__(self, pool: ChildPool, last_call: str | None = None) -> None:
        """
        Args:
            last_call: method that is called before the child returns to its pool.
        """
        self._pool = pool
        self._last_call = last_call
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._is_idle = False
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
        self._is_idle = False
        result = child.call(method, **arguments)
        self._is_idle = True
        return result

    def close(self) -> None:
        """Ends the use of the child. Idempotent, and safe from another thread while `call` runs."""
        with self._lock:
            child, self._child, self._closed = self._child, None, True
        if child is None:
            return
        if self._is_idle and self._ends_well(child):
            child.release()
        else:
            child.end()

    def _ends_well(self, child: Child) -> bool:
        try:
            if self._last_call is not None:
                child.call(self._last_call)
        except ChildFault:
            return False
        return True

    def _attach(self, child: Child) -> None:
        with self._lock:
            if not self._closed:
                self._child = child
                return
        child.release()
        raise RuntimeError("the episode was closed while its child process started")
