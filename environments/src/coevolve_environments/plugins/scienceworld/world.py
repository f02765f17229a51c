"""Runs one ScienceWorld simulator in one JVM inside a child, one episode at a time."""

import json
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.jvm import start_jvm
from coevolve_environments.plugins.scienceworld.object_tree import changes_of, facts_of_tree
from coevolve_environments.plugins.scienceworld.task_types import MAX_STEPS
from coevolve_environments.protocol import BadRequest, Json
from coevolve_environments.world_state import Fact

_WAIT = "wait"
_WAITS = 10  # of ten steps each


class World:
    """One simulator per JVM: four in one JVM gave wrong scores in 13 of 32 gold episodes.

    The package's Python wrapper is not used. Each of its steps also lists the valid actions (72 ms instead of
    6 to 18), and its reset generates a gold path (up to a minute), while `load` alone gives the same world.
    """

    def __init__(self, java: str, jar: str, heap_mb: int, compiler_tier: int = 1) -> None:
        self._task = ("", 0, "")
        gateway = start_jvm(java, jar, heap_mb, compiler_tier)
        self._server: Any = gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def open(self, type: str, variation: int, simplifications: str) -> Json:
        """Opens a new world and looks around, as in the package's reset."""
        self._load(type, variation, simplifications, gold=False)
        state = self.step("look around")
        self._task = (type, variation, simplifications)
        return {
            "description": self._server.getTaskDescription(),
            "forms": list(self._server.getPossibleActions()),
            **state,
        }

    def step(self, action: str) -> Json:
        """`score` is in [-1, 1]: fraction of sub-goals, or -1 forever after a wrong focus."""
        observation = self._server.step(action)
        score = round(float(self._server.getScore()), 2)
        return {"observation": observation, "score": score, "completed": bool(self._server.getCompleted())}

    def changes(self) -> Json:
        """Returns the changes by the actions, without things that change by themselves in a hundred steps.

        Ends the world.
        """
        tree = self._object_tree()
        self.open(*self._task)
        opened = self._object_tree()
        for _ in range(_WAITS):
            self._server.step(_WAIT)
        return changes_of(tree, opened, self._object_tree())

    def facts(self) -> list[Fact]:
        return facts_of_tree(self._object_tree())

    def _object_tree(self) -> Json:
        """The simulator writes its tree to a file of a folder, here of the child's home."""
        self._server.getObjectTree(str(Path.home()))
        return dict(json.loads((Path.home() / "objectTree.json").read_text(encoding="utf8")))

    def solve(self, type: str, variation: int, simplifications: str) -> Json:
        """Returns the package's gold path up to the completion of the task, and its score when played.

        Some paths continue with waits after the task is complete.
        """
        self._load(type, variation, simplifications, gold=True)
        path = list(self._server.getGoldActionSequence())[:MAX_STEPS]
        state = self.open(type, variation, simplifications)
        actions: list[str] = []
        description = state["description"]
        while not state["completed"] and len(actions) < len(path):
            actions.append(path[len(actions)])
            state = self.step(actions[-1])
        return {"description": description, "actions": actions, "score": state["score"]}

    def variations(self, type: str) -> list[list[int]]:
        """Returns the package's train, dev and test variations."""
        self._load(type, 0, "", gold=False)
        folds = (
            self._server.getVariationsTrain(),
            self._server.getVariationsDev(),
            self._server.getVariationsTest(),
        )
        return [[int(variation) for variation in fold] for fold in folds]

    def _load(self, type: str, variation: int, simplifications: str, *, gold: bool) -> None:
        if error := self._server.load(type, variation, simplifications, gold):
            raise BadRequest(f"{type} variation {variation}: {error}")
