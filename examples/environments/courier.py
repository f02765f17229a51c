"""courier: an example of a complete environment in one file: carry a parcel through a grid of streets.

courier.yaml mounts it, and docs/new-environment.md explains each part.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from coevolve_environments.plugins.react import action_of
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Environment,
    Json,
    Observation,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

MOVES = {"north": (0, -1), "south": (0, 1), "west": (-1, 0), "east": (1, 0)}
ACTIONS = (*MOVES, "take", "drop")
POSITIONS = ("start", "parcel", "door")


def create(settings: Settings) -> Environment:
    return Courier(size=settings.integer("size", 5, minimum=2))


class Courier(Environment):
    name = "courier"
    description = "Fetch a parcel and bring it to a door; holding it scores a half."
    inline = True  # an action takes microseconds and needs no thread

    def __init__(self, size: int) -> None:
        self._size = size
        self.capabilities = Capabilities(
            variants=False,
            compose="checker",
            states=True,
            replay="observations",
            dense_reward=True,
            max_turns=4 * size,
        )

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self.tasks(split, 50, 0, {})

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        if options:
            raise BadRequest(f"courier has no options, got {', '.join(sorted(options))}")
        generator = random.Random(f"{seed}/{split}")
        cells = [[x, y] for x in range(self._size) for y in range(self._size)]
        found: dict[str, TaskRecord] = {}
        for _ in range(20 * count):  # one task in four is held out, and some draws repeat
            record = self._record(dict(zip(POSITIONS, generator.sample(cells, 3), strict=True)))
            if record.split == split and len(found) < count:
                found[record.content_key] = record
        return list(found.values())

    def start(self, definition: Json, seed: int) -> "Delivery":
        return Delivery(definition)

    def _record(self, positions: dict[str, list[int]]) -> TaskRecord:
        key = hashlib.sha256(f"{self._size} {positions}".encode()).hexdigest()
        # The split depends on the content, so no task is in both splits.
        split: Split = "held-out" if int(key[:8], 16) % 4 == 0 else "train"
        task_id = f"courier/{key[:16]}"
        gold = [
            *_path(positions["start"], positions["parcel"]),
            "take",
            *_path(positions["parcel"], positions["door"]),
            "drop",
        ]
        return TaskRecord(
            task_id=task_id,
            split=split,
            goal=f"Take the parcel at {positions['parcel']} to the door at {positions['door']}.",
            definition={"task_id": task_id, "split": split, "size": self._size, **positions},
            features={"pattern": "delivery", "difficulty": 1 + len(gold) // 5},
            content_key=key,
            reference_actions=gold,
        )


class Delivery:
    """One attempt. Its whole state comes from the task's definition."""

    def __init__(self, definition: Json) -> None:
        try:
            self.task_id, self.split = str(definition["task_id"]), str(definition["split"])
            self._size = int(definition["size"])
            self._at, self._parcel, self._door = ([int(v) for v in definition[name]] for name in POSITIONS)
        except (KeyError, TypeError, ValueError) as error:
            raise BadRequest(f"invalid task definition: {error!r}") from None
        self._holds, self._steps = False, 0

    def open(self) -> Observation:
        rules = (
            f"You are a courier. Each turn say one of {', '.join(ACTIONS)}. [0, 0] is the north-west corner."
        )
        task = f"Take the parcel at {self._parcel} to the door at {self._door}."
        opening = [
            {"role": "system", "content": rules},
            {"role": "user", "content": f"{task} {self._position()}"},
        ]
        return Observation(opening, turn=0, instruction=task)  # a composed task replaces the instruction

    def act(self, content: str) -> Observation:
        self._steps += 1
        action = action_of(content).lower()
        delivered = action == "drop" and self._holds and self._at == self._door
        if action in MOVES:
            moved = [here + step for here, step in zip(self._at, MOVES[action], strict=True)]
            self._at = moved if all(0 <= v < self._size for v in moved) else self._at
        elif action == "take" and self._at == self._parcel:
            self._holds = True
        text = self._position() if action in ACTIONS else f"{action[:40]!r} is none of {', '.join(ACTIONS)}."
        messages = [{"role": "user", "content": text}]
        score = 1.0 if delivered else 0.5 if self._holds else 0.0
        if not delivered and self._steps < 4 * self._size:
            return Observation(messages, self._steps, score=score)
        return Observation.final(
            messages,
            self._steps,
            reward=score,
            raw_score=score,
            success=delivered,
            stop_reason="completed" if delivered else "turn-limit",
            score=score,
        )

    def state(self) -> Json:
        """Returns all that actions change; it is the checker of composed tasks."""
        return {"at": self._at, "holds": self._holds}

    def changes(self, state: Json) -> list[str]:
        """Returns the changes by the actions, for the judge of a composed task."""
        return [self._position()]

    def close(self) -> None:
        """Nothing to free."""

    def _position(self) -> str:
        return f"You are at {self._at} and hold {'the parcel' if self._holds else 'nothing'}."


def _path(start: list[int], end: list[int]) -> list[str]:
    (x, y), (to_x, to_y) = start, end
    across = ["east" if to_x > x else "west"] * abs(to_x - x)
    return across + ["south" if to_y > y else "north"] * abs(to_y - y)
