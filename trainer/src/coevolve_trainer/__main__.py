"""The command line: does a job, keeps a checkpoint of it, prints every setting with its default."""

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
    run = commands.add_parser("run", help="do the job that <job-dir>/job.json describes")
    run.add_argument("job_dir", type=Path)
    for name, help in (("pin", "keep the checkpoint of an update for good"), ("unpin", "keep it no longer")):
        command = commands.add_parser(name, help=help)
        command.add_argument("job_dir", type=Path)
        command.add_argument("step", type=int)
    commands.add_parser("settings", help="print the settings of every method with their defaults, as JSON")
    arguments = parser.parse_args()

    if arguments.command == "settings":
        from .settings import defaults

        print(json.dumps(defaults(), indent=2))
        return 0
    job_dir = arguments.job_dir.absolute()
    if arguments.command == "run":
        _run(job_dir)
    return _keep(job_dir, arguments.command, arguments.step)


def _run(job_dir: Path) -> NoReturn:
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # Read by torch, CUDA and tokenizers when they are imported, so set before that. One thread unless the job
    # says otherwise, because workers run beside us.
    os.environ |= {"OMP_NUM_THREADS": str(_threads(job_dir)), "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it its sums have no fixed order
    # What is imported stays, a million objects: to look for garbage among them takes a sixth of the start.
    gc.set_threshold(50_000)
    from .run import run_job

    code = run_job(job_dir, stop)
    # Everything is written. To tear down what was imported takes a fifth of a short job; and torn down under
    # threads of torch.distributed, which outlive its process group, one process in some ten aborts.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _threads(job_dir: Path) -> int:
    """The job's threads, read before the job is; what is wrong with it is said when it is read."""
    try:
        threads = json.loads((job_dir / "job.json").read_bytes())["settings"]["threads"]
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    return threads if type(threads) is int and threads > 0 else 1


def _keep(job_dir: Path, command: str, step: int) -> int:
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
