"""What actions changed in a world, from ScienceWorld's trees of objects."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from coevolve_environments.protocol import Json

_ROOM_DEPTH = 1
_THING_PARTS = 4  # "", "universe", room, thing
_FLYING = "bee"  # bees leave their hive and carry pollen

_DESCRIBED = (
    ("propMaterial", "substanceName"),
    ("propMaterial", "color"),
    ("propMaterial", "stateOfMatter"),
    ("propMaterial", "hasCombusted"),
    ("propContainer", "isOpen"),
    ("propDevice", "isActivated"),
    ("propDevice", "isBroken"),
    ("propLife", "lifeformType"),
    ("propLife", "isDead"),
)

Described = tuple[str, ...]


def changes_of(tree: Json, opened: Json, waited: Json) -> Json:
    """Returns the objects that a world has gained and lost since its start.

    An object is described by its place, its matter, its switches and its connections. Left out are
    temperatures, which drift in every step, the agent's room, living things that move about in a room, and
    things that change by themselves, such as plants and fountains.

    Args:
        opened: the world at its start.
        waited: the world in which the agent only waited.
    """
    start, later = Counter(_objects(opened)), Counter(_objects(waited))
    restless = {_thing(path) for path, *_ in [*(start - later), *(later - start)]}
    here = Counter(_objects(tree))
    return {
        "added": sorted(thing for thing in (here - start).elements() if _thing(thing[0]) not in restless),
        "gone": sorted(thing for thing in (start - here).elements() if _thing(thing[0]) not in restless),
    }


def described_text(thing: Described) -> str:
    """Returns an object of `changes_of` with the names of its values, for a reader."""
    path, *values = thing
    named = zip((field for _, field in _DESCRIBED), values, strict=False)
    connected = (f"connected to {other}" for other in values[len(_DESCRIBED) :])
    details = [*(f"{field} {value}" for field, value in named if value), *connected]
    return f"{path} ({', '.join(details)})" if details else path


def _thing(path: str) -> str:
    """Returns the path of the thing in the room or in the inventory that contains the object."""
    return "/".join(path.split("/")[:_THING_PARTS])


def _objects(tree: Json) -> Iterator[Described]:
    names = {node["uuid"]: path for node, path, _ in _walk(tree, "", 0)}
    for node, path, depth in _walk(tree, "", 0):
        described = _described(node, path, names)
        is_bare = node["name"].startswith("terminal") and not any(described[1:])
        if not _moves(node, depth) and not is_bare:
            yield described


def _walk(node: Json, parent: str, depth: int) -> Iterator[tuple[Json, str, int]]:
    """Yields every object with its path and depth. Things of the agent have no room."""
    is_agent = node["name"] == "agent"
    path = "agent" if is_agent else f"{parent}/{node['name']}"
    if not is_agent:
        yield node, path, depth
    for child in node["contents"].values():
        yield from _walk(child, path, depth + 1)


def _moves(node: Json, depth: int) -> bool:
    if node["propLife"] is None:
        return False
    return depth == _ROOM_DEPTH + 1 or node["name"].startswith(_FLYING)


def _described(node: Json, path: str, names: dict[str, str]) -> Described:
    values: list[Any] = [(node[part] or {}).get(field) for part, field in _DESCRIBED]
    connection = node["propElectricalConnection"] or {"connectedTo": []}
    connected = sorted(names.get(uuid, "") for uuid in connection["connectedTo"])
    return (path, *("" if value is None else str(value) for value in values), *connected)
