"""The engine trl shards with accelerate's FSDP2: only on GPUs, so here it takes CPU ranks for GPUs."""

import errno
import os
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from accelerate import DistributedType, PartialState
from test_equal_losses import CASES, assert_same_training, create_job
from torch.distributed.checkpoint.filesystem import FileSystemWriter

from coevolve_trainer import engines
from job_folder import exit_code, pair_rows, policy_bytes, wait_until, write_rows
from ranks import fork_ranks, run_forked

pytestmark = pytest.mark.of_all

FSDP = {"sharding": "fsdp", "processes": 2}


def treat_cpus_as_gpus() -> None:
    """Replaces accelerate's look for devices; sharding, gathering and checkpoints are its own."""
    gloo = ("gloo", DistributedType.MULTI_GPU)
    PartialState._prepare_backend = lambda *_, **__: gloo
    PartialState.set_device = lambda self: setattr(self, "device", torch.device("cpu"))
    engines.trains_on_cuda = lambda settings: True


@pytest.mark.parametrize("case", ["sft", "target", "dpo of an adapter"])
def test_two_processes_with_a_shard_each_train_the_policy_of_one(
    case: str, base: Path, tmp_path: Path
) -> None:
    method, rows, settings = CASES[case]
    dataset = write_rows(tmp_path / "rows.jsonl", rows())
    alone = create_job(tmp_path / "alone", method, dataset, base, engine="trl", **settings)
    assert alone.run() == 0
    sharded = create_job(tmp_path / "sharded", method, dataset, base, engine="trl", **settings, **FSDP)
    assert run_forked(sharded, treat_cpus_as_gpus) == [0, 0], sharded.failure
    assert_same_training(sharded, alone)


def test_a_killed_job_resumes_from_its_sharded_checkpoint(base: Path, tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", pair_rows(24))
    settings: dict[str, Any] = {"engine": "trl", "epochs": 6, "checkpoint_every": 2, **FSDP}
    uninterrupted, killed = (
        create_job(tmp_path / name, "dpo", dataset, base, **settings) for name in ("uninterrupted", "killed")
    )
    assert run_forked(uninterrupted, treat_cpus_as_gpus) == [0, 0]
    children = fork_ranks(killed, treat_cpus_as_gpus)
    wait_until(lambda: killed.newest_checkpoint)
    for child in children:
        os.kill(child, signal.SIGKILL)
    assert [exit_code(child) for child in children] == [-signal.SIGKILL] * 2
    assert run_forked(killed, treat_cpus_as_gpus) == [0, 0], killed.failure
    assert killed.resumed_steps
    assert policy_bytes(killed.output) == policy_bytes(uninterrupted.output)


def test_a_disk_that_fills_during_a_sharded_checkpoint_is_reported_as_full(
    base: Path, tmp_path: Path
) -> None:
    def fill_disk() -> None:
        treat_cpus_as_gpus()
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "shard")
        FileSystemWriter.write_data = Mock(side_effect=full)  # type: ignore[method-assign]

    dataset = write_rows(tmp_path / "rows.jsonl", pair_rows(8))
    job = create_job(tmp_path / "job", "dpo", dataset, base, engine="trl", checkpoint_every=1, **FSDP)
    assert 0 not in run_forked(job, fill_disk)
    assert job.failure == {"type": "disk-full", "message": "shard: No space left on device"}
