"""Compares our trainer with TRL, each in a separate process, one after the other."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .accelerations import ACCELERATIONS
from .report import table
from .request import METHODS

MODELS = ("tiny", "smollm2", "qwen3-0.6b")


def main() -> None:
    options = _options()
    # This process creates the policies; the measured processes have their own number of threads
    os.environ |= {"OMP_NUM_THREADS": str(options.threads), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    if all(name in MODELS for name in options.models):
        os.environ["HF_HUB_OFFLINE"] = "1"
    from .compare import compare

    with tempfile.TemporaryDirectory(prefix="bench-trainer-") as work:
        rows = compare(options, Path(work))
    print(json.dumps(rows, indent=2) if options.json else table(rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="npm run bench:trainer --", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object per model and method")
    models = f"{', '.join(MODELS)}, or sources of `coevolve model import`"
    parser.add_argument("--models", type=_models, default=["tiny", "smollm2"], help=models)
    parser.add_argument("--methods", type=_names(METHODS), default=list(METHODS), help=", ".join(METHODS))
    parser.add_argument("--against", choices=("trl", "transformers"), default="trl", help="baseline")
    parser.add_argument(
        "--engine", choices=("builtin", "trl"), default="builtin", help="engine of our trainer"
    )
    accelerations = f"{', '.join(ACCELERATIONS)} (default: those found on a GPU)"
    parser.add_argument("--trl-options", type=_names(ACCELERATIONS), default=None, help=accelerations)
    parser.add_argument("--repeat", type=int, help="runs per trainer; medians are reported (by model)")
    parser.add_argument("--updates", type=int, help="updates per training (by model)")
    parser.add_argument("--epochs", type=int, help="epochs per training (by model)")
    parser.add_argument("--batch-size", type=int, help="examples per update (by model)")
    parser.add_argument("--micro-batch-tokens", type=int, help="max tokens of our micro-batches (by model)")
    parser.add_argument("--adapter", choices=("none", "lora"), help="trained weights (by model)")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), help="type of products (by model)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="device")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads per measured process (1)")
    parser.add_argument("--data", type=Path, help="file of trajectory pairs (default: pairs from BFCL)")
    parser.add_argument("--make-data", type=Path, help="only write a file for --data")
    parser.add_argument("--pairs", type=int, default=192, help="pairs that --make-data writes (192)")
    options = parser.parse_args()
    if options.make_data:
        from .trajectories import make_pairs, write_rows

        write_rows(options.make_data, make_pairs(options.pairs))
        sys.exit()
    return options


def _models(text: str) -> list[str]:
    """Parses names of `MODELS` and sources of models: a path, package:<name> or <owner>/<name>."""
    for name in text.split(","):
        if name not in MODELS and "/" not in name and ":" not in name:
            expected = f"{', '.join(MODELS)}, a path, package:<name> or <owner>/<name> of a hub"
            raise argparse.ArgumentTypeError(f"found {name!r}, expected {expected}")
    return text.split(",")


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
