"""python -m coevolve_environments.processes.child_main MODULE FACTORY: serves an engine's object over pipes.

Each JSON line on stdin is a call, each line on stdout its result. End of input ends the process group.
The module imports only the standard library and the plugin contract, because it may run in the interpreter of
another virtual environment, without the packages of the server.
"""

import importlib
import json
import os
import resource
import signal
import sys
import traceback
from typing import IO, Any

from coevolve_environments.processes.process_limit import leave_half
from coevolve_environments.processes.wall import Wall, exit_with_parent, raise_wall
from coevolve_environments.protocol import BadRequest, NotSupported, Unavailable

_FORWARDED = (BadRequest, NotSupported, Unavailable)


def main() -> None:
    exit_with_parent()
    requests, replies = _take_pipes()
    line = requests.readline()
    if not line:
        return
    first = json.loads(line)
    _set_limits(first["limits"])
    wall = Wall(**first["wall"])
    raise_wall(wall)
    if wall.user is None:
        leave_half()
    made = _reply(lambda: _make(sys.argv[1], sys.argv[2], first["arguments"]))
    _write(replies, {key: value for key, value in made.items() if key != "result"})
    if "error" not in made:
        for line in requests:
            _write(replies, _reply(lambda line=line: _call(made["result"], json.loads(line))))
    # Also kills the processes of the environment, which may ignore the end of their input.
    os.killpg(0, signal.SIGKILL)


def _take_pipes() -> tuple[IO[str], IO[str]]:
    """Moves the two pipes to private descriptors, so that output of libraries does not mix with messages."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _set_limits(limits: dict[str, int]) -> None:
    """Lowers soft and hard limits; `limits` maps names such as `NOFILE` to their maximum."""
    for name, maximum in limits.items():
        limit = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(limit)[1]
        value = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(limit, (value, value))


def _make(module: str, factory: str, arguments: dict[str, Any]) -> Any:
    return getattr(importlib.import_module(module), factory)(**arguments)


def _call(target: Any, message: dict[str, Any]) -> Any:
    method = message["method"]
    if method.startswith("_"):
        raise BadRequest(f"{method} is not a public method of the child")
    return getattr(target, method)(**message["arguments"])


def _reply(function: Any) -> dict[str, Any]:
    try:
        return {"result": function()}
    except _FORWARDED as error:
        return {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # the parent reports it as a fault of the environment
        traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        return {"error": "error", "message": message}


def _write(replies: IO[str], reply: dict[str, Any]) -> None:
    try:
        text = json.dumps(reply)
    except (TypeError, ValueError) as error:
        text = json.dumps({"error": "error", "message": f"the result is not JSON: {error}"})
    replies.write(text + "\n")
    replies.flush()


if __name__ == "__main__":
    main()
