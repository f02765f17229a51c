"""The failure types of a job, each with its exit code."""

from __future__ import annotations

import errno
from typing import Literal

FailureType = Literal[
    "internal",  # a bug in this program: report it
    "bad-input",  # the job, its files or its settings are wrong: correct them
    "already-running",  # another process runs the job: wait for it
    "diverged",  # loss or gradient is not finite, or the loss keeps growing: lower the learning rate
    "disk-full",  # free some space, then start again: the job resumes
    "out-of-memory",  # lower max_length, or use gradient_checkpointing, an adapter or fsdp
    "cancelled",  # SIGTERM, or no batch arrived; start again to resume
    "stalled",  # no progress for stall_timeout_s, or a process lost the others; start again to resume
    "lost-actions",  # max_length cuts more actions than max_lost_actions allows: raise one of both
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
    "lost-actions": 9,
}


DISK_FULL = ("No space left on device", "PytorchStreamWriter failed")
"""Parts of the messages of safetensors' and torch's writers on a full disk, whose errors are no OSErrors."""

OUT_OF_MEMORY = (
    "out of memory",  # CUDA's and HIP's allocator, CUDA as AcceleratorError, and NCCL
    "out_of_memory",  # CUDA_ERROR_OUT_OF_MEMORY, of the driver
    "outofmemory",  # hipErrorOutOfMemory
    "errormemoryallocation",  # cudaErrorMemoryAllocation
    "can't allocate memory",  # DefaultCPUAllocator
    "not enough memory",  # DefaultCPUAllocator with another malloc
    "cannot allocate memory",  # ENOMEM in the text of another error, for example about pinned memory
    "alloc_failed",  # CUBLAS_STATUS_ALLOC_FAILED, CUSOLVER_..., CUSPARSE_..., CUDNN_...
    "allocation_failed",  # CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, and ..._DEVICE_...
    "failed to cuda calloc",  # NCCL, for its buffers
    "bad_alloc",  # C++
)
"""Parts of the messages of RuntimeErrors, in lower case, by which lack of memory is recognized."""


class JobFailure(Exception):
    """A failure of a known type, with a message for the operator."""

    def __init__(self, type: FailureType, message: str) -> None:
        super().__init__(message)
        self.type: FailureType = type
        self.message = message

    def fields(self) -> dict[str, str]:
        """Returns the failure as status.json holds it."""
        return {"type": self.type, "message": self.message}


def bad_input(field: str, found: object, expected: str) -> JobFailure:
    """Returns an input error in its only form: field, value found, value expected."""
    return JobFailure("bad-input", f"{field}: found {found}, expected {expected}")


def as_job_failure(error: BaseException) -> JobFailure:
    """Converts any exception of the training code to a failure of a known type."""
    if isinstance(error, JobFailure):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return JobFailure("disk-full", f"{error.filename or 'a file'}: {error.strerror}")
    if any(spelling in str(error) for spelling in DISK_FULL):
        return JobFailure("disk-full", str(error).splitlines()[0])
    if _is_out_of_memory(error):
        return JobFailure("out-of-memory", str(error).splitlines()[0] if str(error) else "no memory left")
    if _is_lost_connection(error):
        cause = str(error).split("\n", 1)[0]
        return JobFailure("stalled", f"a process lost the others: {cause}; start the job again to resume")
    return JobFailure("internal", f"{type(error).__name__}: {error}")


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    # torch's own classes, OutOfMemoryError and AcceleratorError, are RuntimeErrors too
    if not isinstance(error, RuntimeError):
        return False
    text = str(error).lower()
    return type(error).__name__ == "OutOfMemoryError" or any(spelling in text for spelling in OUT_OF_MEMORY)


def _is_lost_connection(error: BaseException) -> bool:
    # NCCL's errors have classes of their own, gloo's are RuntimeErrors that name its source file
    return type(error).__name__ in ("DistBackendError", "DistNetworkError", "DistStoreError") or (
        isinstance(error, RuntimeError) and "gloo/transport" in str(error)
    )
