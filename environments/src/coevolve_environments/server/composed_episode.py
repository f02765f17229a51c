"""Episodes of composed tasks: a new request in the world of another task, whose own checker never counts."""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.spellings import action_text, bare_answer, only_call
from coevolve_environments.protocol import (
    BadRequest,
    Environment,
    Episode,
    Json,
    Observation,
    StopReason,
)
from coevolve_environments.world_state import HasChanges, HasState, changes_text

COMPOSED_IN = "composed_in"
"""Field of a composed task's definition: the definition of the task in whose world it is played."""
FINISH = "finish[]"
_FINISH = re.compile(r"(?:\A|\n)[ \t]*finish\s*\[(.*)\]\.?\Z", re.IGNORECASE | re.DOTALL)
_REPLACEMENT = (
    "Your task is now the following one. It replaces every other task that is stated before or after it:\n"
)
_HOW_TO_FINISH = (
    "When it is done, answer finish[...] with the answer in the brackets, or finish[] if it asks for none."
)


def start_episode(environment: Environment, definition: Json, seed: int) -> Episode:
    """Makes an episode of a task of the environment or of a composed task.

    Raises:
        BadRequest: the definition cannot be played.
    """
    own_composer = type(environment).compose is not Environment.compose
    if own_composer or COMPOSED_IN not in definition:
        return environment.start(definition, seed)
    return ComposedEpisode(environment, definition, seed)


def is_finish(action: str) -> bool:
    return _answer_of(action) is not None


def has_answer(action: str) -> bool:
    """Returns whether the action finishes with an answer, which no state contains."""
    return bool(_answer_of(action))


def _answer_of(content: str) -> str | None:
    """Returns the answer of `finish[<answer>]` in any spelling, or as the last lines; else None."""
    call = only_call(bare_answer(content))
    if call is not None and call.name == "finish":
        return " ".join(map(str, call.arguments.values())).strip()
    text = action_text(content, ("action", "command"))
    finish = _FINISH.search(text) if text.endswith(("]", "].")) else None  # otherwise quadratic
    return finish and finish[1].strip()


class ComposedEpisode:
    """Plays the parent's world with another request. The reward is 1 if the attempt ends in the state of
    the reference actions, otherwise 0; always 0 without an end state, because then the judge grades attempts.
    """

    def __init__(self, environment: Environment, definition: Json, seed: int) -> None:
        world, query, end_state = (definition.get(name) for name in (COMPOSED_IN, "query", "end_state"))
        if not isinstance(world, dict) or not isinstance(query, str) or not isinstance(end_state, str | None):
            raise BadRequest("a composed task needs `composed_in`, `query` and `end_state`")
        self.task_id = str(definition.get("task_id", ""))
        self.split = "train"
        self._query = query
        self._end_state = end_state
        self._own_finish = environment.finish is not None
        self._instruction: str | None = None
        self._turn = 0
        self._state: Json | None = None
        self._episode = environment.start({**world, "query": query}, seed)

    def open(self) -> Observation:
        observation = self._episode.open()
        self._instruction = observation.instruction
        messages = self._restated(observation.messages)
        is_stated = self._instruction is not None and any(self._query in m["content"] for m in messages)
        added = [] if is_stated else [_REPLACEMENT + self._query]
        if not self._own_finish:
            added.append(_HOW_TO_FINISH)
        return replace(observation, messages=_with_text(messages, "\n".join(added)), score=None)

    def act(self, content: str) -> Observation:
        self._turn += 1
        if not self._own_finish and is_finish(content):
            return self._end([{"role": "user", "content": "The episode is over."}], self._turn, "completed")
        observation = self._episode.act(content)
        messages = self._restated(observation.messages)
        if observation.done:
            return self._end(messages, observation.turn, observation.metadata.get("stop_reason", "completed"))
        return replace(observation, messages=messages, score=None)

    def close(self) -> None:
        self._episode.close()

    def state(self) -> str | None:
        """Returns the sha256 of the world's state after the end; None if the environment has none."""
        if self._state is None:
            return None
        canonical = json.dumps(self._state, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _end(self, messages: list[dict[str, str]], turn: int, stop_reason: StopReason) -> Observation:
        changed = ""
        if isinstance(self._episode, HasState):
            self._state = self._episode.state()
            if isinstance(self._episode, HasChanges):
                changed = changes_text(self._episode.changes(self._state))
        is_checked = self._end_state is not None and stop_reason == "completed"
        success = is_checked and self.state() == self._end_state
        return Observation.final(
            _with_text(messages, changed),
            turn,
            reward=float(success),
            raw_score=float(success),
            success=success,
            stop_reason=stop_reason,
        )

    def _restated(self, messages: list[dict[str, str]]) -> list[dict[str, str]]:
        parents = self._instruction
        if not parents or parents == self._query:
            return messages
        return [{**m, "content": m["content"].replace(parents, self._query)} for m in messages]


def _with_text(messages: list[dict[str, str]], text: str) -> list[dict[str, str]]:
    """Adds a text to the last message, because chat templates refuse two messages of a user in a row."""
    if not text:
        return messages
    if not messages or messages[-1]["role"] != "user":
        return [*messages, {"role": "user", "content": text}]
    last: dict[str, Any] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{text}"}
    return [*messages[:-1], last]
