"""The server: every environment mounted at /envs/<name>, and one health route above them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from coevolve_environments.processes.child_pool import ChildFault
from coevolve_environments.protocol import BadRequest, CapacityReached, NotSupported
from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server.bearer_token import RequireToken
from coevolve_environments.server.data_routes import data_routes
from coevolve_environments.server.operator_routes import hosting_routes
from coevolve_environments.server.session_routes import SessionRoutes
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
        idle_seconds: a session whose client is silent for longer is ended, where no setting says otherwise.
        token: bearer token of every route but /health and /metrics, which tell of no task and no holder; None
            also closes the data routes.
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
            "environments": {name: _load(host) for name, host in hosts.items()},
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
        routes=[Route("/health", health), *hosting_routes(leases, metrics), *mounts],
        middleware=[Middleware(RequireToken, token=token), Middleware(SessionRoutes, hosts=hosts)],
        exception_handlers={
            BadRequest: _told(400),
            NotSupported: _told(404),
            HTTPException: _http_error,
            # May go through later: a draw that is not done goes on where it stopped.
            CapacityReached: _told(503),
            ChildFault: _told(503),
            TimeoutError: _told(504),
            Exception: _fault,
        },
        lifespan=lifespan,
    )
    app.state.leases = leases
    return app


def _routes(host: HostedEnvironment, token: str | None) -> list[BaseRoute]:
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "healthy", **_load(host)})

    return [
        Route("/health", health),
        *data_routes(host, open_to_callers=token is not None),
        *task_routes(host),
    ]


def _load(host: HostedEnvironment) -> dict[str, float]:
    return {
        "sessions": host.session_count,
        "capacity": host.capacity,
        "call_seconds": host.timeouts.call_seconds,
    }


def _told(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def told(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, status)

    return told


async def _fault(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": f"{type(error).__name__}: {error}"}, 500)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code)
