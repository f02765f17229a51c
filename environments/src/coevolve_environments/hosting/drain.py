"""Stops a server gently: what is being played may end first."""

import time
from types import FrameType

import uvicorn

from coevolve_environments.hosting.leases import Leases


class DrainingServer(uvicorn.Server):
    """uvicorn closes every socket as soon as it is told to stop. This one first refuses new sessions and lets
    the open episodes go on for a while; sockets that are left then are closed with 1012. A second signal cuts
    the while short.
    """

    def __init__(self, config: uvicorn.Config, leases: Leases, drain_seconds: float) -> None:
        super().__init__(config)
        self._leases = leases
        self._drain_seconds = drain_seconds
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._until is None:
            self._until = time.monotonic() + self._drain_seconds
            self._leases.draining = True
            self.should_exit = False

    async def on_tick(self, counter: int) -> bool:
        if self._until is not None and (time.monotonic() >= self._until or not self._leases.playing()):
            self.should_exit = True
        return await super().on_tick(counter)
