"""alfworld: ALFWorld's text games of household tasks, with the operator's copy of the data."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.alfworld.episode import (
    DEFAULT_STEPS,
    MAX_STEPS,
    TASK,
    AlfworldEpisode,
    turn_limit,
    without_banner,
)
from coevolve_environments.plugins.alfworld.games import GAMES, TYPES, Game, Games
from coevolve_environments.plugins.alfworld.gold import GoldStore
from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.engine_python import engine_python
from coevolve_environments.plugins.pool_settings import read_pool_limits
from coevolve_environments.plugins.validation import names_option, refuse_unknown
from coevolve_environments.processes.child_pool import ChildPool, ChildProgram
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
    Unavailable,
)
from coevolve_environments.settings import Settings

NAME = "alfworld"
_HELD_OUT = ("seen", "unseen")
_OPTIONS = ("held_out", "types", "max_turns")


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
    held_out = options.get("held_out", "seen")
    if held_out not in _HELD_OUT:
        raise BadRequest(f"`options.held_out` must be one of {', '.join(_HELD_OUT)}, got {held_out!r}")
    types = names_option({"types": options.get("types") or None}, "types", TYPES) or ()
    return held_out, types, turn_limit(options.get("max_turns", DEFAULT_STEPS))
