"""Gold actions of the games: found once, verified by an episode, stored as JSON."""

import json
import time
from hashlib import sha256
from pathlib import Path

from coevolve_environments.plugins.alfworld.games import Game
from coevolve_environments.plugins.atomic_files import write_atomically
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.protocol import Json, NotReady

_SOLVE_SECONDS = 30.0  # then the data route responds with its progress


class GoldStore:
    """Gold of the games in one folder, shared by several servers."""

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
