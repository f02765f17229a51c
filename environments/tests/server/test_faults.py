"""A fault of an environment is an error, never a reward; what a text does to its world is its result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from websockets.sync.client import connect

from coevolve_environments.protocol import (
    Capabilities,
    Environment,
    Episode,
    Json,
    Observation,
    Split,
    TaskRecord,
)
from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server.app import create_app
from conftest import Session
from server_thread import server_thread


class Fragile(Environment):
    """A plugin that fails in the method that its task definition names, at each `go`, or at the first one."""

    name = "fragile"
    description = "fails on demand"
    capabilities = Capabilities(variants=False, replay="observations", dense_reward=False, max_turns=1)

    def __init__(self) -> None:
        self.played: list[str] = []

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return []

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        return []

    def start(self, definition: Json, seed: int) -> Episode:
        if definition["fails"] == "start":
            raise OSError("start failed")
        return FragileEpisode(definition["fails"], self.played)


class FragileEpisode:
    task_id = "fragile/1"
    split = "train"

    def __init__(self, fails: str, played: list[str]) -> None:
        self._fails = fails
        self._played = played

    def open(self) -> Observation:
        return Observation([], 0)

    def act(self, content: str) -> Observation:
        plays = f"{self._fails}: {content}"
        self._played.append(plays)
        is_first = self._played.count(plays) == 1
        if self._fails == "act" or plays == "go: go" or (plays == "first go: go" and is_first):
            raise ZeroDivisionError("act failed")
        return Observation([], 1, done=True, reward=1.0, metadata={"raw_score": 1.0})

    def close(self) -> None:
        pass


class FragileCode(Fragile):
    name = "code"
    runs_code = True


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    built = BuiltEnvironments({"fragile": Fragile(), "code": FragileCode()}, {})
    app = create_app(built, capacity=4, idle_seconds=30, token=None)
    with server_thread(app) as port:
        yield port


@pytest.fixture(scope="module")
def url(port: int) -> str:
    return f"ws://127.0.0.1:{port}/envs/fragile/ws"


def test_a_step_that_raises_is_an_execution_error_and_ends_the_episode(url: str) -> None:
    with Session(connect(url)) as session:
        session.reset(task={"fails": "act"})
        failed = session.step("go")
        assert failed["type"] == "error"
        assert failed["data"]["code"] == "EXECUTION_ERROR"
        assert "reward" not in failed["data"]
        assert session.step("go")["data"]["code"] == "SESSION_ERROR"
        assert session.play({"fails": "nowhere"}, ["go"])["reward"] == 1.0


def end_of(port: int, environment: str, fails: str) -> tuple[Any, ...]:
    """Returns how the text `go` ends: its reward and stop reason, or the code of the error."""
    with Session(connect(f"ws://127.0.0.1:{port}/envs/{environment}/ws")) as session:
        session.reset(task={"fails": fails})
        data = session.step("go")["data"]
    return (
        (data["code"],) if "code" in data else (data["done"], data["reward"], data["metadata"]["stop_reason"])
    )


def test_a_fault_that_befalls_other_texts_too_is_no_result(port: int) -> None:
    assert end_of(port, "fragile", "act") == end_of(port, "code", "act") == ("EXECUTION_ERROR",)


def test_a_text_that_fails_where_another_one_does_not_has_the_result_0(port: int) -> None:
    scored_0 = (True, 0.0, "world-ended")
    assert end_of(port, "fragile", "go") == end_of(port, "code", "go") == scored_0


def test_code_that_fails_only_at_its_first_run_has_the_result_0_and_other_texts_are_played_again(
    port: int,
) -> None:
    assert end_of(port, "code", "first go") == (True, 0.0, "world-ended")
    assert end_of(port, "fragile", "first go") == ("EXECUTION_ERROR",)


def test_an_episode_that_cannot_be_made_is_a_factory_error(url: str) -> None:
    with Session(connect(url)) as session:
        failed = session.reset(task={"fails": "start"})
        assert failed["data"]["code"] == "FACTORY_ERROR"
        assert session.play({"fails": "nowhere"}, ["go"])["reward"] == 1.0


def test_a_fault_is_logged_in_one_line_with_the_holder_of_the_session(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    lease = {"holder": "campaign/7\nWARNING forged"}
    with Session(connect(url)) as session:
        session.reset(task={"fails": "start"}, lease=lease)
        session.reset(task={"fails": "act"}, lease=lease)
        session.step("go")
    lines = [record.getMessage() for record in caplog.records if record.name.endswith(".session")]
    assert [line.partition(" (")[0] for line in lines] == [
        "fragile of campaign/7\\nWARNING forged: starting an episode failed: OSError: start failed",
        "fragile of campaign/7\\nWARNING forged: step failed: ZeroDivisionError: act failed",
    ]
