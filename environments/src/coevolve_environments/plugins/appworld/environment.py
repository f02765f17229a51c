"""appworld: AppWorld's engine and evaluator, with data that the operator has downloaded.

The data may be distributed only encrypted, so none of it is included; `hosted.appworld.root` is its folder.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.appworld.code_action import code_action
from coevolve_environments.plugins.appworld.dataset import HELD_OUT, MAX_STEPS, TRAIN, Dataset, read_options
from coevolve_environments.plugins.appworld.episode import AppWorldEpisode
from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.pool_settings import engine_python, read_pool_limits
from coevolve_environments.processes.child_pool import ChildPool, ChildProgram
from coevolve_environments.protocol import (
    Capabilities,
    Composing,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
    Unavailable,
)
from coevolve_environments.settings import Settings

INSTALL = "`coevolve env install appworld`"
_START_SECONDS = 120.0  # a child imports 457 APIs, 7 s on a free core
_OVERHEAD_SECONDS = 10.0  # of the engine per block: its state on disk, the tests
_ENGINE_MB = 384  # the two processes outside the fork, and mapped files of a world


def create(settings: Settings) -> Environment:
    """Reads `root`, the folder with the data, and pool, episodes_per_child, memory_mb, code_seconds."""
    python = find_appworld(settings)
    root = settings.path("root")
    if root is None or not (root / "data" / "datasets").is_dir():
        reason = f"no data in {root}" if root else "hosted.appworld.root is not set"
        raise Unavailable(f"AppWorld's data is missing ({reason}): {INSTALL} --root FOLDER downloads it")
    data = root / "data"
    return AppWorld(settings, python, data, data / "tasks", lambda: Dataset(settings.name, data))


def find_appworld(settings: Settings) -> Path:
    """
    Raises:
        Unavailable: the engine is missing or its apps are not unpacked.
    """
    python = engine_python(settings, "appworld", "appworld/environment.py")
    unpacked = python.parent.parent.glob("lib/python3*/site-packages/appworld/apps/simple_note/apis.py")
    if next(unpacked, None) is None:
        raise Unavailable(f"AppWorld's apps are not unpacked: run {INSTALL}")
    return python


class AppWorld(Environment):
    name = "appworld"
    description = "Do a task for a supervisor by Python code that calls the APIs of nine apps (AppWorld)."
    capabilities = Capabilities(
        variants=False,
        compose="checker",
        states=True,
        replay="observations",
        dense_reward=True,
        max_turns=MAX_STEPS,
    )
    finish = code_action("apis.supervisor.complete_task()")
    composing = Composing(fails=re.compile(r"\AExecution failed"), exact=True)
    control = finish  # runs code and the tests
    runs_code = True
    call_seconds = _START_SECONDS + 30
    episode_seconds = 1800.0

    def __init__(
        self, settings: Settings, python: Path, data: Path, hidden: Path, dataset: Callable[[], Dataset]
    ) -> None:
        """
        Args:
            data: folder that the children read; `dataset` may create it.
            hidden: folder with all gold; it may contain `data`, of which attempts then read what they need.
            dataset: called at first use.
        """
        self.name = settings.name
        self._code_seconds = settings.integer("code_seconds", 30)
        limits = read_pool_limits(
            settings,
            size=2,
            memory_mb=1024,
            min_memory_mb=768,
            start_seconds=_START_SECONDS,
            call_seconds=self._code_seconds + _OVERHEAD_SECONDS,
        )
        self.max_sessions = limits.size
        program = ChildProgram(
            "coevolve_environments.plugins.appworld.engine",
            "Engine",
            {"data": str(data), "hidden": str(hidden), "memory_mb": limits.memory_mb - _ENGINE_MB},
            python,
            # The package would read every `.env` in its parent folders, including ours.
            environ={"PYTHON_DOTENV_DISABLED": "1"},
            readable_paths=[data],
            runs_code=True,
        )
        self._pool = ChildPool(self.name, program, limits)
        self._make_dataset = dataset

    @cached_property
    def _dataset(self) -> Dataset:
        return self._make_dataset()

    def published(self, split: Split) -> Sequence[TaskRecord]:
        subsets = (TRAIN,) if split == "train" else HELD_OUT
        return [
            self._dataset.record(task, subset, {})
            for subset in subsets
            for task in self._dataset.tasks(subset)
        ]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        chosen = read_options(options)
        subset = TRAIN if split == "train" else chosen.held_out
        ids = self._dataset.tasks(subset)
        drawn = sample(ids, count, seed, split)
        extra: Json = asdict(chosen)
        del extra["held_out"]
        extra["dense"] = chosen.dense and subset == TRAIN
        return [self._dataset.record(task, subset, extra) for task in drawn]

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: the engine seeds each world itself."""
        return AppWorldEpisode(self._pool, self._dataset, definition, self._code_seconds)

    def close(self) -> None:
        self._pool.close()
