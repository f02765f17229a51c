"""The aiohttp application: every environment at /envs/<name>, the server's routes, its bearer token."""

import asyncio
import hmac
import logging
from collections.abc import Iterable, Mapping

import psutil
from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Middleware

from coevolve_environments.processes.child_pool import usage_by_pool
from coevolve_environments.protocol import Environment
from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server.data_routes import data_routes
from coevolve_environments.server.hosting import Hosting
from coevolve_environments.server.json_bodies import read_body, text_field
from coevolve_environments.server.responses import Handler, report_errors, respond
from coevolve_environments.server.session import serve_session
from coevolve_environments.server.session_socket import Disconnected, OpenSockets, SessionSocket
from coevolve_environments.server.task_routes import task_routes
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Leases, TimeoutSettings
from coevolve_environments.sessions.metrics import CONTENT_TYPE, Gauge, Metrics

log = logging.getLogger(__name__)

LEASES = web.AppKey("leases", Leases)
_PUBLIC = ("/health", "/metrics")


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

    def host(environment: Environment) -> HostedEnvironment:
        timeouts = built.timeouts.get(environment.name, TimeoutSettings())
        return HostedEnvironment(
            environment,
            capacity,
            timeouts.resolve(environment, idle_seconds),
            leases,
            metrics.for_environment(environment.name),
        )

    def routes_of(host: HostedEnvironment) -> list[web.RouteDef]:
        prefix = f"/envs/{host.environment.name}"
        return _environment_routes(prefix, host, sockets, has_token=token is not None)

    hosting = Hosting(built, leases, host, routes_of)
    metrics.watch(lambda: server_gauges(hosting.hosts))

    async def health(_: web.Request) -> web.Response:
        body = {
            "status": "draining" if leases.draining else "healthy",
            "environments": {name: _load(host) for name, host in hosting.hosts.items()},
            "unavailable": hosting.unavailable,
            "broken": hosting.broken(),
            "changed": hosting.changed(),
        }
        return respond(body, 503 if leases.draining else 200)

    async def reload(_: web.Request) -> web.Response:
        reloaded = await hosting.reload()
        installed = await hosting.host_installed()
        broken = {name: hosting.unavailable[name] for name in hosting.broken()}
        return respond({"reloaded": reloaded, "installed": installed, "broken": broken})

    async def close_hosts(_: web.Application) -> None:
        hosting.close()

    # No maximum body size: the data routes limit the number of parents and actions.
    app = web.Application(middlewares=[report_errors, require_token(token)], client_max_size=0)
    app[LEASES] = leases
    app.add_routes([web.get("/health", health), web.get("/health/{name}", hosting.health_of)])
    app.add_routes([web.post("/reload", reload)])
    app.add_routes([*operator_routes(leases, metrics), *hosting.routes()])
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


def require_token(token: str | None) -> Middleware:
    """Returns a middleware. It rejects requests with 401, and WebSockets in the handshake with 403."""
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("authorization", "").encode()
        public = request.path in _PUBLIC or request.path.startswith("/health/")
        if token is None or public or hmac.compare_digest(given, expected):
            return await handler(request)
        detail = "a bearer token is required"
        if "upgrade" in request.headers:
            raise web.HTTPForbidden(text=detail)
        raise web.HTTPUnauthorized(text=detail, headers={"WWW-Authenticate": "Bearer"})

    return check


def operator_routes(leases: Leases, metrics: Metrics) -> list[web.RouteDef]:
    async def list_leases(_: web.Request) -> web.Response:
        return respond({"leases": leases.describe()})

    async def close_leases(request: web.Request) -> web.Response:
        holder = text_field(await read_body(request, {"holder"}), "holder")
        return respond({"closed": leases.close_holder(holder)})

    async def render_metrics(_: web.Request) -> web.Response:
        # in a thread, because rendering measures the children
        body = await asyncio.to_thread(metrics.render)
        return web.Response(body=body, headers={"content-type": CONTENT_TYPE})

    return [
        web.get("/leases", list_leases),
        web.post("/leases/close", close_leases),
        web.get("/metrics", render_metrics),
    ]


def server_gauges(hosts: Mapping[str, HostedEnvironment]) -> Iterable[Gauge]:
    """Yields sessions, capacity and children of each environment; memory, threads and files of the server."""
    for gauge, text, attribute in (
        ("sessions", "Open sessions", "session_count"),
        ("capacity", "Maximum number of sessions", "capacity"),
        ("stuck_calls", "Running calls past their timeout", "stuck_calls"),
    ):
        yield Gauge(gauge, text, {name: getattr(host, attribute) for name, host in hosts.items()})
    usage = usage_by_pool()
    counts: dict[str, float] = {pool: len(children) for pool, children in usage.items()}
    resident: dict[str, float] = {
        pool: sum(child.resident_bytes for child in children) for pool, children in usage.items()
    }
    yield Gauge("children", "Child processes", counts, label="pool")
    yield Gauge(
        "children_resident_bytes", "Resident bytes of children and their descendants", resident, label="pool"
    )
    server = psutil.Process()
    yield Gauge("server_resident_bytes", "Resident bytes of the server itself", server.memory_info().rss)
    yield Gauge("server_threads", "Threads of the server", server.num_threads())
    yield Gauge("server_files", "Open files and sockets of the server", server.num_fds())
