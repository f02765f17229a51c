"""Killed, stopped and torn jobs, as real processes."""

import os
import signal
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_jobs import bytes_of

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder

UPDATES = 144
SETTINGS: dict[str, Any] = {"checkpoint_every": 10, "log_every": 5}


def job_in(folder: Path, method: str, workshop: Path, base: Path) -> JobFolder:
    dataset = workshop / ("experts.jsonl" if method == "sft" else "pairs.jsonl")
    settings = SETTINGS | {"epochs": 24 if method == "sft" else 48}
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings=settings)


def wait_for(job: JobFolder, step: int) -> None:
    """Waits until the job has a checkpoint of at least `step` updates."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if any(int(path.name[5:]) >= step for path in (job.folder / "checkpoints").glob("step-*")):
            return
        time.sleep(0.01)
    raise AssertionError(f"no checkpoint of update {step}")


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, workshop: Path, trained: Path
) -> Callable[[str], JobFolder]:
    """A job of the given method that ran from start to end."""

    @cache
    def made(method: str) -> JobFolder:
        job = job_in(tmp_path_factory.mktemp("undisturbed") / "job", method, workshop, trained)
        assert job.run() == 0
        return job

    return made


@pytest.mark.parametrize("method", ["sft", "target"])
def test_a_job_killed_in_the_middle_ends_with_the_bytes_of_an_undisturbed_one(
    method: str, undisturbed: Callable[[str], JobFolder], tmp_path: Path, workshop: Path, trained: Path
) -> None:
    killed = job_in(tmp_path / "killed", method, workshop, trained)
    child = killed.spawn()
    wait_for(killed, 10)
    child.kill()
    child.communicate()
    assert killed.status["state"] == "running"  # as the kill left it
    assert not killed.output.exists()

    assert killed.run() == 0
    (resumed,) = (event for event in killed.events if event["event"] == "resumed")
    assert 10 <= resumed["step"] < UPDATES
    assert bytes_of(killed.output) == bytes_of(undisturbed(method).output)
    assert killed.status["policy_hash"] == undisturbed(method).status["policy_hash"]
    assert killed.status["tokens"] == undisturbed(method).status["tokens"]


def test_a_stopped_job_leaves_a_checkpoint_and_goes_on_past_a_torn_one(
    undisturbed: Callable[[str], JobFolder], tmp_path: Path, workshop: Path, trained: Path
) -> None:
    job = job_in(tmp_path / "stopped", "sft", workshop, trained)
    child = job.spawn()
    wait_for(job, 20)

    child.send_signal(signal.SIGTERM)
    _, message = child.communicate()
    assert child.returncode == EXIT_CODES["cancelled"], message
    stopped = job.status
    assert stopped["failure"]["type"] == "cancelled"
    checkpoints = sorted((job.folder / "checkpoints").glob("step-*"))
    assert (
        f"stopped after update {int(checkpoints[-1].name[5:])} of {UPDATES}" == stopped["failure"]["message"]
    )

    torn = checkpoints[-1] / "optimizer.safetensors"
    os.truncate(torn, torn.stat().st_size // 2)
    assert job.run() == 0
    resumed = [event["step"] for event in job.events if event["event"] == "resumed"]
    assert resumed == [int(checkpoints[-2].name[5:])]
    assert bytes_of(job.output) == bytes_of(undisturbed("sft").output)


def test_a_second_process_on_a_running_job_leaves_it_alone(
    tmp_path: Path, workshop: Path, trained: Path
) -> None:
    job = job_in(tmp_path / "job", "sft", workshop, trained)
    child = job.spawn()
    wait_for(job, 10)
    child.send_signal(signal.SIGSTOP)  # so that it holds the job for as long as we look
    before = job.status, job.events
    assert job.run() == EXIT_CODES["already-running"]
    assert (job.status, job.events) == before
    assert job.status["pid"] == child.pid
    child.kill()
    child.communicate()
