"""Jobs of two processes: launched as the service launches them, or forked, which needs no imports."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

from job_folder import SOURCES, JobFolder, wait_until

LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def launch(job: JobFolder) -> subprocess.Popen[str]:
    """Starts two processes with torchrun, as the service does."""
    return subprocess.Popen(
        [sys.executable, *LAUNCHER, *job.module],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def fork_ranks(job: JobFolder, prepare: Callable[[], object] = lambda: None) -> list[int]:
    """Forks two processes with the environment of torchrun; returns their pids."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}

    def fork_rank(rank: str) -> int:
        def prepare_rank() -> None:
            os.environ.update(address | {"RANK": rank, "LOCAL_RANK": rank})
            prepare()

        return job.fork(prepare_rank)

    return [fork_rank(rank) for rank in ("0", "1")]


def run_forked(job: JobFolder, prepare: Callable[[], object] = lambda: None) -> list[int]:
    """Runs the job in two processes, which are stopped as by torchrun; returns the exit codes in order."""
    running = fork_ranks(job, prepare)
    codes: list[int] = []

    def reap() -> bool:
        for child in list(running):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                running.remove(child)
                codes.append(os.waitstatus_to_exitcode(status))
                if codes[-1] != 0:
                    for other in running:
                        os.kill(other, signal.SIGTERM)
        return not running

    wait_until(reap)
    return codes
