"""Gold of the games: found once, proved by being played, kept as JSON."""

import json
import os
import threading
import time
from hashlib import sha256
from pathlib import Path

from coevolve_environments.plugins.alfworld.games import Game
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.protocol import Json, NotReady

_PATIENCE_SECONDS = 80.0  # a data route answers within 100


class Gold:
    """Of one folder of games."""

    def __init__(self, pool: ChildPool, folder: Path) -> None:
        self._pool = pool
        self._folder = folder

    def solve(self, games: list[Game]) -> list[Json]:
        """For each game its first `observation` and its `actions`, none where no plan won.

        Raises:
            NotReady: they would take more than 80 s; the same request goes on where this one stopped.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        solved: list[Json] = []
        for game in games:
            file = self._folder / f"{sha256(game.path.encode()).hexdigest()[:24]}.json"
            if not file.exists():
                if time.monotonic() > deadline:
                    raise NotReady(f"{len(solved)} of {len(games)} games are solved; ask again for the rest")
                with self._pool.data_child() as child:
                    _save(file, child.call("solve", game=game.path))
            solved.append(json.loads(file.read_text(encoding="utf8")))
        return solved


def _save(file: Path, solution: Json) -> None:
    """Whole or not at all: several servers may share the folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    unfinished.write_text(json.dumps(solution), encoding="utf8")
    unfinished.replace(file)
