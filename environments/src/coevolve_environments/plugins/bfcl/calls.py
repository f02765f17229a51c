"""Parses calls such as `[cd(folder='document'), ls()]`. Text of a model is never evaluated.

A natural answer has its calls behind a sentence, in a code fence, in a tag, or as JSON.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from coevolve_environments.plugins.bfcl.candidates import Part, candidates
from coevolve_environments.plugins.bfcl.literals import MAX_CHARACTERS, NotCalls, check_size, literal
from coevolve_environments.plugins.bfcl.typed_arguments import Schemas, typed
from coevolve_environments.plugins.written_calls import JsonCall, Untyped

MAX_CALLS = 64
# Attempts at the same task repeat many actions.
_CACHED_TEXTS = 512
_MAX_CACHED_CHARACTERS = 500


@dataclass(frozen=True)
class Call:
    """A call of a function. An argument that is a call is executed first, as in the published evaluation."""

    name: str
    positional: tuple[Any, ...]
    keyword: dict[str, Any]

    def __repr__(self) -> str:
        named = (f"{name}={value!r}" for name, value in self.keyword.items())
        return f"{self.name}({', '.join([*map(repr, self.positional), *named])})"


def parse_calls(text: str, schemas: Schemas | None = None) -> list[Call]:
    """Returns the calls of an assistant message in any of the spellings of `candidates`.

    Args:
        schemas: JSON schemas of arguments by function: the types of arguments that are bare texts.

    Raises:
        NotCalls: the text is anything else, or an argument is not a literal or too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotCalls("too long")
    calls = _cached_calls(text) if len(text) <= _MAX_CACHED_CHARACTERS else _calls(text)
    return [_copy(call, schemas or {}) for call in calls]


def published_calls(text: str) -> list[Call]:
    """Returns the calls that the published evaluation reads in an answer of a model without native calls.

    It reads one Python list, whose brackets may be missing, and drops arguments without a name.

    Raises:
        NotCalls: the text is anything else, or an argument is not a literal or too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotCalls("too long")
    try:
        body = ast.parse(_bracketed(text.strip("`\n ")).strip("'"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    elements = body.elts if isinstance(body, ast.List) else [body]
    if len(elements) > MAX_CALLS:
        raise NotCalls("not a list of calls")
    return [replace(_call(_TextNames().visit(element)), positional=()) for element in elements]


class _TextNames(ast.NodeTransformer):
    """Makes texts of the names that are constants of JSON alone."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(node.id) if node.id in ("true", "false", "null") else node


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


def _calls(text: str) -> tuple[Call, ...]:
    problem = NotCalls("not a call")
    for parts in candidates(text):
        try:
            return _calls_of(parts)
        except NotCalls as error:
            problem = error
    raise problem


_cached_calls = lru_cache(_CACHED_TEXTS)(_calls)


def _calls_of(parts: Sequence[Part]) -> tuple[Call, ...]:
    calls: list[Call] = []
    for is_source, run in groupby(parts, key=lambda part: isinstance(part, str)):
        if is_source:
            calls += map(_call, _elements("\n".join(map(str, run))))
        else:
            calls += (_json_call(part) for part in run if isinstance(part, JsonCall))
    if len(calls) > MAX_CALLS:
        raise NotCalls("not a list of calls")
    return tuple(calls)


def _json_call(call: JsonCall) -> Call:
    """Returns a call without the way over Python's source, in which no argument can be named `from`."""
    if not all(map(str.isidentifier, call.name.split("."))):
        raise NotCalls("not a call of a named function")
    check_size(call.arguments)
    return Call(call.name, (), call.arguments)


def _copy(call: Call, schemas: Schemas) -> Call:
    """Copies a cached call, because a function may keep and change its arguments."""
    keyword = {
        name: typed(value, schemas.get(call.name, {}).get(name, {}))
        if isinstance(value, Untyped)
        else _copy_of(value)
        for name, value in call.keyword.items()
    }
    return Call(call.name, tuple(map(_copy_of, call.positional)), keyword)


def _copy_of(value: Any) -> Any:
    if isinstance(value, Call):
        return _copy(value, {})
    if isinstance(value, dict):
        return {key: _copy_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_copy_of, value))
    return set(value) if isinstance(value, set) else value


def _elements(source: str) -> list[ast.expr]:
    """Returns the elements of a list, whose brackets may be missing, or the expressions of several lines."""
    if source and "(" not in source and "[" not in source:  # prose, without parsing it
        raise NotCalls("not a call")
    try:
        body = ast.parse(_bracketed(source), mode="eval").body
        elements = body.elts if isinstance(body, ast.List) else []
    except SyntaxError:
        elements = _lines(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    elements = [call for element in elements for call in _printed(element)]
    if len(elements) > MAX_CALLS or (source.strip("[] \n") and not elements):
        raise NotCalls("not a list of calls")
    return elements


def _bracketed(source: str) -> str:
    return f"{'' if source.startswith('[') else '['}{source}{'' if source.endswith(']') else ']'}"


def _lines(source: str) -> list[ast.expr]:
    """Returns the expressions of a program of calls, or of lists of calls, whose results may get names."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    values = [statement.value for statement in statements if isinstance(statement, ast.Expr | ast.Assign)]
    given = {target.id for each in statements if isinstance(each, ast.Assign) for target in _named(each)}
    used = {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
    if len(values) < len(statements) or given & used:  # no result is known before the calls are made
        raise NotCalls("not a list of calls")
    return [
        element for value in values for element in (value.elts if isinstance(value, ast.List) else [value])
    ]


def _named(assignment: ast.Assign) -> Iterator[ast.Name]:
    """Yields the names of an assignment; none of BFCL's functions returns several results to take apart."""
    for target in assignment.targets:
        if not isinstance(target, ast.Name):
            raise NotCalls("not a list of calls")
        yield target


def _printed(node: ast.expr) -> Sequence[ast.expr]:
    """Returns the calls whose results a program prints; another expression as it is."""
    match node:
        case ast.Call(func=ast.Name(id="print"), args=[_, *_] as printed, keywords=[]):
            return printed if all(isinstance(each, ast.Call) for each in printed) else [node]
    return [node]


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise NotCalls("not a call of a named function")
    keyword: dict[str, Any] = {}
    for argument in node.keywords:
        if argument.arg is None or argument.arg in keyword:
            raise NotCalls("arguments must be named once and not unpacked")
        keyword[argument.arg] = _argument(argument.value)
    return Call(_name(node.func), tuple(map(_argument, node.args)), keyword)


def _argument(node: ast.expr) -> Any:
    return _call(node) if isinstance(node, ast.Call) and node.keywords else literal(node)


def _name(node: ast.expr) -> str:
    """Returns the name of a function, which may have a class or a module before it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise NotCalls("not a call of a named function")
