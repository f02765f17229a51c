"""Makes a task from given SQL: its last query becomes the gold if it runs and has a result."""

import re
from collections.abc import Sequence

from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError, Row
from coevolve_environments.plugins.intercode_sql.episode import MAX_TURNS, statement_of
from coevolve_environments.plugins.intercode_sql.published import clauses_of
from coevolve_environments.plugins.intercode_sql.task_record import SUBMIT, make_record
from coevolve_environments.plugins.intercode_sql.unique_result import has_unique_result, is_ordered
from coevolve_environments.protocol import ComposedTask, Refusal

_QUERY = re.compile(r"^(?:select|with|values)\b", re.IGNORECASE)
_CLOCK = re.compile(r"'now'|\bcurrent_(?:date|time|timestamp)\b", re.IGNORECASE)


def compose(
    engine: Engine, database: str, query: str, actions: Sequence[str], *, environment: str, schema: bool
) -> ComposedTask | Refusal:
    """Runs every statement up to the first `submit`; statements after the last query are dropped."""
    statements = _until_submit(actions)
    queries = [index for index, sql in enumerate(statements) if _QUERY.match(sql)]
    if not queries:
        return Refusal("bad-format", "no action is a query")
    statements = statements[: queries[-1] + 1]
    if len(statements) >= MAX_TURNS:
        return Refusal(
            "bad-format", f"{len(statements)} statements and a submit; the maximum is {MAX_TURNS} actions"
        )
    if _CLOCK.search(statements[-1]):
        return Refusal("bad-format", "the result depends on the time of day")
    try:
        rows = _run_all(engine, database, statements)
    except QueryError as error:
        return Refusal("not-executable", str(error))
    if all(cell is None for row in rows for cell in row):
        return Refusal("empty-result", "the last query returns " + ("only NULL" if rows else "no rows"))
    if not _is_unique(engine, database, statements[-1], rows):
        why = "ties or rows without order decide the result of the last query; order by a column without ties"
        return Refusal("ambiguous-result", why)
    record = make_record(
        environment=environment,
        database=database,
        question=query,
        sql=statements[-1],
        pattern="composed",
        difficulty=clauses_of(statements[-1])[1],
        source="composed",
        schema=schema,
        split="train",
        ordered=is_ordered(statements[-1]),
        before=statements[:-1],
    )
    return ComposedTask(record, "environment")


def _until_submit(actions: Sequence[str]) -> list[str]:
    statements = [statement_of(action) for action in actions]
    lowered = [statement.lower() for statement in statements]
    return statements[: lowered.index(SUBMIT)] if SUBMIT in lowered else statements


def _is_unique(engine: Engine, database: str, sql: str, rows: Sequence[Row]) -> bool:
    sandbox, backwards = engine.open(database), engine.open_reversed(database)
    try:
        return has_unique_result(sandbox, backwards, sql, rows)
    finally:
        sandbox.close()
        if backwards:
            backwards.close()


def _run_all(engine: Engine, database: str, statements: Sequence[str]) -> list[Row]:
    """Returns the rows of the last statement.

    Raises:
        QueryError: a statement failed; the message contains its number.
    """
    sandbox = engine.open(database)
    rows: list[Row] = []
    try:
        for number, statement in enumerate(statements, 1):
            try:
                rows = sandbox.run(statement)
            except QueryError as error:
                raise QueryError(f"action {number}: {error}") from error
        return rows
    finally:
        sandbox.close()
