"""The example of the guide, docs/new-environment.md: mounted as it says, played through the wire."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Client, start_server, stop_server

SETTINGS = Path(__file__).parents[3] / "examples/environments/courier.yaml"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("courier")
    served = start_server(folder, "--environments", "courier", "--settings", str(SETTINGS))
    yield served
    stop_server(served)


def tasks(client: Client, split: str, count: int = 200) -> list[dict[str, Any]]:
    body = {"split": split, "count": count, "seed": 3}
    return list(client.post("/envs/courier/data/tasks", **body)["tasks"])


@pytest.mark.parametrize("split", ["train", "held-out"])
def test_gold_has_reward_one_and_gold_with_a_move_left_out_has_not(client: Client, split: str) -> None:
    with client.session("courier") as session:
        for task in tasks(client, split):
            gold = task["reference_actions"]
            data = session.play(task["definition"], gold)
            assert (data["done"], data["reward"]) == (True, 1.0)
            assert data["metadata"]["success"] is True
            fill = ["east"] * 20  # until the steps are used up
            answer = session.reset(task=task["definition"])
            for action in [*gold[1:-1], "drop", *fill]:
                answer = session.step(action)
                if answer["data"]["done"]:
                    break
            assert answer["data"]["done"] is True
            assert answer["data"]["reward"] < 1


def test_an_episode_gives_the_same_again(client: Client) -> None:
    task = tasks(client, "train", 1)[0]
    with client.session("courier") as first, client.session("courier") as second:
        for session in (first, second):
            session.reset(task=task["definition"])
        for action in ["north", "Thought: hm.\nAction: take", "fly", *task["reference_actions"]]:
            assert first.step(action) == second.step(action)


def test_half_the_score_is_for_holding_the_parcel(client: Client) -> None:
    task = tasks(client, "train", 1)[0]
    gold = task["reference_actions"]
    with client.session("courier") as session:
        data = session.play(task["definition"], gold[: gold.index("take") + 1])
    assert (data["done"], data["reward"], data["observation"]["info"]["score"]) == (False, 0.0, 0.5)


def test_no_task_is_on_both_sides_and_a_seed_draws_the_same_again(client: Client) -> None:
    train, held_out = tasks(client, "train"), tasks(client, "held-out")
    assert (len(train), len(held_out)) == (200, 200)
    assert not {task["content_key"] for task in train} & {task["content_key"] for task in held_out}
    assert tasks(client, "train") == train


@pytest.mark.parametrize("broken", [{}, {"door": None}, {"parcel": ["a", 1]}])
def test_a_definition_that_cannot_be_played_is_refused(client: Client, broken: dict[str, Any]) -> None:
    definition = {**tasks(client, "train", 1)[0]["definition"], **broken} if broken else {}
    with client.session("courier") as session:
        refused = session.reset(task=definition)
    assert refused["data"]["code"] == "VALIDATION_ERROR"
