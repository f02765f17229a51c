"""bfcl tasks composed of calls, with the package's own gold calls as input."""

import json
import re
from typing import Any

import pytest

from conftest import Client, Serve

BFCL = "/envs/bfcl"
OPTIONS = {"max_steps_per_turn": 20}


def compose(
    client: Client, parent: dict[str, Any], actions: list[str], query: str = "Do it."
) -> dict[str, Any]:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": OPTIONS}
    return dict(client.post(f"{BFCL}/data/compose", **body))


@pytest.fixture(scope="module")
def parents(server: Client) -> list[dict[str, Any]]:
    body = {"split": "train", "count": 400, "seed": 2, "options": {}}
    return list(server.post(f"{BFCL}/data/tasks", **body)["tasks"])


@pytest.fixture(scope="module")
def composed(server: Client, parents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Composes every train entry's gold calls as one task, with the entry's goal as its query."""
    answers = [compose(server, task, task["reference_actions"], task["goal"]) for task in parents]
    assert not [answer["refused"] for answer in answers if "refused" in answer]
    return [answer["task"] for answer in answers]


def test_the_gold_calls_of_400_train_entries_compose_to_tasks_that_they_solve(
    server: Client, parents: list[dict[str, Any]], composed: list[dict[str, Any]]
) -> None:
    with server.session("bfcl") as session:
        for parent, task in zip(parents, composed, strict=True):
            assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0
            assert (task["split"], task["features"]["pattern"]) == ("train", "composed")
            assert (task["goal"], task["features"]["turns"]) == (parent["goal"].strip(), 1)
            assert task["features"]["group"] == parent["features"]["group"]
            assert task["reference_actions"][-1] == "Done."
    assert {task["grader"] for task in composed} == {"environment"}


def test_the_end_of_an_attempt_tells_the_judge_what_changed(
    server: Client, composed: list[dict[str, Any]]
) -> None:
    task = next(t for t in composed if "post_tweet(" in str(t["definition"]["composed"]["calls"]))
    with server.session("bfcl") as session:
        ended = session.play(task["definition"], task["reference_actions"])["observation"]["messages"][-1]
        nothing = session.play(task["definition"], ["Done."])["observation"]["messages"][-1]
    assert re.search(r"\n- TwitterAPI\.tweet_counter: \d+ -> \d+\n", ended["content"])
    assert nothing["content"] == "The actions have changed nothing in the world."


def test_no_composed_task_is_solved_by_fewer_calls_or_another_tasks_calls(
    server: Client, composed: list[dict[str, Any]]
) -> None:
    with server.session("bfcl") as session:
        for task, other in zip(composed, composed[1:] + composed[:1], strict=True):
            calls = task["definition"]["composed"]["calls"]
            fewer = [f"[{', '.join(calls[:-1])}]", "Done."]
            assert session.play(task["definition"], fewer)["reward"] == 0.0
            assert session.play(task["definition"], ["Done."])["reward"] == 0.0
            if other["definition"]["composed"]["calls"] != calls:
                assert session.play(task["definition"], other["reference_actions"])["reward"] == 0.0


def test_a_changed_literal_with_another_state_or_output_scores_0(
    server: Client, composed: list[dict[str, Any]]
) -> None:
    lost, won = 0, 0
    with server.session("bfcl") as session:
        for task in composed[:100]:
            actions = [action.replace("='", "='x") for action in task["reference_actions"]]
            if actions != task["reference_actions"]:
                won += session.play(task["definition"], actions)["reward"] == 1.0
                lost += 1
    assert lost > 80
    assert won == 0


def test_the_definition_alone_opens_the_episode_on_another_server(
    serve: Serve, composed: list[dict[str, Any]]
) -> None:
    client = serve("--environments", "bfcl")
    with client.session("bfcl") as session:
        opened = session.reset(task=json.loads(json.dumps(composed[0]["definition"])))
        messages = opened["data"]["observation"]["messages"]
        assert messages[1] == {"role": "user", "content": composed[0]["goal"]}
        assert opened["data"]["observation"]["info"]["split"] == "train"
        assert opened["data"]["observation"]["tools"]
        last = session.play(composed[0]["definition"], composed[0]["reference_actions"])
    assert last["reward"] == 1.0


def test_all_spellings_and_wordings_of_a_task_have_one_key(
    server: Client, parents: list[dict[str, Any]]
) -> None:
    parent = next(task for task in parents if task["task_id"] == "bfcl/base/000")
    keys = {
        compose(server, parent, actions, query)["task"]["content_key"]
        for query in ("Make temp.", "Please make a directory.")
        for actions in (
            ["[cd(folder='document'), mkdir(dir_name='temp')]", "Done."],
            ['cd("document")', "Then:", "[ mkdir( dir_name = 'temp' ) ]"],
            ["[cd('document')]", "[]", "`mkdir('temp')`"],
        )
    }
    assert len(keys) == 1
    assert compose(server, parent, ["[cd('document'), mkdir('tmp')]"])["task"]["content_key"] not in keys


def test_a_composed_task_can_be_a_parent(server: Client, composed: list[dict[str, Any]]) -> None:
    again = compose(server, composed[0], composed[0]["reference_actions"])["task"]
    assert again["content_key"] == composed[0]["content_key"]


def test_no_composed_task_equals_a_held_out_one(server: Client, composed: list[dict[str, Any]]) -> None:
    body = {"split": "held-out", "count": 400, "seed": 2, "options": {}}
    held = server.post(f"{BFCL}/data/tasks", **body)["tasks"]
    assert len(held) == 400
    assert not {task["content_key"] for task in held} & {task["content_key"] for task in composed}


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (["[cd(folder='nowhere')]", "Done."], "not-executable"),
        (["[no_such_function()]"], "not-executable"),
        (["[cd(path='document')]"], "not-executable"),
        (["[cd(folder='document'), cd(folder='document')]"], "not-executable"),
        (["[mkdir(dir_name=lambda: 1)]"], "bad-format"),
        (["[cd(folder='document'), mkdir(", "Done."], "bad-format"),
        (["Done."], "bad-format"),
        ([], "bad-format"),
        (["[pwd()]"] * 21, "bad-format"),
        (["[pwd()]"] * 65, "bad-format"),
        (["[touch(file_name='a\x00b')]"], "bad-format"),
        (['{"name": "cd", "arguments": {"from": "document"}}'], "bad-format"),
    ],
)
def test_invalid_actions_are_refused_with_their_reason(
    server: Client, parents: list[dict[str, Any]], actions: list[str], reason: str
) -> None:
    parent = next(task for task in parents if task["task_id"] == "bfcl/base/000")
    assert compose(server, parent, actions)["refused"]["reason"] == reason


def test_calls_without_state_or_output_to_compare_are_graded_by_the_judge(
    server: Client, parents: list[dict[str, Any]]
) -> None:
    parent = next(task for task in parents if task["task_id"] == "bfcl/base/000")
    graders = {
        "search_tweets(keyword='no such word')": "judge",  # returns [], as a search without results
        "touch(file_name='a')": "environment",  # returns None, but changes the state
        "ls()": "environment",  # changes nothing, but returns output
    }
    for call, grader in graders.items():
        task = compose(server, parent, [call])["task"]
        assert task["grader"] == grader
        with server.session("bfcl") as session:
            assert session.play(task["definition"], task["reference_actions"])["done"]


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ({"entry_id": "no such entry"}, "unknown BFCL entry"),
        ({"task_id": "x", "composed": {}}, "KeyError"),
        (
            {
                "task_id": "x",
                "composed": {"category": "base", "classes": ["os"], "config": {}, "query": "", "calls": []},
            },
            "unknown class",
        ),
        (
            {
                "task_id": "x",
                "composed": {
                    "category": "base",
                    "classes": ["GorillaFileSystem"],
                    "config": {"GorillaFileSystem": 3},
                    "query": "",
                    "calls": [],
                },
            },
            "not a composed BFCL task",
        ),
    ],
)
def test_an_invalid_parent_is_a_bad_request(server: Client, definition: dict[str, Any], named: str) -> None:
    body = {"parent": definition, "query": "Do it.", "actions": ["[pwd()]"], "options": {}}
    refused = server.http.post(f"{BFCL}/data/compose", json=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]
