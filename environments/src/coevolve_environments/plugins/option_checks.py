"""Checks of options that every environment words alike: what is wrong is refused by name."""

from collections.abc import Collection, Mapping
from typing import Any, Literal

from coevolve_environments.protocol import BadRequest

Fold = Literal["train", "dev", "test"]
"""As packages split their tasks."""
_FOLDS: dict[str, tuple[Fold, ...]] = {"dev": ("dev",), "test": ("test",), "both": ("dev", "test")}


def refuse_unknown(options: Mapping[str, Any], known: Collection[str]) -> None:
    """
    Raises:
        BadRequest: an option is not among the known ones.
    """
    if unknown := sorted(set(options) - set(known)):
        raise BadRequest(f"unknown option {unknown[0]!r}; known: {', '.join(sorted(known))}")


def boolean_option(options: Mapping[str, Any], name: str, default: bool) -> bool:
    """
    Raises:
        BadRequest: it is neither.
    """
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise BadRequest(f"`options.{name}` must be true or false, got {value!r}")
    return value


def integer_in_range(value: object, name: str, most: int) -> int:
    """
    Args:
        name: as the message says it.

    Raises:
        BadRequest: it is no integer in 1..most.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise BadRequest(f"`{name}` must be an integer in 1..{most}, got {value!r}")
    return value


def held_out_folds(options: Mapping[str, Any]) -> tuple[Fold, ...]:
    """What `held-out` is for a package with three folds: dev where nothing is said.

    Raises:
        BadRequest: neither dev nor test nor both.
    """
    held_out = options.get("held_out", "dev")
    if held_out not in _FOLDS:
        raise BadRequest(f"`options.held_out` must be one of {', '.join(_FOLDS)}, got {held_out!r}")
    return _FOLDS[held_out]
