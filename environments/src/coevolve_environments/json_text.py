"""Parses JSON from clients, servers and children, which may be of any depth."""

import json
from typing import Any

MAX_DEPTH = 100  # JSON writers, `repr` and plugins recurse into values; Python allows about 1,000 calls

MAX_VALUES = 4_000_000
"""Brackets and commas of a text: 60 MB of `[],` kept the server busy for seconds and filled 2 GB."""


def parse_json(text: str | bytes) -> Any:
    """
    Raises:
        ValueError: see `load_json`, or the text is deeper than `MAX_DEPTH`.
    """
    value = load_json(text)
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for item in level for child in _children(item)]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


def load_json(text: str | bytes) -> Any:
    """Parses a text of any depth that Python can parse.

    Raises:
        ValueError: the text is not JSON, has an integer above 4,300 digits, or has too many values or levels.
    """
    encoded = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if sum(encoded.count(sign) for sign in (b"[", b"{", b",")) > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES} brackets and commas")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _children(item: Any) -> Any:
    return item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()


_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"
