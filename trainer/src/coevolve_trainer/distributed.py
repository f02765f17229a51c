"""The ranks of a job of several processes, over torch.distributed: gloo for CPUs, NCCL between GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .failures import FailureType, JobFailure, as_job_failure, bad_input
from .process_group import P, Ranks
from .settings import ComputeSettings

T = TypeVar("T")

BUCKET_NUMBERS = 2**23  # gradients summed in one message: 32 MB of float32
# The watchdog decides when a wait has been too long; a resident job may wait for its batch for days
TIMEOUT = timedelta(days=30)


class Several(Ranks):
    """One of `size` processes. With `lockstep` the model is sharded: every pass is one that all make."""

    def __init__(self, rank: int, size: int, *, lockstep: bool) -> None:
        super().__init__()
        self.rank, self.size, self.lockstep = rank, size, lockstep
        self.gradient_scale = float(size) if lockstep else 1.0

    @classmethod
    def join(cls, settings: ComputeSettings) -> Several:
        """Meets the other processes; returns when all are there."""
        device = device_of(settings)
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        rank, size = int(os.environ.get("RANK", "0")), settings.processes
        if device.type == "cuda":
            torch.cuda.set_device(device)
        # Without a launcher a job of one process has nobody to meet
        store = None if "MASTER_ADDR" in os.environ else dist.HashStore()  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        return cls(rank, size, lockstep=settings.sharding == "fsdp")

    def share_of(self, parts: Sequence[P]) -> Iterator[tuple[P, bool]]:
        mine = [(part, True) for part in parts[self.rank :: self.size]]
        if self.lockstep:
            passes = -(-len(parts) // self.size)
            mine += [(parts[0], False)] * (passes - len(mine))
        for part, counts in mine:
            yield part, counts
            self.beat()

    def gather(self, parts: Sequence[P], compute: Callable[[P], Tensor]) -> list[Tensor]:
        devices: list[torch.device] = []

        def own() -> list[Tensor]:
            with torch.no_grad():
                found = [(compute(part), counts) for part, counts in self.share_of(parts)]
            devices.extend(tensor.device for tensor, _ in found[:1])
            return [tensor.cpu() for tensor, counts in found if counts]

        shares = self.together(own)
        device = devices[0] if devices else torch.device("cpu")
        return [shares[i % self.size][i // self.size].to(device) for i in range(len(parts))]

    def together(self, action: Callable[[], T]) -> list[T]:
        mine = self._attempt(action, raises=self.lockstep)
        outcomes: list[Any] = [None] * self.size
        dist.all_gather_object(outcomes, mine)
        return [_value(outcome) for outcome in outcomes]

    def first(self, action: Callable[[], T]) -> T:
        outcome: list[Any] = [self._attempt(action) if self.is_first else None]
        dist.broadcast_object_list(outcome, src=0)
        value: T = _value(outcome[0])
        return value

    def reduce_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        if self.lockstep:
            return  # reduced by each backward pass
        gradients = []
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad)
        for bucket in _buckets(gradients):
            flat = torch.cat([gradient.flatten() for gradient in bucket])
            dist.all_reduce(flat)
            sizes = [gradient.numel() for gradient in bucket]
            for gradient, summed in zip(bucket, torch.split(flat, sizes), strict=True):
                gradient.copy_(summed.view_as(gradient))

    def leave(self) -> None:
        dist.destroy_process_group()

    def _attempt(self, action: Callable[[], T], *, raises: bool = False) -> tuple[T | None, Any]:
        """The value and no failure, or no value and the failure's type and message.

        With `raises` a failure leaves at once: the others are in the middle of a pass and hear of it when
        this process ends.
        """
        try:
            return action(), None
        except Exception as error:
            if raises:
                raise
            failure = as_job_failure(error)
            return None, (failure.type, failure.message)


def device_of(settings: ComputeSettings) -> torch.device:
    """Where this process computes: its own GPU, or the CPU.

    Raises:
        JobFailure: `bad-input` when CUDA is asked for where there is none.
    """
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise bad_input("settings.device", "cuda", "cpu or auto: torch finds no CUDA device")
    if settings.device == "cpu" or (settings.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def _value(outcome: tuple[Any, tuple[FailureType, str] | None]) -> Any:
    value, failure = outcome
    if failure is not None:
        raise JobFailure(*failure)
    return value


def _buckets(gradients: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    bucket: list[Tensor] = []
    for gradient in gradients:
        if bucket and sum(g.numel() for g in bucket) + gradient.numel() > BUCKET_NUMBERS:
            yield bucket
            bucket = []
        bucket.append(gradient)
    yield bucket
