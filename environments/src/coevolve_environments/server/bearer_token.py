"""Bearer token check for all routes except /health and /metrics."""

import hmac

from aiohttp import web
from aiohttp.typedefs import Middleware

from coevolve_environments.server.responses import Handler

_PUBLIC = ("/health", "/metrics")


def require_token(token: str | None) -> Middleware:
    """Returns a middleware. It rejects requests with 401, and WebSockets in the handshake with 403."""
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("authorization", "").encode()
        if token is None or request.path in _PUBLIC or hmac.compare_digest(given, expected):
            return await handler(request)
        detail = "a bearer token is required"
        if "upgrade" in request.headers:
            raise web.HTTPForbidden(text=detail)
        raise web.HTTPUnauthorized(text=detail, headers={"WWW-Authenticate": "Bearer"})

    return check
