"""What a measured process tells of itself."""

from __future__ import annotations

import importlib.metadata
import resource
import time

import torch

from .request import Measurement

PACKAGES = ("torch", "transformers", "trl", "peft")


class Clock:
    """Wall-clock seconds of stretches of work; the device is waited for at both ends."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def start(self) -> None:
        self._began = now()

    def stop(self) -> None:
        self.seconds += now() - self._began


def now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.monotonic()


def measured(seconds: float, tokens: int, losses: list[float]) -> Measurement:
    """The numbers of a finished training with this process's peaks."""
    return Measurement(
        seconds=seconds,
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
