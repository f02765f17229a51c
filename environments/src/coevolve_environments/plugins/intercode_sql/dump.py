"""Converts InterCode's MySQL dump (20 Spider development databases) to sqlite statements."""

import re
from collections.abc import Iterator

PADDED = "padded"
_USE = re.compile(r"^USE `(\w+)`;", re.MULTILINE)
_STATEMENT = re.compile(
    r"^(CREATE TABLE `\w+` \(.*?^\)) ENGINE[^;]*;|^(INSERT INTO `\w+` VALUES .*?\);)$",
    re.MULTILINE | re.DOTALL,
)
_STRING = re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
_TEXT_TYPES = re.compile(r"^(char|varchar|text)\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "", "'": "''"}


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
