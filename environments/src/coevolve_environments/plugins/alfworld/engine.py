"""The child's side: ALFWorld's text games, one at a time.

The engine is TextWorld's interpreter of PDDL games under ALFWorld's own naming of things. TextWorld also
imports jericho, the interpreter of another kind of game, which has to be compiled and is GPL: an empty module
stands in its place, and such games cannot be loaded here.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from coevolve_environments.protocol import BadRequest, Json


class Games:
    """Games of one folder, named by their path below it."""

    def __init__(self, data: str) -> None:
        """
        Args:
            data: folder of the games' sets, `json_2.1.1` of ALFWorld's data.
        """
        self._data = Path(data)
        os.environ["ALFWORLD_DATA"] = str(Path.home() / "alfworld")
        _stand_in_for_jericho()
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs.pddl import PddlEnv

        infos = textworld.EnvInfos(won=True)
        self._engine: Any = AlfredDemangler(PddlEnv(infos), shuffle=False)

    def open(self, game: str) -> Json:
        """The first observation of a fresh game: the room, then the task."""
        return {"observation": self._fresh(game).feedback}

    def step(self, action: str) -> Json:
        state, _, _ = self._engine.step(action)
        return {"observation": state.feedback, "won": bool(state["won"])}

    def solve(self, game: str) -> Json:
        """`actions` that were played and won: those of the game's file, else the planner's, else none.

        The file's were written under names that later versions of the engine may have changed.
        """
        state = self._fresh(game)
        recorded = list(self._engine.walkthrough or [])
        for actions in (recorded, None):
            actions = self._plan(game) if actions is None else actions
            if actions and self._wins(game, actions):
                return {"observation": state.feedback, "actions": actions}
        return {"observation": state.feedback, "actions": []}

    def _plan(self, game: str) -> list[str]:
        self._fresh(game)
        pddl = self._engine.unwrapped
        return list(pddl._pddl_state.replan(pddl._entity_infos))

    def _wins(self, game: str, actions: Iterable[str]) -> bool:
        state = self._fresh(game)
        for action in actions:
            state, _, _ = self._engine.step(action)
        return bool(state["won"])

    def _fresh(self, game: str) -> Any:
        file = (self._data / game / "game.tw-pddl").resolve()
        if not file.is_relative_to(self._data.resolve()) or not file.is_file():
            raise BadRequest(f"there is no game {game!r} in {self._data}")
        self._engine.load(str(file))
        return self._engine.reset()


def _stand_in_for_jericho() -> None:
    if "jericho" not in sys.modules:
        module = ModuleType("jericho")
        for name in ("UnsupportedGameWarning", "TruncatedInputActionWarning"):
            setattr(module, name, Warning)
        sys.modules["jericho"] = module
