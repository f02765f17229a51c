"""Finds the calls in a natural answer: behind a sentence, in a code fence, in a tag, as JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.thinking import after_thinking

_TAGGED = re.compile(r"<tool_?call>(.*?)(?:</tool_?call>|\Z)", re.IGNORECASE | re.DOTALL)  # Qwen, Hermes
_PREFIX = re.compile(r"<\|python_tag\|>|\[TOOL_CALLS\]")  # Llama, Mistral
_FENCED = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_LIST_START = re.compile(r"(?:(?<=\s)|(?<=:)|^)[\[{]", re.MULTILINE)
_MAX_STARTS = 20
_NAMES = ("name", "function")
_ARGUMENTS = ("arguments", "parameters")


def candidates(text: str) -> Iterator[str]:
    """Yields Python sources that may be the calls of an answer, the likeliest first.

    Each is the source of a list, of its elements, or of one call per line. A part of an answer that ends with
    calls counts only at the end of the text, because a sentence about a call is no call.
    """
    answer = action_of(after_thinking(text))
    if tagged := _TAGGED.findall(answer):
        yield "\n".join(_source(part) for part in tagged)
        return
    if _PREFIX.search(answer):
        answer = _PREFIX.split(answer)[-1]
    if fenced := _FENCED.findall(answer):
        yield "\n".join(_source(part) for part in fenced)
        return
    bare = answer.strip("`\n ")
    yield _source(bare)
    for start in list(_LIST_START.finditer(bare))[:_MAX_STARTS]:
        if start.start() > 0:
            yield _source(bare[start.start() :])


def _source(part: str) -> str:
    """Returns calls that are written as JSON as Python source; other text unchanged."""
    stripped = part.strip()
    if not stripped.startswith(("{", "[{")):
        return stripped
    calls = [
        call for value in _json_values(stripped) for call in (value if isinstance(value, list) else [value])
    ]
    sources = [_python_call(call) for call in calls]
    return f"[{', '.join(source for source in sources if source)}]" if all(sources) and sources else stripped


def _json_values(text: str) -> Iterator[Any]:
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


def _python_call(call: object) -> str | None:
    """Returns the Python source of `{"name": ..., "arguments": {...}}`, or None for another value."""
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
    if name is None or not isinstance(arguments, dict):
        return None
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
