"""bfcl: Berkeley Function-Calling Leaderboard, multi-turn (base, miss_func, miss_param, long_context).

Questions, answers, classes and checkers are those of the installed bfcl-eval package; its executor, which
evaluates model text and keeps every object for ever, is not used.

Splits: of each category the first 100 entries are train and the last 100 held out, as AgentEvolver does for
base, in the package's order.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.bfcl.compose import COMPOSED, compose, difficulty_of, read_composed
from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry, read_entries
from coevolve_environments.plugins.bfcl.episode import END_OF_TURN, MAX_STEPS_PER_TURN, BfclEpisode
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Composed,
    Environment,
    Episode,
    Json,
    Refusal,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

NAME = "bfcl"
_TRAIN = 100  # entries of each category, of 200
_OPTIONS = {"categories", "max_steps_per_turn", "dense"}


def create(settings: Settings) -> Environment:
    return Bfcl()


class Bfcl(Environment):
    name = NAME
    description = "Fulfil a user's requests over several turns by calling functions (BFCL multi-turn)."
    inline = (
        True  # the package's mathematics class sets a process-wide precision: two threads would mix them up
    )

    def __init__(self) -> None:
        self._entries = {entry.id: entry for category in CATEGORIES for entry in read_entries(category)}
        most_turns = max(len(entry.turns) for entry in self._entries.values())
        self.capabilities = Capabilities(
            variants=False,
            compose=True,
            replay="observations",
            dense_reward=False,
            max_steps=most_turns * (MAX_STEPS_PER_TURN + 1),
        )
        self._records = {split: self._published(split) for split in ("train", "held-out")}

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self._records[split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        categories, extra = _read_options(options)
        fit = [record for record in self._records[split] if record.features["pattern"] in categories]
        drawn = random.Random(f"{seed}/{split}").sample(fit, min(count, len(fit)))
        return [_with_definition(record, extra) for record in drawn]

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> Composed | Refusal:
        """One turn in the parent's initial configuration, with all functions of its classes."""
        _, extra = _read_options(options)
        return compose(self._entry(parent), query, actions, extra)

    def start(self, definition: Json, seed: int) -> Episode:
        """The seed is not used: the classes draw from generators that each scenario seeds."""
        entry = self._entry(definition)
        return BfclEpisode(
            entry,
            task_id=str(definition.get("task_id", f"{NAME}/{entry.id}")),
            split=_split(entry),
            max_steps_per_turn=_step_limit(definition.get("max_steps_per_turn", MAX_STEPS_PER_TURN)),
            dense=bool(definition.get("dense", False)),
        )

    def _entry(self, definition: Json) -> Entry:
        if COMPOSED in definition:
            return read_composed(definition)
        entry = self._entries.get(str(definition.get("entry_id")))
        if entry is None:
            raise BadRequest(f"unknown BFCL entry {definition.get('entry_id')!r}")
        return entry

    def _published(self, split: str) -> list[TaskRecord]:
        return [_record(entry) for entry in self._entries.values() if _split(entry) == split]


def _record(entry: Entry) -> TaskRecord:
    task_id = f"{NAME}/{entry.category}/{entry.number:03d}"
    calls = sum(len(turn) for turn in entry.answers)
    return TaskRecord(
        task_id=task_id,
        split=_split(entry),
        goal=" ".join(message["content"] for turn in entry.turns for message in turn),
        definition={
            "task_id": task_id,
            "entry_id": entry.id,
            "max_steps_per_turn": MAX_STEPS_PER_TURN,
            "dense": False,
        },
        features={
            "pattern": entry.category,
            "difficulty": difficulty_of(calls),
            "group": "+".join(sorted(entry.classes)),
            "turns": len(entry.turns),
            "calls": calls,
        },
        content_key=hashlib.sha256(entry.id.encode()).hexdigest(),
        reference_actions=_reference_actions(entry),
    )


def _reference_actions(entry: Entry) -> list[str]:
    """Per turn: all its calls as one list, if it has any, and then a message that ends it."""
    actions: list[str] = []
    for calls in entry.answers:
        if calls:
            actions.append(f"[{', '.join(calls)}]")
        actions.append(END_OF_TURN)
    return actions


def _split(entry: Entry) -> Split:
    return "train" if entry.number < _TRAIN else "held-out"


def _read_options(options: Mapping[str, Any]) -> tuple[Sequence[str], Json]:
    if unknown := sorted(set(options) - _OPTIONS):
        raise BadRequest(f"unknown option {unknown[0]!r}; known: {', '.join(sorted(_OPTIONS))}")
    categories = options.get("categories") or CATEGORIES
    if not isinstance(categories, list | tuple) or any(name not in CATEGORIES for name in categories):
        raise BadRequest(
            f"`options.categories` must be a list of {', '.join(CATEGORIES)}, got {categories!r}"
        )
    limit = _step_limit(options.get("max_steps_per_turn", MAX_STEPS_PER_TURN))
    if not isinstance(dense := options.get("dense", False), bool):
        raise BadRequest(f"`options.dense` must be true or false, got {dense!r}")
    return categories, {"max_steps_per_turn": limit, "dense": dense}


def _step_limit(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_STEPS_PER_TURN:
        raise BadRequest(f"`max_steps_per_turn` must be an integer in 1..{MAX_STEPS_PER_TURN}, got {value!r}")
    return value


def _with_definition(record: TaskRecord, extra: Json) -> TaskRecord:
    return replace(record, definition={**record.definition, **extra})
