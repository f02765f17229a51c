"""Plays a task's reference actions in its environment: the expert's trajectory, as it really went."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

from coevolve_environments.plugins.react import react
from coevolve_environments.protocol import BadRequest, Environment, Episode, Json, Observation, TaskRecord

Form = Literal["plain", "react"]
FORMS: tuple[Form, ...] = ("plain", "react")


def form_field(body: Json) -> Form:
    if body.get("form", "plain") not in FORMS:
        raise BadRequest(f"`form` must be one of {', '.join(FORMS)}, got {body['form']!r}")
    return cast(Form, body.get("form", "plain"))


def formed(record: TaskRecord, form: Form) -> TaskRecord:
    """The task with its reference actions in that form; environments take either."""
    if form == "plain":
        return record
    return replace(record, reference_actions=[react(action) for action in record.reference_actions])


class GoldEpisode:
    """One expert episode. `stop` may come from another thread while `run` plays."""

    def __init__(self, environment: Environment, record: TaskRecord) -> None:
        self._environment = environment
        self._record = record
        self._episode: Episode | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def run(self) -> Json:
        """task_id, pattern, conversation (role and content), reward in [0, 1], steps played, characters of
        the conversation. What is left of the actions when the episode is done is not played.

        Raises:
            BadRequest: the task cannot be played.
        """
        episode = self._environment.start(self._record.definition, 0)
        with self._lock:
            self._episode = episode
            stopped = self._stopped
        try:
            if stopped:
                raise TimeoutError("stopped before it began")
            return self._play(episode)
        finally:
            self.stop()

    def stop(self) -> None:
        with self._lock:
            episode, self._episode, self._stopped = self._episode, None, True
        if episode is not None:
            episode.close()

    def _play(self, episode: Episode) -> Json:
        answer = episode.open()
        conversation, steps = list(answer.messages), 0
        for action in self._record.reference_actions:
            if answer.done:
                break
            answer = episode.act(action)
            steps += 1
            conversation += [{"role": "assistant", "content": action}, *answer.messages]
        return {
            "task_id": self._record.task_id,
            "pattern": str(self._record.features.get("pattern", "")),
            "conversation": conversation,
            "reward": _reward(answer),
            "steps": steps,
            "characters": _characters(conversation),
        }


def _reward(answer: Observation) -> float:
    return answer.reward if answer.done else 0.0


def _characters(conversation: Sequence[dict[str, str]]) -> int:
    return sum(len(message["content"]) for message in conversation)
