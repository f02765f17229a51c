"""The two answers by which OpenEnv's own conformance check tells what kind of server it talks to."""

from typing import Any

VERSION = "1.0.0"  # of the profile openenv-http that is spoken here


def describe(paths: list[str]) -> dict[str, Any]:
    """A minimal OpenAPI document. It lists no /reset: an episode exists on the WebSocket only."""
    listed: dict[str, Any] = {path: {} for path in paths}
    return {
        "openapi": "3.1.0",
        "info": {"title": "coevolve-environments", "version": VERSION},
        "paths": listed,
    }


def refuse_call(identifier: Any) -> dict[str, Any]:
    """JSON-RPC's answer to every MCP call: environments here offer no tools over MCP."""
    error = {"code": -32601, "message": "no tools are offered over MCP; open a session at /ws"}
    return {"jsonrpc": "2.0", "id": identifier, "error": error}
