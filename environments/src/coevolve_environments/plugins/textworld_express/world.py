"""Runs the simulator in one JVM inside a child, one game at a time."""

import json
from typing import Any

from coevolve_environments.plugins.jvm import start_jvm
from coevolve_environments.plugins.textworld_express.coin import find_coin
from coevolve_environments.plugins.textworld_express.room_facts import facts_of_rooms
from coevolve_environments.protocol import BadRequest, Json
from coevolve_environments.world_state import Fact

_ONE_ROOM = ("ArithmeticGame", "SortingGame", "PeckingOrderGame")


class World:
    """Calls the jar directly: the package's class records counts and histories that are not needed."""

    def __init__(self, java: str, jar: str, heap_mb: int) -> None:
        gateway = start_jvm(java, jar, heap_mb)
        self._server: Any = gateway.jvm.textworldexpress.runtime.PythonInterface()

    def open(self, game: str, parameters: str, seed: int, fold: str) -> Json:
        state = self._generate(game, parameters, seed, fold, gold=False)
        return {"description": self._server.getTaskDescription(), **state}

    def step(self, action: str) -> Json:
        """`score` is in [-1, 1]; `valid` are the currently valid actions, sorted."""
        return _state(self._server.stepJSON(action))

    def facts(self) -> list[Fact]:
        """Returns the places and properties of all things; none in simonsays, which has no world."""
        game = self._server.game()
        name = str(game.getClass().getSimpleName())
        if name.startswith("SimonSays"):
            return []
        here = game.agentLocation()
        rooms = [here] if name in _ONE_ROOM else game.locations()
        gone = _listed(game.deletedObjects()) if name == "CookingWorldGame" else []
        inventory = json.loads(game.agentInventory().toJSON())
        return facts_of_rooms(
            [json.loads(room.toJSON()) for room in rooms], inventory, gone, str(here.name())
        )

    def solve(self, game: str, parameters: str, seed: int, fold: str) -> Json:
        """Returns a gold path up to the end of the game, and its score when played."""
        if game == "coin":
            self.open(game, parameters, seed, fold)
            path = find_coin(self.step)
        else:
            self._generate(game, parameters, seed, fold, gold=True)
            path = [str(action) for action in self._server.getGoldActionSequence()]
        state = self.open(game, parameters, seed, fold)
        description, actions = state["description"], list[str]()
        while not state["done"] and len(actions) < len(path):
            actions.append(path[len(actions)])
            state = self.step(actions[-1])
        return {"description": description, "actions": actions, "score": state["score"]}

    def _generate(self, game: str, parameters: str, seed: int, fold: str, *, gold: bool) -> Json:
        if error := self._server.load(game, parameters):
            raise BadRequest(f"{game} with {parameters}: {error.strip()}")
        return _state(self._server.generateNewGameJSON(seed, fold, gold))


def _state(text: str) -> Json:
    state = json.loads(text)
    score = float(state["score"])
    return {
        "observation": state["observation"],
        "valid": sorted(state["validActions"]),
        "score": score,
        "done": score >= 1.0 or state["tasksuccess"] or state["taskfailure"],
    }


def _listed(things: Any) -> list[Json]:
    """Returns the things of a Scala buffer."""
    return [json.loads(things.apply(index).toJSON()) for index in range(things.length())]
