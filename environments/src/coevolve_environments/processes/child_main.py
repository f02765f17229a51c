"""python -m coevolve_environments.processes.child_main MODULE FACTORY: an environment's object, behind pipes.

One JSON line in is one call, one line out its result; end of input is the end of the process and its group.
It imports the standard library and the plug-in contract only, to run in the interpreter of another virtual
environment, where the packages of the server are absent.
"""

import ctypes
import importlib
import json
import os
import resource
import signal
import struct
import sys
import traceback
from typing import IO, Any

from coevolve_environments.processes.landlock import hide_from_self
from coevolve_environments.protocol import BadRequest, NotSupported, Unavailable

_CAPABILITIES_VERSION_3 = 0x20080522
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PASSED_ON = (BadRequest, NotSupported, Unavailable)


def main() -> None:
    _bind_to_parent()
    requests, replies = _take_pipes()
    first = json.loads(requests.readline() or "{}")
    _set_limits(first.get("limits", {}))
    _drop_capabilities()
    hide_from_self(first.get("hidden", []))
    made = _answer(lambda: _make(sys.argv[1], sys.argv[2], first["arguments"]))
    _write(replies, {key: value for key, value in made.items() if key != "result"})
    if "error" not in made:
        for line in requests:
            _write(replies, _answer(lambda line=line: _call(made["result"], json.loads(line))))
    os.killpg(
        0, signal.SIGKILL
    )  # what the environment started goes too, even when it ignores its own end of input


def _bind_to_parent() -> None:
    """Dies with the thread that started it, and adopts the orphans among its descendants (Linux only)."""
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _take_pipes() -> tuple[IO[str], IO[str]]:
    """Keeps the two pipes to itself: what libraries print or read must not get between the messages."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _set_limits(limits: dict[str, int]) -> None:
    """Lowers soft and hard limits; `limits` maps names such as `NOFILE` to the most there may be."""
    for name, most in limits.items():
        limit = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(limit)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (bound, bound))


def _drop_capabilities() -> None:
    """Root without them reads what is root's, and neither other users' files nor other processes."""
    if sys.platform == "linux":
        none = struct.pack("6I", *[0] * 6)
        ctypes.CDLL(None, use_errno=True).capset(struct.pack("Ii", _CAPABILITIES_VERSION_3, 0), none)


def _make(module: str, factory: str, arguments: dict[str, Any]) -> Any:
    return getattr(importlib.import_module(module), factory)(**arguments)


def _call(target: Any, message: dict[str, Any]) -> Any:
    method = message["method"]
    if method.startswith("_"):
        raise BadRequest(f"{method} is no method of the child")
    return getattr(target, method)(**message["arguments"])


def _answer(function: Any) -> dict[str, Any]:
    try:
        return {"result": function()}
    except _PASSED_ON as error:
        return {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # told to the parent, which makes it a fault of the environment
        traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        return {"error": "raised", "message": message}


def _write(replies: IO[str], reply: dict[str, Any]) -> None:
    try:
        text = json.dumps(reply)
    except (TypeError, ValueError) as error:
        text = json.dumps({"error": "raised", "message": f"the result is not JSON: {error}"})
    replies.write(text + "\n")
    replies.flush()


if __name__ == "__main__":
    main()
