"""Measures time and memory of a process."""

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
    cpu: float  # all threads of this process

    def since(self, earlier: Instant) -> Instant:
        return Instant(self.wall - earlier.wall, self.cpu - earlier.cpu)


class Clock:
    """Sum of the times between `start` and `stop`, with the device synchronized at both."""

    def __init__(self) -> None:
        self.elapsed = Instant(0.0, 0.0)
        self._started = self.elapsed

    def start(self) -> None:
        self._started = now()

    def stop(self) -> None:
        wall, cpu = now().since(self._started)
        self.elapsed = Instant(self.elapsed.wall + wall, self.elapsed.cpu + cpu)


def now() -> Instant:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Instant(time.monotonic(), time.process_time())


def measurement(elapsed: Instant, tokens: int, losses: list[float]) -> Measurement:
    """Returns the measurement of a finished training, with the peak memory of this process."""
    return Measurement(
        seconds=elapsed.wall,
        cpu_seconds=elapsed.cpu,
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
