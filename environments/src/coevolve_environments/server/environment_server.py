"""The server process: it runs the application until a signal, and drains the open episodes."""

import asyncio
import signal

from aiohttp import web

from coevolve_environments.server.app import LEASES

_GRACE_SECONDS = 2.0  # after the drain, for sockets to close and sessions to end their episodes
_KEEPALIVE_SECONDS = 75.0
_POLL_SECONDS = 0.1
_BACKLOG = 2048


class EnvironmentServer:
    """Drains before it stops: refuses new sessions, lets open episodes continue for some seconds, and then
    closes the remaining sockets with 1012. A second signal ends the drain at once.
    """

    def __init__(self, app: web.Application, host: str, port: int, drain_seconds: float) -> None:
        self.port = port
        """The real port once the server has started."""
        self._app = app
        self._host = host
        self._drain_seconds = drain_seconds
        self._stopped = asyncio.Event()
        self._drain: asyncio.Task[None] | None = None

    async def run(self, *, on_start: asyncio.Event | None = None) -> None:
        """
        Raises:
            OSError: the address is not available.
        """
        runner = web.AppRunner(
            self._app, access_log=None, keepalive_timeout=_KEEPALIVE_SECONDS, shutdown_timeout=_GRACE_SECONDS
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self.port, backlog=_BACKLOG).start()
            self.port = runner.addresses[0][1]
            await self._stopped.wait()
        finally:
            await runner.cleanup()

    def stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)

    def stop(self) -> None:
        """Starts the drain; the second call ends it."""
        if self._drain is not None:
            self._stopped.set()
            return
        self._app[LEASES].draining = True
        self._drain = asyncio.get_running_loop().create_task(self._end_drain())

    async def _end_drain(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._drain_seconds
        while loop.time() < deadline and self._app[LEASES].is_playing():
            await asyncio.sleep(_POLL_SECONDS)
        self._stopped.set()
