"""Loads a policy for tests: all weights trainable, float32, on the CPU."""

from pathlib import Path
from typing import Any

import torch

from coevolve_trainer.models.policy import load_policy
from coevolve_trainer.settings import ComputeSettings


def load_model(policy: Path) -> Any:
    return load_policy(policy, ComputeSettings(), torch.device("cpu"), trainable=True)
