"""Every spelling of lack of memory is the failure `out-of-memory`, and similar errors are not."""

import errno

import pytest
import torch

from coevolve_trainer.distributed import require_devices
from coevolve_trainer.failures import JobFailure, as_job_failure

OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of"),
    torch.OutOfMemoryError("HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.98 GiB total capacity"),
    torch.AcceleratorError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    RuntimeError("CUDA driver error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
    RuntimeError("HIP error: out of memory"),
    torch.distributed.DistBackendError(
        "NCCL error in: ProcessGroupNCCL.cpp:2251, Cuda failure 2 'out of memory'"
    ),
    torch.distributed.DistBackendError("ncclUnhandledCudaError: Failed to CUDA calloc async 608 bytes"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("unable to mmap 512 bytes from file </model.safetensors>: Cannot allocate memory (12)"),
    RuntimeError("CUDA driver error: CUDA_ERROR_OUT_OF_MEMORY"),
    RuntimeError("cudaErrorMemoryAllocation"),
    RuntimeError("HIP error: hipErrorOutOfMemory"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:83] data. DefaultCPUAllocator: not enough memory: you tried"
    ),
    RuntimeError("std::bad_alloc"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    MemoryError(),
]
OTHERS = [
    torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"),
    ValueError("the word list ran out of memory cards"),
    OSError(errno.EACCES, "Permission denied"),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: f"{type(error).__name__}: {error}"[:60])
def test_lack_of_memory_is_recognized(error: Exception) -> None:
    assert as_job_failure(error).type == "out-of-memory"


@pytest.mark.parametrize("error", OTHERS, ids=lambda error: f"{type(error).__name__}: {error}"[:60])
def test_another_error_is_not_lack_of_memory(error: Exception) -> None:
    assert as_job_failure(error).type == "internal"


def test_more_processes_than_gpus_are_rejected_with_both_numbers() -> None:
    with pytest.raises(JobFailure) as caught:
        require_devices(4, 2)
    assert caught.value.type == "bad-input"
    assert caught.value.message.startswith("settings.processes: found 4, expected at most 2, the GPUs")
    require_devices(2, 2)
