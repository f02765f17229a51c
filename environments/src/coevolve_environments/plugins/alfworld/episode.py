"""One attempt at one game: commands until it is won or the step limit is reached."""

import re

from coevolve_environments.plugins.alfworld.games import Game, Games
from coevolve_environments.plugins.command import command_of
from coevolve_environments.plugins.validation import integer_in_range, require_fields
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import BadRequest, Json, Observation

MAX_STEPS = 100
DEFAULT_STEPS = 40
"""ETO's limit for ALFWorld (Song et al. 2024, arXiv:2403.02502)."""
NOTHING = "Nothing happens."
TASK = re.compile(r"Your task is to:\s*(.+?)\s*$", re.DOTALL)
_BANNER = re.compile(r"^-= .*? =-\s*")
_INSTRUCTION = """You are in a room of a house and carry out one task by short text commands, one per turn:
look, inventory, go to PLACE, open PLACE, close PLACE, take THING from PLACE, move THING to PLACE,
examine THING, use THING, heat THING with PLACE, cool THING with PLACE, clean THING with PLACE,
slice THING with THING. Things and places go by the names and numbers that you are shown.
A command that cannot be carried out answers "Nothing happens."
"""


class AlfworldEpisode:
    """Reward 1 when the game is won, 0 otherwise (Shridhar et al. 2021, arXiv:2010.03768)."""

    def __init__(self, pool: ChildPool, games: Games, definition: Json) -> None:
        self._game = _checked(definition, games)
        self.task_id: str = definition["task_id"]
        self.split: str = self._game.split
        self._limit = turn_limit(definition.get("max_turns", DEFAULT_STEPS))
        self._query = definition.get("query")
        self._child = EpisodeChild(pool)
        self._turn = 0
        self._opened: Json = {"facts": []}

    def open(self) -> Observation:
        room = self._child.call("open", game=self._game.path)["observation"]
        if self._query is not None:
            self._opened = self.state()
        messages = [
            {"role": "system", "content": f"{_INSTRUCTION}You have {self._limit} turns."},
            {"role": "user", "content": without_banner(room)},
        ]
        stated = TASK.search(messages[1]["content"])
        return Observation(messages, turn=0, instruction=stated.group(1) if stated else None)

    def act(self, content: str) -> Observation:
        self._turn += 1
        state = self._child.call("step", action=command_of(content))
        messages = [{"role": "user", "content": state["observation"]}]
        won = state["won"]
        won = won and self._query is None  # another task is not over with the goal of this game
        if not won and self._turn < self._limit:
            return Observation(messages, self._turn)
        return Observation.final(
            messages,
            self._turn,
            reward=float(won),
            raw_score=float(won),
            success=won,
            stop_reason="completed" if won else "turn-limit",
            error_type="no-such-action" if state["observation"] == NOTHING else None,
        )

    def state(self) -> Json:
        return dict(self._child.call("state"))

    def changes(self, state: Json) -> list[str]:
        before, after = set(self._opened["facts"]), set(state["facts"])
        return [f"gone: {fact}" for fact in sorted(before - after)] + [
            f"added: {fact}" for fact in sorted(after - before)
        ]

    def close(self) -> None:
        self._child.close()


def turn_limit(value: object) -> int:
    return integer_in_range(value, "max_turns", MAX_STEPS)


def without_banner(room: str) -> str:
    """Returns the room and the task without the engine's greeting."""
    return _BANNER.sub("", room).strip()


def _checked(definition: Json, games: Games) -> Game:
    require_fields(definition, {"task_id": str})
    game = games.find(definition.get("game"))
    if game is None:
        raise BadRequest(f"unknown game {definition.get('game')!r}: expected a path in {games.data}")
    return game
