"""How long a session may be silent, an episode may last, and a call may take."""

from dataclasses import dataclass

from coevolve_environments.protocol import Environment
from coevolve_environments.settings import Settings

IDLE_SECONDS = 300.0


@dataclass(frozen=True)
class SessionBounds:
    """Seconds, each above 0."""

    idle: float
    """Between two messages of the client; a call that runs is no silence."""
    episode: float
    """From the reset."""
    step: float
    """One call of the environment."""


@dataclass(frozen=True)
class StatedBounds:
    """What the operator's settings say; None where the environment or the command line decides."""

    idle: float | None = None
    episode: float | None = None
    step: float | None = None

    def of(self, environment: Environment, idle_seconds: float) -> SessionBounds:
        return SessionBounds(
            self.idle or idle_seconds,
            self.episode or environment.episode_seconds,
            self.step or environment.call_seconds,
        )


def stated_bounds(settings: Settings) -> StatedBounds:
    """`idle_seconds`, `episode_seconds` and `step_seconds` of an environment's section.

    Raises:
        ValueError: one of them is no number above 0.
    """
    return StatedBounds(
        settings.seconds("idle_seconds"),
        settings.seconds("episode_seconds"),
        settings.seconds("step_seconds"),
    )
