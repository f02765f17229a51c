"""Makes a task from given calls: one user turn, checked by the state and outputs after the calls."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from coevolve_environments.plugins.bfcl.calls import Call, named_arguments, parse_calls
from coevolve_environments.plugins.bfcl.entries import CLASS_FILES, Entry, argument_schemas
from coevolve_environments.plugins.bfcl.episode import END_OF_TURN, differ
from coevolve_environments.plugins.bfcl.literals import NotCalls
from coevolve_environments.plugins.bfcl.typed_arguments import Schemas
from coevolve_environments.plugins.bfcl.world import World, failed
from coevolve_environments.plugins.react import action_of
from coevolve_environments.protocol import BadRequest, ComposedTask, Json, Refusal, TaskRecord

COMPOSED = "composed"
"""Field of a definition with the whole task, for tasks that are in no file of the package."""

_LOOKS_LIKE_A_CALL = re.compile(r"^[\s`\[]*[A-Za-z_]\w*\s*\(")
_EMPTY_OUTPUTS = {"None", "", "{}", "[]"}


def compose(parent: Entry, query: str, actions: Sequence[str], extra: Json) -> ComposedTask | Refusal:
    """
    Args:
        actions: lists of calls; other texts, which would end a turn, are dropped: the task has one turn.
        extra: other fields of the definition: `max_steps_per_turn`, `dense`, `irrelevance`.
    """
    schemas = argument_schemas(parent)
    try:
        steps = [calls for action in actions if (calls := _calls_of(action, schemas))]
    except NotCalls as error:
        return Refusal("bad-format", f"not a list of calls with literal arguments: {error}")
    if not steps:
        return Refusal("bad-format", "the actions contain no call")
    if len(steps) > extra["max_steps_per_turn"]:
        return Refusal(
            "bad-format", f"{len(steps)} steps; the maximum of a turn is {extra['max_steps_per_turn']}"
        )
    run = _run(parent, [call for step in steps for call in step])
    if isinstance(run, Refusal):
        return run
    checkable = run.changed or any(output not in _EMPTY_OUTPUTS for output in run.outputs)
    return ComposedTask(_record(parent, query, steps, run, extra), "environment" if checkable else "judge")


def read_composed(definition: Json) -> Entry:
    """Returns the entry of a composed task's definition.

    Raises:
        BadRequest: the definition cannot be played.
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
    except Exception as error:  # the package's classes raise any error for an invalid configuration
        raise BadRequest(f"not a composed BFCL task: {type(error).__name__}: {error}") from None
    return entry


def _calls_of(action: str, schemas: Schemas) -> list[str]:
    """Returns the calls of an action in a normalized spelling of quotes, spaces and brackets."""
    try:
        calls = parse_calls(action, schemas)
    except NotCalls:
        if _LOOKS_LIKE_A_CALL.match(action_of(action)):
            raise
        return []
    return list(map(_spelled, calls))


def _spelled(call: Call) -> str:
    """
    Raises:
        NotCalls: the call, which was JSON, has an argument that no literal names or writes: `from`, NaN.
    """
    if parse_calls(repr(call)) != [call]:
        raise NotCalls(f"no call with literal arguments: {repr(call)[:100]}")
    return repr(call)


@dataclass(frozen=True)
class _Run:
    calls: list[str]
    """With all arguments named, so that equal calls have equal texts."""
    outputs: list[str]
    changed: bool


def _run(parent: Entry, calls: Sequence[str]) -> _Run | Refusal:
    world = World(parent)
    outputs: list[str] = []
    for text in calls:
        output = world.call(parse_calls(text)[0])
        if failed(output):
            return Refusal("not-executable", f"{text} failed: {output[:300]}")
        outputs.append(output)
    named = [named_arguments(text, world.parameters(parse_calls(text)[0].name)) for text in calls]
    return _Run(named, outputs, differ(world, World(parent)))


def _record(parent: Entry, query: str, steps: list[list[str]], run: _Run, extra: Json) -> TaskRecord:
    start = {"category": parent.category, "classes": sorted(parent.classes), "config": parent.config}
    identity = json.dumps([parent.category == "long_context", start["config"], run.calls], sort_keys=True)
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
    """Returns 1 to 5: one more for every three calls."""
    return 1 + min(4, calls // 3)
