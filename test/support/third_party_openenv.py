"""Third-party guessing game with the official OpenEnv classes, without code of this project.

    .venv-openenv/bin/python test/support/third_party_openenv.py --port 8800 [--sessions 8] [--without-tasks]

Needs `npm run setup -- --with openenv`, listens on 127.0.0.1 and is ready when GET /health returns 200.

Reset takes `seed`, or `split` ("train" or "test") and `index` in 0..19, and hides the number
`secret_of(split, index)` in 1..100. Step takes {"guess": <int>}. The observation is {"hint", "guesses_left"}; the
eighth guess ends the episode with reward 0, the right one with 1. Without tasks, the task routes return 404.
"""

import argparse
import random
from typing import Any

import uvicorn
from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

TASKS = 20
GUESSES = 8


class Guess(Action):
    guess: int = Field(description="A number from 1 to 100")


class Hint(Observation):
    hint: str = ""
    guesses_left: int = GUESSES


class GuessState(State):
    guesses_left: int = GUESSES


class GuessingGame(Environment[Guess, Hint, GuessState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._secret = 0
        self._state = GuessState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str | None = None,
        index: int = 0,
        **_: Any,
    ) -> Hint:
        self._secret = secret_of(split, index) if split else random.Random(seed).randint(1, 100)
        self._state = GuessState(episode_id=episode_id)
        return Hint(hint="I think of a number from 1 to 100. Which is it?")

    def step(self, action: Guess, timeout_s: float | None = None, **_: Any) -> Hint:
        if not self._secret:
            raise RuntimeError("reset first")
        self._state.step_count += 1
        self._state.guesses_left -= 1
        left = self._state.guesses_left
        if action.guess == self._secret:
            return Hint(hint="That is it.", guesses_left=left, done=True, reward=1.0)
        hint = "The number is larger." if action.guess < self._secret else "The number is smaller."
        return Hint(hint=hint, guesses_left=left, done=left == 0, reward=0.0)

    @property
    def state(self) -> GuessState:
        return self._state


class GuessingGameWithTasks(GuessingGame):
    """Guessing game with OpenEnv's task routes."""

    def list_splits(self) -> list[str]:
        return ["train", "test"]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return self.get_task_range(split)

    def num_tasks(self, split: str) -> int:
        return TASKS

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return self.list_tasks(split)[index]

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        return [{"id": f"{split}-{i}", "index": i, "split": split} for i in range(TASKS)][start:stop]


def secret_of(split: str, index: int) -> int:
    """Returns a number in 1..100, distinct in a split."""
    if split not in ("train", "test") or not 0 <= index < TASKS:
        raise ValueError(f"no task {index} in split {split!r}")
    return 2 + 5 * index if split == "train" else 4 + 5 * index


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves a guessing game over OpenEnv's wire.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--without-tasks", action="store_true")
    arguments = parser.parse_args()
    game = GuessingGame if arguments.without_tasks else GuessingGameWithTasks
    app = create_app(game, Guess, Hint, env_name="guess", max_concurrent_envs=arguments.sessions, state_cls=GuessState)
    uvicorn.run(app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
