"""The trainer server: forks jobs from one process that has imported torch and transformers.

The imports take most of a short job. The server only imports: an operation of torch would start threads,
which a forked process lacks, and CUDA does not survive a fork. It listens on a Unix socket, one request per
connection:

    caller:  {"job": <folder>, "log": <file>, "environment": {<name>: <value>}}
    server:  {"refused": <reason>}, or the forked process answers:
             {"pid": <its pid>, "start_time": <field 22 of its /proc/<pid>/stat>}
    caller:  go

Without `go` the process exits and leaves the job as it was, so the caller can start the job in another way.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from .process_text import show_as

IDLE_S = 900.0  # until the server exits without a request
MESSAGE_S = 10.0  # max wait for a message of the caller
MAX_REQUEST_BYTES = 1 << 20


@dataclass(frozen=True)
class Request:
    job: Path
    log: Path
    environment: dict[str, str]


def serve(socket_file: Path, run: Callable[[Path], NoReturn]) -> int:
    """Serves until no request has come for `IDLE_S`, or until the installed code differs from the loaded one.

    Args:
        socket_file: In a folder that only this user can enter.
        run: Runs the job of a folder in a forked process, and exits.

    Raises:
        PermissionError: Others can enter the folder.
    """
    folder = socket_file.parent.stat()
    if folder.st_mode & 0o077 or folder.st_uid != os.getuid():
        raise PermissionError(f"{socket_file.parent} must be a folder of this user with mode 0700")
    loaded = installed_code()
    import_trainer()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the jobs
    with _listen(socket_file) as listener:
        listener.settimeout(IDLE_S)
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return 0
            with connection, suppress(OSError):
                connection.settimeout(MESSAGE_S)
                try:
                    request = parse_request(_read_line(connection))
                except (ValueError, RecursionError) as error:
                    _send(connection, {"refused": str(error)})
                    continue
                if installed_code() != loaded:
                    _send(connection, {"refused": "the trainer has been changed"})
                    return 0
                if os.fork() == 0:
                    listener.close()
                    _run_job(request, connection, run)


def import_trainer() -> None:
    """Imports all that a usual job imports, and runs no operation of torch."""
    import torch._dynamo
    import torch._inductor.config  # noqa: F401  by torch.use_deterministic_algorithms
    import transformers.loss.loss_utils
    import transformers.models.qwen3.modeling_qwen3  # noqa: F401

    from . import run  # noqa: F401
    from .models import init_policy  # noqa: F401
    from .updates import dataset_job, rl_job, trainer  # noqa: F401

    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"the imports started {threads - 1} threads, which a forked process would lack")
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy the pages of all these objects


def installed_code() -> str:
    """Returns a hash of the trainer's code, with the versions of the packages and of the interpreter.

    Times of a file also change without its text, by a hard link or a copy.
    """
    code = Path(__file__).parent
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted(file for ending in ("py", "jinja") for file in code.rglob(f"*.{ending}")):
        digest.update(f"{file}\0".encode() + file.read_bytes())
    folders = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    packages = {package.name for folder in folders for package in Path(folder).glob("*.dist-info")}
    return digest.hexdigest() + " ".join(sorted(packages))


def parse_request(line: bytes) -> Request:
    """Returns the request.

    Raises:
        ValueError: It has other fields, relative paths or a job that does not exist.
    """
    given = json.loads(line)
    if not isinstance(given, dict) or given.keys() != {"job", "log", "environment"}:
        raise ValueError("expected the fields job, log and environment")
    job, log, environment = given["job"], given["log"], given["environment"]
    for path in (job, log):
        if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
            raise ValueError(f"expected an absolute path, found {path!r}")
    if not os.path.isdir(job):
        raise ValueError(f"no folder {job}")
    if not isinstance(environment, dict) or not all(
        name and not {"=", "\0"} & set(name) and isinstance(value, str) and "\0" not in value
        for name, value in environment.items()
    ):
        raise ValueError("expected an environment of texts")
    return Request(Path(job), Path(log), environment)


def _listen(socket_file: Path) -> socket.socket:
    socket_file.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    with chdir(socket_file.parent):  # an address has at most 107 bytes, a path may have more
        listener.bind(socket_file.name)
    socket_file.chmod(0o600)
    listener.listen()
    return listener


def _run_job(request: Request, connection: socket.socket, run: Callable[[Path], NoReturn]) -> NoReturn:
    """Makes this forked process equal to one that the job's command has started, and runs the job."""
    command = f"{sys.executable} -m coevolve_trainer run {request.job}"
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        show_as(command, request.environment)
        _redirect_output(request.log)
        import numpy.random

        numpy.random.seed()  # torch is seeded by the job; Python's generator draws a new seed in every fork
        start_time = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        _send(connection, {"pid": os.getpid(), "start_time": start_time})
        if _read_line(connection) == b"go":
            connection.close()
            run(request.job)
    except (OSError, ValueError) as error:  # the caller has gone, or the command is too long
        print(f"{command}: {error}", file=sys.stderr)
    finally:
        os._exit(1)


def _redirect_output(log: Path) -> None:
    null, file = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for source, target in ((null, 0), (file, 1), (file, 2)):
        os.dup2(source, target)
    os.close(null)
    os.close(file)


def _read_line(connection: socket.socket) -> bytes:
    """Returns a line without its end.

    Raises:
        ValueError: The line is too long or incomplete.
    """
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(65536)
        line += part
        if not part or len(line) > MAX_REQUEST_BYTES:
            raise ValueError(f"expected a line of at most {MAX_REQUEST_BYTES} bytes")
    return line[:-1]


def _send(connection: socket.socket, message: dict[str, object]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")
