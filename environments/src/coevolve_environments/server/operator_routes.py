"""Routes for operators: the leases and the metrics of the whole server."""

import asyncio

from aiohttp import web

from coevolve_environments.server.json_bodies import read_body, text_field
from coevolve_environments.server.responses import respond
from coevolve_environments.sessions.leases import Leases
from coevolve_environments.sessions.metrics import CONTENT_TYPE, Metrics


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
