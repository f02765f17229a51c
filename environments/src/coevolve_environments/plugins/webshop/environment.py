"""webshop: buy what an instruction asks for (Yao et al. 2022, arXiv:2207.01206), in a shop of the operator's.

The shop's products cannot be shipped, so this is an adapter: to the text server of AgentGym
(github.com/WooooDyy/AgentGym, agentenv-webshop). That server draws the price limit of an instruction anew in
every session it creates, so a goal asks for another price another time: nothing is promised about replays.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.option_checks import refuse_unknown
from coevolve_environments.plugins.remote.client import RELEASE_SECONDS, RemoteClient, read_address
from coevolve_environments.plugins.remote.episode import Releaser
from coevolve_environments.plugins.webshop.episode import WebShopEpisode
from coevolve_environments.plugins.webshop.goals import goals_in, read_goals
from coevolve_environments.plugins.webshop.shop import Shop
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Environment,
    Episode,
    Json,
    Split,
    TaskRecord,
)
from coevolve_environments.settings import Settings

ETO_STEPS = 10
_OPTIONS = {"goals", "max_steps"}
_CALLS_OF_OPENING = 3  # a reset that fails, a creation, a reset; and a closing after each reset that fails


def create(settings: Settings) -> Environment:
    """Of `url`, `headers_file`, `timeout_seconds` (60), `sessions` (8), `recycle_after` (1), `max_steps` (10)
    and the settings of `read_goals`.
    """
    return WebShop(settings)


class WebShop(Environment):
    description = "Buy the product that an instruction asks for (WebShop, on the operator's own server)."

    def __init__(self, settings: Settings) -> None:
        self.name = settings.name
        address = read_address(settings, "http://127.0.0.1:36006, AgentGym's agentenv-webshop")
        self.max_sessions = settings.integer("sessions", 8)
        self.call_seconds = _CALLS_OF_OPENING * address.timeout_seconds + 2 * RELEASE_SECONDS
        self.capabilities = Capabilities(
            variants=False,
            compose=False,
            replay="none",
            dense_reward=True,
            max_steps=settings.integer("max_steps", ETO_STEPS),
            gold=False,
        )
        self._remote = RemoteClient(address)
        self._shop = Shop(self._remote, Releaser(self.name), settings.integer("recycle_after", 1))
        goals = read_goals(settings)
        self._records: Mapping[Split, list[TaskRecord]] = {
            split: [self._record(split, goal) for goal in listed] for split, listed in goals.items()
        }

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self._records[split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """Options: `goals`, some of the split's by ranges such as `0-199`; `max_steps`, up to the setting."""
        limit, chosen = self._read_options(options)
        fit = [r for r in self._records[split] if chosen is None or r.definition["goal"] in chosen]
        drawn = random.Random(f"{seed}/{split}").sample(fit, min(count, len(fit)))
        return [replace(r, definition={**r.definition, "max_steps": limit}) for r in drawn]

    def start(self, definition: Json, seed: int) -> Episode:
        """The seed is not used: the shop takes none."""
        for name, kind in (("task_id", str), ("split", str), ("goal", int), ("max_steps", int)):
            if type(definition.get(name)) is not kind:
                raise BadRequest(f"the task definition needs `{name}`, of type {kind.__name__}")
        self._step_limit(definition["max_steps"])
        return WebShopEpisode(self._shop, definition)

    def close(self) -> None:
        self._shop.close()
        self._remote.close()

    def _record(self, split: Split, goal: int) -> TaskRecord:
        task_id = f"{self.name}/{goal}"
        limit = self.capabilities.max_steps
        return TaskRecord(
            task_id=task_id,
            split=split,
            # The server tells an instruction only in an episode, and another price each time.
            goal=f"Buy what goal {goal} of the shop asks for.",
            definition={"task_id": task_id, "split": split, "goal": goal, "max_steps": limit},
            features={"pattern": "shopping", "group": self.name, "goal": goal},
            content_key=hashlib.sha256(f"webshop/{goal}".encode()).hexdigest(),
            reference_actions=[],
        )

    def _read_options(self, options: Mapping[str, Any]) -> tuple[int, set[int] | None]:
        refuse_unknown(options, _OPTIONS)
        limit = self._step_limit(options.get("max_steps", self.capabilities.max_steps))
        ranges = options.get("goals")
        if ranges is None:
            return limit, None
        try:
            return limit, set(goals_in(str(ranges)))
        except ValueError:
            raise BadRequest(f"`options.goals` must be ranges such as '0-199,300', got {ranges!r}") from None

    def _step_limit(self, value: object) -> int:
        most = self.capabilities.max_steps
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise BadRequest(
                f"`max_steps` must be in 1..{most} (hosted.{self.name}.max_steps), got {value!r}"
            )
        return value
