"""Options of the data routes, checked once: an unknown key or value is refused by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.scienceworld.types import (
    DEFAULT_TYPES,
    EASY,
    MAX_STEPS,
    SIMPLIFICATIONS,
    TYPES,
    Fold,
)
from coevolve_environments.protocol import BadRequest, Split

ALL = "all"
_HELD_OUT: dict[str, tuple[Fold, ...]] = {"dev": ("dev",), "test": ("test",), "both": ("dev", "test")}


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
    if unknown := sorted(set(options) - set(Options.__dataclass_fields__)):
        known = ", ".join(sorted(Options.__dataclass_fields__))
        raise BadRequest(f"unknown option {unknown[0]!r}; known: {known}")
    held_out = options.get("held_out", "dev")
    if held_out not in _HELD_OUT:
        raise BadRequest(f"`options.held_out` must be one of {', '.join(_HELD_OUT)}, got {held_out!r}")
    manual = options.get("manual", True)
    if not isinstance(manual, bool):
        raise BadRequest(f"`options.manual` must be true or false, got {manual!r}")
    return Options(
        _types(options.get("types")),
        _HELD_OUT[held_out],
        _whole(options.get("first"), "first", 10_000),
        read_simplifications(options.get("simplifications", EASY)),
        _whole(options.get("step_limit"), "step_limit", MAX_STEPS),
        _limits(options.get("step_limits")),
        manual,
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
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise BadRequest(f"`options.{name}` must be an integer in 1..{most}, got {value!r}")
    return value
