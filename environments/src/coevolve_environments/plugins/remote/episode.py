"""The life of an episode whose world is on another server: let go of once, by whoever is there last."""

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
    """Lets go of remote things in threads of its own: an episode may be closed where nothing may block."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(4, thread_name_prefix=f"{name}-release")

    def release(self, what: str, function: Callable[[], object]) -> None:
        def attempt() -> None:
            try:
                function()
            except RemoteFault as fault:
                log.warning("%s could not be let go of: %s", what, fault)

        try:
            self._threads.submit(attempt)
        except RuntimeError:  # closed: the environment ends, and the last episodes after it
            attempt()

    def close(self) -> None:
        """Waits for what is under way."""
        self._threads.shutdown(wait=True)


class RemoteEpisode(ABC):
    """Subclasses play; this class knows when nobody plays any more.

    A close while a call runs waits for the call's end: the server over there is still at work on it.
    """

    task_id: str
    split: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._closed = False
        self._released = False
        self._sound = True
        """No call failed: what the episode used over there can be relied on."""

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
        """Called once, when no call runs and none can come. Must not block."""

    @contextmanager
    def _calling(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise RemoteFault("the episode is closed")
            self._calls += 1
        try:
            yield
        except BaseException:
            self._sound = False
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
