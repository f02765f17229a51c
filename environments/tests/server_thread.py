"""Runs a server in a thread of the test process, for tests that change its internals."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from coevolve_environments.server.environment_server import EnvironmentServer


@contextmanager
def server_thread(app: web.Application) -> Iterator[int]:
    """Yields the port of a server with this application."""
    started: list[tuple[EnvironmentServer, asyncio.AbstractEventLoop]] = []

    async def run() -> None:
        server = EnvironmentServer(app, "127.0.0.1", 0, drain_seconds=0)
        started.append((server, asyncio.get_running_loop()))
        await server.run()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    while not started or started[0][0].port == 0:
        assert thread.is_alive(), "the server has exited"
        time.sleep(0.01)
    server, loop = started[0]
    try:
        yield server.port
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join()
