"""A task from calls that somebody wrote: one user turn, checked by the state and answers that they leave."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from coevolve_environments.plugins.bfcl.calls import NotCalls, named_arguments, parse_calls, spelled_calls
from coevolve_environments.plugins.bfcl.entries import CLASS_FILES, Entry
from coevolve_environments.plugins.bfcl.episode import END_OF_TURN, differ
from coevolve_environments.plugins.bfcl.world import World, failed
from coevolve_environments.plugins.react import action_of
from coevolve_environments.protocol import BadRequest, ComposedTask, Json, Refusal, TaskRecord

COMPOSED = "composed"
"""Field of a definition that holds the whole task, which is then in no file of the package."""

_LOOKS_LIKE_A_CALL = re.compile(r"^[\s`\[]*[A-Za-z_]\w*\s*\(")
_SAYS_NOTHING = {"None", "", "{}", "[]"}


def compose(parent: Entry, query: str, actions: Sequence[str], extra: Json) -> ComposedTask | Refusal:
    """
    Args:
        actions: lists of calls; what is no call ends a turn, and all calls are asked for in one turn here.
        extra: what the definition says besides: `max_steps_per_turn`, `dense`.
    """
    try:
        steps = [calls for action in actions if (calls := _calls_of(action))]
    except NotCalls as error:
        return Refusal("bad-format", f"not a list of calls with literal arguments: {error}")
    if not steps:
        return Refusal("bad-format", "the actions call nothing")
    if len(steps) > extra["max_steps_per_turn"]:
        return Refusal("bad-format", f"{len(steps)} steps, a turn has at most {extra['max_steps_per_turn']}")
    ran = _run(parent, [call for step in steps for call in step])
    if isinstance(ran, Refusal):
        return ran
    checkable = ran.changed or any(answer not in _SAYS_NOTHING for answer in ran.answers)
    return ComposedTask(_record(parent, query, steps, ran, extra), "environment" if checkable else "judge")


def read_composed(definition: Json) -> Entry:
    """The entry that a composed task's definition holds.

    Raises:
        BadRequest: it holds none that can be played.
    """
    part = definition[COMPOSED]
    try:
        entry = Entry(
            id=str(definition["task_id"]),
            category=str(part["category"]),
            number=0,
            turns=[[{"role": "user", "content": str(part["query"])}]],
            answers=[[str(call) for call in part["calls"]]],
            config=dict(part["config"]),
            classes=list(part["classes"]),
            held_back={},
        )
        if unknown := [name for name in entry.classes if name not in CLASS_FILES]:
            raise ValueError(f"unknown class {unknown[0]!r}")
        for call in entry.answers[0]:
            parse_calls(call)
        World(entry)
    except Exception as error:  # the package's classes raise what they like at a configuration of others
        raise BadRequest(f"not a composed BFCL task: {type(error).__name__}: {error}") from None
    return entry


def _calls_of(action: str) -> list[str]:
    try:
        return spelled_calls(action)
    except NotCalls:
        if _LOOKS_LIKE_A_CALL.match(action_of(action)):
            raise
        return []


@dataclass(frozen=True)
class _Run:
    calls: list[str]
    """With every argument named: equal for equal calls."""
    answers: list[str]
    changed: bool


def _run(parent: Entry, calls: Sequence[str]) -> _Run | Refusal:
    world = World(parent)
    answers: list[str] = []
    for text in calls:
        answer = world.call(parse_calls(text)[0])
        if failed(answer):
            return Refusal("not-executable", f"{text} answers {answer[:300]}")
        answers.append(answer)
    named = [named_arguments(text, world.parameters(parse_calls(text)[0].name)) for text in calls]
    return _Run(named, answers, differ(world, World(parent)))


def _record(parent: Entry, query: str, steps: list[list[str]], ran: _Run, extra: Json) -> TaskRecord:
    start = {"category": parent.category, "classes": sorted(parent.classes), "config": parent.config}
    identity = json.dumps([parent.category == "long_context", start["config"], ran.calls], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()
    task_id = f"bfcl/composed/{key[:12]}"
    calls = [call for step in steps for call in step]
    return TaskRecord(
        task_id=task_id,
        split="train",
        goal=query,
        definition={
            "task_id": task_id,
            COMPOSED: {**start, "classes": parent.classes, "query": query, "calls": calls},
            **extra,
        },
        features={
            "pattern": "composed",
            "difficulty": difficulty_of(len(calls)),
            "group": "+".join(start["classes"]),
            "turns": 1,
            "calls": len(calls),
            "source": "composed",
        },
        content_key=key,
        reference_actions=[*(f"[{', '.join(step)}]" for step in steps), END_OF_TURN],
    )


def difficulty_of(calls: int) -> int:
    """1 to 5: one more for every three calls."""
    return 1 + min(4, calls // 3)
