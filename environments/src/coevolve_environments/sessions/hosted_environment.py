"""One hosted environment: its sessions, its capacity, and where its calls run."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from coevolve_environments.protocol import CapacityReached, Environment
from coevolve_environments.sessions.leases import Lease, Leases
from coevolve_environments.sessions.metrics import EnvironmentMetrics
from coevolve_environments.sessions.timeouts import SessionTimeouts

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_DATA_THREADS = 4
_CLOSE_SECONDS = 10.0


class HostedEnvironment:
    """Counts the sessions of one environment and runs its calls off the event loop.

    A call that passed its deadline cannot be stopped in a thread: it counts as `stuck`, and as a session that
    is taken, until it returns. A child that it waits for is ended with the episode: then it returns at once.
    """

    def __init__(
        self,
        environment: Environment,
        capacity: int,
        timeouts: SessionTimeouts,
        leases: Leases,
        metrics: EnvironmentMetrics,
    ) -> None:
        self.environment = environment
        self.capacity = min(capacity, environment.max_sessions or capacity)
        self.timeouts = timeouts
        self.metrics = metrics
        self.session_count = 0
        self.stuck_calls = 0
        self._leases = leases
        # A thread for every session's call and one for every stuck call, of which there are as many at most.
        self._calls = ThreadPoolExecutor(2 * self.capacity, thread_name_prefix=environment.name)
        self._data = ThreadPoolExecutor(_DATA_THREADS, thread_name_prefix=f"{environment.name}-data")

    def open_session(self) -> Lease:
        """A session for the task that calls it.

        Raises:
            CapacityReached: there is none.
        """
        name = self.environment.name
        if self._leases.draining:
            self.metrics.refused("draining")
            raise CapacityReached(f"{name} is draining: the server stops and takes no more sessions")
        if self.session_count + self.stuck_calls >= self.capacity:
            self.metrics.refused("capacity")
            stuck = (
                f", {self.stuck_calls} of them held by calls past their deadline" if self.stuck_calls else ""
            )
            raise CapacityReached(f"{name} serves {self.capacity} sessions at once{stuck}; try again later")
        self.session_count += 1
        return self._leases.open(name, self.timeouts)

    def close_session(self, lease: Lease) -> None:
        self.session_count -= 1
        lease.close()
        assert lease.ended is not None
        self.metrics.lease_ended(lease.ended)

    async def call(
        self,
        function: Callable[[], Result],
        seconds: float | None = None,
        discard: Callable[[Result], None] | None = None,
    ) -> Result:
        """Runs one call of an episode where the environment declared that it belongs.

        Args:
            discard: told of a result that came after the deadline, or after the session had ended.

        Raises:
            TimeoutError: the call is still running.
        """
        if self.environment.inline:
            return function()
        return await self._run(self._calls, function, seconds or self.timeouts.call_seconds, discard)

    async def call_in_thread(self, function: Callable[[], Result], seconds: float) -> Result:
        """Data work, beside the episodes.

        Raises:
            TimeoutError: the call is still running; its thread ends when the call does.
        """
        return await self._run(self._data, function, seconds, None)

    async def end_episode(self, close: Callable[[], None]) -> None:
        """Closes an episode, also while a call of it runs. What fails is logged: the session ends anyway."""
        try:
            await self.call(close, _CLOSE_SECONDS)
        except Exception as error:
            log.error("%s: an episode could not be closed: %s", self.environment.name, error)
            self.metrics.fault(error)

    def close(self) -> None:
        for pool in (self._calls, self._data):
            pool.shutdown(wait=False, cancel_futures=True)
        self.environment.close()

    async def _run(
        self,
        pool: ThreadPoolExecutor,
        function: Callable[[], Result],
        seconds: float,
        discard: Callable[[Result], None] | None,
    ) -> Result:
        running = pool.submit(function)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), seconds)
        except TimeoutError:
            if not running.done():
                self._abandon(running, discard)
                raise TimeoutError(f"no answer within {seconds:g} s") from None
            raise
        except asyncio.CancelledError:
            self._abandon(running, discard)
            raise

    def _abandon(self, running: Future[Result], discard: Callable[[Result], None] | None) -> None:
        self.stuck_calls += 1
        loop = asyncio.get_running_loop()

        def returned(future: Future[Result]) -> None:
            if discard and not future.cancelled() and future.exception() is None:
                discard(future.result())
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(self._freed)

        running.add_done_callback(returned)

    def _freed(self) -> None:
        self.stuck_calls -= 1
