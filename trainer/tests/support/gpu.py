"""The GPUs of this machine: hidden from the tests, and visible to the jobs of tests/gpu."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from job_folder import SOURCES, JobFolder
from ranks import LAUNCHER

VARIABLE = "CUDA_VISIBLE_DEVICES"
KEPT = "VISIBLE_DEVICES_BEFORE_TESTS"


def hide() -> None:
    """Hides all GPUs from this process and its children. Must be called before torch starts CUDA."""
    # A child of pytest-xdist inherits what is hidden
    os.environ.setdefault(KEPT, os.environ.get(VARIABLE, ""))
    os.environ[VARIABLE] = "-1"


def count() -> int:
    """Returns the number of GPUs that were visible to the tests."""
    code = "import torch; print(torch.cuda.device_count())"
    return int(subprocess.check_output([sys.executable, "-c", code], env=_environment(), text=True))


def run(job: JobFolder) -> int:
    """Runs a job's command with the GPUs visible; returns its exit code."""
    return start(job).wait()


def start(job: JobFolder) -> subprocess.Popen[str]:
    return _start(job.module)


def launch(job: JobFolder) -> int:
    """Runs a job in two processes, as the service launches them; returns the exit code."""
    return _start([*LAUNCHER, *job.module]).wait()


def run_with_memory(job: JobFolder, limit_bytes: int) -> int:
    """Runs a job whose tensors may take so many bytes of the GPU; returns its exit code."""
    code = (
        "import sys, torch; from coevolve_trainer.__main__ import main;"
        "total = torch.cuda.get_device_properties(0).total_memory;"
        f"torch.cuda.set_per_process_memory_fraction({limit_bytes} / total);"
        f"sys.argv[1:] = ['run', {str(job.folder)!r}]; main()"
    )
    return _start(["-c", code]).wait()


def result_of(script: Path, *arguments: str) -> Any:
    """Runs a script with the GPUs visible; returns the JSON that it prints."""
    command = [sys.executable, str(script), *arguments]
    return json.loads(subprocess.check_output(command, env=_environment(), text=True))


def _start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *arguments], env=_environment(), text=True)


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", VARIABLE: os.environ[KEPT]}
    if not environment[VARIABLE]:
        del environment[VARIABLE]
    return environment
