"""The aiohttp application: every environment at /envs/<name>, and the routes of the whole server."""

import logging

from aiohttp import WSCloseCode, web

from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server.bearer_token import require_token
from coevolve_environments.server.data_routes import data_routes
from coevolve_environments.server.open_sockets import OpenSockets
from coevolve_environments.server.operator_routes import operator_routes
from coevolve_environments.server.responses import Handler, report_errors, respond
from coevolve_environments.server.session import serve_session
from coevolve_environments.server.session_socket import Disconnected, SessionSocket
from coevolve_environments.server.task_routes import task_routes
from coevolve_environments.sessions.gauges import server_gauges
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Leases
from coevolve_environments.sessions.metrics import Metrics
from coevolve_environments.sessions.timeouts import TimeoutSettings

log = logging.getLogger(__name__)

LEASES = web.AppKey("leases", Leases)


def create_app(
    built: BuiltEnvironments, *, capacity: int, idle_seconds: float, token: str | None
) -> web.Application:
    """
    Args:
        capacity: sessions per environment, >= 1.
        idle_seconds: default time without messages after which a session ends.
        token: bearer token of all routes except /health and /metrics, which expose no task and no holder;
            without one the data routes are closed.
    """
    leases, metrics, sockets = Leases(), Metrics(), OpenSockets()
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

    async def health(_: web.Request) -> web.Response:
        body = {
            "status": "draining" if leases.draining else "healthy",
            "environments": {name: _load(host) for name, host in hosts.items()},
            "unavailable": built.unavailable,
        }
        return respond(body, 503 if leases.draining else 200)

    async def close_hosts(_: web.Application) -> None:
        for host in hosts.values():
            host.close()

    # No maximum body size: the data routes limit the number of parents and actions.
    app = web.Application(middlewares=[report_errors, require_token(token)], client_max_size=0)
    app[LEASES] = leases
    app.add_routes([web.get("/health", health), *operator_routes(leases, metrics)])
    for name, host in hosts.items():
        app.add_routes(_environment_routes(f"/envs/{name}", host, sockets, has_token=token is not None))
    app.cleanup_ctx.append(sockets.sweep_while_running)
    app.on_shutdown.append(sockets.close_all)
    app.on_cleanup.append(close_hosts)
    return app


def _environment_routes(
    prefix: str, host: HostedEnvironment, sockets: OpenSockets, *, has_token: bool
) -> list[web.RouteDef]:
    async def health(_: web.Request) -> web.Response:
        return respond({"status": "healthy", **_load(host)})

    return [
        web.get(f"{prefix}/ws", _session_handler(host, sockets)),
        web.get(f"{prefix}/health", health),
        *data_routes(prefix, host, has_token=has_token),
        *task_routes(prefix, host),
    ]


def _session_handler(host: HostedEnvironment, sockets: OpenSockets) -> Handler:
    async def serve(request: web.Request) -> web.StreamResponse:
        socket = SessionSocket(request)
        await socket.open()
        with sockets.track(socket):
            code = None
            try:
                await serve_session(socket, host)
            except Disconnected:
                pass
            except Exception:
                log.exception("a session of %s failed", host.environment.name)
                code = WSCloseCode.INTERNAL_ERROR
            await socket.close(code)
        return socket.response

    return serve


def _load(host: HostedEnvironment) -> dict[str, float]:
    timeouts = host.timeouts
    return {"sessions": host.session_count, "capacity": host.capacity, "call_seconds": timeouts.call_seconds}
