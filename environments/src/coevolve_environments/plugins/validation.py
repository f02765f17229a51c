"""Validation of options and task definitions. Errors name the field, the value found and the expected one."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeVar

from coevolve_environments.protocol import BadRequest

Name = TypeVar("Name", bound=str)
Fold = Literal["train", "dev", "test"]
"""Split of a package with three splits."""
_HELD_OUT_FOLDS: dict[str, tuple[Fold, ...]] = {"dev": ("dev",), "test": ("test",), "both": ("dev", "test")}


def refuse_unknown(options: Mapping[str, Any], known: Collection[str]) -> None:
    """
    Raises:
        BadRequest: an option is unknown.
    """
    if unknown := sorted(set(options) - set(known)):
        raise BadRequest(f"unknown option {unknown[0]!r}; known: {', '.join(sorted(known))}")


def boolean_option(options: Mapping[str, Any], name: str, default: bool) -> bool:
    """
    Raises:
        BadRequest: the value is not a boolean.
    """
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise BadRequest(f"`options.{name}` must be true or false, got {value!r}")
    return value


def one_of(value: object, name: str, known: Iterable[Name]) -> Name:
    """
    Args:
        name: field name for the error.

    Raises:
        BadRequest: the value is not a known name.
    """
    names = list(known)
    for item in names:
        if item == value:
            return item
    raise BadRequest(f"`{name}` must be one of {', '.join(names)}, got {value!r}")


def integer_in_range(value: object, name: str, maximum: int) -> int:
    """
    Args:
        name: field name for the error.

    Raises:
        BadRequest: the value is not an integer in 1..maximum.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= maximum:
        raise BadRequest(f"`{name}` must be an integer in 1..{maximum}, got {value!r}")
    return value


def names_option(options: Mapping[str, Any], name: str, known: Iterable[str]) -> tuple[str, ...] | None:
    """Returns the listed names in the order of the known ones; None if the option is absent or null.

    Raises:
        BadRequest: the value is not a list, is empty, or contains an unknown name.
    """
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise BadRequest(f"`options.{name}` must be a list of names or null, got {value!r}")
    names = tuple(known)
    for item in value:
        if item not in names:
            raise BadRequest(f"`options.{name}` contains {item!r}; known: {', '.join(names)}")
    return tuple(item for item in names if item in value)


def held_out_folds(options: Mapping[str, Any]) -> tuple[Fold, ...]:
    """Returns the folds of a three-fold package that form the held-out split; dev by default.

    Raises:
        BadRequest: `held_out` is not dev, test or both.
    """
    return _HELD_OUT_FOLDS[one_of(options.get("held_out", "dev"), "options.held_out", _HELD_OUT_FOLDS)]


def require_fields(definition: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    """
    Raises:
        BadRequest: a field of the task definition is missing or has another type.
    """
    for name, kind in fields.items():
        value = definition.get(name)
        if type(value) is not kind:
            raise BadRequest(f"the task definition needs `{name}` of type {kind.__name__}, got {value!r}")
