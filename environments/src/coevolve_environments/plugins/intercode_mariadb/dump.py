"""Converts InterCode's MySQL dump for MariaDB, and adds the users that may read it."""

import re
from collections.abc import Sequence

from coevolve_environments.plugins.intercode_mariadb.connection import MAX_STATEMENT_SECONDS, user_of

_ADMINISTRATION = re.compile(r"^(?:CREATE USER|GRANT|FLUSH)\b[^\n]*$", re.MULTILINE)
_COLLATION = re.compile(r"\butf8mb4_0900_ai_ci\b")  # MySQL 8 only


def script(dump: str, databases: Sequence[str]) -> str:
    """Returns the statements that load an empty server, as one text.

    Table statistics are written once: query plans, and so the order of rows without ORDER BY, must not depend
    on the timing of a background thread.
    """
    loaded = _COLLATION.sub("utf8mb4_general_ci", _ADMINISTRATION.sub("", dump))
    return "\n".join([loaded, *(_reader(name) for name in databases), "FLUSH TABLES;"])


def _reader(database: str) -> str:
    """Creates a user with SELECT on one database: no FILE, no PROCESS, no temporary tables."""
    user, schema = f"'{user_of(database)}'@'localhost'", database.lower().replace("_", r"\_")
    limit = f"MAX_STATEMENT_TIME {MAX_STATEMENT_SECONDS:g}"
    return f"CREATE USER {user} WITH {limit}; GRANT SELECT ON `{schema}`.* TO {user};"
