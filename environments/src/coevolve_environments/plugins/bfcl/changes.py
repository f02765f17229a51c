"""What calls changed in the objects of a world, for the judge of a composed task."""

from collections.abc import Iterator
from typing import Any

from coevolve_environments.plugins.bfcl.world import World

_MAX_CHARACTERS = 60
_MAX_DEPTH = 20
"""Also ends the walk through a directory that was copied into itself."""


def changes_between(before: World, after: World) -> list[str]:
    """Returns a line for each value that differs, with its path."""
    old, new = _values(before), _values(after)
    return [
        f"{path}: {_short(old.get(path, 'nothing'))} -> {_short(new.get(path, 'nothing'))}"
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."


def _values(world: World) -> dict[str, str]:
    return {
        path: text
        for name, instance in world.instances.items()
        for attribute, value in vars(instance).items()
        if not attribute.startswith("_")
        for path, text in _leaves(value, f"{name}.{attribute}")
    }


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yields the texts and numbers of a value with their paths; a file counts as its content."""
    children = getattr(value, "contents", value)  # of a directory
    if isinstance(children, list | tuple):
        children = dict(enumerate(children))
    if isinstance(children, dict) and children and depth < _MAX_DEPTH:
        for key, child in children.items():
            yield from _leaves(child, f"{path}/{key}", depth + 1)
    elif hasattr(value, "content"):
        yield path, repr(value.content)
    else:
        yield path, "empty" if isinstance(children, dict) else repr(value)
