"""Leases: a session is held by somebody, for a time, and ends when that time or its holder does."""

import asyncio
import math
import time
import uuid
from typing import Literal

from coevolve_environments.protocol import Json
from coevolve_environments.sessions.timeouts import SessionTimeouts

EndReason = Literal["closed", "idle", "episode", "holder", "drain"]
"""Why a lease ended: its socket did (closed), the client was silent, the episode took too long, its holder is
done, or the server stops."""


class Lease:
    """One session's. Its owner is the task that opened it, which is cancelled when the lease expires."""

    def __init__(self, leases: "Leases", environment: str, timeouts: SessionTimeouts) -> None:
        self.id = uuid.uuid4().hex
        self.environment = environment
        self.holder: str | None = None
        self.opened_at = time.time()
        self.ended: EndReason | None = None
        self.playing = False
        """Whether an episode is open and not done."""
        self._leases = leases
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._heard = self._loop.time()
        self._busy = False
        self._episode_until = math.inf
        self._timer = self._loop.call_at(self._due(), self._check)

    @property
    def expires_at(self) -> float:
        """Unix time at which it ends when nothing more is heard."""
        return time.time() + self._due() - self._loop.time()

    def working(self, busy: bool) -> None:
        """A message came in (True) or was answered (False)."""
        self._busy = busy
        self._heard = self._loop.time()
        if self.ended is not None:  # its cancelling was lost on a call that returned in the same instant
            self._cancel()

    def begin_episode(self) -> None:
        self._episode_until = self._loop.time() + self._timeouts.episode_seconds
        self.playing = True
        if self._episode_until < self._timer.when():
            self._timer.cancel()
            self._timer = self._loop.call_at(self._episode_until, self._check)

    def end_episode(self) -> None:
        self._episode_until = math.inf
        self.playing = False

    def end(self, reason: EndReason) -> None:
        """Ends the session from outside; harmless once it has ended."""
        if self.ended is None:
            self.ended = reason
            self._cancel()

    def close(self) -> None:
        """The session is over, by itself or because the lease ended it."""
        self._timer.cancel()
        self.ended = self.ended or "closed"
        self._leases.forget(self)

    def explain(self) -> str:
        match self.ended:
            case "idle":
                return f"session was idle for {self._timeouts.idle_seconds:g} s"
            case "episode":
                return f"the episode took more than {self._timeouts.episode_seconds:g} s"
            case "holder":
                return f"{self.holder} has closed its sessions"
            case _:
                return "the session has ended"

    def _cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _due(self) -> float:
        """While a call runs its own deadline bounds it; silence is looked for again afterwards."""
        since = self._loop.time() if self._busy else self._heard
        return min(self._episode_until, since + self._timeouts.idle_seconds)

    def _check(self) -> None:
        if (due := self._due()) > self._loop.time():
            self._timer = self._loop.call_at(due, self._check)
        else:
            self.end("episode" if self._episode_until <= due else "idle")


class Leases:
    """All leases of the server, whichever environment they are of."""

    def __init__(self) -> None:
        self.draining = False
        self._open: dict[str, Lease] = {}

    def open(self, environment: str, timeouts: SessionTimeouts) -> Lease:
        """For the task that calls it."""
        lease = Lease(self, environment, timeouts)
        self._open[lease.id] = lease
        return lease

    def forget(self, lease: Lease) -> None:
        self._open.pop(lease.id, None)

    def playing(self) -> bool:
        """Whether any episode is open and not done."""
        return any(lease.playing for lease in self._open.values())

    def close_holder(self, holder: str) -> int:
        """Ends every session of that holder; returns how many there were."""
        held = [lease for lease in self._open.values() if lease.holder == holder and lease.ended is None]
        for lease in held:
            lease.end("holder")
        return len(held)

    def describe(self) -> list[Json]:
        return [
            {
                "id": lease.id,
                "environment": lease.environment,
                "holder": lease.holder,
                "opened_at": lease.opened_at,
                "expires_at": lease.expires_at,
            }
            for lease in self._open.values()
        ]
