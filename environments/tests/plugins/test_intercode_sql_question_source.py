"""The question file by URL: downloaded once from a local server, with its license."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve_environments.plugins.intercode_sql.published import KNOWN_LICENSE, download_once
from coevolve_environments.protocol import BadRequest
from conftest import Client, Serve

SQL = "/envs/intercode-sql"
QUESTIONS = [
    {"db": "concert_singer", "query": "How many singers?", "gold": "SELECT count(*) FROM singer"},
    {"db": "world_1", "query": "Which cities?", "gold": "SELECT name FROM city LIMIT 3"},
]


class QuestionHandler(http.server.BaseHTTPRequestHandler):
    requested: list[str]

    def do_GET(self) -> None:
        self.requested.append(self.path)
        content = json.dumps(QUESTIONS).encode()
        self.send_response(200 if self.path == "/questions.json" else 404)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@pytest.fixture
def question_server() -> Iterator[tuple[str, list[str]]]:
    requested: list[str] = []
    handler = type("RecordingHandler", (QuestionHandler,), {"requested": requested})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requested
    server.shutdown()
    server.server_close()


def draw(client: Client) -> list[dict[str, Any]]:
    sides = [{"split": split, "count": 9, "seed": 1} for split in ("train", "held-out")]
    answers = [client.post(f"{SQL}/data/tasks", **side, options={"source": "file"}) for side in sides]
    return [task for answer in answers for task in answer["tasks"]]


def test_questions_of_a_url_are_downloaded_once(
    serve: Serve, tmp_path: Path, question_server: tuple[str, list[str]]
) -> None:
    url, requested = question_server
    settings = tmp_path / "environments.yaml"
    settings.write_text(f"hosted: {{intercode-sql: {{questions: '{url}/questions.json'}}}}")
    arguments = ("--environments", "intercode-sql", "--settings", str(settings), "--state", str(tmp_path))
    for _ in range(2):  # the second server finds the file of the first
        client = serve(*arguments)
        assert {task["goal"] for task in draw(client)} == {"How many singers?", "Which cities?"}
        assert KNOWN_LICENSE in client.http.get(f"{SQL}/metadata").json()["description"]
        assert client.http.get(f"{SQL}/data/capabilities").json()["license"] == KNOWN_LICENSE
    assert requested == ["/questions.json"]


def test_the_operators_license_text_is_shown(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    settings = tmp_path / "environments.yaml"
    settings.write_text(
        "hosted: {intercode-sql: {questions: questions.json, questions_license: own license}}"
    )
    client = serve("--environments", "intercode-sql", "--settings", str(settings))
    assert client.http.get(f"{SQL}/data/capabilities").json()["license"] == "own license"


@pytest.mark.parametrize(
    ("path", "max_bytes", "named"), [("/absent.json", 1000, "404"), ("/questions.json", 50, "larger than 50")]
)
def test_a_failed_download_is_refused_and_leaves_no_file(
    tmp_path: Path, question_server: tuple[str, list[str]], path: str, max_bytes: int, named: str
) -> None:
    with pytest.raises(BadRequest, match=named):
        download_once(question_server[0] + path, tmp_path, max_bytes=max_bytes)
    assert list(tmp_path.iterdir()) == []


def test_a_download_without_a_response_times_out(tmp_path: Path) -> None:
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(BadRequest, match="download of"):
            download_once(f"http://127.0.0.1:{silent.getsockname()[1]}/q.json", tmp_path, seconds=0.2)
