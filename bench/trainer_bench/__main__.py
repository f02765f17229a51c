"""`npm run bench:trainer`: our trainer and TRL side by side, each in processes of its own, turn by turn."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .report import table
from .request import METHODS

MODELS = ("tiny", "smollm2", "qwen3-0.6b")


def main() -> None:
    options = _options()
    # The policies are made in this process; the measured ones are given their own number of threads.
    os.environ |= {"OMP_NUM_THREADS": str(options.threads), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    from .compare import compare

    with tempfile.TemporaryDirectory(prefix="bench-trainer-") as work:
        rows = compare(options, Path(work))
    print(json.dumps(rows, indent=2) if options.json else table(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="npm run bench:trainer --", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object per model and method, and no table")
    parser.add_argument("--models", type=_names(MODELS), default=["tiny", "smollm2"], help=", ".join(MODELS))
    parser.add_argument("--methods", type=_names(METHODS), default=list(METHODS), help=", ".join(METHODS))
    parser.add_argument("--against", choices=("trl", "transformers"), default="trl")
    parser.add_argument(
        "--repeat", type=int, help="turns of every side, of which medians are reported; default: by model"
    )
    parser.add_argument("--updates", type=int, help="of each training; default: by model")
    parser.add_argument("--epochs", type=int, help="over which the updates are spread; default: by model")
    parser.add_argument("--batch-size", type=int, help="examples of an update; default: by model")
    parser.add_argument("--micro-batch-tokens", type=int, help="that our trainer holds at once")
    parser.add_argument("--adapter", choices=("none", "lora"), help="default: by model")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), help="default: by model")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, default=1, help="of each measured process, on a CPU")
    parser.add_argument("--data", type=Path, help="pairs of trajectories instead of those made from BFCL")
    parser.add_argument("--make-data", type=Path, help="only write such a file, and leave")
    parser.add_argument("--pairs", type=int, default=192, help="how many --make-data writes")
    options = parser.parse_args()
    if options.make_data:
        from .trajectories import make_pairs, write_rows

        write_rows(options.make_data, make_pairs(options.pairs))
        sys.exit()
    return options


def _names(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"found {name!r}, expected {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    main()
