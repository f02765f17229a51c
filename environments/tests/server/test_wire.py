"""The messages of a session, and the errors for invalid ones."""

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from conftest import Client, Serve, error_code, wait_until

SQL = "/envs/intercode-sql"


@pytest.fixture(scope="module")
def task(server: Client) -> dict[str, Any]:
    body = {"split": "train", "count": 1, "seed": 3, "options": {"patterns": ["comparison"]}}
    return dict(server.post(f"{SQL}/data/tasks", **body)["tasks"][0])


def sessions(client: Client) -> int:
    return int(client.http.get("/health").json()["environments"]["intercode-sql"]["sessions"])


def wait_until_free(client: Client) -> None:
    wait_until(lambda: sessions(client) == 0, "the session outlived its socket")


def test_a_reset_shows_the_question_and_not_the_gold(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        reply = session.reset(task=task["definition"], seed=1, episode_id="e1")
    observation = reply["data"]["observation"]
    assert reply["data"]["reward"] == 0.0
    assert reply["data"]["done"] is False
    assert [message["role"] for message in observation["messages"]] == ["system", "user"]
    assert task["goal"] in observation["messages"][1]["content"]
    assert task["definition"]["gold"] not in json.dumps(reply)
    assert observation["info"] == {
        "task_id": task["task_id"],
        "env": "intercode-sql",
        "split": "train",
        "turn": 0,
    }


def test_a_state_message_returns_the_episode_and_its_steps(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        session.reset(task=task["definition"], episode_id="e2")
        session.step("SELECT 1")
        state = session.send({"type": "state"})
    assert state["type"] == "state"
    assert state["data"] == {"episode_id": "e2", "step_count": 1, "task_id": task["task_id"], "done": False}


def test_a_published_task_is_opened_by_its_id(server: Client) -> None:
    listed = server.post(f"{SQL}/intercode-sql/tasks", split="train")["tasks"]
    with server.session() as session:
        reply = session.reset(task_id=listed[0]["task_id"])
    assert listed[0]["goal"] in reply["data"]["observation"]["messages"][1]["content"]


def test_close_ends_the_session(server: Client) -> None:
    session = server.session()
    session.connection.send('{"type": "close"}')
    with pytest.raises(ConnectionClosed):
        session.receive()
    wait_until_free(server)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{", "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ({"type": "reset", "data": 1}, "VALIDATION_ERROR"),
        ({"type": "jump"}, "UNKNOWN_TYPE"),
        ({"data": {}}, "UNKNOWN_TYPE"),
        ({"type": "reset"}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"task_id": "no such task"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"task": "text"}}, "VALIDATION_ERROR"),
        ({"type": "reset", "data": {"task": {}}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"content": 5}}, "VALIDATION_ERROR"),
        ({"type": "step", "data": {"content": "submit"}}, "SESSION_ERROR"),
    ],
)
def test_an_invalid_message_is_refused_and_the_session_continues(
    server: Client, task: dict[str, Any], message: object, expected: str
) -> None:
    with server.session() as session:
        assert error_code(session.send(message)) == expected
        assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


def test_a_binary_message_is_refused(server: Client) -> None:
    with server.session() as session:
        session.connection.send(b"{}")
        assert error_code(session.receive()) == "INVALID_JSON"


def test_a_step_after_the_end_is_refused(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        session.play(task["definition"], ["submit"])
        assert error_code(session.step("submit")) == "SESSION_ERROR"


@pytest.mark.parametrize("gold", ["SELECT nothing FROM nowhere", "SELECT name FROM singer WHERE 1 = 0"])
def test_a_task_that_cannot_be_scored_is_not_opened(server: Client, task: dict[str, Any], gold: str) -> None:
    broken = {**task["definition"], "database": "singer", "gold": gold}
    with server.session() as session:
        assert error_code(session.reset(task=broken)) == "VALIDATION_ERROR"
        assert error_code(session.step("submit")) == "SESSION_ERROR"


def test_sessions_above_the_capacity_are_refused_until_one_ends(serve: Serve) -> None:
    client = serve("--capacity", "2", "--environments", "intercode-sql")
    with client.session() as first, client.session():
        first.send({"type": "state"})
        with client.session() as third:
            refused = third.receive()
            assert error_code(refused) == "CAPACITY_REACHED"
            assert refused["data"]["max_sessions"] == 2
            with pytest.raises(ConnectionClosed):
                third.receive()
    wait_until_free(client)
    with client.session() as again:
        assert again.send({"type": "state"})["type"] == "state"


def test_a_session_ends_with_its_socket(serve: Serve, task: dict[str, Any]) -> None:
    client = serve("--environments", "intercode-sql")
    session = client.session()
    session.reset(task=task["definition"])
    assert sessions(client) == 1
    session.connection.socket.close()  # without a close frame, as by a killed worker
    wait_until_free(client)


def test_an_idle_session_is_ended(serve: Serve) -> None:
    client = serve("--idle-timeout-s", "0.3", "--environments", "intercode-sql")
    with client.session() as session:
        assert error_code(session.receive()) == "SESSION_ERROR"
        with pytest.raises(ConnectionClosed):
            session.receive()
    wait_until_free(client)


def test_every_route_except_health_needs_the_token(server: Client) -> None:
    import httpx

    with httpx.Client(base_url=server.url) as anonymous:
        assert anonymous.get("/health").status_code == 200
        for path in (f"{SQL}/health", f"{SQL}/metadata", f"{SQL}/data/capabilities"):
            assert anonymous.get(path).status_code == 401
            assert anonymous.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    with pytest.raises(InvalidStatus), connect(server.url.replace("http", "ws") + f"{SQL}/ws"):
        pass


def test_without_a_token_the_data_routes_are_closed_and_episodes_are_open(serve: Serve) -> None:
    client = serve("--environments", "intercode-sql", token=None)
    refused = client.http.post(f"{SQL}/data/tasks", json={"split": "train", "count": 1, "seed": 0})
    assert refused.status_code == 403
    assert "--token-file" in refused.json()["detail"]
    with client.session() as session:
        assert session.send({"type": "state"})["type"] == "state"


def test_the_routes_of_openenvs_conformance_check_respond(server: Client) -> None:
    described = server.http.get(f"{SQL}/openapi.json").json()
    assert described["info"]["version"] == "1.0.0"
    assert not {"/reset", "/step", "/state"} & set(described["paths"])  # episodes exist only on the socket
    assert server.http.get(f"{SQL}/health").json()["status"] == "healthy"
    assert set(server.http.get(f"{SQL}/metadata").json()) == {"name", "description"}
    assert set(server.http.get(f"{SQL}/schema").json()) == {"action", "observation", "state"}
    assert server.post(f"{SQL}/mcp", id=1, method="tools/list")["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        (b"\xff\xfe{", "not JSON"),
        ("[" * 100_000, "levels deep"),
        ("[" * 900 + "]" * 900, "levels deep"),
        ('{"split": %s}' % ("[" * 101 + "]" * 101), "levels deep"),
        ('{"split": %s}' % ("9" * 5_000), "not JSON"),
        ('{"split": "test"}', "`split`"),
        ('{"split": "train", "page": 1}', "page"),
    ],
)
def test_an_invalid_body_is_refused_with_its_error(server: Client, body: str | bytes, named: str) -> None:
    refused = server.http.post(f"{SQL}/intercode-sql/tasks", content=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]
