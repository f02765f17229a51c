"""Converts identifiers and values of a database into words of a question and SQL literals."""

import re

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPELLED_OUT = {
    "num": "number", "fname": "first name", "lname": "last name", "stuid": "student id", "petid": "pet id",
    "pettype": "pet type", "id": "id", "mpg": "miles per gallon", "edispl": "displacement",
    "surfacearea": "surface area", "indepyear": "independence year", "lifeexpectancy": "life expectancy",
    "gnp": "gross national product", "gnpold": "old gross national product", "localname": "local name",
    "governmentform": "government form", "headofstate": "head of state", "countrycode": "country code",
    "isofficial": "official flag", "airportname": "airport name", "airportcode": "airport code",
    "flightno": "flight number", "sourceairport": "source airport", "destairport": "destination airport",
    "countryabbrev": "country abbreviation", "ref": "reference", "tv": "TV", "pct": "percentage",
    "highschooler": "high schooler", "countrylanguage": "country language", "fullname": "full name",
}  # fmt: skip

_ROWS = {
    "cars_data": ("car", "cars"), "people": ("person", "people"), "tv_series": ("TV series", "TV series"),
    "addresses": ("address", "addresses"), "has_pet": ("pet ownership", "pet ownerships"),
    "course_arrange": ("course arrangement", "course arrangements"), "hiring": ("hire", "hires"),
    "likes": ("like", "likes"), "highschooler": ("high schooler", "high schoolers"),
}  # fmt: skip


def row_names(table: str) -> tuple[str, str]:
    """Returns the names of one row and of several rows of a table in a sentence."""
    words = words_of(table)
    return _ROWS.get(table, (_singular(words), _plural(words)))


def words_of(identifier: str) -> str:
    """Converts `Song_release_Year` to `song release year`."""
    parts = [part.lower() for chunk in identifier.split("_") for part in _CAMEL.split(chunk) if part]
    return " ".join(_SPELLED_OUT.get(part, part) for part in parts)


def literal(value: object) -> str:
    """Returns a value as SQL: text in single quotes, numbers unchanged."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _plural(words: str) -> str:
    if words.endswith("s"):
        return words
    if words.endswith("y") and words[-2:-1] not in "aeiou":
        return words[:-1] + "ies"
    return words + ("es" if words.endswith(("x", "ch", "sh")) else "s")


def _singular(words: str) -> str:
    if words.endswith("ies") and not words.endswith("series"):
        return words[:-3] + "y"
    if words.endswith("s") and not words.endswith(("ss", "series")):
        return words[:-1]
    return words
