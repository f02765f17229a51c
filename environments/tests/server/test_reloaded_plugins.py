"""A changed file of the operator is loaded again alone, and a broken one stops only its own environment."""

import sys
from pathlib import Path

import httpx
import pytest
import yaml

from conftest import Client, Serve, error_code, text_of

COUNTING = Path(__file__).parents[1] / "counting_environment.py"
NEWER = '\nCounting.description = "counts anew"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(COUNTING.read_text())
    return path


@pytest.fixture
def client(serve: Serve, tmp_path: Path, file: Path) -> Client:
    settings = tmp_path / "environments.yaml"
    own = {"plugin": str(file), "where": "thread"}
    other = {"plugin": str(COUNTING), "where": "thread"}
    settings.write_text(yaml.safe_dump({"hosted": {"own": own, "other": other}}))
    return serve(
        "--environments", "own,other", "--settings", str(settings), "--state", str(tmp_path / "state")
    )


def test_an_unchanged_file_is_not_loaded_again(client: Client) -> None:
    with client.session("own") as session:
        session.reset(task={})
        assert client.post("/reload") == {"reloaded": [], "installed": [], "broken": {}}
        assert text_of(session.step("sleep 0")) == "slept"


def test_a_changed_file_is_known_and_loaded_again_while_other_episodes_go_on(
    client: Client, file: Path
) -> None:
    with client.session("own") as session, client.session("other") as other:
        session.reset(task={})
        other.reset(task={})
        file.write_text(file.read_text() + NEWER)
        assert client.http.get("/health").json()["changed"] == ["own"]
        assert client.post("/reload") == {"reloaded": ["own"], "installed": [], "broken": {}}
        assert error_code(session.receive()) == "SESSION_ERROR"
        assert text_of(other.step("sleep 0")) == "slept"
    assert client.http.get("/health").json()["changed"] == []
    assert client.http.get("/envs/own/metadata").json()["description"] == "counts anew"
    with client.session("own") as session:
        session.reset(task={})
        assert text_of(session.step("sleep 0")) == "slept"


def test_a_changed_module_or_data_file_beside_the_file_is_a_change_of_its_environment(
    client: Client, file: Path
) -> None:
    helper, data = file.with_name("own_rules.py"), file.with_name("own-levels.json")
    helper.write_text("TEXT = open(__file__.replace('own_rules.py', 'own-levels.json')).read()")
    data.write_text("one")
    file.with_name("notes.json").write_text("of nothing")
    file.write_text(file.read_text() + NAMES_HELPER)
    assert client.post("/reload")["reloaded"] == ["own"]
    assert client.http.get("/envs/own/metadata").json()["description"] == "one"
    data.write_text("two")
    assert client.http.get("/health").json()["changed"] == ["own"]
    assert client.post("/reload")["reloaded"] == ["own"]
    assert client.http.get("/envs/own/metadata").json()["description"] == "two"
    for text in ("three", "seven", "eight"):  # of one length, within a second
        helper.write_text(f"TEXT = {text!r}")
        assert client.http.get("/health").json()["changed"] == ["own"]
        assert client.post("/reload")["reloaded"] == ["own"]
        assert client.http.get("/envs/own/metadata").json()["description"] == text
    file.with_name("notes.json").write_text("changed")
    assert client.http.get("/health").json()["changed"] == []


NAMES_HELPER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import own_rules
Counting.description = own_rules.TEXT
"""


def test_a_broken_file_stops_its_environment_alone_until_it_is_corrected(client: Client, file: Path) -> None:
    good = file.read_text()
    file.write_text(good + "\ndef create(settings:\n")
    answer = client.post("/reload")
    assert answer["reloaded"] == ["own"]
    assert "own.py" in answer["broken"]["own"]
    assert "SyntaxError" in answer["broken"]["own"]
    health = client.http.get("/health").json()
    assert list(health["environments"]) == ["other"]
    assert health["broken"] == ["own"]
    refused = client.http.get("/envs/own/metadata")
    assert refused.status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert "SyntaxError" in refused.text
    with client.session("other") as other:
        other.reset(task={})
        assert text_of(other.step("sleep 0")) == "slept"
    file.write_text(good)
    assert client.post("/reload") == {"reloaded": ["own"], "installed": [], "broken": {}}
    with client.session("own") as session:
        session.reset(task={})
        assert text_of(session.step("sleep 0")) == "slept"


def test_an_environment_whose_engine_is_installed_later_is_served_without_a_restart(
    serve: Serve, tmp_path: Path
) -> None:
    engine, own = tmp_path / "engine", tmp_path / "own.py"
    own.write_text(COUNTING.read_text() + NEEDS_ENGINE)
    settings = tmp_path / "environments.yaml"
    mini = {"python": str(engine / "bin" / "python")}
    settings.write_text(
        yaml.safe_dump({"hosted": {"appworld-mini": mini, "own": {"plugin": str(own), "where": "thread"}}})
    )
    client = serve("--settings", str(settings), "--state", str(tmp_path / "state"))
    assert client.post("/reload")["installed"] == []
    before = client.http.get("/health").json()
    assert {"appworld-mini", "own"} <= before["unavailable"].keys()
    _install(engine)
    assert sorted(client.post("/reload")["installed"]) == ["appworld-mini", "own"]
    after = client.http.get("/health").json()
    assert {"appworld-mini", "own"} <= after["environments"].keys()
    assert before["unavailable"].keys() - after["unavailable"].keys() == {"appworld-mini", "own"}
    assert client.http.get("/envs/appworld-mini/metadata").json()["name"] == "appworld-mini"
    assert client.post("/reload") == {"reloaded": [], "installed": [], "broken": {}}


NEEDS_ENGINE = """
from pathlib import Path
from coevolve_environments.protocol import Unavailable

make = create
def create(settings):
    if not Path(__file__).with_name("engine").exists():
        raise Unavailable("install the engine")
    return make(settings)
"""


def _install(engine: Path) -> None:
    """Makes the files by which the server knows AppWorld's engine."""
    packages = engine / "lib" / "python3.11" / "site-packages" / "appworld"
    for file in (packages / "environment.py", packages / "apps" / "simple_note" / "apis.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (engine / "bin").mkdir()
    (engine / "bin" / "python").symlink_to(sys.executable)
