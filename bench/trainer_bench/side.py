"""One measured process: `python -m trainer_bench.side <request.json> <measurement.json>`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .request import read_request, write_json


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
    import torch
    import transformers  # noqa: F401  imported by all sides before the clock starts

    torch.set_num_threads(request.threads)
    write_json(Path(sys.argv[2]), train(request))


if __name__ == "__main__":
    main()
