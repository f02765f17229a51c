"""A program that attacks the machine from inside a child. It imports only the standard library."""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PTRACE_ATTACH = 16
_SESSION_KEYRING, _KEYCTL_GET_ID = -3, 0
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_IPC_PRIVATE = 0
_CLONE_NEWUSER = 0x10000000
_MPTCP = 262
_FAST_OPEN = 0x20000000
_SET_FLAGS, _SET_VERSION = 0x40086602, 0x40087602  # FS_IOC_SETFLAGS, FS_IOC_SETVERSION
_MQ_OPEN = {"x86_64": 240, "aarch64": 180}
_MQ_UNLINK = {"x86_64": 241, "aarch64": 181}
_IO_SETUP = {"x86_64": 206, "aarch64": 0}


class Attacker:
    def attempt(self, attack: str, target: Any = None) -> str:
        """Returns `done` if the attack succeeded, otherwise the type of its error."""
        try:
            getattr(self, attack)(target)
        except BaseException as error:
            return type(error).__name__
        return "done"

    def port(self) -> str:
        return os.environ["COEVOLVE_CHILD_PORT"]

    def open(self, path: str) -> None:
        os.close(os.open(path, os.O_RDONLY | os.O_NOCTTY))

    def read(self, path: str) -> None:
        Path(path).read_text()

    def write(self, path: str) -> None:
        with open(path, "r+b") as file:
            file.write(b"x")

    def create(self, folder: str) -> None:
        (Path(folder) / "created").write_bytes(b"x")

    def remove(self, path: str) -> None:
        os.remove(path)

    def truncate(self, path: str) -> None:
        os.truncate(path, 0)

    def rename(self, path: str) -> None:
        os.rename(path, f"{path}-renamed")

    def link(self, path: str) -> None:
        os.link(path, "linked")

    def make_folder(self, folder: str) -> None:
        os.mkdir(Path(folder) / "made")

    def make_link(self, folder: str) -> None:
        os.symlink("/", Path(folder) / "link")

    def fill_home(self, outside: str) -> None:
        """Makes what a removal by recursion, by name or through links fails at."""
        os.symlink(outside, "link")
        os.mkfifo("pipe")
        os.mkdir("line\nbreak")
        os.mkdir("closed", 0)
        for _ in range(1_100):
            os.mkdir("d")
            os.chdir("d")

    def run_away(self, _: None) -> None:
        """Starts a process that starts its successor in a session of its own and exits, without end."""
        if os.fork():
            return
        while True:
            os.setsid()
            while os.fork():
                os._exit(0)

    def reply(self, text: str) -> None:
        """Writes a reply of its own to every pipe that was inherited."""
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            rest = f"{text}\n".encode()
            while descriptor > 2 and rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except OSError:
                    break

    def connect(self, port: int) -> None:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()

    def connect_mptcp(self, port: int) -> None:
        with socket.socket(proto=_MPTCP) as client:
            client.connect(("127.0.0.1", port))

    def connect_by_sending(self, port: int) -> None:
        with socket.socket() as client:
            client.sendto(b"x", _FAST_OPEN, ("127.0.0.1", port))

    def connect_unix(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path.replace("@", "\0"))

    def send_datagram(self, port: int) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as client:
            client.sendto(b"x", ("127.0.0.1", port))

    def send_from_pair(self, path: str) -> None:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with pair[0], pair[1]:
            pair[0].sendto(b"x", path)

    def make_queue(self, name: str) -> None:
        """The kernel makes the queue even where it then refuses to open it."""
        opened = _call(_MQ_OPEN, name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
        if opened < 0 and ctypes.get_errno() != errno.EACCES:
            _require(opened)
        _require(_call(_MQ_UNLINK, name.encode()))

    def set_flags(self, path: str) -> None:
        self._change_inode(path, _SET_FLAGS)

    def set_version(self, path: str) -> None:
        self._change_inode(path, _SET_VERSION)

    def _change_inode(self, path: str, request: int) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, request, (0x80 if request == _SET_FLAGS else 7).to_bytes(8, "little"))
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> None:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def lease(self, path: str) -> None:
        with open(path) as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)

    def notify(self, folder: str) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.fcntl(descriptor, fcntl.F_NOTIFY, fcntl.DN_CREATE)
        finally:
            os.close(descriptor)

    def reserve_requests(self, count: int) -> None:
        context = ctypes.c_ulong()
        _require(_call(_IO_SETUP, count, ctypes.byref(context)))

    def watch_files(self, _: None) -> None:
        _require(ctypes.CDLL(None, use_errno=True).inotify_init())

    def make_memory_file(self, _: None) -> None:
        os.close(os.memfd_create("x"))

    def share_anonymous_memory(self, size: int) -> None:
        mmap.mmap(-1, size).close()

    def share_zeros(self, size: int) -> None:
        with open("/dev/zero", "r+b", buffering=0) as file:
            mmap.mmap(file.fileno(), size).close()

    def enlarge_pipe(self, size: int) -> None:
        fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, size)

    def listen(self, port: int) -> None:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))

    def signal(self, pid: int) -> None:
        os.kill(pid, 0)

    def trace(self, pid: int) -> None:
        _require(ctypes.CDLL(None, use_errno=True).ptrace(_PTRACE_ATTACH, pid, None, None))

    def limit(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_CPU)

    def slow_down(self, pid: int) -> None:
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))

    def bind_to_cpus(self, pid: int) -> None:
        os.sched_setaffinity(pid, os.sched_getaffinity(pid))

    def share_memory(self, _: None) -> None:
        _require(ctypes.CDLL(None, use_errno=True).shmget(_IPC_PRIVATE, 4096, 0o600))

    def find_keys(self, _: None) -> None:
        call = ctypes.CDLL(None, use_errno=True).syscall
        _require(call(_KEYCTL[platform.machine()], _KEYCTL_GET_ID, _SESSION_KEYRING, 1))

    def make_namespace(self, _: None) -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(ctypes.CDLL(None).unshare(_CLONE_NEWUSER) != 0)
        _require(-os.waitpid(pid, 0)[1])

    def become_root(self, _: None) -> None:
        os.setuid(0)

    def spawn(self, _: None) -> None:
        subprocess.run(["/bin/true"], check=True)

    def fork_bomb(self, count: int) -> None:
        """Starts processes and threads until it fails; they end with the child."""
        for _ in range(count):
            subprocess.Popen(["/bin/sleep", "60"])

    def start_thread(self, _: None) -> None:
        threading.Thread(target=int).start()

    def change_mode(self, path: str) -> None:
        os.chmod(path, 0o777)
        if os.stat(path).st_mode & 0o777 != 0o777:
            raise PermissionError("the mode is unchanged")


def _call(numbers: dict[str, int], *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(numbers[platform.machine()], *arguments))


def _require(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attempt_all(attacks: list[tuple[str, Any]]) -> dict[str, str]:
    attempt: Callable[[str, Any], str] = Attacker().attempt
    return {f"{attack} {target}": attempt(attack, target) for attack, target in attacks}
