"""The numbers of a progress line: means over some updates, speed, memory, time left."""

from __future__ import annotations

import resource
import time

import torch

from ..process_group import added
from .accumulate import Totals

# Dense bfloat16 operations per second, by the beginning of the device's name: what `mfu` is a share of, in
# either precision. Source: NVIDIA's data sheets of the SXM boards.
PEAK_FLOPS = {"NVIDIA H200": 989e12, "NVIDIA H100": 989e12, "NVIDIA A100": 312e12}


class Meter:
    """Gathers updates until a progress line is due: one batch of eight says little."""

    def __init__(self, device: torch.device, processes: int = 1) -> None:
        self._device, self._processes = device, processes
        self.flops_per_token: float | None = None
        """Of a training token, forward and backward; `mfu` is told where it is known."""
        self._sums: dict[str, tuple[float, float]] = {}
        self._updates, self._tokens, self._computed, self._began = 0, 0, 0, time.monotonic()

    def add(self, totals: Totals, grad_norm: float) -> None:
        self._updates += 1
        self._tokens += totals.tokens
        self._computed += totals.computed
        own = {"loss": (totals.loss, 1.0), "grad_norm": (grad_norm, 1.0)}
        self._sums = added([self._sums, own, totals.metrics])

    def read(self, updates_left: int) -> dict[str, float]:
        """Means and speeds since the last reading; the next one begins now."""
        seconds = max(1e-9, time.monotonic() - self._began)
        rate = self._tokens / seconds
        facts = {name: total / count for name, (total, count) in self._sums.items() if count}
        facts |= {
            "tokens_per_s": rate,
            "memory_bytes": memory_bytes(self._device),
            "eta_s": updates_left * seconds / max(1, self._updates),
        }
        peak = peak_flops(self._device)
        if peak is not None and self.flops_per_token is not None:
            facts["mfu"] = self._computed / seconds * self.flops_per_token / (peak * self._processes)
        self.begin()
        return facts

    def begin(self) -> None:
        """Forgets what was not read; speeds count from now on."""
        self._sums = {}
        self._updates, self._tokens, self._computed, self._began = 0, 0, 0, time.monotonic()


def memory_bytes(device: torch.device) -> int:
    """The most that this process ever held: allocated on its GPU, or resident."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_flops(device: torch.device) -> float | None:
    """Products and sums per second that a GPU can do at most in bfloat16; None where nobody wrote it down."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for prefix, flops in PEAK_FLOPS.items() if name.startswith(prefix)), None)
