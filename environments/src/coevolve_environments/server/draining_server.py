"""The server process: it stops gently, and no socket of it lingers."""

import asyncio
import time
from types import FrameType

import uvicorn

from coevolve_environments.sessions.leases import Leases

_SWEEP_TICKS = 100  # of uvicorn's main loop, which ticks every 0.1 s


class DrainingServer(uvicorn.Server):
    """uvicorn closes every socket as soon as it is told to stop. This one first refuses new sessions and lets
    the open episodes go on for a while; sockets that are left then are closed with 1012. A second signal cuts
    the while short.
    """

    def __init__(self, config: uvicorn.Config, leases: Leases, drain_seconds: float) -> None:
        super().__init__(config)
        self.leases = leases
        self._drain_seconds = drain_seconds
        self._until: float | None = None
        self._closing: set[asyncio.Transport] = set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._until is None:
            self._until = time.monotonic() + self._drain_seconds
            self.leases.draining = True
            self.should_exit = False

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TICKS == 0:
            self._sweep()
        if self._until is not None and (time.monotonic() >= self._until or not self.leases.playing()):
            self.should_exit = True
        return await super().on_tick(counter)

    def _sweep(self) -> None:
        """Cuts sockets that were to be closed at the last sweep already: a peer that neither reads nor dies
        would keep its socket, and what it was to read, for ever."""
        closing = {one.transport for one in self.server_state.connections if one.transport.is_closing()}
        for transport in closing & self._closing:
            transport.abort()
        self._closing = closing - self._closing
