"""appworld: AppWorld's own engine and evaluator, with the data that the operator downloaded.

Its data may be passed on encrypted only: none of it is here, and `hosted.appworld.root` names the folder.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.appworld.dataset import HELD_OUT, TRAIN, Dataset
from coevolve_environments.plugins.appworld.episode import AppWorldEpisode
from coevolve_environments.plugins.appworld.options import MAX_STEPS, read_options
from coevolve_environments.plugins.engine_python import engine_python
from coevolve_environments.processes.child_pool import ChildPool, ChildProgram, PoolLimits
from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
    Unavailable,
)
from coevolve_environments.settings import Settings

INSTALL = "`coevolve env install appworld`"
_START_SECONDS = 120.0  # a child imports 457 APIs: 7 s on a free core
_BEYOND_CODE_SECONDS = 10.0  # what the engine needs beside the block: its state on disk, the tests
_OUTSIDE_DATA_MB = 384  # the engine's process that a world is forked from, and what a world maps


def create(settings: Settings) -> Environment:
    """Of `root`, the folder with the data, and of pool, recycle_after, memory_mb, code_seconds."""
    python = find_appworld(settings)
    root = settings.path("root")
    if root is None or not (root / "data" / "datasets").is_dir():
        where = f"no data in {root}" if root else "hosted.appworld.root names no folder"
        raise Unavailable(f"AppWorld's data is missing ({where}): {INSTALL} --root FOLDER downloads it")
    return AppWorld(settings, python, root / "data", lambda: Dataset(settings.name, root / "data"))


def find_appworld(settings: Settings) -> Path:
    """
    Raises:
        Unavailable: the engine is missing, or its apps were not unpacked.
    """
    python = engine_python(settings, "appworld", "appworld/environment.py")
    unpacked = python.parent.parent.glob("lib/python3*/site-packages/appworld/apps/simple_note/apis.py")
    if next(unpacked, None) is None:
        raise Unavailable(f"AppWorld's apps are not unpacked: {INSTALL} does it")
    return python


class AppWorld(Environment):
    name = "appworld"
    description = "Do a task for a supervisor by Python code that calls the APIs of nine apps (AppWorld)."
    capabilities = Capabilities(
        variants=False, compose=False, replay="observations", dense_reward=True, max_steps=MAX_STEPS
    )
    call_seconds = _START_SECONDS + 30
    episode_seconds = 1800.0

    def __init__(self, settings: Settings, python: Path, data: Path, dataset: Callable[[], Dataset]) -> None:
        """
        Args:
            data: folder that the children read; it need not be there before `dataset` is called.
            dataset: called at first use.
        """
        self.name = settings.name
        self.max_sessions = settings.integer("pool", 2)
        memory_mb = settings.integer("memory_mb", 1024, minimum=768)
        self._code_seconds = settings.integer("code_seconds", 30)
        limits = PoolLimits(
            self.max_sessions,
            episodes=settings.integer("recycle_after", 50),
            memory_mb=memory_mb,
            start_seconds=_START_SECONDS,
            call_seconds=self._code_seconds + _BEYOND_CODE_SECONDS,
        )
        program = ChildProgram(
            "coevolve_environments.plugins.appworld.engine",
            "Engine",
            {"data": str(data), "memory_mb": memory_mb - _OUTSIDE_DATA_MB},
            python,
            # The package reads every `.env` above itself, ours among them.
            environ={"PYTHON_DOTENV_DISABLED": "1"},
            readable_paths=[data],
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
        drawn = random.Random(f"{seed}/{split}").sample(ids, min(count, len(ids)))
        extra: Json = asdict(chosen)
        del extra["held_out"]
        extra["dense"] = chosen.dense and subset == TRAIN
        return [self._dataset.record(task, subset, extra) for task in drawn]

    def start(self, definition: Json, seed: int) -> Episode:
        """The seed is not used: the engine seeds each world itself."""
        return AppWorldEpisode(self._pool, self._dataset, definition, self._code_seconds)

    def close(self) -> None:
        self._pool.close()
