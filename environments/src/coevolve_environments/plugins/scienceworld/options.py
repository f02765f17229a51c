"""Options of the data routes, checked once: an unknown key or value is refused by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.option_checks import (
    Fold,
    boolean_option,
    held_out_folds,
    integer_in_range,
    refuse_unknown,
)
from coevolve_environments.plugins.scienceworld.task_types import (
    DEFAULT_TYPES,
    EASY,
    MAX_STEPS,
    SIMPLIFICATIONS,
    TYPES,
)
from coevolve_environments.protocol import BadRequest, Split

ALL = "all"


@dataclass(frozen=True)
class Options:
    """ETO's protocol where nothing is said."""

    types: tuple[str, ...] = DEFAULT_TYPES
    held_out: tuple[Fold, ...] = ("dev",)
    """What `held-out` is: ETO reports dev as its seen and test as its unseen scenarios."""
    first: int | None = None
    """Only so many variations of each type and fold: ETO plays the first 10 held-out ones."""
    simplifications: str = EASY
    step_limit: int | None = None
    """For every type."""
    step_limits: Mapping[str, int] = field(default_factory=dict)
    """Of single types, before `step_limit` and the defaults."""
    manual: bool = True
    """Whether the first message lists the forms of commands."""

    def folds(self, split: Split) -> tuple[Fold, ...]:
        return ("train",) if split == "train" else self.held_out

    def steps(self, type: str, gold_length: int) -> int:
        limit = self.step_limits.get(type, self.step_limit or TYPES[type].steps)
        return max(limit, gold_length)


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    return Options(
        _types(options.get("types")),
        held_out_folds(options),
        _whole(options.get("first"), "first", 10_000),
        read_simplifications(options.get("simplifications", EASY)),
        _whole(options.get("step_limit"), "step_limit", MAX_STEPS),
        _limits(options.get("step_limits")),
        boolean_option(options, "manual", True),
    )


def read_simplifications(value: object) -> str:
    """`easy`, or names joined by commas; nothing is the world as it is. In the package's own order."""
    if value == EASY:
        return EASY
    names = value.split(",") if isinstance(value, str) and value else value or []
    if not isinstance(names, Sequence) or not set(names) <= set(SIMPLIFICATIONS):
        known = ", ".join(SIMPLIFICATIONS)
        raise BadRequest(f"`simplifications` must be {EASY} or some of {known}, got {value!r}")
    return ",".join(name for name in SIMPLIFICATIONS if name in names)


def _types(value: object) -> tuple[str, ...]:
    if value is None:
        return DEFAULT_TYPES
    if value == ALL:
        return tuple(TYPES)
    if not isinstance(value, list) or not value:
        raise BadRequest(f"`options.types` must be a list of names, {ALL} or null, got {value!r}")
    for item in value:
        if item not in TYPES:
            raise BadRequest(f"`options.types` holds {item!r}; known: {', '.join(TYPES)}")
    return tuple(name for name in TYPES if name in value)


def _limits(value: object) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not set(value) <= set(TYPES):
        raise BadRequest(f"`options.step_limits` must map types of task to actions, got {value!r}")
    return {
        str(name): _whole(limit, f"step_limits.{name}", MAX_STEPS) or MAX_STEPS
        for name, limit in value.items()
    }


def _whole(value: object, name: str, most: int) -> int | None:
    return None if value is None else integer_in_range(value, f"options.{name}", most)
