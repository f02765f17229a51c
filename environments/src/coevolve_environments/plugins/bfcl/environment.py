"""bfcl: Berkeley Function-Calling Leaderboard, multi-turn (base, miss_func, miss_param, long_context).

Questions, answers, classes and checkers come from the installed bfcl-eval package. Its executor is not
used, because it evaluates model text and keeps every object forever.

Reward: the published metric, 0 or 1. The options `dense` (turns passed / turns, ours) and `irrelevance` (no
calls in a turn without gold calls) are for training only: held-out tasks ignore them, so that every reported
figure is the published metric. With the option `published_prompts` the prompts are the published
ones, too: 4 times as long, with the functions in the system prompt. With `strict` only such answers are calls
as the published evaluation reads.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.bfcl.compose import COMPOSED, compose, difficulty_of, read_composed
from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry, read_entries
from coevolve_environments.plugins.bfcl.episode import END_OF_TURN, MAX_STEPS_PER_TURN, BfclEpisode
from coevolve_environments.plugins.bfcl.splits import SPLIT_OPTIONS, EntrySplit, read_split
from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.validation import boolean_option, integer_in_range, refuse_unknown
from coevolve_environments.protocol import (
    SPLITS,
    BadRequest,
    Capabilities,
    ComposedTask,
    Environment,
    Episode,
    Json,
    Refusal,
    SpecDefaults,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

NAME = "bfcl"
_DEFAULTS = ("agentevolver", "seal")
_FLAGS = ("dense", "irrelevance", "published_prompts")
_OPTIONS = SPLIT_OPTIONS | {"max_steps_per_turn", "strict", *_FLAGS}


def create(settings: Settings) -> Environment:
    """Reads `split`, the default of the option `split`: agentevolver or seal (seal)."""
    name = settings.text("split", "seal") or "seal"
    if name not in _DEFAULTS:
        raise settings.invalid("split", " or ".join(_DEFAULTS), name)
    return Bfcl(name)


class Bfcl(Environment):
    name = NAME
    description = "Fulfil a user's requests over several turns by calling functions (BFCL multi-turn)."
    spec_defaults = SpecDefaults(train_tasks=100, held_out_tasks=60)
    inline = True  # the package's mathematics class sets a process-wide precision, not safe in two threads

    def __init__(self, split: str = "seal") -> None:
        """
        Args:
            split: name of the split that `published` lists, and default of the option `split`.
        """
        self._split = split
        self._entries = {entry.id: entry for category in CATEGORIES for entry in read_entries(category)}
        max_turns = max(len(entry.turns) for entry in self._entries.values())
        self.capabilities = Capabilities(
            variants=False,
            compose="checker",
            replay="observations",
            dense_reward=False,
            max_turns=max_turns * (MAX_STEPS_PER_TURN + 1),
            constant_answers=((END_OF_TURN,) * max_turns,),
        )
        entry_split = read_split({}, split)
        self._records = {side: self._side(side, entry_split) for side in SPLITS}

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self._records[split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        entry_split, extra = _read_options(options, self._split)
        fit = self._side(split, entry_split)
        drawn = sample(fit, count, seed, split)
        if split == "held-out":
            extra = {**extra, "dense": False, "irrelevance": False}
        return [_with_definition(record, extra) for record in drawn]

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> ComposedTask | Refusal:
        """Composes one turn in the parent's initial configuration, with all functions of its classes."""
        _, extra = _read_options(options, self._split)
        return compose(self._entry(parent), query, actions, extra)

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: the classes draw from generators that each scenario seeds."""
        entry = self._entry(definition)
        split = _split_of(definition, entry)
        return BfclEpisode(
            entry,
            task_id=str(definition.get("task_id", f"{NAME}/{entry.id}")),
            split=split,
            max_steps_per_turn=_step_limit(definition.get("max_steps_per_turn", MAX_STEPS_PER_TURN)),
            dense=split == "train" and bool(definition.get("dense", False)),
            irrelevance=split == "train" and bool(definition.get("irrelevance", False)),
            published_prompts=bool(definition.get("published_prompts", False)),
            strict=bool(definition.get("strict", False)),
            composed=COMPOSED in definition,
        )

    def _entry(self, definition: Json) -> Entry:
        if COMPOSED in definition:
            return read_composed(definition)
        entry = self._entries.get(str(definition.get("entry_id")))
        if entry is None:
            raise BadRequest(f"unknown BFCL entry {definition.get('entry_id')!r}")
        return entry

    def _side(self, split: Split, entry_split: EntrySplit) -> list[TaskRecord]:
        entries = self._entries.values()
        return [_record(entry, split) for entry in entries if entry_split.side(entry) == split]


def _record(entry: Entry, split: Split) -> TaskRecord:
    task_id = f"{NAME}/{entry.category}/{entry.number:03d}"
    calls = sum(len(turn) for turn in entry.answers)
    return TaskRecord(
        task_id=task_id,
        split=split,
        goal=" ".join(message["content"] for turn in entry.turns for message in turn),
        definition={
            "task_id": task_id,
            "entry_id": entry.id,
            "split": split,
            "max_steps_per_turn": MAX_STEPS_PER_TURN,
            "dense": False,
            "irrelevance": False,
            "published_prompts": False,
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
    """Returns per turn one list of its calls, if any, and a message that ends the turn."""
    actions: list[str] = []
    for calls in entry.answers:
        if calls:
            actions.append(f"[{', '.join(calls)}]")
        actions.append(END_OF_TURN)
    return actions


def _split_of(definition: Json, entry: Entry) -> Split:
    """Returns the definition's split. Older definitions without one belong to the halves of `seal`."""
    split = definition.get("split")
    if split is None:
        return "train" if COMPOSED in definition else read_split({}).side(entry) or "train"
    if split not in SPLITS:
        raise BadRequest(f"`split` of a definition must be one of {', '.join(SPLITS)}, got {split!r}")
    return "train" if split == "train" else "held-out"


def _read_options(options: Mapping[str, Any], split: str) -> tuple[EntrySplit, Json]:
    refuse_unknown(options, _OPTIONS)
    limit = _step_limit(options.get("max_steps_per_turn", MAX_STEPS_PER_TURN))
    chosen = {name: boolean_option(options, name, False) for name in _FLAGS}
    if boolean_option(options, "strict", False):  # definitions of release 0.1.0 lack the key
        chosen["strict"] = True
    return read_split(options, split), {"max_steps_per_turn": limit, **chosen}


def _step_limit(value: object) -> int:
    return integer_in_range(value, "max_steps_per_turn", MAX_STEPS_PER_TURN)


def _with_definition(record: TaskRecord, extra: Json) -> TaskRecord:
    return replace(record, definition={**record.definition, **extra})
