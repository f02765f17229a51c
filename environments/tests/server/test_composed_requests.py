"""Hand-written requests on the real engines: right ways score, wrong ones do not, others are refused."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from coevolve_environments.protocol import Refusal, Unavailable
from composed_worlds import WORLDS, World, mistakes, read_requests

_SLOW = ("alfworld", "appworld-mini", "scienceworld")
_FIRST = 3
"""Requests of a world that every change tries; of a slow one, the first alone."""


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = World(request.param, Path(folder))
        except (Unavailable, ValueError) as error:
            pytest.skip(str(error))
        with closing(made.environment):
            yield made


def cases(kind: str) -> list[object]:
    """Returns each table with the numbers of its requests."""
    return [
        pytest.param(table, n, marks=[pytest.mark.of_all] if n >= (1 if table in _SLOW else _FIRST) else [])
        for table in WORLDS
        for n in range(len(read_requests(table)[kind]))
    ]


@pytest.mark.parametrize(("world", "number"), cases("requests"), indirect=["world"])
def test_right_ways_score_and_wrong_ways_do_not(world: World, number: int) -> None:
    request = world.requests[number]
    assert mistakes(world, request) == [], request["query"]


@pytest.mark.parametrize(("world", "number"), cases("refused"), indirect=["world"])
def test_a_request_that_nothing_can_check_is_refused(world: World, number: int) -> None:
    request = world.refused[number]
    assert isinstance(world.compose(request), Refusal), request["query"]


def test_there_are_at_least_forty_requests_with_two_right_and_two_wrong_ways_each() -> None:
    requests = [request for world in WORLDS for request in read_requests(world)["requests"]]
    assert len(requests) >= 40
    assert sum(len(request["right"]) for request in requests) >= 2 * len(requests)
    assert all(request["right"] and request["wrong"] for request in requests)  # doing nothing is wrong too
