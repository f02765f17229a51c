"""JSON schemas of what crosses a session's socket: the same for every environment."""

from typing import Any

_MESSAGE = {
    "type": "object",
    "properties": {"role": {"enum": ["system", "user", "tool"]}, "content": {"type": "string"}},
    "required": ["role", "content"],
}

WIRE_SCHEMA: dict[str, Any] = {
    "action": {
        "type": "object",
        "properties": {"content": {"type": "string", "description": "what the assistant says"}},
        "required": ["content"],
    },
    "observation": {
        "type": "object",
        "properties": {
            "messages": {"type": "array", "items": _MESSAGE, "description": "the new messages only"},
            "tools": {
                "type": "array",
                "items": {"type": "object"},
                "description": "present when they change",
            },
            "info": {
                "type": "object",
                "properties": {
                    "task_id": {"type": "string"},
                    "env": {"type": "string"},
                    "split": {"type": "string"},
                    "turn": {"type": "integer", "minimum": 0},
                    "score": {"type": "number", "description": "so far, in [0, 1], where there is one"},
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
