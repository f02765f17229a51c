"""Fits an update into memory: when it runs out, the parts are halved, once for a job."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from ..failures import JobFailure, as_job_failure

T = TypeVar("T")


class Memory:
    """How many tokens are in memory at once; `halved` hears of it when they become half as many."""

    def __init__(
        self, micro_batch_tokens: int, *, may_halve: bool, halved: Callable[[int], None] = lambda _: None
    ) -> None:
        """`may_halve` is False where it has been done, and where processes are in the middle of a common
        pass from which one alone cannot return."""
        self.micro_batch_tokens = micro_batch_tokens
        self._may_halve, self._halved = may_halve, halved

    def fit(self, compute: Callable[[int], T], undo: Callable[[], None]) -> T:
        """What `compute` gives with parts of so many tokens. What it leaves behind, `undo` takes away.

        Raises:
            JobFailure: `out-of-memory` when half as many tokens are too many as well.
        """
        failure = None
        try:
            return compute(self.micro_batch_tokens)
        except Exception as error:
            failure = as_job_failure(error)
            if failure.type != "out-of-memory":
                raise
        # Outside of the handler, whose exception holds on to every tensor of the failed pass
        undo()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not self._may_halve or self.micro_batch_tokens < 2:
            parts = f"with parts of {self.micro_batch_tokens} tokens"
            raise JobFailure("out-of-memory", f"{parts}: {failure.message}")
        self._may_halve = False
        self.micro_batch_tokens //= 2
        self._halved(self.micro_batch_tokens)
        return self.fit(compute, undo)
