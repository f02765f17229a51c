"""Arguments of calls: literals of Python and JSON, and what can be computed from them without evaluation."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MAX_CHARACTERS = 20_000
_MAX_NUMBER = 10**300
_MAX_OPERAND = 1_000  # of a power
_MAX_ITEMS = 1_000
_MAX_LEVELS = 200  # as many as Python's parser allows


class NotCalls(ValueError):
    """The text is not a list of function calls with literal arguments."""


_CONSTANTS = {"true": True, "false": False, "null": None}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow}  # fmt: skip


def literal(node: ast.expr) -> Any:
    """
    Raises:
        NotCalls: the expression is no literal, or its value is too large.
    """
    value = _value(node)
    check_size(value)
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
    check_size(value)
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
    check_size(value)
    return value


def _hashable(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for key, value in pairs:
        try:
            hash(key)
        except TypeError as error:
            raise NotCalls(f"not a literal: {error}") from None
        yield key, value


def check_size(value: object, levels: int = _MAX_LEVELS) -> None:
    """Rejects values that only cost time: no gold call has a longer list or text, or a larger number."""
    if levels == 0:
        raise NotCalls("a value is too deep")
    if isinstance(value, str) and len(value) > MAX_CHARACTERS:
        raise NotCalls("a text is too long")
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise NotCalls("a number is too large")
    if isinstance(value, list | tuple | set | dict):
        if len(value) > _MAX_ITEMS:
            raise NotCalls("a list is too long")
        for item in value:
            check_size(item, levels - 1)
        for item in value.values() if isinstance(value, dict) else ():
            check_size(item, levels - 1)
