"""Joins the process group of a job, from the environment variables that torchrun sets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from .failures import JobFailure, bad_input
from .process_group import ProcessGroup
from .settings import ComputeSettings, Settings


def is_launched_as_rank_zero() -> bool:
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def joined_process_group(settings: Settings, stop: Event) -> Iterator[ProcessGroup]:
    """Joins the process group and destroys it at the end of the block.

    While a rank other than zero waits for the rendezvous, SIGTERM kills it: torch's wait cannot be
    interrupted in any other way.
    """
    waits_for_rank_zero = not is_launched_as_rank_zero()
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL) if waits_for_rank_zero else None
    if waits_for_rank_zero and stop.is_set():  # an earlier signal: rank zero may have exited
        raise JobFailure("cancelled", "stopped before the processes of the job were connected")
    process_group = _join(settings)
    if waits_for_rank_zero:
        signal.signal(signal.SIGTERM, handler)
    try:
        yield process_group
    finally:
        process_group.destroy()


def _join(settings: Settings) -> ProcessGroup:
    """Returns the process group of this launch.

    Raises:
        JobFailure: `bad-input` when the launch does not match the settings: otherwise every process would
            train the whole model on its own, without a warning.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    processes = settings.processes if isinstance(settings, ComputeSettings) else 1
    if launched != processes:
        raise bad_input("settings.processes", processes, f"{launched}, the number of launched processes")
    if not isinstance(settings, ComputeSettings) or settings.sharding == "none":
        if processes > 1:
            raise bad_input("settings.sharding", f"none with {processes} processes", "ddp or fsdp")
        return ProcessGroup()
    from .distributed import DistributedGroup  # imports torch

    return DistributedGroup.join(settings)
