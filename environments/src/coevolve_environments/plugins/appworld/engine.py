"""Plays and evaluates AppWorld's worlds inside a child, in three kinds of processes.

This process takes the server's calls and has no engine. One other, the stem, loads the engine once. Attempts
and evaluations are forks of the stem, each in a new folder that is removed with it. An attempt's fork runs
the policy's code, which can change anything there, including the engine; it is killed before its saved state
is evaluated in another fork. The gold goes from here straight to that fork: it is in no file, and not in the
memory of the stem, of which the next attempt gets a copy.
"""

import os
import sys
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.appworld.evaluation import Evaluation
from coevolve_environments.plugins.appworld.folders import Data, enter, link_data
from coevolve_environments.plugins.appworld.stem import Fork, Stem
from coevolve_environments.plugins.appworld.world import World, load
from coevolve_environments.processes.reaper import remove_home
from coevolve_environments.protocol import Json


class Engine:
    """Plays one world at a time, inside the process's home."""

    def __init__(self, data: str, hidden: str, memory_mb: int) -> None:
        """
        Args:
            data: folder with `api_docs`, `base_dbs` and `tasks`.
            hidden: folder with all gold.
            memory_mb: limit of a fork's private memory; above it the code gets a MemoryError.
        """
        self._data, self._memory_mb = Data(Path(data), Path(hidden)), memory_mb
        home = Path.cwd()
        # A module that is imported late must not come from a folder that has content of attempts.
        sys.path[:] = [path for path in sys.path if path and Path(path).resolve() != home.resolve()]
        self._attempt, self._evaluation = home / "attempt", home / "evaluation"
        self._stem = Stem(
            lambda: self._load(home / "engine"),
            {"attempt": self._make_world, "evaluation": self._make_evaluation},
        )
        self._fork: Fork | None = None
        self._task: str | None = None

    def open(self, task: str, code_seconds: int, instruction: str | None = None) -> Json:
        """Opens a new world of the task and returns its instruction, supervisor and date.

        Args:
            instruction: replaces the task's own.
        """
        self._end()
        self._attempt.mkdir()
        self._task = task
        self._fork = self._stem.fork("attempt", task)
        opened: Json = self._call("open", code_seconds=code_seconds, instruction=instruction)
        return opened

    def execute(self, code: str) -> Json:
        """Runs the code and returns its output and whether the task was marked complete."""
        result = self._call("execute", code=code)
        # The policy's code can write to the descriptor of the replies.
        return {"output": str(result["output"]), "completed": result["completed"] is True}

    def state(self) -> Json:
        """Ends the attempt and returns the changes of its world since the start, and the answer."""
        state: Json = self._evaluate("state")
        return state

    def evaluate(self, gold: dict[str, str]) -> Json:
        """Ends the attempt, runs the task's tests on its world, and removes the world.

        Args:
            gold: files of the task's `ground_truth` folder that the evaluation needs.
        """
        tests: Json = self._evaluate("evaluate", gold=gold)
        self._end()
        return tests

    def close(self) -> None:
        """Ends the attempt and removes its world, if one is open."""
        self._end()

    def _evaluate(self, method: str, **arguments: Any) -> Any:
        """Calls a method in a fork that has run no code of the policy, after the attempt's was killed."""
        if self._task is None:
            raise RuntimeError("no world is open")
        self._stop()
        self._evaluation.mkdir()
        self._fork = self._stem.fork("evaluation", self._task)
        result = self._call(method, **arguments)
        self._stop()
        _remove(self._evaluation)
        return result

    def _call(self, method: str, **arguments: Any) -> Any:
        if self._fork is None:
            raise RuntimeError("no world is open")
        try:
            return self._fork.call(method, **arguments)
        except EOFError:
            self._end()
            raise RuntimeError(f"the world's process exited in {method}") from None

    def _stop(self) -> None:
        """Returns after the fork and all its threads have ended; it could not start processes."""
        if self._fork is not None:
            self._fork.close()
            self._stem.end_fork()
            self._fork = None

    def _end(self) -> None:
        self._stop()
        self._task = None
        for folder in (self._attempt, self._evaluation):
            _remove(folder)

    def _load(self, root: Path) -> None:
        """Runs in the stem. Attempts cannot write to this folder."""
        link_data(root, self._data.folder)
        load()

    def _make_world(self, task: str) -> World:
        enter(self._attempt, self._data, task, self._memory_mb)
        return World(task)

    def _make_evaluation(self, task: str) -> Evaluation:
        enter(self._evaluation, self._data, task, self._memory_mb)
        return Evaluation(task, self._attempt)


def _remove(folder: Path) -> None:
    """
    Raises:
        RuntimeError: a part remains; the server then ends this process and removes its home.
    """
    if os.path.lexists(folder):
        remove_home(folder)
        if os.path.lexists(folder):
            raise RuntimeError("files of an attempt could not be removed")
