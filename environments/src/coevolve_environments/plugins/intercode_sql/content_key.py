"""Identity of an intercode task: its database and its gold SQL, however either is spelled."""

import hashlib
import re

from coevolve_environments.protocol import Split

HELD_OUT_RESIDUE = 3
_QUOTED = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")")


def content_key(database: str, sql: str) -> str:
    """sha256 hex of database and normalised SQL: equal for two spellings of one query."""
    return hashlib.sha256(f"{database.lower()}\n{normalise(sql)}".encode()).hexdigest()


def normalise(sql: str) -> str:
    """One space between words, none around punctuation, lower case outside quotes, no final semicolon."""
    parts = _QUOTED.split(sql.strip().rstrip(";").strip())
    return "".join(part if part[:1] in ("'", '"') else _plain(part) for part in parts)


def split_of(key: str) -> Split:
    """The side that a task is on, a function of its key alone: no later or larger draw can move it.

    One key in three is held out.
    """
    return "held-out" if int(key[:8], 16) % HELD_OUT_RESIDUE == 0 else "train"


def _plain(text: str) -> str:
    spaced = re.sub(r"\s+", " ", text.lower())
    return re.sub(r" ?([(),=<>!*+/-]) ?", r"\1", spaced)
