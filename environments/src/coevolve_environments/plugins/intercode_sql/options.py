"""Options of the data routes, checked once: an unknown key or value is refused by name."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

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
    known = set(Options.__dataclass_fields__)
    if unknown := sorted(set(options) - known):
        raise BadRequest(f"unknown option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    source = options.get("source", "generated")
    if source not in SOURCES:
        raise BadRequest(f"`options.source` must be one of {', '.join(SOURCES)}, got {source!r}")
    hardest = options.get("max_difficulty", HARDEST)
    if not isinstance(hardest, int) or isinstance(hardest, bool) or not 1 <= hardest <= HARDEST:
        raise BadRequest(f"`options.max_difficulty` must be an integer in 1..{HARDEST}, got {hardest!r}")
    schema = options.get("schema", False)
    if not isinstance(schema, bool):
        raise BadRequest(f"`options.schema` must be true or false, got {schema!r}")
    return Options(
        source,
        _names(options, "databases", databases),
        _names(options, "patterns", patterns),
        hardest,
        schema,
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
