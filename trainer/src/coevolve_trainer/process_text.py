"""Changes the command and the environment that other processes read of this one in /proc."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path


def show_as(command: str, environment: Mapping[str, str]) -> None:
    """Replaces this process's environment, and its texts in /proc/self/cmdline and /proc/self/environ.

    A forked process shares both texts with its parent, although programs find processes by them. The kernel
    reads them from the memory that `execve` has filled. A command longer than the old one continues in the
    memory of the environment, as with setproctitle(3). The text of the environment has the first variables,
    as many as fit.

    Raises:
        ValueError: the command does not fit.
    """
    # The C library has the old variables in the memory that is overwritten below, the new ones in its heap
    os.environ.clear()
    os.environ.update(environment)
    # Fields 48 to 51 of proc_pid_stat(5); the name in field 2 may hold spaces
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, arguments_end, environment_start, end = (int(field) for field in fields[45:49])
    arguments = os.fsencode(command).ljust(arguments_end - start, b"\0")
    if arguments[arguments_end - start - 1] != 0:
        arguments += b"\0"
    if environment_start != arguments_end or len(arguments) > end - start:
        raise ValueError(f"{end - start} bytes are too few for the command {command}")
    variables = b""
    for name, value in environment.items():
        variables += os.fsencode(f"{name}={value}") + b"\0"
    variables = variables[: end - start - len(arguments)]
    complete = variables[: variables.rfind(b"\0") + 1]
    ctypes.memmove(start, (arguments + complete).ljust(end - start, b"\0"), end - start)
