"""A plain loop over a transformers model, as one writes it without a training library.

Padded batches, whole logits, the reference computed once before the first update.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .measure import Clock, measured
from .request import Measurement, Request
from .rows import Example, Row, batches_of, pad, read_examples, tokens_of
from .transformers_model import load, pad_id


def train(request: Request) -> Measurement:
    torch.manual_seed(request.seed)
    examples = read_examples(Path(request.pairs))
    loop = _Loop(request, examples)
    clock, losses = Clock(), []
    clock.start()
    if request.method == "dpo":
        loop.remember_reference()
    for epoch in batches_of(examples, request):
        losses += [loop.update(batch) for batch in epoch]
    clock.stop()
    return measured(clock.spent, tokens_of(examples) * request.epochs, losses)


class _Loop:
    def __init__(self, request: Request, examples: Sequence[Example]) -> None:
        self.request, self.examples = request, examples
        self.pad_id = pad_id(request)
        self.model = load(request).to(request.device).train()
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.trained, lr=request.learning_rate, weight_decay=0.0, fused=True
        )
        self.reference = torch.zeros(len(examples), 2, device=request.device)

    @torch.no_grad()
    def remember_reference(self) -> None:
        for start in range(0, len(self.examples), self.request.micro_batch):
            part = list(range(start, min(start + self.request.micro_batch, len(self.examples))))
            self.reference[part] = self._logprobs(part)[0].view(2, -1).T

    def update(self, batch: list[int]) -> float:
        """One update in micro-batches; returns its loss in nats."""
        actions = sum(sum(row.action_mask) for i in batch for row in self.examples[i])
        total = 0.0
        for start in range(0, len(batch), self.request.micro_batch):
            part = batch[start : start + self.request.micro_batch]
            logprobs, _ = self._logprobs(part)
            if self.request.method == "sft":
                loss = -logprobs.sum() / actions
            else:
                chosen, rejected = (logprobs.view(2, -1) - self.reference[part].T).unbind()
                loss = -F.logsigmoid(self.request.beta * (chosen - rejected)).sum() / len(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _logprobs(self, part: list[int]) -> tuple[Tensor, Tensor]:
        """Per row, chosen ones first: the summed log-probability of its actions, and their number; [R]."""
        sides = range(len(self.examples[part[0]]))
        rows: list[Row] = [self.examples[i][side] for side in sides for i in part]
        padded = pad(rows, self.pad_id)
        ids, mask = padded.input_ids.to(self.request.device), padded.action_mask.to(self.request.device)
        with self._autocast():
            attention = padded.attention_mask.to(self.request.device)
            logits = self.model(input_ids=ids, attention_mask=attention, use_cache=False).logits
        logp = logits[:, :-1].float().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        return (logp * mask[:, 1:]).sum(1), mask[:, 1:].sum(1)

    def _autocast(self) -> AbstractContextManager[Any]:
        enabled = self.request.precision == "bfloat16"
        return torch.autocast(self.request.device, torch.bfloat16, enabled=enabled)
