"""A shop that draws price limits per session: all trajectories of a task answer one instruction."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_webshop import remote_sessions, settings_file, task_of

from conftest import Client, Serve, error_code, start_server, stop_server
from fake_server import FakeServer, fake_server


@pytest.fixture(scope="module")
def shop() -> Iterator[FakeServer]:
    with fake_server("fake_webshop.py", "--drawn-prices") as server:
        yield server


@pytest.fixture(scope="module")
def client(shop: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("webshop")
    served = start_server(
        folder, "--environments", "webshop", "--settings", str(settings_file(folder, shop.url))
    )
    yield served
    stop_server(served)


def instruction_of(opened: dict[str, Any]) -> str:
    """Returns the instruction on the first page; a fault has none."""
    assert opened["type"] == "observation", opened
    page = str(opened["data"]["observation"]["messages"][1]["content"])
    return page.split("[SEP]")[2].strip()


def test_all_sessions_of_a_task_show_the_instruction_of_its_definition(client: Client) -> None:
    body = {"split": "train", "count": 2, "seed": 0, "options": {}}
    for task in client.post("/envs/webshop/data/tasks", **body)["tasks"]:
        seen = []
        for _ in range(4):
            with client.session("webshop") as session:
                seen.append(instruction_of(session.reset(task=task["definition"])))
        assert seen == [task["definition"]["instruction"]] * 4
        assert task["goal"] == task["definition"]["instruction"]


def test_a_restarted_environment_server_draws_the_same_definitions(serve: Serve, tmp_path: Path) -> None:
    with fake_server("fake_webshop.py", "--drawn-prices") as shop:
        arguments = ["--environments", "webshop", "--settings", str(settings_file(tmp_path, shop.url))]
        first = serve(*arguments)
        before = task_of(first)
        assert "price lower than" in before["instruction"]
        stop_server(first)
        again = serve(*arguments)
        assert task_of(again) == before


def test_a_session_with_another_instruction_is_a_fault_without_reward(
    client: Client, shop: FakeServer
) -> None:
    task = {**task_of(client), "instruction": "a silk scarf, and price lower than 999.00 dollars"}
    with client.session("webshop") as session:
        failed = session.reset(task=task)
    assert error_code(failed) == "EXECUTION_ERROR"
    assert "999.00" in failed["data"]["message"]
    assert "reward" not in failed["data"]
    assert remote_sessions(shop) <= 1


def test_a_task_by_its_id_keeps_the_instruction_of_its_first_session(client: Client) -> None:
    seen = set()
    for _ in range(4):
        with client.session("webshop") as session:
            seen.add(instruction_of(session.reset(task_id="webshop/2")))
    assert len(seen) == 1


def test_an_instruction_must_be_a_text(client: Client) -> None:
    with client.session("webshop") as session:
        refused = session.reset(task={**task_of(client), "instruction": 7})
    assert "instruction" in refused["data"]["message"]
    assert refused["data"]["code"] == "VALIDATION_ERROR"
