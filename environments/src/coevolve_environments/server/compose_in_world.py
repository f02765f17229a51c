"""Composes a task in the world of another one: its goal are the facts that the actions changed on purpose."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from coevolve_environments.plugins.spellings import command_of
from coevolve_environments.protocol import (
    BadRequest,
    ComposedTask,
    Environment,
    Json,
    Refusal,
    TaskRecord,
)
from coevolve_environments.server.answers import MAX_WORDS, asks, is_comparable, same_answer, says_nothing
from coevolve_environments.server.composed_episode import (
    COMPOSED_IN,
    FINISH,
    ComposedEpisode,
    answer_of,
    is_finish,
)
from coevolve_environments.server.facts import Facts, Goal, Played, goal_of
from coevolve_environments.server.reference_plays import End, ReferencePlays
from coevolve_environments.server.request_words import Request

_LATE_WAITS = 2
_WRONG_ANSWER = "none of these"
_SHOWN_CHARACTERS = 200


def compose_in_world(
    environment: Environment, parent: Json, query: str, actions: Sequence[str]
) -> ComposedTask | Refusal:
    """Plays the actions in the parent's world. The judge grades where the environment states nothing.

    Refused are actions that fail, have no effect or leave no fact to check, and a question without an answer.
    """
    world = parent.get(COMPOSED_IN, parent)
    if world.get("split", "train") != "train":
        raise BadRequest("a composed task needs a train task as its parent")
    composer = _Composer(environment, world, query, actions)
    if not composer.actions:
        return Refusal("bad-format", "there is no action but finish")
    if refusal := composer.failure or composer.idle_action or composer.answer_mismatch:
        return refusal
    if environment.capabilities.compose != "checker" or composer.last.facts is None:
        return ComposedTask(composer.record(None), "judge")
    goal = composer.goal
    if composer.answer is None and not goal:
        return Refusal("no-goal", "the actions leave no lasting change that the request is about")
    record = composer.record({"facts": goal.as_json(), "answer": composer.answer})
    return composer.misgraded(record) or ComposedTask(record, "environment")


class _Composer:
    def __init__(self, environment: Environment, world: Json, query: str, actions: Sequence[str]) -> None:
        self._environment, self._world, self._query = environment, world, query
        self._plays = ReferencePlays(environment, world, query)
        self._own_finish = environment.finish
        self._rules = environment.composing
        self.actions = [action for action in actions if self._own_finish is not None or not is_finish(action)]
        given = [answer for action in actions if (answer := answer_of(action))]
        self._given = given[-1] if given and self._own_finish is None else None
        limit = min(environment.capabilities.max_turns, world.get("max_turns", 1_000_000))
        self._room = limit - 1 - len(self.actions)

    @cached_property
    def last(self) -> End:
        return self._plays.play(self.actions, each=True)

    @cached_property
    def answer(self) -> str | None:
        given = self.last.answer if self._own_finish is not None else self._given
        return None if given is None or says_nothing(given) else given

    @property
    def failure(self) -> Refusal | None:
        played, count = self.last.turns, len(self.actions)
        if played < count:
            return Refusal("not-executable", f"the episode ends after action {played} of {count}")
        end = self.last.observations[-1]
        is_over = end.done if self._own_finish is not None else True
        if not is_over or end.metadata.get("stop_reason") == "turn-limit":
            return Refusal("not-executable", f"the episode is not over after {count} actions")
        fails = self._rules.fails
        for number, observation in enumerate(self.last.observations[1:], 1):
            text = str(observation.messages[-1]["content"]) if observation.messages else ""
            if fails is not None and fails.search(text) and not self._is_choice(number):
                return Refusal("no-effect", f"action {number} of {count} failed: {text[:_SHOWN_CHARACTERS]}")
        return None

    def _is_choice(self, index: int) -> bool:
        """Returns whether the action of this index answers a question of the environment by a number."""
        return index < len(self.actions) and command_of(self.actions[index]).isdigit()

    @property
    def idle_action(self) -> Refusal | None:
        """Returns the refusal of an action without an effect that is no look, where facts show effects."""
        informs, steps = self._rules.informs, self.last.steps
        if informs is None or not steps:
            return None
        restless = {
            fact[:2] for facts in self._idle for fact in (facts - self._idle[0]) + (self._idle[0] - facts)
        }

        def stable(facts: Facts) -> Facts:
            return Counter({fact: n for fact, n in facts.items() if fact[:2] not in restless})

        for number, action in enumerate(self.actions):
            if informs.match(command_of(action)) or self._is_choice(number + 1):
                continue
            if stable(steps[number]) == stable(steps[number + 1]):
                shown = action[:_SHOWN_CHARACTERS]
                return Refusal(
                    "no-effect", f"action {number + 1} of {len(self.actions)} changes nothing: {shown}"
                )
        return None

    @property
    def answer_mismatch(self) -> Refusal | None:
        if asks(self._query) and self.answer is None:
            how = "finish[<answer>]" if self._own_finish is None else "the action that ends the session"
            return Refusal("no-answer", f"the request asks for an answer, and no action gives one by {how}")
        if self.answer is None or self._environment.capabilities.compose != "checker":
            return None
        if not asks(self._query) and self.goal:
            return Refusal(
                "no-answer", f"the request asks for no answer, and the actions give {self.answer!r}"
            )
        if not is_comparable(self.answer):
            return Refusal("no-answer", f"only answers of at most {MAX_WORDS} words are compared")
        return None

    @cached_property
    def goal(self) -> Goal:
        steps = self.last.steps
        if self._rules.exact:
            return Goal(dict(self.last.facts or {}), exact=True) if self._repeats(self.actions) else Goal()
        request = Request(self._query, self._rules.words)
        if not steps:
            played = Played([self._untouched, self.last.facts or Counter()])
            others = [facts] if (facts := self._plays.play(self.actions).facts) is not None else []
            idle, without = [self._untouched], None
        else:
            played, idle = Played(steps), self._idle
            others = [end.facts for end in self._variants() if end.facts is not None]

            def without(index: int) -> Facts:
                return (
                    self._plays.play([*self.actions[:index], *self.actions[index + 1 :]]).facts or Counter()
                )

        return goal_of(request, played, others, idle, without, is_question=asks(self._query))

    def _variants(self) -> list[End]:
        """Plays the reference with looks between its actions, and with waits after it, as its turns allow."""
        looks, wait = self._rules.looks, self._rules.wait
        watched: list[str] = []
        for number, action in enumerate(self.actions):
            watched += [*(looks[number % len(looks) :][:1] if looks and number < self._room else ()), action]
        late = [wait] * min(_LATE_WAITS, max(0, self._room)) if wait is not None else []
        plays = [watched, *([[*self.actions, *late]] if late else [])]
        ends = [(self._plays.play(actions), actions) for actions in plays]
        return [end for end, actions in ends if end.turns == len(actions)]

    @cached_property
    def _idle(self) -> list[Facts]:
        """Facts at each moment of an episode that only looks and waits, for as long as the reference."""
        wait, looks = self._rules.wait, self._rules.looks
        look = looks[0] if looks else self._environment.control
        idle = [wait if wait is not None and command_of(action) == wait else look for action in self.actions]
        late = [wait] * min(_LATE_WAITS, max(0, self._room)) if wait is not None else []
        return list(self._plays.play([*idle, *late], each=True).steps)

    @cached_property
    def _untouched(self) -> Facts:
        return self._plays.play([] if self._own_finish is None else [self._own_finish]).facts or Counter()

    def _repeats(self, actions: Sequence[str]) -> bool:
        return self.last.facts != self._untouched and self._plays.play(actions).facts == self.last.facts

    def reference(self) -> list[str]:
        if self._own_finish is None:
            return [*self.actions, FINISH if self.answer is None else f"finish[{self.answer}]"]
        is_ended = len(self.last.observations) == 1 + len(self.actions)
        return [*self.actions, *([] if is_ended else [self._own_finish])]

    def record(self, goal: Json | None) -> TaskRecord:
        world = {name: value for name, value in self._world.items() if name not in ("task_id", "split")}
        reference = self.reference()
        is_question = goal is not None and goal["answer"] is not None
        outcome = [goal, self._query] if is_question else (goal or reference)
        identity = json.dumps([self._environment.name, world, outcome], sort_keys=True)
        key = hashlib.sha256(identity.encode()).hexdigest()
        task_id = f"{self._environment.name}/composed/{key[:12]}"
        definition = {COMPOSED_IN: self._world, "query": self._query, "goal": goal}
        return TaskRecord(
            task_id=task_id,
            split="train",
            goal=self._query,
            definition={"task_id": task_id, "split": "train", **definition},
            features={
                "pattern": "composed",
                "difficulty": 1 + min(4, len(reference) // 5),
                "source": "composed",
                "actions": len(reference),
            },
            content_key=key,
            reference_actions=reference,
        )

    def misgraded(self, record: TaskRecord) -> Refusal | None:
        """Plays the task: the reference must score 1, doing nothing and a wrong answer 0."""
        if self._rewards(record, record.reference_actions) < 1:
            return Refusal("not-executable", "the actions score 0 in a new episode; expected 1")
        if self._rewards(record, [self._own_finish or FINISH]) > 0:
            return Refusal("no-goal", "an attempt that does nothing scores 1")
        if self.answer is not None and same_answer(self.answer, _WRONG_ANSWER, self._query):
            return Refusal("no-answer", "a wrong answer scores 1")
        wrong = [*self.actions, f"finish[{_WRONG_ANSWER}]"]
        if self.answer is not None and self._own_finish is None and self._rewards(record, wrong) > 0:
            return Refusal("no-answer", "a wrong answer after the right actions scores 1")
        return None

    def _rewards(self, record: TaskRecord, actions: Sequence[str]) -> float:
        episode = ComposedEpisode(self._environment, record.definition, 0)
        try:
            observation = episode.open()
            for action in actions:
                if not observation.done:
                    observation = episode.act(action)
            return observation.reward if observation.done else 0.0
        finally:
            episode.close()
