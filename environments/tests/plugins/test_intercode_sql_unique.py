"""Every intercode-sql task has one right answer: no ties, no arbitrary rows, no question with two queries."""

import hashlib
import random
import re
import sqlite3
from collections import Counter
from functools import cache
from typing import Any

import pytest

from coevolve_environments.plugins.intercode_sql.databases import PADDED, compare_padded, wheel_databases
from coevolve_environments.plugins.intercode_sql.patterns import PATTERNS
from coevolve_environments.plugins.intercode_sql.profile import read_profile
from coevolve_environments.plugins.intercode_sql.task_record import content_key
from conftest import Client

SQL = "/envs/intercode-sql"


@cache
def shuffled_database(name: str, seed: int) -> sqlite3.Connection:
    """Returns the database with its rows in random order and without keys, which would restore an order."""
    source, target = wheel_databases().connect(name), sqlite3.connect(":memory:")
    target.create_collation(PADDED, compare_padded)
    tables = source.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
    for table, create in tables:
        target.execute(re.sub(r",\n(?:PRIMARY|FOREIGN) KEY[^\n]*(?=,\n|\n\))", "", create))
        rows = source.execute(f"select * from {table}").fetchall()
        random.Random(seed).shuffle(rows)
        target.executemany(
            f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows
        ) if rows else 0
    source.close()
    return target


def rows_of(task: dict[str, Any], seed: int | None) -> list[tuple[Any, ...]]:
    definition = task["definition"]
    database, gold = definition["database"], definition["gold"]
    connection = wheel_databases().connect(database) if seed is None else shuffled_database(database, seed)
    rows = connection.execute(gold).fetchall()
    return [tuple(round(cell, 6) if isinstance(cell, float) else cell for cell in row) for row in rows]


def is_stable(task: dict[str, Any]) -> bool:
    """Returns whether the gold has the same rows in the same order for three orders of the tables' rows."""
    expected = rows_of(task, None)
    if not task["definition"]["ordered"]:
        return all(Counter(rows_of(task, seed)) == Counter(expected) for seed in range(3))
    return all(rows_of(task, seed) == expected for seed in range(3))


def test_the_result_of_no_generated_task_depends_on_the_order_of_the_tables_rows(server: Client) -> None:
    tasks = [task for side in ("train", "held-out") for task in server.draw("intercode-sql", side, 700, 3)]
    body = {"parents": [task["definition"] for task in tasks[:60]], "count": 120, "seed": 5, "options": {}}
    for relation in ("neighbour", "easier", "harder", "random"):
        tasks += server.post(f"{SQL}/data/variants", **body, relation=relation)["tasks"]
    limited = [task for task in tasks if " LIMIT " in task["definition"]["gold"]]
    ordered = [task for task in tasks if task["definition"]["ordered"]]
    assert min(len(limited), len(ordered) - len(limited)) > 50
    assert [task["definition"]["gold"] for task in tasks if not is_stable(task)] == []


def test_no_question_belongs_to_two_queries_of_its_database() -> None:
    for name in wheel_databases().names:
        profile, asked = read_profile(wheel_databases(), name), dict[str, str]()
        for pattern in PATTERNS.values():
            for query in pattern.write(profile):
                key = content_key(name, query.sql)
                for question in query.questions:
                    assert asked.setdefault(question, key) == key, question


BROKEN = re.compile(
    r"\b(?:yn|num|l name|fname|is male|is full time|if first show|indep|hight|staring|abbrev)\b"
    r"|Which \w+ belong|\ba [aeio]|\ban [^aeio\W]|\b(\w+) \1\b"
)


def test_questions_have_no_raw_column_names_and_no_wrong_articles() -> None:
    for name in wheel_databases().names:
        profile = read_profile(wheel_databases(), name)
        for pattern in PATTERNS.values():
            for query in pattern.write(profile):
                for question in query.questions:
                    plain = "" if "'" in query.sql else question  # a value of the database may be anything
                    assert not (found := BROKEN.search(plain)), (question, found)
                    assert question[0].isupper()
                    assert question[-1] in ".?"


def test_an_answer_in_another_order_is_right_unless_the_question_has_an_order(server: Client) -> None:
    tasks = server.draw("intercode-sql", "train", 300, 9)
    with server.session() as session:
        for task in tasks:
            rows, definition = rows_of(task, None), task["definition"]
            if len({str(row) for row in rows}) < 2:
                continue
            columns = ", ".join(f"{n} DESC" for n in range(1, len(rows[0]) + 1))
            answer = f"SELECT * FROM ({definition['gold']}) ORDER BY {columns}"
            reward = session.play(definition, [answer, "submit"])["reward"]
            reordered = sorted(map(str, rows), reverse=True) == list(map(str, rows))
            assert (reward == 1.0) or definition["ordered"], task["goal"]
            assert not definition["ordered"] or reordered or reward < 1 or rows_are_sorted(rows, answer, task)


def rows_are_sorted(rows: list[tuple[Any, ...]], answer: str, task: dict[str, Any]) -> bool:
    changed = {**task["definition"], "gold": answer}
    return rows_of({"definition": changed}, None) == rows


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT name FROM highschooler ORDER BY grade", "ties between different rows"),
        ("SELECT name FROM highschooler ORDER BY grade DESC LIMIT 3", "a tie at the cut"),
        ("SELECT name FROM highschooler LIMIT 3", "a cut without order"),
        ("SELECT name, grade FROM highschooler GROUP BY grade", "an arbitrary row of a group"),
        ("SELECT group_concat(name) FROM highschooler", "an order inside a value"),
        (
            "SELECT name FROM highschooler WHERE id IN (SELECT id FROM highschooler ORDER BY grade LIMIT 2)",
            "a tie at the cut of a subquery",
        ),
        (
            "WITH t AS (SELECT name AS n FROM highschooler ORDER BY grade LIMIT 2) SELECT n FROM t",
            "a tie at the cut of a common table expression",
        ),
    ],
)
def test_a_query_with_several_right_results_composes_to_no_task(server: Client, sql: str, why: str) -> None:
    assert composed(server, sql)["refused"]["reason"] == "ambiguous-result", why


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM highschooler ORDER BY grade, name",
        "SELECT grade FROM highschooler ORDER BY grade DESC LIMIT 3",
        "SELECT name FROM highschooler ORDER BY id LIMIT 3 -- the first three",
        "SELECT name FROM highschooler WHERE grade = 10 UNION SELECT 'order by, limit (' ORDER BY 1 LIMIT 20",
        "SELECT name FROM highschooler WHERE grade = (SELECT grade FROM highschooler ORDER BY grade LIMIT 1)",
    ],
)
def test_a_query_whose_ties_do_not_matter_composes_to_a_task(server: Client, sql: str) -> None:
    assert composed(server, sql)["task"]["definition"]["gold"] == sql


def composed(server: Client, sql: str) -> dict[str, Any]:
    (parent,) = server.draw("intercode-sql", "train", 1, 1, databases=["network_1"])
    body = {"parent": parent["definition"], "query": "Which?", "actions": [sql], "options": {}}
    return dict(server.post(f"{SQL}/data/compose", **body))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("SELECT a, b FROM t", "select B , A from T;", True),
        ("SELECT DISTINCT a, count(*) FROM t", "SELECT DISTINCT count(*), a FROM t", True),
        ("SELECT max(a, b), c FROM t", "SELECT c, max(a, b) FROM t", True),
        ("SELECT max(a, b), c FROM t", "SELECT c, max(b, a) FROM t", False),
        ("SELECT a, (SELECT b, c FROM u) FROM t", "SELECT (SELECT b, c FROM u), a FROM t", True),
        ("SELECT 'x, y', a FROM t", "SELECT a, 'x, y' FROM t", True),
        ("SELECT 'x, y', a FROM t", "SELECT a, 'y, x' FROM t", False),
        ("SELECT a, b FROM t UNION SELECT c, d FROM u", "SELECT a, b FROM t UNION SELECT d, c FROM u", False),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t", False),
    ],
)
def test_the_content_key_ignores_the_order_of_the_columns(one: str, other: str, equal: bool) -> None:
    assert (content_key("db", one) == content_key("db", other)) is equal


def test_no_train_task_equals_a_held_out_task_with_other_columns_first(server: Client) -> None:
    train, held_out = (
        {
            (task["definition"]["database"], *sorted(re.split(r", | FROM ", task["definition"]["gold"][7:])))
            for task in server.draw("intercode-sql", side, 1500, 1)
        }
        for side in ("train", "held-out")
    )
    assert not train & held_out


def test_the_generator_writes_the_queries_and_questions_of_release_0_1_0() -> None:
    written = hashlib.sha256()
    for name in wheel_databases().names:
        profile = read_profile(wheel_databases(), name)
        for label, pattern in PATTERNS.items():
            for query in sorted(pattern.write(profile)):
                written.update(
                    repr((name, label, query.table, query.sql, query.questions, query.readings)).encode()
                )
    assert written.hexdigest() == "1d6cdbf5d662af24e04f1e1feafe2a30af51e40ef635ec74083be02278fcf6f7"
