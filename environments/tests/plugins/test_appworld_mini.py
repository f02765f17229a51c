"""appworld-mini and appworld through the wire: AppWorld's real engine and evaluator, in a world of ours."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import TOKEN, Client, Serve, Session, start_server, stop_server

MINI = "appworld-mini"
SECRET = "a-secret-of-the-server"
Task = dict[str, Any]

NOTES = "apis.simple_note.search_notes(access_token=token, page_limit=20)"
GIVE_UP = "Action: apis.supervisor.complete_task()"


def settings(folder: Path, **hosted: str) -> tuple[str, ...]:
    file = folder / "environments.yaml"
    sections = (f"  {name.replace('_', '-')}: {{{text}}}\n" for name, text in hosted.items())
    file.write_text("hosted:\n" + "".join(sections))
    names = ",".join(name.replace("_", "-") for name in hosted)
    return ("--environments", names, "--settings", str(file), "--state", str(folder / "state"))


def draw(client: Client, split: str, name: str = MINI, count: int = 100, **options: Any) -> list[Task]:
    body = {"split": split, "count": count, "seed": 1, "options": options}
    return list(client.post(f"/envs/{name}/data/tasks", **body)["tasks"])


def python(*lines: str) -> str:
    return "\n".join(["Thought: let me see.", "```python", *lines, "```"])


def said(answer: dict[str, Any]) -> str:
    assert answer["type"] == "observation", answer
    return str(answer["data"]["observation"]["messages"][-1]["content"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("appworld")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    arguments = settings(folder, appworld_mini="pool: 2, code_seconds: 2")
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


def test_gold_passes_all_tests_of_all_twelve_tasks(session: Session, tasks: list[Task]) -> None:
    assert len(tasks) == 12
    for task in tasks:
        ended = session.play(task["definition"], task["reference_actions"])
        assert (ended["reward"], ended["done"]) == (1.0, True)
        metadata = ended["metadata"]
        assert metadata["tests_passed"] == metadata["tests_total"] == 5
        assert (metadata["success"], metadata["stop_reason"]) == (True, "completed")


def test_a_scenario_is_on_one_side_only(tasks: list[Task]) -> None:
    scenarios = {
        split: {task["features"]["scenario"] for task in tasks if task["split"] == split}
        for split in ("train", "held-out")
    }
    assert scenarios == {"train": {"drop", "count"}, "held-out": {"pin", "total"}}


def test_a_task_given_up_or_done_to_the_wrong_note_scores_0(session: Session, tasks: list[Task]) -> None:
    for task in tasks:
        ended = session.play(task["definition"], [GIVE_UP])
        assert ended["reward"] == 0.0
        assert 0 < ended["metadata"]["raw_score"] < 1
    first, second = by_id(tasks, "drop_1"), by_id(tasks, "drop_2")
    assert session.play(first["definition"], second["reference_actions"])["reward"] == 0.0


def test_only_train_tasks_are_ever_rewarded_densely(client: Client, session: Session) -> None:
    train = by_id(draw(client, "train", dense=True), "drop_1")
    held_out = by_id(draw(client, "held-out", dense=True), "pin_1")
    assert (train["definition"]["dense"], held_out["definition"]["dense"]) == (True, False)
    assert session.play(train["definition"], [GIVE_UP])["reward"] == 0.6
    forged = {**held_out["definition"], "dense": True}
    assert session.play(forged, [GIVE_UP])["reward"] == 0.0


def test_two_sessions_at_once_do_not_see_each_others_notes(client: Client, tasks: list[Task]) -> None:
    task = by_id(tasks, "drop_1")
    log_in = task["reference_actions"][0]
    write = 'apis.simple_note.create_note(title="Only here", content="", access_token=token)'
    with client.session(MINI) as one, client.session(MINI) as other:
        for session in (one, other):
            session.reset(task=task["definition"], seed=0)
            session.step(log_in)
        one.step(python(write))
        assert "Only here" in said(one.step(python(f"print({NOTES})")))
        assert "Only here" not in said(other.step(python(f"print({NOTES})")))
        with client.session(MINI) as third:
            refused = third.receive()
            assert refused["data"]["code"] == "CAPACITY_REACHED"


def test_the_same_actions_show_the_same_in_a_used_process_and_in_another(
    client: Client, tasks: list[Task]
) -> None:
    task = by_id(tasks, "total_1")

    def observations(session: Session) -> list[str]:
        session.reset(task=task["definition"], seed=0)
        return [
            said(session.step(action)) for action in [*task["reference_actions"][:-1], python("print(apis)")]
        ]

    with client.session(MINI) as one, client.session(MINI) as other:
        assert observations(one) == observations(one) == observations(other)


def test_what_an_attempt_changes_in_the_engine_does_not_reach_the_next(
    session: Session, tasks: list[Task]
) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    session.step(
        python("import json", "import appworld.evaluator", "json.dumps = None", "json.mark = 'left'")
    )
    session.step(python("appworld.evaluator.TestTracker.success = True"))
    ended = session.play(
        tasks[0]["definition"], [python("import json", "print(hasattr(json, 'mark'))"), GIVE_UP]
    )
    assert (ended["reward"], ended["metadata"]["success"]) == (0.0, False)


def test_a_policys_code_finds_no_credentials(
    client: Client, folder: Path, session: Session, tasks: list[Task]
) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    seen = said(session.step(python("import os", "print(sorted(os.environ.items()))")))
    assert "HOME" in seen
    assert SECRET not in seen
    assert TOKEN not in seen
    assert "MODEL_API_KEY" not in seen
    token = python(f"print(open({str(folder / 'token')!r}).read())")
    user = int(said(session.step(python("import os", "print(os.getuid())"))))
    if user != os.getuid():  # where the system allows another user
        assert TOKEN not in said(session.step(token))


def test_the_gold_is_not_in_the_childs_world_not_even_after_an_attempt(
    session: Session, tasks: list[Task]
) -> None:
    task = tasks[0]["definition"]
    session.play(task, [GIVE_UP])
    session.reset(task=task, seed=0)
    folder = f'os.path.join(os.environ["APPWORLD_ROOT"], "data", "tasks", "{task["task"]}")'
    look = f'print([os.path.exists({folder} + name) for name in ("/specs.json", "/ground_truth")])'
    seen = said(session.step(python("import os, json", look)))
    assert json.loads(seen) == [True, False]


def test_a_block_without_an_end_is_stopped_and_the_episode_goes_on(
    session: Session, tasks: list[Task]
) -> None:
    task = by_id(tasks, "count_1")
    session.reset(task=task["definition"], seed=0)
    assert "timed out after 2 seconds" in said(session.step(python("while True:", "    pass")))
    *_, ended = [session.step(action) for action in task["reference_actions"]]
    assert ended["data"]["reward"] == 1.0


def test_a_block_that_will_not_be_stopped_is_a_fault_and_no_reward(
    session: Session, tasks: list[Task]
) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    spin = ["    while True:", "        pass"]
    failed = session.step(python("try:", *spin, "except BaseException:", *spin))
    assert (failed["type"], failed["data"]["code"]) == ("error", "EXECUTION_ERROR")
    assert "reward" not in failed["data"]
    again = session.play(tasks[0]["definition"], tasks[0]["reference_actions"])
    assert again["reward"] == 1.0


def test_a_block_gets_no_more_memory_than_the_bound(session: Session, tasks: list[Task]) -> None:
    task = by_id(tasks, "count_2")
    session.reset(task=task["definition"], seed=0)
    assert "MemoryError" in said(session.step(python("hoard = bytearray(2**31)")))
    *_, ended = [session.step(action) for action in task["reference_actions"]]
    assert ended["data"]["reward"] == 1.0


def test_text_without_code_spends_a_step_and_the_last_step_is_judged(
    client: Client, session: Session
) -> None:
    task = by_id(draw(client, "train", max_steps=2), "drop_3")
    session.reset(task=task["definition"], seed=0)
    assert said(session.step("I will delete the note.")).startswith("No code was found")
    ended = session.step(python("print(1)") + "\n" + python("apis.supervisor.complete_task()"))
    assert said(ended) == "1"  # the second block was imagined before the first had run
    assert ended["data"]["metadata"]["stop_reason"] == "step-limit"
    assert ended["data"]["reward"] == 0.0


def test_long_output_is_cut(session: Session, tasks: list[Task]) -> None:
    session.reset(task=tasks[0]["definition"], seed=0)
    seen = said(session.step(python('print("x" * 10_000)')))
    assert len(seen) < 6_100
    assert seen.endswith("... 4000 more characters")


def test_appworld_plays_data_in_the_published_layout(
    folder: Path, serve: Serve, tmp_path: Path, tasks: list[Task]
) -> None:
    """Our own world laid out as `appworld download data` lays out AppWorld's."""
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
    client = serve(*settings(tmp_path, appworld=f"root: {root}, pool: 1"))
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


def test_appworld_without_data_names_the_command_that_downloads_it(serve: Serve) -> None:
    health = serve("--state", "/nonexistent").http.get("/health").json()
    assert "coevolve env install appworld" in health["unavailable"]["appworld"]
