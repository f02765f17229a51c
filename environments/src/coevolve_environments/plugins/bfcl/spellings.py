"""Finds the calls in a natural answer: behind a sentence, in a code fence, in a tag, as JSON."""

import re
from collections.abc import Iterator

from coevolve_environments.plugins.react import action_of
from coevolve_environments.plugins.spellings import FENCED, PREFIX, TAGGED, json_values, read_call
from coevolve_environments.plugins.thinking import after_thinking

_LIST_START = re.compile(r"(?:(?<=\s)|(?<=:)|^)[\[{]", re.MULTILINE)
_MAX_STARTS = 20


def candidates(text: str) -> Iterator[str]:
    """Yields Python sources that may be the calls of an answer, the likeliest first.

    Each is the source of a list, of its elements, or of one call per line. A part of an answer that ends with
    calls counts only at the end of the text, because a sentence about a call is no call.
    """
    answer = action_of(after_thinking(text))
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


def _source(part: str) -> str:
    """Returns calls that are written as JSON as Python source; other text unchanged."""
    stripped = part.strip()
    if not stripped.startswith(("{", "[{")):
        return stripped
    calls = [
        call for value in json_values(stripped) for call in (value if isinstance(value, list) else [value])
    ]
    sources = [_python_call(call) for call in calls]
    return f"[{', '.join(source for source in sources if source)}]" if all(sources) and sources else stripped


def _python_call(call: object) -> str | None:
    """Returns the Python source of a call that is written as JSON, or None for another value."""
    read = read_call(call)
    if read is None:
        return None
    return f"{read.name}({', '.join(f'{key}={value!r}' for key, value in read.arguments.items())})"
