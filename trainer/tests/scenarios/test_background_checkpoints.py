"""Checkpoints that are written beside the updates: killed, stopped, failing, and of two processes."""

import os
import signal
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from safetensors.torch import load_file

from coevolve_trainer.failures import EXIT_CODES, JobFailure
from coevolve_trainer.updates.checkpoint_write import CheckpointWrite
from coevolve_trainer.updates.dataset_objectives import SftObjective
from coevolve_trainer.updates.host_memory import MemoryNeed
from job_folder import JobFolder, exit_code, policy_bytes, wait_until
from slow_writes import (
    before_file,
    checkpoint_writer,
    checkpoints_in,
    in_background,
    pipe_in,
    steps,
    wait_for_reader,
    wait_for_writer,
)
from small_disk import run_on_small_disk

WRITTEN_FILES = 3  # with tensors, of a checkpoint of one process
# A process that does not look for free space before a checkpoint
UNAWARE = """
import sys
from importlib import import_module
from pathlib import Path
from threading import Event
from coevolve_trainer.run import run_job
from coevolve_trainer.updates import checkpoint_writer
checkpoint_writer.BACKGROUND_BYTES = 0
checkpoint_writer.require_free_space = lambda folder, size: None
sys.exit(run_job(Path(sys.argv[1]), Event()))
"""


def create_job(folder: Path, datasets: Path, base: Path, **settings: Any) -> JobFolder:
    """A job with a checkpoint after every fourth of its 24 updates."""
    defaults = {"epochs": 4, "batch_size": 8, "checkpoint_every": 4, "log_every": 1}
    dataset = datasets / "experts.jsonl"
    return JobFolder(folder, method="sft", base=base, dataset=dataset, settings=defaults | settings)


@pytest.fixture
def job(tmp_path: Path, datasets: Path, trained: Path) -> JobFolder:
    return create_job(tmp_path / "job", datasets, trained)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, datasets: Path, trained: Path) -> JobFolder:
    """The job whose updates wait for its checkpoints, as in a job with a small policy."""
    job = create_job(tmp_path_factory.mktemp("uninterrupted") / "job", datasets, trained)
    assert job.run() == 0
    return job


def test_a_job_makes_updates_beside_a_write_and_resumes_from_the_checkpoint_before_it(
    job: JobFolder, uninterrupted: JobFolder
) -> None:
    pipe = pipe_in(job)
    child = job.fork(before_file(WRITTEN_FILES + 2, lambda: wait_for_writer(pipe)))  # of update 8
    wait_until(lambda: 11 in steps(job))
    assert checkpoints_in(job) == job.checkpoint_steps == [4]
    assert (job.folder / "checkpoints/.staging-000008/model.safetensors").exists()
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) == -signal.SIGKILL
    assert job.run() == 0
    assert job.resumed_steps == [4]
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


def test_the_next_checkpoint_waits_for_the_write_and_both_have_the_state_of_their_update(
    job: JobFolder, uninterrupted: JobFolder
) -> None:
    pipe = pipe_in(job)
    child = job.fork(before_file(1, lambda: wait_for_writer(pipe)))  # of update 4
    wait_until(lambda: 8 in steps(job))
    assert checkpoints_in(job) == []
    wait_for_reader(pipe)
    wait_until(lambda: 8 in job.checkpoint_steps)
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) == -signal.SIGKILL
    assert checkpoints_in(job)[0] == 4
    assert load_file(job.folder / "checkpoints/step-000004/optimizer.safetensors")["0.step"].item() == 4
    assert load_file(job.folder / "checkpoints/step-000008/optimizer.safetensors")["0.step"].item() == 8
    assert job.run() == 0
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


def test_sigterm_ends_the_job_after_the_write_in_flight_and_a_checkpoint_of_the_newest_update(
    job: JobFolder, uninterrupted: JobFolder
) -> None:
    pipe = pipe_in(job)
    child = job.fork(before_file(1, lambda: wait_for_writer(pipe)))
    wait_until(lambda: 5 in steps(job))
    os.kill(child, signal.SIGTERM)
    wait_for_reader(pipe)
    assert exit_code(child) == EXIT_CODES["cancelled"]
    newest = steps(job)[-1]
    assert newest < 24
    assert checkpoints_in(job) == job.checkpoint_steps == [4, newest]
    assert job.run() == 0
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


@pytest.mark.of_all
def test_a_disk_that_fills_up_during_a_write_ends_the_job_as_disk_full(
    job: JobFolder, uninterrupted: JobFolder
) -> None:
    """The disk has 900 KB; one checkpoint fits."""
    (job.folder / "checkpoints").mkdir()
    mount = 'mount -t tmpfs -o size=900k tmpfs "$1/checkpoints"'
    child = run_on_small_disk(mount, 'exec "$2" -c "$3" "$1"', job.folder, UNAWARE)
    assert child.returncode == EXIT_CODES["disk-full"], child.stderr
    assert job.failure["type"] == "disk-full"
    assert "No space left on device" in job.failure["message"]
    assert checkpoints_in(job) == [4]
    assert 9 <= steps(job)[-1] + 1 <= 13  # during the write of update 8, and before another
    assert job.run() == 0  # on the real disk
    assert policy_bytes(job.output) == policy_bytes(uninterrupted.output)


def test_a_job_that_fails_leaves_the_checkpoint_that_was_being_written(job: JobFolder) -> None:
    waits = Event()

    def prepare() -> None:
        before_file(1, waits.wait)()
        loss, settle, count = SftObjective.loss, CheckpointWrite._settle, iter(range(1, 1000))

        def fail_in_update_6(*arguments: Any) -> Any:
            if next(count) == 6:  # one micro-batch per update
                raise JobFailure("diverged", "for this test")
            return loss(*arguments)

        def write_and_settle(write: CheckpointWrite) -> None:
            waits.set()
            settle(write)

        SftObjective.loss = fail_in_update_6  # type: ignore[method-assign, assignment]
        CheckpointWrite._settle = write_and_settle  # type: ignore[method-assign, assignment]

    assert exit_code(job.fork(prepare)) == EXIT_CODES["diverged"]
    assert (steps(job), checkpoints_in(job), job.checkpoint_steps) == ([1, 2, 3, 4, 5], [4], [4])


def test_the_updates_wait_for_a_checkpoint_of_which_memory_holds_no_copy(job: JobFolder) -> None:
    def prepare() -> None:
        in_background()
        checkpoint_writer.memory_need = lambda size: MemoryNeed("here", size, size - 1)

    assert exit_code(job.fork(prepare)) == 0
    reasons: list[Any] = [event.get("updates_waited") for event in job.events_of("checkpoint")]
    assert all("here: a copy needs" in reason for reason in reasons[:-1])
    assert reasons[-1] is None  # nothing follows the last one, so it needs no copy
