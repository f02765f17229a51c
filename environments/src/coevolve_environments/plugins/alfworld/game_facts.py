"""The facts of a game of ALFWorld in the form of composed tasks."""

import re
from collections.abc import Iterable, Iterator, Mapping

from coevolve_environments.world_state import AGENT, AT, HOUSEHOLD_WORDS, IN, Fact

_FACT = re.compile(r"(\w+)\((.*)\)\Z")
_PLACES = ("inreceptacle", "inreceptacleobject")
_PROPERTIES = {"isclean": "clean", "ishot": "hot", "iscool": "cool", "issliced": "sliced"}
_STATES = {"openable": ("open", ("opened",)), "toggleable": ("on", ("ison", "istoggled"))}
"""Facts that never change, each with a relation and the facts by which it holds."""

WORDS = {
    **HOUSEHOLD_WORDS,
    AT: ("go", "walk", "visit", "head", "stand"),
    "on no": ("off",),
    "on": ("turn", "switch", "toggle", "turned", "switched"),
    "clean": ("clean", "wash", "rinse", "cleaned", "washed"),
    "hot": ("heat", "hot", "warm", "cook", "heated"),
    "cool": ("cool", "cold", "chill", "cooled", "chilled"),
    "sliced": ("slice", "cut", "sliced"),
}
"""Words by which a request names a relation, and a value of one."""


def facts_of_game(stated: Iterable[str], names: Mapping[str, str]) -> list[Fact]:
    """
    Args:
        stated: facts as the engine writes them, such as `holds(agent1: agent, apple_bar_1: object)`.
        names: the name that the policy reads, by the engine's name.
    """
    found = [_read(fact) for fact in stated]
    places: dict[str, list[str]] = {}
    for name, arguments in found:
        if name == "receptacleatlocation":
            places.setdefault(arguments[1], []).append(arguments[0])
    held = {(name, arguments[0]) for name, arguments in found if arguments}
    facts: list[Fact] = []
    for name, arguments in found:
        things = [names.get(argument, argument) for argument in arguments]
        if name in _PLACES:
            facts.append((things[0], IN, things[1]))
        elif name == "holds":
            facts.append((things[1], IN, AGENT))
        elif name == "atlocation":
            facts += [(AGENT, AT, names.get(place, place)) for place in places.get(arguments[1], ())]
        elif name in _PROPERTIES:
            facts.append((things[0], _PROPERTIES[name], "yes"))
        elif name in _STATES:
            relation, by = _STATES[name]
            is_so = any((each, arguments[0]) in held for each in by)
            facts.append((things[0], relation, "yes" if is_so else "no"))
    return sorted(facts)


def _read(fact: str) -> tuple[str, list[str]]:
    read = _FACT.match(fact)
    return (read[1], list(_arguments(read[2]))) if read else (fact, [])


def _arguments(text: str) -> Iterator[str]:
    for argument in text.split(","):
        yield argument.partition(":")[0].strip()
