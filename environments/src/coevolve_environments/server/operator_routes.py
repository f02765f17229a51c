"""Routes of the server as a whole: its leases and its metrics."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coevolve_environments.server.request_body import read_body, text_field
from coevolve_environments.sessions.leases import Leases
from coevolve_environments.sessions.metrics import CONTENT_TYPE, Metrics


def hosting_routes(leases: Leases, metrics: Metrics) -> list[BaseRoute]:
    async def listed(_: Request) -> Response:
        return JSONResponse({"leases": leases.describe()})

    async def close(request: Request) -> Response:
        holder = text_field(await read_body(request, {"holder"}), "holder")
        return JSONResponse({"closed": leases.close_holder(holder)})

    async def rendered(_: Request) -> Response:
        # in a thread: it measures the children
        return Response(await asyncio.to_thread(metrics.render), media_type=CONTENT_TYPE)

    return [
        Route("/leases", listed),
        Route("/leases/close", close, methods=["POST"]),
        Route("/metrics", rendered),
    ]
