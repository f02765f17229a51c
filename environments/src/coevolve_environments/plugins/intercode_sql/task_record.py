"""Builds the task record from a question, its gold SQL and its source.

A task is identified by its database and its normalized gold SQL.
"""

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise

from coevolve_environments.plugins.intercode_sql.select_text import read_selects
from coevolve_environments.protocol import Split, TaskRecord

NAME = "intercode-sql"
SUBMIT = "submit"
HELD_OUT_RESIDUE = 3
_QUOTED = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")")


def make_record(
    *,
    environment: str = NAME,
    database: str,
    question: str,
    sql: str,
    pattern: str,
    difficulty: int,
    source: str,
    schema: bool,
    wording: int = 1,
    split: Split | None = None,
    ordered: bool | None = None,
    before: Sequence[str] = (),
) -> TaskRecord:
    """
    Args:
        difficulty: 1 (easy) to 7.
        source: generated, wheel, file or composed.
        wording: number of the question among those with the same SQL, from 1, for distinct task ids.
        split: None means the split of the content key.
        ordered: whether the order of the rows counts; None means as published, where it always counts.
        before: statements of the reference actions before the gold query.
    """
    key = content_key(database, sql)
    task_id = f"{environment}/{source}/{database}/{pattern}/{key[:12]}" + (
        f"-{wording}" if wording > 1 else ""
    )
    split = split or split_of(key)
    features = {"pattern": pattern, "difficulty": difficulty, "group": database, "source": source}
    definition = {
        "task_id": task_id,
        "split": split,
        "database": database,
        "question": question,
        "gold": sql,
        "pattern": pattern,
        "difficulty": difficulty,
        "schema": schema,
        **({} if ordered is None else {"ordered": ordered}),
    }
    return TaskRecord(task_id, split, question, definition, features, key, [*before, sql, SUBMIT])


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
