"""Identity of an intercode task: its database and its normalized gold SQL."""

import hashlib
import re
from itertools import pairwise

from coevolve_environments.plugins.intercode_sql.select_text import read_selects
from coevolve_environments.protocol import Split

HELD_OUT_RESIDUE = 3
_QUOTED = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")")


def content_key(database: str, sql: str) -> str:
    """Returns the sha256 hex of database and normalized SQL, equal for two spellings of a query and for two
    orders of its columns.
    """
    identity = _with_sorted_columns(normalize(sql))
    return hashlib.sha256(f"{database.lower()}\n{identity}".encode()).hexdigest()


def normalize(sql: str) -> str:
    """Returns the query in lower case outside quotes, with single spaces between words only, without final
    semicolon.
    """
    parts = _QUOTED.split(sql.strip().rstrip(";").strip())
    return "".join(part if part[:1] in ("'", '"') else _plain(part) for part in parts)


def split_of(key: str) -> Split:
    """Returns the split of a task: one key in three is held out.

    It depends only on the key, so no later or larger draw changes it.
    """
    return "held-out" if int(key[:8], 16) % HELD_OUT_RESIDUE == 0 else "train"


def _plain(text: str) -> str:
    spaced = re.sub(r"\s+", " ", text.lower())
    return re.sub(r" ?([(),=<>!*+/-]) ?", r"\1", spaced)


def _with_sorted_columns(sql: str) -> str:
    """Sorts the columns of the outermost SELECT. Those of a compound SELECT belong together and stay."""
    selects = read_selects(sql)
    if not selects or selects[0].is_compound:
        return sql
    columns = selects[0].columns
    names = sorted(sql[start:end].strip(" ,") for start, end in pairwise(columns))
    return normalize(f"{sql[: columns[0]]} {','.join(names)} {sql[columns[-1] :]}")
