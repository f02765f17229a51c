"""Finds the calls in a natural answer: behind a sentence, in a code fence, in a tag, as JSON."""

import re
from collections.abc import Iterator

from coevolve_environments.plugins.json_calls import JsonCall, json_calls
from coevolve_environments.plugins.named_calls import named_calls
from coevolve_environments.plugins.spellings import FENCED, PREFIX, TAGGED, answer_of

_LIST_START = re.compile(r"(?:(?<=\s)|(?<=:)|^)[\[{]", re.MULTILINE)
_MAX_STARTS = 20


def candidates(text: str) -> Iterator[str]:
    """Yields Python sources that may be the calls of an answer, the likeliest first.

    Each is the source of a list, of its elements, or of one call per line. A part of an answer that ends with
    calls counts only at the end of the text, because a sentence about a call is no call.
    """
    answer = answer_of(text)
    if named := named_calls(answer):
        yield _python(named)
        return
    if tagged := TAGGED.findall(answer):
        yield "\n".join(_source(part) for part in tagged)
        return
    if PREFIX.search(answer):
        answer = PREFIX.split(answer)[-1]
    if fenced := FENCED.findall(answer):
        yield "\n".join(_source(part) for part in fenced)
        return
    bare = answer.strip("`\n ")
    yield _source(bare)
    for start in list(_LIST_START.finditer(bare))[:_MAX_STARTS]:
        if start.start() > 0:
            yield _source(bare[start.start() :])
    sentence, _, paragraph = bare.rpartition("\n\n")
    if sentence:
        yield paragraph.strip()


def _source(part: str) -> str:
    """Returns calls that are written as JSON as Python source; other text unchanged."""
    stripped = part.strip()
    if fenced := FENCED.fullmatch(stripped):
        stripped = fenced[1].strip()
    calls = json_calls(stripped) if stripped.startswith(("{", "[")) else None
    return _python(calls) if calls else stripped


def _python(calls: list[JsonCall]) -> str:
    written = (
        f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"
        for call in calls
    )
    return f"[{', '.join(written)}]"
