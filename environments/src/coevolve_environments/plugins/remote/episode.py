"""Episodes whose state is on another server: the remote resource is released exactly once."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from coevolve_environments.plugins.remote.client import RemoteFault
from coevolve_environments.protocol import Observation

log = logging.getLogger(__name__)


class Releaser:
    """Releases remote resources in background threads, because closing an episode must not block."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(4, thread_name_prefix=f"{name}-release")

    def release(self, name: str, function: Callable[[], object]) -> None:
        def attempt() -> None:
            try:
                function()
            except RemoteFault as fault:
                log.warning("release of %s failed: %s", name, fault)

        try:
            self._threads.submit(attempt)
        except RuntimeError:  # the pool is closed, and the last episodes end after their environment
            attempt()

    def close(self) -> None:
        """Waits for running releases."""
        self._threads.shutdown(wait=True)


class RemoteEpisode(ABC):
    """Calls `_release` of the subclass after `close`, when no call is running.

    A `close` during a call takes effect at the end of the call, because the server is still processing it.
    """

    task_id: str
    split: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._closed = False
        self._released = False
        self._is_reusable = True
        """True while no call has failed: the remote resource can be reused."""

    def open(self) -> Observation:
        with self._calling():
            return self._begin()

    def act(self, content: str) -> Observation:
        with self._calling():
            return self._continue(content)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._release_if_last()

    @abstractmethod
    def _begin(self) -> Observation: ...

    @abstractmethod
    def _continue(self, content: str) -> Observation: ...

    @abstractmethod
    def _release(self) -> None:
        """Releases the remote resource. Called once, after all calls; must not block."""

    @contextmanager
    def _calling(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise RemoteFault("the episode is closed")
            self._calls += 1
        try:
            yield
        except BaseException:
            self._is_reusable = False
            raise
        finally:
            with self._lock:
                self._calls -= 1
            self._release_if_last()

    def _release_if_last(self) -> None:
        with self._lock:
            if not self._closed or self._calls or self._released:
                return
            self._released = True
        self._release()
