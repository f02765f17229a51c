"""The child's side: one ScienceWorld simulator in one JVM, for one episode at a time."""

from typing import Any

from coevolve_environments.plugins.jvm import start_jvm
from coevolve_environments.plugins.scienceworld.task_types import MAX_STEPS
from coevolve_environments.protocol import BadRequest, Json


class World:
    """Four sessions in one JVM gave wrong scores in 13 of 32 gold episodes, so each has its own.

    The package's Python wrapper is not used: each step lists the valid actions too (72 ms, not 6 to 18), and
    its reset generates a gold path (up to a minute), where `load` alone gives the same fresh world.
    """

    def __init__(self, java: str, jar: str, heap_mb: int) -> None:
        gateway = start_jvm(java, jar, heap_mb)
        self._server: Any = gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def open(self, type: str, variation: int, simplifications: str) -> Json:
        """A fresh world; its first move is to look around, as in the package's reset."""
        self._load(type, variation, simplifications, gold=False)
        return {
            "description": self._server.getTaskDescription(),
            "forms": list(self._server.getPossibleActions()),
            **self.step("look around"),
        }

    def step(self, action: str) -> Json:
        """`score` is in [-1, 1]: sub-goals reached, or -1 for good once the wrong thing was in focus."""
        observation = self._server.step(action)
        score = round(float(self._server.getScore()), 2)
        return {"observation": observation, "score": score, "completed": bool(self._server.getCompleted())}

    def solve(self, type: str, variation: int, simplifications: str) -> Json:
        """The package's gold path up to the action that completes the task, and the score of playing it.

        Waits follow in some paths, when the task is already complete.
        """
        self._load(type, variation, simplifications, gold=True)
        path = list(self._server.getGoldActionSequence())[:MAX_STEPS]
        answer = self.open(type, variation, simplifications)
        actions: list[str] = []
        description = answer["description"]
        while not answer["completed"] and len(actions) < len(path):
            actions.append(path[len(actions)])
            answer = self.step(actions[-1])
        return {"description": description, "actions": actions, "score": answer["score"]}

    def variations(self, type: str) -> list[list[int]]:
        """Of train, dev and test, as the package splits them."""
        self._load(type, 0, "", gold=False)
        folds = (
            self._server.getVariationsTrain(),
            self._server.getVariationsDev(),
            self._server.getVariationsTest(),
        )
        return [[int(variation) for variation in fold] for fold in folds]

    def _load(self, type: str, variation: int, simplifications: str, *, gold: bool) -> None:
        if said := self._server.load(type, variation, simplifications, gold):
            raise BadRequest(f"{type} variation {variation}: {said}")
