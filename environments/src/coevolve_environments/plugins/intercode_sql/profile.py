"""Description of a database for the question generator: tables, links, and occurring values."""

import re
import sqlite3
from dataclasses import dataclass
from functools import cached_property

from coevolve_environments.plugins.intercode_sql.databases import Column, Databases, Table
from coevolve_environments.plugins.intercode_sql.wording import row_names, words_of

MAX_VALUES = 10
AGGREGATES = (("AVG", "average"), ("MAX", "maximum"), ("MIN", "minimum"), ("SUM", "total"))
_NOT_ADDITIVE = {"year", "age", "rank", "position", "grade", "level", "rating", "ratings", "number", "height",
                 "expectancy", "percentage", "accelerate", "cylinders"}  # fmt: skip
# Codes without the name of one: a sum or an average of them has no meaning.
_CODES = {"advisor", "capital", "major", "phone_number", "production_code"}
_MAX_VALUE_CHARACTERS = 30
_MAX_SHOWN_CHARACTERS = 40
# Needs no quotes in SQL. Two columns of the dump need them and are omitted.
_PLAIN_NAME = re.compile(r"[a-z_]\w*")


@dataclass(frozen=True)
class Field:
    """A column with data. `values` are at most 10 occurring values, spread over their order."""

    name: str
    words: str
    text: bool
    identifier: bool
    distinct: int
    longest: int
    values: tuple[str | int | float, ...]

    @cached_property
    def aggregates(self) -> tuple[tuple[str, str], ...]:
        """Returns the meaningful SQL functions with their words: years or ranks have no total."""
        return AGGREGATES[:-1] if _NOT_ADDITIVE & set(self.words.split()) else AGGREGATES


@dataclass(frozen=True)
class Entity:
    """A table with at least two rows. `one` and `many` name its rows in a sentence."""

    name: str
    one: str
    many: str
    rows: int
    fields: tuple[Field, ...]
    key: str | None

    @cached_property
    def shown(self) -> tuple[Field, ...]:
        """Returns the columns that a result may show."""
        return tuple(f for f in self.fields if not f.identifier and f.longest <= _MAX_SHOWN_CHARACTERS)

    @cached_property
    def numbers(self) -> tuple[Field, ...]:
        return tuple(f for f in self.fields if not f.identifier and not f.text and f.distinct > 2)

    @cached_property
    def aggregates(self) -> tuple[tuple[Field, str, str], ...]:
        """Returns each number with each meaningful function and the function's word."""
        return tuple((n, function, word) for n in self.numbers for function, word in n.aggregates)

    @cached_property
    def groups(self) -> tuple[Field, ...]:
        """Returns the columns with repeated values, which are meaningful to group by."""
        maximum = min(15, self.rows * 0.7)
        return tuple(f for f in self.shown if 2 <= f.distinct <= maximum)

    @cached_property
    def texts(self) -> tuple[Field, ...]:
        return tuple(f for f in self.shown if f.text and f.distinct > 1 and f.values)


@dataclass(frozen=True)
class Link:
    """Every row of `child` refers to one row of `parent`."""

    child: Entity
    column: str
    parent: Entity
    target: str

    @property
    def clause(self) -> str:
        return self._joined("JOIN")

    @property
    def outer_clause(self) -> str:
        """Keeps the child rows without parent."""
        return self._joined("LEFT JOIN")

    def _joined(self, join: str) -> str:
        child, parent = self.child.name, self.parent.name
        return f"{child} {join} {parent} ON {child}.{self.column} = {parent}.{self.target}"


@dataclass(frozen=True)
class Profile:
    database: str
    entities: tuple[Entity, ...]
    links: tuple[Link, ...]


def read_profile(databases: Databases, name: str) -> Profile:
    """Reads a whole database. Tables and columns keep their order, so the result is deterministic."""
    connection = databases.connect(name)
    try:
        found = [_entity(connection, table) for table in databases.tables(name)]
    finally:
        connection.close()
    entities = {entity.name: entity for entity in found if entity.rows > 1}
    links: dict[tuple[str, str], set[Link]] = {}
    for table in databases.tables(name):
        for key in table.foreign_keys:
            if table.name in entities and key.table in entities and key.table != table.name:
                link = Link(entities[table.name], key.column, entities[key.table], key.target)
                links.setdefault((table.name, key.table), set()).add(link)
    # A question cannot distinguish two links of the same tables, such as the two airports of a flight.
    unique = tuple(link for pair in links.values() if len(pair) == 1 for link in pair)
    return Profile(name, tuple(entities.values()), unique)


def _entity(connection: sqlite3.Connection, table: Table) -> Entity:
    rows = int(connection.execute(f"select count(*) from {table.name}").fetchone()[0])
    foreign = {key.column for key in table.foreign_keys}
    plain = [column for column in table.columns if _PLAIN_NAME.fullmatch(column.name)]
    fields = [_field(connection, table.name, column, column.name in foreign) for column in plain]
    keys = [column.name for column in table.columns if column.primary]
    one, many = row_names(table.name)
    return Entity(
        name=table.name,
        one=one,
        many=many,
        rows=rows,
        fields=tuple(field for field in fields if field.distinct),
        key=keys[0] if len(keys) == 1 else None,
    )


def _field(connection: sqlite3.Connection, table: str, column: Column, foreign: bool) -> Field:
    query = f"select distinct {column.name} from {table} where {column.name} is not null order by 1"
    values = [_as_written(row[0]) for row in connection.execute(query)]
    text = any(isinstance(value, str) for value in values)
    return Field(
        name=column.name,
        words=words_of(column.label),
        text=text,
        identifier=foreign
        or column.primary
        or column.name in _CODES
        or column.name == "id"
        or column.name.endswith("_id"),
        distinct=len(values),
        longest=max((len(str(value)) for value in values), default=0),
        values=_spread([value for value in values if _is_quotable(value)]),
    )


def _as_written(value: object) -> str | int | float:
    """Returns 1944.0 as 1944, which is equal in sqlite and the usual spelling."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    assert isinstance(value, str | int | float)
    return value


def _is_quotable(value: object) -> bool:
    """Returns whether a value fits into a question: not empty or long, no line break, no outer space."""
    text = str(value)
    return 0 < len(text) <= _MAX_VALUE_CHARACTERS and text == text.strip() and text.isprintable()


def _spread(values: list[str | int | float]) -> tuple[str | int | float, ...]:
    if len(values) <= MAX_VALUES:
        return tuple(values)
    return tuple(values[round(i * (len(values) - 1) / (MAX_VALUES - 1))] for i in range(MAX_VALUES))
