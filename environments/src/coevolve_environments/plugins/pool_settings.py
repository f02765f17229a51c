"""Settings of every environment with a pool of child processes, and the interpreter of its engine."""

import sys
from pathlib import Path

from coevolve_environments.processes.child_pool import PoolLimits
from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings


def read_pool_limits(
    settings: Settings,
    *,
    size: int,
    memory_mb: int,
    min_memory_mb: int,
    episodes: int = 50,
    start_seconds: float = 60,
    call_seconds: float = 60,
) -> PoolLimits:
    """Reads `pool`, `episodes_per_child`, `memory_mb` and `disk_mb`; the arguments are their defaults."""
    return PoolLimits(
        settings.integer("pool", size),
        episodes=settings.integer("episodes_per_child", episodes),
        memory_mb=settings.integer("memory_mb", memory_mb, minimum=min_memory_mb),
        disk_mb=settings.integer("disk_mb", PoolLimits.disk_mb, minimum=64),
        start_seconds=start_seconds,
        call_seconds=call_seconds,
    )


def engine_python(settings: Settings, engine: str, package: str) -> Path:
    """Returns the setting `python`, or the interpreter of `.venv-<engine>` next to the server's environment.

    Such an engine has packages that conflict with the server's.

    Args:
        package: file or folder below site-packages that proves the installation.

    Raises:
        Unavailable: the engine is not installed; the message contains the installation command.
    """
    python = settings.program("python") or Path(sys.prefix).with_name(f".venv-{engine}") / "bin" / "python"
    found = python.parent.parent.glob(f"lib/python3*/site-packages/{package}")
    if python.exists() and next(found, None) is not None:
        return python
    raise Unavailable(
        f"its engine is not installed in {python.parent.parent}: run `coevolve env install {engine}`, "
        f"or set hosted.{settings.name}.python to the interpreter of an environment with the engine"
    )
