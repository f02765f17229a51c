"""Published questions: the 23 of InterCode's wheel, or the operator's file."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.databases import wheel_file

WHEEL_QUESTIONS = "sql_queries.csv"
_CLAUSES = (
    (re.compile(r"\bjoin\b"), "join"),
    (re.compile(r"\b(?:intersect|union|except)\b"), "set"),
    (re.compile(r"\(\s*select\b"), "nested"),
    (re.compile(r"\bgroup by\b"), "group"),
    (re.compile(r"\bhaving\b"), "having"),
    (re.compile(r"\border by\b"), "order"),
    (re.compile(r"\bwhere\b"), "where"),
)


class Question(NamedTuple):
    database: str
    text: str
    sql: str


def read_wheel_questions() -> Iterator[Question]:
    with wheel_file(WHEEL_QUESTIONS).open(encoding="utf8", newline="") as file:
        for row in csv.DictReader(file):
            yield Question(row["db"], row["query"].strip(), row["gold"].strip())


def read_question_file(path: Path) -> Iterator[Question]:
    """
    Raises:
        ValueError: not a JSON list of objects with `db`, `query` (the question) and `gold` (its SQL).
    """
    entries = json.loads(path.read_text(encoding="utf8"))
    if not isinstance(entries, list):
        raise ValueError(f"{path}: expected a JSON list of questions")
    for number, entry in enumerate(entries):
        try:
            yield Question(entry["db"], entry["query"].strip(), entry["gold"].strip())
        except (KeyError, TypeError, AttributeError):
            raise ValueError(f"{path}: question {number} needs `db`, `query` and `gold`") from None


def clauses_of(sql: str) -> tuple[str, int]:
    """Returns the clauses of a query and a difficulty in 1..5: one more than their number, at most five."""
    lowered = sql.lower()
    found = [name for pattern, name in _CLAUSES if pattern.search(lowered)]
    joins = lowered.count(" join ")
    return "+".join(found) or "plain", min(5, 1 + len(found) + max(0, joins - 1))
