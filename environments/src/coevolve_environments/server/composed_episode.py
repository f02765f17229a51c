"""Episodes of composed tasks: a new request in the world of another task, whose own checker never counts."""

import hashlib
import json
import re
from collections import Counter
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
from coevolve_environments.server.answers import same_answer
from coevolve_environments.server.facts import Facts, Goal
from coevolve_environments.world_state import HasChanges, HasFacts, HasState, changes_text, facts_of

COMPOSED_IN = "composed_in"
"""Field of a composed task's definition: the definition of the task in whose world it is played."""
CHECKS_FACTS = "checks_facts"
"""Field of the definition that `start` receives: facts check the attempt, so no end of the world's own task
may end it. Absent in tasks of version 0.1.0."""
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
    return answer_of(action) is not None


def answer_of(content: str) -> str | None:
    """Returns the answer of `finish[<answer>]` in any spelling, or as the last lines; else None."""
    call = only_call(bare_answer(content))
    if call is not None and call.name == "finish":
        return " ".join(map(str, call.arguments.values())).strip()
    text = action_text(content, ("action", "command"))
    finish = _FINISH.search(text) if text.endswith(("]", "].")) else None  # otherwise quadratic
    return finish and finish[1].strip()


def facts_at_end(episode: Episode, state: Json | None) -> Facts | None:
    """Returns the facts of a world, or of its state without the answer; None if it has neither."""
    if isinstance(episode, HasFacts):
        return Counter(episode.facts())
    if state is None:
        return None
    return Counter(facts_of({name: value for name, value in state.items() if name != "answer"}))


class ComposedEpisode:
    """Plays the parent's world with another request. The reward is 1 if the facts of the goal hold at the end
    and the answer is the expected one, otherwise 0; always 0 without a goal: then the judge grades attempts.

    Until version 0.1 the goal was the sha256 of the state after the reference actions, `end_state`.
    """

    def __init__(self, environment: Environment, definition: Json, seed: int) -> None:
        world, query, end_state = (definition.get(name) for name in (COMPOSED_IN, "query", "end_state"))
        if not isinstance(world, dict) or not isinstance(query, str) or not isinstance(end_state, str | None):
            raise BadRequest("a composed task needs `composed_in`, `query` and `goal`")
        self._goal, self._answer = _checker_of(definition)
        self.task_id = str(definition.get("task_id", ""))
        self.split = "train"
        self._query = query
        self._end_state = end_state
        self._own_finish = environment.finish is not None
        self._instruction: str | None = None
        self._opened: Facts | None = None
        self._turn = 0
        goal = definition.get("goal")
        self._episode = environment.start(
            {**world, "query": query, **({} if goal is None else {CHECKS_FACTS: True})}, seed
        )

    def open(self) -> Observation:
        observation = self._episode.open()
        self._instruction = observation.instruction
        if isinstance(self._episode, HasFacts) and not isinstance(self._episode, HasChanges):
            self._opened = Counter(self._episode.facts())
        messages = self._restated(observation.messages)
        is_stated = self._instruction is not None and any(self._query in m["content"] for m in messages)
        added = [] if is_stated else [_REPLACEMENT + self._query]
        if not self._own_finish:
            added.append(_HOW_TO_FINISH)
        return replace(observation, messages=_with_text(messages, "\n".join(added)), score=None)

    def act(self, content: str) -> Observation:
        self._turn += 1
        if not self._own_finish and is_finish(content):
            over = [{"role": "user", "content": "The episode is over."}]
            return self._end(over, self._turn, "completed", answer_of(content))
        observation = self._episode.act(content)
        messages = self._restated(observation.messages)
        if observation.done:
            return self._end(messages, observation.turn, observation.metadata.get("stop_reason", "completed"))
        return replace(observation, messages=messages, score=None)

    def close(self) -> None:
        self._episode.close()

    def _end(
        self, messages: list[dict[str, str]], turn: int, stop_reason: StopReason, answer: str | None = None
    ) -> Observation:
        facts = Counter(self._episode.facts()) if isinstance(self._episode, HasFacts) else None
        state = self._episode.state() if isinstance(self._episode, HasState) else None
        if facts is not None and self._opened is not None:
            messages = _with_text(messages, changes_text(_changed_facts(self._opened, facts)))
        if state is not None:
            facts = facts_at_end(self._episode, state) if facts is None else facts
            if isinstance(self._episode, HasChanges):
                messages = _with_text(messages, changes_text(self._episode.changes(state)))
            if self._own_finish:
                answer = state.get("answer")
        success = stop_reason == "completed" and self._is_reached(facts, state, answer)
        return Observation.final(
            messages,
            turn,
            reward=float(success),
            raw_score=float(success),
            success=success,
            stop_reason=stop_reason,
        )

    def _is_reached(self, facts: Facts | None, state: Json | None, answer: str | None) -> bool:
        if self._goal is None:
            return self._end_state is not None and self._end_state == _hash_of(state)
        if self._answer is not None and not same_answer(self._answer, answer or "", self._query):
            return False
        return not self._goal or (facts is not None and self._goal.holds(facts))

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


def _changed_facts(before: Facts, after: Facts) -> list[str]:
    kinds = (("gone", before - after), ("added", after - before))
    return [f"{kind}: {' '.join(fact)}" for kind, facts in kinds for fact in sorted(facts.elements())]


def _checker_of(definition: Json) -> tuple[Goal | None, str | None]:
    """Returns the facts and the answer of the definition's goal; no facts without one."""
    goal = definition.get("goal")
    if goal is None:
        return None, None
    try:
        answer = goal["answer"]
        if not isinstance(answer, str | None):
            raise TypeError
        return Goal.from_json(goal["facts"]), answer
    except (KeyError, TypeError, ValueError):
        raise BadRequest("`goal` of a composed task must have `facts` and `answer`") from None


def _hash_of(state: Json | None) -> str | None:
    if state is None:
        return None
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
