"""Natural spellings of an action that is one text: code, a query or a command.

Each environment accepts only spellings from which its action follows. An answer with two candidates stays as
it is, and fails as the text that it is.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.thinking import after_thinking

TAGGED = re.compile(r"<tool_?call>(.*?)(?:</tool_?call>|\Z)", re.IGNORECASE | re.DOTALL)  # Qwen, Hermes
PREFIX = re.compile(r"<\|python_tag\|>|\[TOOL_CALLS\]")  # Llama, Mistral
FENCED = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"`([^`]+)`")
_NAMES = ("name", "function")
_ARGUMENTS = ("arguments", "parameters")


@dataclass(frozen=True)
class JsonCall:
    name: str
    arguments: dict[str, Any]


def action_text(content: str, arguments: Collection[str], names: Collection[str] = ()) -> str:
    """Returns the action of an answer: after `Action:`, in its only fence, in backticks, in its JSON call.

    Args:
        arguments: names of an argument that is the action, if it is the call's only one.
        names: names of calls without arguments that are actions themselves.
    """
    answer = bare_answer(content)
    if (call := only_call(answer)) is not None:
        values = list(call.arguments.items())
        if len(values) == 1 and values[0][0] in arguments and isinstance(values[0][1], str):
            return values[0][1].strip()
        return call.name if not values and call.name in names else answer
    fenced = FENCED.findall(answer)
    if len(fenced) == 1:
        return str(fenced[0]).strip()
    quoted = _QUOTED.fullmatch(answer)
    return quoted[1].strip() if quoted else answer


def bare_answer(content: str) -> str:
    """Returns the text after thinking and the last `Action:`, and after the tag of Llama or Mistral."""
    return PREFIX.split(action_of(after_thinking(content)))[-1].strip()


def only_call(answer: str) -> JsonCall | None:
    """Returns the only call of an answer that is JSON, alone, in a tag or in a fence; None for others."""
    tagged = TAGGED.findall(answer)
    parts = tagged or FENCED.findall(answer) or [answer]
    if len(parts) != 1 or not parts[0].lstrip().startswith(("{", "[")):
        return None
    calls = [
        call
        for value in json_values(parts[0].strip())
        for call in (value if isinstance(value, list) else [value])
    ]
    return read_call(calls[0]) if len(calls) == 1 else None


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
    """Reads `{"name": ..., "arguments": {...}}` and its variants; None for another value."""
    if not isinstance(call, dict):
        return None
    if isinstance(nested := call.get("function"), dict):  # OpenAI's form
        call = nested
    name = next((call[key] for key in _NAMES if isinstance(call.get(key), str)), None)
    arguments: Any = next((call[key] for key in _ARGUMENTS if key in call), {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return None
    return JsonCall(name, arguments) if name is not None and isinstance(arguments, dict) else None
