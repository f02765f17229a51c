"""A plugin for the tests: its episodes count, in children or in threads of the server."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coevolve_environments.processes.child_pool import Child, ChildPool, ChildProgram, PoolLimits
from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Observation,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

STEPS = 5


def create(settings: Settings) -> Environment:
    if settings.text("where") == "thread":
        return Counting(settings.name, None)
    limits = PoolLimits(
        settings.integer("pool", 4),
        episodes=settings.integer("episodes_per_child", 50),
        memory_mb=settings.integer("memory_mb", 1024),
    )
    environ = {"PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parent.parent / 'src'}"}
    program = ChildProgram("child_programs", "Counter", {}, Path(sys.executable), environ)
    made = CountingCode if settings.text("where") == "code" else Counting
    return made(settings.name, ChildPool(settings.name, program, limits))


class Counting(Environment):
    """Actions are `<method> <number>` of child_programs.Counter; an episode has five."""

    control = "add 0"
    description = "counts"
    capabilities = Capabilities(variants=False, replay="observations", dense_reward=False, max_turns=STEPS)

    def __init__(self, name: str, pool: ChildPool | None) -> None:
        self.name = name
        self._pool = pool
        self.max_sessions = pool.limits.size if pool else None

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return []

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        return []

    def start(self, definition: Json, seed: int) -> Episode:
        text = str(definition.get("says", "count"))
        return InChild(self._pool.acquire(), text) if self._pool else InThread(text)

    def close(self) -> None:
        if self._pool:
            self._pool.close()


class CountingCode(Counting):
    runs_code = True


class InThread:
    task_id = "counting/1"
    split = "train"

    def __init__(self, text: str) -> None:
        self._text = text
        self.turn = 0

    def open(self) -> Observation:
        return Observation([{"role": "user", "content": self._text}], 0)

    def act(self, content: str) -> Observation:
        result = self.do(*content.split())
        self.turn += 1
        done = self.turn == STEPS
        return Observation([{"role": "user", "content": result}], self.turn, done=done, reward=float(done))

    def do(self, method: str, number: str) -> str:
        assert method == "sleep"
        time.sleep(float(number))
        return "slept"

    def close(self) -> None:
        pass


class InChild(InThread):
    def __init__(self, child: Child, text: str) -> None:
        super().__init__(text)
        self._child = child

    def do(self, method: str, number: str) -> str:
        names = {"add": "number", "sleep": "seconds", "hold": "megabytes"}
        arguments = (
            {names[method]: int(number) if method == "hold" else float(number)} if method in names else {}
        )
        return str(self._child.call(method, **arguments))

    def close(self) -> None:
        if self.turn == STEPS:
            self._child.release()
        else:
            self._child.end()
