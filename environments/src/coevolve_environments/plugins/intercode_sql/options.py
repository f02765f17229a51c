"""Options of the data routes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from coevolve_environments.plugins.intercode_sql.mix import Weights, read_mix
from coevolve_environments.plugins.validation import (
    boolean_option,
    integer_in_range,
    names_option,
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
    """Weights of the patterns by draw: `train`, `heldOut`, `proposal`. Absent means equal weights."""


def read_options(
    options: Mapping[str, Any], *, databases: Collection[str], patterns: Collection[str]
) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    source = options.get("source", "generated")
    if source not in SOURCES:
        raise BadRequest(f"`options.source` must be one of {', '.join(SOURCES)}, got {source!r}")
    return Options(
        source,
        names_option(options, "databases", databases) or (),
        names_option(options, "patterns", patterns) or (),
        integer_in_range(
            options.get("max_difficulty", DEFAULT_DIFFICULTY), "options.max_difficulty", MAX_DIFFICULTY
        ),
        boolean_option(options, "schema", False),
        read_mix(options, patterns),
    )
