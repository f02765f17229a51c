"""Checkpoints of two processes, written beside the updates."""

import os
import signal
from pathlib import Path

import pytest
from safetensors.torch import load_file
from test_background_checkpoints import create_job

from coevolve_trainer.failures import EXIT_CODES
from job_folder import exit_code, policy_bytes, wait_until
from ranks import fork_ranks, run_forked
from slow_writes import before_file, checkpoints_in, pipe_in, steps, wait_for_writer, write_to_a_full_disk

pytestmark = pytest.mark.of_all

SHARDED = {"sharding": "fsdp", "processes": 2}


def test_each_of_two_processes_writes_its_shards_and_both_resume_from_them(
    tmp_path: Path, datasets: Path, trained: Path
) -> None:
    job, uninterrupted = (
        create_job(tmp_path / name, datasets, trained, **SHARDED) for name in ("job", "uninterrupted")
    )
    assert run_forked(uninterrupted) == [0, 0]
    pipe = pipe_in(job)

    def delay_rank_one() -> None:
        # Rank one writes two files per checkpoint; its second checkpoint stays incomplete
        number = 4 if os.environ["RANK"] == "1" else 0
        before_file(number, lambda: wait_for_writer(pipe))()

    children = fork_ranks(job, delay_rank_one)
    wait_until(lambda: 11 in steps(job))
    assert checkpoints_in(job) == job.checkpoint_steps == [4]
    for child in children:
        os.kill(child, signal.SIGKILL)
    assert [exit_code(child) for child in children] == [-signal.SIGKILL] * 2
    folder = job.folder / "checkpoints/step-000004"
    whole = load_file(trained / "model.safetensors")
    shards = [load_file(folder / f"model.rank{rank}.safetensors") for rank in (0, 1)]
    for name, weight in whole.items():
        assert sum(shard[name].shape[0] for shard in shards) == weight.shape[0]
    assert run_forked(job) == [0, 0], job.failure
    assert job.resumed_steps == [4]
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_a_write_that_fails_on_one_process_is_the_failure_of_the_job(
    sharding: str, tmp_path: Path, datasets: Path, trained: Path
) -> None:
    writer = "1" if sharding == "fsdp" else "0"

    def prepare() -> None:
        is_writer = os.environ["RANK"] == writer
        before_file(1 if is_writer else 0, write_to_a_full_disk)()

    job = create_job(tmp_path / "job", datasets, trained, sharding=sharding, processes=2)
    assert EXIT_CODES["disk-full"] in run_forked(job, prepare)
    assert job.failure["type"] == "disk-full"
    assert job.checkpoint_steps == []
