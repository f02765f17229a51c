"""A child that attacks the machine from behind its wall, as root and as an ordinary user."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from coevolve_environments.processes import confinement
from coevolve_environments.processes.child_pool import Child, ChildFault, ChildPool, ChildProgram, PoolLimits
from coevolve_environments.processes.confinement import hide_from_children
from coevolve_environments.processes.landlock import landlock_version
from coevolve_environments.processes.launcher import MAX_PROCESSES
from coevolve_environments.processes.reaper import Reaper
from coevolve_environments.processes.user_ids import USERS
from coevolve_environments.protocol import Unavailable
from conftest import TESTS

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="needs a kernel with Landlock 6")

SOURCES = TESTS.parent / "src"
SYSTEM_PYTHON = Path("/usr/bin/python3")


@dataclass(frozen=True)
class Machine:
    """Targets of the attacks, each of which a process outside the wall reaches."""

    folder: Path
    file: Path
    key: Path
    """A file of the operator whose path is in no setting of the server."""
    secret: Path
    tcp_port: int
    udp_port: int
    unix_socket: str
    datagram_socket: str
    abstract_socket: str
    terminal: str


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Modes are wide open: only the wall can protect these files, whoever the child is."""
    folder = tmp_path / "installation"
    for path in (folder, *list(folder.parents)[:3]):
        path.mkdir(exist_ok=True)
        path.chmod(0o777 if path == folder else 0o755)
    file, key, secret = folder / "code.py", folder / "provider.key", folder / "secret"
    for path in (file, key, secret):
        path.write_text("content")
        path.chmod(0o666)
    hide_from_children(secret)
    unix, abstract = str(folder / "socket"), f"@coevolve-test-{os.getpid()}"
    tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
    streams = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    for server, address in zip(streams, (unix, abstract.replace("@", "\0")), strict=True):
        server.bind(address)
        server.listen()
    datagrams, datagram_path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), str(folder / "datagrams")
    datagrams.bind(datagram_path)
    for name in (unix, datagram_path):
        Path(name).chmod(0o777)
    for internet in (tcp, udp):
        internet.bind(("127.0.0.1", 0))
    tcp.listen()
    ends = os.openpty()
    terminal = os.ttyname(ends[1])
    os.chmod(terminal, 0o666)
    ports = (tcp.getsockname()[1], udp.getsockname()[1])
    yield Machine(folder, file, key, secret, *ports, unix, datagram_path, abstract, terminal)
    for each in (tcp, udp, datagrams, *streams):
        each.close()
    for end in ends:
        os.close(end)


def attacks(machine: Machine, victim: int | None = None) -> list[tuple[str, Any]]:
    """
    Args:
        victim: a process of the child's user; default: this process.
    """
    folder, file = str(machine.folder), str(machine.file)
    this = victim or os.getpid()
    return [
        *((attack, file) for attack in ("write", "truncate", "change_mode", "rename", "link", "remove")),
        *((attack, folder) for attack in ("create", "make_folder", "make_link")),
        *(("create", path) for path in ("/etc", "/etc/cron.d", "/tmp", "/dev/shm", str(SOURCES))),
        *(("write", path) for path in ("/etc/passwd", str(SOURCES / "coevolve_environments/protocol.py"))),
        *(
            ("read", str(path))
            for path in (
                machine.key,
                machine.secret,
                "/etc/shadow",
                "/proc/slabinfo",
                f"/proc/{this}/environ",
            )
        ),
        ("write", f"/proc/{this}/mem"),
        ("open", machine.terminal),
        *((attack, machine.tcp_port) for attack in ("connect", "connect_mptcp", "connect_by_sending")),
        ("send_datagram", machine.udp_port),
        ("connect_unix", machine.unix_socket),
        ("connect_unix", machine.abstract_socket),
        ("send_from_pair", machine.datagram_socket),
        ("listen", 0),
        ("make_queue", f"coevolve-test-{this}"),
        *((attack, file) for attack in ("set_flags", "set_version", "lock", "lease")),
        ("notify", folder),
        ("reserve_requests", 1),
        *((attack, 4096) for attack in ("share_anonymous_memory", "share_zeros", "enlarge_pipe")),
        *((attack, None) for attack in ("watch_files", "make_memory_file")),
        *((attack, this) for attack in ("signal", "trace", "limit", "slow_down", "bind_to_cpus")),
        *((attack, None) for attack in ("share_memory", "find_keys", "make_namespace", "become_root")),
    ]


def attacker(python: Path, **options: Any) -> ChildPool:
    environ = {"PYTHONPATH": f"{TESTS}:{SOURCES}"}
    program = ChildProgram("attacker", "Attacker", {}, python, environ, [TESTS], **options)
    return ChildPool("attacker", program, PoolLimits(size=1))


def successes(child: Child, attempts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [
        (attack, at) for attack, at in attempts if child.call("attempt", attack=attack, target=at) == "done"
    ]


@pytest.fixture(params=["ours", "system"])
def python(request: pytest.FixtureRequest) -> Path:
    """Two interpreters: as root, that of the system can be read by every user, and ours often cannot."""
    if request.param == "ours":
        return Path(sys.executable)
    new = "import sys; sys.exit(sys.version_info < (3, 11))"
    if not SYSTEM_PYTHON.exists() or subprocess.run([SYSTEM_PYTHON, "-c", new], check=False).returncode:
        pytest.skip("the system has no Python 3.11")
    return SYSTEM_PYTHON


def test_every_attack_succeeds_without_the_wall(machine: Machine) -> None:
    """Otherwise the tests below would prove nothing."""
    code = "import json, sys, attacker; print(json.dumps(attacker.attempt_all(json.loads(sys.argv[1]))))"
    own = [each for each in attacks(machine) if not str(each[1]).startswith(("/etc", "/proc", str(SOURCES)))]
    # `trace` would stop this test, `rename` comes before `remove`, containers refuse the next three, and some
    # file systems lack the last two
    left_out = {"become_root", "trace", "remove", "find_keys", "make_namespace", "connect_mptcp"}
    left_out |= {"set_flags", "set_version"}
    attempts = [each for each in own if each[0] not in left_out and each[1] not in ("/tmp", "/dev/shm")]
    order = sorted(attempts, key=lambda each: each[0] == "rename")
    ran = subprocess.run(
        [sys.executable, "-c", code, json.dumps(order)],
        env={"PYTHONPATH": str(TESTS)},
        cwd=machine.folder.parent,
        capture_output=True,
        check=True,
    )
    assert set(json.loads(ran.stdout).values()) == {"done"}, ran.stdout


def test_a_child_reaches_nothing_but_its_home(machine: Machine, python: Path) -> None:
    pool = attacker(python)
    child = pool.acquire()
    assert successes(child, attacks(machine)) == []
    harmless = [("create", "."), ("make_folder", "."), ("write", "/dev/null"), ("spawn", None)]
    assert successes(child, harmless) == harmless
    status = Path(f"/proc/{child.pid}/status").read_text()
    pool.close()
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    users = fields["Uid"].split()
    assert "0" not in users
    for capabilities in ("CapEff", "CapPrm", "CapAmb"):
        assert int(fields[capabilities], 16) == 0
    if os.geteuid() == 0:
        assert {int(user) for user in users} <= set(USERS)
        assert "Groups:\t\n" in status.replace(" \n", "\n")


def test_where_mounts_are_refused_a_child_reads_with_a_capability(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0 or Path(sys.executable).resolve().is_relative_to("/usr"):
        pytest.skip("needs root, and an interpreter that other users may not read")
    monkeypatch.setattr(confinement, "_failure_behind", lambda *_: "mounts are refused")
    pool = attacker(Path(sys.executable))
    child = pool.acquire()
    assert set(successes(child, attacks(machine))) <= {("read", "/proc/slabinfo")}
    pool.close()


def test_two_children_of_root_have_two_users(python: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can change users")
    first, second = attacker(python), attacker(python)
    users = {os.stat(f"/proc/{pool.acquire().pid}").st_uid for pool in (first, second)}
    for pool in (first, second):
        pool.close()
    assert len(users) == 2


def test_a_child_with_tcp_reaches_its_own_port_alone(machine: Machine, python: Path) -> None:
    pool = attacker(python, sockets="tcp")
    child = pool.acquire()
    own = int(child.call("port"))
    assert successes(child, [*attacks(machine), ("listen", own)]) == [("listen", own)]
    pool.close()


def test_a_fork_bomb_ends_at_the_limit_of_the_child(python: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("children of an ordinary user share its limit of processes")
    pool = attacker(python)
    assert pool.acquire().call("attempt", attack="fork_bomb", target=600) == "BlockingIOError"
    other = attacker(python)
    assert other.acquire().call("attempt", attack="spawn") == "done"
    for each in (pool, other):
        each.close()


def test_no_process_outlives_its_child() -> None:
    if os.geteuid() != 0:
        pytest.skip("children of an ordinary user have no user of their own")
    pool = attacker(Path(sys.executable))
    child = pool.acquire()
    user = psutil.Process(child.pid).uids().real
    assert child.call("attempt", attack="run_away") == "done"
    child.end()
    running = [each for each in psutil.process_iter(["uids", "status"]) if each.info["uids"].real == user]
    assert [each for each in running if each.info["status"] != psutil.STATUS_ZOMBIE] == []


def test_a_home_of_any_content_is_removed_with_its_child(machine: Machine) -> None:
    pool = attacker(Path(sys.executable))
    child = pool.acquire()
    home = Path(f"/proc/{child.pid}/cwd").resolve()
    assert child.call("attempt", attack="fill_home", target=str(machine.folder)) == "done"
    child.end()
    assert not home.exists()
    assert machine.file.exists()
    pool.acquire()  # its slot is free
    pool.close()


def test_the_reaper_removes_homes_of_any_content(machine: Machine, tmp_path: Path) -> None:
    homes, reaper = [tmp_path / "first", tmp_path / "second"], Reaper()
    for home in homes:
        home.mkdir()
        code = f"import attacker; attacker.Attacker().fill_home({str(machine.folder)!r})"
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(TESTS)}, cwd=home, check=True)
    groups = [subprocess.Popen(["/bin/sleep", "60"], start_new_session=True) for _ in homes]
    for group, home in zip(groups, homes, strict=True):
        reaper.watch(group.pid, home)
    process = reaper._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # as the end of the server does
    process.wait()
    assert [group.wait() for group in groups] == [-signal.SIGKILL, -signal.SIGKILL]
    assert [home for home in homes if home.exists()] == []
    assert machine.file.exists()


@pytest.mark.parametrize("text", ["[" * 100_000, f"[{'[],' * 2_000_000}1]", "9" * 5_000, "null"])
def test_a_forged_reply_of_any_form_is_a_fault_of_its_child(text: str) -> None:
    pool = attacker(Path(sys.executable))
    child = pool.acquire()
    with pytest.raises(ChildFault) as raised:
        child.call("reply", text=text)
    assert raised.value.kind == "invalid-output"
    assert child.ended
    pool.close()


ORDINARY_SERVER = """
import json, os, sys
from pathlib import Path
import subprocess, attacker, test_wall
from coevolve_environments.processes import child as child_module, tree_usage
user, python, attacks, max_processes = json.loads(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([]), os.setresgid(user, user, user), os.setresuid(user, user, user)
sys.executable = python
child_module.MAX_PROCESSES, tree_usage._REFRESH_SECONDS = max_processes, 0
def attempt(attack, target):
    try:
        return child.call("attempt", attack=attack, target=target)
    except child_module.ChildFault as fault:
        return fault.kind
pool = test_wall.attacker(Path(python))
child = pool.acquire()
print(json.dumps([attempt(attack, target) for attack, target in attacks]))
subprocess.run(["/bin/true"], check=True)  # its user can still start processes
pool.close()
"""


@dataclass(frozen=True)
class OrdinaryServer:
    """A server of an ordinary user."""

    user: int
    python: str

    def results(
        self,
        attacks: list[tuple[str, Any]],
        folder: Path,
        limit: int | None = None,
        max_processes: int = MAX_PROCESSES,
    ) -> list[str]:
        """
        Args:
            limit: of the user's processes.
            max_processes: of the child.
        """
        arguments = json.dumps([self.user, self.python, attacks, max_processes])
        code: list[str] = [sys.executable, "-c", ORDINARY_SERVER, arguments]
        limited = ["prlimit", f"--nproc={limit}", "--", *code] if limit else code
        environ = {"PYTHONPATH": f"{TESTS}:{TESTS / 'processes'}:{SOURCES}", "PYTHONDONTWRITEBYTECODE": "1"}
        environ |= {"TMPDIR": str(folder), "PATH": os.defpath}
        ran = subprocess.run(limited, env=environ, cwd=folder, capture_output=True, check=True)
        return list(json.loads(ran.stdout))


@pytest.fixture
def ordinary() -> OrdinaryServer:
    if os.geteuid() != 0:
        return OrdinaryServer(os.geteuid(), sys.executable)
    server = OrdinaryServer(USERS[-1], str(SYSTEM_PYTHON))
    code = [str(SYSTEM_PYTHON), "-c", "import attacker, typing; typing.assert_never"]
    environ = {"PYTHONPATH": f"{TESTS}:{SOURCES}"}
    if subprocess.run(code, env=environ, cwd="/", user=server.user, check=False).returncode:
        pytest.skip("no other user can run the tests' program")
    return server


def test_a_child_of_an_ordinary_user_reaches_nothing_of_that_user(
    machine: Machine, tmp_path: Path, ordinary: OrdinaryServer
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for path in (home, machine.folder, machine.file, machine.key, machine.secret):
        os.chown(path, ordinary.user, ordinary.user)
    with subprocess.Popen(["/bin/sleep", "60"], user=ordinary.user) as victim:
        attempts = [*attacks(machine, victim.pid), ("create", "."), ("limit", 0)]
        results = ordinary.results(attempts, home)
        victim.kill()
    done = [attempt for attempt, result in zip(attempts, results, strict=True) if result == "done"]
    assert done == [("create", "."), ("limit", 0)]
    assert machine.file.stat().st_mode & 0o777 == 0o666


def test_a_fork_bomb_leaves_its_user_half_of_the_processes(tmp_path: Path, ordinary: OrdinaryServer) -> None:
    os.chown(tmp_path, ordinary.user, ordinary.user)
    others = [each for each in psutil.process_iter(["uids"]) if each.info["uids"].real == ordinary.user]
    limit = sum(each.num_threads() for each in others) + 140
    assert ordinary.results([("fork_bomb", 140)], tmp_path, limit=limit) == ["BlockingIOError"]


def test_a_child_with_too_many_processes_is_killed(tmp_path: Path, ordinary: OrdinaryServer) -> None:
    os.chown(tmp_path, ordinary.user, ordinary.user)
    results = ordinary.results([("fork_bomb", 20), ("spawn", None)], tmp_path, max_processes=20)
    assert results[-1] == "out-of-processes"


CODE = """
import json, sys
from pathlib import Path
import attacker
from coevolve_environments.processes.wall import confine_code
tasks, attacks = json.loads(sys.argv[1])
confine_code([Path(tasks) / "1" / "specs.json"], hidden=Path(tasks))
print(json.dumps(attacker.attempt_all(attacks)))
"""


def test_a_policys_code_starts_no_process_and_reads_no_gold(tmp_path: Path) -> None:
    tasks, home = tmp_path / "tasks", tmp_path / "home"
    home.mkdir()
    for path in (tasks / "1" / "specs.json", tasks / "1" / "gold", tasks / "2" / "specs.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    refused = [
        *(("read", str(tasks / path)) for path in ("1/gold", "2/specs.json")),
        ("spawn", None),
        ("change_mode", str(tasks / "2" / "specs.json")),
        ("listen", 0),
        ("signal", os.getppid()),
    ]
    allowed = [("read", str(tasks / "1" / "specs.json")), ("create", "."), ("start_thread", None)]
    ran = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps([str(tasks), [*refused, *allowed]])],
        env={"PYTHONPATH": f"{TESTS}:{SOURCES}"},
        cwd=home,
        capture_output=True,
        check=True,
    )
    results = json.loads(ran.stdout)
    assert [attack for attack, result in results.items() if result == "done"] == [
        f"{attack} {target}" for attack, target in allowed
    ]


def test_code_is_refused_where_the_machine_cannot_confine_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    with pytest.raises(Unavailable, match=r"this kernel has no Landlock; expected a server of root"):
        attacker(Path(sys.executable), runs_code=True)
