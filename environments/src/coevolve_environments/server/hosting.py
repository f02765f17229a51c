"""The hosted environments and their routes. An operator's own can be replaced while the server runs."""

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web

from coevolve_environments.protocol import Environment, Unavailable
from coevolve_environments.registry import BuiltEnvironments, Plugin
from coevolve_environments.server.responses import UNAVAILABLE, Handler, respond
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Leases

log = logging.getLogger(__name__)

Routes = dict[tuple[str, str], Handler]
"""The handlers of one environment by method and path."""


class Hosting:
    """Forwards each request for /envs/<name> to the environment that has the name now."""

    def __init__(
        self,
        built: BuiltEnvironments,
        leases: Leases,
        host: Callable[[Environment], HostedEnvironment],
        routes_of: Callable[[HostedEnvironment], list[web.RouteDef]],
    ) -> None:
        self.unavailable = built.unavailable
        self.hosts: dict[str, HostedEnvironment] = {}
        self._plugins = built.plugins
        self._missing = built.missing
        self._leases = leases
        self._host = host
        self._routes_of = routes_of
        self._routes: dict[str, Routes] = {}
        self._reloading = asyncio.Lock()
        for environment in built.environments.values():
            self._add(environment)

    def routes(self) -> list[web.RouteDef]:
        return [web.route(method, "/envs/{name}/{rest:.*}", self._forward) for method in ("GET", "POST")]

    def changed(self) -> list[str]:
        """Returns the names of the environments whose file differs from what is loaded."""
        return [plugin.name for plugin in self._plugins.values() if plugin.has_changed]

    async def health_of(self, request: web.Request) -> web.Response:
        """Responds 503 while an environment cannot be hosted here, so a client can wait until it can."""
        name = request.match_info["name"]
        if name not in self.hosts:
            raise self._refusal(name)
        return respond({"status": "healthy"})

    def broken(self) -> list[str]:
        """Returns the names of the operator's environments that cannot be loaded."""
        return [name for name in self._plugins if name in self.unavailable]

    async def reload(self) -> list[str]:
        """Loads every changed file again and returns the names of its environments. Their open sessions end;
        those of other environments go on. An environment whose file is broken now is unavailable.
        """
        async with self._reloading:
            return [plugin.name for plugin in self._plugins.values() if await self._reload(plugin)]

    async def host_installed(self) -> list[str]:
        """Hosts the environments whose needs were missing and are installed now, and returns their names."""
        async with self._reloading:
            again = {name: plugin.load for name, plugin in self._plugins.items() if name in self.unavailable}
            return [name for name, make in {**again, **self._missing}.items() if await self._make(name, make)]

    def close(self) -> None:
        for host in self.hosts.values():
            host.close()

    async def _reload(self, plugin: Plugin) -> bool:
        if not plugin.has_changed:
            return False
        name = plugin.name
        old = self.hosts.pop(name, None)
        self.unavailable[name] = "its file is being loaded"
        if old is not None:
            self._leases.close_environment(name)
            await asyncio.to_thread(old.close)
        if await self._make(name, plugin.load):
            log.info("%s: loaded again from %s", name, plugin.path)
        else:
            log.error("%s cannot be loaded again: %s", name, self.unavailable[name])
        return True

    async def _make(self, name: str, make: Callable[[], Environment]) -> bool:
        """Hosts an unavailable environment, or stores why it still is unavailable."""
        try:
            environment = await asyncio.to_thread(make)
        except (Unavailable, ValueError) as error:
            self.unavailable[name] = str(error)
            return False
        self._add(environment)
        self._missing.pop(name, None)
        del self.unavailable[name]
        return True

    def _refusal(self, name: str) -> web.HTTPException:
        if name not in self.unavailable:
            return web.HTTPNotFound()
        return web.HTTPServiceUnavailable(text=self.unavailable[name], headers={UNAVAILABLE: name})

    def _add(self, environment: Environment) -> None:
        host = self._host(environment)
        self.hosts[environment.name] = host
        routes = self._routes_of(host)
        self._routes[environment.name] = {(route.method, route.path): route.handler for route in routes}

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in self.hosts:
            raise self._refusal(name)
        handlers = self._routes[name]
        handler = handlers.get((request.method, request.path))
        if handler is None:
            allowed = [method for method, path in handlers if path == request.path]
            raise web.HTTPMethodNotAllowed(request.method, allowed) if allowed else web.HTTPNotFound
        return await handler(request)
