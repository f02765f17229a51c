"""scienceworld through the server: gold paths, ETO's scoring, one JVM per session, no JVM left."""

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from coevolve_environments.plugins.java import find_engine
from coevolve_environments.plugins.scienceworld import gold_paths
from coevolve_environments.plugins.scienceworld.task_types import DEFAULT_TYPES, TYPES
from coevolve_environments.plugins.validation import Fold
from coevolve_environments.processes.child_pool import ChildPool
from coevolve_environments.registry import build_environments
from coevolve_environments.server.app import create_app
from coevolve_environments.settings import SettingsFile
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
from server_thread import server_thread

NAME = "scienceworld"
PLAYED = ["find-animal", "lifespan-longest-lived", "identify-life-stages-2", "power-component"]


def draw(client: Client, split: str = "train", count: int = 3, **options: Any) -> list[Task]:
    return client.draw(NAME, split, count, **options)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("scienceworld")
    client = start_server(folder, *hosted_arguments(folder, NAME, pool=2, episodes_per_child=10))
    yield client
    stop_server(client)


@pytest.fixture(scope="module")
def tasks(client: Client) -> list[Task]:
    """Returns three tasks of each type."""
    return draw(client, count=12, types=PLAYED)


def transcript(session: Session, task: Task) -> list[Any]:
    """Returns all replies of its gold episode."""
    opened = session.reset(task=task["definition"], seed=0)
    return [opened, *(session.step(action) for action in task["reference_actions"])]


def transcripts(client: Client, tasks: list[Task]) -> dict[str, list[Any]]:
    with client.session(NAME) as session:
        return {task["task_id"]: transcript(session, task) for task in tasks}


def of_type(tasks: list[Task], name: str) -> Task:
    return next(task for task in tasks if task["features"]["pattern"] == name)


def compose(client: Client, parent: Task, query: str, actions: list[str]) -> Task:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": {}}
    return dict(client.post(f"/envs/{NAME}/data/compose", **body)["task"])


def test_a_composed_task_is_checked_by_the_objects_of_the_world(client: Client, tasks: list[Task]) -> None:
    parent = of_type(tasks, "find-animal")
    query = "Bring the lighter of the kitchen into the bathroom, and open the cupboard."
    bring = [
        "teleport to kitchen",
        "pick up lighter",
        "open cupboard",
        "teleport to bathroom",
        "drop lighter",
    ]
    fetch = compose(client, parent, query, bring)
    assert fetch["grader"] == "environment"
    with client.session(NAME) as session:
        opened = session.reset(task=fetch["definition"], seed=0)
        assert query in text_of(opened)
        assert parent["goal"] not in str(opened)
        assert query in text_of(session.step("task"))
        other_order = ["teleport to kitchen", "open cupboard", "look around", "pick up lighter", *bring[3:]]
        rewards = {
            "gold": session.play(fetch["definition"], fetch["reference_actions"])["reward"],
            "another way": session.play(fetch["definition"], [*other_order, "focus on lighter", "finish[]"])[
                "reward"
            ],
            "half": session.play(fetch["definition"], [*bring[:-1], "finish[]"])["reward"],
            "the parent's gold": session.play(fetch["definition"], parent["reference_actions"])["reward"],
        }
        ended = session.play(fetch["definition"], fetch["reference_actions"])["observation"]["messages"]
    assert rewards == {"gold": 1.0, "another way": 1.0, "half": 0.0, "the parent's gold": 0.0}
    assert "- added: /universe/bathroom/lighter" in ended[-1]["content"]
    body = {"parent": parent["definition"], "query": "What is in the kitchen?", "options": {}}
    look = {**body, "actions": ["teleport to kitchen", "look around"]}
    assert client.post(f"/envs/{NAME}/data/compose", **look)["refused"]["reason"] == "no-answer"


def test_gold_scores_1_and_returns_the_same_in_used_fresh_and_concurrent_jvms(
    client: Client, tasks: list[Task]
) -> None:
    assert {task["features"]["pattern"] for task in tasks} == set(PLAYED)
    alone = transcripts(client, tasks)
    for replies in alone.values():
        ended = replies[-1]["data"]
        assert (ended["reward"], ended["done"], ended["metadata"]["success"]) == (1.0, True, True)
    concurrent: dict[str, list[Any]] = {}
    halves = [tasks[0::2], tasks[::-2]]
    threads = [
        threading.Thread(target=lambda half=half: concurrent.update(transcripts(client, half)))
        for half in halves
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert concurrent == alone


def test_a_wrong_focus_ends_the_episode_with_its_best_score(client: Client, tasks: list[Task]) -> None:
    task = of_type(tasks, "find-animal")
    before = [action for action in task["reference_actions"] if not action.startswith("focus")][:3]
    with client.session(NAME) as session:
        session.reset(task=task["definition"], seed=0)
        for action in before:
            best = session.step(f"Thought: next.\nAction: {action}")["data"]["observation"]["info"]["score"]
        ended = session.step("Action: focus on air")["data"]
    assert (ended["done"], ended["metadata"]["raw_score"]) == (True, -1.0)
    assert ended["reward"] == best < 1.0
    assert ended["metadata"]["success"] is False


def test_waiting_stays_below_1_and_stops_at_the_step_limit(client: Client, tasks: list[Task]) -> None:
    with client.session(NAME) as session:
        for task in tasks[:3]:
            opened = session.reset(task={**task["definition"], "max_turns": 4}, seed=0)
            assert "You have 4 actions." in opened["data"]["observation"]["messages"][0]["content"]
            assert task["goal"] in opened["data"]["observation"]["messages"][1]["content"]
            for turn in range(4):
                data = session.step("wait")["data"]
                assert data["done"] is (turn == 3)
            assert data["reward"] < 0.5
            assert data["metadata"]["stop_reason"] == "turn-limit"


def test_the_step_limit_is_never_below_the_gold_path(client: Client, tasks: list[Task]) -> None:
    few = draw(client, count=12, types=PLAYED, max_turns=6)
    for task, same in zip(few, tasks, strict=True):
        gold = len(task["reference_actions"])
        assert task["definition"]["max_turns"] == max(6, gold)
        assert same["definition"]["max_turns"] == max(TYPES[same["features"]["pattern"]].steps, gold)
        assert task["reference_actions"] == same["reference_actions"]  # stored by the first draw


def test_train_and_held_out_equal_the_packages_variations(client: Client, tasks: list[Task]) -> None:
    dev = draw(client, "held-out", types=["find-animal"])
    test = draw(client, "held-out", types=["find-animal"], held_out="test")
    first = draw(client, "held-out", count=9, types=["power-component"], held_out="both", first=1)
    assert {task["features"]["fold"] for task in tasks} == {"train"}
    assert all(150 <= task["definition"]["variation"] < 225 for task in dev)
    assert all(225 <= task["definition"]["variation"] < 300 for task in test)
    assert sorted(task["definition"]["variation"] for task in first) == [10, 15]
    keys = [task["content_key"] for task in [*tasks, *dev, *test]]
    assert len(set(keys)) == len(keys)


def test_unknown_options_and_tasks_are_refused_by_name(client: Client) -> None:
    for options, named in (
        ({"types": ["boil", "cook"]}, "cook"),
        ({"simplifications": "noGravity"}, "noGravity"),
        ({"held_out": "train"}, "held_out"),
        ({"max_turns_by_type": {"boil": 0}}, "boil"),
        ({"limit": 3}, "limit"),
    ):
        body = {"split": "train", "count": 1, "seed": 1, "options": options}
        response = client.http.post(f"/envs/{NAME}/data/tasks", json=body)
        assert response.status_code == 400
        assert named in response.json()["detail"]
    definition = {"task_id": "x", "split": "train", "type": "boil", "variation": 30}
    with client.session(NAME) as session:
        refused = session.reset(task=definition, seed=0)
    assert "0..29" in refused["data"]["message"]


def test_relatives_are_train_variations_of_related_types(client: Client, tasks: list[Task]) -> None:
    parent = of_type(tasks, "lifespan-longest-lived")
    body = {"parents": [parent["definition"]], "relation": "neighbour", "count": 2, "seed": 1}
    near = client.post(f"/envs/{NAME}/data/variants", **body, options={})["tasks"]
    assert len(near) == 2
    for task in near:
        assert (task["split"], task["parent"]) == ("train", 0)
        assert task["features"]["pattern"] == "lifespan-longest-lived"
        assert task["content_key"] != parent["content_key"]
    options = {"types": ["lifespan-longest-lived", "identify-life-stages-2", "boil"]}
    harder = client.post(f"/envs/{NAME}/data/variants", **{**body, "relation": "harder"}, options=options)
    assert {task["features"]["pattern"] for task in harder["tasks"]} == {"identify-life-stages-2"}


def test_the_table_of_types_equals_the_packages(tmp_path: Path) -> None:
    engine = find_engine(SettingsFile(tmp_path).section(NAME), NAME, "scienceworld.jar", heap_mb=400)
    pool = ChildPool(
        NAME, engine.program("coevolve_environments.plugins.scienceworld.world", "World"), engine.limits
    )
    folds: tuple[Fold, ...] = ("train", "dev", "test")
    try:
        child = pool.acquire()
        for name, kind in TYPES.items():
            assert child.call("variations", type=name) == [list(kind.variations(fold)) for fold in folds]
    finally:
        pool.close()
    assert (len(TYPES), len(DEFAULT_TYPES)) == (30, 25)
    assert sum(kind.train for kind in TYPES.values()) == 3592


def test_a_long_draw_responds_with_its_progress_until_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gold_paths, "_SOLVE_SECONDS", 0.2)
    built = build_environments([NAME], SettingsFile(tmp_path, tmp_path / "state", {NAME: {"pool": 1}}))
    app = create_app(built, capacity=1, idle_seconds=30, token="t")
    body = {"split": "train", "count": 2, "seed": 1, "options": {"types": PLAYED[:2]}}
    seen = []
    with server_thread(app) as port:
        http = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"authorization": "Bearer t"})
        draw = partial(http.post, f"/envs/{NAME}/data/tasks", json=body, timeout=60)
        while (response := draw()).status_code == 202:
            seen.append(response.json())
        assert len(response.json()["tasks"]) == 2
        searching = [flag for pid in jvms_below(os.getpid()) for flag in psutil.Process(pid).cmdline()]
        assert "-XX:TieredStopAtLevel=4" in searching  # with tier 1 the search takes twice as long
    ready = [progress["ready"] for progress in seen]
    assert ready == sorted(ready)
    assert {(progress["count"], progress["ready"] < 2) for progress in seen} == {(2, True)}
    assert seen[0]["detail"] == "0 of 2 gold paths are ready; the same request continues"


def test_a_jvm_is_replaced_after_its_episodes_and_none_outlives_the_server(
    serve: Serve, tmp_path: Path, tasks: list[Task]
) -> None:
    client = serve(*hosted_arguments(tmp_path, NAME, pool=2, episodes_per_child=2))
    task, seen = of_type(tasks, "lifespan-longest-lived"), []
    with client.session(NAME) as session:
        for _ in range(3):
            session.reset(task=task["definition"], seed=0)
            seen.append(jvms_below(client.process.pid))
        assert [len(jvms) for jvms in seen] == [1, 1, 1]
        assert seen[0] == seen[1] != seen[2]
        wait_until(lambda: are_gone(seen[0]), "the replaced JVM is still running")
        client.process.send_signal(signal.SIGKILL)
        wait_until(lambda: are_gone(seen[2]), "a JVM outlived its server")
