"""appworld-mini and appworld through the server: AppWorld's real engine and evaluator, in our small world."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve_environments.plugins.appworld import mini
from coevolve_environments.protocol import NotReady
from conftest import (
    TOKEN,
    Client,
    Serve,
    Session,
    Task,
    hosted_arguments,
    start_server,
    stop_server,
    text_of,
    wait_until,
)

MINI = "appworld-mini"
SECRET = "a-secret-of-the-server"

NOTES = "apis.simple_note.search_notes(access_token=token, page_limit=20)"
GIVE_UP = "Action: apis.supervisor.complete_task()"
GIVE_UP_BLOCK = "```python\napis.supervisor.complete_task()\n```"

NAMES = [f"{scenario}_{number}" for scenario in ("drop", "count", "pin", "total") for number in (1, 2, 3)]
EACH_TASK = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name[-1] == "1" else pytest.mark.of_all) for name in NAMES]
)


def draw(client: Client, split: str, name: str = MINI, count: int = 100, **options: Any) -> list[Task]:
    return client.draw(name, split, count, **options)


def python(*lines: str) -> str:
    return "\n".join(["Thought: next.", "```python", *lines, "```"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("appworld")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    arguments = hosted_arguments(folder, MINI, pool=2, code_seconds=8)
    client = start_server(folder, *arguments, env={"MODEL_API_KEY": SECRET})
    yield client
    stop_server(client)


@pytest.fixture(scope="module")
def tasks(client: Client) -> list[Task]:
    return draw(client, "train") + draw(client, "held-out")


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    with client.session(MINI) as session:
        yield session


def by_id(tasks: list[Task], name: str) -> Task:
    return next(task for task in tasks if task["task_id"] == f"{MINI}/{name}")


def test_there_are_three_tasks_of_each_scenario(tasks: list[Task]) -> None:
    assert sorted(task["task_id"] for task in tasks) == sorted(f"{MINI}/{name}" for name in NAMES)


@EACH_TASK
def test_gold_passes_all_tests_of_its_task(session: Session, tasks: list[Task], name: str) -> None:
    task = by_id(tasks, name)
    ended = session.play(task["definition"], task["reference_actions"])
    assert (ended["reward"], ended["done"]) == (1.0, True)
    metadata = ended["metadata"]
    assert metadata["tests_passed"] == metadata["tests_total"] == 5
    assert (metadata["success"], metadata["stop_reason"]) == (True, "completed")


def test_a_scenario_is_in_one_split_only(tasks: list[Task]) -> None:
    scenarios = {
        split: {task["features"]["scenario"] for task in tasks if task["split"] == split}
        for split in ("train", "held-out")
    }
    assert scenarios == {"train": {"drop", "count"}, "held-out": {"pin", "total"}}


@EACH_TASK
def test_an_unsolved_task_scores_0(session: Session, tasks: list[Task], name: str) -> None:
    ended = session.play(by_id(tasks, name)["definition"], [GIVE_UP])
    assert ended["reward"] == 0.0
    assert 0 < ended["metadata"]["raw_score"] < 1


def test_a_change_of_the_wrong_note_scores_0(session: Session, tasks: list[Task]) -> None:
    first, second = by_id(tasks, "drop_1"), by_id(tasks, "drop_2")
    assert session.play(first["definition"], second["reference_actions"])["reward"] == 0.0


def compose(client: Client, parent: Task, query: str, actions: list[str]) -> Task:
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": {}}
    return dict(client.post(f"/envs/{MINI}/data/compose", **body)["task"])


def test_who_knows_no_call_finds_them_by_the_documentation(session: Session, tasks: list[Task]) -> None:
    session.reset(task=by_id(tasks, "drop_1")["definition"])

    def say(code: str) -> Any:
        return json.loads(
            text_of(session.step(python(f"print({code})"))).removeprefix("Output:").strip(" \n`")
        )

    apps = say("apis.api_docs.show_app_descriptions()")
    assert {app["name"] for app in apps} == {"api_docs", "supervisor", "simple_note"}
    calls = {call["name"] for call in say("apis.api_docs.show_api_descriptions(app_name='simple_note')")}
    assert {"login", "search_notes", "delete_note"} <= calls
    login = say("apis.api_docs.show_api_doc(app_name='simple_note', api_name='login')")
    assert {part["name"] for part in login["parameters"]} == {"username", "password"}


def test_a_composed_task_is_checked_by_the_rows_that_its_actions_change(
    client: Client, session: Session, tasks: list[Task]
) -> None:
    parent, other = by_id(tasks, "count_1"), by_id(tasks, "drop_3")
    log_in, delete, _ = other["reference_actions"]
    query = "Delete my note about the choir."
    composed = compose(client, parent, query, [log_in, delete])
    assert composed["grader"] == "environment"
    assert composed["reference_actions"] == [log_in, delete, GIVE_UP_BLOCK]

    opened = session.reset(task=composed["definition"], seed=0)
    assert query in text_of(opened)
    assert "tag" not in text_of(opened)
    assert query in text_of(session.step(python("print(apis.supervisor.show_active_task())")))
    scores = {
        "gold": session.play(composed["definition"], composed["reference_actions"])["reward"],
        "in one block": session.play(
            composed["definition"],
            [python(*(action[10:-4] for action in (log_in, delete)), "apis.supervisor.complete_task()")],
        )["reward"],
        "nothing": session.play(composed["definition"], [GIVE_UP])["reward"],
        "the parent's gold": session.play(composed["definition"], parent["reference_actions"])["reward"],
    }
    assert scores == {"gold": 1.0, "in one block": 1.0, "nothing": 0.0, "the parent's gold": 0.0}


def test_the_judge_sees_the_content_of_the_rows_that_an_attempt_adds_changes_and_removes(
    client: Client, session: Session, tasks: list[Task]
) -> None:
    parent = next(task for task in tasks if task["task_id"].endswith("drop_1"))
    log_in = parent["reference_actions"][0]
    ids = 'ids = {note["title"]: note["note_id"] for note in notes}'
    edit = python(
        ids,
        'apis.simple_note.create_note(title="Café", content="Tuesday at 4", access_token=token)',
        'apis.simple_note.update_note(note_id=ids["Garden beds"], pinned=True, access_token=token)',
        'apis.simple_note.delete_note(note_id=ids["Choir dates"], access_token=token)',
    )
    composed = compose(client, parent, "Tidy up my notes.", [log_in, edit])
    ended = session.play(composed["definition"], composed["reference_actions"])
    lines = ended["observation"]["messages"][-1]["content"].split("\n")
    shown = {line.split(" ")[1]: line for line in lines if "simple_note.Note " in line}
    assert 'title "Café"' in shown["added"]
    assert 'content "Tuesday at 4"' in shown["added"]
    assert "pinned nothing -> true" in shown["changed"]
    assert 'content "rehearsals on Tuesdays"' in shown["removed"]
    assert "hash" not in "".join(lines)


def test_a_composed_question_is_checked_by_its_answer_and_refused_without_one(
    client: Client, session: Session, tasks: list[Task]
) -> None:
    parent, other = by_id(tasks, "drop_1"), by_id(tasks, "count_2")
    *read, answer = other["reference_actions"]
    composed = compose(client, parent, "How many notes are for shopping?", [*read, answer])
    assert (composed["grader"], composed["reference_actions"][-1]) == ("environment", answer)
    assert session.play(composed["definition"], [answer])["reward"] == 1.0
    assert session.play(composed["definition"], [answer.replace("=", "=1")])["reward"] == 0.0
    again = compose(client, composed, "Count my notes for shopping.", [*read, answer])
    assert again["definition"]["composed_in"] == parent["definition"]
    body = {"parent": parent["definition"], "query": "Which notes do I have?", "actions": read, "options": {}}
    assert client.post(f"/envs/{MINI}/data/compose", **body)["refused"]["reason"] == "no-answer"


def test_only_train_tasks_are_ever_rewarded_densely(client: Client, session: Session) -> None:
    train = by_id(draw(client, "train", dense=True), "drop_1")
    held_out = by_id(draw(client, "held-out", dense=True), "pin_1")
    assert (train["definition"]["dense"], held_out["definition"]["dense"]) == (True, False)
    assert session.play(train["definition"], [GIVE_UP])["reward"] == 0.6
    forged = {**held_out["definition"], "dense": True}
    assert session.play(forged, [GIVE_UP])["reward"] == 0.0


def test_concurrent_sessions_have_separate_notes(client: Client, tasks: list[Task]) -> None:
    task = by_id(tasks, "drop_1")
    log_in = task["reference_actions"][0]
    write = 'apis.simple_note.create_note(title="Only here", content="", access_token=token)'
    with client.session(MINI) as one, client.session(MINI) as other:
        for session in (one, other):
            session.reset(task=task["definition"], seed=0)
            session.step(log_in)
        one.step(python(write))
        assert "Only here" in text_of(one.step(python(f"print({NOTES})")))
        assert "Only here" not in text_of(other.step(python(f"print({NOTES})")))
        with client.session(MINI) as third:
            refused = third.receive()
            assert refused["data"]["code"] == "CAPACITY_REACHED"


def test_the_same_actions_return_the_same_in_a_used_process_and_in_another(
    client: Client, tasks: list[Task]
) -> None:
    task = by_id(tasks, "total_1")

    def observations(session: Session) -> list[str]:
        session.reset(task=task["definition"], seed=0)
        return [
            text_of(session.step(action))
            for action in [*task["reference_actions"][:-1], python("print(apis)")]
        ]

    with client.session(MINI) as one, client.session(MINI) as other:
        assert observations(one) == observations(one) == observations(other)


def test_changes_of_the_engine_by_an_attempt_do_not_affect_the_next(
    session: Session, tasks: list[Task]
) -> None:
    task = tasks[0]["definition"]
    pid = python("import os", "print(os.getppid())")
    session.reset(task=task, seed=0)
    engine = text_of(session.step(pid))
    session.step(python("import json", "json.mark, json.JSONDecoder = 'left', None"))
    session.step(python("import appworld.evaluator", "appworld.evaluator.TestTracker.success = True"))
    session.reset(task=task, seed=0)
    assert text_of(session.step(pid)) == engine
    assert text_of(session.step(python("import json", "print(hasattr(json, 'mark'))"))) == "False"
    ended = session.step(GIVE_UP)["data"]
    assert (ended["reward"], ended["metadata"]["success"]) == (0.0, False)


def test_a_policys_code_finds_no_credentials(
    client: Client, folder: Path, session: Session, tasks: list[Task]
) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    seen = text_of(session.step(python("import os", "print(sorted(os.environ.items()))")))
    assert "HOME" in seen
    assert SECRET not in seen
    assert TOKEN not in seen
    assert "MODEL_API_KEY" not in seen
    token = python(f"print(open({str(folder / 'token')!r}).read())")
    assert TOKEN not in text_of(session.step(token))


def test_the_childs_world_contains_no_gold_even_after_an_attempt(session: Session, tasks: list[Task]) -> None:
    task = tasks[0]["definition"]
    session.play(task, [GIVE_UP])
    session.reset(task=task, seed=0)
    folder = f'os.path.join(os.environ["APPWORLD_ROOT"], "data", "tasks", "{task["task"]}")'
    look = f'print([os.path.exists({folder} + name) for name in ("/specs.json", "/ground_truth")])'
    seen = text_of(session.step(python("import os, json", look)))
    assert json.loads(seen) == [True, False]


def test_an_endless_block_is_stopped_and_the_episode_continues(session: Session, tasks: list[Task]) -> None:
    task = by_id(tasks, "count_1")
    session.reset(task=task["definition"], seed=0)
    assert "timed out after 8 seconds" in text_of(session.step(python("while True:", "    pass")))
    *_, ended = [session.step(action) for action in task["reference_actions"]]
    assert ended["data"]["reward"] == 1.0


SPIN = ["    while True:", "        pass"]
MODULES = ["import os", "modules = os.sys.modules"]  # the engine disables functions of `os`
ENDS_ITS_WORLD = {
    "exits": python(*MODULES, "modules['posix']._exit(0)"),
    "kills itself": python(*MODULES, "modules['posix'].kill(modules['posix'].getpid(), 9)"),
    "aborts": python(*MODULES, "modules['posix'].abort()"),
    "cannot be stopped": python("try:", *SPIN, "except BaseException:", *SPIN),
    "prints no Unicode": python("print(chr(0xD800))"),
    "is no Unicode": python("'\ud800'"),
}
PLAYS_ON = {
    "hoards memory": python("hoard = []", "while True: hoard.append(bytearray(2**24))"),
    "starts threads": python(
        *MODULES,
        "wait = modules['time'].sleep",
        "for _ in range(10_000): modules['_thread'].start_new_thread(wait, (600,))",
    ),
}


# The others wait for a time limit, or for the end of another fork.
QUICK = {"exits", "aborts", "hoards memory"}


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.of_all)
        for name in ENDS_ITS_WORLD | PLAYS_ON
    ],
)
def test_code_that_ends_its_own_world_scores_0_and_is_never_a_fault(
    session: Session, tasks: list[Task], name: str
) -> None:
    task = tasks[0]
    session.reset(task=task["definition"], seed=0)
    reply = session.step((ENDS_ITS_WORLD | PLAYS_ON)[name])
    assert reply["type"] == "observation", reply
    assert reply["data"]["done"] == (name in ENDS_ITS_WORLD)
    if name in ENDS_ITS_WORLD:
        assert (reply["data"]["reward"], reply["data"]["metadata"]["stop_reason"]) == (0.0, "world-ended")
    assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


def test_a_block_above_the_memory_limit_fails(session: Session, tasks: list[Task]) -> None:
    task = by_id(tasks, "count_2")
    session.reset(task=task["definition"], seed=0)
    assert "MemoryError" in text_of(session.step(python("hoard = bytearray(2**31)")))
    *_, ended = [session.step(action) for action in task["reference_actions"]]
    assert ended["data"]["reward"] == 1.0


def test_text_without_code_uses_a_step_and_the_last_step_is_scored(client: Client, session: Session) -> None:
    task = by_id(draw(client, "train", max_turns=2), "drop_3")
    session.reset(task=task["definition"], seed=0)
    assert text_of(session.step("I will delete the note.")).startswith("No code was found")
    ended = session.step(python("print(1)") + "\n" + python("apis.supervisor.complete_task()"))
    assert text_of(ended) == "1"  # only the first block runs
    assert ended["data"]["metadata"]["stop_reason"] == "turn-limit"
    assert ended["data"]["reward"] == 0.0


def test_long_output_is_truncated(session: Session, tasks: list[Task]) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    seen = text_of(session.step(python('print("x" * 10_000)')))
    assert len(seen) < 6_100
    assert seen.endswith("... 4000 more characters")


def test_appworld_plays_data_in_the_published_layout(
    folder: Path, serve: Serve, tmp_path: Path, tasks: list[Task]
) -> None:
    """Uses our small world in the layout of `appworld download data`."""
    (world,) = (folder / "state" / MINI).glob("world-*")
    root = tmp_path / "root"
    shutil.copytree(world / "data", root / "data")
    shutil.copy(root / "data" / "datasets" / "dev.txt", root / "data" / "datasets" / "test_normal.txt")
    for truth in (world / "gold").iterdir():
        shutil.copytree(truth, root / "data" / "tasks" / truth.name / "ground_truth")
        (root / "data" / "tasks" / truth.name / "ground_truth" / "solution.json").unlink()
    program = (
        "# Canary String: none\ndef solution(apis, requester):\n    apis.supervisor.complete_task(answer=3)"
    )
    truth = root / "data" / "tasks" / "count_1" / "ground_truth"
    (truth / "compiled_solution.py").write_text(program)
    client = serve(*hosted_arguments(tmp_path, "appworld", root=str(root), pool=1))
    train = {task["task_id"]: task for task in draw(client, "train", "appworld")}
    assert {task["features"]["group"] for task in train.values()} == {"train"}
    held_out = draw(client, "held-out", "appworld", held_out="test_normal")
    assert {task["features"]["group"] for task in held_out} == {"test_normal"}
    assert draw(client, "held-out", "appworld", held_out="test_challenge") == []
    assert held_out[0]["reference_actions"] == []
    gold = train["appworld/count_1"]
    with client.session("appworld") as session:
        ended = session.play(gold["definition"], gold["reference_actions"])
        assert (ended["reward"], ended["metadata"]["tests_total"]) == (1.0, 5)


def test_missing_appworld_data_names_the_download_command(serve: Serve) -> None:
    health = serve("--state", "/nonexistent").http.get("/health").json()
    assert "coevolve env install appworld" in health["unavailable"]["appworld"]


def test_a_world_that_is_not_built_in_30_s_is_built_on_while_requests_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, folder = threading.Event(), tmp_path / "world"

    def build(_: Path, unfinished: Path) -> None:
        may_end.wait()
        (unfinished / "data").mkdir()

    monkeypatch.setattr(mini, "_build", build)
    monkeypatch.setattr(mini, "_WAIT_SECONDS", 0.01)
    world = mini._World(Path("python"), folder)
    for _ in range(2):
        with pytest.raises(NotReady):
            world.require()
    may_end.set()
    wait_until(folder.exists, "the world is not built")
    world.require()
    assert [child.name for child in tmp_path.iterdir()] == ["world"]
