"""Composed tasks of environments without a composer of their own: a query in the world of another task."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import REPOSITORY, Client, start_server, stop_server, text_of

SETTINGS = REPOSITORY / "examples/environments/courier.yaml"
NORTH = ["north"] * 4
QUERY = "Walk to the north-west corner."


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("composed")
    served = start_server(folder, "--environments", "courier", "--settings", str(SETTINGS))
    yield served
    stop_server(served)


@pytest.fixture(scope="module")
def parent(client: Client) -> dict[str, Any]:
    """Returns a task that does not start in the north-west corner, and whose parcel is elsewhere."""
    drawn = client.post("/envs/courier/data/tasks", split="train", count=50, seed=3)["tasks"]
    corner = [0, 0]
    return next(dict(t) for t in drawn if corner not in (t["definition"]["start"], t["definition"]["parcel"]))


def compose(client: Client, parent: dict[str, Any], query: str, actions: list[str], **more: Any) -> Any:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": {}, **more}
    return client.post("/envs/courier/data/compose", **body)


def last_text(data: dict[str, Any]) -> str:
    return str(data["observation"]["messages"][-1]["content"])


def to_corner(parent: dict[str, Any]) -> list[str]:
    x, y = parent["definition"]["start"]
    return [*["west"] * x, *["north"] * y]


def test_the_state_after_the_actions_is_the_checker_and_the_parents_reward_never_counts(
    client: Client, parent: dict[str, Any]
) -> None:
    walk = to_corner(parent)
    task = compose(client, parent, QUERY, walk)["task"]
    assert (task["grader"], task["goal"], task["split"]) == ("environment", QUERY, "train")
    assert task["reference_actions"] == [*walk, "finish[]"]
    with client.session("courier") as session:
        opened = text_of(session.reset(task=task["definition"], seed=9))
        assert QUERY in opened
        assert "finish[" in opened
        assert "to the door" not in opened
        detour = ["Thought: first west.\nAction: west", *reversed(walk), "finish[I am there]"]
        rewards = {
            "gold": session.play(task["definition"], task["reference_actions"])["reward"],
            "another way": session.play(task["definition"], detour)["reward"],
            "nothing": session.play(task["definition"], ["finish[]"])["reward"],
            "the turn limit": session.play(task["definition"], ["west", "north"] * 10)["reward"],
            "the parent's gold": session.play(task["definition"], parent["reference_actions"])["reward"],
        }
        ended = session.play(task["definition"], task["reference_actions"])
        assert "score" not in ended["observation"]["info"]
        assert "The actions have changed in the world:\n- You are at [0, 0]" in last_text(ended)
        assert ended["metadata"]["stop_reason"] == "completed"
    assert rewards == {
        "gold": 1.0,
        "another way": 1.0,
        "nothing": 0.0,
        "the turn limit": 0.0,
        "the parent's gold": 0.0,
    }


def test_a_question_is_checked_by_its_answer_and_never_by_the_state_alone(
    client: Client, parent: dict[str, Any]
) -> None:
    query = "How far is the north-west corner?"
    steps = len(to_corner(parent))
    walk = [*to_corner(parent), f"finish[{steps} steps]"]
    task = compose(client, parent, query, walk, form="react")["task"]
    assert (task["grader"], task["reference_actions"][-1]) == (
        "environment",
        f"Action: finish[{steps} steps]",
    )
    ways = {
        "gold": walk,
        "in other words": ["south", f"finish[The corner is {steps}.0 steps far.]"],
        "a wrong answer": [*walk[:-1], "finish[16 steps]"],
        "no answer": [*walk[:-1], "finish[]"],
        "nothing": ["finish[]"],
    }
    with client.session("courier") as session:
        rewards = {name: session.play(task["definition"], way)["reward"] for name, way in ways.items()}
    assert rewards == {
        "gold": 1.0,
        "in other words": 1.0,
        "a wrong answer": 0.0,
        "no answer": 0.0,
        "nothing": 0.0,
    }
    assert compose(client, parent, query, walk[:-1])["refused"]["reason"] == "no-answer"


def test_a_task_of_the_first_release_is_graded_by_the_hash_of_its_end_state(
    client: Client, parent: dict[str, Any]
) -> None:
    end = hashlib.sha256(json.dumps({"at": [0, 0], "holds": False}, sort_keys=True).encode()).hexdigest()
    task = {"task_id": "courier/composed/1", "split": "train", "query": QUERY, "end_state": end}
    task["composed_in"] = parent["definition"]
    walk = to_corner(parent)
    with client.session("courier") as session:
        assert session.play(task, [*walk, "finish[]"])["reward"] == 1.0
        assert session.play(task, [*walk[1:], "finish[]"])["reward"] == 0.0
        assert session.play({**task, "end_state": None}, [*walk, "finish[]"])["reward"] == 0.0


def test_equal_end_states_of_one_world_are_one_task_and_a_composed_parent_gives_its_world(
    client: Client, parent: dict[str, Any]
) -> None:
    walk = to_corner(parent)
    first = compose(client, parent, QUERY, walk)["task"]
    again = compose(client, first, "Go to [0, 0].", [*walk, "west"])["task"]
    other = compose(client, parent, QUERY, walk[:-1])["task"]
    assert again["content_key"] == first["content_key"] != other["content_key"]
    assert again["definition"]["composed_in"] == parent["definition"]


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (["north"] * 20, "not-executable"),
        ([], "bad-format"),
        (["finish[]"], "bad-format"),
        (["east", "west"], "no-goal"),
        (["west", "finish[I am there]"], "no-answer"),
    ],
)
def test_actions_that_do_not_end_before_the_limit_are_refused(
    client: Client, parent: dict[str, Any], actions: list[str], reason: str
) -> None:
    assert compose(client, parent, QUERY, actions)["refused"]["reason"] == reason


def test_a_held_out_parent_and_an_invalid_definition_are_refused(
    client: Client, parent: dict[str, Any]
) -> None:
    held_out = {**parent["definition"], "split": "held-out"}
    body = {"parent": held_out, "query": QUERY, "actions": NORTH, "options": {}}
    refused = client.http.post("/envs/courier/data/compose", json=body)
    assert (refused.status_code, "train task" in refused.text) == (400, True)
    with client.session("courier") as session:
        for broken in ({"composed_in": 1}, {"query": None}, {"end_state": 3}, {"goal": {"facts": 1}}):
            definition = {"composed_in": parent["definition"], "query": QUERY, **broken}
            assert session.reset(task=definition)["data"]["code"] == "VALIDATION_ERROR"
