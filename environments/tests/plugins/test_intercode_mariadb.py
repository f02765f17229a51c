"""intercode-mariadb through the server: the tasks of intercode-sql on a mariadbd that the server starts."""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from coevolve_environments.plugins.intercode_mariadb import environment
from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings
from conftest import Client, start_server, stop_server, text_of, wait_until

NAME = "intercode-mariadb"
SQL = f"/envs/{NAME}"
INSTALL = "mariadbd is missing: `apt-get install mariadb-server-core mariadb-client-core`"
needs_mariadb = pytest.mark.skipif(
    shutil.which("mariadbd", path="/usr/sbin:/usr/bin:/usr/local/bin") is None, reason=INSTALL
)


def start(folder: Path, state: Path) -> Client:
    return start_server(folder, "--environments", f"{NAME},intercode-sql", "--state", str(state))


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """A folder that the user of mariadbd can enter if the server is root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Client]:
    client = start(tmp_path_factory.mktemp("mariadb"), state)
    yield client
    stop_server(client)
    assert servers_of(client) == []


def servers_of(client: Client) -> list[int]:
    """Returns every mariadbd that is a child of the server or an orphan."""
    parents = {client.process.pid, 1}
    found = [p for p in psutil.process_iter(["name", "ppid"]) if p.info["name"] == "mariadbd"]
    return [process.pid for process in found if process.info["ppid"] in parents]


def draw(client: Client, split: str, count: int, name: str = NAME, **options: Any) -> list[dict[str, Any]]:
    return client.draw(name, split, count, 3, **options)


@needs_mariadb
def test_every_published_and_generated_gold_scores_1_and_another_does_not(mariadb: Client) -> None:
    wheel = draw(mariadb, "train", 100, source="wheel") + draw(mariadb, "held-out", 100, source="wheel")
    tasks = draw(mariadb, "train", 150) + draw(mariadb, "held-out", 50)
    assert (len(wheel), len(tasks)) == (20, 200)
    with mariadb.session(NAME) as session:
        for task in wheel + tasks:
            assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0
            assert session.play(task["definition"], ["SELECT 'nothing of it'", "submit"])["reward"] == 0.0


@needs_mariadb
def test_a_question_is_in_the_same_split_on_both_engines(mariadb: Client) -> None:
    for options in ({"source": "wheel"}, {}):
        here, there = (
            {task["content_key"]: task["split"] for side in ("train", "held-out") for task in drawn[side]}
            for drawn in (
                {side: draw(mariadb, side, 300, name, **options) for side in ("train", "held-out")}
                for name in (NAME, "intercode-sql")
            )
        )
        shared = set(here) & set(there)
        assert len(shared) > len(here) * 0.8
        assert all(here[key] == there[key] for key in shared)


@needs_mariadb
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO singer VALUES (9, 'x', 1, 1, 'x')",
        "DROP TABLE singer",
        "SET max_statement_time = 0",
        "SELECT * FROM singer INTO OUTFILE '/tmp/x'",
        "SELECT load_file('/etc/passwd')",
        "SELECT @a := 1",
        "SELECT @@version",
        "SELECT * FROM information_schema.processlist",
        "SELECT rand()",
        "SELECT sleep(1)",
        "SELECT * FROM world_1.city",
        "SELECT * FROM mysql.user",
        "SELECT 1; DELETE FROM singer",
        "/*! SET @a = 1 */",
        "-- nothing",
        "",
    ],
)
def test_only_one_reading_query_is_allowed(mariadb: Client, statement: str) -> None:
    task = draw(mariadb, "train", 1, databases=["singer"])[0]
    with mariadb.session(NAME) as session:
        session.reset(task=task["definition"])
        assert text_of(session.step(statement)).startswith("Error: ")
        assert text_of(session.step("SELECT COUNT(*) -- of them\nFROM singer")) == "[(8,)]"


@needs_mariadb
@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("SELECT COUNT(*) FROM city, city AS b, city AS c", "took too long"),
        ("SELECT a.id FROM city AS a, city AS b", "larger than"),
        ("SELECT (SELECT group_concat(name) FROM country) FROM city", "larger than"),
    ],
)
def test_an_excessive_statement_is_stopped_and_the_session_continues(
    mariadb: Client, statement: str, complaint: str
) -> None:
    task = draw(mariadb, "train", 1, databases=["world_1"])[0]
    with mariadb.session(NAME) as session:
        session.reset(task=task["definition"])
        assert complaint in text_of(session.step(statement))
        session.step(task["definition"]["gold"])
        assert session.step("submit")["data"]["reward"] == 1.0


@needs_mariadb
def test_16_concurrent_sessions_score_the_same_as_one(mariadb: Client) -> None:
    tasks = draw(mariadb, "train", 64)

    def play(task: dict[str, Any]) -> dict[str, Any]:
        with mariadb.session(NAME) as session:
            return session.play(task["definition"], [task["definition"]["gold"] + " LIMIT 2", "submit"])

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(play, tasks)) == [play(task) for task in tasks]


@needs_mariadb
def test_a_killed_server_leaves_no_mariadbd_and_the_next_returns_the_same(
    mariadb: Client, state: Path, tmp_path: Path
) -> None:
    """Runs next to the first server, on another data folder of the same state folder."""
    tasks = draw(mariadb, "held-out", 60)
    prints = {transcript(mariadb, tasks)}
    for _ in range(2):  # the second finds the data that the first has loaded
        client = start(tmp_path, state)
        assert draw(client, "held-out", 60) == tasks
        prints.add(transcript(client, tasks))
        (mariadbd,) = [pid for pid in servers_of(client) if psutil.Process(pid).ppid() == client.process.pid]
        assert not psutil.Process(mariadbd).net_connections("inet")
        client.process.kill()
        client.process.wait()
        wait_until(partial(is_gone, mariadbd), "mariadbd outlived its server")
    assert len(prints) == 1
    left = [Path(file.read_text()) for file in state.glob("*/data-*.run")]
    assert (
        sum(folder.exists() for folder in left) == 2
    )  # the first server's and the last one's, which the next start removes
    assert len(list(state.glob("*/data-*.loaded"))) == 2


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


def transcript(client: Client, tasks: list[dict[str, Any]]) -> str:
    with client.session(NAME) as session:
        seen = []
        for task in tasks:
            seen += [session.reset(task=task["definition"]), session.step(task["definition"]["gold"])]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def test_a_missing_mariadbd_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment, "_FOLDERS", ())
    with pytest.raises(Unavailable, match="apt-get install mariadb-server-core mariadb-client-core"):
        environment.create(Settings(NAME, {}, tmp_path, tmp_path))


@needs_mariadb
def test_the_server_responds_to_other_requests_during_the_start_of_mariadbd(tmp_path: Path) -> None:
    """As root, mariadbd's user cannot enter the folder, so this also tests data in a temporary folder."""
    client = start(tmp_path, tmp_path / "state")
    try:
        with ThreadPoolExecutor(1) as pool:
            listing = pool.submit(client.post, f"{SQL}/{NAME}/tasks", split="train")
            answered = 0
            while not listing.done():
                client.http.get("/health").raise_for_status()
                answered += 1
                time.sleep(0.05)
        held_out = client.post(f"{SQL}/{NAME}/tasks", split="held-out")
        assert len(listing.result()["tasks"]) + len(held_out["tasks"]) == 20
        assert answered > 1
        task_id = listing.result()["tasks"][0]["task_id"]
        with client.session(NAME) as session:
            assert session.reset(task_id=task_id)["data"]["observation"]["info"]["task_id"] == task_id
    finally:
        stop_server(client)
