"""Options of the data routes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.scienceworld.task_types import (
    DEFAULT_TYPES,
    EASY,
    MAX_STEPS,
    SIMPLIFICATIONS,
    TYPES,
)
from coevolve_environments.plugins.validation import (
    Fold,
    boolean_option,
    held_out_folds,
    integer_in_range,
    names_option,
    refuse_unknown,
)
from coevolve_environments.protocol import BadRequest, Split

ALL = "all"


@dataclass(frozen=True)
class Options:
    """The defaults are ETO's protocol."""

    types: tuple[str, ...] = DEFAULT_TYPES
    held_out: tuple[Fold, ...] = ("dev",)
    """Folds of the held-out split. ETO reports dev as seen and test as unseen scenarios."""
    first: int | None = None
    """Number of variations per type and fold; None means all. ETO plays the first 10 held-out ones."""
    simplifications: str = EASY
    max_turns: int | None = None
    """Maximum number of actions for every type."""
    max_turns_by_type: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of actions by type; overrides `max_turns` and the defaults."""
    manual: bool = True
    """Lists the forms of commands in the first message."""

    def folds(self, split: Split) -> tuple[Fold, ...]:
        return ("train",) if split == "train" else self.held_out

    def steps(self, type: str, gold_length: int) -> int:
        limit = self.max_turns_by_type.get(type, self.max_turns or TYPES[type].steps)
        return max(limit, gold_length)


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    return Options(
        _types(options),
        held_out_folds(options),
        _optional_integer(options.get("first"), "first", 10_000),
        read_simplifications(options.get("simplifications", EASY)),
        _optional_integer(options.get("max_turns"), "max_turns", MAX_STEPS),
        _limits(options.get("max_turns_by_type")),
        boolean_option(options, "manual", True),
    )


def read_simplifications(value: object) -> str:
    """Returns `easy` or comma-separated names in the package's order; empty means the unchanged world."""
    if value == EASY:
        return EASY
    names = value.split(",") if isinstance(value, str) and value else value or []
    if not isinstance(names, Sequence) or not set(names) <= set(SIMPLIFICATIONS):
        known = ", ".join(SIMPLIFICATIONS)
        raise BadRequest(f"`simplifications` must be {EASY} or names among {known}, got {value!r}")
    return ",".join(name for name in SIMPLIFICATIONS if name in names)


def _types(options: Mapping[str, Any]) -> tuple[str, ...]:
    if options.get("types") == ALL:
        return tuple(TYPES)
    return names_option(options, "types", TYPES) or DEFAULT_TYPES


def _limits(value: object) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not set(value) <= set(TYPES):
        raise BadRequest(
            f"`options.max_turns_by_type` must map task types to numbers of actions, got {value!r}"
        )
    return {
        str(name): _optional_integer(limit, f"max_turns_by_type.{name}", MAX_STEPS) or MAX_STEPS
        for name, limit in value.items()
    }


def _optional_integer(value: object, name: str, maximum: int) -> int | None:
    return None if value is None else integer_in_range(value, f"options.{name}", maximum)
