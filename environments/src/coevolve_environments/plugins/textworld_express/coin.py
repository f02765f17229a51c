"""The gold path of the game of the coin. The package's own is a random walk, another one in each process."""

import re
from collections.abc import Callable

from coevolve_environments.protocol import Json

_TAKE = "take coin"
_HERE = re.compile(r"\AYou are in the ([^.]+)\.")
_WAY = re.compile(r"to the (north|south|east|west) you see (?:a closed|the ([^.]+)\.)", re.IGNORECASE)
_BEHIND_DOOR = re.compile(r"revealing the ([^.]+)\.")
_BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}


def find_coin(step: Callable[[str], Json]) -> list[str]:
    """Returns the actions of a walk depth first that ends with the coin.

    It knows no more than a player: it remembers the rooms in which it was, opens closed doors, and goes back
    where nothing is new. Without a coin the walk ends where it began.
    """
    path = list[str]()
    entered = set[str]()

    def act(action: str) -> Json:
        path.append(action)
        return step(action)

    def search(state: Json) -> bool:
        if _TAKE in state["valid"]:
            act(_TAKE)
            return True
        entered.update(_HERE.findall(state["observation"]))
        for way, seen_room in _WAY.findall(state["observation"]):
            direction, room = way.lower(), seen_room
            if not room:
                room = "".join(_BEHIND_DOOR.findall(act(f"open door to {direction}")["observation"]))
            if room not in entered:
                if search(act(f"move {direction}")):
                    return True
                act(f"move {_BACK[direction]}")
        return False

    search(act("look around"))
    return path
