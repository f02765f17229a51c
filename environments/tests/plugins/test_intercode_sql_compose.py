"""intercode-sql tasks made of SQL that somebody wrote."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import Client, start_server, stop_server

SQL = "/envs/intercode-sql"


def draw(client: Client, split: str, count: int, **options: Any) -> list[dict[str, Any]]:
    body = {"split": split, "count": count, "seed": 11, "options": options}
    return list(client.post(f"{SQL}/data/tasks", **body)["tasks"])


def compose(
    client: Client, parent: dict[str, Any], actions: list[str], query: str = "Which?", **options: Any
) -> dict[str, Any]:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": options}
    return dict(client.post(f"{SQL}/data/compose", **body))


@pytest.fixture(scope="module")
def singer(server: Client) -> dict[str, Any]:
    return draw(server, "train", 1, databases=["singer"])[0]


def test_gold_queries_compose_to_the_tasks_that_they_are_the_gold_of(server: Client) -> None:
    parents = draw(server, "train", 100) + draw(server, "held-out", 20)
    with server.session() as session:
        for task, other in zip(parents, parents[1:] + parents[:1], strict=True):
            made = compose(server, task, task["reference_actions"], task["goal"])["task"]
            assert (made["content_key"], made["grader"]) == (task["content_key"], "environment")
            assert (made["split"], made["features"]["pattern"], made["features"]["source"]) == (
                *("train", "composed", "composed"),
            )
            assert made["goal"] == task["goal"]
            assert 1 <= made["features"]["difficulty"] <= 5
            assert session.play(made["definition"], made["reference_actions"])["reward"] == 1.0
            wrong = session.play(made["definition"], [f"SELECT '{other['task_id']}'", "submit"])
            assert wrong["reward"] == 0.0
            assert session.play(made["definition"], ["submit"])["reward"] == 0.0


def test_statements_before_the_gold_stay_in_the_reference(server: Client, singer: dict[str, Any]) -> None:
    actions = [
        "SHOW TABLES",
        "Let me look.\nAction: DESC singer;",
        "```sql\nSELECT name FROM singer ORDER BY name;\n```",
        "DESC song",
        "Submit",
        "SELECT after the end",
    ]
    task = compose(server, singer, actions)["task"]
    gold = "SELECT name FROM singer ORDER BY name"
    assert task["reference_actions"] == ["SHOW TABLES", "DESC singer", gold, "submit"]
    assert task["definition"]["gold"] == gold


def test_a_composed_task_keeps_the_options_and_is_a_parent_too(
    server: Client, singer: dict[str, Any]
) -> None:
    task = compose(server, singer, ["SELECT COUNT(*) FROM singer"], schema=True)["task"]
    with server.session() as session:
        content = session.reset(task=task["definition"])["data"]["observation"]["messages"][1]["content"]
    assert content.startswith("Database: singer\nTables: ")
    assert "task" in compose(server, task, ["SELECT name FROM singer"])
    body = {"parents": [task["definition"]], "relation": "harder", "count": 3, "seed": 1, "options": {}}
    assert server.post(f"{SQL}/data/variants", **body)["tasks"]


@pytest.mark.parametrize(
    ("actions", "reason", "says"),
    [
        (["SELECT name FROM nowhere", "submit"], "not-executable", "action 1: no such table"),
        (["SELEC name FROM singer", "SELECT name FROM singer"], "not-executable", "action 1: "),
        (["DELETE FROM singer", "SELECT name FROM singer"], "not-executable", "not authorized"),
        (["SELECT name FROM singer WHERE 1 = 0", "submit"], "empty-result", "no rows"),
        (["SELECT max(name) FROM singer WHERE 1 = 0"], "empty-result", "NULL"),
        (["DESC singer", "submit"], "bad-format", "no action is a query"),
        (["submit", "SELECT name FROM singer"], "bad-format", "no action is a query"),
        (["SELECT 1"] * 10, "bad-format", "10 actions"),
        (["SELECT date('now')"], "bad-format", "time of day"),
        (["SELECT name FROM singer"] * 65, "bad-format", "65 actions"),
        ([], "bad-format", "no actions"),
        (["SELECT 'a\x00b'"], "bad-format", "NUL"),
        (["SELECT '" + "a" * 20_000 + "'"], "bad-format", "characters"),
    ],
)
def test_what_makes_no_task_is_refused_with_its_reason(
    server: Client, singer: dict[str, Any], actions: list[str], reason: str, says: str
) -> None:
    refused = compose(server, singer, actions)["refused"]
    assert refused["reason"] == reason
    assert says in refused["detail"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"query": 5}, "`query`"),
        ({"actions": "SELECT 1"}, "`actions`"),
        ({"parent": {"database": "nowhere"}}, "nowhere"),
        ({"options": {"colour": "red"}}, "colour"),
        ({"seed": 1}, "seed"),
    ],
)
def test_a_request_of_another_shape_is_the_callers_mistake(
    server: Client, singer: dict[str, Any], change: dict[str, Any], named: str
) -> None:
    body = {"parent": singer["definition"], "query": "Which?", "actions": ["SELECT 1"], "options": {}}
    refused = server.http.post(f"{SQL}/data/compose", json={**body, **change})
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


def test_an_empty_query_makes_no_task(server: Client, singer: dict[str, Any]) -> None:
    assert compose(server, singer, ["SELECT 1"], query="  ")["refused"]["reason"] == "bad-format"


def test_half_a_surrogate_pair_makes_no_task(server: Client, singer: dict[str, Any]) -> None:
    body = {"parent": singer["definition"], "query": "Which?", "actions": ["SELECT '\ud800'"], "options": {}}
    answer = server.http.post(f"{SQL}/data/compose", content=json.dumps(body))
    assert "surrogate" in answer.json()["refused"]["detail"]


def test_both_environments_declare_that_they_compose(server: Client) -> None:
    for name in ("bfcl", "intercode-sql"):
        assert server.http.get(f"/envs/{name}/data/capabilities").json()["compose"] is True


def test_any_process_and_hash_seed_composes_the_same_tasks(tmp_path: Path) -> None:
    prints = set()
    for hash_seed in ("0", "4242"):
        client = start_server(tmp_path, env={"PYTHONHASHSEED": hash_seed})
        made = [compose(client, task, task["reference_actions"]) for task in draw(client, "train", 30)]
        body = {"split": "train", "count": 30, "seed": 2, "options": {}}
        for task in client.post("/envs/bfcl/data/tasks", **body)["tasks"]:
            request = {"parent": task["definition"], "query": "Do it.", "actions": task["reference_actions"]}
            made.append(client.post("/envs/bfcl/data/compose", **request))
        stop_server(client)
        prints.add(hashlib.sha256(json.dumps(made).encode()).hexdigest())
    assert len(prints) == 1


def test_64_at_once_compose_as_one_alone(server: Client) -> None:
    parents = draw(server, "train", 64)
    alone = [compose(server, task, task["reference_actions"]) for task in parents]
    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(lambda task: compose(server, task, task["reference_actions"]), parents))
    assert together == alone
