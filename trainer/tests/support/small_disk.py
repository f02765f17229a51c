"""Runs commands on a small disk: a file system in memory, in a mount namespace of the child process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from job_folder import SOURCES

ISOLATED = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def run_on_small_disk(
    mount: str, commands: str, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Runs shell commands after those that mount the disk: `$1` is the folder, `$2` Python.

    Skips the test where the machine does not allow mount namespaces.
    """
    if subprocess.run([*ISOLATED, mount, "sh", str(folder)], capture_output=True).returncode:
        pytest.skip("this machine does not allow mount namespaces")
    return subprocess.run(
        [*ISOLATED, f"{mount} && {commands}", "sh", str(folder), sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
    )
