"""Command line of the trainer: runs or forks jobs, pins a checkpoint, prints its contract and verdicts."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
from pathlib import Path
from threading import Event
from typing import NoReturn


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_trainer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run or resume the job in <job-dir>/job.json")
    run.add_argument("job_dir", type=Path)
    serve = commands.add_parser("serve", help="fork the jobs that are requested at a Unix socket")
    serve.add_argument("socket", type=Path)
    for name, help in (
        ("pin", "exclude the checkpoint of an update from removal"),
        ("unpin", "allow the removal of a pinned checkpoint"),
    ):
        command = commands.add_parser(name, help=help)
        command.add_argument("job_dir", type=Path)
        command.add_argument("step", type=int)
    commands.add_parser("contract", help="print settings, fields of jobs and of their status as JSON")
    templates = commands.add_parser("templates", help="print a table of verdicts on chat templates (*.jinja)")
    templates.add_argument("folder", type=Path)
    commands.add_parser(
        "lengths", help="print the tokens of trajectories: a JSON object on stdin, JSON on stdout"
    )
    commands.add_parser("version", help="print the sha256 of code, packages and CPU model")
    arguments = parser.parse_args()

    if arguments.command == "version":
        from .version import trainer_version

        print(trainer_version())
        return 0
    if arguments.command == "contract":
        from .contract import contract

        print(json.dumps(contract(), indent=2))
        return 0
    if arguments.command == "lengths":
        from .data.row_lengths import row_lengths

        print(json.dumps(row_lengths(json.load(sys.stdin))))
        return 0
    if arguments.command == "templates":
        from .chat.template_table import table_of

        print(*table_of(arguments.folder), sep="\n")
        return 0
    if arguments.command == "serve":
        _prepare_imports(threads=1)
        from .serve import serve as serve_jobs

        return serve_jobs(arguments.socket.absolute(), _run)
    job_dir = arguments.job_dir.absolute()
    if arguments.command == "run":
        _run(job_dir)
    return _set_pin(job_dir, arguments.command, arguments.step)


def _run(job_dir: Path) -> NoReturn:
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    _prepare_imports(_threads(job_dir))
    from .run import run_job

    code = run_job(job_dir, stop)
    # All files are written. A regular interpreter exit takes a fifth of a short job; with threads of
    # torch.distributed, which outlive its process group, about one process in ten aborts in it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _prepare_imports(threads: int) -> None:
    # torch, CUDA and tokenizers read these when they are imported. One thread by default, because workers run
    # on the same machine.
    os.environ |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # required for deterministic sums in cuBLAS
    _configure_cuda()
    # The imports create a million objects that are never freed; collecting them takes a sixth of the start
    gc.set_threshold(50_000)


def _configure_cuda() -> None:
    """Sets variables that torch reads when it starts CUDA, unless the user has set them."""
    # Batches differ in length: without growing segments the allocator's free memory is in pieces too small to
    # use. Torch 2.9 renamed the variable and reads both names.
    if not {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} & os.environ.keys():
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    # SDPA prefers cuDNN on Hopper and Blackwell, which plans a graph for every new shape: 1 s each in
    # github.com/modelscope/FunASR/issues/3704. With this variable flash attention comes first.
    os.environ.setdefault("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")


def _threads(job_dir: Path) -> int:
    """Returns the job's threads before the job is parsed; `read_job` reports errors later."""
    try:
        threads = json.loads((job_dir / "job.json").read_bytes())["settings"]["threads"]
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    return threads if type(threads) is int and threads > 0 else 1


def _set_pin(job_dir: Path, command: str, step: int) -> int:
    from .failures import EXIT_CODES, JobFailure
    from .updates.retention import pin, unpin

    try:
        (pin if command == "pin" else unpin)(job_dir, step)
    except JobFailure as failure:
        print(f"{failure.type}: {failure.message}", file=sys.stderr)
        return EXIT_CODES[failure.type]
    return 0


if __name__ == "__main__":
    sys.exit(main())
