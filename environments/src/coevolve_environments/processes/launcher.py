"""Starts the process of a child: its own group, a scrubbed environment, another user where that works."""

import logging
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coevolve_environments.processes.hidden_files import hidden_files
from coevolve_environments.processes.landlock import landlock_version
from coevolve_environments.protocol import Json

log = logging.getLogger(__name__)

OTHER_USER = "nobody"
_PACKAGE = Path(__file__).parent.parent
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME", "COEVOLVE_STACK")
"""COEVOLVE_STACK names the installation, by which `coevolve down` finds what a killed server left."""
_PROBE_SECONDS = 60
_MEGABYTE = 2**20
LIMITS = {"CORE": 0, "NOFILE": 4096, "FSIZE": 1024 * _MEGABYTE}
"""Per child: no core files, open files, bytes of one file."""
_MOST_PROCESSES = 4096  # of the other user together, threads included: a JVM has about 30


@dataclass(frozen=True)
class ChildProgram:
    """What runs in a child: an object made by `factory(**arguments)`, whose methods are called by name."""

    module: str
    """Importable in the child."""
    factory: str
    """Class or function in it."""
    arguments: Json = field(default_factory=dict)
    python: Path = Path(sys.executable)
    """Interpreter: another virtual environment's where packages clash. 3.11 or later."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables beside the scrubbed base (PATH, LANG, HOME); the server's own are never passed on."""
    reads: Sequence[Path] = ()
    """Files and folders that it must be able to read, as the other user too."""


@dataclass(frozen=True)
class Launched:
    process: subprocess.Popen[bytes]
    home: Path


class Launcher:
    """Starts the children of one pool, all as one user: which, a real process tells at the first start."""

    def __init__(self, name: str, program: ChildProgram) -> None:
        self._name = name
        self._program = program
        self._user: str | None = None
        self._probed = False

    def welcome(self) -> Json:
        """What the child does to itself before it loads the environment: resource limits, files out of sight.

        Another user's reach ends at the files' own permissions, and it could not list what to leave in sight.
        """
        limits = {**LIMITS, "NPROC": _MOST_PROCESSES} if self._user else LIMITS
        hidden = [] if self._user else hidden_files()
        return {"arguments": self._program.arguments, "limits": limits, "hidden": hidden}

    def launch(self) -> Launched:
        """A process with the two pipes of its messages and stderr. Its home outlives it: `remove_home`."""
        if not self._probed:
            self._user, self._probed = self._find_user(), True
        home = self._make_home(self._user)
        arguments = ["-m", "coevolve_environments.processes.child_main"]
        command = [str(self._program.python), *arguments, self._program.module, self._program.factory]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, **self._how(home, self._user)
            )
        except OSError:
            remove_home(home)
            raise
        return Launched(process, home)

    def _find_user(self) -> str | None:
        bound = "bound by Landlock" if landlock_version() else "without Landlock, which this kernel lacks"
        if os.geteuid() != 0:
            log.info("%s: children run as the server's own user, %s", self._name, bound)
            return None
        lack = self._lack_of(OTHER_USER)
        if lack is None:
            log.info("%s: children run as the user %s, %s", self._name, OTHER_USER, bound)
            return OTHER_USER
        log.warning("%s: children run as root, %s, for %s cannot: %s", self._name, bound, OTHER_USER, lack)
        return None

    def _lack_of(self, user: str) -> str | None:
        """Why the user cannot run the program; None when a process of that user found all it needs."""
        try:
            pwd.getpwnam(user)
        except KeyError:
            return "there is no such user"
        home = self._make_home(user)
        probe = (
            "import importlib.util, os, sys, coevolve_environments.protocol;"
            "found = importlib.util.find_spec(sys.argv[1]);"
            "open(found.origin).close();"
            "lost = [p for p in sys.argv[2:] if not os.access(p, os.R_OK | os.X_OK * os.path.isdir(p))];"
            "sys.exit(f'{lost[0]} cannot be read' if lost else 0)"
        )
        command = [str(self._program.python), "-c", probe, self._program.module]
        command += [str(path) for path in self._program.reads]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=_PROBE_SECONDS, **self._how(home, user)
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            remove_home(home)
        return (ended.stderr.strip().splitlines() or ["it failed"])[-1] if ended.returncode else None

    def _make_home(self, user: str | None) -> Path:
        home = Path(tempfile.mkdtemp(prefix=f"coevolve-{self._name}-"))
        # This one package alone: the server's others must not shadow those of another interpreter.
        (home / ".packages").mkdir()
        (home / ".packages" / _PACKAGE.name).symlink_to(_PACKAGE)
        if user is not None:
            shutil.chown(home, user, pwd.getpwnam(user).pw_gid)
        return home

    def _how(self, home: Path, user: str | None) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": home, "env": self._environ(home), "start_new_session": True}
        if user is not None:
            options |= {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        return options

    def _environ(self, home: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",  # the same order of sets in every child, for replays
            "PYTHONUTF8": "1",
        }
        given = dict(self._program.environ)
        packages = [str(home / ".packages"), *filter(None, [given.pop("PYTHONPATH", "")])]
        own["PYTHONPATH"] = os.pathsep.join(packages)
        return {"PATH": os.defpath, "LANG": "C.UTF-8", **kept, **own, **given}


def remove_home(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
