"""JSON responses, and the HTTP status of each exception."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from coevolve_environments.processes.child_pool import ChildFault
from coevolve_environments.protocol import BadRequest, CapacityReached, NotReady, NotSupported
from coevolve_environments.server.messages import encode

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_STATUS: dict[type[Exception], int] = {
    BadRequest: 400,
    NotSupported: 404,
    CapacityReached: 503,
    ChildFault: 503,
    TimeoutError: 504,
}
UNAVAILABLE = "x-coevolve-unavailable"
"""Names the environment in a 503: it cannot be hosted now, and is neither full nor draining."""
_KEPT_HEADERS = ("WWW-Authenticate", "Allow", UNAVAILABLE)


def respond(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    body = encode(data).encode()
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


@web.middleware
async def report_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Responds to every exception with `{"detail": "..."}`, and closes the socket of a failed handshake."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        headers = {name: error.headers[name] for name in _KEPT_HEADERS if name in error.headers}
        response = respond({"detail": error.text}, error.status, headers)
    except NotReady as error:
        response = respond({"detail": str(error), "ready": error.ready, "count": error.count}, 202)
    except Exception as error:
        status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
        if status == 500:
            log.exception("%s failed", request.path)
        detail = str(error) if status != 500 else f"{type(error).__name__}: {error}"
        response = respond({"detail": detail}, status)
    if "upgrade" in request.headers:
        response.force_close()
    return response
