"""Metrics, curves, categories, orders and looks of whole analyses."""

from typing import Any

import numpy as np
import pytest

from coevolve_statistics.analysis import analyze
from coevolve_statistics.validity import hash_of_tests
from tables import Input, analysis_input, cell, constant, contrast, score

LOW = [0.40, 0.44, 0.38, 0.42, 0.46, 0.41, 0.43, 0.39]
HIGH = [0.50, 0.55, 0.49, 0.52, 0.54, 0.52, 0.53, 0.50]
TOP = [0.61, 0.64, 0.60, 0.66, 0.63, 0.65, 0.62, 0.60]


def output(value: Input) -> Any:
    return analyze(value)


def curved(curves: dict[str, list[list[tuple[float, float]]]], **changes: Any) -> Input:
    """An input from (trained tokens, success) by arm, seed and checkpoint, with 100 tasks each."""
    empty: dict[str, list[list[float]]] = {arm: [[] for _ in seeds] for arm, seeds in curves.items()}
    cells, scores = [], []
    for arm, seeds in curves.items():
        for seed, points in enumerate(seeds, start=1):
            rows = [{"checkpoint": n, "effort": {"trainedTokens": x}} for n, (x, _) in enumerate(points)]
            cells.append(cell(arm, seed, checkpoints=rows))
            for n, (_, y) in enumerate(points):
                scores += [
                    score(arm, seed, f"t{task:04}", float(task < round(100 * y)), n) for task in range(100)
                ]
    match = {"equal": [], "within": {"trainedTokens": 0.2}}
    return {**analysis_input(empty), "cells": cells, "scores": scores, "match": match, **changes}


def test_a_feature_in_the_metric_selects_tasks() -> None:
    value = analysis_input({"a": constant(LOW), "b": constant(HIGH)}, metric="success@pattern=join")
    found = output(value)
    assert found["arms"][0]["tasks"] == 20  # tasks that end in 0 or 5
    assert found["arms"][0]["values"][0]["value"] == pytest.approx(8 / 20)
    missing = output({**value, "metric": "success@pattern=union"})["contrasts"][0]
    assert missing["reasons"] == ["seed 1: no test task has pattern=union"]


def attempted(arm: str, solved: list[list[int]], attempts: int) -> list[Input]:
    """Scores from the solving attempts by seed and task."""
    return [
        {**score(arm, seed, f"t{task:04}", count / attempts), "attempts": attempts}
        for seed, counts in enumerate(solved, start=1)
        for task, count in enumerate(counts)
    ]


def test_pass_at_k_is_the_unbiased_estimate_of_each_task() -> None:
    solved = {"a": [[0, 1, 2, 3], [1, 1, 1, 1]], "b": [[3, 1, 2, 3], [2, 1, 3, 3]]}
    value = analysis_input({"a": [[0.0] * 4] * 2, "b": [[0.0] * 4] * 2}, metric="pass@2")
    value["scores"] = [row for arm, counts in solved.items() for row in attempted(arm, counts, 3)]
    found = output(value)
    by_count = {0: 0.0, 1: 2 / 3, 2: 1.0, 3: 1.0}  # of 3 pairs of attempts, 0, 2, 3 and 3 have a solving one
    assert found["arms"][0]["values"][0]["value"] == pytest.approx((0 + 2 / 3 + 1 + 1) / 4)
    assert found["arms"][1]["values"][1]["value"] == pytest.approx(
        sum(by_count[count] for count in [2, 1, 3, 3]) / 4
    )
    once, success = (output({**value, "metric": metric})["arms"][0] for metric in ("pass@1", "success"))
    assert once["mean"] == pytest.approx(success["mean"])


def test_a_task_with_fewer_attempts_than_k_makes_its_contrast_invalid() -> None:
    value = analysis_input({"a": [[1.0, 0.0]] * 2, "b": [[1.0, 1.0]] * 2}, metric="pass@2")
    value["scores"] = [{**row, "attempts": 2} for row in value["scores"]]
    assert output(value)["contrasts"][0]["verdict"] == "inconclusive"
    value["scores"][-1]["attempts"] = 1
    contrast_row = output(value)["contrasts"][0]
    assert contrast_row["verdict"] == "invalid"
    assert (
        "cell b-s2: a test task has fewer than 2 scored attempts, which pass@2 needs"
        in contrast_row["reasons"]
    )


def test_a_number_as_a_feature_is_selected_by_its_digits() -> None:
    value = analysis_input({"a": constant(LOW), "b": constant(HIGH)}, metric="reward@difficulty=2")
    assert output(value)["arms"][0]["tasks"] == 100


def test_an_area_uses_the_range_of_effort_that_both_arms_share() -> None:
    rising = [(0, 0.42), (120e3, 0.47), (260e3, 0.52), (400e3, 0.54)]  # area 0.3 x .445 + .35 x (.495 + .53)
    lines = [[(0, 0.40), (440e3, end)] for end in (0.62, 0.64)]  # the first has 0.60 at 400k
    found = output(curved({"a": [rising] * 2, "b": lines}, metric="aulc(trainedTokens)"))
    assert found["arms"][0]["values"][0]["value"] == pytest.approx(0.49225)
    assert found["contrasts"][0]["differences"][0]["value"] == pytest.approx(0.5 - 0.49225)


def test_an_area_over_effort_that_never_grows_is_invalid() -> None:
    flat = [(0.0, 0.4), (0.0, 0.5)]
    found = output(curved({"a": [flat] * 2, "b": [flat] * 2}, metric="aulc(trainedTokens)"))["contrasts"][0]
    assert found["reasons"] == ["the learning curves share no range of trainedTokens, or lack it"]


def test_a_curve_has_a_point_for_each_checkpoint_that_all_seeds_have() -> None:
    long, short = [(1e3, 0.4), (2e3, 0.5), (3e3, 0.6)], [(1e3, 0.44), (3e3, 0.52)]
    found = output(curved({"a": [long, short], "b": [short, short]}))["curves"]
    points = [(row["arm"], row["checkpoint"], round(row["mean"], 3)) for row in found]
    assert points == [("a", 0, 0.42), ("a", 1, 0.51), ("b", 0, 0.44), ("b", 1, 0.52)]


def test_a_breakdown_has_the_mean_difference_of_each_category() -> None:
    value = analysis_input({"a": constant(LOW), "b": constant(HIGH)}, breakdown=["pattern"])
    rows = output(value)["breakdown"]
    assert [(row["value"], row["tasks"]) for row in rows] == [("having", 80), ("join", 20)]
    whole = output(value)["contrasts"][0]["difference"]
    assert 0.8 * rows[0]["difference"] + 0.2 * rows[1]["difference"] == pytest.approx(whole)


def test_won_and_lost_tasks_are_counted_for_each_seed() -> None:
    a = [[1.0] * 40 + [0.0] * 60, [1.0] * 50 + [0.0] * 50]
    b = [[0.0] * 13 + [1.0] * 67 + [0.0] * 20, [1.0] * 50 + [0.0] * 50]
    rows = output(analysis_input({"a": a, "b": b}))["wonAndLost"]
    assert [(row["seed"], row["won"], row["lost"]) for row in rows] == [(1, 40, 13), (2, 0, 0)]
    assert rows[0]["p"] == pytest.approx(0.0002685401188191605)
    assert rows[1]["p"] == 1


def test_a_chain_of_significant_steps_is_claimed_and_a_step_down_is_not() -> None:
    arms = {"a": constant(LOW), "b": constant(HIGH), "c": constant(TOP)}
    upwards = output(analysis_input(arms, ordering=["a", "b", "c"]))["ordering"]
    assert upwards["chain"]
    assert [step["contrast"] for step in upwards["adjacent"]] == ["b - a", "c - b"]
    assert upwards["page"]["p"] == pytest.approx(6**-8, rel=1e-9)
    downwards = output(analysis_input(arms, ordering=["a", "c", "b"]))["ordering"]
    assert (downwards["chain"], downwards["page"]["p"] < 0.05) == (False, True)


def test_an_order_with_a_missing_cell_has_no_trend() -> None:
    value = analysis_input(
        {"a": constant(LOW), "b": constant(HIGH), "c": constant(TOP)}, ordering=["a", "b", "c"]
    )
    value["cells"][-1] |= {"status": "missing", "reason": "stopped"}
    found = output(value)["ordering"]
    assert (found["chain"], found["page"], found["adjacent"][1]["p"]) == (False, None, None)


def test_the_first_of_two_looks_has_a_lower_level_and_a_conditional_power() -> None:
    random = np.random.default_rng(2)
    control, better = random.normal(0.42, 0.02, 8), random.normal(0.45, 0.03, 8)
    arms = {"a": constant(control.tolist()), "b": constant(better.tolist())}
    once, first = output(analysis_input(arms)), output(analysis_input(arms, looks=[8, 16]))
    widths = [each["contrasts"][0]["high"] - each["contrasts"][0]["low"] for each in (once, first)]
    assert widths[1] > widths[0]
    assert once["conditionalPower"] is None
    assert 0 < first["conditionalPower"] < 1
    assert (
        output(analysis_input({"a": constant(LOW), "b": constant(TOP)}, looks=[8, 16]))["conditionalPower"]
        == 1
    )


def test_power_is_given_for_differences_up_to_twice_the_margin() -> None:
    rows = output(analysis_input({"a": constant(LOW), "b": constant(HIGH)}))["power"]
    assert {row["seeds"] for row in rows} == {8, 16}
    assert max(row["difference"] for row in rows) == pytest.approx(0.1)
    eight = [row["power"] for row in rows if row["seeds"] == 8]
    assert eight == sorted(eight)


def test_secondary_contrasts_plan_with_the_strictest_step_of_their_family() -> None:
    arms = {"a": constant(LOW), "b": constant(HIGH), "c": constant(LOW[::-1])}
    alone = output(analysis_input(arms, secondary=[contrast("b", "a")]))["contrasts"]
    family = output(analysis_input(arms, secondary=[contrast("b", "a"), contrast("c", "a")]))["contrasts"]
    assert alone[0]["detectable"] == alone[1]["detectable"]
    assert family[1]["detectable"] > alone[1]["detectable"]


def test_a_policy_that_ends_below_half_of_its_start_has_collapsed() -> None:
    curves = {
        "none": [[(0.0, 0.6), (100.0, 0.62)], [(0.0, 0.6), (100.0, 0.31)]],
        "eto": [[(0.0, 0.6), (100.0, 0.7)], [(0.0, 0.6), (100.0, 0.0)]],
        "weak": [[(0.0, 0.04), (100.0, 0.0)], [(0.0, 0.04), (100.0, 0.1)]],
    }
    arms = output(curved(curves))["arms"]
    assert [(arm["arm"], arm["collapsed"]) for arm in arms] == [("none", []), ("eto", [2]), ("weak", [])]


def renamed(value: Input, name: Any) -> Input:
    """Other names of the tasks, by seed and number."""
    scores = [{**row, "task": name(row["seed"], int(row["task"][1:]))} for row in value["scores"]]
    tests: dict[tuple[str, int], set[str]] = {}
    for row in scores:
        tests.setdefault((row["arm"], row["seed"]), set()).add(row["task"])
    cells = [
        {**each, "testHash": hash_of_tests(tests[(each["arm"], each["seed"])])} for each in value["cells"]
    ]
    return {**value, "cells": cells, "scores": scores}


def test_the_two_way_interval_is_the_paired_one_where_seeds_share_no_task() -> None:
    alike = analysis_input({"a": constant(LOW), "b": constant(HIGH)})
    found = output(renamed(alike, lambda seed, task: f"{seed}-{task}"))["contrasts"][0]
    assert (found["twoWayLow"], found["twoWayHigh"]) == pytest.approx((found["low"], found["high"]))
    assert found["twoWayError"] == pytest.approx(found["sd"] / np.sqrt(8))
    assert found["sharedTasks"] == 0


def test_the_two_way_interval_is_wider_where_seeds_share_tasks_and_the_verdict_stays() -> None:
    alike = analysis_input({"a": constant(LOW), "b": constant(HIGH)})
    half = renamed(alike, lambda seed, task: f"{seed if task % 2 else 'all'}-{task}")
    found = output(half)["contrasts"][0]
    assert found["sharedTasks"] == pytest.approx(0.5)
    assert found["twoWayLow"] < found["low"] < found["high"] < found["twoWayHigh"]
    assert (found["verdict"], found["p"]) == ("better", output(alike)["contrasts"][0]["p"])


def test_changed_answers_are_those_that_either_arm_alone_solves_whichever_way() -> None:
    table = analysis_input({"none": [[1, 0, 1, 0], [1, 1, 1, 1]], "signals": [[0, 1, 1, 0], [1, 1, 1, 0]]})
    assert analyze(table)["contrasts"][0]["changed"] == pytest.approx((2 / 4 + 1 / 4) / 2)


def test_one_seed_or_one_task_has_no_two_way_interval() -> None:
    one = output(analysis_input({"a": constant([0.4]), "b": constant([0.5])}))["contrasts"][0]
    assert [one[key] for key in ("twoWayError", "twoWayLow", "sharedTasks")] == [None, None, None]
    single = output(analysis_input({"a": [[0.0], [0.0]], "b": [[1.0], [0.0]]}))["contrasts"][0]
    assert [single[key] for key in ("twoWayError", "twoWayLow", "sharedTasks")] == [None, None, 1]


def test_tasks_that_balance_each_other_leave_the_paired_error() -> None:
    """The sum is negative: what one seed wins at a task, the other loses there."""
    value = analysis_input({"a": [[0.0, 0.5], [0.5, 0.0]], "b": [[1.0, 0.0], [0.0, 0.5]]})
    assert output(value)["contrasts"][0]["twoWayError"] == pytest.approx(0.125)  # of the seeds: 0.25 and 0


def test_the_two_way_error_of_an_area_is_made_of_the_areas_of_its_tasks() -> None:
    """The curves of all tasks are the same but for their end: the area has half of its differences."""
    lines = [[(0, 0.4), (400e3, end)] for end in LOW]
    others = [[(0, 0.4), (400e3, end)] for end in HIGH]
    area = output(curved({"a": lines, "b": others}, metric="aulc(trainedTokens)"))["contrasts"][0]
    end = output(curved({"a": lines, "b": others}))["contrasts"][0]
    assert area["twoWayError"] == pytest.approx(end["twoWayError"] / 2)
