"""Train and held-out entries of BFCL's splits, and dense rewards for train tasks only."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry
from coevolve_environments.plugins.bfcl.splits import read_split
from coevolve_environments.protocol import BadRequest
from conftest import Client, Serve

BFCL = "/envs/bfcl"


def draw(client: Client, side: str, /, **options: Any) -> list[dict[str, Any]]:
    return client.draw("bfcl", side, 1000, **options)


def ids(tasks: list[dict[str, Any]]) -> set[str]:
    return {task["task_id"] for task in tasks}


@pytest.mark.parametrize(
    ("options", "train", "held_out"),
    [
        ({"split": "agentevolver"}, 100, 100),
        ({"split": "seal"}, 400, 400),
        ({"split": "seal", "categories": ["miss_param", "base"]}, 200, 200),
        ({"split": "custom", "train": 0.25}, 200, 600),
        ({"split": "custom", "train": [0, 10], "held_out": [190, 200], "categories": ["base"]}, 10, 10),
        ({}, 400, 400),
    ],
)
def test_a_split_has_its_sizes_and_no_overlap(
    server: Client, options: dict[str, Any], train: int, held_out: int
) -> None:
    sides = draw(server, "train", **options), draw(server, "held-out", **options)
    assert (len(sides[0]), len(sides[1])) == (train, held_out)
    assert not {task["content_key"] for task in sides[0]} & {task["content_key"] for task in sides[1]}
    for side, name in zip(sides, ("train", "held-out"), strict=True):
        assert {(task["split"], task["definition"]["split"]) for task in side} == {(name, name)}


def test_agentevolvers_split_halves_base_in_its_order(server: Client) -> None:
    tasks = draw(server, "held-out", split="agentevolver")
    assert ids(tasks) == {f"bfcl/base/{number:03d}" for number in range(100, 200)}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"split": "official"}, "'official'"),
        ({"split": "agentevolver", "categories": ["miss_func"]}, "'miss_func'"),
        ({"categories": ["single_turn"]}, "'single_turn'"),
        ({"split": "seal", "train": 0.5}, "options.train"),
        ({"split": "custom"}, "options.train"),
        ({"split": "custom", "train": 1.5}, "1.5"),
        ({"split": "custom", "train": [0, 200]}, "empty"),
        ({"split": "custom", "train": [0, 120], "held_out": [100, 200]}, "overlap"),
        ({"split": "custom", "train": [5, 201]}, "201"),
        ({"halves": 2}, "'halves'"),
    ],
)
def test_an_invalid_split_is_refused_with_its_value(
    server: Client, options: dict[str, Any], named: str
) -> None:
    body = {"split": "train", "count": 1, "seed": 1, "options": options}
    refused = server.http.post(f"{BFCL}/data/tasks", json=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


def test_held_out_tasks_are_never_dense_and_the_metadata_has_both_scores(server: Client) -> None:
    sides = {side: draw(server, side, split="agentevolver", dense=True) for side in ("train", "held-out")}
    assert {task["definition"]["dense"] for task in sides["train"]} == {True}
    assert {task["definition"]["dense"] for task in sides["held-out"]} == {False}
    with server.session("bfcl") as session:
        for side, tasks in sides.items():
            task = next(task for task in tasks if task["features"]["turns"] > 1)
            turns = task["features"]["turns"]
            first = task["reference_actions"].index("Done.") + 1
            moves = task["reference_actions"][:first] + ["Done."] * (turns - 1)
            forced = {**task["definition"], "dense": True}  # clients cannot make a held-out attempt dense
            last = session.play(forced, moves)
            assert last["reward"] == (pytest.approx(1 / turns) if side == "train" else 0.0)
            assert last["metadata"]["raw_score"] == 0.0
            assert last["metadata"]["dense_score"] == pytest.approx(1 / turns)


def test_an_old_definition_without_a_split_keeps_its_half(server: Client) -> None:
    with server.session("bfcl") as session:
        for entry, side in (("multi_turn_base_3", "train"), ("multi_turn_base_103", "held-out")):
            opened = session.reset(task={"task_id": "bfcl/old", "entry_id": entry, "dense": False})
            assert opened["data"]["observation"]["info"]["split"] == side


def test_the_public_routes_list_the_operators_split(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "environments.yaml"
    file.write_text("hosted: {bfcl: {split: agentevolver}}")
    client = serve("--environments", "bfcl", "--settings", str(file))
    for side in ("train", "held-out"):
        listed = client.post(f"{BFCL}/bfcl/tasks", split=side)["tasks"]
        assert ids(listed) == ids(draw(client, side))
        assert len(listed) == 100


bound = st.integers(-5, 210)
span = st.lists(bound, min_size=2, max_size=2)


@settings(derandomize=True, max_examples=300)
@given(train=span | st.floats(-1, 2), held_out=st.none() | span, number=st.integers(0, 199))
def test_no_custom_split_has_an_entry_in_both_splits(train: object, held_out: object, number: int) -> None:
    try:
        division = read_split({"split": "custom", "train": train, "held_out": held_out})
    except BadRequest:
        return
    assert len(division.train) > 0
    assert len(division.held_out) > 0
    assert not set(division.train) & set(division.held_out)
    sides = {division.side(Entry("x", name, number, [], [], {}, [], {})) for name in CATEGORIES}
    assert len(sides) == 1  # the categories share their scenarios
