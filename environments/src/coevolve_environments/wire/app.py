"""The server: every environment mounted at /envs/<name>, and one health route above them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket

from coevolve_environments.hosting.host import Host
from coevolve_environments.protocol import BadRequest, NotOffered
from coevolve_environments.registry import Built
from coevolve_environments.wire.bearer_token import RequireToken
from coevolve_environments.wire.data_routes import data_routes
from coevolve_environments.wire.session import serve_session
from coevolve_environments.wire.task_routes import task_routes


def create_app(built: Built, *, capacity: int, idle_seconds: float, token: str | None) -> Starlette:
    """
    Args:
        capacity: sessions per environment, >= 1.
        idle_seconds: a session whose client is silent for longer is ended.
        token: bearer token of every route but /health; None also closes the data routes.
    """
    hosts = {name: Host(environment, capacity) for name, environment in built.environments.items()}

    async def health(_: Request) -> Response:
        return JSONResponse(
            {
                "status": "healthy",
                "environments": {name: _load(host) for name, host in hosts.items()},
                "unavailable": built.unavailable,
            }
        )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for host in hosts.values():
            host.close()

    mounts = [
        Mount(f"/envs/{name}", routes=_routes(host, idle_seconds, token)) for name, host in hosts.items()
    ]
    return Starlette(
        routes=[Route("/health", health), *mounts],
        middleware=[Middleware(RequireToken, token=token)],
        exception_handlers={BadRequest: _bad_request, NotOffered: _not_offered, HTTPException: _http_error},
        lifespan=lifespan,
    )


def _routes(host: Host, idle_seconds: float, token: str | None) -> list[BaseRoute]:
    async def session(socket: WebSocket) -> None:
        await serve_session(socket, host, idle_seconds)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "healthy", **_load(host)})

    return [
        WebSocketRoute("/ws", session),
        Route("/health", health),
        *data_routes(host, open_to_callers=token is not None),
        *task_routes(host.environment),
    ]


def _load(host: Host) -> dict[str, int]:
    return {"sessions": host.sessions, "capacity": host.capacity}


async def _bad_request(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 400)


async def _not_offered(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 404)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code)
