"""The clauses of the SELECTs in a query's text, without a full parser."""

import re
from collections import Counter
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/"
    r"|[(),]|\b(?:order\s+by|select(?:\s+(?:distinct|all))?|from|limit|union|intersect|except)\b",
    re.IGNORECASE | re.DOTALL,
)

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`")
_CLAUSE = re.compile(
    r"\b(?:join|where|and|or|group\s+by|having|order\s+by|limit|union|intersect|except)\b|\(\s*select\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)


def count_clauses(sql: str) -> int:
    return clauses(sql).total()


def clauses(sql: str) -> Counter[str]:
    """Returns the numbers of joins, conditions, groupings, orders, limits, set operations and subqueries."""
    text = _QUOTED.sub("''", sql)
    found = Counter("".join(clause.lower().split()) for clause in _CLAUSE.findall(text))
    found["and"] -= len(_BETWEEN.findall(text))
    return found


@dataclass
class Select:
    """Positions in the text of one SELECT. A SELECT inside it has other positions."""

    end: int = -1
    columns: list[int] = field(default_factory=list)
    """Start of the first column, the commas between columns, end of the last column."""
    is_compound: bool = False
    is_ordered: bool = False
    limit: int | None = None

    @property
    def tail(self) -> int:
        """End of the ORDER BY clause, or its position if there is none."""
        return self.end if self.limit is None else self.limit

    @property
    def width(self) -> int:
        """Number of columns; `*` counts as one."""
        return len(self.columns) - 1


def read_selects(sql: str) -> list[Select]:
    """Returns the SELECTs of a query, the outermost first. Compound SELECTs are one."""
    levels = [Select()]
    found = [levels[0]]
    in_columns = [False]
    for token in _TOKEN.finditer(sql):
        text, level = token[0].lower(), levels[-1]
        if text == "(":
            levels.append(Select())
            found.append(levels[-1])
            in_columns.append(False)
        elif text == ")" and len(levels) > 1:
            _close(levels.pop(), in_columns.pop(), token.start())
        elif text.startswith("select") and not level.columns:
            level.columns.append(token.end())
            in_columns[-1] = True
        elif text in ("from", ",") and in_columns[-1]:
            level.columns.append(token.start())
            in_columns[-1] = text == ","
        elif text in ("union", "intersect", "except"):
            level.is_compound = True
        elif text.startswith("order"):
            level.is_ordered = True
        elif text == "limit":
            level.limit = token.start()
    while levels:
        _close(levels.pop(), in_columns.pop(), len(sql))
    return [select for select in found if select.columns]


def _close(select: Select, in_columns: bool, end: int) -> None:
    select.end = end
    if in_columns:
        select.columns.append(select.tail)
