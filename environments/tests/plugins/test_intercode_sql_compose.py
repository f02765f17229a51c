"""intercode-sql tasks composed of given SQL."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conftest import Client, Serve

SQL = "/envs/intercode-sql"


def draw(client: Client, split: str, count: int, **options: Any) -> list[dict[str, Any]]:
    return client.draw("intercode-sql", split, count, 11, **options)


def compose(
    client: Client, parent: dict[str, Any], actions: list[str], query: str = "Which?", **options: Any
) -> dict[str, Any]:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": options}
    return dict(client.post(f"{SQL}/data/compose", **body))


@pytest.fixture(scope="module")
def singer(server: Client) -> dict[str, Any]:
    return draw(server, "train", 1, databases=["singer"])[0]


def test_gold_queries_compose_to_their_own_tasks(server: Client) -> None:
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


def test_statements_before_the_gold_stay_in_the_reference_actions(
    server: Client, singer: dict[str, Any]
) -> None:
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


def test_a_composed_task_keeps_the_options_and_can_be_a_parent(
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
    ("actions", "reason", "named"),
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
def test_invalid_actions_are_refused_with_their_reason(
    server: Client, singer: dict[str, Any], actions: list[str], reason: str, named: str
) -> None:
    refused = compose(server, singer, actions)["refused"]
    assert refused["reason"] == reason
    assert named in refused["detail"]


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
def test_an_invalid_request_is_a_bad_request(
    server: Client, singer: dict[str, Any], change: dict[str, Any], named: str
) -> None:
    body = {"parent": singer["definition"], "query": "Which?", "actions": ["SELECT 1"], "options": {}}
    refused = server.http.post(f"{SQL}/data/compose", json={**body, **change})
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


def test_an_empty_query_makes_no_task(server: Client, singer: dict[str, Any]) -> None:
    assert compose(server, singer, ["SELECT 1"], query="  ")["refused"]["reason"] == "bad-format"


def test_a_lone_surrogate_makes_no_task(server: Client, singer: dict[str, Any]) -> None:
    body = {"parent": singer["definition"], "query": "Which?", "actions": ["SELECT '\ud800'"], "options": {}}
    answer = server.http.post(f"{SQL}/data/compose", content=json.dumps(body))
    assert "surrogate" in answer.json()["refused"]["detail"]


def test_both_environments_declare_that_they_compose(server: Client) -> None:
    for name in ("bfcl", "intercode-sql"):
        assert server.http.get(f"/envs/{name}/data/capabilities").json()["compose"] == "checker"


def test_every_process_and_hash_seed_composes_the_same_tasks(server: Client, serve: Serve) -> None:
    other = serve("--environments", "bfcl,intercode-sql", env={"PYTHONHASHSEED": "4242"})
    assert composed_tasks(server) == composed_tasks(other)


def composed_tasks(client: Client) -> list[Any]:
    composed = [compose(client, task, task["reference_actions"]) for task in draw(client, "train", 30)]
    for task in client.draw("bfcl", "train", 30, 2):
        request = {"parent": task["definition"], "query": "Do it.", "actions": task["reference_actions"]}
        composed.append(client.post("/envs/bfcl/data/compose", **request))
    return composed


def test_64_concurrent_requests_compose_the_same_tasks_as_one(server: Client) -> None:
    parents = draw(server, "train", 64)
    alone = [compose(server, task, task["reference_actions"]) for task in parents]
    with ThreadPoolExecutor(64) as pool:
        concurrent = list(pool.map(lambda task: compose(server, task, task["reference_actions"]), parents))
    assert concurrent == alone
