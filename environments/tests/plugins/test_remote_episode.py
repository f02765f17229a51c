"""A remote resource is released exactly once, by the last thread."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.remote.client import Address, BadRemoteResponse, RemoteClient, RemoteFault
from coevolve_environments.plugins.remote.episode import Releaser, RemoteEpisode
from coevolve_environments.plugins.webshop.shop import Shop
from coevolve_environments.protocol import Observation
from fake_server import FakeServer, fake_server


class Slow(RemoteEpisode):
    """Returns on demand, and fails for the text `fail`."""

    task_id = "slow/1"
    split = "train"

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.may_answer = threading.Event(), threading.Event()
        self.released: list[bool] = []

    def _begin(self) -> Observation:
        return Observation([], 0)

    def _continue(self, content: str) -> Observation:
        if content == "fail":
            raise RemoteFault("call failed")
        if content == "wait":
            self.entered.set()
            assert self.may_answer.wait(10)
        return Observation([], 1)

    def _release(self) -> None:
        self.released.append(self._is_reusable)


def test_a_close_during_a_call_takes_effect_after_the_call() -> None:
    episode = Slow()
    episode.open()
    call = threading.Thread(target=episode.act, args=("wait",))
    call.start()
    assert episode.entered.wait(10)
    episode.close()
    assert episode.released == []
    episode.may_answer.set()
    call.join(10)
    assert episode.released == [True]
    with pytest.raises(RemoteFault, match="closed"):
        episode.act("go on")


@settings(derandomize=True)
@given(st.lists(st.sampled_from(["open", "go", "fail", "close"]), max_size=12))
def test_the_resource_is_released_once_after_the_first_close(calls: list[str]) -> None:
    episode, failed, closed = Slow(), False, False
    for name in calls:
        if name == "close":
            episode.close()
            closed = True
            continue
        try:
            episode.open() if name == "open" else episode.act(name)
        except RemoteFault:
            failed = failed or not closed
    assert episode.released == ([not failed] if closed else [])


@pytest.fixture
def careless() -> Iterator[FakeServer]:
    with fake_server("fake_webshop.py", "--one-number") as server:
        yield server


def test_a_session_in_use_is_not_shared(careless: FakeServer) -> None:
    remote = RemoteClient(Address(careless.url, 5))
    shop = Shop(remote, Releaser("shop"), episodes_per_child=1, price_draws=1)
    entered = shop.enter(0, lambda _: True)
    assert entered is not None
    session, _ = entered
    with pytest.raises(BadRemoteResponse, match="session 101, which another episode uses"):
        shop.enter(1, lambda _: True)
    assert "grey" in shop.step(session, "search[scarf]").text  # the first continues
    shop.leave(session, reusable=True)
    shop.close()
