"""A plain training loop over a transformers model, without a training library.

Padded batches, the output head over actions only, the reference computed once before the first update.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .baseline_model import load, pad_id
from .measure import Clock, measurement
from .request import Measurement, Request
from .rows import Example, Row, batches_of, pad, read_examples, token_count


def train(request: Request) -> Measurement:
    torch.manual_seed(request.seed)
    examples = read_examples(Path(request.pairs))
    loop = _Loop(request, examples)
    clock, losses = Clock(), []
    clock.start()
    if request.method == "dpo":
        loop.compute_reference()
    for epoch in batches_of(examples, request):
        losses += [loop.update(batch) for batch in epoch]
    clock.stop()
    return measurement(clock.elapsed, token_count(examples) * request.epochs, losses)


class _Loop:
    def __init__(self, request: Request, examples: Sequence[Example]) -> None:
        self.request, self.examples = request, examples
        self.pad_id = pad_id(request)
        self.model = load(request).to(request.device).train()
        self.decoder = self.model.get_base_model() if request.adapter == "lora" else self.model
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.trained, lr=request.learning_rate, weight_decay=0.0, fused=True
        )
        self.reference = torch.zeros(len(examples), 2, device=request.device)

    @torch.no_grad()
    def compute_reference(self) -> None:
        for start in range(0, len(self.examples), self.request.micro_batch):
            micro_batch = list(range(start, min(start + self.request.micro_batch, len(self.examples))))
            self.reference[micro_batch] = self._logprobs(micro_batch).view(2, -1).T

    def update(self, batch: list[int]) -> float:
        """Makes one update in micro-batches; returns its loss in nats."""
        actions = sum(sum(row.action_mask) for i in batch for row in self.examples[i])
        total = 0.0
        for start in range(0, len(batch), self.request.micro_batch):
            micro_batch = batch[start : start + self.request.micro_batch]
            logprobs = self._logprobs(micro_batch)
            if self.request.method == "sft":
                loss = -logprobs.sum() / actions
            else:
                chosen, rejected = (logprobs.view(2, -1) - self.reference[micro_batch].T).unbind()
                loss = -F.logsigmoid(self.request.beta * (chosen - rejected)).sum() / len(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _logprobs(self, micro_batch: list[int]) -> Tensor:
        """Returns [R] nats: the summed log-probability of each row's actions, chosen rows first."""
        sides = range(len(self.examples[micro_batch[0]]))
        rows: list[Row] = [self.examples[i][side] for side in sides for i in micro_batch]
        ids, attention, actions = (values.to(self.request.device) for values in pad(rows, self.pad_id))
        is_action = actions[:, 1:].bool()
        with self._autocast():
            hidden = self.decoder.base_model(input_ids=ids, attention_mask=attention, use_cache=False)
            # Only of actions, because a row of 8,000 tokens with a vocabulary of 150,000 has 5 GB of logits
            logits = self.decoder.lm_head(hidden.last_hidden_state[:, :-1][is_action])
        logp = -F.cross_entropy(logits.float(), ids[:, 1:][is_action], reduction="none")
        return torch.zeros(len(rows), device=logp.device).index_add(0, is_action.nonzero()[:, 0], logp)

    def _autocast(self) -> AbstractContextManager[Any]:
        enabled = self.request.precision == "bfloat16"
        return torch.autocast(self.request.device, torch.bfloat16, enabled=enabled)
