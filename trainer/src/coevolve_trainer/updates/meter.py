"""The numbers of a progress line: means over several updates, speed, memory, remaining time."""

from __future__ import annotations

import resource
import time

import torch

from ..process_group import add_sums, largest
from .update import UpdateTotals

# Peak dense bfloat16 operations per second by prefix of the device's name; `mfu` is relative to it in either
# precision. Source: NVIDIA's data sheets of the SXM boards.
PEAK_FLOPS = {"NVIDIA H200": 989e12, "NVIDIA H100": 989e12, "NVIDIA A100": 312e12}


class Meter:
    """Averages over the updates since the last progress line: a single batch of eight is too noisy."""

    def __init__(self, device: torch.device, processes: int = 1) -> None:
        self._device, self._processes = device, processes
        self.flops_per_token: float | None = None
        """Operations per training token, forward and backward; without it there is no `mfu`."""
        self.reset()

    def reset(self) -> None:
        """Discards what was added; speeds are measured from now on."""
        self._sums: dict[str, tuple[float, float]] = {}
        self._maxima: dict[str, float] = {}
        self._updates, self._tokens, self._computed_tokens = 0, 0, 0
        self._started = time.monotonic()

    def add(self, totals: UpdateTotals, grad_norm: float) -> None:
        self._updates += 1
        self._tokens += totals.tokens
        self._computed_tokens += totals.computed_tokens
        own = {"loss": (totals.loss, 1.0), "grad_norm": (grad_norm, 1.0)}
        self._sums = add_sums([self._sums, own, totals.metrics])
        self._maxima = largest([self._maxima, totals.maxima])

    def read(self, remaining_updates: int) -> dict[str, float]:
        """Returns means and speeds since the last reset, and resets."""
        seconds = max(1e-9, time.monotonic() - self._started)
        numbers = {name: total / count for name, (total, count) in self._sums.items() if count}
        numbers |= self._maxima | {
            "tokens_per_s": self._tokens / seconds,
            "memory_bytes": peak_memory_bytes(self._device),
            "eta_s": remaining_updates * seconds / max(1, self._updates),
        }
        peak = peak_flops(self._device)
        if peak is not None and self.flops_per_token is not None:
            flops = self._computed_tokens / seconds * self.flops_per_token
            numbers["mfu"] = flops / (peak * self._processes)
        self.reset()
        return numbers


def peak_memory_bytes(device: torch.device) -> int:
    """Returns the max memory of this process: allocated on its GPU, or resident."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_flops(device: torch.device) -> float | None:
    """Returns a GPU's peak bfloat16 operations per second; None if it is not listed."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for prefix, flops in PEAK_FLOPS.items() if name.startswith(prefix)), None)
