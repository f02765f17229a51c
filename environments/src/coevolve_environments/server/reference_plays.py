"""Plays actions in the world of a task for a composed one, and reads the facts that they leave."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coevolve_environments.protocol import Environment, Json, Observation
from coevolve_environments.server.composed_episode import CHECKS_FACTS, facts_at_end
from coevolve_environments.server.facts import Facts
from coevolve_environments.world_state import HasFacts, HasState


@dataclass(frozen=True)
class End:
    """An episode until its last action."""

    observations: Sequence[Observation]
    steps: Sequence[Facts]
    facts: Facts | None
    answer: str | None
    turns: int
    """Actions that were played."""


class ReferencePlays:
    def __init__(self, environment: Environment, world: Json, query: str) -> None:
        """
        Args:
            world: the definition of the task in whose world the query is played.
        """
        self._environment, self._world, self._query = environment, world, query
        self._own_finish = environment.finish

    def play(self, actions: Sequence[str], *, each: bool = False) -> End:
        """Plays actions, and the environment's own finish after them if it is missing.

        Args:
            each: reads the facts after each action.
        """
        episode = self._environment.start({**self._world, "query": self._query, CHECKS_FACTS: True}, 0)
        try:
            observations = [episode.open()]
            steps = [Counter(episode.facts())] if each and isinstance(episode, HasFacts) else []
            turns = 0
            for action in actions:
                if observations[-1].done:
                    break
                observations.append(episode.act(action))
                turns += 1
                if each and isinstance(episode, HasFacts):
                    steps.append(Counter(episode.facts()))
            if self._own_finish is not None and not observations[-1].done:
                observations.append(episode.act(self._own_finish))
            read_state = isinstance(episode, HasState) and not isinstance(episode, HasFacts)
            state: Json | None = episode.state() if read_state else None  # type: ignore[attr-defined]
            facts = steps[-1] if steps else facts_at_end(episode, state)
            answer = state.get("answer") if state is not None and self._own_finish is not None else None
            return End(observations, steps, facts, answer, turns)
        finally:
            episode.close()
