"""The state that training changes: the policy or its adapter, PPO's value head, and AdamW's moments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..failures import bad_input
from ..losses.scorer import PolicyScorer
from ..models.compute_path import resolve_compute
from ..models.cost import needs_checkpointing
from ..models.policy import (
    full_tensor,
    load_policy,
    load_reference_model,
    load_weights,
    local_tensor,
    trainable_parameters,
    trained_weights,
    weight_tensors,
)
from ..process_group import ProcessGroup
from ..settings import ComputeSettings, PpoSettings, RlSettings, TrainSettings
from .saved_state import SavedState

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CPU = torch.device("cpu")
_HEAD = "value_head."


@dataclass(frozen=True)
class TrainState:
    model: PreTrainedModel
    value_head: nn.Linear | None
    """From the state [D] that predicts an action token to V, in units of reward. Only for PPO."""
    scorer: PolicyScorer
    optimizer: torch.optim.AdamW
    process_group: ProcessGroup
    gradient_checkpointing: bool
    is_sharded: bool

    def parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def weights(self) -> dict[str, Tensor]:
        """Returns the trained weights by their names in the file, in full and on rank zero.

        Collective, because sharded tensors are gathered one by one; empty on other ranks.
        """
        return trained_weights(self.model, is_kept=self.process_group.is_rank_zero)

    def optimizer_state(self) -> dict[str, Tensor]:
        """Returns AdamW's state as `<parameter index>.<name>`, and the value head, on the CPU.

        Collective, as `weights`; empty on ranks other than zero.
        """
        gathered: dict[str, Tensor] = {}
        for name, value in self._optimizer_tensors().items():
            full = full_tensor(value)
            if self.process_group.is_rank_zero:
                gathered[name] = full.detach().cpu().contiguous()
        return gathered

    def own_part(self) -> SavedState:
        """Returns what this process saves: its shards, or where nothing is sharded, rank zero everything.

        The tensors share the memory of the train state.
        """
        if not self.is_sharded and not self.process_group.is_rank_zero:
            return SavedState(None, {})
        weights, moments = weight_tensors(self.model), self._optimizer_tensors()
        own = (
            {name: local_tensor(t.detach()).contiguous() for name, t in n.items()} for n in (weights, moments)
        )
        return SavedState(next(own), next(own), self.is_sharded)

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        head = {} if self.value_head is None else self.value_head.state_dict()
        named = {_HEAD + name: value for name, value in head.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            named |= {f"{index}.{name}": value for name, value in state.items()}
        return named


def load_train_state(
    base: Path,
    settings: TrainSettings | RlSettings,
    *,
    device: torch.device = CPU,
    process_group: ProcessGroup | None = None,
    saved: SavedState | None = None,
) -> TrainState:
    """Loads the base policy with a new optimizer, and overwrites both with `saved`.

    The initial weights of a new adapter depend on torch's seed, which must be the same on every process.
    """
    process_group = process_group or ProcessGroup()
    settings = resolve_compute(settings, device, base)
    loading_device = CPU if settings.sharding == "fsdp" else device
    model = load_policy(base, settings, loading_device, trainable=True)
    value_head = _create_value_head(model, settings, loading_device)
    if saved is not None and not saved.is_shard:
        _require_matching_state(saved.optimizer_state, model, value_head)
        _restore_weights(model, value_head, saved)
    checkpointing = _enable_checkpointing_if_needed(model, settings, device)
    scorer = _scorer(model, settings, value_head)
    if settings.sharding == "fsdp":
        from .sharding import shard_policy  # imports 0.5 s of torch.distributed

        shard_policy(scorer, process_group, device)  # after full tensors, before shards are restored
        if saved is not None and saved.is_shard:
            _restore_weights(model, value_head, saved)
    groups: list[dict[str, object]] = [{"params": trainable_parameters(model), "lr": settings.learning_rate}]
    if value_head is not None and isinstance(settings, PpoSettings):
        groups.append({"params": list(value_head.parameters()), "lr": settings.value_learning_rate})
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
    if saved is not None:
        _restore_optimizer(optimizer, saved, sharded=settings.sharding == "fsdp")
    sharded = settings.sharding == "fsdp"
    return TrainState(model, value_head, scorer, optimizer, process_group, checkpointing, sharded)


def load_reference(
    policy: Path,
    settings: ComputeSettings,
    base: Path,
    *,
    device: torch.device = CPU,
    process_group: ProcessGroup | None = None,
) -> PolicyScorer:
    """Loads a frozen policy, the reference, which computes in the same way as the policy trained from `base`.

    It is sharded in the same way.
    """
    settings = resolve_compute(settings, device, base)
    model = load_reference_model(policy, settings, base, CPU if settings.sharding == "fsdp" else device)
    scorer = _scorer(model, settings)
    if settings.sharding == "fsdp":
        from .sharding import shard_policy

        shard_policy(scorer, process_group or ProcessGroup(), device)
    return scorer


def _scorer(
    model: PreTrainedModel, settings: ComputeSettings, value_head: nn.Linear | None = None
) -> PolicyScorer:
    return PolicyScorer(
        model,
        value_head,
        precision=settings.precision,
        kernels=settings.kernels,
        compile=settings.compile == "on",
    )


def _create_value_head(
    model: PreTrainedModel, settings: TrainSettings | RlSettings, device: torch.device
) -> nn.Linear | None:
    if not isinstance(settings, PpoSettings):
        return None
    head = nn.Linear(model.config.hidden_size, 1, device=device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def _enable_checkpointing_if_needed(
    model: PreTrainedModel, settings: ComputeSettings, device: torch.device
) -> bool:
    enabled = settings.gradient_checkpointing == "on" or (
        settings.gradient_checkpointing == "auto"
        and needs_checkpointing(model, settings.micro_batch_tokens, device)
    )
    if enabled:
        decoder: Any = model
        decoder.gradient_checkpointing_enable({"use_reentrant": False})
    return enabled


def _require_matching_state(
    state: Mapping[str, Tensor], model: PreTrainedModel, value_head: nn.Linear | None
) -> None:
    if not state and value_head is None:  # of a job that made no update
        return
    expected_head = {} if value_head is None else value_head.state_dict()
    parameters = [*trainable_parameters(model), *([] if value_head is None else value_head.parameters())]
    expected = {(index, tuple(p.shape)) for index, p in enumerate(parameters)}
    found = {(int(k.split(".")[0]), tuple(t.shape)) for k, t in state.items() if k.endswith(".exp_avg")}
    heads = ({k: t.shape for k, t in head.items()} for head in (_value_head_in(state), expected_head))
    if found != expected or next(heads) != next(heads):
        expectation = "the moments of this policy's parameters and, for ppo, the value head"
        raise bad_input("trainer_state", "other tensors in the file", expectation)


def _value_head_in(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(_HEAD): t for name, t in state.items() if name.startswith(_HEAD)}


def _restore_weights(model: PreTrainedModel, value_head: nn.Linear | None, saved: SavedState) -> None:
    if saved.weights is not None:
        load_weights(model, saved.weights)
    if value_head is not None:
        own = value_head.state_dict()
        for name, tensor in _value_head_in(saved.optimizer_state).items():
            local_tensor(own[name]).copy_(tensor)


def _restore_optimizer(optimizer: torch.optim.AdamW, saved: SavedState, *, sharded: bool) -> None:
    """Restores moments and step counts; `optimizer` keeps its learning rate and weight decay."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in saved.optimizer_state.items():
        if not key.startswith(_HEAD):
            index, name = key.split(".", 1)
            state.setdefault(int(index), {})[name] = value
    if sharded:
        from .sharding import as_shard, shard_like

        convert = as_shard if saved.is_shard else shard_like
        for number, values in state.items():
            state[number] = {name: convert(value, parameters[number]) for name, value in values.items()}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
