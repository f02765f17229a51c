"""The size of micro-batches, halved when memory runs out, down to micro-batches of one example."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from ..failures import JobFailure, as_job_failure

T = TypeVar("T")


class MicroBatchSize:
    """Max tokens of a micro-batch; calls `on_halved` with the new value when it is halved."""

    def __init__(
        self, tokens: int, *, may_halve: bool, on_halved: Callable[[int], None] = lambda _: None
    ) -> None:
        """`may_halve` is False if one process cannot leave a collective pass."""
        self.tokens = tokens
        self._may_halve, self._on_halved = may_halve, on_halved

    def retry_on_oom(
        self, compute: Callable[[int], T], *, count: Callable[[int], int], undo: Callable[[], object]
    ) -> T:
        """Returns `compute(tokens)`; when memory runs out, calls `undo` and retries with half the tokens.

        `count` returns the number of micro-batches of at most so many tokens. A size with an equal number
        would only repeat the failure, so such sizes are skipped.

        Raises:
            JobFailure: `out-of-memory` when not even micro-batches of one example fit.
        """
        while True:
            try:
                return compute(self.tokens)
            except Exception as error:
                failure = as_job_failure(error)
                if failure.type != "out-of-memory":
                    raise
            # Outside of the handler, because its exception references all tensors of the failed pass
            undo()
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if not self._may_halve:
                raise JobFailure(
                    "out-of-memory", f"{self._found(failure)}; lower settings.micro_batch_tokens"
                )
            smaller = self._smaller(count)
            if smaller is None:
                cure = "lower settings.max_length, or set gradient_checkpointing: on, an adapter or fsdp"
                raise JobFailure("out-of-memory", f"{self._found(failure)}; {cure}")
            self.tokens = smaller
            self._on_halved(smaller)

    def _found(self, failure: JobFailure) -> str:
        return f"micro-batches of {self.tokens} tokens: {failure.message}"

    def _smaller(self, count: Callable[[int], int]) -> int | None:
        """Returns the next half, quarter, ... of the size with more micro-batches; None if there is none."""
        tokens, current = self.tokens // 2, count(self.tokens)
        while tokens > 0:
            if count(tokens) > current:
                return tokens
            tokens //= 2
        return None
