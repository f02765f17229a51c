"""The size of micro-batches, halved once per job when memory runs out."""

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
        """`may_halve` is False after the first time, and if one process cannot leave a collective pass."""
        self.tokens = tokens
        self._may_halve, self._on_halved = may_halve, on_halved

    def retry_on_oom(self, compute: Callable[[int], T], undo: Callable[[], None]) -> T:
        """Returns `compute(tokens)`; when memory runs out, calls `undo` and retries with half the tokens.

        Raises:
            JobFailure: `out-of-memory` when half the tokens do not fit either.
        """
        failure = None
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
        if not self._may_halve or self.tokens < 2:
            raise JobFailure("out-of-memory", f"micro-batches of {self.tokens} tokens: {failure.message}")
        self._may_halve = False
        self.tokens //= 2
        self._on_halved(self.tokens)
        return self.retry_on_oom(compute, undo)
