"""Published questions as tasks of one engine, without questions that it cannot answer."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from coevolve_environments.plugins.intercode_sql.content_key import content_key
from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError
from coevolve_environments.plugins.intercode_sql.questions import Question, clauses_of
from coevolve_environments.plugins.intercode_sql.task_record import make_record
from coevolve_environments.protocol import TaskRecord

QuestionReader = Callable[[], Iterable[Question]]


class PublishedTasks:
    """Reads a source and executes its gold at the first request."""

    def __init__(self, environment: str, engine: Engine, sources: Mapping[str, QuestionReader]) -> None:
        """
        Args:
            sources: reader of the questions by name (wheel or file).
        """
        self.sources = tuple(sources)
        self._environment = environment
        self._engine = engine
        self._readers = sources
        self._records: dict[str, list[TaskRecord]] = {}
        self._lock = threading.Lock()

    def from_source(self, source: str) -> list[TaskRecord]:
        with self._lock:
            if source not in self._records:
                self._records[source] = self._make(self._readers[source](), source)
            return self._records[source]

    def _make(self, questions: Iterable[Question], source: str) -> list[TaskRecord]:
        """Omits questions without score: unknown database, or gold that fails or returns nothing."""
        records: list[TaskRecord] = []
        seen: Counter[str] = Counter()
        for question in questions:
            if not self._has_result(question):
                continue
            pattern, difficulty = clauses_of(question.sql)
            key = content_key(question.database, question.sql)
            seen[key] += 1
            records.append(
                make_record(
                    environment=self._environment,
                    database=question.database,
                    question=question.text,
                    sql=question.sql,
                    pattern=pattern,
                    difficulty=difficulty,
                    source=source,
                    schema=False,
                    wording=seen[key],
                )
            )
        return records

    def _has_result(self, question: Question) -> bool:
        if question.database not in self._engine.names:
            return False
        sandbox = self._engine.open(question.database)
        try:
            return bool(sandbox.run(question.sql))
        except QueryError:
            return False
        finally:
            sandbox.close()
