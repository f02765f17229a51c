"""The JVMs among the descendants of a process."""

import psutil


def jvms_below(pid: int) -> set[int]:
    try:
        family = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return set()
    return {process.pid for process in family if _is_java(process)}


def are_gone(pids: set[int]) -> bool:
    return not any(psutil.pid_exists(pid) and _is_java(psutil.Process(pid)) for pid in pids)


def _is_java(process: psutil.Process) -> bool:
    try:
        return bool(process.name() == "java" and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
