"""One hosted environment: its sessions, its capacity, and the threads of its calls."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from coevolve_environments.protocol import CapacityReached, Environment
from coevolve_environments.sessions.leases import Lease, Leases, SessionTimeouts
from coevolve_environments.sessions.metrics import EnvironmentMetrics

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_DATA_THREADS = 4
_CLOSE_SECONDS = 10.0


class HostedEnvironment:
    """Counts the sessions of one environment and runs its calls outside the event loop.

    A call in a thread cannot be stopped at its timeout: until it returns it counts as a stuck call and uses
    the capacity of one session. A call that waits for a child returns at once: the child is killed with the
    episode.
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
        # One thread per session and one per stuck call; each of the two numbers is at most the capacity.
        self._calls = ThreadPoolExecutor(2 * self.capacity, thread_name_prefix=environment.name)
        self._data = ThreadPoolExecutor(_DATA_THREADS, thread_name_prefix=f"{environment.name}-data")

    def open_session(self) -> Lease:
        """Opens a session that belongs to the calling asyncio task.

        Raises:
            CapacityReached: no session is free, or the server is draining.
        """
        name = self.environment.name
        if self._leases.draining:
            self.metrics.refused("draining")
            raise CapacityReached(f"{name} is draining: the server is stopping and accepts no new sessions")
        if self.session_count + self.stuck_calls >= self.capacity:
            self.metrics.refused("capacity")
            stuck = (
                f", {self.stuck_calls} of them used by calls past their timeout" if self.stuck_calls else ""
            )
            raise CapacityReached(
                f"{name} has all of its {self.capacity} sessions in use{stuck}; retry later"
            )
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
        """Runs one call of an episode: inline if the environment declares it, otherwise in a thread.

        Args:
            discard: receives a result that arrives after the timeout or after the end of the session.

        Raises:
            TimeoutError: the call is still running.
        """
        if self.environment.inline:
            return function()
        return await self._run(self._calls, function, seconds or self.timeouts.call_seconds, discard)

    async def call_in_thread(self, function: Callable[[], Result], seconds: float) -> Result:
        """Runs a data request in a separate thread pool.

        Raises:
            TimeoutError: the call is still running; its thread ends with the call.
        """
        return await self._run(self._data, function, seconds, None)

    async def end_episode(self, close: Callable[[], None]) -> None:
        """Closes an episode, also while a call of it runs. Logs errors instead of raising them."""
        try:
            await self.call(close, _CLOSE_SECONDS)
        except Exception as error:
            log.error("%s: closing an episode failed: %s", self.environment.name, error)
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
                raise TimeoutError(f"no result within {seconds:g} s") from None
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
