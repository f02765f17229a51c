"""Descriptions of the server for OpenEnv: OpenAPI document, message schemas, reply to MCP calls."""

from typing import Any

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
