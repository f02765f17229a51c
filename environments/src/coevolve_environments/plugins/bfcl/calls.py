"""Parses `[cd(folder='document'), ls()]` as calls. Text of a model is never evaluated."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coevolve_environments.plugins.react import action_of

MAX_CALLS = 64
MAX_CHARACTERS = 20_000
_MAX_NUMBER = 10**18
_MAX_ITEMS = 1_000
# Attempts at the same task repeat many actions.
_CACHED_TEXTS = 512
_MAX_CACHED_CHARACTERS = 500


class NotCalls(ValueError):
    """The text is not a list of function calls with literal arguments."""


@dataclass(frozen=True)
class Call:
    name: str
    positional: tuple[Any, ...]
    keyword: dict[str, Any]


def parse_calls(text: str) -> list[Call]:
    """Returns the calls of an assistant message, with or without ReAct form and brackets.

    Raises:
        NotCalls: the text is anything else, or an argument is not a literal or too large.
    """
    stripped = _stripped(text)
    calls = _cached_calls(stripped) if len(stripped) <= _MAX_CACHED_CHARACTERS else _calls(stripped)
    return [Call(c.name, _copy(c.positional), _copy(c.keyword)) for c in calls]


def spelled_calls(text: str) -> list[str]:
    """Returns the calls in a normalized spelling of quotes, spaces and brackets.

    Raises:
        NotCalls: see `parse_calls`.
    """
    parse_calls(text)
    return [ast.unparse(node) for node in _elements(_stripped(text))]


def named_arguments(text: str, parameters: Sequence[str]) -> str:
    """Returns a call with all arguments named and sorted by name, so that equal calls have equal texts.

    Args:
        text: one call in normalized spelling.
        parameters: names of the function's parameters in their order.
    """
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    positional = dict(zip(parameters, node.args, strict=False))
    named = {**positional, **{argument.arg or "": argument.value for argument in node.keywords}}
    written = (
        f"{name}={ast.unparse(value)}" for name, value in sorted(named.items(), key=lambda item: item[0])
    )
    return f"{ast.unparse(node.func)}({', '.join(written)})"


def _stripped(text: str) -> str:
    stripped = action_of(text).strip("`").strip()
    if len(stripped) > MAX_CHARACTERS:
        raise NotCalls("too long")
    if stripped and "(" not in stripped and "[" not in stripped:  # prose, without parsing it
        raise NotCalls("not a call")
    return stripped


def _calls(text: str) -> tuple[Call, ...]:
    return tuple(_call(node) for node in _elements(text))


_cached_calls = lru_cache(_CACHED_TEXTS)(_calls)


def _copy(value: Any) -> Any:
    """Copies lists and dicts of a literal, because a function may keep and change its arguments."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_copy, value))
    return set(value) if isinstance(value, set) else value


def _elements(text: str) -> tuple[ast.expr, ...]:
    bracketed = text if text.startswith("[") else f"[{text}]"
    try:
        body = ast.parse(bracketed, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    if not isinstance(body, ast.List) or len(body.elts) > MAX_CALLS:
        raise NotCalls("not a list of calls")
    return tuple(body.elts)


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise NotCalls("not a call of a named function")
    keyword: dict[str, Any] = {}
    for argument in node.keywords:
        if argument.arg is None or argument.arg in keyword:
            raise NotCalls("arguments must be named once and not unpacked")
        keyword[argument.arg] = _literal(argument.value)
    return Call(node.func.id, tuple(_literal(argument) for argument in node.args), keyword)


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # the usual case
        return node.value
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise NotCalls(f"not a literal: {error}") from None
    _check_size(value)
    return value


def _check_size(value: object) -> None:
    """Rejects values that only cost time: no gold call has a longer list or a larger number."""
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise NotCalls("a number is too large")
    if isinstance(value, list | tuple | set | dict):
        if len(value) > _MAX_ITEMS:
            raise NotCalls("a list is too long")
        for item in value:
            _check_size(item)
        for item in value.values() if isinstance(value, dict) else ():
            _check_size(item)
