"""Parses JSON from clients, which may be of any depth."""

import json
from typing import Any

MAX_DEPTH = 100  # JSON writers, `repr` and plugins recurse into values; Python allows about 1,000 calls


def parse_json(text: str | bytes) -> Any:
    """
    Raises:
        ValueError: the text is not JSON, has an integer above 4,300 digits, or is too deep.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for item in level for child in _children(item)]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


def _children(item: Any) -> Any:
    return item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()


_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"
