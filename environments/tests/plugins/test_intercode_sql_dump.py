"""Conversion of the MySQL dump to sqlite statements and databases."""

import sqlite3

import pytest

from coevolve_environments.plugins.intercode_sql.databases import DUMP, Databases, read_dump, wheel_file

SMALL = r"""
CREATE DATABASE  IF NOT EXISTS `shop`;
USE `shop`;
CREATE TABLE `Item` (
  `Item_ID` int NOT NULL AUTO_INCREMENT,
  `Name` varchar(20) COLLATE utf8mb4_general_ci DEFAULT NULL,
  `Price` decimal(19,4) DEFAULT NULL,
  PRIMARY KEY (`Item_ID`),
  KEY `by_name` (`Name`),
  CONSTRAINT `fk` FOREIGN KEY (`Price`) REFERENCES `Price` (`ID`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4;
INSERT INTO `Item` VALUES (1,'O\'Reilly; (set)\nof two',2.5),(2,NULL,NULL);
"""


def test_types_keys_and_escapes_are_translated() -> None:
    create, insert = read_dump(SMALL)["shop"]
    connection = sqlite3.connect(":memory:")
    connection.execute(create)
    connection.execute(insert)
    assert connection.execute("select * from item").fetchall() == [
        (1, "O'Reilly; (set)\nof two", 2.5),
        (2, None, None),
    ]
    assert connection.execute("select count(*) from item where name like 'o%'").fetchone() == (1,)
    assert connection.execute("select \"table\" from pragma_foreign_key_list('Item')").fetchone() == (
        "Price",
    )


@pytest.fixture(scope="module")
def databases() -> Databases:
    return Databases(wheel_file(DUMP).read_text(encoding="utf8"))


def test_the_real_dump_has_20_databases_with_81_tables(databases: Databases) -> None:
    assert len(databases.names) == 20
    assert sum(len(databases.tables(name)) for name in databases.names) == 81


def test_the_real_dump_keeps_all_its_rows(databases: Databases) -> None:
    connection = databases.connect("world_1")
    counts = [
        connection.execute(f"select count(*) from {table}").fetchone()[0] for table in ("city", "country")
    ]
    assert counts == [4079, 239]


def test_text_compares_without_case_as_on_the_published_server(databases: Databases) -> None:
    connection = databases.connect("singer")
    france = connection.execute("select count(*) from singer where citizenship = 'FRANCE'").fetchone()
    assert france == connection.execute("select count(*) from singer where citizenship = 'France'").fetchone()
    assert france[0] > 0


def test_text_compares_without_trailing_spaces_as_on_the_published_server(databases: Databases) -> None:
    connection = databases.connect("flight_2")  # each of its 100 cities is stored with a space at its end
    query = "select airportname from airports where city = ? order by airportname"
    spelled = [
        connection.execute(query, [city]).fetchall() for city in ("Aberdeen ", "Aberdeen", "ABERDEEN  ")
    ]
    assert spelled[0] == spelled[1] == spelled[2]
    assert len(spelled[0]) == 2
    assert connection.execute("select count(*) from airports where city = ' Aberdeen'").fetchone() == (0,)
    assert connection.execute("select count(*) from airports where city like 'Aberdeen'").fetchone() == (0,)
    stored = connection.execute("select city from airports where city = 'Aberdeen'").fetchone()
    assert stored == ("Aberdeen ",)


def test_a_grouped_text_ignores_trailing_spaces() -> None:
    rows = "(1,'a',1),(2,'a ',1),(3,'A',1),(4,'b',1);"
    databases = Databases(SMALL[: SMALL.index("INSERT")] + "INSERT INTO `Item` VALUES " + rows)
    for connection in (databases.connect("shop"), databases.connect_reversed("shop")):
        counts = connection.execute("select count(*) from item group by name order by name").fetchall()
        assert counts == [(3,), (1,)]
