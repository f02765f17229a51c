"""The facts of a game of TextWorldExpress, from the JSON of its rooms and of the inventory."""

from collections.abc import Mapping, Sequence

from coevolve_environments.protocol import Json
from coevolve_environments.world_state import AGENT, AT, HOUSEHOLD_WORDS, IN, THERE, Fact

_PROPERTIES = {
    "isChopped": "chopped",
    "isSliced": "sliced",
    "isDiced": "diced",
    "isFried": "fried",
    "isRoasted": "roasted",
    "isGrilled": "grilled",
    "isEaten": "eaten",
}
WORDS: Mapping[str, Sequence[str]] = {
    **HOUSEHOLD_WORDS,
    AT: ("go", "walk", "visit", "head", "enter", "stand"),
    THERE: ("eat", "consume", "make", "prepare", "cook"),
    "chopped": ("chop", "cut", "chopped"),
    "sliced": ("slice", "cut", "sliced"),
    "diced": ("dice", "cut", "diced"),
    "fried": ("fry", "cook", "stove", "fried"),
    "roasted": ("roast", "cook", "bake", "oven", "roasted"),
    "grilled": ("grill", "cook", "barbeque", "toast", "toaster", "grilled"),
    "eaten": ("eat", "consume", "taste", "meal"),
}
"""Words by which a request names a relation, and a value of one."""


def facts_of_rooms(rooms: Sequence[Json], inventory: Json, gone: Sequence[Json], room: str) -> list[Fact]:
    """Returns the places, doors and properties of all things, and the agent's room.

    Args:
        gone: things that were used up, such as eaten ones.
    """
    facts: list[Fact] = [(AGENT, AT, room)]
    for place in rooms:
        _add(place["contents"], (place["name"],), facts)
    _add(inventory["contents"], (AGENT,), facts)
    for thing in gone:
        facts += _properties(thing)
    return facts


def _add(contents: Mapping[str, Json], places: tuple[str, ...], facts: list[Fact]) -> None:
    for thing in contents.values():
        name = thing["name"]
        facts += [(name, THERE, "yes"), *((name, IN, place) for place in places)]
        facts += _properties(thing)
        if thing["isOpenable"]:
            facts.append((name, "open", "yes" if thing["isOpen"] else "no"))
        _add(thing["contents"], (name, *places), facts)


def _properties(thing: Json) -> list[Fact]:
    return [(thing["name"], relation, "yes") for key, relation in _PROPERTIES.items() if thing[key]]
