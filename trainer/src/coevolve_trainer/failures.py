"""How a job fails: every failure has a type that the caller can act on and an exit code of its own."""

from __future__ import annotations

import errno
from typing import Literal

FailureType = Literal[
    "internal",  # a fault of this program: report it
    "bad-input",  # the job, its files or its settings are wrong: mend them
    "already-running",  # another process holds the job: wait for it
    "diverged",  # loss or gradient is not finite, or the loss runs away: lower the learning rate
    "disk-full",  # make room, then start again: the job resumes
    "out-of-memory",  # lower batch_size, micro_batch_tokens or max_length
    "cancelled",  # stopped by SIGTERM, or no batch came; all that was done is kept: start again to go on
    "stalled",  # nothing moved for stall_timeout_s: start again to go on
]

EXIT_CODES: dict[FailureType, int] = {
    "internal": 1,
    "bad-input": 2,
    "already-running": 3,
    "diverged": 4,
    "disk-full": 5,
    "out-of-memory": 6,
    "cancelled": 7,
    "stalled": 8,
}


class JobFailure(Exception):
    """A failure of a known type, with a message for the person who must act on it."""

    def __init__(self, type: FailureType, message: str) -> None:
        super().__init__(message)
        self.type: FailureType = type
        self.message = message


def bad_input(field: str, found: object, expected: str) -> JobFailure:
    """The one form of every input error: the field, what was found, what was expected."""
    return JobFailure("bad-input", f"{field}: found {found}, expected {expected}")


def as_job_failure(error: BaseException) -> JobFailure:
    """Names the type of any exception that left the training code."""
    if isinstance(error, JobFailure):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return JobFailure("disk-full", f"{error.filename or 'a file'}: {error.strerror}")
    if _is_out_of_memory(error):
        return JobFailure("out-of-memory", str(error).splitlines()[0] if str(error) else "no memory left")
    return JobFailure("internal", f"{type(error).__name__}: {error}")


def _is_out_of_memory(error: BaseException) -> bool:
    # torch raises its own class on accelerators, and a plain RuntimeError with these words on a CPU
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
    )
