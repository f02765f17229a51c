"""What actions changed in a world, from ScienceWorld's trees of objects."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from coevolve_environments.protocol import Json
from coevolve_environments.world_state import AGENT, AT, IN, THERE, Fact

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

_RELATIONS = (
    ("propMaterial", "stateOfMatter", "matter"),
    ("propMaterial", "color", "color"),
    ("propMaterial", "hasCombusted", "burnt"),
    ("propContainer", "isOpen", "open"),
    ("propDevice", "isActivated", "active"),
    ("propDevice", "isBroken", "broken"),
    ("propLife", "lifeformType", "life"),
    ("propLife", "isDead", "dead"),
)
_HIDDEN_ROOMS = ("sewer",)
WORDS = {
    IN: (
        *("put", "place", "move", "bring", "carry", "drop", "pour", "insert", "lay", "set", "store"),
        *("deliver", "transfer", "leave", "take", "throw", "return"),
    ),
    AT: ("go", "walk", "enter", "visit", "head", "teleport", "travel", "stand"),
    AGENT: ("pick", "take", "hold", "carry", "get", "grab", "fetch", "inventory", "keep", "collect"),
    THERE: ("eat", "consume", "destroy", "make", "mix", "create", "grow"),
    "matter": (
        *(
            "boil",
            "melt",
            "freeze",
            "evaporate",
            "condense",
            "liquid",
            "gas",
            "solid",
            "steam",
            "ice",
            "vaporize",
        ),
        *("matter", "boiling", "melting", "freezing"),
    ),
    "color": ("color", "colour", "paint", "mix", "dye"),
    "burnt": ("burn", "combust", "ignite", "fire", "ash"),
    "open": ("open", "close", "shut", "opened", "closed"),
    "open False": ("close", "shut", "closed"),
    "active False": ("off", "deactivate", "deactivated"),
    "active": ("turn", "switch", "activate", "deactivate", "start", "turned", "activated", "switched"),
    "broken": ("break", "broken", "repair", "fix"),
    "life": ("grow", "plant", "seed", "sprout", "hatch"),
    "dead": ("kill", "die", "dead"),
    "connected": ("connect", "wire", "circuit", "link", "power", "electrical"),
}
"""Words by which a request names a relation, and a value of one."""

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


def facts_of_tree(tree: Json) -> list[Fact]:
    """Returns places, switches, matter and connections of all objects that an agent can see, and its room.

    A fact of a liquid or a gas stands once: the number of its parts depends on time alone.
    """
    names = {node["uuid"]: " ".join(path.split("/")[-2:]) for node, path, _ in _walk(tree, "", 0)}
    facts: dict[Fact, int] = {}
    for fact, is_fluid in _stated(tree, (), names):
        facts[fact] = 1 if is_fluid else facts.get(fact, 0) + 1
    return [fact for fact, count in facts.items() for _ in range(count)]


def _stated(node: Json, places: tuple[str, ...], names: Mapping[str, str]) -> Iterator[tuple[Fact, bool]]:
    """Yields facts, and whether each is of a liquid or a gas.

    Args:
        places: what contains the node, from the innermost one; the agent stands for all beyond it.
    """
    for child in node["contents"].values():
        name = child["name"]
        if name == AGENT:
            yield ((AGENT, AT, places[0]), False)
            for inventory in child["contents"].values():
                yield from _stated(inventory, (AGENT,), names)
        elif name not in _HIDDEN_ROOMS and not name.startswith("terminal"):
            is_fluid = (child["propMaterial"] or {}).get("stateOfMatter") in ("liquid", "gas")
            for fact in _facts_of(child, places, names):
                yield fact, is_fluid
            yield from _stated(child, (name, *places), names)


def _facts_of(node: Json, places: tuple[str, ...], names: Mapping[str, str]) -> Iterator[Fact]:
    subject = _subject(node)
    yield (subject, THERE, "yes")
    for place in places:
        yield (subject, IN, place)
    for part, field, relation in _RELATIONS:
        value = (node[part] or {}).get(field)
        if value not in (None, ""):
            yield (subject, relation, str(value))
    terminals = (part for part in node["contents"].values() if part["name"].startswith("terminal"))
    for end in (node, *terminals):
        connection = end["propElectricalConnection"] or {"connectedTo": []}
        for uuid in connection["connectedTo"]:
            yield (subject, "connected", names.get(uuid, ""))


def _subject(node: Json) -> str:
    """Returns the name of a thing; of a liquid, a gas or ice the name of its matter, which it keeps."""
    matter = node["propMaterial"] or {}
    is_matter = matter.get("stateOfMatter") in ("liquid", "gas") or node["name"] == "ice"
    return str(matter["substanceName"] if is_matter else node["name"])


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
