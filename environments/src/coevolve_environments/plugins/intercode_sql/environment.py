"""intercode-sql: InterCode's SQL benchmark, its 20 Spider databases on sqlite, and a generator of our own.

This is the sqlite port: the published environment runs MySQL, where some queries answer otherwise (text
compared with numbers, ties). Gold and answer run on the same engine, so a reward compares like with like.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coevolve_environments.plugins.intercode_sql.compose import compose
from coevolve_environments.plugins.intercode_sql.content import content_key
from coevolve_environments.plugins.intercode_sql.databases import DUMP, Databases, wheel_file
from coevolve_environments.plugins.intercode_sql.draw import draw_tasks
from coevolve_environments.plugins.intercode_sql.episode import MAX_TURNS, SqlEpisode
from coevolve_environments.plugins.intercode_sql.options import Options, read_options
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.questions import (
    Question,
    clauses_of,
    read_question_file,
    read_wheel_questions,
)
from coevolve_environments.plugins.intercode_sql.records import NAME, make_record
from coevolve_environments.plugins.intercode_sql.sandbox import QueryError, Sandbox
from coevolve_environments.plugins.intercode_sql.space import Space
from coevolve_environments.plugins.intercode_sql.variants import Parent, draw_variants
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Composed,
    Environment,
    Episode,
    Json,
    Refusal,
    Relation,
    Split,
    TaskRecord,
    Variant,
)
from coevolve_environments.settings import Settings


def create(settings: Settings) -> Environment:
    """Of `questions`, a file in the form of InterCode's ic_spider_dev.json; without it the wheel's 23."""
    return InterCodeSql(settings.path("questions"))


class InterCodeSql(Environment):
    name = NAME
    description = (
        "Answer a question about a database by SQL queries, then submit (InterCode-SQL, sqlite port)."
    )
    capabilities = Capabilities(
        variants=True, compose=True, replay="observations", dense_reward=True, max_steps=MAX_TURNS
    )

    def __init__(self, question_file: Path | None = None) -> None:
        self._databases = Databases(wheel_file(DUMP).read_text(encoding="utf8"))
        self._space = Space(self._databases)
        self._sources = {"wheel": self._records(read_wheel_questions(), "wheel")}
        if question_file is not None:
            self._sources["file"] = self._records(read_question_file(question_file), "file")

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """The operator's question file where there is one, the wheel's 23 questions otherwise."""
        records = self._sources.get("file", self._sources["wheel"])
        return [record for record in records if record.split == split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        chosen = self._options(options)
        if chosen.source == "generated":
            drafts = draw_tasks(self._space, split, count, seed, chosen)
            return [draft.record(schema=chosen.schema) for draft in drafts]
        return self._published_tasks(split, count, seed, chosen)

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        chosen = self._options(options)
        related = draw_variants(
            self._space, [_parent(parent) for parent in parents], relation, count, seed, chosen
        )
        return [Variant(draft.record(schema=chosen.schema), parent) for draft, parent in related]

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> Composed | Refusal:
        """In the parent's database; its hash may say held-out, but a composed task is always a train task."""
        database = parent.get("database")
        if database not in self._databases.names:
            raise BadRequest(f"a parent needs a known `database`, got {database!r}")
        return compose(self._databases, database, query, actions, schema=self._options(options).schema)

    def start(self, definition: Json, seed: int) -> Episode:
        """The seed is not used: nothing in this environment is random."""
        return SqlEpisode(self._databases, definition)

    def _options(self, options: Mapping[str, Any]) -> Options:
        chosen = read_options(options, databases=self._databases.names, patterns=PATTERNS)
        if chosen.source == "file" and "file" not in self._sources:
            raise BadRequest(
                "`options.source` is file, but the settings name no file: hosted.intercode-sql.questions"
            )
        if chosen.source != "generated" and chosen.patterns:
            raise BadRequest("`options.patterns` chooses among generated tasks only")
        return chosen

    def _published_tasks(self, split: Split, count: int, seed: int, chosen: Options) -> list[TaskRecord]:
        fit = [
            record
            for record in self._sources[chosen.source]
            if record.split == split
            and record.features["difficulty"] <= chosen.max_difficulty
            and (not chosen.databases or record.features["group"] in chosen.databases)
        ]
        drawn = random.Random(f"{seed}/{split}").sample(fit, min(count, len(fit)))
        return [replace(r, definition={**r.definition, "schema": chosen.schema}) for r in drawn]

    def _records(self, questions: Iterable[Question], source: str) -> list[TaskRecord]:
        """Leaves out what cannot be scored: no such database, or a gold query that answers nothing."""
        records: list[TaskRecord] = []
        seen: Counter[str] = Counter()
        for question in questions:
            if not self._answers(question):
                continue
            pattern, difficulty = clauses_of(question.sql)
            key = content_key(question.database, question.sql)
            seen[key] += 1
            records.append(
                make_record(
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

    def _answers(self, question: Question) -> bool:
        if question.database not in self._databases.names:
            return False
        sandbox = Sandbox(self._databases, question.database)
        try:
            return bool(sandbox.run(question.sql))
        except QueryError:
            return False
        finally:
            sandbox.close()


def _parent(definition: Json) -> Parent:
    try:
        database, sql = str(definition["database"]), str(definition["gold"])
        pattern, difficulty = str(definition["pattern"]), int(definition["difficulty"])
    except (KeyError, ValueError, TypeError) as error:
        raise BadRequest(f"a parent needs `database`, `gold`, `pattern` and `difficulty`: {error}") from None
    return Parent(content_key(database, sql), database, pattern, difficulty, sql)
