"""Builds the task record from a question, its gold SQL and its source."""

from collections.abc import Sequence

from coevolve_environments.plugins.intercode_sql.content_key import content_key, split_of
from coevolve_environments.protocol import Split, TaskRecord

NAME = "intercode-sql"
SUBMIT = "submit"


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
