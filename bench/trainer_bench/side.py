"""One measured process: `python -m trainer_bench.side <request.json> <measurement.json>`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from .request import Request, read_request, write_json


def main() -> None:
    request = read_request(Path(sys.argv[1]))
    # Read by torch and the libraries when they are imported, so set before that.
    os.environ |= {"OMP_NUM_THREADS": str(request.threads), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HOME": request.work}
    if request.side == "ours":
        from .ours import train
    elif request.side == "transformers":
        from .plain_loop import train
    else:
        from .trl_side import train
    _import_what_is_imported_late(request)
    import torch

    torch.set_num_threads(request.threads)
    write_json(Path(sys.argv[2]), train(request))


def _import_what_is_imported_late(request: Request) -> None:
    """The model's module, peft, what AdamW wants at its first step: some 5 s that are no training."""
    for name in ("coevolve_trainer.updates.dataset_job", "peft", "torch._dynamo"):
        import_module(name)
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from .transformers_model import whole_model

    make: Any = AutoModelForCausalLM.from_config
    with torch.device("meta"):
        make(AutoConfig.from_pretrained(whole_model(request)))


if __name__ == "__main__":
    main()
