"""Sessions of a WebShop text server, over the HTTP routes of AgentGym's agentenv-webshop.

POST /create -> number; /reset {env_idx, session_id: goal} -> [page, null]; /step {env_idx, action} ->
{state, reward, done, info}; /close {env_idx} -> {closed}. Older servers lack /close and keep every session
for ever (AgentGym issue 62: the shop's Java ran out of memory): there, sessions are played again and again.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.remote.client import (
    RELEASE_SECONDS,
    BadRemoteAnswer,
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
    """The sessions of one server: at most as many as episodes ran at once."""

    def __init__(self, remote: RemoteClient, releaser: Releaser, recycle_after: int) -> None:
        """
        Args:
            recycle_after: episodes of a session, >= 1; then it is closed, where the server can.
        """
        self._remote = remote
        self._releaser = releaser
        self._recycle_after = recycle_after
        self._lock = threading.Lock()
        self._idle: list[ShopSession] = []
        self._live: set[int] = set()
        self._closes = True
        """Until the server shows that it has no such route."""

    def enter(self, goal: int) -> tuple[ShopSession, Page]:
        """A session at the first page of a goal.

        Raises:
            RemoteFault: the server failed; nothing is left open over there that this class knows of.
        """
        with self._lock:
            used = self._idle.pop() if self._idle else None
        if used is not None:
            try:
                return used, self._reset(used, goal)
            except RemoteFault as fault:
                self._abandon(used)
                if not isinstance(fault, RemoteRefused):  # refused: it forgot the session, as after a restart
                    raise
        session = self._create()
        try:
            return session, self._reset(session, goal)
        except BaseException:
            self._abandon(session)
            raise

    def step(self, session: ShopSession, action: str) -> Page:
        return read_page(self._remote.post("/step", {"env_idx": session.number, "action": action}))

    def leave(self, session: ShopSession, *, sound: bool) -> None:
        """Ends an episode's use of a session; does not wait for the server.

        Args:
            sound: all its calls were answered; only then another episode may play it.
        """
        session.episodes += 1
        if sound and (session.episodes < self._recycle_after or not self._closes):
            self._keep(session)
            return

        def close() -> None:
            if not self._close(session) and sound:
                self._keep(session)

        self._releaser.release(f"session {session.number} of the shop", close)

    def close(self) -> None:
        """Closes the sessions that wait for an episode, and waits for those under way."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            self.leave(session, sound=False)
        self._releaser.close()

    def _create(self) -> ShopSession:
        number = self._remote.post("/create")
        if not isinstance(number, int) or isinstance(number, bool):
            raise BadRemoteAnswer(f"/create answers {number!r:.200}, not the number of a session")
        with self._lock:
            # Past its 8,000 sessions AgentGym's server hands out again what others still play.
            if number in self._live:
                raise BadRemoteAnswer(f"/create answers session {number}, which another episode plays")
            self._live.add(number)
        return ShopSession(number)

    def _reset(self, session: ShopSession, goal: int) -> Page:
        answer = self._remote.post("/reset", {"env_idx": session.number, "session_id": goal})
        if not isinstance(answer, list) or not answer or not isinstance(answer[0], str):
            raise BadRemoteAnswer(f"/reset answers {answer!r:.200}, not a page")
        return Page(answer[0])

    def _keep(self, session: ShopSession) -> None:
        with self._lock:
            self._live.add(session.number)
            self._idle.append(session)

    def _abandon(self, session: ShopSession) -> None:
        """Closes it before another is made, which may get its number from a server that began anew."""
        with suppress(RemoteFault):  # the caller has a fault to tell already, or goes on with a new session
            self._close(session)

    def _close(self, session: ShopSession) -> bool:
        """Whether the server has closed it; False where it offers no closing."""
        with self._lock:
            self._live.discard(session.number)
        if not self._closes:
            return False
        try:
            self._remote.post("/close", {"env_idx": session.number}, RELEASE_SECONDS)
        except RemoteRefused as refusal:
            if refusal.status not in _NO_ROUTE:
                raise
            self._closes = False
        return self._closes


def read_page(answer: Any) -> Page:
    """
    Raises:
        BadRemoteAnswer: it is none, or has a reward outside 0..1.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("state"), str):
        raise BadRemoteAnswer(f"/step answers {answer!r:.200}, not a page")
    reward, done = answer.get("reward"), answer.get("done")
    if not isinstance(done, bool) or isinstance(reward, bool) or not isinstance(reward, int | float):
        raise BadRemoteAnswer(f"/step answers reward {reward!r:.80} and done {done!r:.80}")
    if not 0 <= reward <= 1:
        raise BadRemoteAnswer(f"/step answers reward {reward!r:.80}; WebShop's are in 0..1")
    return Page(answer["state"], float(reward), done)
