"""Texts that end their own world, and children that another program kills during an action."""

from pathlib import Path

import pytest

from conftest import Client, Serve, error_code
from counting_server import TASK, children_of, metric, serve_counting

ENDS = ["die 0", "exit 0", "kill 0", "fail 0", "hold 100"]


def scored_0(client: Client, text: str) -> bool:
    with client.session("counting") as session:
        session.reset_in_time(**TASK)
        faults = timeouts(client)
        ended = session.step(text)
        assert timeouts(client) == faults
        assert ended["type"] == "observation", (text, ended)
        data = ended["data"]
        assert (data["done"], data["metadata"]["stop_reason"]) == (True, "world-ended"), text
        assert error_code(session.step("add 1")) == "SESSION_ERROR"
        return bool(data["reward"] == 0)


def timeouts(client: Client) -> float:
    return metric(client, "faults_total", environment="counting", kind="timeout")


@pytest.mark.parametrize("where", ["child", "code"])
def test_a_text_that_ends_its_world_scores_0_without_a_fault(
    serve: Serve, tmp_path: Path, where: str
) -> None:
    client = serve_counting(serve, tmp_path, pool=1, memory_mb=100, where=where)
    assert [text for text in ENDS if scored_0(client, text)] == ENDS
    with client.session("counting") as session:
        assert session.play({}, ["add 1"] * 5)["reward"] == 1.0
    kinds = ["crashed", "killed", "error", "out-of-memory"]
    ended = {kind: metric(client, "worlds_ended_total", environment="counting", kind=kind) for kind in kinds}
    assert ended == {"crashed": 2, "killed": 1, "error": 1, "out-of-memory": 1}
    assert not any(metric(client, "faults_total", environment="counting", kind=kind) for kind in kinds)


@pytest.mark.parametrize("where", ["child", "code"])
def test_a_text_that_takes_too_long_scores_0_without_a_fault(
    serve: Serve, tmp_path: Path, where: str
) -> None:
    client = serve_counting(serve, tmp_path, pool=1, turn_seconds=1, where=where)
    assert scored_0(client, "sleep 60")
    assert metric(client, "worlds_ended_total", environment="counting", kind="timeout") == 1


@pytest.mark.parametrize("where", ["child", "code"])
def test_a_child_that_another_program_kills_during_an_action_is_a_fault(
    serve: Serve, tmp_path: Path, where: str
) -> None:
    client = serve_counting(serve, tmp_path, pool=1, where=where)
    with client.session("counting") as session:
        session.reset(**TASK)
        (child,) = children_of(client)
        session.connection.send('{"type": "step", "data": {"content": "sleep 1"}}')
        child.kill()
        assert error_code(session.receive()) == "EXECUTION_ERROR"
        assert session.play({}, ["add 1"] * 5)["reward"] == 1.0
    assert metric(client, "faults_total", environment="counting", kind="killed") == 1


def test_code_that_takes_half_of_the_clients_time_scores_0(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, where="code")
    with client.session("counting") as session:
        session.reset(**TASK, lease={"holder": "campaign/7", "seconds": 0.4})
        ended = session.step("sleep 0.3")["data"]
    assert (ended["done"], ended["reward"], ended["metadata"]["error_type"]) == (True, 0.0, "timeout")
