"""Sessions of a WebShop text server, over the HTTP routes of AgentGym's agentenv-webshop.

POST /create -> number; /reset {env_idx, session_id: goal} -> [page, null]; /step {env_idx, action} ->
{state, reward, done, info}; /close {env_idx} -> {closed}. Older servers lack /close and keep every session
forever (AgentGym issue 62: the shop's Java ran out of memory), so their sessions are reused without limit.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.remote.client import (
    RELEASE_SECONDS,
    BadRemoteResponse,
    RemoteClient,
    RemoteFault,
    RemoteRefused,
)
from coevolve_environments.plugins.remote.episode import Releaser

_NO_ROUTE = (404, 405)


@dataclass
class ShopSession:
    number: int
    episodes: int = 0


@dataclass(frozen=True)
class Page:
    text: str
    reward: float = 0.0
    done: bool = False


class Shop:
    """The sessions of one server."""

    def __init__(
        self, remote: RemoteClient, releaser: Releaser, *, episodes_per_child: int, price_draws: int
    ) -> None:
        """
        Args:
            episodes_per_child: episodes of a session, >= 1, before it is closed, if the server supports it.
            price_draws: new sessions, >= 1, that a reset opens at most.
        """
        self._remote = remote
        self._releaser = releaser
        self._recycle_after = episodes_per_child
        self._price_draws = price_draws
        self._lock = threading.Lock()
        self._idle: list[ShopSession] = []
        self._live: set[int] = set()
        self._supports_close = True
        """True until the server responds without this route."""

    def enter(self, goal: int, fits: Callable[[Page], bool]) -> tuple[ShopSession, Page] | None:
        """Opens a session at the first page of a goal; None if the page of no session fits.

        Tries the idle sessions, then at most `price_draws` new ones. Others stay for other goals.

        Raises:
            RemoteFault: the server failed; no session of this call stays open.
        """
        unfit: list[ShopSession] = []
        try:
            for session, page in self._openings(goal):
                if fits(page):
                    return session, page
                unfit.append(session)
            return None
        finally:
            for session in unfit:
                self.leave(session, reusable=True)

    def first_pages(self, goals: Sequence[int]) -> Iterator[tuple[int, Page]]:
        """Yields the first page of each goal, all in one session.

        Raises:
            RemoteFault: the server failed.
        """
        if not goals:
            return
        session, page = next(self._openings(goals[0]))
        is_reusable = False
        try:
            yield goals[0], page
            for goal in goals[1:]:
                yield goal, self._reset(session, goal)
            is_reusable = True
        except GeneratorExit:
            is_reusable = True
            raise
        finally:
            self.leave(session, reusable=is_reusable)

    def _openings(self, goal: int) -> Iterator[tuple[ShopSession, Page]]:
        """Yields sessions at the first page of a goal: the idle ones, then new ones."""
        while used := self._pop_idle():
            try:
                page = self._reset(used, goal)
            except RemoteFault as fault:
                self._abandon(used)
                if not isinstance(fault, RemoteRefused):  # refused: the server lost the session in a restart
                    raise
                continue
            yield used, page
        for _ in range(self._price_draws):
            session = self._create()
            try:
                page = self._reset(session, goal)
            except BaseException:
                self._abandon(session)
                raise
            yield session, page

    def step(self, session: ShopSession, action: str) -> Page:
        return read_page(self._remote.post("/step", {"env_idx": session.number, "action": action}))

    def leave(self, session: ShopSession, *, reusable: bool) -> None:
        """Ends the use of a session by an episode, without waiting for the server.

        Args:
            reusable: no call of the episode failed; only then another episode may use the session.
        """
        session.episodes += 1
        if reusable and (session.episodes < self._recycle_after or not self._supports_close):
            self._keep(session)
            return

        def close() -> None:
            if not self._close(session) and reusable:
                self._keep(session)

        self._releaser.release(f"session {session.number} of the shop", close)

    def close(self) -> None:
        """Closes idle sessions and waits for running releases."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            self.leave(session, reusable=False)
        self._releaser.close()

    def _pop_idle(self) -> ShopSession | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _create(self) -> ShopSession:
        number = self._remote.post("/create")
        if not isinstance(number, int) or isinstance(number, bool):
            raise BadRemoteResponse(f"/create returned {number!r:.200}; expected the number of a session")
        with self._lock:
            # Above 8,000 sessions AgentGym's server returns numbers that are still in use.
            if number in self._live:
                raise BadRemoteResponse(f"/create returned session {number}, which another episode uses")
            self._live.add(number)
        return ShopSession(number)

    def _reset(self, session: ShopSession, goal: int) -> Page:
        response = self._remote.post("/reset", {"env_idx": session.number, "session_id": goal})
        if not isinstance(response, list) or not response or not isinstance(response[0], str):
            raise BadRemoteResponse(f"/reset returned {response!r:.200}; expected a page")
        return Page(response[0])

    def _keep(self, session: ShopSession) -> None:
        with self._lock:
            self._live.add(session.number)
            self._idle.append(session)

    def _abandon(self, session: ShopSession) -> None:
        """Closes it before another is created: a restarted server may use the same number."""
        with suppress(RemoteFault):  # the caller raises another fault or continues with a new session
            self._close(session)

    def _close(self, session: ShopSession) -> bool:
        """Returns whether the server closed the session; False if it does not support it."""
        with self._lock:
            self._live.discard(session.number)
        if not self._supports_close:
            return False
        try:
            self._remote.post("/close", {"env_idx": session.number}, RELEASE_SECONDS)
        except RemoteRefused as refusal:
            if refusal.status not in _NO_ROUTE:
                raise
            self._supports_close = False
        return self._supports_close


def read_page(response: Any) -> Page:
    """
    Raises:
        BadRemoteResponse: not a page, or a reward outside 0..1.
    """
    if not isinstance(response, dict) or not isinstance(response.get("state"), str):
        raise BadRemoteResponse(f"/step returned {response!r:.200}; expected a page")
    reward, done = response.get("reward"), response.get("done")
    if not isinstance(done, bool) or isinstance(reward, bool) or not isinstance(reward, int | float):
        raise BadRemoteResponse(
            f"/step returned reward {reward!r:.80} and done {done!r:.80}; expected a number and a boolean"
        )
    if not 0 <= reward <= 1:
        raise BadRemoteResponse(f"/step returned reward {reward!r:.80}; expected 0..1")
    return Page(response["state"], float(reward), done)
