"""Jobs that write their checkpoints beside the updates, and can be held there."""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from job_folder import JobFolder

# Modules whose names a job's process replaces
checkpoint: Any = import_module("coevolve_trainer.updates.checkpoint")
checkpoint_writer: Any = import_module("coevolve_trainer.updates.checkpoint_writer")


def in_background() -> None:
    checkpoint_writer.BACKGROUND_BYTES = 0


def before_file(number: int, action: Callable[[], object]) -> Callable[[], None]:
    """Returns a preparation of a job that writes in the background, and calls `action` before a file."""

    def prepare() -> None:
        in_background()
        save_file, count = checkpoint.save_file, iter(range(1, 1000))

        def act_and_save(*arguments: Any) -> None:
            if next(count) == number:
                action()
            save_file(*arguments)

        checkpoint.save_file = act_and_save

    return prepare


def pipe_in(job: JobFolder) -> Path:
    """A pipe: whoever opens it to read waits until another opens it to write."""
    path = job.folder / "pipe"
    os.mkfifo(path)
    return path


def wait_for_writer(pipe: Path) -> None:
    pipe.open("rb").close()


def write_to_a_full_disk() -> None:
    with open("/dev/full", "wb", buffering=0) as full:  # never by a name that a library may replace
        full.write(b"1")


def wait_for_reader(pipe: Path) -> None:
    pipe.open("wb").close()


def steps(job: JobFolder) -> list[int]:
    has_lines = (job.folder / "progress.jsonl").exists()
    return [event["step"] for event in job.events_of("step")] if has_lines else []


def checkpoints_in(job: JobFolder) -> list[int]:
    return [event["step"] for event in job.events_of("checkpoint")]
