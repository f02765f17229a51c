"""The hand-written requests of composed/*.yaml: their worlds, and how ways through them are scored."""

import json
import re
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from coevolve_environments.plugins.appworld import mini_notes
from coevolve_environments.protocol import ComposedTask, Environment, Json, NotReady
from coevolve_environments.server.compose_task import compose_task
from coevolve_environments.server.composed_episode import start_episode
from coevolve_environments.settings import Settings

TESTS = Path(__file__).parent
WORLDS = (
    "scienceworld",
    "alfworld",
    "textworld-express",
    "textworld-express-7",
    "appworld-mini",
    "intercode-sql",
)
_MODULES = {
    "appworld-mini": "appworld.mini",
    "intercode-sql": "intercode_sql.environment",
    "textworld-express": "textworld_express.environment",
}
_ENDS = {"appworld-mini": "apis.supervisor.complete_task()", "intercode-sql": "submit"}
_NOTE = re.compile(r'ID\(("[^"]*")\)')
_DELETE = re.compile(r'DELETE\(("[^"]*")\)')
ALFWORLD = Path(sys.prefix).with_name(".venv-alfworld")
_KITCHEN = "train/pick_and_place_simple-Apple-None-Fridge-1/trial_1"


def read_requests(world: str) -> Json:
    return dict(yaml.safe_load((TESTS / "composed" / f"{world}.yaml").read_text(encoding="utf8")))


class World:
    """One environment with the requests to it."""

    def __init__(self, table: str, folder: Path) -> None:
        """
        Args:
            table: one of `WORLDS`, a file of requests.
        """
        self._listed = read_requests(table)
        self.name = name = str(self._listed["world"])
        values: Json = {} if name == "intercode-sql" else {"pool": 1}
        if name == "alfworld":
            _write_kitchen(folder / "data" / "json_2.1.1" / _KITCHEN)
            values["data"] = "data"
        module = import_module(f"coevolve_environments.plugins.{_MODULES.get(name, f'{name}.environment')}")
        self.environment: Environment = module.create(Settings(name, values, folder, folder / "state"))
        self.requests: list[Json] = self._listed["requests"]
        self.refused: list[Json] = self._listed["refused"]

    def compose(self, request: Json) -> Any:
        """Returns the composed task or its refusal."""
        actions = self.actions(request["reference"])
        return compose_task(self.environment, self._parent(request), request["query"], actions, {})

    def reward(self, task: ComposedTask, way: str) -> float:
        """Returns the reward of an attempt, and 0 if the judge grades."""
        end = _ENDS.get(self.name, "finish[]")
        episode = start_episode(self.environment, task.record.definition, 0)
        try:
            observation = episode.open()
            for action in [*self.actions(way), *([] if "finish[" in way else [self._written(end)])]:
                if not observation.done:
                    observation = episode.act(action)
            return observation.reward if observation.done and task.grader == "environment" else 0.0
        finally:
            episode.close()

    def actions(self, way: str) -> list[str]:
        before = self._listed.get("before")
        return [
            *([before] if before else []),
            *(self._written(action) for action in way.split(" / ") if action),
        ]

    def _written(self, action: str) -> str:
        if self.name != "appworld-mini":
            return action
        code = (
            mini_notes.LOGIN
            if action == "LOGIN"
            else _DELETE.sub(r"apis.simple_note.delete_note(note_id=ID(\1), access_token=token)", action)
        )
        code = _NOTE.sub(r'next(n["note_id"] for n in notes if n["title"] == \1)', code)
        return f"```python\n{code}\n```"

    def _parent(self, request: Json) -> Json:
        name = str(request.get("game", self._listed["parent"]))
        if self.name == "textworld-express":
            return {
                "task_id": f"{self.name}/{name}",
                "split": "train",
                "game": name,
                "seed": self._listed.get("seed", 1),
            }
        if self.name == "scienceworld":
            about = {"type": name, "variation": 0, "simplifications": "easy"}
            return {"task_id": f"{self.name}/{name}", "split": "train", **about}
        if self.name == "alfworld":
            return {"task_id": f"{self.name}/{_KITCHEN}", "split": "train", "game": _KITCHEN}
        options = {"databases": [name]} if self.name == "intercode-sql" else {}
        while True:
            try:
                tasks = self.environment.tasks("train", 10, 1, options)
                return next(t.definition for t in tasks if name in t.task_id)
            except NotReady:
                time.sleep(1)


def _write_kitchen(folder: Path) -> None:
    """Writes our kitchen in the layout of ALFWorld's data."""
    (package,) = ALFWORLD.glob("lib/python3*/site-packages/alfworld")
    grammar = (package / "data" / "alfred.twl2").read_text()
    game = {
        "pddl_domain": (package / "data" / "alfred.pddl").read_text(),
        "grammar": grammar.replace("UNKNOWN GOAL", "put an apple in the fridge"),
        "pddl_problem": (TESTS / "kitchen" / "problem.pddl").read_text(),
    }
    folder.mkdir(parents=True)
    (folder / "game.tw-pddl").write_text(json.dumps(game))


def mistakes(world: World, request: Json) -> list[str]:
    """Returns the ways that score wrongly: right ways must score 1, the others, and doing nothing, less."""
    task = world.compose(request)
    if not isinstance(task, ComposedTask):
        return [f"it is refused: {task.reason}, {task.detail}"]
    right = [f"a right way scores less: {way}" for way in request["right"] if world.reward(task, way) < 1]
    wrong = [way for way in [*request["wrong"], ""] if world.reward(task, way) == 1]
    return [*right, *(f"a wrong way scores: {way or 'nothing'}" for way in wrong)]
