"""Multi-turn trajectories and pairs of them, made from the reference actions of BFCL's own tasks.

A chosen trajectory plays a task's reference actions in the environment, so its observations are real. The
rejected one plays the same task, errs at one action and goes on: it calls what another task would, forgets
its last call, or gives up. Both speak a thought before they act. The same arguments give the same bytes.
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
GIVES_UP = 0.15  # share of the rejected that stop at their mistake
LONGEST_CHARACTERS = 3_400  # so that a row fits into 1,024 tokens of the tiny policy's vocabulary


def make_pairs(count: int) -> list[Pair]:
    """At most one pair a task, {"chosen": [message...], "rejected": [message...]}.

    Raises:
        ValueError: there are fewer tasks that are short enough.
    """
    from coevolve_environments.registry import build_environments
    from coevolve_environments.settings import SettingsFile

    environment = build_environments(["bfcl"], SettingsFile(Path())).environments["bfcl"]
    tasks = environment.tasks("train", 1_000, SEED, {"categories": CATEGORIES})
    found: list[Pair] = []
    for number, task in enumerate(tasks):
        if len(found) == count:
            return found
        pair = _pair(environment, task, random.Random(f"{SEED}/{number}"), tasks)
        if max(map(_characters, pair.values())) <= LONGEST_CHARACTERS:
            found.append(pair)
    raise ValueError(f"{len(tasks)} tasks give {len(found)} pairs of at most {LONGEST_CHARACTERS} characters")


def long_pairs(pairs: Sequence[Pair], characters: int) -> list[Pair]:
    """Pairs of long rows: several tasks in one conversation, the sides of a pair part at the last of them."""
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


def _pair(environment: Any, task: Any, draw: random.Random, tasks: Sequence[Any]) -> Pair:
    actions: list[str] = task.reference_actions
    # Half of the rejected go wrong at once, the others later: what the sides share is the prompt, or more.
    acting = [i for i, action in enumerate(actions) if action != END]
    wrong_at = acting[0] if draw.random() < 0.5 else draw.choice(acting)
    return {
        "chosen": _play(environment, task, actions),
        "rejected": _play(environment, task, _spoilt(actions, wrong_at, draw, tasks)),
    }


def _spoilt(actions: list[str], wrong_at: int, draw: random.Random, tasks: Sequence[Any]) -> list[str]:
    if draw.random() < GIVES_UP:
        return [*actions[:wrong_at], END]
    calls = actions[wrong_at].strip("[]").split("), ")
    if len(calls) > 1 and draw.random() < 0.5:
        wrong = f"[{'), '.join(calls[:-1])})]"
    else:
        wrong = next(a for a in draw.choice(tasks).reference_actions if a != END)
    return [*actions[:wrong_at], wrong, *actions[wrong_at + 1 :]]


def _play(environment: Any, task: Any, actions: Sequence[str]) -> list[Message]:
    episode = environment.start(task.definition, SEED)
    answer = episode.open()
    messages = [_with_functions(answer), *answer.messages[1:]]
    for action in actions:
        if answer.done:
            break
        request = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        answer = episode.act(action)
        messages += [{"role": "assistant", "content": _spoken(action, request)}, *answer.messages]
    episode.close()
    last = max(i for i, message in enumerate(messages) if message["role"] == "assistant")
    return messages[: last + 1]


def _with_functions(answer: Any) -> Message:
    """The system prompt and a line for each function: what an agent reads before it acts."""
    lines = [
        f"- {tool['name']}({', '.join(tool['parameters']['properties'])})" for tool in answer.tools or []
    ]
    return {"role": "system", "content": "\n".join([answer.messages[0]["content"], "Functions:", *lines])}


def _spoken(action: str, request: str) -> str:
    if action == END:
        return f"Thought: nothing is left to do for this request.\n{END}"
    names = ", ".join(call.split("(")[0] for call in action.strip("[]").split("), "))
    return f"Thought: the request is: {request[:90]} I have what I need and call {names}.\n{action}"


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def shares(pairs: Sequence[Pair]) -> Iterator[tuple[int, int, int]]:
    """Of each pair: characters of both rows, of their actions, and of the messages that both begin with."""
    for pair in pairs:
        sides = list(pair.values())
        acting = [m for side in sides for m in side if m["role"] == "assistant"]
        shared: list[Message] = []
        for one, other in zip(*sides, strict=False):
            if one != other:
                break
            shared.append(one)
        yield sum(map(_characters, sides)), _characters(acting), _characters(shared)
