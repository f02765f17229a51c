"""InterCode's MySQL dump as MariaDB takes it, and the users that may read it."""

import re
from collections.abc import Sequence

from coevolve_environments.plugins.intercode_mariadb.connection import MAX_SECONDS, user_of

_ADMINISTRATION = re.compile(r"^(?:CREATE USER|GRANT|FLUSH)\b[^\n]*$", re.MULTILINE)
_COLLATION = re.compile(r"\butf8mb4_0900_ai_ci\b")  # of MySQL 8; MariaDB 10 does not know it


def script(dump: str, databases: Sequence[str]) -> str:
    """Statements that load an empty server, several in one text.

    Statistics are written once and for good: the plan of a query, and with it the order of rows that nobody
    asked an order of, must not depend on when a background thread looked.
    """
    loaded = _COLLATION.sub("utf8mb4_general_ci", _ADMINISTRATION.sub("", dump))
    return "\n".join([loaded, *(_reader(name) for name in databases), "FLUSH TABLES;"])


def _reader(database: str) -> str:
    """A user who may SELECT from one database: no FILE, no PROCESS, no temporary tables."""
    user, schema = f"'{user_of(database)}'@'localhost'", database.lower().replace("_", r"\_")
    return (
        f"CREATE USER {user} WITH MAX_STATEMENT_TIME {MAX_SECONDS:g}; GRANT SELECT ON `{schema}`.* TO {user};"
    )
