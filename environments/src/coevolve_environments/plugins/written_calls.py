"""Calls of functions that are written as JSON, or with the name before the arguments.

A server may have removed special tokens, so that only the name and the arguments are left.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coevolve_environments.json_text import load_json

_NAMES = ("name", "function")
_ARGUMENTS = ("arguments", "parameters", "input", "args")  # of OpenAI, Llama, Anthropic, Google
_WITHOUT_ARGUMENTS = {*_NAMES, "id", "call_id", "type", "index"}
_NAME = r"(?:functions\.)?(?P<name>[A-Za-z_][\w.-]*)(?::\d+)?"
_BEFORE_JSON = re.compile(
    r"(?:<function=|\[TOOL_CALLS\]|<\|tool_call_begin\|>|\bto=(?=functions\.)|"  # Llama, Mistral, Kimi, GPT
    r"<\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?|"  # DeepSeek
    rf"<start_function_call>call:){_NAME}"  # FunctionGemma
    r"(?:>|\[CALL_ID\]\w*|\[ARGS\]|<\uff5ctool\u2581sep\uff5c>|```|<\|\w+\|>|commentary|json|\s)*(?=\{)"
)
_ALONE = re.compile(rf"[\s;,]*{_NAME}\s*(?=\{{)")
# Qwen3-Coder
_FUNCTION = re.compile(rf"<function={_NAME}>(?P<body>\s*(?:<parameter=.*?)?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
# GLM
_TAG = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_TAGGED_NAME = re.compile(rf"\s*{_NAME}\s*(?=<arg_key>|\Z)")
_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


@dataclass(frozen=True)
class JsonCall:
    name: str
    arguments: dict[str, Any]


class Untyped(str):
    """An argument written as bare text, by Qwen3-Coder and GLM: the function's schema has its type.

    Without a schema it is the text: `12` may be a zip code, a query or a number.
    """

    __slots__ = ()


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


def named_calls(answer: str) -> list[JsonCall]:
    """Returns the calls of an answer in one of the formats; none if it has no such call or a damaged one."""
    if functions := list(_FUNCTION.finditer(answer)):
        return [_with_texts(match["name"], _PARAMETER.findall(match["body"])) for match in functions]
    tags = [(_TAGGED_NAME.match(part), part) for part in _TAG.findall(answer)]
    if tags and all(name for name, _ in tags):
        return [_with_texts(name["name"], _PAIR.findall(part)) for name, part in tags if name]
    marked = [_before_json(match, answer)[0] for match in _BEFORE_JSON.finditer(answer)]
    if not marked:
        return _alone(answer.rstrip())
    return [call for call in marked if call] if all(marked) else []


def _alone(answer: str) -> list[JsonCall]:
    """Returns the calls of an answer that consists of names and arguments alone."""
    calls: list[JsonCall] = []
    position = 0
    while position < len(answer):
        match = _ALONE.match(answer, position)
        call, position = _before_json(match, answer) if match else (None, position)
        if call is None:
            return []
        calls.append(call)
    return calls


def _before_json(match: re.Match[str], answer: str) -> tuple[JsonCall | None, int]:
    """Returns the call and the end of its arguments."""
    text = answer[match.end() :]
    if match[0].startswith("<start_function_call>"):
        text = _unescaped(text)
    try:
        arguments, length = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, match.end()
    return JsonCall(match["name"], arguments), match.end() + length


def _unescaped(text: str) -> str:
    """Returns FunctionGemma's arguments as JSON: there keys are bare, and texts stand between marks."""
    parts = text.split("<escape>")
    parts[::2] = [re.sub(r"([{,]\s*)([\w.-]+)(?=:)", r'\1"\2"', part) for part in parts[::2]]
    parts[1::2] = [json.dumps(part) for part in parts[1::2]]
    return "".join(parts)


def _with_texts(name: str, pairs: list[tuple[str, str]]) -> JsonCall:
    return JsonCall(name, {key.strip(): Untyped(text) for key, text in pairs})
