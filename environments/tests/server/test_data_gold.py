"""Expert trajectories: played reference actions, plain or in ReAct form."""

from typing import Any

import pytest

from coevolve_environments.plugins.react import react
from conftest import Client, Serve

NAMES = ("bfcl", "intercode-sql")


def gold(client: Client, name: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    body = {"split": "train", "count": count, "seed": 5, **fields}
    return list(client.post(f"/envs/{name}/data/gold", **body)["trajectories"])


def tasks(client: Client, name: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    body = {"split": "train", "count": count, "seed": 5, **fields}
    return list(client.post(f"/envs/{name}/data/tasks", **body)["tasks"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["plain", "react"])
def test_gold_is_played_and_scores_1_in_either_form(server: Client, name: str, form: str) -> None:
    drawn = tasks(server, name, 40)
    played = gold(server, name, 40, form=form)
    assert [trajectory["task_id"] for trajectory in played] == [task["task_id"] for task in drawn]
    for task, trajectory in zip(drawn, played, strict=True):
        texts = [m["content"] for m in trajectory["conversation"] if m["role"] == "assistant"]
        expected = task["reference_actions"]
        assert texts == ([react(action) for action in expected] if form == "react" else expected)
        assert (trajectory["reward"], trajectory["turns"]) == (1.0, len(texts))
        assert trajectory["characters"] == sum(len(m["content"]) for m in trajectory["conversation"])
        assert (trajectory["function_characters"] > 2000) == (name == "bfcl")
        assert trajectory["conversation"][0]["role"] == "system"
        assert trajectory["pattern"] == task["features"]["pattern"]


@pytest.mark.parametrize("name", NAMES)
def test_tasks_are_returned_with_actions_in_react_form_that_score_1(server: Client, name: str) -> None:
    plain, formed = tasks(server, name, 10), tasks(server, name, 10, form="react")
    assert [task["definition"] for task in formed] == [task["definition"] for task in plain]
    with server.session(name) as session:
        for task in formed:
            assert all(action.startswith("Action: ") for action in task["reference_actions"])
            assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


def test_a_draw_is_played_in_parts(server: Client) -> None:
    whole = gold(server, "bfcl", 30)
    assert gold(server, "bfcl", 30, start=0, stop=20) + gold(server, "bfcl", 30, start=20) == whole


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"form": "chat"}, "`form`"),
        ({"count": 0}, "`count`"),
        ({"count": 1000}, "200"),
        ({"count": 10, "start": 8, "stop": 4}, "`start`"),
        ({"page": 2}, "'page'"),
    ],
)
def test_an_invalid_request_for_gold_is_refused_with_its_field(
    server: Client, fields: dict[str, Any], named: str
) -> None:
    body = {"split": "train", "count": 1, "seed": 5, **fields}
    refused = server.http.post("/envs/bfcl/data/gold", json=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


def test_gold_needs_a_server_with_a_token(serve: Serve) -> None:
    client = serve("--environments", "bfcl", token=None)
    body = {"split": "train", "count": 1, "seed": 5}
    assert client.http.post("/envs/bfcl/data/gold", json=body).status_code == 403


def test_gold_of_an_environment_without_gold_is_not_found(serve: Serve, tmp_path: Any) -> None:
    (tmp_path / "silent.py").write_text(_WITHOUT_GOLD)
    (tmp_path / "environments.yaml").write_text("hosted: {silent: {plugin: silent.py}}")
    client = serve("--environments", "silent", "--settings", str(tmp_path / "environments.yaml"))
    refused = client.http.post("/envs/silent/data/gold", json={"split": "train", "count": 1, "seed": 5})
    assert refused.status_code == 404
    assert "no reference actions" in refused.json()["detail"]


_WITHOUT_GOLD = """
from coevolve_environments.protocol import Capabilities, Environment


class Silent(Environment):
    name = "silent"
    description = "Has no task."
    capabilities = Capabilities(False, False, "none", False, 1, gold=False)

    def published(self, split):
        return []

    def tasks(self, split, count, seed, options):
        return []

    def start(self, definition, seed):
        raise NotImplementedError


def create(settings):
    return Silent()
"""
