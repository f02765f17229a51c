"""The names of models/policy.py and models/fresh.py before both were made; goes when nobody imports it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ..settings import ComputeSettings
from .fresh import create_model
from .policy import TOKENIZER_FILES, load_policy, load_weights, parameter_count, save_policy, weights_of
from .policy import save_model as save_model
from .weight_files import WEIGHTS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = [
    "TOKENIZER_FILES",
    "WEIGHTS",
    "create_model",
    "load_model",
    "load_weights",
    "parameter_count",
    "save_model",
    "save_trained",
    "weights_of",
]


def load_model(policy: Path) -> PreTrainedModel:
    return load_policy(policy, ComputeSettings(), torch.device("cpu"), trainable=True)


def save_trained(model: PreTrainedModel, base: Path, folder: Path) -> None:
    save_policy(model, base, folder)
