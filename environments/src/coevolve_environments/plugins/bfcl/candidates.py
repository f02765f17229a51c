"""The parts of a model's answer that may be calls. `calls.py` reads them."""

import ast
import re
from collections.abc import Iterator, Sequence

from coevolve_environments.plugins.bfcl.literals import MAX_CHARACTERS
from coevolve_environments.plugins.spellings import FENCED, PREFIX, TAGGED, answer_of
from coevolve_environments.plugins.written_calls import JsonCall, json_calls, named_calls, read_call

_LIST_START = re.compile(r"(?:(?<=\s)|(?<=:)|^)[\[{]", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\d{1,2}[.)])\s+(.+)")
_MAX_STARTS = 20
Part = str | JsonCall


def candidates(text: str) -> Iterator[Sequence[Part]]:
    """Yields what may be the calls of an answer, the likeliest first: Python sources and read calls.

    A source is that of a list, of its elements, or of one call per line. A part of an answer that ends with
    calls counts only at the end of the text, because a sentence about a call is no call.
    """
    answer = answer_of(text)
    if named := named_calls(answer):
        yield named
        return
    if tagged := TAGGED.findall(answer):
        yield [part for tag in tagged for part in _parts(tag)]
        return
    if PREFIX.search(answer):
        answer = PREFIX.split(answer)[-1]
    if fenced := FENCED.findall(answer):
        yield [part for fence in fenced for part in _parts(fence)]
        return
    bare = answer.strip("`\n ")
    yield _parts(bare)
    if items := _items(bare):
        yield items
    for start in list(_LIST_START.finditer(bare))[:_MAX_STARTS]:
        if start.start() > 0:
            yield _parts(bare[start.start() :])
    sentence, _, paragraph = bare.rpartition("\n\n")
    if sentence:
        yield [paragraph.strip()]
    for separator in ("\n\n", "\n"):  # a list before its explanation
        head = bare.partition(separator)[0].strip()
        if head.startswith("[") and head.endswith("]") and head != bare:
            yield _parts(head)


def _parts(text: str) -> Sequence[Part]:
    """Returns the calls of a text that is JSON; other text as Python source."""
    stripped = text.strip()
    if fenced := FENCED.fullmatch(stripped):
        stripped = fenced[1].strip()
    if not stripped.startswith(("{", "[")):
        return [stripped]
    return json_calls(stripped) or _quoted_calls(stripped) or [stripped]


def _quoted_calls(text: str) -> list[JsonCall]:
    """Returns the calls of objects in Python's quotes; none if one of them is no call."""
    if "'" not in text or len(text) > MAX_CHARACTERS:
        return []
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return []
    calls = [read_call(element) for element in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call] if all(calls) else []


def _items(text: str) -> list[str]:
    """Returns the calls of a list of lines with bullets or numbers; none if a line has neither."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_ITEM.fullmatch(line) for line in lines]
    return [item[1].strip("` ") for item in found if item] if found and all(found) else []
