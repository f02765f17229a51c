"""What a measured process tells of itself."""

from __future__ import annotations

import importlib.metadata
import resource
import time
from typing import NamedTuple

import torch

from .request import Measurement

PACKAGES = ("torch", "transformers", "trl", "peft")


class Instant(NamedTuple):
    wall: float
    cpu: float  # of this process, all threads

    def since(self, earlier: Instant) -> Instant:
        return Instant(self.wall - earlier.wall, self.cpu - earlier.cpu)


class Clock:
    """Seconds of stretches of work; the device is waited for at both ends."""

    def __init__(self) -> None:
        self.spent = Instant(0.0, 0.0)
        self._began = self.spent

    def start(self) -> None:
        self._began = now()

    def stop(self) -> None:
        wall, cpu = now().since(self._began)
        self.spent = Instant(self.spent.wall + wall, self.spent.cpu + cpu)


def now() -> Instant:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Instant(time.monotonic(), time.process_time())


def measured(spent: Instant, tokens: int, losses: list[float]) -> Measurement:
    """The numbers of a finished training with this process's peaks."""
    return Measurement(
        seconds=spent.wall,
        cpu_seconds=spent.cpu,
        tokens=tokens,
        losses=losses,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        peak_device_bytes=torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
        versions={name: version for name in PACKAGES if (version := _version(name))},
    )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
