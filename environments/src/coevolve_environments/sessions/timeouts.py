"""How long a session may be silent, an episode may last, and a call may take."""

from dataclasses import dataclass

from coevolve_environments.protocol import Environment
from coevolve_environments.settings import Settings

IDLE_SECONDS = 300.0


@dataclass(frozen=True)
class SessionTimeouts:
    """Seconds, each above 0."""

    idle_seconds: float
    """Between two messages of the client; a call that runs is no silence."""
    episode_seconds: float
    """From the reset."""
    call_seconds: float
    """One call of the environment."""


@dataclass(frozen=True)
class TimeoutSettings:
    """What the operator's settings say; None where the environment or the command line decides."""

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
    """`idle_seconds`, `episode_seconds` and `step_seconds` of an environment's section.

    Raises:
        ValueError: one of them is no number above 0.
    """
    return TimeoutSettings(
        settings.seconds("idle_seconds"),
        settings.seconds("episode_seconds"),
        settings.seconds("step_seconds"),
    )
