"""Verdicts of whole analyses: the rules of validity, equivalence, families and looks."""

import json
import random
from typing import Any

import pytest

from coevolve_statistics.analysis import analyze
from coevolve_statistics.validity import hash_of_tests
from tables import Input, analysis_input, cell, constant, contrast, names

LOW = [0.40, 0.44, 0.38, 0.42, 0.46, 0.41, 0.43, 0.39]
HIGH = [0.50, 0.55, 0.49, 0.52, 0.54, 0.52, 0.53, 0.50]
NEAR = [0.41, 0.44, 0.37, 0.43, 0.46, 0.40, 0.43, 0.40]
NOISY = [0.30, 0.60, 0.35, 0.52, 0.40, 0.55, 0.36, 0.48]


def primary(value: Input) -> Any:
    contrasts: Any = analyze(value)["contrasts"]
    return contrasts[0]


def with_cell(value: Input, arm: str, seed: int, **changes: Any) -> Input:
    cells = [
        {**each, **changes} if (each["arm"], each["seed"]) == (arm, seed) else each for each in value["cells"]
    ]
    return {**value, "cells": cells}


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (HIGH, "better"),
        ([0.30, 0.33, 0.29, 0.31, 0.35, 0.30, 0.32, 0.28], "worse"),
        (NEAR, "equivalent"),
        (NOISY, "inconclusive"),
    ],
)
def test_a_contrast_ends_in_the_verdict_of_its_differences(values: list[float], verdict: str) -> None:
    assert (
        primary(analysis_input({"random": constant(LOW), "signals": constant(values)}))["verdict"] == verdict
    )


def test_an_arm_against_itself_is_equivalent_because_identical() -> None:
    found = primary(analysis_input({"none": constant(LOW), "again": constant(LOW)}))
    assert (found["verdict"], found["p"]) == ("equivalent", 1)
    assert found["reasons"] == ["identical: the difference is 0 at every seed"]


def test_equal_differences_other_than_zero_have_no_p() -> None:
    shifted = [value + 0.05 for value in LOW]
    found = primary(analysis_input({"none": constant(LOW), "shifted": constant(shifted)}))
    assert (found["verdict"], found["p"], found["sd"]) == ("inconclusive", None, 0)
    assert (found["low"], found["high"]) == (None, None)  # an interval of width 0 would claim certainty
    assert found["reasons"] == ["the difference is 0.05 at every seed: without deviation there is no p"]


def test_one_seed_is_inconclusive_even_without_a_difference() -> None:
    assert primary(analysis_input({"a": constant([0.4]), "b": constant([0.4])}))["verdict"] == "inconclusive"


def test_an_inconclusive_contrast_names_what_its_seeds_detect_and_how_many_it_needs() -> None:
    found = primary(analysis_input({"random": constant(LOW), "signals": constant(NOISY)}))
    assert found["seedsNeeded"] > 8
    assert found["reasons"][1].startswith(
        f"8 seeds detect a difference of {found['detectable']:.3g} with 80 % power"
    )


def broken(name: str) -> Input:
    value = analysis_input({"random": constant(LOW), "signals": constant(HIGH)})
    others = [{"checkpoint": 2, "effort": {"updates": 500, "trainedTokens": 430_000}}]
    changes: dict[str, Input] = {
        "failed": {"status": "missing", "reason": "the trainer ran out of memory"},
        "leaked": {"leakedTasks": 3},
        "no hash": {"testHash": None},
        "copy": {"copyOf": "signals-s1"},
        "more tokens": {"checkpoints": others},
        "no updates": {"checkpoints": [{"checkpoint": 2, "effort": {"trainedTokens": 400_000}}]},
        "no scores": {
            "checkpoints": [{"checkpoint": 3, "effort": {"updates": 500, "trainedTokens": 400_000}}]
        },
    }
    if name in changes:
        return with_cell(value, "signals", 3, **changes[name])
    if name == "not played":
        return {
            **value,
            "cells": [each for each in value["cells"] if each != cell("signals", 3)],
            "scores": [each for each in value["scores"] if (each["arm"], each["seed"]) != ("signals", 3)],
        }
    if name == "fewer tasks":
        return {**value, "scores": [each for each in value["scores"] if each["task"] != "t0007"]}
    if name == "other tests":
        scores = [
            {**each, "task": "other"}
            if (each["arm"], each["seed"], each["task"]) == ("signals", 3, "t0007")
            else each
            for each in value["scores"]
        ]
        tests = [task for task in names(100) if task != "t0007"] + ["other"]
        return with_cell({**value, "scores": scores}, "signals", 3, testHash=hash_of_tests(tests))
    return {**value, "looks": [4, 16]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("failed", "cell signals-s3 is missing: the trainer ran out of memory"),
        ("not played", "cell signals-s3 is missing: it has not been played"),
        ("leaked", "cell signals-s3: 3 test tasks are also train tasks (leak)"),
        ("other tests", "seed 3: signals and random have different test sets (testHash)"),
        ("no hash", "cell signals-s3: its scores at checkpoint 2 are not those of its test set (testHash)"),
        (
            "fewer tasks",
            "cell signals-s1: its scores at checkpoint 2 are not those of its test set (testHash)",
        ),
        ("copy", "cell signals-s3 has the content hash of signals-s1: one is a copy"),
        ("no scores", "cell signals-s3 has no scores at its last checkpoint, 3"),
        ("more tokens", "effort: trainedTokens differs by 6.98% at seed 3, allowed 5.00% (within)"),
        ("no updates", "effort: updates is not recorded for every cell, so that its rule cannot be checked"),
        ("undeclared look", "8 seeds are no declared look; declared: 4 and 16"),
    ],
)
def test_a_broken_rule_makes_a_contrast_invalid_and_removes_its_numbers(name: str, reason: str) -> None:
    found = primary(broken(name))
    assert found["verdict"] == "invalid"
    assert found["reasons"][0] == reason
    numbers = ("difference", "low", "high", "p", "adjustedP", "signFlipP", "equivalenceP", "detectable")
    assert [found[number] for number in numbers] == [None] * len(numbers)
    assert found["differences"] == []


def test_an_undeclared_look_shows_effort_and_no_score() -> None:
    output = analyze(broken("undeclared look"))
    assert [output[part] for part in ("arms", "curves", "breakdown", "power", "wonAndLost")] == [[]] * 5
    assert len(output["effort"]) == 2


def test_the_effort_box_gives_the_largest_difference_of_each_rule() -> None:
    rows: Any = analyze(broken("more tokens"))["effort"]
    assert [(row["measure"], row["rule"], row["holds"]) for row in rows] == [
        ("updates", "equal", True),
        ("trainedTokens", "within", False),
    ]
    assert rows[1]["found"] == pytest.approx(30 / 430)


def test_a_missing_cell_leaves_the_other_contrasts_valid() -> None:
    value = analysis_input({"none": constant(LOW), "random": constant(LOW), "signals": constant(HIGH)})
    value = with_cell(value, "random", 3, status="missing", reason="stopped")
    value |= {"secondary": [contrast("signals", "none")]}
    contrasts: Any = analyze(value)["contrasts"]
    assert [each["verdict"] for each in contrasts] == ["invalid", "better"]


def test_a_contrast_without_p_still_counts_in_its_family() -> None:
    value = analysis_input({"none": constant(LOW), "random": constant(NOISY), "signals": constant(HIGH)})
    value |= {
        "secondary": [contrast("signals", "none"), contrast("signals", "random"), contrast("random", "none")]
    }
    value = with_cell(value, "random", 3, status="missing", reason="stopped")
    first: Any = analyze(value)["contrasts"][1]
    assert first["adjustedP"] == pytest.approx(3 * first["p"])


def test_a_broken_rule_of_a_cell_that_no_contrast_compares_is_named_and_spoils_nothing() -> None:
    value = analysis_input({"random": constant(LOW), "signals": constant(HIGH), "other": constant(LOW)})
    output: Any = analyze(with_cell(value, "other", 3, leakedTasks=2))
    assert output["contrasts"][0]["verdict"] == "better"
    leak = "cell other-s3: 2 test tasks are also train tasks (leak)"
    assert output["broken"] == [{"rule": "test set unseen", "contrast": None, "finding": leak}]


def test_looks_that_were_taken_and_are_not_declared_cost_their_share_of_alpha() -> None:
    value = analysis_input({"random": constant(LOW), "signals": constant(NOISY)})
    levels = [analyze({**value, "looksTaken": taken})["level"] for taken in ([], [1], [3], [3, 5])]
    assert levels == [0.05, 0.05, pytest.approx(0.0264, abs=1e-4), pytest.approx(0.05 / 3)]
    narrow, wide = (primary({**value, "looksTaken": taken}) for taken in ([], [3]))
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


def test_a_replica_that_differs_is_named_also_where_no_contrast_compares_it() -> None:
    value = analysis_input({"none": constant(LOW), "signals": constant(NEAR), "again": constant(HIGH)})
    arms = [
        {"name": arm, "replicaOf": "signals" if arm == "again" else None}
        for arm in ("none", "signals", "again")
    ]
    found: Any = analyze({**value, "arms": arms})["replicas"]
    assert [(row["arm"], row["of"], row["differs"]) for row in found] == [("again", "signals", True)]
    same = analysis_input({"none": constant(LOW), "signals": constant(NEAR), "again": constant(LOW)})
    unlike: Any = analyze({**same, "arms": arms})["replicas"]
    assert [row["differs"] for row in unlike] == [False]


def test_cells_that_score_every_task_alike_are_named_unless_all_or_none_are_solved() -> None:
    value = analysis_input({"a": constant([0.4, 0.4, 0, 1]), "b": constant([0.4, 0.5, 0, 1])})
    found: Any = analyze(value)["alike"]
    cells = [(row["arm"], row["seed"], row["otherArm"], row["otherSeed"]) for row in found]
    assert cells == [("a", 1, "a", 2), ("a", 1, "b", 1), ("a", 2, "b", 1)]


def test_the_order_of_rows_and_of_seeds_changes_no_bit_of_the_tests() -> None:
    value = analysis_input({"random": constant(NOISY), "signals": constant(HIGH)}, breakdown=["pattern"])
    shuffled = {
        key: random.Random(1).sample(rows, len(rows)) if key in ("cells", "scores") else rows
        for key, rows in value.items()
    }
    assert json.dumps(analyze(shuffled), sort_keys=True) == json.dumps(analyze(value), sort_keys=True)
    backwards = primary(analysis_input({"random": constant(NOISY[::-1]), "signals": constant(HIGH[::-1])}))
    found = primary(value)
    same = set(found) - {"differences"}
    assert {key: backwards[key] for key in same} == {key: found[key] for key in same}


def test_seeds_above_the_look_are_not_read() -> None:
    value = analysis_input({"random": constant(LOW), "signals": constant(HIGH)}, looks=[4, 8], look=4)
    short = analysis_input({"random": constant(LOW[:4]), "signals": constant(HIGH[:4])}, looks=[4, 8], look=4)
    assert analyze(value) == analyze(short)
