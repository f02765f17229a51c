"""Children are real processes with limits; they are replaced, and killed with their descendants."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coevolve_environments.processes.child_pool import ChildFault, ChildPool, ChildProgram, PoolLimits
from coevolve_environments.processes.reaper import REAPER
from coevolve_environments.protocol import BadRequest, CapacityReached, Unavailable
from conftest import TESTS, is_gone, wait_until

Make = Callable[..., ChildPool]


def program(arguments: Mapping[str, Any] | None = None) -> ChildProgram:
    environ = {"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"}
    return ChildProgram("child_programs", "Counter", dict(arguments or {}), Path(sys.executable), environ)


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[ChildPool] = []

    def pool(arguments: Mapping[str, Any] | None = None, **limits: Any) -> ChildPool:
        made.append(ChildPool("counter", program(arguments), PoolLimits(**{"size": 2, **limits})))
        return made[-1]

    yield pool
    for each in made:
        each.close()


def wait_until_gone(pid: int) -> None:
    wait_until(partial(is_gone, pid), f"process {pid} is still running")


def test_a_child_keeps_its_state_between_calls_and_may_print(make: Make) -> None:
    child = make({"start": 5}).acquire()
    assert child.call("add", number=1) == 6
    assert child.call("add", number=2) == 8


def test_a_released_child_is_reused_for_its_number_of_episodes(make: Make) -> None:
    pool = make(episodes=2)
    pids = []
    for _ in range(4):
        child = pool.acquire()
        pids.append(child.pid)
        child.release()
    assert pids[0] == pids[1] != pids[2] == pids[3]
    wait_until_gone(pids[0])
    assert pool.usage() == []


def test_a_pool_refuses_children_above_its_size(make: Make) -> None:
    pool = make(size=1)
    taken = pool.acquire()
    with pytest.raises(CapacityReached):
        pool.acquire()
    with pool.data_child() as beside:
        assert beside.pid != taken.pid
    taken.end()
    assert pool.acquire().call("add", number=1) == 1


def test_a_bad_request_of_the_engine_is_forwarded_and_other_errors_are_faults(make: Make) -> None:
    child = make().acquire()
    with pytest.raises(BadRequest, match="invalid on purpose"):
        child.call("refuse")
    with pytest.raises(ChildFault, match="ZeroDivisionError: inside the engine") as raised:
        child.call("fail")
    assert raised.value.kind == "error"
    assert child.call("add", number=1) == 1


def test_an_unavailable_engine_forwards_its_message(make: Make) -> None:
    pool = make({"lacks": "java"})
    with pytest.raises(Unavailable, match="install java"):
        pool.acquire()
    assert pool.usage() == []


def test_a_crashed_child_is_a_fault_with_its_last_output(make: Make) -> None:
    child = make().acquire()
    with pytest.raises(ChildFault, match=r"exit code 3: .*no memory left in the engine\\x1b\[2J") as died:
        child.call("die")
    assert died.value.kind == "crashed"
    assert child.ended


def test_a_child_that_floods_its_stderr_is_read_slowly_and_its_last_output_is_kept(make: Make) -> None:
    child = make().acquire()
    assert child.call("flood", seconds=0.5) < 10_000_000  # unlimited: some 100 MB, which stop other threads
    with pytest.raises(ChildFault, match="no memory left in the engine"):
        child.call("die")


def test_a_call_past_its_timeout_ends_the_child(make: Make) -> None:
    child = make(call_seconds=0.3).acquire()
    with pytest.raises(ChildFault, match=r"more than 0\.3 s") as slow:
        child.call("sleep", seconds=60)
    assert slow.value.kind == "timeout"
    wait_until_gone(child.pid)


def test_a_child_above_its_memory_limit_is_ended(make: Make) -> None:
    pool = make(memory_mb=100)
    child = pool.acquire()
    with pytest.raises(ChildFault, match="its limit is 100 MB") as large:
        child.call("hold", megabytes=200)
    assert large.value.kind == "out-of-memory"
    wait_until_gone(child.pid)
    assert pool.usage() == []


def test_a_child_above_its_memory_limit_is_ended_during_a_call(make: Make) -> None:
    child = make(memory_mb=100, call_seconds=120).acquire()
    with pytest.raises(ChildFault) as large:
        child.call("hold", megabytes=200, seconds=60)
    assert large.value.kind == "out-of-memory"


@pytest.mark.parametrize(
    ("megabytes", "files", "deleted"), [(16, 5, False), (16, 5, True), (0, 20_000, False)]
)
def test_a_child_that_fills_its_home_is_ended(make: Make, megabytes: int, files: int, deleted: bool) -> None:
    pool = make(disk_mb=64, call_seconds=120)
    child = pool.acquire()
    home = Path(child.call("see")["cwd"])
    child.call("fill", megabytes=10, files=2, deleted=deleted)
    with pytest.raises(ChildFault, match="its limit is 64 MB") as full:
        child.call("fill", megabytes=megabytes, files=files, deleted=deleted, seconds=60)
    assert full.value.kind == "out-of-disk"
    wait_until_gone(child.pid)
    wait_until(lambda: not home.exists(), "the home was not removed")


def test_the_end_of_a_child_frees_the_calling_thread(make: Make) -> None:
    child = make().acquire()
    threading.Timer(0.3, child.end).start()
    with pytest.raises(ChildFault) as died:
        child.call("sleep", seconds=60)
    assert died.value.kind == "killed"


@pytest.mark.parametrize("own_session", [False, True])
def test_the_end_of_a_child_kills_its_own_children(make: Make, own_session: bool) -> None:
    child = make().acquire()
    grandchild = child.call("spawn", own_session=own_session)
    child.end()
    wait_until_gone(child.pid)
    wait_until_gone(grandchild)


ADOPTER = """
import ctypes, psutil
from test_child_pool import PoolLimits, ChildPool, program
ctypes.CDLL(None).prctl(36, 1)  # adopts orphans, as the first process of a container does
pool = ChildPool("reaped", program(), PoolLimits(size=1))
child = pool.acquire()
child.call("spawn"), child.call("spawn", own_session=True)
child.end()
left = [p for p in psutil.Process().children(recursive=True) if "reaper" not in str(p.cmdline())]
print(left)
"""


def test_a_server_that_adopts_orphans_leaves_no_zombies() -> None:
    path = f"{TESTS}:{TESTS / 'processes'}:{TESTS.parent / 'src'}"
    completed = subprocess.run(
        [sys.executable, "-c", ADOPTER],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert completed.stdout.strip() == "[]"


def test_a_child_sees_none_of_the_servers_variables(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    child = make().acquire()
    seen = child.call("see")
    assert "canary" not in str(seen)
    home = Path(seen["environ"]["HOME"])
    assert seen["cwd"] == str(home)
    assert home.is_dir()
    child.end()
    wait_until(lambda: not home.exists(), "the home was not removed")


HOLDER = """
import sys, time
from test_child_pool import PoolLimits, ChildPool, program
child = ChildPool("held", program(), PoolLimits(size=1)).acquire()
print(child.call("see")["cwd"], child.pid, child.call("spawn"), flush=True)
child.call("sleep", seconds=600)
"""


def test_a_killed_server_leaves_neither_child_nor_grandchild() -> None:
    path = f"{TESTS}:{TESTS / 'processes'}:{TESTS.parent / 'src'}"
    command = [sys.executable, "-c", HOLDER]
    server = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert server.stdout is not None
    home, *pids = server.stdout.readline().decode().split()
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    for pid in pids:
        wait_until_gone(int(pid))
    wait_until(lambda: not Path(home).exists(), "the child's home outlived the server")


def test_a_killed_reaper_is_replaced_and_watches_the_same_groups(make: Make) -> None:
    pool = make()
    first = pool.acquire()
    reaper = REAPER._process
    assert reaper is not None
    reaper.kill()
    reaper.wait()
    second = pool.acquire()
    assert REAPER._process is not None
    assert REAPER._process.pid != reaper.pid
    assert {first.pid, second.pid} <= set(REAPER._watched)


def test_a_child_has_limits_of_files_and_processes(make: Make) -> None:
    limits = " ".join(Path(f"/proc/{make().acquire().pid}/limits").read_text().split())
    expected = ["Max core file size 0 0", "Max open files 4096 4096", "Max file size 1073741824 1073741824"]
    expected += ["Max processes 512 512"] if os.geteuid() == 0 else []
    assert [line for line in expected if line not in limits] == []
