"""alfworld through the server: the real engine with our own kitchen in the layout of ALFWorld's data.

The problem is hand-written (kitchen/problem.pddl); rules and texts are the package's.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import TESTS, Client, Serve, Session, Task, hosted_arguments, start_server, stop_server, text_of
from hostile_texts import play_hostile_texts

NAME = "alfworld"
KITCHEN = TESTS / "kitchen" / "problem.pddl"
GOALS = {
    "train": ("pick_and_place_simple-Apple-None-Fridge-1", "put an apple in the fridge"),
    "valid_seen": ("pick_clean_then_place_in_recep-Apple-None-Fridge-1", "put an apple in the fridge"),
    "valid_unseen": ("pick_and_place_simple-Apple-None-Fridge-2", "put some apple in fridge"),
}
PLAN = [
    "go to countertop 1",
    "take apple 1 from countertop 1",
    "go to fridge 1",
    "open fridge 1",
    "move apple 1 to fridge 1",
]
ENGINE = Path(sys.prefix).with_name(".venv-alfworld")

pytestmark = pytest.mark.skipif(
    not ENGINE.is_dir(),
    reason="ALFWorld is not installed: `npm run setup -- --with alfworld`, with g++ and make",
)


def write_game(folder: Path, goal: str, **more: Any) -> None:
    (package,) = ENGINE.glob("lib/python3*/site-packages/alfworld")
    grammar = (package / "data" / "alfred.twl2").read_text().replace("UNKNOWN GOAL", goal)
    domain = (package / "data" / "alfred.pddl").read_text()
    game = {"pddl_domain": domain, "grammar": grammar, "pddl_problem": KITCHEN.read_text(), **more}
    folder.mkdir(parents=True)
    (folder / "game.tw-pddl").write_text(json.dumps(game))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alfworld")
    for subset, (room, goal) in GOALS.items():
        write_game(folder / "data" / "json_2.1.1" / subset / room / "trial_1", goal)
    recorded = ["go to fridge 1", "put apple 1 in/on fridge 1"]  # an outdated form of the command
    sets = folder / "data" / "json_2.1.1"
    write_game(
        sets / "train" / f"{GOALS['train'][0]}1" / "trial_2", "put an apple away", walkthrough=recorded
    )
    write_game(sets / "train" / "pick_and_place_simple-AppleSliced-None-Fridge-1" / "trial_3", "no")
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    client = start_server(folder, *hosted_arguments(folder, NAME, data="data", pool=2))
    yield client
    stop_server(client)


def draw(client: Client, split: str, **options: Any) -> list[Task]:
    return client.draw(NAME, split, 10, **options)


@pytest.fixture(scope="module")
def task(client: Client) -> Task:
    return next(task for task in draw(client, "train") if "trial_1" in task["task_id"])


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    with client.session(NAME) as session:
        yield session


def test_a_composed_task_is_checked_by_the_facts_of_the_game(client: Client) -> None:
    parent = draw(client, "train")[0]
    query = "take the apple and leave the fridge open"
    actions = [*PLAN[:4], "look"]
    body = {"parent": parent["definition"], "query": query, "actions": actions, "options": {}}
    task = client.post(f"/envs/{NAME}/data/compose", **body)["task"]
    assert (task["grader"], task["reference_actions"][-1]) == ("environment", "finish[]")
    with client.session(NAME) as session:
        opened = text_of(session.reset(task=task["definition"], seed=0))
        assert f"Your task is to: {query}" in opened
        assert "in the fridge" not in opened
        other_way = ["go to fridge 1", "open fridge 1", *PLAN[:2], "inventory", "finish[]"]
        assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0
        assert session.play(task["definition"], other_way)["reward"] == 1.0
        assert session.play(task["definition"], [*PLAN, "finish[]"])["reward"] == 0.0
        back = [*PLAN, "take apple 1 from fridge 1", "finish[]"]  # the parent's goal ends nothing
        assert session.play(task["definition"], back)["reward"] == 1.0


def test_the_kitchen_is_won_by_the_planners_five_steps(session: Session, task: Task) -> None:
    assert task["reference_actions"] == PLAN
    assert task["goal"] == "put an apple in the fridge."
    assert task["features"]["pattern"] == "pick_and_place_simple"
    ended = session.play(task["definition"], PLAN)
    assert (ended["reward"], ended["done"], ended["metadata"]["success"]) == (1.0, True, True)


def test_a_walkthrough_that_does_not_win_is_replaced_by_a_plan(client: Client) -> None:
    (task,) = (task for task in draw(client, "train") if "trial_2" in task["task_id"])
    assert task["reference_actions"] == PLAN


def test_unsupported_games_are_omitted(client: Client) -> None:
    assert len(draw(client, "train")) == 2


def test_the_held_out_games_are_the_seen_or_the_unseen_rooms(client: Client) -> None:
    (seen,) = draw(client, "held-out")
    (unseen,) = draw(client, "held-out", held_out="unseen")
    assert [task["features"]["set"] for task in (seen, unseen)] == ["seen", "unseen"]
    assert draw(client, "train", types=["look_at_obj_in_light"]) == []


def test_an_unsolved_kitchen_scores_0_at_the_step_limit(session: Session, client: Client) -> None:
    task = draw(client, "train", max_turns=3)[0]
    ended = session.play(task["definition"], ["look", "inventory", "fly to the moon"])
    assert (ended["reward"], ended["done"]) == (0.0, True)
    assert ended["metadata"]["stop_reason"] == "turn-limit"
    assert ended["metadata"]["error_type"] == "no-such-action"


def test_the_limit_is_40_steps_and_an_action_may_follow_a_thought(session: Session, task: Task) -> None:
    session.reset(task=task["definition"], seed=0)
    answers = [
        session.step(f"Thought: what is here?\nAction: {['look', 'inventory'][i % 2]}") for i in range(40)
    ]
    assert [answer["data"]["done"] for answer in answers] == [False] * 39 + [True]
    assert answers[-1]["data"]["reward"] == 0.0


def test_the_same_actions_return_the_same_in_a_used_process_and_in_another(
    client: Client, task: Task
) -> None:
    def transcript(session: Session) -> list[Any]:
        actions = ["look", "go to sinkbasin 1", "examine mug 1", *PLAN]
        return [session.reset(task=task["definition"], seed=0), *map(session.step, actions)]

    with client.session(NAME) as one, client.session(NAME) as other:
        assert transcript(one) == transcript(one) == transcript(other)


def test_concurrent_sessions_move_separate_apples(client: Client, task: Task) -> None:
    with client.session(NAME) as one, client.session(NAME) as other:
        for session in (one, other):
            session.reset(task=task["definition"], seed=0)
        for action in PLAN[:2]:
            one.step(action)
        other.step(PLAN[0])
        seen = other.step("examine countertop 1")["data"]["observation"]["messages"][0]["content"]
        assert seen.endswith("you see a apple 1.")
        for action in PLAN[2:]:
            ended = one.step(action)
        assert ended["data"]["reward"] == 1.0


def test_a_game_outside_the_folder_is_refused(session: Session, task: Task) -> None:
    forged = {**task["definition"], "game": "../../secrets"}
    refused = session.reset(task=forged, seed=0)
    assert refused["data"]["code"] == "VALIDATION_ERROR"


def test_missing_games_name_the_setting(serve: Serve) -> None:
    health = serve().http.get("/health").json()
    assert "hosted.alfworld.data" in health["unavailable"][NAME]


def test_a_text_of_any_form_is_never_a_fault(session: Session, task: Task) -> None:
    play_hostile_texts(session, task["definition"])
