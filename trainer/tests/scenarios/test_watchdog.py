"""The watchdog exits a job that hangs, and ignores a job that waits for its batch."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder, exit_code, policy_bytes, rl_job

PIPE_BYTES = 4096


@contextmanager
def blocking_progress(job: JobFolder) -> Iterator[None]:
    """Replaces progress.jsonl by a pipe that is never read: when it is full, the job blocks."""
    path = job.folder / "progress.jsonl"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        yield
    finally:
        os.close(reader)
        path.unlink()


def test_a_job_that_hangs_exits_as_stalled_and_resumes(tmp_path: Path, datasets: Path, trained: Path) -> None:
    settings: dict[str, Any] = {"epochs": 8, "log_every": 1, "checkpoint_every": 4, "stall_timeout_s": 3}
    dataset = datasets / "experts.jsonl"
    uninterrupted, hanging = (
        JobFolder(tmp_path / name, method="sft", base=trained, dataset=dataset, settings=settings)
        for name in ("uninterrupted", "hanging")
    )
    assert uninterrupted.run() == 0
    with blocking_progress(hanging):
        assert exit_code(hanging.fork()) == EXIT_CODES["stalled"]
    assert (hanging.status["state"], hanging.failure["type"]) == ("failed", "stalled")
    assert "no progress for 3 s" in hanging.failure["message"]

    assert hanging.run() == 0
    (resumed,) = hanging.resumed_steps
    assert resumed >= 4
    assert policy_bytes(hanging.output) == policy_bytes(uninterrupted.output)


def test_an_rl_job_that_waits_for_its_batch_is_not_stalled(tmp_path: Path, trained: Path) -> None:
    settings = {"idle_timeout_s": 2.5, "stall_timeout_s": 1.5}
    job = rl_job(tmp_path / "job", trained, steps=1, settings=settings)
    assert job.run() == EXIT_CODES["cancelled"]
    assert "no batch for update 1 within 2.5 s" in job.failure["message"]
