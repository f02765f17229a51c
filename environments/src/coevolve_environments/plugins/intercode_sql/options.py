"""Options of the data routes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.mix import Weights, read_mix
from coevolve_environments.plugins.validation import (
    boolean_option,
    integer_in_range,
    names_option,
    one_of,
    refuse_unknown,
)
from coevolve_environments.protocol import BadRequest

SOURCES = ("generated", "wheel", "file")
DEFAULT_DIFFICULTY = 5
MAX_DIFFICULTY = 7


@dataclass(frozen=True)
class Options:
    source: str = "generated"
    databases: tuple[str, ...] = ()
    """Empty means all."""
    patterns: tuple[str, ...] = ()
    """Empty means all. Only for generated tasks."""
    max_difficulty: int = DEFAULT_DIFFICULTY
    """Of drawn tasks. A variant that is harder than its parent may exceed it."""
    schema: bool = False
    """Lists the tables and columns in the first message."""
    mix: Mapping[str, Weights] = field(default_factory=dict)
    """Weights of the patterns by draw. A draw that is missing has equal weights."""


def read_options(
    options: Mapping[str, Any], *, databases: Collection[str], patterns: Collection[str]
) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    return Options(
        one_of(options.get("source", "generated"), "options.source", SOURCES),
        names_option(options, "databases", databases) or (),
        names_option(options, "patterns", patterns) or (),
        integer_in_range(
            options.get("max_difficulty", DEFAULT_DIFFICULTY), "options.max_difficulty", MAX_DIFFICULTY
        ),
        boolean_option(options, "schema", False),
        read_mix(options, patterns),
    )


def require_drawn(mix: Mapping[str, Weights], allowed: Collection[str]) -> None:
    """
    Raises:
        BadRequest: a pattern with a weight is excluded by other options.
    """
    for draw, weights in mix.items():
        for name in weights:
            if name not in allowed:
                raise BadRequest(
                    f"`options.mix.{draw}` has a weight for {name!r}, which `options.patterns` or "
                    f"`options.max_difficulty` excludes; left: {', '.join(allowed)}"
                )
