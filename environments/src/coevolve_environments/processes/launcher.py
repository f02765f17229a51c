"""Starts child processes: separate process group, minimal environment variables, another user if possible."""

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
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME", "COEVOLVE_STACK")
"""COEVOLVE_STACK names the installation: `coevolve down` finds the orphans of a killed server by it."""
_PROBE_SECONDS = 60
_MEGABYTE = 2**20
LIMITS = {"CORE": 0, "NOFILE": 4096, "FSIZE": 1024 * _MEGABYTE}
"""Resource limits of a child: no core files, open files, bytes of one file."""
_MAX_PROCESSES = 4096  # of all processes of the other user, threads included: a JVM has about 30


@dataclass(frozen=True)
class ChildProgram:
    """The object in a child: made by `factory(**arguments)`, its methods are called by name."""

    module: str
    """Importable in the child."""
    factory: str
    """Class or function of the module."""
    arguments: Json = field(default_factory=dict)
    python: Path = Path(sys.executable)
    """Interpreter, 3.11 or later: that of another virtual environment where packages conflict."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to PATH, LANG and HOME; the server's own are never inherited."""
    readable_paths: Sequence[Path] = ()
    """Files and folders that the child must be able to read, also as another user."""


@dataclass(frozen=True)
class LaunchedProcess:
    process: subprocess.Popen[bytes]
    home: Path


class Launcher:
    """Starts the children of one pool, all as one user; a test process at the first start decides which."""

    def __init__(self, name: str, program: ChildProgram) -> None:
        self._name = name
        self._program = program
        self._user: str | None = None
        self._probed = False

    def first_message(self) -> Json:
        """Returns the limits and hidden files that the child applies before it loads the environment.

        No files are hidden from another user: file permissions restrict it, and it could not list the folders
        that stay readable.
        """
        limits = {**LIMITS, "NPROC": _MAX_PROCESSES} if self._user else LIMITS
        hidden = [] if self._user else hidden_files()
        return {"arguments": self._program.arguments, "limits": limits, "hidden": hidden}

    def launch(self) -> LaunchedProcess:
        """Starts a process with pipes for messages and stderr. Remove its home with `remove_home`."""
        if not self._probed:
            self._user, self._probed = self._choose_user(), True
        home = self._make_home(self._user)
        arguments = ["-m", "coevolve_environments.processes.child_main"]
        command = [str(self._program.python), *arguments, self._program.module, self._program.factory]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, **self._process_options(home, self._user)
            )
        except OSError:
            remove_home(home)
            raise
        return LaunchedProcess(process, home)

    def _choose_user(self) -> str | None:
        sandbox = "with Landlock" if landlock_version() else "without Landlock, which this kernel lacks"
        if os.geteuid() != 0:
            log.info("%s: children run as the server's own user, %s", self._name, sandbox)
            return None
        error = self._try_user(OTHER_USER)
        if error is None:
            log.info("%s: children run as the user %s, %s", self._name, OTHER_USER, sandbox)
            return OTHER_USER
        log.warning(
            "%s: children run as root, %s: %s cannot run them: %s", self._name, sandbox, OTHER_USER, error
        )
        return None

    def _try_user(self, user: str) -> str | None:
        """Returns why the user cannot run the program; None if a test process of that user succeeded."""
        try:
            pwd.getpwnam(user)
        except KeyError:
            return "the user does not exist"
        home = self._make_home(user)
        probe = (
            "import importlib.util, os, sys, coevolve_environments.protocol;"
            "found = importlib.util.find_spec(sys.argv[1]);"
            "open(found.origin).close();"
            "denied = [p for p in sys.argv[2:] if not os.access(p, os.R_OK | os.X_OK * os.path.isdir(p))];"
            "sys.exit(f'{denied[0]} is not readable' if denied else 0)"
        )
        command = [str(self._program.python), "-c", probe, self._program.module]
        command += [str(path) for path in self._program.readable_paths]
        try:
            completed = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_PROBE_SECONDS,
                **self._process_options(home, user),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            remove_home(home)
        lines = completed.stderr.strip().splitlines() or ["the test process failed"]
        return lines[-1] if completed.returncode else None

    def _make_home(self, user: str | None) -> Path:
        home = Path(tempfile.mkdtemp(prefix=f"coevolve-{self._name}-"))
        # Only this package: the server's other packages must not shadow those of another interpreter.
        (home / ".packages").mkdir()
        (home / ".packages" / _PACKAGE.name).symlink_to(_PACKAGE)
        if user is not None:
            shutil.chown(home, user, pwd.getpwnam(user).pw_gid)
        return home

    def _process_options(self, home: Path, user: str | None) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": home, "env": self._environ(home), "start_new_session": True}
        if user is not None:
            options |= {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        return options

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


def remove_home(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
