"""warehouse through the server: graded rewards that change no task, no action and no success."""

from collections import Counter
from typing import Any

import pytest

from conftest import Client

NAME = "warehouse"


def draw(client: Client, split: str, count: int, seed: int = 3, **options: Any) -> list[dict[str, Any]]:
    return client.draw(NAME, split, count, seed, **options)


def with_wrong_shelf(actions: list[str], step: int) -> list[str]:
    """The gold with another shelf in one action, from which on nothing else is played."""
    wrong = "H" if not actions[step].endswith("H") else "A"
    return [*actions[:step], f"{actions[step][:-1]}{wrong}"]


def rewards_of_failures(client: Client, task: dict[str, Any]) -> list[float]:
    gold = task["reference_actions"]
    with client.session(NAME) as session:
        ended = [session.play(task["definition"], with_wrong_shelf(gold, step)) for step in range(len(gold))]
    assert all(data["done"] and not data["metadata"]["success"] for data in ended)
    return [data["reward"] for data in ended]


@pytest.mark.parametrize("split", ["train", "held-out"])
def test_gold_has_reward_1_in_hundreds_of_tasks(server: Client, split: str) -> None:
    tasks = draw(server, split, 300)
    assert len(tasks) == 300
    assert {task["features"]["pattern"] for task in tasks} == {f"moved-{n}" for n in range(4)}
    with server.session(NAME) as session:
        for task in tasks:
            data = session.play(task["definition"], task["reference_actions"])
            assert (data["done"], data["reward"], data["metadata"]["success"]) == (True, 1.0, True)


@pytest.mark.parametrize(
    ("subgoals", "expected"),
    [
        (1, [0, 0, 0, 0, 0]),
        (2, [0, 0, 0, 0.5, 0.5]),
        (3, [0, 0, 1 / 3, 1 / 3, 2 / 3]),
        (5, [0, 0.2, 0.4, 0.6, 0.8]),
    ],
)
def test_failures_outrank_each_other_from_two_sub_goals_on(
    server: Client, subgoals: int, expected: list[float]
) -> None:
    task = draw(server, "train", 1, subgoals=subgoals)[0]
    assert rewards_of_failures(server, task) == pytest.approx(expected)


def test_the_number_of_sub_goals_changes_only_the_definition(server: Client) -> None:
    binary, graded = (draw(server, "train", 200, subgoals=subgoals) for subgoals in (1, 5))
    assert [task["content_key"] for task in binary] == [task["content_key"] for task in graded]
    assert [{**task, "definition": None} for task in binary] == [
        {**task, "definition": None} for task in graded
    ]
    assert {task["definition"]["subgoals"] for task in graded} == {5}


def test_no_task_is_in_both_splits_and_a_seed_repeats_its_draw(server: Client) -> None:
    train, held_out = draw(server, "train", 1500), draw(server, "held-out", 700)
    assert (len(train), len(held_out)) == (1500, 700)
    assert not {task["content_key"] for task in train} & {task["content_key"] for task in held_out}
    assert draw(server, "train", 1500) == train
    assert draw(server, "train", 100) == train[:100]
    assert draw(server, "train", 100, seed=4) != train[:100]


def test_an_unreadable_action_costs_a_turn_and_the_limit_ends_the_attempt(server: Client) -> None:
    task = draw(server, "train", 1)[0]
    gold = task["reference_actions"]
    with server.session(NAME) as session:
        slow = session.play(
            task["definition"], ["look", gold[0], "Thought: hm.\nAction: " + gold[1], *gold[2:]]
        )
        assert slow["reward"] == 1.0
        idle = session.play(task["definition"], [gold[0], *["look"] * 9])
    assert (idle["done"], idle["reward"]) == (True, 0.2)
    assert idle["metadata"]["stop_reason"] == "turn-limit"


@pytest.mark.parametrize(
    ("options", "named"),
    [({"subgoals": 6}, "options.subgoals"), ({"picks": 9}, "options.picks"), ({"items": 2}, "'items'")],
)
def test_an_invalid_option_is_refused_by_name(server: Client, options: dict[str, Any], named: str) -> None:
    body = {"split": "train", "count": 1, "seed": 1, "options": options}
    refused = server.http.post(f"/envs/{NAME}/data/tasks", json=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


@pytest.mark.parametrize("change", [{"order": ["unicorn"]}, {"subgoals": 0}, {"moved": []}, {"order": []}])
def test_an_invalid_definition_is_refused(server: Client, change: dict[str, Any]) -> None:
    definition = {**draw(server, "train", 1)[0]["definition"], **change}
    with server.session(NAME) as session:
        assert session.reset(task=definition)["data"]["code"] == "VALIDATION_ERROR"


def variants(
    client: Client,
    parents: list[dict[str, Any]],
    relation: str,
    count: int = 40,
    seed: int = 5,
    **options: Any,
) -> list[dict[str, Any]]:
    body = {
        **{"parents": [parent["definition"] for parent in parents], "relation": relation},
        **{"count": count, "seed": seed, "options": {"picks": 5, "subgoals": 2, **options}},
    }
    response = client.http.post(f"/envs/{NAME}/data/variants", json=body)
    assert response.status_code == 200, response.text
    return list(response.json()["tasks"])


def moved_in(task: dict[str, Any]) -> int:
    return len(set(task["definition"]["order"]) & set(task["definition"]["moved"]))


@pytest.mark.parametrize("relation", ["neighbour", "easier", "harder", "random"])
def test_variants_are_new_tasks_that_their_gold_solves(server: Client, relation: str) -> None:
    parents = draw(server, "train", 8)
    made = variants(server, parents, relation)
    assert len({task["content_key"] for task in made} | {task["content_key"] for task in parents}) == 48
    assert {task["split"] for task in made} == {"train"}
    assert variants(server, parents, relation) == made
    assert variants(server, parents, relation, seed=6) != made
    assert variants(server, parents, relation, count=3) == made[:3]
    with server.session(NAME) as session:
        for task in made:
            assert session.play(task["definition"], task["reference_actions"])["reward"] == 1.0


def test_a_variant_has_the_relation_to_its_parent(server: Client) -> None:
    parents = draw(server, "train", 30, subgoals=3)
    for relation, step in [("neighbour", 0), ("easier", -1), ("harder", 1)]:
        made = variants(server, parents, relation, count=60)
        assert {moved_in(parents[task["parent"]]) for task in made} == {
            number for number in range(4) if 0 <= number + step <= 3
        }
        for task in made:
            parent = parents[task["parent"]]
            assert moved_in(task) == moved_in(parent) + step
            assert task["definition"]["subgoals"] == 3
            same_items = set(task["definition"]["order"]) == set(parent["definition"]["order"])
            assert same_items is (relation == "neighbour")
    assert {task["parent"] for task in variants(server, parents, "random")} == {None}


def shares(tasks: list[dict[str, Any]]) -> dict[str, float]:
    counts = Counter(task["features"]["pattern"] for task in tasks)
    return {pattern: count / len(tasks) for pattern, count in counts.items()}


def test_weights_choose_how_many_items_were_moved_in_each_draw(server: Client) -> None:
    mix = {"train": {"moved-0": 6, "moved-1": 3, "moved-3": 1}, "proposal": {"moved-2": 1}}
    seeds = draw(server, "train", 400, mix=mix)
    assert shares(seeds) == pytest.approx({"moved-0": 0.6, "moved-1": 0.3, "moved-3": 0.1}, abs=0.01)
    assert draw(server, "train", 100, mix=mix) == seeds[:100]
    assert shares(variants(server, seeds[:20], "random", mix=mix)) == {"moved-2": 1}
    for relation in ("neighbour", "easier", "harder"):
        skewed = variants(server, seeds[:20], relation, mix=mix)
        assert skewed == variants(server, seeds[:20], relation)
    assert draw(server, "held-out", 100, mix=mix) == draw(server, "held-out", 100)
    uniform = draw(server, "held-out", 400, mix={"heldOut": {f"moved-{n}": 1 for n in range(4)}})
    assert set(shares(uniform).values()) == {0.25}
    assert not {task["content_key"] for task in seeds} & {task["content_key"] for task in uniform}


def test_a_weight_of_a_pattern_that_no_order_has_is_refused(server: Client) -> None:
    options = {"picks": 2, "mix": {"train": {"moved-3": 1}}}
    body = {"split": "train", "count": 5, "seed": 1, "options": options}
    response = server.http.post(f"/envs/{NAME}/data/tasks", json=body)
    assert response.status_code == 400
    assert "has a weight for 'moved-3'; known: moved-0, moved-1, moved-2" in response.text


@pytest.mark.parametrize(
    "spelling",
    [
        "```\n{}\n```",
        "`{}`",
        "Action: {}.",
        '{{"name": "act", "arguments": {{"action": "{}"}}}}',
    ],
)
def test_natural_spellings_are_picks(server: Client, spelling: str) -> None:
    [task] = draw(server, "train", 1)
    with server.session(NAME) as session:
        written = [spelling.format(action) for action in task["reference_actions"]]
        assert session.play(task["definition"], written)["reward"] == 1


@pytest.mark.parametrize("blank", ["  ", "\t", "\r ", "\x1f "])
def test_a_pick_with_other_blanks_than_single_spaces_is_unreadable(server: Client, blank: str) -> None:
    """Policies of the published experiments wrote such picks, and their cells must repeat."""
    [task] = draw(server, "train", 1)
    with server.session(NAME) as session:
        written = [action.replace(" from ", f" from{blank}") for action in task["reference_actions"]]
        assert session.play(task["definition"], [*written, *written])["reward"] == 0


def test_no_parents_have_no_related_variants(server: Client) -> None:
    body = {"parents": [], "relation": "harder", "count": 9, "seed": 1, "options": {}}
    assert server.http.post(f"/envs/{NAME}/data/variants", json=body).json()["tasks"] == []
