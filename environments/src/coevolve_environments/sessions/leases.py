"""Leases of sessions. A session ends with its socket, at a timeout, or when its holder closes it."""

import asyncio
import math
import time
import uuid
from dataclasses import dataclass
from typing import Literal

from coevolve_environments.protocol import Environment, Json
from coevolve_environments.settings import Settings

IDLE_SECONDS = 300.0


@dataclass(frozen=True)
class SessionTimeouts:
    """Each above 0."""

    idle_seconds: float
    """Between two messages of the client. The time of a running call does not count."""
    episode_seconds: float
    """From the reset to the end of the episode."""
    call_seconds: float
    """One call of the environment; the setting is named `turn_seconds`."""


@dataclass(frozen=True)
class TimeoutSettings:
    """The operator's settings; None leaves the decision to the environment or the command line."""

    idle_seconds: float | None = None
    episode_seconds: float | None = None
    call_seconds: float | None = None

    def resolve(self, environment: Environment, idle_seconds: float) -> SessionTimeouts:
        return SessionTimeouts(
            self.idle_seconds or idle_seconds,
            self.episode_seconds or environment.episode_seconds,
            self.call_seconds or environment.call_seconds,
        )


def read_timeouts(settings: Settings) -> TimeoutSettings:
    """Reads `idle_seconds`, `episode_seconds` and `turn_seconds` of an environment's section.

    Raises:
        ValueError: a value is not a number above 0.
    """
    return TimeoutSettings(
        settings.seconds("idle_seconds"),
        settings.seconds("episode_seconds"),
        settings.seconds("turn_seconds"),
    )


EndReason = Literal["closed", "idle", "episode-timeout", "closed-by-holder", "environment-reloaded"]
"""Why a lease ended: the socket closed, no message arrived (idle), the episode timed out, the holder closed
its sessions, or the environment's code was replaced."""


class Lease:
    """The lease of one session. Expiry cancels the asyncio task that opened it."""

    def __init__(self, leases: "Leases", environment: str, timeouts: SessionTimeouts) -> None:
        self.id = uuid.uuid4().hex
        self.environment = environment
        self.holder: str | None = None
        self.opened_at = time.time()
        self.ended: EndReason | None = None
        self.playing = False
        """True while an episode is open and not done."""
        self._leases = leases
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._last_message_at = self._loop.time()
        self._busy = False
        self._episode_until = math.inf
        self._timer = self._loop.call_at(self._due(), self._check)

    @property
    def expires_at(self) -> float:
        """Unix time of the expiry if no other message arrives."""
        return time.time() + self._due() - self._loop.time()

    def set_busy(self, busy: bool) -> None:
        """Records that a message has arrived (True) or was answered (False)."""
        self._busy = busy
        self._last_message_at = self._loop.time()
        if self.ended is not None:  # the call returned in the same instant and swallowed the cancellation
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
        """Ends the session from another task. Idempotent."""
        if self.ended is None:
            self.ended = reason
            self._cancel()

    def close(self) -> None:
        """Removes the lease after the session has ended."""
        self._timer.cancel()
        self.ended = self.ended or "closed"
        self._leases.forget(self)

    def end_message(self) -> str:
        match self.ended:
            case "idle":
                return f"the session was idle for {self._timeouts.idle_seconds:g} s"
            case "episode-timeout":
                return f"the episode took more than {self._timeouts.episode_seconds:g} s"
            case "closed-by-holder":
                return f"{self.holder} closed its sessions"
            case "environment-reloaded":
                return f"the code of {self.environment} has been replaced"
            case _:
                return "the session has ended"

    def _cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _due(self) -> float:
        """A running call has its own timeout; idle time counts from its end."""
        since = self._loop.time() if self._busy else self._last_message_at
        return min(self._episode_until, since + self._timeouts.idle_seconds)

    def _check(self) -> None:
        if (due := self._due()) > self._loop.time():
            self._timer = self._loop.call_at(due, self._check)
        else:
            self.end("episode-timeout" if self._episode_until <= due else "idle")


class Leases:
    """All leases of the server, of every environment."""

    def __init__(self) -> None:
        self.draining = False
        self._open: dict[str, Lease] = {}

    def open(self, environment: str, timeouts: SessionTimeouts) -> Lease:
        """Opens a lease that belongs to the calling asyncio task."""
        lease = Lease(self, environment, timeouts)
        self._open[lease.id] = lease
        return lease

    def forget(self, lease: Lease) -> None:
        self._open.pop(lease.id, None)

    def is_playing(self) -> bool:
        """Returns whether any episode is open and not done."""
        return any(lease.playing for lease in self._open.values())

    def close_holder(self, holder: str) -> int:
        """Ends every session of the holder and returns their number."""
        held = [lease for lease in self._open.values() if lease.holder == holder and lease.ended is None]
        for lease in held:
            lease.end("closed-by-holder")
        return len(held)

    def close_environment(self, environment: str) -> None:
        """Ends every session of the environment, whose code is replaced."""
        for lease in list(self._open.values()):
            if lease.environment == environment:
                lease.end("environment-reloaded")

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
