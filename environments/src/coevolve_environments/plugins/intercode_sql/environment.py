"""intercode-sql: InterCode's SQL benchmark with its 20 Spider databases on sqlite, and our task generator.

The published environment runs MySQL, where some queries have other results (text compared with numbers,
ties). Gold and answer run on the same engine, so rewards are consistent. `intercode-mariadb` is this class on
another engine.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coevolve_environments.plugins.draws import sample
from coevolve_environments.plugins.intercode_sql.compose import compose
from coevolve_environments.plugins.intercode_sql.databases import Databases, wheel_databases
from coevolve_environments.plugins.intercode_sql.draw import (
    Parent,
    allowed_patterns,
    draw_tasks,
    draw_variants,
)
from coevolve_environments.plugins.intercode_sql.engine import Engine
from coevolve_environments.plugins.intercode_sql.episode import MAX_TURNS, SqlEpisode
from coevolve_environments.plugins.intercode_sql.options import Options, read_options, require_drawn
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.published import (
    PublishedTasks,
    QuestionSource,
    license_of,
    question_source,
    read_wheel_questions,
)
from coevolve_environments.plugins.intercode_sql.sandbox import SqliteEngine
from coevolve_environments.plugins.intercode_sql.space import Space
from coevolve_environments.plugins.intercode_sql.task_record import NAME, SUBMIT, content_key
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    ComposedTask,
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

log = logging.getLogger(__name__)


def create(settings: Settings) -> Environment:
    """Reads `questions`, path or URL of a file in the form of InterCode's ic_spider_dev.json (default: the
    wheel's 23 questions), and `questions_license`, the license of that file.
    """
    databases = wheel_databases()
    return InterCodeSql(databases, SqliteEngine(databases), question_source(settings), license_of(settings))


class InterCodeSql(Environment):
    name = NAME
    control = "select 1"
    summary = "Answer a question about a database by SQL queries, then submit (InterCode-SQL, sqlite port)."
    capabilities = Capabilities(
        variants=True,
        compose="checker",
        replay="observations",
        dense_reward=True,
        max_turns=MAX_TURNS,
        constant_answers=tuple((f"SELECT {number}", SUBMIT) for number in range(1, 11)),
    )

    def __init__(
        self, databases: Databases, engine: Engine, questions: QuestionSource | None, terms: str
    ) -> None:
        """
        Args:
            databases: source of the generated questions, on sqlite.
            engine: runs gold and answers.
            questions: the operator's file; None means only the wheel.
            terms: license of the published questions.
        """
        self._databases = databases
        self._engine = engine
        self._space = Space(databases, engine)
        sources = {"file": questions.read} if questions else {}
        self._published = PublishedTasks(self.name, engine, {**sources, "wheel": read_wheel_questions})
        self.license = terms
        self.description = f"{self.summary} License: {terms}."
        if questions:
            log.info("%s: questions from %s, license: %s", self.name, questions.location, terms)

    def published(self, split: Split) -> Sequence[TaskRecord]:
        """Returns the questions of the operator's file, or else the wheel's 23."""
        records = self._published.from_source(self._published.sources[0])
        return [record for record in records if record.split == split]

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        chosen = self._options(options)
        if chosen.source == "generated":
            drafts = draw_tasks(self._space, split, count, seed, chosen)
            return [draft.record(environment=self.name, schema=chosen.schema) for draft in drafts]
        return self._published_tasks(split, count, seed, chosen)

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        chosen = self._options(options)
        related = draw_variants(
            self._space, [_parent(parent) for parent in parents], relation, count, seed, chosen
        )
        return [
            Variant(draft.record(environment=self.name, schema=chosen.schema), parent)
            for draft, parent in related
        ]

    def compose(
        self, parent: Json, query: str, actions: Sequence[str], options: Mapping[str, Any]
    ) -> ComposedTask | Refusal:
        """Composes a train task in the parent's database, also if its content key would mean held-out."""
        database = parent.get("database")
        if database not in self._databases.names:
            raise BadRequest(f"unknown `database` of the parent: {database!r}")
        schema = self._options(options).schema
        return compose(self._engine, database, query, actions, environment=self.name, schema=schema)

    def start(self, definition: Json, seed: int) -> Episode:
        """Ignores the seed: nothing in this environment is random."""
        return SqlEpisode(self._engine, definition)

    def close(self) -> None:
        self._engine.close()

    def _options(self, options: Mapping[str, Any]) -> Options:
        chosen = read_options(options, databases=self._databases.names, patterns=PATTERNS)
        if chosen.source == "file" and "file" not in self._published.sources:
            raise BadRequest(f"`options.source` file needs the setting hosted.{self.name}.questions")
        if chosen.source != "generated" and chosen.patterns:
            raise BadRequest("`options.patterns` applies only to `options.source` generated")
        if chosen.source != "generated" and chosen.mix:
            raise BadRequest("`options.mix` applies only to `options.source` generated")
        require_drawn(chosen.mix, allowed_patterns(chosen))
        return chosen

    def _published_tasks(self, split: Split, count: int, seed: int, chosen: Options) -> list[TaskRecord]:
        fit = [
            record
            for record in self._published.from_source(chosen.source)
            if record.split == split
            and record.features["difficulty"] <= chosen.max_difficulty
            and (not chosen.databases or record.features["group"] in chosen.databases)
        ]
        drawn = sample(fit, count, seed, split)
        return [replace(r, definition={**r.definition, "schema": chosen.schema}) for r in drawn]


def _parent(definition: Json) -> Parent:
    try:
        database, sql = str(definition["database"]), str(definition["gold"])
        pattern, difficulty = str(definition["pattern"]), int(definition["difficulty"])
    except (KeyError, ValueError, TypeError) as error:
        raise BadRequest(f"a parent needs `database`, `gold`, `pattern` and `difficulty`: {error}") from None
    return Parent(content_key(database, sql), database, pattern, difficulty, sql)
