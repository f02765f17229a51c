"""textworld-express through the server: eight games, equal in every process."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import (
    Client,
    Serve,
    Session,
    Task,
    hosted_arguments,
    start_server,
    stop_server,
    text_of,
    wait_until,
)
from jvm_processes import are_gone, jvms_below

NAME = "textworld-express"
GAMES = ("cookingworld", "twc", "coin", "mapreader", "arithmetic", "sorting", "simonsays", "peckingorder")


def draw(client: Client, split: str = "train", count: int = 8, seed: int = 1, **options: Any) -> list[Task]:
    return client.draw(NAME, split, count, seed, **options)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("textworld-express")
    client = start_server(folder, *hosted_arguments(folder, NAME, pool=3))
    yield client
    stop_server(client)


@pytest.fixture(scope="module")
def tasks(client: Client) -> list[Task]:
    return draw(client, count=80) + draw(client, "held-out", count=16)


def transcript(session: Session, task: Task, actions: list[str]) -> list[Any]:
    """Returns all replies of one episode."""
    return [session.reset(task=task["definition"], seed=0), *(session.step(action) for action in actions)]


def transcripts(client: Client, scripts: list[tuple[Task, list[str]]]) -> list[Any]:
    with client.session(NAME) as session:
        return [transcript(session, *script) for script in scripts]


def test_gold_scores_1_in_all_eight_games(client: Client, tasks: list[Task]) -> None:
    assert {task["features"]["pattern"] for task in tasks} == set(GAMES)
    with client.session(NAME) as session:
        for task in tasks:
            ended = session.play(task["definition"], task["reference_actions"])
            assert (ended["reward"], ended["done"], ended["metadata"]["success"]) == (1.0, True, True)
            assert ended["metadata"]["stop_reason"] == "completed"


def test_a_composed_task_replaces_the_games_own_and_is_checked_by_facts(
    client: Client, tasks: list[Task]
) -> None:
    parent = next(task for task in tasks if task["features"]["pattern"] == "cookingworld")
    query = "Open the fridge and close it again, then open the dishwasher."
    actions = ["open fridge", "close fridge", "open dishwasher"]
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": {}}
    task = client.post(f"/envs/{NAME}/data/compose", **body)["task"]
    assert (task["grader"], task["reference_actions"]) == ("environment", [*actions, "finish[]"])
    with client.session(NAME) as session:
        opened = text_of(session.reset(task=task["definition"], seed=0))
        assert query in opened
        assert parent["goal"] not in opened
        after_its_own_goal = [*parent["reference_actions"], "open dishwasher", "finish[]"]
        assert session.play(task["definition"], after_its_own_goal)["reward"] == 1.0
        assert session.play(task["definition"], ["finish[]"])["reward"] == 0.0
        ended = session.play(task["definition"], ["open dishwasher", "finish[]"])
        shown = "changed in the world:\n- gone: dishwasher open no\n- added: dishwasher open yes"
        assert shown in ended["observation"]["messages"][-1]["content"]
    say = {**body, "query": "Say what you carry.", "actions": ["inventory"]}
    assert client.post(f"/envs/{NAME}/data/compose", **say)["refused"]["reason"] == "no-answer"


def test_looking_around_scores_0_and_stops_at_the_step_limit(client: Client, tasks: list[Task]) -> None:
    with client.session(NAME) as session:
        for task in tasks[:8]:
            answer = session.reset(task={**task["definition"], "max_turns": 4}, seed=0)
            turns = 0
            while not answer["data"]["done"]:
                answer = session.step("look around")
                turns += 1
            assert answer["data"]["reward"] == 0.0
            assert turns <= 4


def test_every_observation_has_the_score_which_grows_to_the_reward(client: Client, tasks: list[Task]) -> None:
    task = next(task for task in tasks if task["features"]["pattern"] == "cookingworld")
    [replies] = transcripts(client, [(task, task["reference_actions"])])
    scores = [each["data"]["observation"]["info"]["score"] for each in replies]
    assert scores[0] == 0.0
    assert scores[-1] == replies[-1]["data"]["reward"] == 1.0
    assert any(0 < score < 1 for score in scores)


def test_the_same_actions_return_the_same_in_used_fresh_and_concurrent_jvms(
    client: Client, serve: Serve, tmp_path: Path, tasks: list[Task]
) -> None:
    wrong = ["look around", "inventory", "move north", "take coin", "open fridge"]
    scripts = [(task, task["reference_actions"]) for task in tasks[:16]] + [
        (task, wrong) for task in tasks[:8]
    ]
    alone = transcripts(client, scripts)
    others: dict[int, Any] = {}

    def play(indices: range) -> None:
        backwards = list(reversed(indices))
        replies = transcripts(client, [scripts[index] for index in backwards])
        others.update(zip(backwards, replies, strict=True))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(play, [range(start, len(scripts), 3) for start in range(3)]))
    assert [others[index] for index in range(len(scripts))] == alone
    fresh = serve(*hosted_arguments(tmp_path, NAME, pool=2, episodes_per_child=1))
    with ThreadPoolExecutor(2) as pool:  # a new JVM for every episode
        replayed = list(pool.map(lambda script: transcripts(fresh, [script])[0], scripts[::3]))
    assert replayed == alone[::3]


def test_actions_in_react_form_are_accepted(client: Client, tasks: list[Task]) -> None:
    task = tasks[0]
    spoken = [f"Thought: next.\nAction: {action}" for action in task["reference_actions"]]
    in_react, bare = transcripts(client, [(task, spoken), (task, task["reference_actions"])])
    assert in_react == bare


def test_train_dev_and_test_equal_the_packages_folds_of_seeds(client: Client) -> None:
    def seeds(tasks: list[Task]) -> set[int]:
        return {task["definition"]["seed"] // 10_000 for task in tasks}

    assert seeds(draw(client, count=50)) == {0}
    assert seeds(draw(client, "held-out", count=50)) == {1}
    assert seeds(draw(client, "held-out", count=50, held_out="test")) == {2}
    assert draw(client, count=20, seed=5) == draw(client, count=20, seed=5)


def test_parameters_change_the_games_and_unknown_ones_are_refused(client: Client) -> None:
    def body(parameters: str, game: str = "cookingworld") -> dict[str, Any]:
        options = {"games": [game], "parameters": {game: parameters}}
        return {"split": "train", "count": 3, "seed": 1, "options": options}

    small, large = (
        client.post(f"/envs/{NAME}/data/tasks", **body(f"numIngredients={n}"))["tasks"] for n in (1, 4)
    )
    assert max(len(t["reference_actions"]) for t in small) < min(len(t["reference_actions"]) for t in large)
    assert not {task["task_id"] for task in small} & {task["task_id"] for task in large}
    for wrong in ("numberOfCooks=2", "numIngredients=two", "numIngredients"):
        response = client.http.post(f"/envs/{NAME}/data/tasks", json=body(wrong))
        assert response.status_code == 400
        assert "cookingworld" in response.json()["detail"]


def test_relations_draw_other_train_games(client: Client, tasks: list[Task]) -> None:
    parents = [task["definition"] for task in tasks[:8]]
    for relation, sign in (("neighbour", 0), ("harder", 1), ("easier", -1)):
        body = {"parents": parents, "relation": relation, "count": 8, "seed": 2, "options": {}}
        drawn = client.post(f"/envs/{NAME}/data/variants", **body)["tasks"]
        assert drawn
        for variant in drawn:
            parent = parents[variant["parent"]]
            assert variant["split"] == "train"
            assert variant["definition"]["game"] == parent["game"]
            if parent["game"] == "simonsays":
                lengths = [
                    f"gameLength={5 + sign}" in each["parameters"] for each in (variant["definition"],)
                ]
                assert all(lengths)


def test_one_goal_is_played_in_many_worlds_and_the_environment_declares_it(
    client: Client, tasks: list[Task]
) -> None:
    coins = [task for task in tasks if task["definition"]["game"] == "coin"]
    body = {
        "parents": [coins[0]["definition"]],
        "relation": "neighbour",
        "count": 4,
        "seed": 2,
        "options": {},
    }
    worlds = [*coins[:1], *client.post(f"/envs/{NAME}/data/variants", **body)["tasks"]]
    assert len({world["goal"] for world in worlds}) == 1
    assert len({world["content_key"] for world in worlds}) == 5
    declared = client.http.get(f"/envs/{NAME}/data/capabilities").json()["spec_defaults"]
    assert declared["settings"]["admission.compare"] == "contents"


def test_tasks_have_the_same_reference_actions_in_another_process(
    client: Client, serve: Serve, tmp_path: Path
) -> None:
    large: dict[str, Any] = {
        "games": ["coin"],
        "parameters": {"coin": {"numLocations": 11, "includeDoors": 1}},
    }
    other = serve(*hosted_arguments(tmp_path, NAME, pool=1))
    for options in (dict[str, Any](), large):
        first = draw(client, count=16, seed=5, **options)
        assert len(first) == 16
        assert first == draw(other, count=16, seed=5, **options)


def test_no_jvm_outlives_its_server(serve: Serve, tmp_path: Path) -> None:
    client = serve(*hosted_arguments(tmp_path, NAME, pool=2))
    task = draw(client, count=1)[0]
    with client.session(NAME) as first, client.session(NAME) as second:
        first.reset(task=task["definition"], seed=0)
        second.reset(task=task["definition"], seed=0)
        jvms = jvms_below(client.process.pid)
        assert len(jvms) == 3  # one of each session, and one of the draw
        client.process.send_signal(signal.SIGKILL)
        wait_until(lambda: are_gone(jvms), "a JVM outlived its server")
