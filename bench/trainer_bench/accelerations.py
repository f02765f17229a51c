"""Options with which TRL trains fastest on a GPU: those whose packages this machine has."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

ACCELERATIONS = ("padding-free", "flash-attention", "liger", "compile")
VARIANT = "trl-accelerated"


def found_on(device: str, precision: str) -> list[str]:
    """Returns the accelerations that can be used on the device; none of them is for CPUs.

    Rows without padding need flash attention: without it transformers masks a square of all tokens.
    """
    if device != "cuda":
        return []
    has_flash = precision == "bfloat16" and find_spec("flash_attn") is not None
    has_liger = find_spec("liger_kernel") is not None
    return [
        *(["padding-free", "flash-attention"] if has_flash else []),
        *(["liger"] if has_liger else []),
        "compile",
    ]


def for_method(accelerations: Sequence[str], method: str) -> list[str]:
    """Returns those that a method can use: DPOTrainer of TRL 1.16 ignores `padding_free`."""
    return [name for name in accelerations if method == "sft" or name != "padding-free"]


def trl_arguments(accelerations: Sequence[str]) -> dict[str, Any]:
    """Returns the arguments of TRL's configurations.

    Not `packing`, which would put other rows into a batch: with padding-free rows a batch is computed in the
    same way. TRL 1.16 refuses a `max_length` with them; the rows of the bench already have it.
    """
    arguments: dict[str, Any] = {}
    if "padding-free" in accelerations:
        arguments |= {"padding_free": True, "max_length": None}
    if "liger" in accelerations:
        arguments["use_liger_kernel"] = True
    if "compile" in accelerations:
        arguments["torch_compile"] = True
    return arguments
