"""Reads fields of JSON; a wrong one is refused with its path, the value found and the value expected."""

import math
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

Value = TypeVar("Value")


class InputProblem(Exception):
    """The input cannot be analysed."""


class Reader:
    """A value of the input and its path."""

    def __init__(self, value: object, path: str = "") -> None:
        self.value = value
        self.path = path

    def refuse(self, expected: str) -> NoReturn:
        found = repr(self.value)
        shown = found if len(found) <= 80 else f"{found[:77]}..."
        raise InputProblem(f"{self.path or 'input'}: found {shown}, expected {expected}")

    def field(self, name: str) -> "Reader":
        if not isinstance(self.value, dict):
            self.refuse("an object")
        path = f"{self.path}.{name}" if self.path else name
        if name not in self.value:
            raise InputProblem(f"{path}: found nothing, expected a value")
        return Reader(self.value[name], path)

    def items(self) -> Iterator["Reader"]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        return (Reader(item, f"{self.path}[{index}]") for index, item in enumerate(self.value))

    def fields(self) -> Iterator[tuple[str, "Reader"]]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return ((str(name), Reader(item, f"{self.path}.{name}")) for name, item in self.value.items())

    def optional(self, read: Callable[["Reader"], Value]) -> Value | None:
        return None if self.value is None else read(self)

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("a text")
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def choice(self, *allowed: str) -> str:
        if self.value not in allowed:
            self.refuse(f"one of {', '.join(allowed)}")
        return str(self.value)

    def integer(self, least: int = 0) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < least:
            self.refuse(f"an integer from {least}")
        return self.value

    def number(self, least: float = 0, most: float = math.inf) -> float:
        value = self.value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not least <= float(str(value)) <= most or not math.isfinite(float(str(value))):
            self.refuse(f"a number from {least:g}" + ("" if most == math.inf else f" to {most:g}"))
        return float(str(value))

    def share(self) -> float:
        """A number between 0 and 1, both excluded."""
        value = self.number()
        if not 0 < value < 1:
            self.refuse("a number above 0 and below 1")
        return value
