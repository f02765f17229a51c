"""What training moves: the policy or its adapter, for PPO a value head, and AdamW's moments of both."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ..failures import bad_input
from ..files.atomic_files import write_atomically
from ..losses.scorer import PolicyScorer
from ..models.adapter import is_adapter
from ..models.cost import needs_checkpointing
from ..models.policy import load_policy, load_weights, trainable_parameters, weights_of
from ..process_group import Ranks
from ..settings import ComputeSettings, PpoSettings, RlSettings, TrainSettings
from .sharding import cut_like, shard, whole

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CPU = torch.device("cpu")
_HEAD = "value_head."


@dataclass(frozen=True)
class Learner:
    model: PreTrainedModel
    value_head: nn.Linear | None
    """From the state [D] that predicts an action token to V, in units of reward. Only PPO has one."""
    scorer: PolicyScorer
    optimizer: torch.optim.AdamW
    ranks: Ranks
    gradient_checkpointing: bool

    def parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def weights(self) -> dict[str, Tensor]:
        """What is trained, by the names of its file. Whole on every process: call it on every one."""
        return weights_of(self.model)

    def state(self) -> dict[str, Tensor]:
        """AdamW's moments and counts as `<index of the parameter>.<name>`, and the value head, on the CPU.

        Cut tensors are gathered one by one: call it on every process. Only the first one gets them.
        """
        found: dict[str, Tensor] = {}
        head = {} if self.value_head is None else self.value_head.state_dict()
        named = [(_HEAD + name, value) for name, value in head.items()]
        for index, state in self.optimizer.state_dict()["state"].items():
            named += [(f"{index}.{name}", value) for name, value in state.items()]
        for name, value in named:
            gathered = whole(value)
            if self.ranks.is_first:
                found[name] = gathered.detach().cpu().contiguous()
        return found


@dataclass(frozen=True)
class Saved:
    """What an earlier process, or an earlier job, left of a learner."""

    weights: Mapping[str, Tensor] | None
    state: Mapping[str, Tensor]


def load_learner(
    base: Path,
    settings: TrainSettings | RlSettings,
    *,
    device: torch.device = CPU,
    ranks: Ranks | None = None,
    saved: Saved | None = None,
) -> Learner:
    """The base policy, or what was saved of one that began there, and its optimizer.

    A fresh adapter depends on torch's seed, which must be the same on every process.
    """
    ranks = ranks or Ranks()
    model = load_policy(base, settings, device, trainable=True)
    value_head = _value_head(model, settings, device)
    if saved is not None:
        _require_fit(saved.state, model, value_head)
        if saved.weights is not None:
            load_weights(model, saved.weights)
        if value_head is not None:
            value_head.load_state_dict(_head_of(saved.state))
    checkpointing = _resolve_checkpointing(model, settings, device)
    scorer = PolicyScorer(model, value_head, precision=settings.precision)
    if settings.sharding == "fsdp":
        shard(scorer, ranks)  # weights go in before, while they are whole
    groups: list[dict[str, object]] = [{"params": trainable_parameters(model), "lr": settings.learning_rate}]
    if value_head is not None and isinstance(settings, PpoSettings):
        groups.append({"params": list(value_head.parameters()), "lr": settings.value_learning_rate})
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
    if saved is not None:
        _restore_optimizer(optimizer, saved.state)
    return Learner(model, value_head, scorer, optimizer, ranks, checkpointing)


def load_scorer(
    policy: Path,
    settings: ComputeSettings,
    base: Path,
    *,
    device: torch.device = CPU,
    ranks: Ranks | None = None,
) -> PolicyScorer:
    """A frozen policy that can be asked, the reference, which computes as the learner from `base` does.

    It is cut over the processes as the learner is. Where all weights are trained, its own are float32 too,
    whatever products are computed in: else a policy would differ from itself as its reference.
    """
    whole = settings.adapter == "none" and not is_adapter(base)
    kept = replace(settings, precision="float32") if whole else settings
    model = load_policy(policy, kept, device, trainable=False)
    scorer = PolicyScorer(model, precision=settings.precision)
    if settings.sharding == "fsdp":
        shard(scorer, ranks or Ranks())
    return scorer


def save_trainer_state(path: Path, state: Mapping[str, Tensor]) -> str:
    """Writes a learner's state, which the next job needs beside the policy; returns the file's sha256."""
    data = save(dict(state))
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def read_trainer_state(path: Path) -> Saved:
    """What another job left; learning rate and weight decay stay those of the job that reads it.

    Raises:
        JobFailure: `bad-input` when the file is none of a trainer's state.
    """
    try:
        return Saved(None, load(path.read_bytes()))
    except SafetensorError as error:
        raise bad_input("trainer_state", f"{path}: {error}", "a trainer-state.safetensors") from None


def _value_head(
    model: PreTrainedModel, settings: TrainSettings | RlSettings, device: torch.device
) -> nn.Linear | None:
    if not isinstance(settings, PpoSettings):
        return None
    head = nn.Linear(model.config.hidden_size, 1, device=device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _resolve_checkpointing(model: PreTrainedModel, settings: ComputeSettings, device: torch.device) -> bool:
    wanted = settings.gradient_checkpointing == "on" or (
        settings.gradient_checkpointing == "auto"
        and needs_checkpointing(model, settings.micro_batch_tokens, device)
    )
    if wanted:
        decoder: Any = model
        decoder.gradient_checkpointing_enable({"use_reentrant": False})
    return wanted


def _require_fit(state: Mapping[str, Tensor], model: PreTrainedModel, value_head: nn.Linear | None) -> None:
    expected = {} if value_head is None else value_head.state_dict()
    parameters = [*trainable_parameters(model), *([] if value_head is None else value_head.parameters())]
    moments = {(index, tuple(p.shape)) for index, p in enumerate(parameters)}
    found = {(int(k.split(".")[0]), tuple(t.shape)) for k, t in state.items() if k.endswith(".exp_avg")}
    heads = ({k: t.shape for k, t in head.items()} for head in (_head_of(state), expected))
    if found != moments or next(heads) != next(heads):
        expectation = "the moments of this policy's parameters and the value head that the method has"
        raise bad_input("trainer_state", "other tensors in the file", expectation)


def _head_of(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(_HEAD): t for name, t in state.items() if name.startswith(_HEAD)}


def _restore_optimizer(optimizer: torch.optim.AdamW, tensors: Mapping[str, Tensor]) -> None:
    """Takes over moments and counts; learning rate and weight decay stay the optimizer's own."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if not key.startswith(_HEAD):
            index, name = key.split(".", 1)
            state.setdefault(int(index), {})[name] = cut_like(value, parameters[int(index)])
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
