"""The rewards equal those of the published environment, whose code in the wheel plays the same actions."""

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from coevolve_environments.plugins.intercode_sql.databases import wheel_databases, wheel_file
from coevolve_environments.plugins.intercode_sql.engine import QueryError
from coevolve_environments.plugins.intercode_sql.episode import SqlEpisode
from coevolve_environments.plugins.intercode_sql.published import Question, read_wheel_questions
from coevolve_environments.plugins.intercode_sql.sandbox import SqliteEngine, SqliteSandbox
from coevolve_environments.plugins.intercode_sql.score import kendall_tau

ENGINE = SqliteEngine(wheel_databases())


class Cursor:
    """MySQL's cursor over a sqlite database."""

    description: object = "columns"

    def __init__(self, sandbox: SqliteSandbox) -> None:
        self.sandbox = sandbox
        self.rows: list[Any] = []

    def execute(self, sql: str) -> None:
        try:
            self.rows = self.sandbox.run(sql)
        except QueryError as error:
            failure: Any = RuntimeError(str(error))
            failure.msg = str(error)
            raise failure from error

    def fetchall(self) -> list[Any]:
        return self.rows


def statistic(left: list[str], right: list[str], nan_policy: str) -> object:
    tau = kendall_tau(left, right)
    return SimpleNamespace(statistic=float("nan") if tau is None else tau)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> type[Any]:
    """The wheel's SqlEnv, without docker, MySQL, gymnasium and scipy, which are not installed."""
    errors = SimpleNamespace(ProgrammingError=RuntimeError, DatabaseError=RuntimeError)
    mysql = SimpleNamespace(connector=SimpleNamespace(errors=errors, connect=MagicMock()))
    for name, stub in {
        "gymnasium": SimpleNamespace(Env=object),
        "rich": MagicMock(),
        "rich.logging": MagicMock(),
        "intercode": ModuleType("intercode"),
        "intercode.envs": ModuleType("intercode.envs"),
        "intercode.utils": MagicMock(),
        "mysql": mysql,
        "mysql.connector": mysql.connector,
        "scipy": MagicMock(),
        "scipy.stats": SimpleNamespace(kendalltau=statistic),
    }.items():
        monkeypatch.setitem(sys.modules, name, stub)
    for name in ("ic_env", "sql_env"):
        spec = importlib.util.spec_from_file_location(f"intercode.envs.{name}", wheel_file(f"{name}.py"))
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"intercode.envs.{name}", module)
        spec.loader.exec_module(module)
    environment: type[Any] = module.SqlEnv
    return environment


def published_reward(environment_class: type[Any], question: Question, actions: list[str]) -> float:
    environment = environment_class("image")
    environment.cur = Cursor(ENGINE.open(question.database))
    environment.tool_mode, environment.trajectory, environment.info = False, [], {}
    environment.observation, environment.gold = question.text, question.sql
    for action in actions:
        _, reward, done, _ = environment.step(action)
    assert done
    return float(reward)


def our_reward(question: Question, actions: list[str]) -> float:
    definition = {
        "task_id": "t", "split": "train", "database": question.database,
        "question": question.text, "gold": question.sql,
    }  # fmt: skip
    episode = SqlEpisode(ENGINE, definition)
    episode.open()
    for action in actions:
        last = episode.act(action)
    episode.close()
    assert last.done
    return float(last.metadata["raw_score"])


def test_every_play_has_the_published_reward(published: type[Any]) -> None:
    rewards = set()
    for question in read_wheel_questions():
        gold = question.sql.rstrip(";")
        sandbox = ENGINE.open(question.database)
        if question.database not in ENGINE.names or not sandbox.run(gold):
            continue
        for before in (
            [gold],
            [],
            ["SELEC name", gold],
            [gold, "SELEC name"],
            [gold, "submit 6"],
            [gold, "SHOW TABLES"],
            [f"SELECT * FROM ({gold}) LIMIT 1"],
            [f"SELECT * FROM ({gold}) ORDER BY 1 DESC"],
            [f"SELECT * FROM ({gold}) UNION ALL SELECT * FROM ({gold})"],
        ):
            theirs = published_reward(published, question, [*before, "submit"])
            assert our_reward(question, [*before, "submit"]) == pytest.approx(theirs, abs=0.005), before
            rewards.add(theirs)
    assert len(rewards) > 5
