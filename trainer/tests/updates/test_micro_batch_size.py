"""When memory runs out, micro-batches are halved down to one example each."""

from collections.abc import Callable

import pytest
import torch

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.updates.micro_batch_size import MicroBatchSize

ROWS = [100, 100, 100, 100, 100, 100, 100, 100]


def micro_batches(tokens: int) -> int:
    """Number of micro-batches of `ROWS`, where a row is not split."""
    per_micro_batch = max(1, tokens // 100)
    return -(-len(ROWS) // per_micro_batch)


def fits(limit: int, tried: list[int]) -> Callable[[int], int]:
    """Returns a computation that runs out of memory for more than `limit` tokens."""

    def compute(tokens: int) -> int:
        tried.append(tokens)
        if tokens > limit:
            raise torch.OutOfMemoryError(f"CUDA out of memory with {tokens} tokens")
        return tokens

    return compute


def test_the_size_is_halved_until_the_micro_batches_fit() -> None:
    halved, tried, undone = list[int](), list[int](), list[None]()
    size = MicroBatchSize(8192, may_halve=True, on_halved=halved.append)
    found = size.retry_on_oom(fits(150, tried), count=micro_batches, undo=lambda: undone.append(None))
    assert (found, size.tokens) == (128, 128)
    # Between 8192 and 800 tokens all rows are in one micro-batch: such sizes are not tried
    assert tried == [8192, 512, 256, 128]
    assert halved == [512, 256, 128]
    assert len(undone) == 3


def test_a_later_computation_starts_with_the_halved_size_and_may_halve_it_again() -> None:
    tried: list[int] = []
    size = MicroBatchSize(512, may_halve=True)
    for limit in (256, 200):
        size.retry_on_oom(fits(limit, tried), count=micro_batches, undo=lambda: None)
    assert tried == [512, 256, 256, 128]


def test_one_row_that_does_not_fit_is_a_failure_that_names_the_settings() -> None:
    size = MicroBatchSize(512, may_halve=True)
    with pytest.raises(JobFailure) as caught:
        size.retry_on_oom(fits(50, []), count=micro_batches, undo=lambda: None)
    assert caught.value.type == "out-of-memory"
    assert "micro-batches of 128 tokens: CUDA out of memory with 128 tokens" in caught.value.message
    assert "lower settings.max_length" in caught.value.message


def test_in_a_collective_pass_the_failure_names_the_size_of_micro_batches() -> None:
    size = MicroBatchSize(512, may_halve=False)
    with pytest.raises(JobFailure, match=r"lower settings\.micro_batch_tokens"):
        size.retry_on_oom(fits(50, []), count=micro_batches, undo=lambda: None)


def test_another_error_is_not_retried() -> None:
    tried: list[int] = []

    def compute(tokens: int) -> None:
        tried.append(tokens)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        MicroBatchSize(512, may_halve=True).retry_on_oom(compute, count=micro_batches, undo=lambda: None)
    assert tried == [512]
