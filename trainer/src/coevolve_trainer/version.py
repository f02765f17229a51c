"""Version of everything besides a job's inputs that can change the bytes of its policy."""

from __future__ import annotations

import hashlib
import platform
import sys
from importlib.metadata import distributions
from pathlib import Path


def trainer_version() -> str:
    """Returns the sha256 of code and templates, the versions of packages and Python, and the CPU's model."""
    parts = [sys.version, platform.machine(), _cpu_model()]
    parts += sorted(f"{found.metadata['Name']}=={found.version}" for found in distributions())
    code = Path(__file__).parent
    for file in sorted((*code.rglob("*.py"), *code.rglob("*.jinja"))):
        parts += [file.relative_to(code).as_posix(), hashlib.sha256(file.read_bytes()).hexdigest()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _cpu_model() -> str:
    """Returns the model, on which the kernels depend that torch and its BLAS choose."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # no Linux
        return platform.processor()
    return next((line for line in lines if line.startswith(("model name", "CPU part"))), platform.processor())
