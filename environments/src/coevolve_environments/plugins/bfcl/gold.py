"""State and outputs after each turn of an entry's gold calls: computed once, shared by all its episodes."""

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from coevolve_environments.plugins.bfcl.calls import parse_calls
from coevolve_environments.plugins.bfcl.entries import Entry
from coevolve_environments.plugins.bfcl.world import World

_CACHED_ENTRIES = 1024
"""About 30 KB each: all 800, which every epoch plays again, and composed ones."""


@dataclass(frozen=True)
class GoldTurn:
    """The world after the gold calls of a turn. Read-only: all episodes of the entry compare with it."""

    instances: dict[str, Any]
    responses: list[str]


@lru_cache(_CACHED_ENTRIES)
def gold_of(entry: Entry) -> "GoldTurns":
    return GoldTurns(entry)


class GoldTurns:
    """Plays a turn when an episode first ends it, so that an unplayed entry costs nothing."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._turns: list[GoldTurn] = []
        self._world: World | None = None
        self._lock = Lock()

    def after(self, turn: int) -> GoldTurn:
        with self._lock:
            while len(self._turns) <= turn:
                self._turns.append(self._play(len(self._turns)))
        return self._turns[turn]

    def _play(self, turn: int) -> GoldTurn:
        if self._world is None:
            self._world = World(self._entry)
        calls = [call for text in self._entry.answers[turn] for call in parse_calls(text)]
        responses = [self._world.call(call) for call in calls]
        if not responses and self._turns:
            return GoldTurn(self._turns[-1].instances, responses)
        public = _without_private(self._world.instances)
        if turn + 1 == len(self._entry.answers):  # no later turn can change these objects
            self._world = None
            return GoldTurn(public, responses)
        return GoldTurn(deepcopy(public), responses)


def _without_private(instances: dict[str, Any]) -> dict[str, Any]:
    """Keeps the attributes that the checker compares; the private random generators are slow to copy."""
    shells = {}
    for name, instance in instances.items():
        shells[name] = shell = object.__new__(type(instance))
        vars(shell).update({key: value for key, value in vars(instance).items() if not key.startswith("_")})
    return shells
