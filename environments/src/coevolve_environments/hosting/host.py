"""One hosted environment: its sessions, its capacity, and where its calls run."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from coevolve_environments.protocol import Environment

Result = TypeVar("Result")

_THREADS = 16


class CapacityReached(Exception):
    """Every session of the environment is taken."""


class Host:
    """Counts the sessions of one environment and runs its calls off the event loop."""

    def __init__(self, environment: Environment, capacity: int) -> None:
        self.environment = environment
        self.capacity = min(capacity, environment.sessions or capacity)
        self.sessions = 0
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=environment.name)

    def take(self) -> None:
        if self.sessions >= self.capacity:
            raise CapacityReached(
                f"{self.environment.name} serves {self.capacity} sessions at once; try again later"
            )
        self.sessions += 1

    def give_back(self) -> None:
        self.sessions -= 1

    async def call(self, function: Callable[[], Result], seconds: float | None = None) -> Result:
        """Runs one call of an episode where the environment declared that it belongs."""
        if self.environment.inline:
            return function()
        return await self.call_in_thread(function, seconds or self.environment.call_seconds)

    async def call_in_thread(self, function: Callable[[], Result], seconds: float) -> Result:
        """
        Raises:
            TimeoutError: the call is still running; its thread ends when the call does.
        """
        running = asyncio.get_running_loop().run_in_executor(self._pool, function)
        return await asyncio.wait_for(running, seconds)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.environment.close()
