"""How far this machine can confine the children of a pool: their user, and the files that they may read."""

import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from coevolve_environments.processes.landlock import SIGNAL_VERSION, landlock_version
from coevolve_environments.processes.system_calls import Sockets, can_filter
from coevolve_environments.processes.user_ids import USER_IDS
from coevolve_environments.processes.wall import Passage, Wall
from coevolve_environments.protocol import Unavailable

log = logging.getLogger(__name__)

_READ_SEARCH = 1 << 2  # CAP_DAC_READ_SEARCH
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share", "ssl", "pyvenv.cfg")
"""What an interpreter or a machine needs of a folder such as /usr or that of a virtual environment."""

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/nix/store", "/gnu/store")
_SETTINGS = ("alternatives", "fonts", "ld.so.conf.d", "localtime", "ssl/certs")
"""Folders of /etc that programs read, in addition to its files that every user may read."""

_PACKAGE = Path(__file__).parent.parent
_FOLDERS_OF_INTERPRETER = """
import importlib, json, sys
for name in ("ctypes", "sqlite3", "ssl"):  # load their libraries
    try:
        importlib.import_module(name)
    except ImportError:
        continue
maps = open("/proc/self/maps").read().splitlines()
libraries = {line[line.index("/"):].rpartition("/")[0] for line in maps if ".so" in line}
print(json.dumps([[sys.prefix, sys.base_prefix, sys.exec_prefix], sys.path[1:], sorted(libraries)]))
"""
"""Libraries may lie elsewhere than the interpreter, as those of a cluster's compilers."""

_READS_PROGRAM = (
    "import importlib.util, os, sys, coevolve_environments.protocol;"
    "found = importlib.util.find_spec(sys.argv[1]);"
    "open(found.origin).close();"
    "denied = [p for p in sys.argv[2:] if not os.access(p, os.R_OK | os.X_OK * os.path.isdir(p))];"
    "sys.exit(f'{denied[0]} is not readable' if denied else 0)"
)
Probe = Callable[[str, int | None], "subprocess.CompletedProcess[str]"]
_ENVIRONMENTS_STATE = "environments"
_added: set[Path] = set()


class Confinement:
    """A child reads the files that its program needs, and no others: keys can lie anywhere.

    Where the server is root, each child has its own user, which owns no other process and no file. A user
    that cannot reach the interpreter, for example below /root, gets mounts that show it, or where the kernel
    refuses mounts a capability to read. Where the server is not root, its children keep its user.
    """

    def __init__(self, name: str, probe: Probe, readable_paths: Sequence[Path]) -> None:
        """
        Args:
            probe: runs code in the child's interpreter, as a user or (None) as the server.
            readable_paths: see `ChildProgram`.
        """
        self._name = name
        self._passage: Passage = "none"
        self._weakness: str | None = None  # reason for which a policy's code may not run here
        self._readable = _needed_files(probe, readable_paths) if landlock_version() else []
        self._has_users = os.geteuid() == 0 and self._can_change_user(probe)
        self._log()

    def wall(self, sockets: Sockets) -> Wall:
        """Returns the wall of the next child; its user id is reserved until the caller releases it.

        Raises:
            OSError: no user id is free.
        """
        user = USER_IDS.reserve() if self._has_users else None
        hidden = _hidden_files()
        return Wall(user, self._readable, hidden, self._passage, sockets)

    def require_for_code(self) -> None:
        """
        Raises:
            Unavailable: this machine cannot confine a policy's code.
        """
        reason = self._weakness
        if not landlock_version():
            reason = "this kernel has no Landlock"
        elif not can_filter():
            reason = "the filter of system calls supports Linux on x86_64 and aarch64 only"
        elif os.geteuid() != 0 and landlock_version() < SIGNAL_VERSION:
            reason = "the server is not root, and this kernel's Landlock does not restrict signals"
        if reason:
            raise Unavailable(
                f"{self._name} runs a policy's code, which this machine cannot confine: {reason}; "
                "expected a server of root with Linux 5.13 or later, for example in a container, "
                "or of an ordinary user with Linux 6.12 or later"
            )

    def _can_change_user(self, probe: Probe) -> bool:
        user = USER_IDS.reserve()
        try:
            probe_user = subprocess.run(["/bin/true"], user=user, group=user, extra_groups=[], check=False)
            probe_user.check_returncode()
            reason = _failure(probe, user)
            if reason and landlock_version():
                trial = Wall(user, self._readable, passage="mounts")
                self._passage = "capability" if _failure_behind(trial, probe) else "mounts"
        except (OSError, subprocess.SubprocessError) as error:
            self._weakness = f"the server is root and cannot start a process of another user ({error})"
            return False
        finally:
            USER_IDS.release(user)
        if reason is None or self._passage == "mounts":
            return True
        if not _capabilities() & _READ_SEARCH or not landlock_version():
            self._weakness = f"another user than root cannot run its program: {reason}"
            return False
        return True

    def _log(self) -> None:
        sandbox = f"Landlock {landlock_version()}" if landlock_version() else "no Landlock in this kernel"
        calls = "filtered system calls" if can_filter() else "no filter of system calls"
        if self._weakness:
            log.warning("%s: children run as root: %s; %s, %s", self._name, self._weakness, sandbox, calls)
            return
        user = "their own users" if self._has_users else "the server's user"
        user += " that read files of any mode" if self._passage == "capability" else ""
        log.info("%s: children run as %s, %s, %s", self._name, user, sandbox, calls)


def _failure_behind(wall: Wall, probe: Probe) -> str | None:
    """Returns why the program cannot run behind the wall; None if a test process succeeded."""
    setup = (
        "import json; from coevolve_environments.processes.wall import Wall, raise_wall;"
        f"os.chown('.', {wall.user}, {wall.user});"
        f"raise_wall(Wall(**json.loads({json.dumps(asdict(wall))!r})));"
        "import subprocess; subprocess.run([sys.executable, '-c', ''], check=True);"
    )
    return _failure(probe, None, f"import os, sys; {setup} {_READS_PROGRAM}")


def _failure(probe: Probe, user: int | None, code: str = _READS_PROGRAM) -> str | None:
    """Returns why the user cannot run the program; None if a test process of that user succeeded."""
    try:
        completed = probe(code, user)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return _last_line(completed.stderr) if completed.returncode else None


def _last_line(stderr: str) -> str:
    return (stderr.strip().splitlines() or ["the test process failed"])[-1]


def _needed_files(probe: Probe, readable_paths: Sequence[Path]) -> list[str]:
    completed = probe(_FOLDERS_OF_INTERPRETER, None)
    if completed.returncode:
        raise Unavailable(f"the children's interpreter does not start: {_last_line(completed.stderr)}")
    prefixes, modules, libraries = json.loads(completed.stdout)
    found = {Path(prefix) / part for prefix in ("/usr", "/usr/local", *prefixes) for part in _PARTS}
    found |= {Path(path) for path in (*_SYSTEM, *modules, *libraries)}
    found |= {_PACKAGE, *readable_paths, *_public_settings()}
    # A program, such as Java, lies in the folder `bin` beside its libraries.
    found |= {path.resolve().parent.parent for path in readable_paths if path.resolve().parent.name == "bin"}
    resolved = {os.path.realpath(path) for path in found}  # a path of data may be made later
    home = Path(os.path.expanduser("~"))  # "~" if it is unknown
    return sorted(path for path in resolved if path != "/" and not home.is_relative_to(path))


def _public_settings() -> Iterator[Path]:
    folder = Path("/etc")
    yield from (folder / name for name in _SETTINGS)
    yield from (path for path in folder.glob("java*"))
    for path in folder.iterdir():
        if path.is_file() and path.stat().st_mode & stat.S_IROTH:
            yield path


def _capabilities() -> int:
    """Returns the server's effective capabilities as bits."""
    if sys.platform != "linux":
        return 0
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("CapEff:")).split()[1], 16)


def hide_from_children(path: Path) -> None:
    """Hides a file or folder, such as the file with the server's token, also below a readable folder."""
    _added.add(path)


def _hidden_files() -> list[str]:
    """Returns the resolved paths of the hidden files that exist now: added ones and the installation's own.

    The folder in which environments keep their state stays readable, where a program needs it.
    """
    return sorted({str(path.resolve()) for path in (*_added, *_installation_files()) if path.exists()})


def _installation_files() -> list[Path]:
    stack = os.environ.get("COEVOLVE_STACK")
    if not stack or not Path(stack).is_dir():
        return []
    return [path for path in Path(stack).iterdir() if path.name != _ENVIRONMENTS_STATE]
