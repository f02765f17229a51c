"""Children of all servers of a machine have different user ids; a killed server's ids become free again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coevolve_environments.processes.child_pool import ChildPool, ChildProgram, PoolLimits
from coevolve_environments.processes.user_ids import USER_IDS, UserIds
from conftest import TESTS, is_gone, wait_until

FIRST = 70_000
"""No account has an id from here on."""
SERVER = """
import subprocess, sys
from pathlib import Path
from coevolve_environments.processes.reaper import REAPER
from coevolve_environments.processes.user_ids import UserIds
ids = UserIds(range(70_000, 70_003), Path(sys.argv[1]))
taken = [ids.reserve() for _ in range(2)]
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
REAPER.watch(child.pid)
print(*taken, child.pid, flush=True)
child.wait()
"""


def test_ids_of_another_server_are_free_only_after_its_children_were_killed(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env={}
    )
    assert server.stdout is not None
    *taken, child = map(int, server.stdout.readline().split())
    ours = UserIds(range(FIRST, FIRST + 3), tmp_path)
    third = ours.reserve()
    assert {*taken, third} == {FIRST, FIRST + 1, FIRST + 2}
    with pytest.raises(OSError, match="all user ids of environments are taken"):
        ours.reserve()
    server.send_signal(signal.SIGKILL)
    server.communicate()
    was_gone: list[bool] = []

    def reserves() -> bool:
        try:
            ours.reserve()
        except OSError:
            return False
        was_gone.append(is_gone(child))
        return True

    wait_until(reserves, "the ids of a killed server stay reserved")
    assert was_gone == [True]


def test_a_released_id_is_used_again_after_all_others(tmp_path: Path) -> None:
    ids = UserIds(range(FIRST, FIRST + 3), tmp_path)
    first = ids.reserve()
    ids.release(first)
    assert [ids.reserve() for _ in range(3)] == [FIRST + 1, FIRST + 2, first]


@pytest.mark.skipif(os.geteuid() != 0, reason="children of an ordinary user's server have its user id")
def test_a_child_survives_more_ends_of_other_children_than_there_are_ids(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = UserIds(range(FIRST, FIRST + 3), tmp_path)
    monkeypatch.setattr(USER_IDS, "reserve", few.reserve)
    monkeypatch.setattr(USER_IDS, "release", few.release)
    environ = {"PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"}
    program = ChildProgram("child_programs", "Counter", {}, Path(sys.executable), environ)
    pool = ChildPool("counter", program, PoolLimits(size=2, episodes=1))
    survivor = pool.acquire()
    for _ in range(4):
        pool.acquire().release()
    assert survivor.call("add", number=1) == 1
    pool.close()
