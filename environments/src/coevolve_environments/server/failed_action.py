"""Whose fault an action without an observation is: its text's, or that of the infrastructure.

What a text does to its own world is its result, a score of 0. A fault of the infrastructure also befalls
other texts. It is therefore tried with a text that no policy wrote, in a new world of the same task.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coevolve_environments.protocol import (
    BadRequest,
    CapacityReached,
    Episode,
    Json,
    Observation,
    Unavailable,
)
from coevolve_environments.server.composed_episode import start_episode
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.metrics import kind_of

_MORE_SECONDS = 60.0  # for the start of a process, beyond the timeout of a call


@dataclass
class PlayedActions:
    """An episode until now: its task, its seed and its actions with an observation."""

    definition: Json = field(default_factory=dict)
    seed: int = 0
    episode_seconds: float = math.inf
    """Time of the whole episode."""
    texts: list[str] = field(default_factory=list)
    acting_seconds: float = 0

    def add(self, text: str, seconds: float) -> None:
        self.texts.append(text)
        self.acting_seconds += seconds

    def is_slow(self) -> bool:
        """Returns whether the actions alone have taken so long that the episode would end without a score.

        The other half of its time is the policy server's, whose speed is no choice of the text.
        """
        return self.acting_seconds > self.episode_seconds / 2


def episode_seconds(lease: Any, limit: float) -> float:
    """Returns the time of an episode: the server's limit, or the client's in `lease`, if that is shorter."""
    seconds = lease.get("seconds") if isinstance(lease, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        return limit
    return min(limit, float(seconds))


async def is_result_of_text(
    host: HostedEnvironment, played: PlayedActions, text: str, error: Exception
) -> bool:
    """Returns whether the failure of an action is its text's result.

    It is the infrastructure's if an episode of the environment's control text fails too. Otherwise code is
    responsible for its failure at once: it may fail at random, and a repetition would be a second chance.
    Other texts, and killed processes, are tried again with all actions of the episode: only a text's failure
    recurs.
    """
    if isinstance(error, BadRequest | CapacityReached | Unavailable):
        return False
    environment = host.environment
    control = [environment.control] * environment.capabilities.max_turns
    try:
        async with asyncio.timeout(host.timeouts.call_seconds + _MORE_SECONDS):
            if (await _play(host, played, control)).failed:
                return False
            if environment.runs_code and kind_of(error) != "killed":
                return True
            again = await _play(host, played, [*played.texts, text])
            return again.failed and again.observations == len(played.texts)
    except TimeoutError:
        return False


def end_of_world(error: Exception, turn: int) -> Observation:
    """Returns the last observation of an episode whose world its own text has ended."""
    return Observation.final(
        [{"role": "user", "content": "This action ended its world."}],
        turn,
        reward=0.0,
        raw_score=0.0,
        success=False,
        stop_reason="world-ended",
        error_type=kind_of(error),
    )


@dataclass(frozen=True)
class _Played:
    observations: int
    """Actions with an observation; -1 if the episode has not opened."""
    failed: bool


async def _play(host: HostedEnvironment, played: PlayedActions, texts: Sequence[str]) -> _Played:
    """Plays the texts in a new world until the episode is done, or an action has no observation."""
    observations = -1
    episode: Episode | None = None
    try:
        episode = await host.call(
            lambda: start_episode(host.environment, played.definition, played.seed), discard=_close
        )
        observation = await host.call(episode.open)
        for observations, text in enumerate(texts):
            if observation.done:
                return _Played(observations, failed=False)
            observation = await host.call(partial(episode.act, text))
        return _Played(len(texts), failed=False)
    except Exception:
        return _Played(observations, failed=True)
    finally:
        if episode is not None:
            await host.end_episode(episode.close)


def _close(episode: Episode) -> None:
    episode.close()
