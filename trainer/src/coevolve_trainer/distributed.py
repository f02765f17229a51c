"""A process group of several processes over torch.distributed: gloo for CPUs, NCCL between GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .failures import FailureType, JobFailure, as_job_failure, bad_input
from .process_group import M, ProcessGroup
from .settings import ComputeSettings

T = TypeVar("T")

BUCKET_SIZE = 2**23  # gradients in one all-reduce: 32 MB of float32
# The watchdog limits waits of the work itself; an RL job may wait for its batch for days
TIMEOUT = timedelta(days=30)


class DistributedGroup(ProcessGroup):
    """One of `size` processes. With `sharded` every pass is collective: all ranks make it together."""

    def __init__(self, rank: int, size: int, *, sharded: bool) -> None:
        super().__init__()
        self.rank, self.size, self.sharded = rank, size, sharded
        self.gradient_scale = float(size) if sharded else 1.0
        self._connections: dist.ProcessGroup | None = None  # torch's default group

    @classmethod
    def join(cls, settings: ComputeSettings) -> DistributedGroup:
        """Connects to the other processes; returns when all have connected."""
        device = device_of(settings)
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        rank, size = int(os.environ.get("RANK", "0")), settings.processes
        if device.type == "cuda":
            torch.cuda.set_device(device)
        # Without a launcher a job of one process has no rendezvous address
        store = None if "MASTER_ADDR" in os.environ else dist.HashStore()  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        return cls(rank, size, sharded=settings.sharding in ("fsdp", "deepspeed"))

    def local_micro_batches(self, micro_batches: Sequence[M]) -> Iterator[tuple[M, bool]]:
        local = [(micro_batch, True) for micro_batch in micro_batches[self.rank :: self.size]]
        if self.sharded:
            passes = -(-len(micro_batches) // self.size)
            local += [(micro_batches[0], False)] * (passes - len(local))
        for micro_batch, counts in local:
            yield micro_batch, counts
            self.on_pass()

    def parallel_map(self, micro_batches: Sequence[M], compute: Callable[[M], Tensor]) -> list[Tensor]:
        devices: list[torch.device] = []

        def compute_local() -> list[Tensor]:
            with torch.no_grad():
                results = [(compute(m), counts) for m, counts in self.local_micro_batches(micro_batches)]
            devices.extend(tensor.device for tensor, _ in results[:1])
            return [tensor.cpu() for tensor, counts in results if counts]

        by_rank = self.all_gather(compute_local)
        device = devices[0] if devices else torch.device("cpu")
        return [by_rank[i % self.size][i // self.size].to(device) for i in range(len(micro_batches))]

    def all_gather(self, action: Callable[[], T]) -> list[T]:
        local = self._outcome_of(action, raises=self.sharded)
        outcomes: list[Any] = [None] * self.size
        dist.all_gather_object(outcomes, local, group=self._connections)
        return [_value_of(outcome) for outcome in outcomes]

    def on_rank_zero(self, action: Callable[[], T]) -> T:
        outcome: list[Any] = [self._outcome_of(action) if self.is_rank_zero else None]
        dist.broadcast_object_list(outcome, src=0, group=self._connections)
        value: T = _value_of(outcome[0])
        return value

    def all_reduce_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        if self.sharded:
            return  # each backward pass has reduced them
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

    def for_background(self) -> DistributedGroup:
        # Not sharded: it makes no passes, so a failure reaches the other processes as one of a known type
        group = DistributedGroup(self.rank, self.size, sharded=False)
        group._connections = dist.new_group(backend="gloo", timeout=TIMEOUT)
        return group

    def destroy(self) -> None:
        dist.destroy_process_group()

    def _outcome_of(self, action: Callable[[], T], *, raises: bool = False) -> tuple[T | None, Any]:
        """Returns the value and no failure, or no value and the failure's type and message.

        With `raises` a failure is raised at once: the other ranks are in a collective pass and fail when this
        process exits.
        """
        try:
            return action(), None
        except Exception as error:
            if raises:
                raise
            failure = as_job_failure(error)
            return None, (failure.type, failure.message)


def device_of(settings: ComputeSettings) -> torch.device:
    """Returns this process's device: its GPU, or the CPU.

    Raises:
        JobFailure: `bad-input` when the settings require CUDA and there is none, or when there are fewer
            GPUs than processes.
    """
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise bad_input("settings.device", "cuda", "cpu or auto: torch finds no CUDA device")
    if settings.device == "cpu" or (settings.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    require_devices(int(os.environ.get("LOCAL_WORLD_SIZE", "1")), torch.cuda.device_count())
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def require_devices(local_processes: int, devices: int) -> None:
    """Raises `bad-input` when this machine has more processes of the job than GPUs.

    Two processes on one GPU would fail in NCCL, as a bug of this program.
    """
    if local_processes > devices:
        expected = f"at most {devices}, the GPUs that torch finds on this machine, or device: cpu"
        raise bad_input("settings.processes", local_processes, expected)


def _value_of(outcome: tuple[Any, tuple[FailureType, str] | None]) -> Any:
    value, failure = outcome
    if failure is not None:
        raise JobFailure(*failure)
    return value


def _buckets(gradients: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    bucket: list[Tensor] = []
    for gradient in gradients:
        if bucket and sum(g.numel() for g in bucket) + gradient.numel() > BUCKET_SIZE:
            yield bucket
            bucket = []
        bucket.append(gradient)
    yield bucket
