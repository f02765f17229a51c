"""Starts child processes: separate process group, minimal environment variables, behind a wall."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coevolve_environments.processes.confinement import Confinement
from coevolve_environments.processes.reaper import remove_home
from coevolve_environments.processes.system_calls import Sockets
from coevolve_environments.processes.user_ids import USER_IDS
from coevolve_environments.protocol import Json

_PROBE_SECONDS = 60
_PACKAGE = Path(__file__).parent.parent
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME", "COEVOLVE_STACK")
"""COEVOLVE_STACK names the installation: `coevolve down` finds the orphans of a killed server by it."""
_MEGABYTE = 2**20
LIMITS = {"CORE": 0, "NOFILE": 4096, "FSIZE": 1024 * _MEGABYTE}
"""Resource limits of a child: no core files, open files, bytes of one file."""
MAX_PROCESSES = 512
"""Of a child, threads included: a JVM has about 30. The kernel counts those of a child with its own user."""


@dataclass(frozen=True)
class ChildProgram:
    """The object in a child: made by `factory(**arguments)`, its methods are called by name."""

    module: str
    """Importable in the child."""
    factory: str
    """Class or function of the module."""
    arguments: Json = field(default_factory=dict)
    python: Path = Path(sys.executable)
    """Interpreter, 3.11 or later. Where packages conflict, it belongs to another virtual environment."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to PATH, LANG and HOME; the server's own are never inherited."""
    readable_paths: Sequence[Path] = ()
    """Files and folders that the child must be able to read, also as another user."""
    sockets: Sockets = "none"
    """New sockets that the child may make: none, or TCP on the one port that `PORT_VARIABLE` names."""
    runs_code: bool = False
    """A policy's code runs in the child: it is not started on a machine that cannot confine it."""


@dataclass(frozen=True)
class LaunchedProcess:
    process: subprocess.Popen[bytes]
    home: Path
    user: int | None
    """User that no other process has, reserved in `USER_IDS`; None for the server's."""
    first_message: Json
    """Arguments, limits and wall, which the child applies before it loads the environment."""


class Launcher:
    """Starts the children of one pool; the first start finds out how far this machine can confine them."""

    def __init__(self, name: str, program: ChildProgram) -> None:
        self._name = name
        self._program = program
        self._confinement: Confinement | None = None

    def check(self) -> None:
        """
        Raises:
            Unavailable: a policy's code runs in the child, and this machine cannot confine it.
        """
        if self._program.runs_code:
            self._confine().require_for_code()

    def launch(self) -> LaunchedProcess:
        """Starts a process with pipes for messages and stderr. The caller removes its home, frees its user.

        Raises:
            OSError: it could not be started, or no user id is free.
        """
        wall = self._confine().wall(self._program.sockets)
        limits = LIMITS if wall.user is None else {**LIMITS, "NPROC": MAX_PROCESSES}
        message = {"arguments": self._program.arguments, "limits": limits, "wall": asdict(wall)}
        try:
            home = self._make_home(wall.user)
            process = self._start(home)
        except OSError:
            if wall.user is not None:
                USER_IDS.release(wall.user)
            raise
        return LaunchedProcess(process, home, wall.user, message)

    def _start(self, home: Path) -> "subprocess.Popen[bytes]":
        arguments = ["-m", "coevolve_environments.processes.child_main"]
        command = [str(self._program.python), *arguments, self._program.module, self._program.factory]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, **self._process_options(home)
            )
        except OSError:
            remove_home(home)
            raise

    def _confine(self) -> Confinement:
        if self._confinement is None:
            self._confinement = Confinement(self._name, self._probe, self._program.readable_paths)
        return self._confinement

    def _probe(self, code: str, user: int | None) -> "subprocess.CompletedProcess[str]":
        """Runs code in the child's interpreter with the module and the readable paths as arguments."""
        home = self._make_home(user)
        options = self._process_options(home)
        if user is not None:
            options |= {"user": user, "group": user, "extra_groups": []}
        command = [str(self._program.python), "-c", code, self._program.module]
        command += [str(path) for path in self._program.readable_paths]
        try:
            return subprocess.run(
                command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False, **options
            )
        finally:
            remove_home(home)

    def _make_home(self, user: int | None) -> Path:
        home = Path(tempfile.mkdtemp(prefix=f"coevolve-{self._name}-"))
        # Only this package: the server's other packages must not shadow another interpreter's.
        (home / ".packages").mkdir()
        (home / ".packages" / _PACKAGE.name).symlink_to(_PACKAGE)
        if user is not None:
            os.chown(home, user, user)
        return home

    def _process_options(self, home: Path) -> dict[str, Any]:
        return {"cwd": home, "env": self._environ(home), "start_new_session": True}

    def _environ(self, home: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        own = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",  # equal order of sets in every child, for replays
            "PYTHONUTF8": "1",
        }
        given = dict(self._program.environ)
        packages = [str(home / ".packages"), *filter(None, [given.pop("PYTHONPATH", "")])]
        own["PYTHONPATH"] = os.pathsep.join(packages)
        return {"PATH": os.defpath, "LANG": "C.UTF-8", **kept, **own, **given}
