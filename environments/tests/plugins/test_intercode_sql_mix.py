"""The option `mix` of intercode-sql: shares of the patterns in seed tasks, held-out tasks and proposals."""

from collections import Counter
from typing import Any

import pytest

from conftest import Client

SQL = "/envs/intercode-sql"
WEAK = (
    "join",
    "join-columns",
    "join-comparison",
    "two-conditions",
    "nested-average",
    "having",
    "most-common",
)
OTHER = ("column", "count", "distinct", "aggregate", "columns", "equality", "comparison", "order", "between")
FOUR = ["concert_singer", "singer", "employee_hire_evaluation", "orchestra"]


def region(weak: float, other: float) -> dict[str, float]:
    """Weights of a weak region and the rest, in equal parts within each."""
    return {name: weak / len(WEAK) for name in WEAK} | {name: other / len(OTHER) for name in OTHER}


def draw(client: Client, split: str, count: int, seed: int = 1, **options: Any) -> list[dict[str, Any]]:
    options = {"databases": FOUR, "max_difficulty": 4} | options
    return client.draw("intercode-sql", split, count, seed, **options)


def propose(client: Client, parents: list[dict[str, Any]], count: int, **mix: Any) -> list[dict[str, Any]]:
    body = {"parents": [parent["definition"] for parent in parents], "relation": "random", "count": count}
    options = {"databases": FOUR, "max_difficulty": 4, "mix": mix}
    return list(client.post(f"{SQL}/data/variants", **body, seed=5, options=options)["tasks"])


def patterns(tasks: list[dict[str, Any]]) -> Counter[str]:
    return Counter(task["features"]["pattern"] for task in tasks)


def in_weak_region(tasks: list[dict[str, Any]]) -> int:
    return sum(count for pattern, count in patterns(tasks).items() if pattern in WEAK)


def test_a_held_out_draw_is_stratified_by_its_weights(server: Client) -> None:
    """The weights are the wanted numbers: the four databases have only 5 held-out tasks of most-common."""
    weak = {"join": 80, "join-comparison": 55, "two-conditions": 55, "nested-average": 25}
    weak |= {"join-columns": 20, "having": 12, "most-common": 3}
    other = {"equality": 70, "comparison": 70, "like": 50, "between": 40, "aggregate-filter": 20}
    tasks = draw(server, "held-out", 500, mix={"heldOut": weak | other})
    assert patterns(tasks) == weak | other
    assert in_weak_region(tasks) == 250


@pytest.mark.parametrize("share", [0.28, 0.10, 0.02])
def test_seed_tasks_and_proposals_have_the_asked_shares_and_every_beginning_has_them(
    server: Client, share: float
) -> None:
    weights = region(share, 1 - share)
    seeds = draw(server, "train", 300, mix={"train": weights})
    proposed = propose(server, seeds, 200, proposal=weights)
    for tasks, count in ((seeds, 300), (seeds[:100], 100), (proposed, 200)):
        assert len(tasks) == count
        assert abs(in_weak_region(tasks) / count - share) < 0.04


def test_the_three_draws_have_weights_of_their_own(server: Client) -> None:
    mix = {"train": {"count": 1, "join": 3}, "proposal": {"order": 1}}
    seeds = draw(server, "train", 40, mix=mix)
    assert patterns(seeds) == {"count": 10, "join": 30}
    assert set(patterns(propose(server, seeds, 20, **mix))) == {"order"}
    assert draw(server, "held-out", 40, mix=mix) == draw(server, "held-out", 40)


def test_a_draw_by_weights_depends_on_its_seed_and_a_larger_one_starts_with_it(server: Client) -> None:
    mix = {"train": region(1, 3)}
    small = draw(server, "train", 60, mix=mix)
    reordered = {"train": dict(reversed(mix["train"].items()))}
    assert draw(server, "train", 120, mix=reordered)[:60] == small
    assert draw(server, "train", 60, seed=2, mix=mix) != small


def test_no_weights_move_a_task_across_the_splits(server: Client) -> None:
    mix = {"train": region(1, 1), "heldOut": region(9, 1)}
    skewed = draw(server, "train", 400, mix=mix)
    held_out = draw(server, "held-out", 300, mix=mix) + draw(server, "held-out", 300)
    skewed_keys = {task["content_key"] for task in skewed}
    assert len(skewed_keys) == 400
    assert not skewed_keys & {task["content_key"] for task in held_out}


def test_an_empty_pattern_leaves_its_share_to_the_others(server: Client) -> None:
    tasks = draw(server, "train", 60, databases=["singer"], mix={"train": {"count": 9, "equality": 1}})
    assert len(tasks) > patterns(tasks)["count"]
    assert len({task["content_key"] for task in tasks}) == len(tasks)


@pytest.mark.parametrize("relation", ["neighbour", "easier", "harder"])
def test_weights_of_proposals_change_no_other_relation(server: Client, relation: str) -> None:
    parents = [task["definition"] for task in draw(server, "train", 20)]
    options = {"databases": FOUR, "max_difficulty": 4}
    body = {"parents": parents, "relation": relation, "count": 20, "seed": 5}
    skewed = options | {"mix": {"proposal": {"count": 1}}}
    assert server.post(f"{SQL}/data/variants", **body, options=skewed) == server.post(
        f"{SQL}/data/variants", **body, options=options
    )


@pytest.mark.parametrize(
    ("mix", "named"),
    [
        ([], "`options.mix` must be an object with train, heldOut, proposal"),
        ({"held_out": {"join": 1}}, "unknown option 'held_out'; known: heldOut, proposal, train"),
        ({"train": {"joins": 1}}, "`options.mix.train` has a weight for 'joins'; known: column, count,"),
        ({"train": {"join": -1}}, "`options.mix.train.join` must be a number from 0 to 1e6, got -1"),
        ({"train": {"join": "much"}}, "`options.mix.train.join` must be a number from 0 to 1e6, got 'much'"),
        ({"train": {"join": 0}}, "`options.mix.train` must have a weight above 0"),
        ({"train": {"join-order": 1}}, "has a weight for 'join-order', which"),
    ],
)
def test_a_wrong_mix_is_refused_by_name(server: Client, mix: Any, named: str) -> None:
    body = {"split": "train", "count": 1, "seed": 1, "options": {"max_difficulty": 4, "mix": mix}}
    refused = server.http.post(f"{SQL}/data/tasks", json=body)
    assert refused.status_code == 400
    assert named in refused.json()["detail"]


def test_a_mix_of_published_tasks_is_refused(server: Client) -> None:
    options = {"source": "wheel", "mix": {"train": {"join": 1}}}
    body = {"split": "train", "count": 1, "seed": 1, "options": options}
    assert "`options.mix` applies only" in server.http.post(f"{SQL}/data/tasks", json=body).json()["detail"]
