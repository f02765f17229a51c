"""The contract with AgentEvolver's env-service, tested with a FAKE one: its figures are no benchmark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import given, settings

from coevolve_environments.plugins.env_service.service import read_state
from coevolve_environments.plugins.remote.client import BadRemoteResponse
from coevolve_environments.protocol import Unavailable
from coevolve_environments.registry import build_environments
from coevolve_environments.settings import SettingsFile
from conftest import Client, Serve, start_server, stop_server, text_of, wait_until
from fake_server import FakeServer, fake_server
from json_responses import json_values

NAME = "sums-remote"


@pytest.fixture(scope="module")
def service() -> Iterator[FakeServer]:
    with fake_server("fake_env_service.py") as server:
        yield server


@pytest.fixture(scope="module")
def client(service: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("service")
    served = start_server(folder, *arguments(folder, service.url))
    yield served
    stop_server(served)


def arguments(folder: Path, url: str, **more: Any) -> list[str]:
    section = {"plugin": "env-service", "url": url, "env_type": "sums", **more}
    file = folder / "environments.yaml"
    file.write_text(yaml.safe_dump({"hosted": {NAME: section}}))
    return ["--environments", NAME, "--settings", str(file)]


def tasks(client: Client, split: str, **options: Any) -> list[dict[str, Any]]:
    body = {"split": split, "count": 9, "seed": 0, "options": options}
    return list(client.post(f"/envs/{NAME}/data/tasks", **body)["tasks"])


def definition(client: Client, remote_task: str, **options: Any) -> dict[str, Any]:
    found = [t["definition"] for t in tasks(client, "held-out", **options)]
    return next(dict(d) for d in found if d["remote_task"] == remote_task)


def instances(service: FakeServer) -> int:
    return int(httpx.get(service.url, trust_env=False).json()["instances"])


def test_a_terminated_instance_is_scored_by_the_service_and_released(
    client: Client, service: FakeServer
) -> None:
    with client.session(NAME) as session:
        first = session.reset(task=definition(client, "shared"))["data"]["observation"]["messages"]
        assert [message["role"] for message in first] == ["user"]
        assert "FAKE env-service" in first[0]["content"]
        wrong = session.step("5")["data"]
        assert (wrong["done"], wrong["reward"]) == (False, 0.0)
        assert wrong["observation"]["messages"] == [{"role": "user", "content": "wrong"}]
        data = session.step("6")["data"]
        wait_until(lambda: instances(service) == 1, "the service holds another instance")
    assert (data["done"], data["reward"]) == (True, 1.0)
    assert data["metadata"]["stop_reason"] == "completed"
    wait_until(lambda: instances(service) == 0, "the service still holds the instance")


def test_an_instance_at_the_step_limit_is_scored_in_its_current_state(client: Client) -> None:
    with client.session(NAME) as session:
        data = session.play(definition(client, "4", max_turns=2), ["7", "8"])
        assert (data["reward"], data["metadata"]["stop_reason"]) == (0.0, "turn-limit")
        left = session.play(definition(client, "4"), ["leave"])
        assert (left["reward"], left["metadata"]["stop_reason"]) == (0.0, "completed")


def test_a_composed_task_states_its_query_and_is_never_scored_by_the_service(client: Client) -> None:
    parent = tasks(client, "train")[0]["definition"]
    body = {"parent": parent, "query": "Send five.", "actions": ["5"], "options": {}}
    task = client.post(f"/envs/{NAME}/data/compose", **body)["task"]
    assert (task["grader"], task["reference_actions"]) == ("judge", ["5", "finish[]"])
    with client.session(NAME) as session:
        opened = session.reset(task=task["definition"], seed=0)
        assert "It replaces every other task" in text_of(opened)
        assert "Send five." in text_of(opened)
        ended = session.play(task["definition"], task["reference_actions"])
    assert (ended["done"], ended["reward"], ended["metadata"]["raw_score"]) == (True, 0.0, 0.0)


def test_a_task_in_both_splits_of_the_service_is_held_out(client: Client) -> None:
    train, held_out = tasks(client, "train"), tasks(client, "held-out")
    assert {task["task_id"] for task in train} == {f"{NAME}/1", f"{NAME}/2", f"{NAME}/3"}
    assert {task["task_id"] for task in held_out} == {f"{NAME}/4", f"{NAME}/shared"}
    assert not {task["content_key"] for task in train} & {task["content_key"] for task in held_out}


def test_an_error_of_the_service_at_one_text_alone_is_the_result_of_the_text(
    client: Client, service: FakeServer
) -> None:
    with client.session(NAME) as session:
        session.reset(task=definition(client, "4"))
        ended = session.step("refuse")["data"]
    assert (ended["reward"], ended["metadata"]["stop_reason"]) == (0.0, "world-ended")
    wait_until(lambda: instances(service) == 0, "the service still holds the instance")


def test_a_crash_of_the_service_is_a_fault_without_reward(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_env_service.py") as mortal:
        client = serve(*arguments(tmp_path, mortal.url))
        with client.session(NAME) as session:
            session.reset(task=definition(client, "4"))
            failed = session.step("crash")
    assert failed["data"]["code"] == "EXECUTION_ERROR"
    assert "RemoteUnreachable" in failed["data"]["message"]


def test_an_evaluation_without_a_number_names_the_setting_to_change(
    serve: Serve, tmp_path: Path, service: FakeServer
) -> None:
    client = serve(*arguments(tmp_path, service.url, sparse=False))
    with client.session(NAME) as session:
        session.reset(task=definition(client, "4"))
        failed = session.step("1")
    assert "`sparse: true`" in failed["data"]["message"]


def test_the_instance_of_a_disconnected_client_is_released(client: Client, service: FakeServer) -> None:
    session = client.session(NAME)
    session.reset(task=definition(client, "4"))
    session.connection.socket.close()
    wait_until(lambda: instances(service) == 0, "the service still holds the instance")


def test_every_request_has_the_headers_of_the_file(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_env_service.py", "hush") as guarded:
        (tmp_path / "headers.yaml").write_text("x-secret: hush\n")
        client = serve(*arguments(tmp_path, guarded.url, headers_file="headers.yaml"))
        with client.session(NAME) as session:
            assert session.play(definition(client, "4"), ["1"])["reward"] == 1.0
        wait_until(lambda: instances(guarded) == 0, "the service still holds the instance")


@settings(derandomize=True)
@given(json_values)
def test_every_response_of_the_service_is_a_state_or_a_fault(answer: object) -> None:
    try:
        state = read_state("/step", answer)
    except BadRemoteResponse:
        return
    assert all(message["role"] in ("system", "user", "tool") for message in state.messages)
    assert all(isinstance(message["content"], str) for message in state.messages)


def build(name: str, **section: Any) -> Any:
    return build_environments([name], SettingsFile(Path(), Path(), {name: section})).environments[name]


def test_the_adapter_can_be_mounted_under_its_own_name() -> None:
    made = build("env-service", url="http://service.example:1", env_type="bfcl", held_out_split="val")
    assert made.name == "env-service"
    assert made.capabilities.gold is False


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({}, "env_type"),
        ({"env_type": "bfcl", "held_out_split": "train"}, "held_out_split: expected a split other than"),
        ({"env_type": "bfcl", "sparse": "yes"}, "sparse: expected true or false"),
        ({"env_type": "bfcl", "train": "train"}, "train: unknown setting"),
    ],
)
def test_an_invalid_setting_is_named(section: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build(NAME, plugin="env-service", url="http://service.example:1", **section)


def test_a_missing_address_names_the_setting() -> None:
    with pytest.raises(Unavailable, match=rf"hosted\.{NAME}\.url"):
        build(NAME, plugin="env-service", env_type="bfcl")
