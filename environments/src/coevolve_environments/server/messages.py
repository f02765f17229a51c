"""Messages of a session as JSON text, and typed errors for invalid ones."""

import json
from typing import Any

import orjson

from coevolve_environments.json_text import parse_json
from coevolve_environments.protocol import Json
from coevolve_environments.server.session_socket import SessionSocket


class MessageRefused(Exception):
    """A message that gets a typed error and leaves the session unchanged."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_message(text: str) -> Json:
    try:
        message = parse_json(text)
    except ValueError as error:
        raise MessageRefused("INVALID_JSON", f"the message is not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("data", {}), dict):
        raise MessageRefused("VALIDATION_ERROR", "a message is an object with `type` and an object `data`")
    if message.get("type") not in ("reset", "step", "state", "close"):
        raise MessageRefused("UNKNOWN_TYPE", f"unknown message type: {message.get('type')!r}")
    return message


def encode(message: Json) -> str:
    """Returns the message as JSON. A BFCL task has 21,000 characters of functions: `json` takes 0.2 ms for
    them, `orjson` 0.03 ms.
    """
    try:
        return orjson.dumps(message).decode()
    except TypeError:  # only `json` writes lone surrogates and integers above 64 bits
        return json.dumps(message)


async def send_error(
    socket: SessionSocket, code: str, message: str, extra: dict[str, Any] | None = None
) -> None:
    await socket.send_text(
        encode({"type": "error", "data": {"message": message, "code": code, **(extra or {})}})
    )
