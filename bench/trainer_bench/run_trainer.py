"""A measured process: `python -m trainer_bench.run_trainer <request.json> <measurement.json>`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from .request import Request, read_request, write_json


def main() -> None:
    request = read_request(Path(sys.argv[1]))
    # The libraries read these when they are imported
    os.environ |= {"OMP_NUM_THREADS": str(request.threads), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HOME": request.work}
    if request.trainer == "ours":
        from .our_trainer import train
    elif request.trainer == "transformers":
        from .transformers_loop import train
    else:
        from .trl_trainer import train
    _import_before_measurement(request)
    import torch

    torch.set_num_threads(request.threads)
    write_json(Path(sys.argv[2]), train(request))


def _import_before_measurement(request: Request) -> None:
    """Imports modules that would otherwise be imported during the training (about 5 s)."""
    for name in ("coevolve_trainer.updates.dataset_job", "peft", "torch._dynamo"):
        import_module(name)
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from .baseline_model import base_model_folder

    create: Any = AutoModelForCausalLM.from_config
    with torch.device("meta"):
        create(AutoConfig.from_pretrained(base_model_folder(request)))


if __name__ == "__main__":
    main()
