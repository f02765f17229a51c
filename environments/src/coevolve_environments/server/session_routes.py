"""The way of a WebSocket to its session, past Starlette's routing of everything else."""

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from coevolve_environments.server.session import serve_session
from coevolve_environments.server.session_socket import SessionSocket
from coevolve_environments.sessions.hosted_environment import HostedEnvironment


class SessionRoutes:
    """ASGI middleware: serves /envs/<name>/ws of every host and passes on the rest."""

    def __init__(self, app: ASGIApp, hosts: Mapping[str, HostedEnvironment]) -> None:
        self._app = app
        self._hosts = {f"/envs/{name}/ws": host for name, host in hosts.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" and (host := self._hosts.get(scope["path"])) is not None:
            await serve_session(SessionSocket(receive, send), host)
        else:
            await self._app(scope, receive, send)
