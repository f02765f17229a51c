"""Converts identifiers and values of a database into words of a question and SQL literals."""

import re

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = {"num": "number", "tv": "TV", "ref": "reference"}

_COLUMNS = {
    "abandoned_yn": "abandoned flag", "accelerate": "acceleration",
    "apt_feature_1": "first apartment feature", "apt_feature_2": "second apartment feature",
    "average": "mean attendance", "bulgarian_commander": "Bulgarian commander", "code2": "two-letter code",
    "cost_of_treatment": "cost", "countryabbrev": "country abbreviation", "created": "creation time",
    "cylinders": "number of cylinders", "date_adopted": "adoption date", "date_arrived": "arrival date",
    "date_departed": "departure date", "date_effective_from": "effective-from date",
    "date_effective_to": "effective-to date", "date_first_registered": "first registration date",
    "date_left": "leaving date", "date_of_treatment": "date", "date_on_market": "market date",
    "date_sold": "sale date", "directed_by": "director", "edispl": "displacement",
    "final_table_made": "number of final tables", "fname": "first name", "gnp": "gross national product",
    "gnpold": "old gross national product", "highest": "peak attendance",
    "hight_definition_tv": "high-definition flag", "highest_position": "chart position",
    "if_first_show": "first-show flag",
    "indepyear": "independence year", "injured": "number of injured people",
    "is_full_time": "full-time flag", "is_male": "male flag", "isofficial": "official flag",
    "killed": "number of killed people", "latin_commander": "Latin commander",
    "line_1": "first address line", "line_2": "second address line", "lname": "last name",
    "lowest": "bottom attendance", "major_record_format": "main record format", "mpg": "miles per gallon",
    "net_worth_millions": "net worth in millions", "num_of_ticket": "number of tickets",
    "number_products": "number of products", "other_student_details": "other details",
    "pay_per_view_ppv": "pay-per-view flag", "pixel_aspect_ratio_par": "pixel aspect ratio",
    "room_count": "number of rooms", "ssn": "social security number", "staring_date": "starting date",
    "start_from": "starting year", "total_spent": "spending", "viewers_m": "number of viewers",
    "written_by": "writer", "year_of_founded": "founding year", "year_of_work": "years of work",
}  # fmt: skip

_ROWS = {
    "ref_template_types": ("template type", "template types"),
    "ref_feature_types": ("feature type", "feature types"),
    "ref_property_types": ("property type", "property types"),
    "other_available_features": ("available feature", "available features"),
    "other_property_features": ("property feature", "property features"),
    "model_list": ("car model", "car models"), "singer_in_concert": ("appearance", "appearances"),
    "friend": ("friendship", "friendships"), "death": ("death report", "death reports"),
    "student_enrolment_courses": ("course enrolment", "course enrolments"),
    "transcript_contents": ("transcript entry", "transcript entries"),
    "area_code_state": ("area code", "area codes"),
    "cars_data": ("car", "cars"), "car_names": ("model name", "model names"),
    "people": ("person", "people"), "tv_series": ("TV series", "TV series"),
    "addresses": ("address", "addresses"), "has_pet": ("pet ownership", "pet ownerships"),
    "course_arrange": ("course arrangement", "course arrangements"), "hiring": ("hire", "hires"),
    "likes": ("like", "likes"), "countrylanguage": ("country language", "country languages"),
    "highschooler": ("high schooler", "high schoolers"),
}  # fmt: skip


def row_names(table: str) -> tuple[str, str]:
    """Returns the names of one row and of several rows of a table in a sentence."""
    words = words_of(table)
    return _ROWS.get(table, (_singular(words), _plural(words)))


def words_of(identifier: str) -> str:
    """Converts `Song_release_Year` to `song release year`."""
    if whole := _COLUMNS.get(identifier.lower()):
        return whole
    parts = [part.lower() for chunk in identifier.split("_") for part in _CAMEL.split(chunk) if part]
    return " ".join(_WORDS.get(part, part) for part in parts)


def article(words: str) -> str:
    """Returns the words after `a` or `an`."""
    return f"{'an' if words[:1].lower() in 'aeio' else 'a'} {words}"


def owned(owner: str, words: str) -> str:
    """Returns the words after their owner, whose name is not repeated: `ship type` of a `ship` stays."""
    return words if words.split()[0] == owner.split()[-1] else f"{owner} {words}"


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
