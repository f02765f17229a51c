"""Names in a request: things by name or last word, relations by words of the environment."""

import re
from collections.abc import Collection, Mapping
from itertools import pairwise

from coevolve_environments.world_state import AGENT, AT, IN, Fact

_NUMBER = re.compile(r" \d+\Z")
_NEAR = 4
"""Words between a verb for going and a place: "go back to the"."""
_WORD = re.compile(r"[a-z0-9]+")


def kind_of(name: str) -> str:
    return _NUMBER.sub("", name)


class Request:
    """The things and relations that a request names. Each environment states the words for its relations."""

    def __init__(self, text: str, words: Mapping[str, Collection[str]]) -> None:
        self._text = f" {' '.join(_words_of(text))} "
        self._words = words
        pairs = self._text.split()
        self._joined = {before + after for before, after in pairwise(pairs)}  # "side table" for sidetable

    def names(self, thing: str) -> bool:
        """Returns whether the request has a thing's name or its last word; of the agent, a word for it."""
        if thing == AGENT:
            return self.has_word(AGENT)
        words = _words_of(kind_of(thing))
        last = {words[-1], words[-1].removesuffix("basin")} if words else set()  # ALFWorld's sinkbasin
        return any(f" {name} " in self._text for name in (*last, " ".join(words))) or (
            len(words) == 1 and words[0] in self._joined
        )

    def numbers(self, thing: str) -> bool:
        """Returns whether the request has a thing's name with its number."""
        return f" {' '.join(_words_of(thing))} " in self._text

    def has_word(self, relation: str) -> bool:
        return any(f" {singular(word)} " in self._text for word in self._words.get(relation, ()))

    def is_about(self, fact: Fact) -> bool:
        subject, relation, value = fact
        if relation not in self._words:  # of an environment that names none of its relations
            return True
        if relation in (IN, AT):
            return (subject != AGENT and self.names(subject)) or self.names(value)
        return self.names(subject) or self.has_word(relation)

    def demands(self, fact: Fact) -> bool:
        """Returns whether the request has a verb for the relation, and names all that takes part in it."""
        subject, relation, value = fact
        if relation == AT:
            return self._sends_to(value)
        if relation == IN and value == AGENT:
            return self.names(subject) and self.has_word(AGENT)
        return self.has_word(relation) and self.names(subject) and (relation != IN or self.names(value))

    def demands_end(self, fact: Fact) -> bool:
        """Returns whether the request demands this very value, such as a closed door, also at the start."""
        subject, relation, value = fact
        if relation in (AT, IN):
            return value != AGENT and self.demands(fact)
        return self.has_word(f"{relation} {value}") and self.names(subject)

    def _sends_to(self, place: str) -> bool:
        """Returns whether the request has the place soon after a verb for going."""
        words, verbs = self._text.split(), self._words.get(AT, ())
        near = (words[n + 1 : n + 1 + _NEAR] for n, word in enumerate(words) if word in verbs)
        return any(Request(" ".join(follow), {}).names(place) for follow in near)


def _words_of(text: str) -> list[str]:
    return [singular(word) for word in _WORD.findall(text.casefold())]


def singular(word: str) -> str:
    """Returns the word without the `s` of a plural or a verb."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
