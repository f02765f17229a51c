"""Jobs whose work stops moving, and jobs that only wait."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from test_jobs import bytes_of

from coevolve_trainer.failures import EXIT_CODES
from job_folder import JobFolder, resident_job
from sampled_rollouts import Rows

PIPE_BYTES = 4096


@contextmanager
def unread_progress(job: JobFolder) -> Iterator[None]:
    """progress.jsonl as a pipe that nobody reads: once it is full, whoever writes a line hangs."""
    path = job.folder / "progress.jsonl"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    try:
        yield
    finally:
        os.close(reader)
        path.unlink()


def test_a_job_that_hangs_is_stalled_and_goes_on_when_it_is_started_again(
    tmp_path: Path, workshop: Path, trained: Path
) -> None:
    # Long enough for a slow start, which is work as well
    settings: dict[str, Any] = {"epochs": 8, "log_every": 1, "checkpoint_every": 4, "stall_timeout_s": 6}
    dataset = workshop / "experts.jsonl"
    smooth, hanging = (
        JobFolder(tmp_path / name, method="sft", base=trained, dataset=dataset, settings=settings)
        for name in ("smooth", "hanging")
    )
    assert smooth.run() == 0
    with unread_progress(hanging):
        child = hanging.spawn()
        child.communicate()
    assert child.returncode == EXIT_CODES["stalled"]
    failure = hanging.status["failure"]
    assert (hanging.status["state"], failure["type"]) == ("failed", "stalled")
    assert "no progress for 6 s" in failure["message"]

    assert hanging.run() == 0
    (resumed,) = (event["step"] for event in hanging.events if event["event"] == "resumed")
    assert resumed >= 4
    assert bytes_of(hanging.output) == bytes_of(smooth.output)


def test_a_resident_job_that_waits_for_its_batch_is_not_stalled(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    settings = {"idle_timeout_s": 4, "stall_timeout_s": 1.5}
    job = resident_job(tmp_path / "job", trained, steps=1, settings=settings)
    assert job.run() == EXIT_CODES["cancelled"]
    assert "no batch for update 1 within 4 s" in job.status["failure"]["message"]
