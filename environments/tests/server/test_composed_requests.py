"""Hand-written requests on the real engines: right ways score, wrong ones do not, others are refused."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from coevolve_environments.protocol import Json, Refusal, Unavailable
from composed_worlds import WORLDS, World, mistakes, read_requests

_SLOW = ("alfworld", "scienceworld")
_QUICK_REQUESTS = 3
"""Of each slow world, in the tests that every change runs."""


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = World(request.param, Path(folder))
        except (Unavailable, ValueError) as error:
            pytest.skip(str(error))
        with closing(made.environment):
            yield made


def numbers(kind: str) -> list[object]:
    count = max(len(read_requests(world)[kind]) for world in WORLDS)
    return [pytest.param(n, marks=pytest.mark.of_all) if n >= _QUICK_REQUESTS else n for n in range(count)]


def request_of(listed: list[Json], number: int) -> Json:
    if number >= len(listed):
        pytest.skip("this world has fewer requests")
    return listed[number]


@pytest.mark.parametrize("number", numbers("requests"))
def test_right_ways_score_and_wrong_ways_do_not(world: World, number: int) -> None:
    request = request_of(world.requests, number)
    assert mistakes(world, request) == [], request["query"]


@pytest.mark.parametrize("number", numbers("refused"))
def test_a_request_that_nothing_can_check_is_refused(world: World, number: int) -> None:
    request = request_of(world.refused, number)
    assert isinstance(world.compose(request), Refusal), request["query"]


def test_there_are_at_least_forty_requests_each_with_two_right_and_two_wrong_ways() -> None:
    requests = [request for world in WORLDS for request in read_requests(world)["requests"]]
    assert len(requests) >= 40
    for request in requests:
        assert min(len(request["right"]), len(request["wrong"])) >= 2, request["query"]
