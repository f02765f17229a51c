"""Bearer token check for all routes except /health and /metrics."""

import hmac

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_PUBLIC = ("/health", "/metrics")


class RequireToken:
    """ASGI middleware. Rejects a WebSocket without the token in the handshake (HTTP 403)."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._expected is None or scope["type"] == "lifespan" or scope["path"] in _PUBLIC:
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("authorization", "").encode()
        if hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4401})
        else:
            body = {"detail": "a bearer token is required"}
            await JSONResponse(body, 401, {"www-authenticate": "Bearer"})(scope, receive, send)
