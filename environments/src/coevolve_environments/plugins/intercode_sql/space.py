"""The space of generated tasks: per database and pattern, every query that has a fit answer."""

import threading
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.content_key import content_key
from coevolve_environments.plugins.intercode_sql.databases import Databases
from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError, Sandbox
from coevolve_environments.plugins.intercode_sql.pattern_query import PatternQuery
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.profile import Profile, read_profile
from coevolve_environments.plugins.intercode_sql.task_record import make_record
from coevolve_environments.protocol import TaskRecord

CELL_SIZE = 1_000
"""Queries kept per database and pattern: those with the smallest keys, so which ones is nobody's choice."""
MAX_ANSWER_ROWS = 30
_MAX_ANSWER_CHARACTERS = 1_500


class Draft(NamedTuple):
    """A query of the space that has not been executed yet."""

    key: str
    database: str
    pattern: str
    table: str
    sql: str
    question: str

    def record(self, *, environment: str, schema: bool) -> TaskRecord:
        return make_record(
            environment=environment,
            database=self.database,
            question=self.question,
            sql=self.sql,
            pattern=self.pattern,
            difficulty=PATTERNS[self.pattern].difficulty,
            source="generated",
            schema=schema,
        )


class Space:
    """Cells are written when they are first needed, answers are checked when a draft is first drawn."""

    def __init__(self, databases: Databases, engine: Engine) -> None:
        """
        Args:
            databases: what the questions are written of, on sqlite whatever the engine.
            engine: what runs them; a query that it does not answer makes no task.
        """
        self.databases = databases
        self._engine = engine
        self._profiles: dict[str, Profile] = {}
        self._cells: dict[tuple[str, str], tuple[Draft, ...]] = {}
        self._fit: dict[str, bool] = {}
        self._sandboxes: dict[str, Sandbox] = {}
        self._lock = threading.Lock()

    def cell(self, database: str, pattern: str) -> tuple[Draft, ...]:
        """At most `CELL_SIZE` drafts in the order of their keys; empty when the pattern does not apply."""
        with self._lock:
            if (database, pattern) not in self._cells:
                self._cells[database, pattern] = self._write(database, pattern)
            return self._cells[database, pattern]

    def is_fit(self, draft: Draft) -> bool:
        """Its answer is neither empty, nor a lone NULL or zero, nor too long to be worth reading."""
        with self._lock:
            if draft.key not in self._fit:
                self._fit[draft.key] = self._has_fit_answer(draft)
            return self._fit[draft.key]

    def _write(self, database: str, pattern: str) -> tuple[Draft, ...]:
        if database not in self._profiles:
            self._profiles[database] = read_profile(self.databases, database)
        drafts: dict[str, Draft] = {}
        for sketch in PATTERNS[pattern].write(self._profiles[database]):
            key = content_key(database, sketch.sql)
            drafts[key] = Draft(key, database, pattern, sketch.table, sketch.sql, _wording(sketch, key))
        return tuple(sorted(drafts.values()))[:CELL_SIZE]

    def _has_fit_answer(self, draft: Draft) -> bool:
        if draft.database not in self._sandboxes:
            self._sandboxes[draft.database] = self._engine.open(draft.database)
        try:
            rows = self._sandboxes[draft.database].run(draft.sql)
        except QueryError:
            return False
        except Exception:  # the connection is lost: the next caller gets another one
            self._sandboxes.pop(draft.database).close()
            raise
        if not 1 <= len(rows) <= MAX_ANSWER_ROWS or len(str(rows)) > _MAX_ANSWER_CHARACTERS:
            return False
        return any(cell not in (None, 0) for row in rows for cell in row)


def _wording(sketch: PatternQuery, key: str) -> str:
    return sketch.questions[
        int(key[8:16], 16) % len(sketch.questions)
    ]  # not the digits that choose the split
