"""The example of docs/new-environment.md, mounted as in the guide and played over its protocol."""

from collections.abc import Iterator
from typing import Any

import pytest

from conftest import REPOSITORY, Client, start_server, stop_server

SETTINGS = REPOSITORY / "examples/environments/courier.yaml"


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
def test_gold_has_reward_1_and_gold_without_one_move_has_less(client: Client, split: str) -> None:
    with client.session("courier") as session:
        for task in tasks(client, split):
            gold = task["reference_actions"]
            data = session.play(task["definition"], gold)
            assert (data["done"], data["reward"]) == (True, 1.0)
            assert data["metadata"]["success"] is True
            fill = ["east"] * 20  # up to the step limit
            reply = session.reset(task=task["definition"])
            for action in [*gold[1:-1], "drop", *fill]:
                reply = session.step(action)
                if reply["data"]["done"]:
                    break
            assert reply["data"]["done"] is True
            assert reply["data"]["reward"] < 1


def test_two_sessions_of_a_task_give_the_same_replies(client: Client) -> None:
    task = tasks(client, "train", 1)[0]
    with client.session("courier") as first, client.session("courier") as second:
        for session in (first, second):
            session.reset(task=task["definition"])
        for action in ["north", "Thought: hm.\nAction: take", "fly", *task["reference_actions"]]:
            assert first.step(action) == second.step(action)


def test_holding_the_parcel_scores_a_half(client: Client) -> None:
    task = tasks(client, "train", 1)[0]
    gold = task["reference_actions"]
    with client.session("courier") as session:
        data = session.play(task["definition"], gold[: gold.index("take") + 1])
    assert (data["done"], data["reward"], data["observation"]["info"]["score"]) == (False, 0.0, 0.5)


def test_no_task_is_in_both_splits_and_a_seed_repeats_its_draw(client: Client) -> None:
    train, held_out = tasks(client, "train"), tasks(client, "held-out")
    assert (len(train), len(held_out)) == (200, 200)
    assert not {task["content_key"] for task in train} & {task["content_key"] for task in held_out}
    assert tasks(client, "train") == train


@pytest.mark.parametrize("broken", [{}, {"door": None}, {"parcel": ["a", 1]}])
def test_an_invalid_definition_is_refused(client: Client, broken: dict[str, Any]) -> None:
    definition = {**tasks(client, "train", 1)[0]["definition"], **broken} if broken else {}
    with client.session("courier") as session:
        refused = session.reset(task=definition)
    assert refused["data"]["code"] == "VALIDATION_ERROR"
