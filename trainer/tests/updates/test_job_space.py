"""The space that a job demands is what its files take: measured on real jobs of both engines."""

from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.job import read_job
from coevolve_trainer.updates.job_space import bytes_of_job
from job_folder import JobFolder, rl_job
from sampled_rollouts import Rows
from small_disk import run_on_small_disk

LORA = {"adapter": "lora", "lora_rank": 64}  # large enough that headers of files are a few percent


def size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def peak(job: JobFolder) -> int:
    """Returns the most bytes of a finished job's files: those at its end, or four checkpoints.

    A job whose loss falls keeps two checkpoints, as here; with another best one it keeps three.
    """
    checkpoint = size(job.folder / "checkpoints" / f"step-{job.newest_checkpoint:06d}")
    end = size(job.output) + size(job.folder / "trainer-state.safetensors")
    return size(job.folder / "policies") + 3 * checkpoint + max(checkpoint, end)


def demand(job: JobFolder) -> int:
    """Returns the bytes that the job demanded, without its reserve."""
    return bytes_of_job(read_job(job.folder), job.status["trainable_parameters"], job.status["total_steps"])


@pytest.mark.parametrize("engine", ["builtin", pytest.param("trl", marks=pytest.mark.of_all)])
@pytest.mark.parametrize("settings", [LORA, {}], ids=["adapter", "whole"])
def test_a_long_job_demands_what_its_checkpoints_and_its_policy_take(
    settings: dict[str, Any], engine: str, tmp_path: Path, datasets: Path, base: Path
) -> None:
    settings = {"epochs": 4, "checkpoint_every": 4, "engine": engine} | settings  # 24 updates
    dataset = datasets / "experts.jsonl"
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset, settings=settings)
    assert job.run() == 0, job.failure
    assert demand(job) == pytest.approx(peak(job), rel=0.1)


def test_a_job_that_ends_before_its_first_checkpoint_demands_room_for_one(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    """The checkpoint is written at a stop; four more of them, as of a long job, are not needed."""
    dataset = datasets / "experts.jsonl"
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset, settings=LORA | {"epochs": 1})
    assert job.run() == 0, job.failure
    assert job.checkpoint_steps == []
    assert demand(job) == pytest.approx(4 * size(job.output), rel=0.1)


def test_a_job_of_reinforcement_learning_demands_a_policy_with_its_tokenizer_per_step(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, steps=4, settings=LORA)
    for step, rows in enumerate(batches, 1):
        job.submit(step, rows)
    assert job.run() == 0, job.failure
    assert demand(job) == pytest.approx(peak(job), rel=0.1)


def test_a_disk_of_the_demanded_size_is_enough_for_a_job_and_for_its_repetition(
    tmp_path: Path, datasets: Path, base: Path
) -> None:
    """The repeated job has its checkpoints on the disk, so only the rest must fit."""
    settings = LORA | {"epochs": 4, "checkpoint_every": 4}
    job, copy = (
        JobFolder(
            tmp_path / name, method="sft", base=base, dataset=datasets / "experts.jsonl", settings=settings
        )
        for name in ("job", "copy")
    )
    assert job.run() == 0, job.failure
    # A tenth more, for the headers and the last pages of its files
    mount = f'cp "$1/job.json" "$1.json" && mount -t tmpfs -o size={demand(job) * 11 // 10} tmpfs "$1"'
    run = '"$2" -m coevolve_trainer run "$1"'
    commands = f'cp "$1.json" "$1/job.json" && {run} && rm -r "$1/policy" && {run} && ls "$1/policy"'
    child = run_on_small_disk(mount, commands, copy.folder)
    assert child.returncode == 0, child.stderr
    assert "adapter_model.safetensors" in child.stdout
