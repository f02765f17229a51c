"""Our BFCL environment on the official OpenEnv server, with its base class and its `create_app`.

    PYTHONPATH=environments/src:bench .venv-openenv/bin/python -m environment_bench.official_server \\
        --port 8801 --mode threads

`--mode` selects where calls run. `threads`: `reset` and `step` in the thread of their session, as for most
environments of the official server. `loop`: `reset_async` and `step_async` on its event loop. A BFCL call
takes well under a millisecond, so a thread switch may cost more than the call.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import uvicorn
from coevolve_environments.plugins.bfcl.environment import create
from coevolve_environments.protocol import Episode
from coevolve_environments.protocol import Observation as EpisodeObservation
from coevolve_environments.settings import SettingsFile
from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

BFCL = create(SettingsFile(Path()).section("bfcl"))


class TextAction(Action):  # type: ignore[misc]
    content: str


class ChatObservation(Observation):  # type: ignore[misc]
    messages: list[dict[str, str]]
    info: dict[str, Any]
    tools: list[dict[str, Any]] | None = None


class Threaded(Environment[TextAction, ChatObservation, State]):  # type: ignore[misc]
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._episode: Episode | None = None
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: dict[str, Any] | None = None,
        **_: Any,
    ) -> ChatObservation:
        self._episode = BFCL.start(task or {}, seed or 0)
        self._state = State(episode_id=episode_id)
        return self._observation(self._episode.open())

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> ChatObservation:
        assert self._episode is not None
        self._state.step_count += 1
        return self._observation(self._episode.act(action.content))

    @property
    def state(self) -> State:
        return self._state

    def _observation(self, observation: EpisodeObservation) -> ChatObservation:
        assert self._episode is not None
        info = {
            "task_id": self._episode.task_id,
            "env": BFCL.name,
            "split": self._episode.split,
            "turn": observation.turn,
        }
        return ChatObservation(
            messages=observation.messages,
            info=info,
            tools=observation.tools,
            done=observation.done,
            reward=observation.reward,
            metadata=observation.metadata,
        )


class OnLoop(Threaded):
    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: dict[str, Any] | None = None,
        **_: Any,
    ) -> ChatObservation:
        return self.reset(seed, episode_id, task)

    async def step_async(
        self, action: TextAction, timeout_s: float | None = None, **_: Any
    ) -> ChatObservation:
        return self.step(action)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--mode", choices=("threads", "loop"), required=True)
    parser.add_argument("--sessions", type=int, default=128)
    arguments = parser.parse_args()
    environment = Threaded if arguments.mode == "threads" else OnLoop
    app = create_app(
        environment, TextAction, ChatObservation, env_name="bfcl", max_concurrent_envs=arguments.sessions
    )
    # Faster than the defaults; our own server does not compress either.
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=arguments.port,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main()
