"""OpenEnv's public routes of one environment: metadata, schemas, splits, and tasks without gold."""

from typing import Any

from aiohttp import web

from coevolve_environments.protocol import SPLITS, BadRequest, Environment, Json, Split
from coevolve_environments.server.json_bodies import integer_field, read_body, split_field
from coevolve_environments.server.responses import Handler, respond
from coevolve_environments.sessions.hosted_environment import HostedEnvironment

LISTING_SECONDS = 120.0
"""Timeout of a listing; the first one may start the environment's engine."""
PROFILE_VERSION = "1.0.0"  # of OpenEnv's profile openenv-http
_MESSAGE = {
    "type": "object",
    "properties": {"role": {"enum": ["system", "user", "tool"]}, "content": {"type": "string"}},
    "required": ["role", "content"],
}
MESSAGE_SCHEMAS: dict[str, Any] = {
    "action": {
        "type": "object",
        "properties": {"content": {"type": "string", "description": "text of the assistant"}},
        "required": ["content"],
    },
    "observation": {
        "type": "object",
        "properties": {
            "messages": {"type": "array", "items": _MESSAGE, "description": "the new messages only"},
            "tools": {
                "type": "array",
                "items": {"type": "object"},
                "description": "only when they change",
            },
            "info": {
                "type": "object",
                "properties": {
                    "task_id": {"type": "string"},
                    "env": {"type": "string"},
                    "split": {"type": "string"},
                    "turn": {"type": "integer", "minimum": 0},
                    "score": {"type": "number", "description": "score so far in [0, 1], if any"},
                },
            },
        },
        "required": ["messages", "info"],
    },
    "state": {
        "type": "object",
        "properties": {
            "episode_id": {"type": ["string", "null"]},
            "step_count": {"type": "integer", "minimum": 0},
            "task_id": {"type": ["string", "null"]},
            "done": {"type": "boolean"},
        },
    },
}
"""JSON schemas of the messages on a session's socket, the same for every environment."""


def task_routes(prefix: str, host: HostedEnvironment) -> list[web.RouteDef]:
    environment = host.environment

    async def public(split: Split) -> list[Json]:
        return await host.call_in_thread(lambda: _public(environment, split), LISTING_SECONDS)

    def static(body: Any) -> Handler:
        async def send(_: web.Request) -> web.Response:
            return respond(body)

        return send

    async def num_tasks(request: web.Request) -> web.Response:
        split = split_field(await read_body(request, {"split"}))
        count = await host.call_in_thread(lambda: len(environment.published(split)), LISTING_SECONDS)
        return respond({"num_tasks": count})

    async def tasks(request: web.Request) -> web.Response:
        split = split_field(await read_body(request, {"split"}))
        return respond({"tasks": await public(split), "env_name": environment.name})

    async def task(request: web.Request) -> web.Response:
        body = await read_body(request, {"split", "index"})
        listed = await public(split_field(body))
        index = integer_field(body, "index")
        if not 0 <= index < len(listed):
            raise BadRequest(f"`index` must be in 0..{len(listed) - 1}, got {index}")
        return respond({"task": listed[index]})

    async def task_range(request: web.Request) -> web.Response:
        body = await read_body(request, {"split", "start", "stop"})
        listed = await public(split_field(body))
        start, stop = integer_field(body, "start", 0), integer_field(body, "stop", len(listed))
        return respond({"tasks": listed[max(start, 0) : max(stop, 0)]})

    async def call_tool(request: web.Request) -> web.Response:
        body = await read_body(request, None)
        return respond(mcp_reply(body.get("id")))

    name = environment.name
    paths = ["/health", "/metadata", "/schema", "/list_environments", f"/{name}/splits", f"/{name}/tasks"]
    return [
        web.get(f"{prefix}/openapi.json", static(openapi_document(paths))),
        web.post(f"{prefix}/mcp", call_tool),
        web.get(f"{prefix}/metadata", static({"name": name, "description": environment.description})),
        web.get(f"{prefix}/schema", static(MESSAGE_SCHEMAS)),
        web.get(f"{prefix}/list_environments", static([name])),
        web.get(f"{prefix}/{name}/splits", static([_split(split) for split in SPLITS])),
        web.post(f"{prefix}/{name}/num_tasks", num_tasks),
        web.post(f"{prefix}/{name}/tasks", tasks),
        web.post(f"{prefix}/{name}/task", task),
        web.post(f"{prefix}/{name}/task_range", task_range),
    ]


def _split(split: Split) -> Json:
    return {"name": split, "type": "train" if split == "train" else "test"}


def _public(environment: Environment, split: Split) -> list[Json]:
    """Returns the published tasks without their gold."""
    shown = ("task_id", "split", "goal", "features")
    return [{name: getattr(record, name) for name in shown} for record in environment.published(split)]


def openapi_document(paths: list[str]) -> dict[str, Any]:
    """Returns a minimal OpenAPI document. It lists no /reset: episodes exist only on the WebSocket."""
    listed: dict[str, Any] = {path: {} for path in paths}
    return {
        "openapi": "3.1.0",
        "info": {"title": "coevolve-environments", "version": PROFILE_VERSION},
        "paths": listed,
    }


def mcp_reply(identifier: Any) -> dict[str, Any]:
    """Returns the JSON-RPC error for every MCP call, because environments here offer no tools over MCP."""
    error = {"code": -32601, "message": "no tools are offered over MCP; open a session at /ws"}
    return {"jsonrpc": "2.0", "id": identifier, "error": error}
