"""Plugins of the operator: one Python file each, and the errors of invalid files."""

import sys
from pathlib import Path

import pytest

from coevolve_environments.plugins.pool_settings import engine_python
from coevolve_environments.protocol import SPLITS, Unavailable
from coevolve_environments.registry import BuiltEnvironments, build_environments
from coevolve_environments.settings import Settings, read_settings
from conftest import REPOSITORY

GOOD = """
from coevolve_environments.protocol import Capabilities, Environment

class Own(Environment):
    description = "of the operator"
    capabilities = Capabilities(
        variants=False, replay="observations", dense_reward=False, max_turns=1
    )

    def __init__(self, name, lines):
        self.name, self.lines = name, lines

    def published(self, split):
        return []

    def tasks(self, split, count, seed, options):
        return []

    def start(self, definition, seed):
        raise NotImplementedError

def create(settings):
    return Own(settings.name, settings.integer("lines", 3))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(GOOD)
    return tmp_path


def built(folder: Path, settings: str, *names: str) -> BuiltEnvironments:
    file = folder / "environments.yaml"
    file.write_text(settings)
    return build_environments(names or ["own"], read_settings(file, folder / "state"))


def test_a_file_next_to_the_settings_is_an_environment_with_its_own_settings(folder: Path) -> None:
    made = built(folder, "hosted: {own: {plugin: own.py, lines: 7}}").environments["own"]
    assert (made.name, made.description) == ("own", "of the operator")
    assert vars(made)["lines"] == 7


def test_one_file_may_serve_two_names(folder: Path) -> None:
    settings = "hosted: {own: {plugin: own.py}, other: {plugin: ./own.py, lines: 1}}"
    made = built(folder, settings, "own", "other").environments
    assert [vars(environment)["lines"] for environment in made.values()] == [3, 1]


def test_a_built_in_environment_can_be_mounted_again_under_another_name(folder: Path) -> None:
    settings = "hosted: {big-shop: {plugin: webshop, url: 'http://shop.example:1', goals: 12087}}"
    made = built(folder, settings, "big-shop").environments["big-shop"]
    assert made.name == "big-shop"
    assert made.published("train")[0].task_id == "big-shop/1500"


def test_the_example_of_remote_environments_can_be_mounted(tmp_path: Path) -> None:
    example = REPOSITORY / "examples/environments/remote.yaml"
    made = build_environments(["webshop", "appworld-remote"], read_settings(example, tmp_path)).environments
    assert [len(made["webshop"].published(split)) for split in SPLITS] == [5_410, 500]
    assert made["appworld-remote"].description.startswith("appworld, on the operator's env-service")


def test_all_available_environments_include_the_operators_own(folder: Path) -> None:
    file = folder / "environments.yaml"
    file.write_text("hosted: {own: {plugin: own.py}}")
    assert "own" in build_environments(None, read_settings(file, folder)).environments


def test_a_broken_plugin_stops_no_other_environment(folder: Path) -> None:
    (folder / "broken.py").write_text("def create(settings:\n")
    file = folder / "environments.yaml"
    file.write_text("hosted: {broken: {plugin: broken.py}, own: {plugin: own.py}}")
    made = build_environments(None, read_settings(file, folder))
    assert "own" in made.environments
    assert "broken.py:1: SyntaxError" in made.unavailable["broken"]


def test_an_unavailable_plugin_forwards_its_message(folder: Path) -> None:
    needy = (
        "from coevolve_environments.protocol import Unavailable\nraise Unavailable('pip install needed')\n"
    )
    (folder / "needy.py").write_text(needy)
    with pytest.raises(Unavailable, match="needy: pip install needed"):
        built(folder, "hosted: {needy: {plugin: needy.py}}", "needy")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("x = 1\n", r"own\.py has no function `create\(settings\)`"),
        ("x = 1\ny = x / 0\n", r"hosted\.own\.plugin: .*own\.py:2: ZeroDivisionError: division by zero"),
        ("import no_such_thing\n", r"own\.py:1: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("x = 1\ndef create(settings:\n", r"own\.py:2: SyntaxError"),
        ("def create(settings):\n    return settings.nothing\n", r"own\.py:2: AttributeError"),
        ("def create(settings):\n    return int('many')\n", r"own\.py:2: ValueError: invalid literal"),
        ("def create(settings):\n    return None\n", r"own\.py returned NoneType; expected an Environment"),
        (GOOD.replace("settings.name", "'mine'"), r"an environment named 'mine'; expected 'own'"),
        (GOOD.replace("def start", "def begin"), r"own\.py:\d+: TypeError: Can't instantiate .*start"),
    ],
)
def test_an_invalid_plugin_is_refused_with_its_line(folder: Path, content: str, named: str) -> None:
    (folder / "own.py").write_text(content)
    with pytest.raises(ValueError, match=named):
        built(folder, "hosted: {own: {plugin: own.py}}")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (
            "hosted: {own: {plugin: elsewhere.py}}",
            r"elsewhere\.py is neither a file nor the name of a built-in environment",
        ),
        (
            "hosted: {own: {plugin: own.py, lins: 7}}",
            r"hosted\.own\.lins: unknown setting; known: .*lines, plugin",
        ),
        ("hosted: {own: {plugin: own.py, lines: many}}", r"hosted\.own\.lines: expected an integer from 1"),
        ("hosted: {own: {plugin: 7}}", r"hosted\.own\.plugin: expected a text, found 7"),
        ("hosted: {own: {lines: 7}}", r"unknown environment 'own'"),
        (
            "hosted: {own: {plugin: own.py}, bfcl: {plugin: own.py}}",
            r"hosted\.bfcl\.plugin: this name is reserved",
        ),
    ],
)
def test_an_invalid_section_is_named(folder: Path, settings: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        built(folder, settings)


def test_a_file_without_the_suffix_py_is_refused(folder: Path) -> None:
    (folder / "own.txt").write_text(GOOD)
    with pytest.raises(ValueError, match=r"own\.txt does not end in \.py"):
        built(folder, "hosted: {own: {plugin: own.txt}}")


def test_the_state_folder_is_independent_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = read_settings(None, Path("state")).section("own").state
    assert kept == tmp_path.resolve() / "state" / "own"
    assert kept.is_dir()


def test_an_interpreter_is_found_through_the_link_of_its_environment(tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/lib/python3.11/site-packages/engine").mkdir(parents=True)
    python = tmp_path / "venv/bin/python"
    python.symlink_to(sys.executable)
    settings = Settings("own", {"python": "venv/bin/python"}, tmp_path, tmp_path)
    assert engine_python(settings, "own", "engine") == python
