"""Published questions, the 23 of InterCode's wheel or the operator's file, as tasks of one engine."""

import csv
import hashlib
import json
import logging
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from coevolve_environments.plugins.atomic_files import write_atomically
from coevolve_environments.plugins.intercode_sql.databases import wheel_file
from coevolve_environments.plugins.intercode_sql.engine import Engine, QueryError
from coevolve_environments.plugins.intercode_sql.task_record import content_key, make_record
from coevolve_environments.protocol import BadRequest, TaskRecord
from coevolve_environments.settings import Settings

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
log = logging.getLogger(__name__)
KNOWN_LICENSE = "questions MIT (InterCode), Spider data CC BY-SA 4.0"
"""License of the wheel's questions and of the repository's ic_spider_dev.json."""
MAX_BYTES = 32 * 2**20
FETCH_SECONDS = 60.0
_READ_TIMEOUT_SECONDS = 15.0
_CHUNK = 2**16


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


@dataclass(frozen=True)
class QuestionSource:
    """`read` returns the questions. It downloads a URL once, so that making the environment is fast."""

    location: str
    read: Callable[[], Iterator[Question]]


def question_source(settings: Settings) -> QuestionSource | None:
    """Reads `questions`, a path or an http(s) URL of a file in the form of ic_spider_dev.json.

    Raises:
        OSError: the path is not readable.
    """
    location = settings.text("questions")
    if location is None:
        return None
    if not location.startswith(("http://", "https://")):
        path = settings.path("questions")
        assert path is not None
        path.open("rb").close()  # a wrong path fails at the start, not at the first draw
        return QuestionSource(location, lambda: read_question_file(path))
    return QuestionSource(location, lambda: read_question_file(download_once(location, settings.state)))


def license_of(settings: Settings) -> str:
    """Reads `questions_license`; the default is InterCode's."""
    return settings.text("questions_license", KNOWN_LICENSE) or KNOWN_LICENSE


def download_once(
    url: str, folder: Path, *, max_bytes: int = MAX_BYTES, seconds: float = FETCH_SECONDS
) -> Path:
    """Downloads the URL into `folder` unless the file exists, and logs its sha256.

    Raises:
        BadRequest: the download failed, took longer than `seconds`, or exceeded `max_bytes`.
    """
    path = folder / f"questions-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            content = _download(url, max_bytes, seconds)
        except (OSError, ValueError) as error:
            raise BadRequest(
                f"download of {url} failed: {error}; retry, or set the path of a downloaded file"
            ) from error
        write_atomically(path, content)
    log.info("%s: %d bytes, sha256 %s", url, len(content), hashlib.sha256(content).hexdigest())
    return path


def _download(url: str, max_bytes: int, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    content = bytearray()
    with urllib.request.urlopen(url, timeout=min(seconds, _READ_TIMEOUT_SECONDS)) as response:
        while chunk := response.read1(_CHUNK):  # read1: slow data must not exceed the deadline
            content += chunk
            if len(content) > max_bytes:
                raise ValueError(f"the file is larger than {max_bytes} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no complete file within {seconds:g} s")
    return bytes(content)
