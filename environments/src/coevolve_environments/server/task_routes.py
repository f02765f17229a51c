"""OpenEnv's public routes of one environment: metadata, schemas, splits, and tasks without gold."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from coevolve_environments.protocol import SPLITS, BadRequest, Environment, Json, Split, TaskRecord
from coevolve_environments.server.openenv_schema import MESSAGE_SCHEMAS, mcp_reply, openapi_document
from coevolve_environments.server.request_body import integer_field, read_body, split_field
from coevolve_environments.sessions.hosted_environment import HostedEnvironment

LISTING_SECONDS = 120.0
"""Timeout of a listing; the first one may start the environment's engine."""


def task_routes(host: HostedEnvironment) -> list[BaseRoute]:
    environment = host.environment

    async def public(split: Split) -> list[Json]:
        return await host.call_in_thread(lambda: _public(environment, split), LISTING_SECONDS)

    def static(body: Any) -> Callable[[Request], Response]:
        return lambda _: JSONResponse(body)

    async def num_tasks(request: Request) -> Response:
        split = split_field(await read_body(request, {"split"}))
        return JSONResponse(
            {
                "num_tasks": await host.call_in_thread(
                    lambda: len(environment.published(split)), LISTING_SECONDS
                )
            }
        )

    async def tasks(request: Request) -> Response:
        split = split_field(await read_body(request, {"split"}))
        return JSONResponse({"tasks": await public(split), "env_name": environment.name})

    async def task(request: Request) -> Response:
        body = await read_body(request, {"split", "index"})
        listed = await public(split_field(body))
        index = integer_field(body, "index")
        if not 0 <= index < len(listed):
            raise BadRequest(f"`index` must be in 0..{len(listed) - 1}, got {index}")
        return JSONResponse({"task": listed[index]})

    async def task_range(request: Request) -> Response:
        body = await read_body(request, {"split", "start", "stop"})
        listed = await public(split_field(body))
        start, stop = integer_field(body, "start", 0), integer_field(body, "stop", len(listed))
        return JSONResponse({"tasks": listed[max(start, 0) : max(stop, 0)]})

    async def call_tool(request: Request) -> Response:
        body = await read_body(request, None)
        return JSONResponse(mcp_reply(body.get("id")))

    name = environment.name
    paths = ["/health", "/metadata", "/schema", "/list_environments", f"/{name}/splits", f"/{name}/tasks"]
    return [
        Route("/openapi.json", static(openapi_document(paths))),
        Route("/mcp", call_tool, methods=["POST"]),
        Route("/metadata", static({"name": name, "description": environment.description})),
        Route("/schema", static(MESSAGE_SCHEMAS)),
        Route("/list_environments", static([name])),
        Route(f"/{name}/splits", static([_split(split) for split in SPLITS])),
        Route(f"/{name}/num_tasks", num_tasks, methods=["POST"]),
        Route(f"/{name}/tasks", tasks, methods=["POST"]),
        Route(f"/{name}/task", task, methods=["POST"]),
        Route(f"/{name}/task_range", task_range, methods=["POST"]),
    ]


def _split(split: Split) -> Json:
    return {"name": split, "type": "train" if split == "train" else "test"}


def _public(environment: Environment, split: Split) -> list[Json]:
    return [_public_task(record) for record in environment.published(split)]


def _public_task(record: TaskRecord) -> Json:
    return {
        "task_id": record.task_id,
        "split": record.split,
        "goal": record.goal,
        "features": record.features,
    }
