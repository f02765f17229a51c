"""What reinforcement learning moves: the policy, for PPO its value head, and AdamW's moments of both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from ..failures import bad_input
from ..files.durable import write_atomically
from ..models.decoder import load_model
from ..settings import PpoSettings, RlSettings
from .checkpoint import optimizer_tensors, restore_optimizer

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

_HEAD = "value_head."


@dataclass(frozen=True)
class Learner:
    model: Qwen3ForCausalLM
    value_head: nn.Linear | None
    """From the state [D] that predicts an action token to V, in units of reward. Only PPO has one."""
    optimizer: torch.optim.AdamW

    def parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]


def load_learner(base: Path, settings: RlSettings) -> Learner:
    """The base policy, a value head of zeros where the method has one, and an optimizer without a past."""
    model = load_model(base)
    groups: list[dict[str, object]] = [{"params": list(model.parameters()), "lr": settings.learning_rate}]
    value_head = None
    if isinstance(settings, PpoSettings):
        value_head = nn.Linear(model.config.hidden_size, 1)
        nn.init.zeros_(value_head.weight)
        nn.init.zeros_(value_head.bias)
        groups.append({"params": list(value_head.parameters()), "lr": settings.value_learning_rate})
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
    return Learner(model, value_head, optimizer)


def save_trainer_state(path: Path, learner: Learner) -> str:
    """Writes what the next job needs beside the policy; returns the file's sha256.

    AdamW's moments and its count of updates, parameter by parameter in their order, and the value head.
    """
    tensors = optimizer_tensors(learner.optimizer)
    if learner.value_head is not None:
        tensors |= {_HEAD + name: value for name, value in learner.value_head.state_dict().items()}
    data = save(tensors)
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def restore_trainer_state(path: Path, learner: Learner) -> None:
    """Takes over what another job left; learning rate and weight decay stay those of this job.

    Raises:
        JobFailure: `bad-input` when the file is of another method or of a policy of another shape.
    """
    try:
        tensors = load(path.read_bytes())
    except SafetensorError as error:
        raise bad_input("trainer_state", f"{path}: {error}", "a trainer-state.safetensors") from None
    head = {name.removeprefix(_HEAD): tensors.pop(name) for name in list(tensors) if name.startswith(_HEAD)}
    expected = {} if learner.value_head is None else learner.value_head.state_dict()
    moments = {(index, tuple(p.shape)) for index, p in enumerate(learner.parameters())}
    found = {
        (int(key.split(".")[0]), tuple(t.shape)) for key, t in tensors.items() if key.endswith(".exp_avg")
    }
    if found != moments or {k: v.shape for k, v in head.items()} != {k: v.shape for k, v in expected.items()}:
        expectation = "the moments of this policy's parameters and the value head that the method has"
        raise bad_input("trainer_state", f"other tensors in {path}", expectation)
    restore_optimizer(learner.optimizer, tensors)
    if learner.value_head is not None:
        learner.value_head.load_state_dict(head)
