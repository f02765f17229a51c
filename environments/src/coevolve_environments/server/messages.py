"""The messages of a session: how one is read, and how one is refused."""

import json
from typing import Any

from coevolve_environments.protocol import Json
from coevolve_environments.server.encoding import encode
from coevolve_environments.server.session_socket import SessionSocket


class MessageRefused(Exception):
    """A message that gets a typed error and leaves the session as it was."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_message(text: str) -> Json:
    try:
        message = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MessageRefused("INVALID_JSON", f"not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("data", {}), dict):
        raise MessageRefused("VALIDATION_ERROR", "a message is an object with `type` and an object `data`")
    if message.get("type") not in ("reset", "step", "state", "close"):
        raise MessageRefused("UNKNOWN_TYPE", f"unknown message type: {message.get('type')!r}")
    return message


async def send_error(
    socket: SessionSocket, code: str, message: str, extra: dict[str, Any] | None = None
) -> None:
    await socket.send_text(
        encode({"type": "error", "data": {"message": message, "code": code, **(extra or {})}})
    )
