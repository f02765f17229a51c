"""The JVMs below a process, as the system sees them."""

import time
from collections.abc import Callable

import psutil


def jvms_below(pid: int) -> set[int]:
    try:
        family = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return set()
    return {process.pid for process in family if _is_java(process)}


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def are_gone(pids: set[int]) -> bool:
    return not any(psutil.pid_exists(pid) and _is_java(psutil.Process(pid)) for pid in pids)


def _is_java(process: psutil.Process) -> bool:
    try:
        return bool(process.name() == "java" and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
