"""Routes for operators: the leases and the metrics of the whole server."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coevolve_environments.server.request_body import read_body, text_field
from coevolve_environments.sessions.leases import Leases
from coevolve_environments.sessions.metrics import CONTENT_TYPE, Metrics


def operator_routes(leases: Leases, metrics: Metrics) -> list[BaseRoute]:
    async def list_leases(_: Request) -> Response:
        return JSONResponse({"leases": leases.describe()})

    async def close_leases(request: Request) -> Response:
        holder = text_field(await read_body(request, {"holder"}), "holder")
        return JSONResponse({"closed": leases.close_holder(holder)})

    async def render_metrics(_: Request) -> Response:
        # in a thread, because rendering measures the children
        return Response(await asyncio.to_thread(metrics.render), media_type=CONTENT_TYPE)

    return [
        Route("/leases", list_leases),
        Route("/leases/close", close_leases, methods=["POST"]),
        Route("/metrics", render_metrics),
    ]
