"""Reads rows of JSON lines and checks their fields; every error has the line and the field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..failures import bad_input


def json_lines(path: Path, name: str = "dataset") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every object of a .jsonl file with its location for error messages."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            location = f"{name} line {number}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise bad_input(location, f"invalid JSON ({error})", "one JSON object per line") from None
            if not isinstance(row, dict):
                raise bad_input(location, type(row).__name__, "an object")
            yield location, row


def check_messages(location: str, trajectory: Any) -> list[Any]:
    messages = trajectory.get("messages") if isinstance(trajectory, dict) else None
    if not isinstance(messages, list) or not messages:
        raise bad_input(f"{location}.messages", describe(messages), "a list of messages")
    for index, message in enumerate(messages):
        for name in ("role", "content"):
            if not isinstance(message, dict) or not isinstance(message.get(name), str):
                raise bad_input(f"{location}.messages[{index}].{name}", describe(message), "a string")
        _check_action(f"{location}.messages[{index}]", message)
    return messages


def check_turns(location: str, turns: Any, vocabulary_size: int) -> list[Any]:
    """Checks the `turns` of a trajectory, whose token ids must be below `vocabulary_size`."""
    if not isinstance(turns, list):
        raise bad_input(f"{location}.turns", type(turns).__name__, "a list")
    for index, turn in enumerate(turns):
        for name in ("prompt_token_ids", "token_ids"):
            ids = turn.get(name) if isinstance(turn, dict) else None
            if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < vocabulary_size for i in ids):
                expected = f"a list of ids below {vocabulary_size}"
                raise bad_input(f"{location}.turns[{index}].{name}", describe(ids), expected)
        _check_action(f"{location}.turns[{index}]", turn)
    return turns


def _check_action(location: str, answer: dict[str, Any]) -> None:
    if not isinstance(answer.get("action", ""), str):
        raise bad_input(f"{location}.action", repr(answer["action"]), "a string, or nothing")


def describe(value: Any) -> str:
    """Returns a short description of a wrong value for an error message."""
    if isinstance(value, dict):
        return f"an object with {', '.join(sorted(value)) or 'no key'}"
    return f"a list of {len(value)}" if isinstance(value, list) else repr(value)
