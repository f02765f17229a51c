"""Parses calls such as `[cd(folder='document'), ls()]`. Text of a model is never evaluated."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coevolve_environments.plugins.bfcl.spellings import candidates

MAX_CALLS = 64
MAX_CHARACTERS = 20_000
_MAX_NUMBER = 10**300
_MAX_OPERAND = 1_000  # of a power
_MAX_ITEMS = 1_000
# Attempts at the same task repeat many actions.
_CACHED_TEXTS = 512
_MAX_CACHED_CHARACTERS = 500


class NotCalls(ValueError):
    """The text is not a list of function calls with literal arguments."""


@dataclass(frozen=True)
class Call:
    """A call of a function. An argument that is a call is executed first, as in the published evaluation."""

    name: str
    positional: tuple[Any, ...]
    keyword: dict[str, Any]

    def __repr__(self) -> str:
        named = (f"{name}={value!r}" for name, value in self.keyword.items())
        return f"{self.name}({', '.join([*map(repr, self.positional), *named])})"


def parse_calls(text: str) -> list[Call]:
    """Returns the calls of an assistant message in any of the spellings of `candidates`.

    Raises:
        NotCalls: the text is anything else, or an argument is not a literal or too large.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotCalls("too long")
    calls = _cached_calls(text) if len(text) <= _MAX_CACHED_CHARACTERS else _calls(text)
    return [_copy(call) for call in calls]


def spelled_calls(text: str) -> list[str]:
    """Returns the calls in a normalized spelling of quotes, spaces and brackets.

    Raises:
        NotCalls: see `parse_calls`.
    """
    return [repr(call) for call in parse_calls(text)]


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
    for source in candidates(text):
        try:
            return tuple(_call(node) for node in _elements(source))
        except NotCalls as error:
            problem = error
    raise problem


_cached_calls = lru_cache(_CACHED_TEXTS)(_calls)


def _copy(value: Any) -> Any:
    """Copies lists and dicts of a literal, because a function may keep and change its arguments."""
    if isinstance(value, Call):
        return Call(value.name, _copy(value.positional), _copy(value.keyword))
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_copy, value))
    return set(value) if isinstance(value, set) else value


def _elements(source: str) -> list[ast.expr]:
    """Returns the elements of a list, whose brackets may be missing, or the expressions of several lines."""
    if source and "(" not in source and "[" not in source:  # prose, without parsing it
        raise NotCalls("not a call")
    bracketed = f"{'' if source.startswith('[') else '['}{source}{'' if source.endswith(']') else ']'}"
    try:
        body = ast.parse(bracketed, mode="eval").body
        elements = body.elts if isinstance(body, ast.List) else []
    except SyntaxError:
        elements = _lines(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    if len(elements) > MAX_CALLS or (source.strip("[] \n") and not elements):
        raise NotCalls("not a list of calls")
    return elements


def _lines(source: str) -> list[ast.expr]:
    """Returns the expressions of a program of calls, or of lists of calls."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotCalls(str(error)) from None
    values = [statement.value for statement in statements if isinstance(statement, ast.Expr)]
    if len(values) < len(statements):
        raise NotCalls("not a list of calls")
    return [
        element for value in values for element in (value.elts if isinstance(value, ast.List) else [value])
    ]


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
    return _call(node) if isinstance(node, ast.Call) and node.keywords else _literal(node)


def _name(node: ast.expr) -> str:
    """Returns the name of a function, which may have a class or a module before it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise NotCalls("not a call of a named function")


_CONSTANTS = {"true": True, "false": False, "null": None}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}  # fmt: skip


def _literal(node: ast.expr) -> Any:
    value = _value(node)
    _check_size(value)
    return value


def _value(node: ast.expr) -> Any:
    """Returns a literal. A name is a constant of JSON. As in the package's decoder, another name, an element
    and a call without named arguments are texts.
    """
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.Name(id=name):
            return _CONSTANTS.get(name, name)
        case ast.Call(keywords=[]) | ast.Subscript():
            return ast.unparse(node)
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip((_value(key) for key in keys if key), map(_value, values), strict=True)
            return dict(_hashable(pairs))
        case ast.Set(elts=items):
            return {item for item, _ in _hashable((_value(item), None) for item in items)}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _computed(_OPERATORS[type(op)], _operand(left), _operand(right))
    raise NotCalls(f"not a literal: {ast.unparse(node)[:100]}")


def _number(node: ast.expr) -> Any:
    value = _value(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotCalls("not a number")
    _check_size(value)
    return value


def _operand(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant | ast.BinOp) and isinstance(value := _value(node), str):
        return value
    return _number(node)


def _computed(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Computes with numbers, joins and repeats texts, as far as it costs neither time nor memory."""
    texts = [operand for operand in (left, right) if isinstance(operand, str)]
    numbers = [abs(operand) for operand in (left, right) if not isinstance(operand, str)]
    if operation is operator.pow:
        is_cheap = not texts and max(numbers) <= _MAX_OPERAND
    elif operation is operator.mul and texts:
        is_cheap = len(texts) == 1 and len(texts[0]) * numbers[0] <= MAX_CHARACTERS
    else:
        is_cheap = not texts or operation is operator.add
    if not is_cheap:
        raise NotCalls("a computed value is too large")
    try:
        value = operation(left, right)
    except (ArithmeticError, TypeError) as error:
        raise NotCalls(str(error)) from None
    _check_size(value)
    return value


def _hashable(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for key, value in pairs:
        try:
            hash(key)
        except TypeError as error:
            raise NotCalls(f"not a literal: {error}") from None
        yield key, value


def _check_size(value: object) -> None:
    """Rejects values that only cost time: no gold call has a longer list or text, or a larger number."""
    if isinstance(value, str) and len(value) > MAX_CHARACTERS:
        raise NotCalls("a text is too long")
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise NotCalls("a number is too large")
    if isinstance(value, list | tuple | set | dict):
        if len(value) > _MAX_ITEMS:
            raise NotCalls("a list is too long")
        for item in value:
            _check_size(item)
        for item in value.values() if isinstance(value, dict) else ():
            _check_size(item)
