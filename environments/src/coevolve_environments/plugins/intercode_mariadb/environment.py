"""intercode-mariadb: the tasks of intercode-sql on MariaDB, which is close to the published MySQL.

Questions are generated from the sqlite copies of the databases, and kept if MariaDB can run their gold.
Published questions whose gold fails or has no result are omitted. A task's split depends only on its content
key, which is independent of the engine, so a question has the same split on both.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from coevolve_environments.plugins.intercode_sql.databases import DUMP, wheel_databases, wheel_file
from coevolve_environments.plugins.intercode_sql.environment import InterCodeSql
from coevolve_environments.plugins.intercode_sql.published import license_of, question_source
from coevolve_environments.protocol import Environment, Unavailable
from coevolve_environments.settings import Settings

NAME = "intercode-mariadb"
_PROGRAMS = ("mariadbd", "mariadb-install-db")
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin")  # not on every user's PATH


class InterCodeMariadb(InterCodeSql):
    name = NAME
    summary = "Answer a question about a database by SQL queries, then submit (InterCode-SQL, MariaDB)."
    call_seconds = 120.0  # the first call creates the data folder, starts mariadbd and loads the dump


def create(settings: Settings) -> Environment:
    """Reads the settings of intercode-sql.

    Raises:
        Unavailable: mariadbd or PyMySQL is missing.
    """
    server, install = (_program(name) for name in _PROGRAMS)
    if find_spec("pymysql") is None:
        raise Unavailable("PyMySQL is missing: `pip install --no-deps PyMySQL==1.2.4`")
    from coevolve_environments.plugins.intercode_mariadb.engine import MariadbEngine
    from coevolve_environments.plugins.intercode_mariadb.server import MariadbServer

    dump = wheel_file(DUMP).read_text(encoding="utf8")
    databases = wheel_databases()
    engine = MariadbEngine(databases, MariadbServer(server, install, settings.state, dump, databases.names))
    return InterCodeMariadb(databases, engine, question_source(settings), license_of(settings))


def _program(name: str) -> Path:
    found = shutil.which(name) or next(
        (path for folder in _FOLDERS if (path := shutil.which(name, path=folder))), None
    )
    if found is None:
        raise Unavailable(
            f"{name} is missing: `apt-get install mariadb-server-core mariadb-client-core` (Debian, Ubuntu)"
        )
    return Path(found)
