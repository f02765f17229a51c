"""Attempts of appworld-mini that attack their evaluation, the gold, or the next attempt."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import (
    PROJECT,
    Client,
    Session,
    Task,
    hosted_arguments,
    is_gone,
    start_server,
    stop_server,
    text_of,
    wait_until,
)

MINI = "appworld-mini"
GIVE_UP = "```python\napis.supervisor.complete_task()\n```"
POSIX = ("import os", "posix = os.sys.modules['posix']")  # the engine disables functions of `os`
STATE = "'appworld/experiments/outputs/coevolve/tasks/total_1/dbs/simple_note.jsonl'"
FILES = (  # of the attempt's child; the engine disables `os.walk`
    "home = os.path.dirname(os.getcwd())",
    "def files(folder):",
    "    for name in posix.listdir(folder):",
    "        path = folder + '/' + name",
    "        yield path",
    "        if posix.lstat(path).st_mode & 0o170000 == 0o040000:",
    "            yield from files(path)",
)
KEEP_STATE = ("import appworld.environment", "appworld.environment.AppWorld._save_state = lambda *_: None")


def python(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("appworld")
    client = start_server(folder, *hosted_arguments(folder, MINI, pool=2, code_seconds=5))
    yield client
    stop_server(client)


@pytest.fixture(scope="module")
def tasks(client: Client) -> dict[str, Task]:
    drawn = client.draw(MINI, "train", 100) + client.draw(MINI, "held-out", 100)
    return {task["task_id"].removeprefix(f"{MINI}/"): task for task in drawn}


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    with client.session(MINI) as session:
        yield session


def begin(session: Session, task: Task) -> None:
    text_of(session.reset(task=task["definition"], seed=0))


def printed(session: Session, *lines: str) -> str:
    return text_of(session.step(python(*POSIX, *lines)))


PATCHES = {
    "success": ["T.success = True"],
    "all tests": [
        "old = T.to_dict",
        "def to_dict(self, *args, **options):",
        "    found = old(self, *args, **options)",
        "    passes = found['passes'] + found['failures']",
        "    return {**found, 'success': True, 'passes': passes, 'failures': []}",
        "T.to_dict = to_dict",
    ],
    "the comparison": ["T.case = T.answer = lambda *args, **options: None"],
}


@pytest.mark.parametrize("patch", PATCHES)
def test_a_policys_code_that_patches_the_evaluator_gets_the_reward_of_its_true_end_state(
    session: Session, tasks: dict[str, Task], patch: str
) -> None:
    patched = python("import appworld.evaluator", "T = appworld.evaluator.TestTracker", *PATCHES[patch])
    task = tasks["total_1"]
    ended = session.play(task["definition"], [patched, GIVE_UP])
    assert (ended["reward"], ended["metadata"]["success"]) == (0.0, False)
    assert ended["metadata"]["tests_passed"] == 3
    ended = session.play(task["definition"], [patched, *task["reference_actions"]])
    assert (ended["reward"], ended["metadata"]["tests_passed"]) == (1.0, 5)


def test_a_policys_code_cannot_hide_a_change_from_the_evaluator(
    session: Session, tasks: dict[str, Task]
) -> None:
    """The engine counts the changes of each table, and its evaluator skips a table with an equal count."""
    rename = "apis.simple_note.update_account_name(first_name='Other', last_name='Name', access_token=token)"
    hide = [
        "import appworld.apps.model_lib",
        "for apps in appworld.apps.model_lib.ModelHashHandler.data.values():",
        "    apps['simple_note']['User'] = 2",
    ]
    log_in, *rest = tasks["drop_1"]["reference_actions"]
    actions = [log_in, python(rename, *hide), *rest]
    ended = session.play(tasks["drop_1"]["definition"], actions)
    assert (ended["reward"], ended["metadata"]["tests_passed"]) == (0.0, 4)


def test_a_thread_of_an_attempt_ends_before_the_evaluation_and_keeps_no_gold(
    session: Session, tasks: dict[str, Task]
) -> None:
    watch = [
        "def watch():",
        "    while True:",
        "        try:",
        "            for path in files(home):",
        "                if path.endswith(('answer.json', 'evaluation.py', 'private_data.json')):",
        "                    posix.close(posix.open('kept', posix.O_CREAT | posix.O_WRONLY))",
        "        except OSError:",
        "            pass",
        "os.sys.modules['_thread'].start_new_thread(watch, ())",
        "print(os.getpid(), os.getppid())",
    ]
    begin(session, tasks["total_1"])
    watcher, engine = map(int, printed(session, *FILES, *watch).split())
    assert not is_gone(watcher)
    assert session.step(GIVE_UP)["data"]["reward"] == 0.0
    assert is_gone(watcher)
    begin(session, tasks["total_1"])
    found = printed(session, *FILES, "print('\\n'.join(files(home)))", "print(os.getppid())").splitlines()
    assert found[-1] == str(engine)
    assert [path for path in found if path.endswith("simple_note.jsonl")]
    assert not [path for path in found if path.endswith(("kept", "answer.json"))]


def test_an_attempts_files_do_not_exist_in_the_next_attempt(session: Session, tasks: dict[str, Task]) -> None:
    look = "print(json.dumps([os.getppid(), *sorted(posix.listdir('.'))]))"
    plant = [
        "posix.mkdir('left')",
        "posix.mkdir('appworld/data/tasks/pin_1')",
        "posix.symlink('/nonexistent', 'appworld/data/tasks/pin_1/specs.json')",
        "posix.symlink('/nonexistent', 'appworld/data/tasks/pin_1/dbs')",
    ]
    begin(session, tasks["total_1"])
    before = json.loads(printed(session, look))
    assert printed(session, *plant, "print(posix.listdir('.').count('left'))") == "1"
    for name in ("total_1", "pin_1"):
        begin(session, tasks[name])
        assert json.loads(printed(session, look)) == before
    assert session.play(tasks["pin_1"]["definition"], tasks["pin_1"]["reference_actions"])["reward"] == 1.0


def test_an_attempt_ends_with_its_session(client: Client, tasks: dict[str, Task]) -> None:
    with client.session(MINI) as session:
        begin(session, tasks["total_1"])
        attempt, engine = map(int, printed(session, "print(os.getpid(), os.getppid())").split())
    wait_until(lambda: is_gone(attempt), "the attempt's process still runs")
    assert not is_gone(engine)


def test_an_attempt_writes_nowhere_that_another_process_imports_from(
    session: Session, tasks: dict[str, Task]
) -> None:
    begin(session, tasks["total_1"])
    seen = printed(
        session,
        "home = os.path.dirname(os.getcwd())",
        "written = []",
        "for folder in [*os.sys.path, home, home + '/.packages', home + '/engine', home + '/engine/data']:",
        "    try:",
        "        posix.close(posix.open(folder + '/planted.py', posix.O_CREAT | posix.O_WRONLY))",
        "        written.append(folder)",
        "    except OSError:",
        "        pass",
        "print(len(os.sys.path), written, posix.listdir(home))",
    )
    count, written = seen.split(maxsplit=1)
    assert int(count) > 3
    assert written.startswith("[]")
    assert "'.packages', " in written or ", '.packages'" in written


DAMAGE = {
    "a link": [f"posix.unlink({STATE})", f"posix.symlink('/etc/hostname', {STATE})"],
    "a pipe": [f"posix.unlink({STATE})", f"posix.mkfifo({STATE})"],
    "a linked folder": [
        "posix.rename('appworld/experiments', 'x')",
        "posix.symlink('../x', 'appworld/experiments')",
    ],
    "another statement": [
        f"file = posix.open({STATE}, posix.O_WRONLY | posix.O_APPEND)",
        'posix.write(file, b\'\\n["ATTACH ? AS other", ["other.db"], false]\\n\')',
    ],
    "no file": [f"posix.unlink({STATE})"],
}


@pytest.mark.parametrize(
    "damage", [name if name == "a link" else pytest.param(name, marks=pytest.mark.of_all) for name in DAMAGE]
)
def test_a_saved_state_that_the_engine_cannot_have_written_scores_0(
    client: Client, tasks: dict[str, Task], damage: str
) -> None:
    task = tasks["total_1"]
    with client.session(MINI) as session:
        begin(session, task)
        done = "apis.supervisor.complete_task()"
        ended = session.step(python(*KEEP_STATE, *POSIX, *DAMAGE[damage], done))["data"]
        assert (ended["reward"], ended["metadata"]["stop_reason"]) == (0.0, "world-ended")
    with client.session(MINI) as session:
        assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


READ_GOLD = """
import sys
from pathlib import Path
from coevolve_environments.plugins.appworld.folders import Data, enter
world, home = map(Path, sys.argv[1:])
enter(home, Data(world / "data", world), "1_1", 2**12)
print((home / "appworld/data/tasks/1_1/specs.json").read_text())
for gold in (world / "gold" / "1_1.json", world / "data/tasks/1_1/ground_truth/answer.json"):
    try:
        print(gold.read_text())
    except PermissionError:
        print("denied")
"""


def test_a_fork_with_the_servers_user_reads_no_gold_either(tmp_path: Path) -> None:
    home, world = tmp_path / "home", tmp_path / "world"
    home.mkdir()
    for name in ("gold/1_1.json", "data/tasks/1_1/ground_truth/answer.json", "data/tasks/1_1/specs.json"):
        (world / name).parent.mkdir(parents=True, exist_ok=True)
        (world / name).write_text(name)
    command = [sys.executable, "-c", READ_GOLD, str(world), str(home)]
    seen = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT / "src").stdout
    assert seen.split() == ["data/tasks/1_1/specs.json", "denied", "denied"]
