"""The training loop, top to bottom on one screen."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import torch

from ..data.batches import plan_epoch
from ..failures import JobFailure
from ..progress import Progress
from ..settings import TrainSettings
from .checkpoint import resume, save_checkpoint
from .objectives import Objective

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


def train(
    model: Qwen3ForCausalLM,
    objective: Objective,
    lengths: list[int],
    settings: TrainSettings,
    *,
    seed: int,
    checkpoints: Path,
    job: str,
    progress: Progress,
    stop: Event,
) -> None:
    """Trains `model` in place, from its newest checkpoint if there is one.

    `lengths` holds the row length of every example, `job` the job's identity.

    Raises:
        JobFailure: `diverged` when loss or gradient is not finite; `cancelled` when `stop` is set.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    cursor = resume(checkpoints, job, model, optimizer)
    per_epoch = math.ceil(len(lengths) / settings.batch_size)
    total = per_epoch * settings.epochs
    progress.earlier_seconds = cursor.seconds
    progress.update(step=cursor.step, total_steps=total, tokens=cursor.tokens)
    if cursor.step:
        progress.event("resumed", step=cursor.step)
    window = _Window(cursor.tokens)
    plan: list[list[int]] = []

    while cursor.step < total:
        epoch, position = divmod(cursor.step, per_epoch)
        if position == 0 or not plan:
            plan = plan_epoch(lengths, settings.batch_size, seed=seed, epoch=epoch)
        rate = learning_rate(cursor.step, total, settings)
        optimizer.param_groups[0]["lr"] = rate

        loss, tokens, metrics = objective(model, plan[position])
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm).item()
        window.add(loss.item(), norm, metrics)
        if not math.isfinite(window.loss) or not math.isfinite(norm):
            raise JobFailure(
                "diverged", f"update {cursor.step + 1}: loss {window.loss}, gradient norm {norm}"
            )
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        cursor.step, cursor.tokens = cursor.step + 1, cursor.tokens + tokens
        if cursor.step % settings.log_every == 0 or cursor.step == total:
            means = window.close(cursor.tokens)
            place = {"step": cursor.step, "total_steps": total, "epoch": cursor.step / per_epoch}
            progress.event("step", **place, learning_rate=rate, tokens=cursor.tokens, **means)
            progress.update(step=cursor.step, tokens=cursor.tokens, loss=means["loss"])
        if cursor.step % settings.checkpoint_every == 0 or stop.is_set():
            cursor.seconds = progress.seconds
            save_checkpoint(checkpoints, job, model, optimizer, cursor)
            progress.event("checkpoint", step=cursor.step)
        if stop.is_set() and cursor.step < total:
            raise JobFailure("cancelled", f"stopped after update {cursor.step} of {total}")


def learning_rate(step: int, total: int, settings: TrainSettings) -> float:
    """Rate of update `step` (from 0): linear warm-up to the peak, then cosine to 0 or constant."""
    warmup = max(1, round(settings.warmup_fraction * total))
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


class _Window:
    """Means since the last progress line: one batch of eight says little."""

    def __init__(self, tokens: int) -> None:
        self.loss = 0.0
        self._start(tokens)

    def add(self, loss: float, grad_norm: float, metrics: dict[str, float]) -> None:
        self.loss = loss
        for name, value in {"loss": loss, "grad_norm": grad_norm, **metrics}.items():
            self._values[name].append(value)

    def close(self, tokens: int) -> dict[str, float]:
        means = {name: sum(values) / len(values) for name, values in self._values.items()}
        means["tokens_per_s"] = (tokens - self._tokens) / (time.monotonic() - self._began)
        self._start(tokens)
        return means

    def _start(self, tokens: int) -> None:
        self._values: dict[str, list[float]] = defaultdict(list)
        self._tokens, self._began = tokens, time.monotonic()
