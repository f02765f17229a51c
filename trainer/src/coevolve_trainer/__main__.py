"""The command line: `run <job-dir>` does a job, `settings` prints every setting with its default."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from threading import Event


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_trainer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="do the job that <job-dir>/job.json describes")
    run.add_argument("job_dir", type=Path)
    commands.add_parser("settings", help="print the settings of every method with their defaults, as JSON")
    arguments = parser.parse_args()

    if arguments.command == "settings":
        from .settings import defaults

        print(json.dumps(defaults(), indent=2))
        return 0
    return _run(arguments.job_dir.absolute())


def _run(job_dir: Path) -> int:
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # One thread, because bit-equal resumption needs a fixed order of sums, and because workers run beside us.
    # Read by torch and tokenizers when they are imported, so set before that.
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    from .run import run_job

    return run_job(job_dir, stop)


if __name__ == "__main__":
    sys.exit(main())
