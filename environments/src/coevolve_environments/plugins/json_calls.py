"""Calls of functions that are written as JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coevolve_environments.json_text import load_json

_NAMES = ("name", "function")
_ARGUMENTS = ("arguments", "parameters", "input", "args")  # of OpenAI, Llama, Anthropic, Google
_WITHOUT_ARGUMENTS = {*_NAMES, "id", "call_id", "type", "index"}


@dataclass(frozen=True)
class JsonCall:
    name: str
    arguments: dict[str, Any]


def json_calls(text: str) -> list[JsonCall] | None:
    """Returns the calls of JSON values that follow each other; None if one of them is no call."""
    calls = []
    for value in json_values(text):
        for element in _elements(value):
            if (call := read_call(element)) is None:
                return None
            calls.append(call)
    return calls


def json_values(text: str) -> Iterator[Any]:
    """Yields the JSON values of a text in which they follow each other, with or without a separator."""
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield None
            return
        yield value
        while position < len(text) and text[position] in " \t\r\n;,":
            position += 1


def read_call(call: object) -> JsonCall | None:
    """Reads `{"name": ..., "arguments": {...}}`, its variants and `{<name>: {...}}`; else returns None.

    Without arguments, an unknown key may be an argument that would be lost: then it is no call.
    """
    if not isinstance(call, dict):
        return None
    if isinstance(nested := call.get("function"), dict):  # OpenAI's form
        call = nested
    name = next((call[key] for key in _NAMES if isinstance(call.get(key), str)), None)
    none: Any = {} if call.keys() <= _WITHOUT_ARGUMENTS else None
    arguments = next((call[key] for key in _ARGUMENTS if key in call), none)
    if name is None and len(call) == 1:
        [(name, arguments)] = call.items()
        name = None if name in (*_NAMES, *_ARGUMENTS) else name
    if isinstance(arguments, str):
        try:
            arguments = load_json(arguments or "{}")
        except ValueError:
            return None
    return JsonCall(name, arguments) if name is not None and isinstance(arguments, dict) else None


def _elements(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(calls := value.get("tool_calls"), list):
        return calls
    return value if isinstance(value, list) else [value]
