"""A private mariadbd: a child process of the environment server, with a unix socket and no TCP port."""

import hashlib
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pymysql

from coevolve_environments.plugins.intercode_mariadb.connection import MariadbConnection
from coevolve_environments.plugins.intercode_mariadb.slot import Slot, as_user, script, take_slot
from coevolve_environments.processes.reaper import REAPER
from coevolve_environments.protocol import Unavailable

log = logging.getLogger(__name__)

OTHER_USERS = (64_987, 65_534)
"""User ids for mariadbd if the server is root; the first usable one counts. The second is the user `nobody`
of other children, which therefore cannot reach data and socket of the first.
"""
START_SECONDS = 60.0
_STOP_SECONDS = 2.0
_OPTIONS = (
    "--skip-networking",
    "--lower-case-table-names=1",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--sysdate-is-now",
    "--local-infile=0",
    "--performance-schema=OFF",
    "--skip-log-bin",
    "--skip-name-resolve",
    "--max-connections=600",
    "--wait-timeout=31536000",
    "--max-recursive-iterations=10000",
    "--max-allowed-packet=16M",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=8M",
    "--innodb-flush-log-at-trx-commit=2",  # a killed server loses no loaded data
    "--innodb-stats-auto-recalc=OFF",
    "--aria-pagecache-buffer-size=8M",
    "--key-buffer-size=1M",
    "--tmp-memory-table-size=0",  # ties in memory tables depend on addresses and differ between runs
    "--tmp-disk-table-size=64M",
)


class MariadbServer:
    """Starts mariadbd at the first request of its socket, and again after it has exited. `close` ends it, and
    after a kill -9 of the parent the reaper does.
    """

    def __init__(
        self, program: Path, install: Path, state: Path, dump: str, databases: Sequence[str]
    ) -> None:
        """
        Args:
            program, install: mariadbd and mariadb-install-db.
            state: folder for the data; several servers may share it.
            dump: InterCode's dump.
            databases: their names, in the dump's spelling.
        """
        self._program = program
        self._install = install
        self._state = state
        self._script = script(dump, databases)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._slot: Slot | None = None
        self._folder: Path | None = None
        self._output: IO[bytes] | None = None
        self._closed = False

    def socket(self) -> Path:
        """
        Raises:
            Unavailable: the server did not start; the message contains its last output.
        """
        with self._lock:
            if self._closed:
                raise Unavailable("mariadbd is not running: the environment is closed")
            if self._process is None or self._process.poll() is not None:
                self._stop()
                try:
                    self._start()
                except BaseException:
                    self._stop()
                    raise
            assert self._folder is not None
            return self._folder / "socket"

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._stop()

    def _start(self) -> None:
        began = time.monotonic()
        user = _other_user() if os.geteuid() == 0 else None
        # A short path: a socket's path has at most 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="coevolve-mariadb-"))
        _change_owner(self._folder, user)
        self._slot = take_slot(self._state, user, self._folder)
        data, marker, fingerprint = self._slot.folder, self._slot.marker, self._fingerprint(user)
        fresh = not marker.is_file() or marker.read_text() != fingerprint
        if fresh:
            marker.unlink(missing_ok=True)
            self._create_data_folder(data, user)
        self._launch(data, user)
        admin = self._wait_for_start()
        if fresh:
            self._load(admin.connection)
            marker.write_text(fingerprint)
        admin.drop()
        seconds = time.monotonic() - began
        log.info("mariadbd runs as user %s, data in %s (%.1f s)", user or os.geteuid(), data, seconds)

    def _fingerprint(self, user: int | None) -> str:
        version = subprocess.run([self._program, "--version"], capture_output=True, text=True, check=True)
        return hashlib.sha256(f"{version.stdout}\n{user}\n{self._script}".encode()).hexdigest()

    def _create_data_folder(self, data: Path, user: int | None) -> None:
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(mode=0o700)
        _change_owner(data, user)
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--lower-case-table-names=1"]
        command = [str(self._install), "--no-defaults", f"--datadir={data}", *options]
        done = subprocess.run(
            command, capture_output=True, timeout=START_SECONDS, **self._process_options(user)
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
            raise Unavailable(f"mariadb-install-db failed: {' | '.join(lines[-3:])}")

    def _launch(self, data: Path, user: int | None) -> None:
        assert self._folder is not None
        assert self._slot is not None
        paths = [f"--datadir={data}", f"--socket={self._folder / 'socket'}", f"--tmpdir={self._folder}"]
        paths += [f"--pid-file={self._folder / 'pid'}", f"--secure-file-priv={self._folder}"]
        as_root = ["--user=root"] if os.geteuid() == 0 and user is None else []
        command = [str(self._program), "--no-defaults", *paths, *_OPTIONS, *as_root]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (`_stop` closes it)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
            pass_fds=[self._slot.lock.fileno()],  # the slot stays locked while mariadbd runs
            **self._process_options(user),
        )
        REAPER.watch(self._process.pid)

    def _process_options(self, user: int | None) -> dict[str, Any]:
        """Returns options without the server's environment variables, and with another user if given."""
        options: dict[str, Any] = {
            "cwd": self._folder,
            "env": {"PATH": os.defpath + ":/usr/sbin", "LANG": "C.UTF-8"},
        }
        if user is not None:
            options |= as_user(user)
        return options

    def _wait_for_start(self) -> MariadbConnection:
        """Returns a connection as root."""
        assert self._folder is not None
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Unavailable(f"mariadbd did not start: {self._last_output()}")
            try:
                flags = pymysql.constants.CLIENT.MULTI_STATEMENTS
                options = {"user": "root", "client_flag": flags, "read_timeout_seconds": START_SECONDS}
                return MariadbConnection(self._folder / "socket", **options)
            except (OSError, pymysql.err.OperationalError):
                time.sleep(0.05)

    def _load(self, admin: Any) -> None:
        cursor = admin.cursor()
        cursor.execute(self._script)
        while cursor.nextset():
            pass
        cursor.execute(
            "SELECT GROUP_CONCAT(CONCAT('`', table_schema, '`.`', table_name, '`'))"
            " FROM information_schema.tables WHERE engine = 'InnoDB' AND table_schema NOT IN ('mysql', 'sys')"
        )
        cursor.execute(f"ANALYZE TABLE {cursor.fetchone()[0]}")
        cursor.close()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                log.info("mariadbd did not stop within %g s and is killed", _STOP_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            REAPER.forget(process.pid)
        if self._output is not None:
            self._output.close()
            self._output = None
        if self._slot is not None:
            self._slot.lock.close()
            self._slot = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _last_output(self) -> str:
        assert self._output is not None
        text = os.pread(self._output.fileno(), 2**20, 0)
        lines = text.decode(errors="replace").strip().splitlines()
        return " | ".join([line for line in lines if "ERROR" in line][-3:] or lines[-3:]) or "no output"


def _other_user() -> int | None:
    for user in OTHER_USERS:
        with suppress(OSError):  # a container may have fewer user ids
            subprocess.run(["true"], check=True, **as_user(user))
            return user
    return None


def _change_owner(folder: Path, user: int | None) -> None:
    if user is not None:
        os.chown(folder, user, user)
