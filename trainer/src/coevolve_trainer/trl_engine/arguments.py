"""The arguments of TRL's trainers that correspond to a job's settings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from trl import DPOConfig, SFTConfig

from ..failures import bad_input
from ..settings import DpoSettings, TrainSettings

DISTRIBUTED_TYPES = {
    "none": {"NO"},
    "ddp": {"MULTI_CPU", "MULTI_GPU"},
    "fsdp": {"FSDP"},
    "deepspeed": {"DEEPSPEED"},
}
ZERO_STAGE_3: dict[str, Any] = {
    "zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True},
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"},
}


def trainer_arguments(
    settings: TrainSettings,
    staging: Path,
    device: torch.device,
    *,
    seed: int,
    passes: int,
    checkpointing: bool,
) -> Any:
    """Returns the SFTConfig or DPOConfig of a job. Progress and checkpoints are the callback's work."""
    common: dict[str, Any] = {
        "output_dir": str(staging),
        "per_device_train_batch_size": 1,  # an item of our dataset is a whole micro-batch
        "gradient_accumulation_steps": passes,
        "num_train_epochs": 1,  # our dataset contains all updates of the job
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "optim": "adamw_torch_fused",
        "bf16": settings.precision == "bfloat16",
        "gradient_checkpointing": checkpointing,
        "use_cpu": device.type == "cpu",
        "use_liger_kernel": device.type == "cuda" and find_spec("liger_kernel") is not None,
        "seed": seed % 2**32,
        "max_length": None,  # rows are truncated and counted when they are read
        "router_aux_loss_coef": 0.0,  # TRL's default adds such a loss to Eq. 5 of a mixture of experts
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
        "ddp_find_unused_parameters": False,
        "logging_strategy": "no",
        "logging_nan_inf_filter": False,  # would replace such a loss by a mean
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        **_sharding(settings),
    }
    if isinstance(settings, DpoSettings):
        return DPOConfig(**common, beta=settings.beta, disable_dropout=False)
    padding_free = uses_flash_attention(settings, device)
    return SFTConfig(**common, padding_free=padding_free, dataset_kwargs={"skip_prepare_dataset": True})


def uses_flash_attention(settings: TrainSettings, device: torch.device) -> bool:
    """Returns whether flash attention is installed and has kernels for this job."""
    return device.type == "cuda" and settings.precision == "bfloat16" and find_spec("flash_attn") is not None


def require_distribution(settings: TrainSettings, found: str) -> None:
    """Raises `bad-input` unless accelerate distributes as the settings require: it falls back silently."""
    expected = DISTRIBUTED_TYPES[settings.sharding]
    if found not in expected:
        raise bad_input(
            "settings.sharding", f"{settings.sharding}, run by accelerate as {found}", " or ".join(expected)
        )


def _sharding(settings: TrainSettings) -> dict[str, Any]:
    if settings.sharding == "fsdp":
        return {"fsdp": True, "fsdp_config": {"version": 2, "state_dict_type": "SHARDED_STATE_DICT"}}
    return {"deepspeed": ZERO_STAGE_3} if settings.sharding == "deepspeed" else {}
