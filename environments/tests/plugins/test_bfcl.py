"""bfcl through the server: every gold episode, wrong episodes, and the rules of the four categories."""

import itertools
import json
from typing import Any

import pytest

from conftest import Client, Session

BFCL = "/envs/bfcl"


def draw(client: Client, split: str, count: int = 1000, **options: Any) -> list[dict[str, Any]]:
    return client.draw("bfcl", split, count, **options)


@pytest.fixture(scope="module")
def tasks(server: Client) -> list[dict[str, Any]]:
    return draw(server, "train") + draw(server, "held-out")


def one(tasks: list[dict[str, Any]], task_id: str) -> dict[str, Any]:
    return next(task for task in tasks if task["task_id"] == task_id)


def play(session: Session, task: dict[str, Any], actions: list[str]) -> dict[str, Any]:
    return session.play(task["definition"], actions)


def test_all_800_gold_episodes_score_1(server: Client, tasks: list[dict[str, Any]]) -> None:
    assert len(tasks) == 800
    with server.session("bfcl") as session:
        lost = [
            task["task_id"] for task in tasks if play(session, task, task["reference_actions"])["reward"] != 1
        ]
    assert lost == []


def test_episodes_without_calls_or_with_another_tasks_calls_score_0(
    server: Client, tasks: list[dict[str, Any]]
) -> None:
    with server.session("bfcl") as session:
        for task, other in zip(tasks, tasks[1:] + tasks[:1], strict=True):
            turns = task["features"]["turns"]
            silent = play(session, task, ["Done."] * turns)
            assert (silent["reward"], silent["metadata"]["success"]) == (0.0, False)
            calls = [action for action in other["reference_actions"] if action != "Done."]
            swapped = [calls[i % len(calls)] if i % 2 == 0 else "Done." for i in range(2 * turns)]
            if calls[: len(task["reference_actions"])] != task["reference_actions"]:
                assert play(session, task, swapped)["reward"] == 0.0


def test_an_episode_without_its_last_call_scores_0(server: Client, tasks: list[dict[str, Any]]) -> None:
    lost = 0
    with server.session("bfcl") as session:
        for task in tasks[:200]:
            actions = list(task["reference_actions"])
            last = max(i for i, action in enumerate(actions) if action != "Done.")
            del actions[last]
            lost += play(session, task, actions)["reward"] == 0.0
    assert lost == 200


def test_each_category_is_halved_in_its_own_order(tasks: list[dict[str, Any]]) -> None:
    for category in ("base", "miss_func", "miss_param", "long_context"):
        mine = [task for task in tasks if task["features"]["pattern"] == category]
        assert len(mine) == 200
        for task in mine:
            assert task["split"] == ("train" if int(task["task_id"][-3:]) < 100 else "held-out")
    assert len({task["content_key"] for task in tasks}) == 800


def test_turns_follow_each_other_with_results_between(server: Client, tasks: list[dict[str, Any]]) -> None:
    task = one(tasks, "bfcl/base/000")
    with server.session("bfcl") as session:
        opened = session.reset(task=task["definition"])["data"]["observation"]
        assert [message["role"] for message in opened["messages"]] == ["system", "user"]
        assert {tool["name"] for tool in opened["tools"]} >= {"cd", "mkdir", "post_tweet"}
        assert {tool["parameters"]["type"] for tool in opened["tools"]} == {"object"}
        called = session.step("[cd(folder='document'), mkdir(dir_name='temp')]")["data"]["observation"]
        assert [message["role"] for message in called["messages"]] == ["tool", "tool"]
        assert "tools" not in called
        turned = session.step("That is all.")["data"]["observation"]
        assert (turned["messages"][0]["role"], turned["info"]["turn"]) == ("user", 1)


def test_a_held_back_function_is_listed_in_its_turn(server: Client, tasks: list[dict[str, Any]]) -> None:
    task = one(tasks, "bfcl/miss_func/000")  # the package holds `sort` back until turn 3
    with server.session("bfcl") as session:
        opened = session.reset(task=task["definition"])["data"]["observation"]
        assert "sort" not in {tool["name"] for tool in opened["tools"]}
        for _ in range(3):
            turned = session.step("Done.")["data"]["observation"]
        assert "sort" in {tool["name"] for tool in turned["tools"]}
        assert turned["messages"][0]["role"] == "user"


def test_a_call_in_a_turn_without_gold_calls_scores_0_only_with_irrelevance(
    server: Client, tasks: list[dict[str, Any]]
) -> None:
    task = one(tasks, "bfcl/miss_func/000")
    strict = one(draw(server, "train", irrelevance=True), "bfcl/miss_func/000")
    actions = list(task["reference_actions"])
    empty = next(i for i, pair in enumerate(itertools.pairwise(actions)) if pair == ("Done.",) * 2)
    called = [*actions[: empty + 1], "[ls()]", *actions[empty + 1 :]]
    with server.session("bfcl") as session:
        assert play(session, task, called)["reward"] == 1.0
        assert play(session, strict, actions)["reward"] == 1.0
        last = play(session, strict, called)
    assert (last["reward"], last["metadata"]["error_type"]) == (0.0, "irrelevance_error:decoder_success")
    held_out = draw(server, "held-out", irrelevance=True, dense=True)
    assert {(t["definition"]["irrelevance"], t["definition"]["dense"]) for t in held_out} == {(False, False)}


def test_the_step_after_the_limit_of_a_turn_ends_the_attempt(
    server: Client, tasks: list[dict[str, Any]]
) -> None:
    task = one(draw(server, "train", max_steps_per_turn=3), "bfcl/base/000")
    with server.session("bfcl") as session:
        last = play(session, task, ["[ls()]"] * 4)
    assert last["done"]
    assert (last["reward"], last["metadata"]["stop_reason"]) == (0.0, "turn-limit")


def test_dense_rewards_count_the_turns_passed(server: Client) -> None:
    task = one(draw(server, "train", dense=True), "bfcl/base/000")
    first_turn = task["reference_actions"].index("Done.") + 1
    turns = task["features"]["turns"]
    with server.session("bfcl") as session:
        last = play(session, task, task["reference_actions"][:first_turn] + ["Done."] * (turns - 1))
    assert last["reward"] == pytest.approx(1 / turns)
    assert last["metadata"]["success"] is False


@pytest.mark.parametrize(
    "text",
    [
        "[__import__('os').system('true')]",
        "[ls(a=lambda: open('/etc/passwd'))]",
        "[().__class__()]",
        "[ls(**{'a': True})]",
        "[cd(folder='a' * 10**9)]",
        "[(lambda: 1)()]",
        "print",
        "",
    ],
)
def test_text_other_than_a_list_of_literal_calls_ends_the_turn(
    server: Client, tasks: list[dict[str, Any]], text: str
) -> None:
    with server.session("bfcl") as session:
        session.reset(task=one(tasks, "bfcl/base/000")["definition"])
        assert session.step(text)["data"]["observation"]["info"]["turn"] == 1


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("no_such_function()", "name 'no_such_function' is not defined"),
        ("_load_scenario(scenario={})", "is not defined"),
        ("cd(path='x')", "unexpected keyword argument"),
        ("cd(folder=open(file='/etc/passwd'))", "name 'open' is not defined"),
        ("cd(folder=open('/etc/passwd'))", "open('/etc/passwd')"),  # a text, as in the published evaluation
        ("post_tweet(content=1, tags=2)", "error"),
    ],
)
def test_a_failed_call_is_an_observation(
    server: Client, tasks: list[dict[str, Any]], call: str, complaint: str
) -> None:
    with server.session("bfcl") as session:
        session.reset(task=one(tasks, "bfcl/base/000")["definition"])
        observation = session.step(f"[{call}]")["data"]["observation"]
    assert complaint in observation["messages"][0]["content"]
    assert observation["info"]["turn"] == 0


@pytest.mark.parametrize("call", ["power(9, 999999999)", "square_root(2, precision=10000000)"])
def test_a_call_with_excessive_computing_time_is_refused(
    server: Client, tasks: list[dict[str, Any]], call: str
) -> None:
    task = next(task for task in tasks if "MathAPI" in task["features"]["group"])
    with server.session("bfcl") as session:
        session.reset(task=task["definition"])
        content = session.step(f"[{call}]")["data"]["observation"]["messages"][0]["content"]
    assert "must be at most" in content


def test_variants_are_not_supported(server: Client) -> None:
    assert server.http.get(f"{BFCL}/data/capabilities").json()["variants"] is False
    body = {"parents": [], "relation": "random", "count": 1, "seed": 1}
    refused = server.http.post(f"{BFCL}/data/variants", json=body)
    assert refused.status_code == 404
    assert "no generator" in refused.json()["detail"]


def test_public_tasks_contain_no_gold(server: Client, tasks: list[dict[str, Any]]) -> None:
    listed = server.post(f"{BFCL}/bfcl/tasks", split="train")
    assert len(listed["tasks"]) == server.post(f"{BFCL}/bfcl/num_tasks", split="train")["num_tasks"] == 400
    assert listed["env_name"] == "bfcl"
    first = server.post(f"{BFCL}/bfcl/task", split="train", index=0)["task"]
    assert first == listed["tasks"][0]
    assert (
        server.post(f"{BFCL}/bfcl/task_range", split="train", start=2, stop=4)["tasks"]
        == listed["tasks"][2:4]
    )
    assert "reference_actions" not in json.dumps(listed)
    assert server.http.get(f"{BFCL}/bfcl/splits").json()[0] == {"name": "train", "type": "train"}
    assert server.http.get(f"{BFCL}/list_environments").json() == ["bfcl"]
