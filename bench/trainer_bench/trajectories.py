"""Pairs of multi-turn trajectories, made from the reference actions of BFCL's tasks.

A chosen trajectory plays a task's reference actions in the environment, so its observations are real. The
rejected one plays the same task with one wrong action: a call of another task, a missing last call, or the
end of the episode. A thought precedes each action. The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Message = dict[str, str]
Pair = dict[str, list[Message]]

SEED = 11
END = "Done."
CATEGORIES = ["base", "miss_param", "miss_func"]
END_PROBABILITY = 0.15  # fraction of the rejected trajectories that end at the wrong action
MAX_CHARACTERS = 3_400  # so that a row fits into 1,024 tokens of the tiny policy's vocabulary


def make_pairs(count: int) -> list[Pair]:
    """Returns at most one pair per task, {"chosen": [message...], "rejected": [message...]}.

    Raises:
        ValueError: fewer tasks are short enough.
    """
    from coevolve_environments.registry import build_environments
    from coevolve_environments.settings import SettingsFile

    environment = build_environments(["bfcl"], SettingsFile(Path())).environments["bfcl"]
    tasks = environment.tasks("train", 1_000, SEED, {"categories": CATEGORIES})
    found: list[Pair] = []
    for number, task in enumerate(tasks):
        if len(found) == count:
            return found
        pair = _play_pair(environment, task, random.Random(f"{SEED}/{number}"), tasks)
        if max(map(_characters, pair.values())) <= MAX_CHARACTERS:
            found.append(pair)
    raise ValueError(f"{len(tasks)} tasks give {len(found)} pairs of at most {MAX_CHARACTERS} characters")


def long_pairs(pairs: Sequence[Pair], characters: int) -> list[Pair]:
    """Returns pairs of long rows: several tasks in one conversation, of which the last differs in a pair."""
    found: list[Pair] = []
    past: list[Message] = []
    for pair, following in zip(pairs, [*pairs[1:], pairs[0]], strict=True):
        if _characters(past + pair["chosen"] + following["chosen"]) > characters:
            found.append({side: past + messages for side, messages in pair.items()})
            past = []
        else:
            past = past + pair["chosen"]
    return found


def read_pairs(path: Path) -> list[Pair]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _play_pair(environment: Any, task: Any, draw: random.Random, tasks: Sequence[Any]) -> Pair:
    actions: list[str] = task.reference_actions
    # Half of the rejected trajectories differ from the first action on, the others later
    calls = [i for i, action in enumerate(actions) if action != END]
    wrong_index = calls[0] if draw.random() < 0.5 else draw.choice(calls)
    return {
        "chosen": _play(environment, task, actions),
        "rejected": _play(environment, task, _corrupt(actions, wrong_index, draw, tasks)),
    }


def _corrupt(actions: list[str], wrong_index: int, draw: random.Random, tasks: Sequence[Any]) -> list[str]:
    if draw.random() < END_PROBABILITY:
        return [*actions[:wrong_index], END]
    calls = actions[wrong_index].strip("[]").split("), ")
    if len(calls) > 1 and draw.random() < 0.5:
        wrong = f"[{'), '.join(calls[:-1])})]"
    else:
        wrong = next(a for a in draw.choice(tasks).reference_actions if a != END)
    return [*actions[:wrong_index], wrong, *actions[wrong_index + 1 :]]


def _play(environment: Any, task: Any, actions: Sequence[str]) -> list[Message]:
    episode = environment.start(task.definition, SEED)
    observation = episode.open()
    messages = [_with_functions(observation), *observation.messages[1:]]
    for action in actions:
        if observation.done:
            break
        request = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        observation = episode.act(action)
        messages += [{"role": "assistant", "content": _with_thought(action, request)}, *observation.messages]
    episode.close()
    last = max(i for i, message in enumerate(messages) if message["role"] == "assistant")
    return messages[: last + 1]


def _with_functions(observation: Any) -> Message:
    """Returns the system prompt with a line for each function."""
    lines = [
        f"- {tool['name']}({', '.join(tool['parameters']['properties'])})" for tool in observation.tools or []
    ]
    content = "\n".join([observation.messages[0]["content"], "Functions:", *lines])
    return {"role": "system", "content": content}


def _with_thought(action: str, request: str) -> str:
    if action == END:
        return f"Thought: nothing is left to do for this request.\n{END}"
    names = ", ".join(call.split("(")[0] for call in action.strip("[]").split("), "))
    return f"Thought: the request is: {request[:90]} I have what I need and call {names}.\n{action}"


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def shares(pairs: Sequence[Pair]) -> Iterator[tuple[int, int, int]]:
    """Yields the characters of both rows of each pair, of their actions, and of their common messages."""
    for pair in pairs:
        sides = list(pair.values())
        actions = [m for side in sides for m in side if m["role"] == "assistant"]
        shared: list[Message] = []
        for one, other in zip(*sides, strict=False):
            if one != other:
                break
            shared.append(one)
        yield sum(map(_characters, sides)), _characters(actions), _characters(shared)
