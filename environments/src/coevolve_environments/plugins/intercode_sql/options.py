"""Options of the data routes, checked once: an unknown key or value is refused by name."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.option_checks import boolean_option, integer_in_range, refuse_unknown
from coevolve_environments.protocol import BadRequest

SOURCES = ("generated", "wheel", "file")
HARDEST = 5


@dataclass(frozen=True)
class Options:
    source: str = "generated"
    databases: tuple[str, ...] = ()
    """Empty: all of them."""
    patterns: tuple[str, ...] = ()
    """Empty: all of them. Only generated tasks have patterns to choose from."""
    max_difficulty: int = HARDEST
    schema: bool = False
    """Whether the first message lists the tables and columns."""


def read_options(
    options: Mapping[str, Any], *, databases: Collection[str], patterns: Collection[str]
) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    source = options.get("source", "generated")
    if source not in SOURCES:
        raise BadRequest(f"`options.source` must be one of {', '.join(SOURCES)}, got {source!r}")
    return Options(
        source,
        _names(options, "databases", databases),
        _names(options, "patterns", patterns),
        integer_in_range(options.get("max_difficulty", HARDEST), "options.max_difficulty", HARDEST),
        boolean_option(options, "schema", False),
    )


def _names(options: Mapping[str, Any], name: str, known: Collection[str]) -> tuple[str, ...]:
    value = options.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not value:
        raise BadRequest(f"`options.{name}` must be a list of names or null, got {value!r}")
    for item in value:
        if item not in known:
            raise BadRequest(f"`options.{name}` holds {item!r}; known: {', '.join(sorted(known))}")
    return tuple(sorted(set(value)))
