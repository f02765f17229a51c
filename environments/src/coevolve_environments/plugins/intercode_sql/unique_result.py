"""Queries with only one right result. Ties and arbitrary rows would make right answers score below 1."""

from collections import Counter
from collections.abc import Callable, Sequence

from coevolve_environments.plugins.intercode_sql.engine import QueryError, Row, Sandbox
from coevolve_environments.plugins.intercode_sql.select_text import Select, read_selects


def has_unique_result(
    sandbox: Sandbox, reverse: Sandbox | None, sql: str, rows: Sequence[Row], readings: Sequence[str] = ()
) -> bool:
    """Returns whether the query has the same rows with ties broken both ways, and from tables with their rows
    in reverse order. Rows of a query without ORDER BY may have any order.

    Args:
        reverse: a copy with reversed tables; None if the engine has none.
        rows: result of `sql`.
        readings: other right answers, which must have the same rows.
    """
    same = _comparison(sql, rows)
    width = len(rows[0]) if rows else 0
    try:
        return all(same(sandbox.run(other)) for other in (*_tie_broken(sql, width), *readings)) and (
            reverse is None or same(reverse.run(sql))
        )
    except QueryError:
        return False


def is_ordered(sql: str) -> bool:
    """Returns whether the rows have an order: ORDER BY outside of subqueries."""
    selects = read_selects(sql)
    return bool(selects) and selects[0].is_ordered


def _comparison(sql: str, rows: Sequence[Row]) -> Callable[[Sequence[Row]], bool]:
    texts = [str(row) for row in rows]  # rows score by their text
    if is_ordered(sql):
        return lambda other: [str(row) for row in other] == texts
    counted = Counter(texts)
    return lambda other: Counter(map(str, other)) == counted


def _tie_broken(sql: str, width: int) -> list[str]:
    """Returns the query with ties broken by the columns, ascending and descending. Tied rows that differ then
    change their order, or which of them LIMIT keeps.
    """
    outermost, *inner = read_selects(sql) or [Select()]
    broken = [(outermost, width)] if outermost.is_ordered or outermost.limit is not None else []
    broken += [(select, select.width) for select in inner if select.limit is not None]
    return [_with_keys(sql, broken, direction) for direction in ("", " DESC")] if broken else []


def _with_keys(sql: str, selects: Sequence[tuple[Select, int]], direction: str) -> str:
    for select, width in sorted(selects, key=lambda item: -item[0].tail):
        keys = ", ".join(f"{column}{direction}" for column in range(1, width + 1))
        joint = "," if select.is_ordered else "ORDER BY"
        sql = f"{sql[: select.tail]}\n{joint} {keys}\n{sql[select.tail :]}"
    return sql
