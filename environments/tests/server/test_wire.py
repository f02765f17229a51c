"""The messages of a session and every way in which one is refused."""

import json
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from conftest import Client, Serve

SQL = "/envs/intercode-sql"


@pytest.fixture(scope="module")
def task(server: Client) -> dict[str, Any]:
    body = {"split": "train", "count": 1, "seed": 3, "options": {"patterns": ["comparison"]}}
    return dict(server.post(f"{SQL}/data/tasks", **body)["tasks"][0])


def code(answer: dict[str, Any]) -> str:
    assert answer["type"] == "error", answer
    return str(answer["data"]["code"])


def sessions(client: Client) -> int:
    return int(client.http.get("/health").json()["environments"]["intercode-sql"]["sessions"])


def wait_until_free(client: Client) -> None:
    deadline = time.monotonic() + 10
    while sessions(client):
        assert time.monotonic() < deadline, "the session outlived its socket"
        time.sleep(0.02)


def test_a_reset_shows_the_question_and_keeps_the_gold(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        answer = session.reset(task=task["definition"], seed=1, episode_id="e1")
    observation = answer["data"]["observation"]
    assert answer["data"]["reward"] == 0.0
    assert answer["data"]["done"] is False
    assert [message["role"] for message in observation["messages"]] == ["system", "user"]
    assert task["goal"] in observation["messages"][1]["content"]
    assert task["definition"]["gold"] not in json.dumps(answer)
    assert observation["info"] == {
        "task_id": task["task_id"],
        "env": "intercode-sql",
        "split": "train",
        "turn": 0,
    }


def test_state_tells_the_episode_and_its_steps(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        session.reset(task=task["definition"], episode_id="e2")
        session.step("SELECT 1")
        state = session.send({"type": "state"})
    assert state["type"] == "state"
    assert state["data"] == {"episode_id": "e2", "step_count": 1, "task_id": task["task_id"], "done": False}


def test_a_published_task_is_opened_by_its_id(server: Client) -> None:
    listed = server.post(f"{SQL}/intercode-sql/tasks", split="train")["tasks"]
    with server.session() as session:
        answer = session.reset(task_id=listed[0]["task_id"])
    assert listed[0]["goal"] in answer["data"]["observation"]["messages"][1]["content"]


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
def test_a_bad_message_is_refused_and_the_session_goes_on(
    server: Client, task: dict[str, Any], message: object, expected: str
) -> None:
    with server.session() as session:
        assert code(session.send(message)) == expected
        assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


def test_a_binary_frame_is_not_json(server: Client) -> None:
    with server.session() as session:
        session.connection.send(b"{}")
        assert code(session.receive()) == "INVALID_JSON"


def test_a_step_after_the_end_is_refused(server: Client, task: dict[str, Any]) -> None:
    with server.session() as session:
        session.play(task["definition"], ["submit"])
        assert code(session.step("submit")) == "SESSION_ERROR"


@pytest.mark.parametrize("gold", ["SELECT nothing FROM nowhere", "SELECT name FROM singer WHERE 1 = 0"])
def test_a_task_that_cannot_be_scored_is_not_opened(server: Client, task: dict[str, Any], gold: str) -> None:
    broken = {**task["definition"], "database": "singer", "gold": gold}
    with server.session() as session:
        assert code(session.reset(task=broken)) == "VALIDATION_ERROR"
        assert code(session.step("submit")) == "SESSION_ERROR"


def test_past_its_capacity_the_server_says_so_and_recovers(serve: Serve) -> None:
    client = serve("--capacity", "2", "--environments", "intercode-sql")
    with client.session() as first, client.session():
        first.send({"type": "state"})
        with client.session() as third:
            refusal = third.receive()
            assert code(refusal) == "CAPACITY_REACHED"
            assert refusal["data"]["max_sessions"] == 2
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
    session.connection.socket.close()  # no closing handshake, as when a worker is killed
    wait_until_free(client)


def test_a_silent_session_is_ended(serve: Serve) -> None:
    client = serve("--idle-timeout-s", "0.3", "--environments", "intercode-sql")
    with client.session() as session:
        assert code(session.receive()) == "SESSION_ERROR"
        with pytest.raises(ConnectionClosed):
            session.receive()
    wait_until_free(client)


def test_every_route_but_health_wants_the_token(server: Client) -> None:
    import httpx

    with httpx.Client(base_url=server.url) as stranger:
        assert stranger.get("/health").status_code == 200
        for path in (f"{SQL}/health", f"{SQL}/metadata", f"{SQL}/data/capabilities"):
            assert stranger.get(path).status_code == 401
            assert stranger.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    with pytest.raises(InvalidStatus), connect(server.url.replace("http", "ws") + f"{SQL}/ws"):
        pass


def test_without_a_token_the_data_routes_are_closed_and_episodes_are_open(serve: Serve) -> None:
    client = serve("--environments", "intercode-sql", token=None)
    refused = client.http.post(f"{SQL}/data/tasks", json={"split": "train", "count": 1, "seed": 0})
    assert refused.status_code == 403
    assert "--token-file" in refused.json()["detail"]
    with client.session() as session:
        assert session.send({"type": "state"})["type"] == "state"


def test_the_routes_of_openenvs_conformance_check_answer(server: Client) -> None:
    described = server.http.get(f"{SQL}/openapi.json").json()
    assert described["info"]["version"] == "1.0.0"
    assert not {"/reset", "/step", "/state"} & set(described["paths"])  # episodes exist on the socket only
    assert server.http.get(f"{SQL}/health").json()["status"] == "healthy"
    assert set(server.http.get(f"{SQL}/metadata").json()) == {"name", "description"}
    assert set(server.http.get(f"{SQL}/schema").json()) == {"action", "observation", "state"}
    assert server.post(f"{SQL}/mcp", id=1, method="tools/list")["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        ('{"split": "test"}', "`split`"),
        ('{"split": "train", "page": 1}', "page"),
    ],
)
def test_a_bad_body_is_refused_by_name(server: Client, body: str, named: str) -> None:
    refused = server.http.post(f"{SQL}/intercode-sql/tasks", content=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]
