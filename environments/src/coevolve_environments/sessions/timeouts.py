"""Timeouts of a session: without messages, per episode, and per call."""

from dataclasses import dataclass

from coevolve_environments.protocol import Environment
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
