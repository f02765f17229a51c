"""Answers of composed tasks: whether a request asks for one, and whether two are the same."""

import re
from collections import Counter

from coevolve_environments.server.request_words import singular

MAX_WORDS = 20
"""Of an answer that can be compared; a longer one says the same in too many ways."""

_CLAUSE = r"(?:\A|[.;:!,]\s+|\n\s*|\b(?:and|then|please|to)\s+)"
_VERBS = (
    "tell|report|answer|respond|reply|state|name|say|list|inform|find out|figure out|determine|identify|"
    "count|calculate|compute|work out|measure|check (?:if|whether|how|what|which)|give the|give me the|"
    "what|how|who|where|when|which|is there|are there"
)
_ASKS = re.compile(
    r"\?|\b(?:tell (?:me|us)|let me know|how (?:many|much)|(?:want|need|like) to know)\b|"
    rf"{_CLAUSE}(?:{_VERBS})\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”")
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
_TOKEN = re.compile(r"-?\d[\d,]*(?:\.\d+)?|[^\W\d_]+", re.UNICODE)
_FILLER = re.compile(
    r"an?|the|is|are|was|were|its?|this|that|there|here|of|in|on|at|to|by|with|and|has|have|my|your|you|i|s|c|"
    r"answer|result|degrees?|deg|celsius|currently|now|exactly|total"
)
_DONE = re.compile(r"done|ok|okay|finished|completed?|success|successful|successfully|task|ready")


def asks(request: str) -> bool:
    """Returns whether a request asks for an answer. What stands in quotes, such as a title, asks nothing."""
    return _ASKS.search(_QUOTED.sub('""', request)) is not None


def says_nothing(answer: str) -> bool:
    """Returns whether an answer only says that the work is done."""
    words = [word for word in _words(answer) if not _DONE.fullmatch(word)]
    return not _words(answer) or (
        len(words) < len(_words(answer)) and all(_FILLER.fullmatch(word) for word in words)
    )


def is_comparable(answer: str) -> bool:
    """Returns whether the answer is short enough, and has content beside words that fill a sentence."""
    words = _words(answer)
    return len(words) <= MAX_WORDS and bool(_content(words))


def same_answer(expected: str, given: str, request: str) -> bool:
    """Returns whether two answers have the same content, in any case, order of words and spelling of numbers.

    The given one may repeat words of the request, unless the expected answer is a choice among them.
    """
    wanted, found = _content(_words(expected)), _content(_words(given))
    asked = set(map(singular, _words(request)))
    if any(word in asked for word in wanted):
        return wanted == found
    return wanted == Counter({word: n for word, n in found.items() if word in wanted or word not in asked})


def _words(text: str) -> list[str]:
    return [_normalized(token) for token in _TOKEN.findall(text.casefold())]


def _normalized(token: str) -> str:
    if token[-1].isdigit():
        return f"{float(token.replace(',', '')):.10g}"
    names = _NUMBERS.split()
    return str(names.index(token)) if token in names else token


def _content(words: list[str]) -> Counter[str]:
    content = Counter(singular(word) for word in words if not _FILLER.fullmatch(word))
    return content or Counter(words)
