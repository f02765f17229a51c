"""An environment whose tasks have the flaw in their options, for tests of failing checks."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

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

ACTIONS = ["left", "right", "open"]
shared: dict[str, list[str]] = {"actions": []}


def create(settings: Settings) -> Environment:
    return Flawed()


class Flawed(Environment):
    name = "flawed"
    description = "Three actions open a door."
    capabilities = Capabilities(variants=False, replay="observations", dense_reward=False, max_turns=3)

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return []

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        return [record(split, number, options.get("flaw", "none")) for number in range(min(count, 30))]

    def start(self, definition: Json, seed: int) -> Episode:
        return Door(definition)


def record(split: Split, number: int, flaw: str) -> TaskRecord:
    task_id = f"flawed/{split}/{number}"
    gold = ["left", "left", "left"] if flaw == "gold" else ACTIONS
    return TaskRecord(
        task_id=task_id,
        split=split,
        goal="open the door",
        definition={"task_id": task_id, "split": split, "flaw": flaw},
        features={"pattern": "door"},
        content_key=hashlib.sha256(task_id.encode()).hexdigest(),
        reference_actions=gold,
    )


class Door:
    def __init__(self, definition: Json) -> None:
        self.task_id = definition["task_id"]
        self.split = definition["split"]
        self._flaw = definition["flaw"]
        self._actions: list[str] = []
        if self._flaw == "shared":
            shared["actions"] = self._actions

    def open(self) -> Observation:
        if self._flaw == "opening":
            raise RuntimeError("there is no door")
        return Observation([{"role": "user", "content": self._smell()}], 0)

    def act(self, content: str) -> Observation:
        if self._flaw == "fault":
            raise RuntimeError("the door is broken")
        actions = shared["actions"] if self._flaw == "shared" else self._actions
        actions.append(content)
        self._actions.append(content) if actions is not self._actions else None
        done = len(self._actions) == len(ACTIONS)
        won = done and (actions == ACTIONS or self._flaw == "forgiving")
        reward = 0.25 if self._flaw == "idle" and not won else float(won)
        return Observation([{"role": "user", "content": self._smell()}], 0, done=done, reward=reward)

    def close(self) -> None:
        return None

    def _smell(self) -> str:
        if self._flaw == "twins":
            return "room " + str(self.task_id).split("/")[-1]
        return os.urandom(4).hex() if self._flaw == "random" else "musty"
