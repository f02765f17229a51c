"""The space of generated tasks: all queries with a fit result, per database and pattern."""

import threading
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.databases import Databases
from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError, Sandbox
from coevolve_environments.plugins.intercode_sql.pattern_form import PatternQuery
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.profile import Profile, read_profile
from coevolve_environments.plugins.intercode_sql.task_record import content_key, make_record
from coevolve_environments.plugins.intercode_sql.unique_result import has_unique_result, is_ordered
from coevolve_environments.protocol import TaskRecord

CELL_SIZE = 1_000
"""Maximum number of queries per database and pattern. The smallest keys are kept, an arbitrary selection."""
MAX_RESULT_ROWS = 30
_MAX_RESULT_CHARACTERS = 1_500


class Draft(NamedTuple):
    """A query of the space before its execution."""

    key: str
    database: str
    pattern: str
    table: str
    sql: str
    question: str
    readings: tuple[str, ...]

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
            ordered=is_ordered(self.sql),
        )


class Space:
    """Generates a cell at its first use, and checks a result at the first draw of its draft."""

    def __init__(self, databases: Databases, engine: Engine) -> None:
        """
        Args:
            databases: source of the questions, on sqlite with every engine.
            engine: runs the queries; a failed query makes no task.
        """
        self.databases = databases
        self._engine = engine
        self._profiles: dict[str, Profile] = {}
        self._cells: dict[tuple[str, str], tuple[Draft, ...]] = {}
        self._fit: dict[str, bool] = {}
        self._sandboxes: dict[str, tuple[Sandbox, Sandbox | None]] = {}
        self._lock = threading.Lock()

    def cell(self, database: str, pattern: str) -> tuple[Draft, ...]:
        """Returns at most `CELL_SIZE` drafts in key order, none if the pattern does not apply."""
        with self._lock:
            if (database, pattern) not in self._cells:
                self._cells[database, pattern] = self._write(database, pattern)
            return self._cells[database, pattern]

    def is_fit(self, draft: Draft) -> bool:
        """Returns whether the result is unique, not empty, not only NULL or zero, and not too long."""
        with self._lock:
            if draft.key not in self._fit:
                self._fit[draft.key] = self._has_fit_result(draft)
            return self._fit[draft.key]

    def _write(self, database: str, pattern: str) -> tuple[Draft, ...]:
        if database not in self._profiles:
            self._profiles[database] = read_profile(self.databases, database)
        drafts: dict[str, Draft] = {}
        for query in PATTERNS[pattern].write(self._profiles[database]):
            key = content_key(database, query.sql)
            wording = _wording(query, key)
            draft = Draft(key, database, pattern, query.table, query.sql, wording, query.readings)
            drafts.setdefault(key, draft)
        return tuple(sorted(drafts.values()))[:CELL_SIZE]

    def _has_fit_result(self, draft: Draft) -> bool:
        database = draft.database
        if database not in self._sandboxes:
            self._sandboxes[database] = self._engine.open(database), self._engine.open_reversed(database)
        sandbox, backwards = self._sandboxes[database]
        try:
            rows = sandbox.run(draft.sql)
            if not 1 <= len(rows) <= MAX_RESULT_ROWS or len(str(rows)) > _MAX_RESULT_CHARACTERS:
                return False
            if not any(cell not in (None, 0) for row in rows for cell in row):
                return False
            return has_unique_result(sandbox, backwards, draft.sql, rows, draft.readings)
        except QueryError:
            return False
        except Exception:  # the connection is lost: the next call opens another one
            self._sandboxes.pop(database)
            sandbox.close()
            raise


def _wording(query: PatternQuery, key: str) -> str:
    digits = key[8:16]  # not the ones that determine the split
    return query.questions[int(digits, 16) % len(query.questions)]
