"""The ASGI application: every environment at /envs/<name>, and the routes of the whole server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from coevolve_environments.processes.child_pool import ChildFault
from coevolve_environments.protocol import BadRequest, CapacityReached, NotSupported
from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server.bearer_token import RequireToken
from coevolve_environments.server.data_routes import data_routes
from coevolve_environments.server.operator_routes import operator_routes
from coevolve_environments.server.session import serve_session
from coevolve_environments.server.session_socket import SessionSocket
from coevolve_environments.server.task_routes import task_routes
from coevolve_environments.sessions.gauges import server_gauges
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Leases
from coevolve_environments.sessions.metrics import Metrics
from coevolve_environments.sessions.timeouts import TimeoutSettings


def create_app(
    built: BuiltEnvironments, *, capacity: int, idle_seconds: float, token: str | None
) -> Starlette:
    """
    Args:
        capacity: sessions per environment, >= 1.
        idle_seconds: default time without messages after which a session ends.
        token: bearer token of all routes except /health and /metrics, which expose no task and no holder;
            without one the data routes are closed.
    """
    leases, metrics = Leases(), Metrics()
    hosts = {
        name: HostedEnvironment(
            environment,
            capacity,
            built.timeouts.get(name, TimeoutSettings()).resolve(environment, idle_seconds),
            leases,
            metrics.for_environment(name),
        )
        for name, environment in built.environments.items()
    }
    metrics.watch(lambda: server_gauges(hosts))

    async def health(_: Request) -> Response:
        body = {
            "status": "draining" if leases.draining else "healthy",
            "environments": {name: _health(host) for name, host in hosts.items()},
            "unavailable": built.unavailable,
        }
        return JSONResponse(body, 503 if leases.draining else 200)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for host in hosts.values():
            host.close()

    mounts = [Mount(f"/envs/{name}", routes=_routes(host, token)) for name, host in hosts.items()]
    app = Starlette(
        routes=[Route("/health", health), *operator_routes(leases, metrics), *mounts],
        middleware=[Middleware(RequireToken, token=token), Middleware(SessionRoutes, hosts=hosts)],
        exception_handlers={
            BadRequest: _error_response(400),
            NotSupported: _error_response(404),
            HTTPException: _http_error,
            # Retryable: an unfinished draw continues where it stopped.
            CapacityReached: _error_response(503),
            ChildFault: _error_response(503),
            TimeoutError: _error_response(504),
            Exception: _server_error,
        },
        lifespan=lifespan,
    )
    app.state.leases = leases
    return app


class SessionRoutes:
    """ASGI middleware that serves /envs/<name>/ws without the cost of Starlette's router."""

    def __init__(self, app: ASGIApp, hosts: Mapping[str, HostedEnvironment]) -> None:
        self._app = app
        self._hosts = {f"/envs/{name}/ws": host for name, host in hosts.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and (host := self._hosts.get(scope["path"])) is not None:
            await serve_session(SessionSocket(receive, send), host)
        else:
            await self._app(scope, receive, send)


def _routes(host: HostedEnvironment, token: str | None) -> list[BaseRoute]:
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "healthy", **_health(host)})

    return [
        Route("/health", health),
        *data_routes(host, has_token=token is not None),
        *task_routes(host),
    ]


def _health(host: HostedEnvironment) -> dict[str, float]:
    return {
        "sessions": host.session_count,
        "capacity": host.capacity,
        "call_seconds": host.timeouts.call_seconds,
    }


def _error_response(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def respond(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, status)

    return respond


async def _server_error(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": f"{type(error).__name__}: {error}"}, 500)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code)
