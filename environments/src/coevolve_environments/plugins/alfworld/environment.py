"""alfworld: ALFWorld's text games of household tasks, with the operator's copy of the data."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.alfworld.game_facts import WORDS
from coevolve_environments.plugins.alfworld.games import GAMES, TYPES, Game, Games
from coevolve_environments.plugins.atomic_files import write_atomically
from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.pool_settings import engine_python, read_pool_limits
from coevolve_environments.plugins.spellings import command_of
from coevolve_environments.plugins.validation import (
    integer_in_range,
    names_option,
    one_of,
    refuse_unknown,
    require_fields,
)
from coevolve_environments.processes.child_pool import ChildPool, ChildProgram
from coevolve_environments.processes.episode_child import EpisodeChild
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Composing,
    Environment,
    Episode,
    Json,
    NotReady,
    Observation,
    Split,
    TaskRecord,
    Unavailable,
)
from coevolve_environments.settings import Settings
from coevolve_environments.world_state import Fact

NAME = "alfworld"
_HELD_OUT = ("seen", "unseen")
_OPTIONS = ("held_out", "types", "max_turns")
_SOLVE_SECONDS = 30.0  # then the data route responds with its progress
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


def create(settings: Settings) -> Environment:
    """Reads `data` (the folder $ALFWORLD_DATA of ALFWorld), `pool`, `episodes_per_child` and `memory_mb`."""
    python = engine_python(settings, NAME, "alfworld/agents")
    data = settings.path("data")
    if data is None or not (data / GAMES).is_dir():
        reason = f"no {GAMES} in {data}" if data else "hosted.alfworld.data is not set"
        raise Unavailable(f"ALFWorld's games are missing ({reason}): run `alfworld-download`")
    return Alfworld(settings, python, data)


class Alfworld(Environment):
    name = NAME
    description = "Carry out a household task in a text game (ALFWorld)."
    capabilities = Capabilities(
        variants=False,
        compose="checker",
        states=True,
        replay="observations",
        dense_reward=False,
        max_turns=MAX_STEPS,
        min_actions=2,
    )
    composing = Composing(
        looks=("look", "inventory"),
        informs=re.compile(r"(?:look|inventory|examine|go to)\b", re.IGNORECASE),
        fails=re.compile(r"\ANothing happens"),
        words=WORDS,
    )
    call_seconds = 60.0  # the first reset of a child includes its imports, 2 s on a free core
    episode_seconds = 900.0

    def __init__(self, settings: Settings, python: Path, data: Path) -> None:
        self.name = settings.name
        limits = read_pool_limits(settings, size=4, memory_mb=512, min_memory_mb=128)
        self.max_sessions = limits.size
        program = ChildProgram(
            "coevolve_environments.plugins.alfworld.engine",
            "Games",
            {"data": str(data / GAMES)},
            python,
            readable_paths=[data / GAMES],
        )
        self._games = Games(data)
        self._pool = ChildPool(self.name, program, limits)
        self._gold = GoldStore(self._pool, settings.state / "gold")

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Lists every game without its plan: to solve all takes an hour."""
        subsets = ("train",) if split == "train" else _HELD_OUT
        return [
            self._record(game, DEFAULT_STEPS) for subset in subsets for game in self._games.in_subset(subset)
        ]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        subset, types, limit = _read_options(options)
        games = self._games.in_subset("train" if split == "train" else subset)
        fit = [game for game in games if not types or game.type in types]
        drawn = sample(fit, count, seed, split)
        solved = self._gold.solve(drawn)
        return [self._record(game, limit, found) for game, found in zip(drawn, solved, strict=True)]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: nothing in a game is random."""
        return AlfworldEpisode(self._pool, self._games, definition)

    def close(self) -> None:
        self._pool.close()

    def _record(self, game: Game, limit: int, solved: Json | None = None) -> TaskRecord:
        task_id = f"{NAME}/{game.path}"
        goal, actions = game.type, []
        if solved is not None:
            actions = solved["actions"]
            found = TASK.search(without_banner(solved["observation"]))
            goal = found.group(1) if found else goal
        definition = {"task_id": task_id, "game": game.path, "split": game.split, "max_turns": limit}
        key = sha256(task_id.encode()).hexdigest()
        return TaskRecord(task_id, game.split, goal, definition, game.features, key, actions)


def _read_options(options: Mapping[str, Any]) -> tuple[str, Sequence[str], int]:
    """Returns the held-out set, the task types (empty: all), and the step limit."""
    refuse_unknown(options, _OPTIONS)
    held_out = one_of(options.get("held_out", "seen"), "options.held_out", _HELD_OUT)
    types = names_option({"types": options.get("types") or None}, "types", TYPES) or ()
    return held_out, types, turn_limit(options.get("max_turns", DEFAULT_STEPS))


class GoldStore:
    """Gold of the games in one folder, shared by several servers: found once, verified by an episode."""

    def __init__(self, pool: ChildPool, folder: Path) -> None:
        self._pool = pool
        self._folder = folder

    def solve(self, games: list[Game]) -> list[Json]:
        """Returns for each game its first `observation` and its `actions`, none if no plan won.

        Raises:
            NotReady: it takes more than 30 s; the next call continues from there.
        """
        deadline = time.monotonic() + _SOLVE_SECONDS
        solved: list[Json] = []
        for game in games:
            file = self._folder / f"{sha256(game.path.encode()).hexdigest()[:24]}.json"
            if not file.exists():
                if time.monotonic() > deadline:
                    raise NotReady(len(solved), len(games), "games")
                with self._pool.data_child() as child:
                    solution = child.call("solve", game=game.path)
                write_atomically(file, json.dumps(solution).encode())
            solved.append(json.loads(file.read_text(encoding="utf8")))
        return solved


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

    def facts(self) -> list[Fact]:
        return [(subject, relation, value) for subject, relation, value in self._child.call("facts")]

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
