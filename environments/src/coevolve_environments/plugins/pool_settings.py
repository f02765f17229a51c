"""Settings of every environment with a pool of child processes."""

from coevolve_environments.processes.child_pool import PoolLimits
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
