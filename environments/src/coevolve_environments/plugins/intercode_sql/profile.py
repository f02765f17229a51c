"""Description of a database for the question generator: tables, links, and occurring values."""

import re
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from coevolve_environments.plugins.intercode_sql.databases import Column, Databases, Table
from coevolve_environments.plugins.intercode_sql.wording import article, owned, row_names, words_of

MAX_VALUES = 10
Value = str | int | float
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
    owned: str
    """The words after the name of the table's row."""
    text: bool
    identifier: bool
    distinct: int
    longest: int
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def with_article(self) -> str:
        return article(self.words)

    @cached_property
    def aggregates(self) -> tuple[tuple[str, str], ...]:
        """Returns the meaningful SQL functions with their words: years or ranks have no total."""
        return AGGREGATES[:-1] if _NOT_ADDITIVE & set(self.words.split()) else AGGREGATES

    @property
    def aggregate_pairs(self) -> list[tuple[str, ...]]:
        return [(*first, *second) for first, second in permutations(self.aggregates, 2)]

    @property
    def inner_values(self) -> tuple[Value, ...]:
        return self.values[1:-1]

    @property
    def some_values(self) -> tuple[Value, ...]:
        return self.values[1:-1:2]

    @property
    def few_values(self) -> tuple[Value, ...]:
        return self.values[:5]

    @property
    def ranges(self) -> list[tuple[Value, Value]]:
        return list(zip(self.values[1:-2], self.values[3:], strict=False))

    @property
    def first_words(self) -> list[str]:
        words = {str(value).split()[0] for value in self.values}
        return sorted(word for word in words if len(word) > 2 and word.isalpha())

    @property
    def limits(self) -> list[int]:
        return [count for count in (2, 3) if count < self.distinct]


@dataclass(frozen=True)
class Entity:
    """A table with at least two rows. `one` and `many` name its rows in a sentence."""

    name: str
    one: str
    many: str
    rows: int
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def with_article(self) -> str:
        return article(self.one)

    @cached_property
    def shown(self) -> tuple[Field, ...]:
        """Returns the columns that a result may show."""
        return tuple(f for f in self.fields if not f.identifier and f.longest <= _MAX_SHOWN_CHARACTERS)

    @property
    def first_shown(self) -> tuple[Field, ...]:
        return self.shown[:6]

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
    def shown_texts(self) -> tuple[Field, ...]:
        return tuple(f for f in self.shown if f.text)

    @cached_property
    def texts(self) -> tuple[Field, ...]:
        return tuple(f for f in self.shown_texts if f.distinct > 1 and f.values)

    @cached_property
    def text_groups(self) -> tuple[Field, ...]:
        return tuple(f for f in self.groups if f.text)

    @cached_property
    def equalities(self) -> list[tuple[Field, Value]]:
        """Returns texts that several rows have: with one row left, the other clauses would change nothing.

        At most three values each, because their combinations with the other clauses are many.
        """
        return [(d, v) for d in self.text_groups or self.texts for v in d.values[:3]]

    @cached_property
    def bounds(self) -> list[tuple[Field, Value]]:
        """Returns each number with its middle value."""
        return [(n, n.values[len(n.values) // 2]) for n in self.numbers if n.values]

    @property
    def limits(self) -> list[int]:
        return [count for count in (2, 3, 5) if count < self.rows]


@dataclass(frozen=True)
class Link:
    """Every row of `child` refers to one row of `parent`."""

    child: Entity
    column: str
    parent: Entity
    target: str

    def __str__(self) -> str:
        """Returns the condition of a join."""
        return f"{self.child}.{self.column} = {self.parent}.{self.target}"


@dataclass(frozen=True)
class Profile:
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
    return Profile(tuple(entities.values()), unique)


def _entity(connection: sqlite3.Connection, table: Table) -> Entity:
    rows = int(connection.execute(f"select count(*) from {table.name}").fetchone()[0])
    foreign = {key.column for key in table.foreign_keys}
    plain = [column for column in table.columns if _PLAIN_NAME.fullmatch(column.name)]
    fields = [_field(connection, table.name, column, column.name in foreign) for column in plain]
    one, many = row_names(table.name)
    return Entity(
        name=table.name,
        one=one,
        many=many,
        rows=rows,
        fields=tuple(field for field in fields if field.distinct),
    )


def _field(connection: sqlite3.Connection, table: str, column: Column, foreign: bool) -> Field:
    query = f"select distinct {column.name} from {table} where {column.name} is not null order by 1"
    values = [_as_written(row[0]) for row in connection.execute(query)]
    text = any(isinstance(value, str) for value in values)
    words = words_of(column.label)
    return Field(
        name=column.name,
        words=words,
        owned=owned(row_names(table)[0], words),
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


def _as_written(value: object) -> Value:
    """Returns 1944.0 as 1944, which is equal in sqlite and the usual spelling."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    assert isinstance(value, str | int | float)
    return value


def _is_quotable(value: object) -> bool:
    """Returns whether a value fits into a question: not empty or long, no line break, no outer space."""
    text = str(value)
    return 0 < len(text) <= _MAX_VALUE_CHARACTERS and text == text.strip() and text.isprintable()


def _spread(values: list[Value]) -> tuple[Value, ...]:
    if len(values) <= MAX_VALUES:
        return tuple(values)
    return tuple(values[round(i * (len(values) - 1) / (MAX_VALUES - 1))] for i in range(MAX_VALUES))
