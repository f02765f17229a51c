"""Filters SQL of a model: one statement that reads, with the same result at every replay.

Data is protected by the database user, which may read only its own database. The filter rejects statements
that would expose other episodes (information_schema lists their queries, variables persist), return different
results at a replay, or only wait.
"""

import re

from coevolve_environments.plugins.intercode_sql.engine import NOT_A_QUERY, QueryError

MAX_CHARACTERS = 10_000
_TOKENS = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?P<comment>/\*.*?(?:\*/|\Z)|--(?=\s|\Z)[^\n]*|\#[^\n]*)""",
    re.DOTALL,
)
_READS = re.compile(
    r"\s*(?:\(|select\b|with\b|values\b|show\s+(?:tables|(?:full\s+)?(?:columns|fields))\b|desc(?:ribe)?\s)",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"@|\b(?:into|information_schema|performance_schema|procedure|for\s+update)\b"
    r"|\b(?:rand|random_bytes|uuid\w*|sys_guid|sleep|benchmark|connection_id|load_file|\w+_lock|\w+_wait"
    r"|\w+_all_locks|row_count|found_rows|last_insert_id)\s*\(",
    re.IGNORECASE,
)


def reading_statement(sql: str) -> str:
    """Returns the statement without comments, some of which would be executed, and without final semicolon.

    Raises:
        QueryError: the statement does not read, or is rejected.
    """
    if len(sql) > MAX_CHARACTERS:
        raise QueryError(f"a statement has at most {MAX_CHARACTERS} characters")
    statement = _TOKENS.sub(lambda token: token["text"] or " ", sql).strip().rstrip(";").strip()
    if not _READS.match(statement):
        raise QueryError(NOT_A_QUERY)
    if refused := _REFUSED.search(_TOKENS.sub("''", statement)):
        raise QueryError(f"not allowed here: {refused[0].rstrip('( ')}")
    return statement
