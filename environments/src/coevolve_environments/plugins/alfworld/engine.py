"""Runs ALFWorld's text games inside a child, one at a time.

The engine is TextWorld's interpreter of PDDL games with ALFWorld's object names. TextWorld also imports
jericho, an interpreter of other games that needs a compiler and is GPL. An empty module replaces it here, so
such games cannot be loaded.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from coevolve_environments.plugins.alfworld.game_facts import facts_of_game
from coevolve_environments.protocol import BadRequest, Json
from coevolve_environments.world_state import Fact

_LEFT_OUT = ("not_", "atlocation(agent", "checked(")
"""Facts that follow from others, the agent's position, and a record of its looks."""


class Games:
    """Games of one folder, named by their relative path."""

    def __init__(self, data: str) -> None:
        """
        Args:
            data: folder with the sets of games, `json_2.1.1` of ALFWorld's data.
        """
        self._data = Path(data)
        os.environ["ALFWORLD_DATA"] = str(Path.home() / "alfworld")
        _replace_jericho()
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs.pddl import PddlEnv

        infos = textworld.EnvInfos(won=True)
        self._engine: Any = AlfredDemangler(PddlEnv(infos), shuffle=False)

    def open(self, game: str) -> Json:
        """Starts a new game and returns its first observation: the room, then the task."""
        return {"observation": self._start(game).feedback}

    def step(self, action: str) -> Json:
        state, _, _ = self._engine.step(action)
        return {"observation": state.feedback, "won": bool(state["won"])}

    def state(self) -> Json:
        """Returns the facts of the game, such as the place of each thing."""
        facts = (str(fact) for fact in self._engine.unwrapped._pddl_state.facts)
        return {"facts": sorted(fact for fact in facts if not fact.startswith(_LEFT_OUT))}

    def facts(self) -> list[Fact]:
        """Returns places, holders, doors and properties of all things, and the place of the agent."""
        pddl = self._engine.unwrapped
        names = {name: info.name for name, info in pddl._entity_infos.items()}
        return facts_of_game(map(str, pddl._pddl_state.facts), names)

    def solve(self, game: str) -> Json:
        """Returns `actions` that win when played, from the game's file, else from the planner, else none.

        Later versions of the engine may have renamed objects of the file.
        """
        state = self._start(game)
        recorded = list(self._engine.walkthrough or [])
        for actions in (recorded, None):
            actions = self._plan(game) if actions is None else actions
            if actions and self._wins(game, actions):
                return {"observation": state.feedback, "actions": actions}
        return {"observation": state.feedback, "actions": []}

    def _plan(self, game: str) -> list[str]:
        self._start(game)
        pddl = self._engine.unwrapped
        return list(pddl._pddl_state.replan(pddl._entity_infos))

    def _wins(self, game: str, actions: Iterable[str]) -> bool:
        state = self._start(game)
        for action in actions:
            state, _, _ = self._engine.step(action)
        return bool(state["won"])

    def _start(self, game: str) -> Any:
        file = (self._data / game / "game.tw-pddl").resolve()
        if not file.is_relative_to(self._data.resolve()) or not file.is_file():
            raise BadRequest(f"unknown game {game!r}: expected a path below {self._data}")
        self._engine.load(str(file))
        return self._engine.reset()


def _replace_jericho() -> None:
    if "jericho" not in sys.modules:
        module = ModuleType("jericho")
        for name in ("UnsupportedGameWarning", "TruncatedInputActionWarning"):
            setattr(module, name, Warning)
        sys.modules["jericho"] = module
