"""uvicorn with a graceful drain at shutdown, and cleanup of sockets that do not close."""

import asyncio
import time
from types import FrameType

import uvicorn

from coevolve_environments.sessions.leases import Leases

_SWEEP_TICKS = 100  # uvicorn's main loop ticks every 0.1 s


class DrainingServer(uvicorn.Server):
    """Drains before it stops: refuses new sessions, lets open episodes continue for some seconds, and then
    closes the remaining sockets with 1012. A second signal ends the drain at once. uvicorn alone closes every
    socket at the first signal.
    """

    def __init__(self, config: uvicorn.Config, leases: Leases, drain_seconds: float) -> None:
        super().__init__(config)
        self.leases = leases
        self._drain_seconds = drain_seconds
        self._drain_deadline: float | None = None
        self._closing: set[asyncio.Transport] = set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._drain_deadline is None:
            self._drain_deadline = time.monotonic() + self._drain_seconds
            self.leases.draining = True
            self.should_exit = False

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TICKS == 0:
            self._sweep()
        if self._drain_deadline is not None and (
            time.monotonic() >= self._drain_deadline or not self.leases.is_playing()
        ):
            self.should_exit = True
        return await super().on_tick(counter)

    def _sweep(self) -> None:
        """Aborts sockets that were closing at the previous sweep already: a client that neither reads nor
        disconnects would keep its socket and its unread data forever."""
        connections = self.server_state.connections
        closing = {connection.transport for connection in connections if connection.transport.is_closing()}
        for transport in closing & self._closing:
            transport.abort()
        self._closing = closing - self._closing
