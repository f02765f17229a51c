"""The clause patterns of the question generator, from easy (1) to hard (7).

Seed and held-out tasks have a difficulty up to 5 by default; harder tasks are synthesized from the others.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql.link_forms import LINK_FORMS
from coevolve_environments.plugins.intercode_sql.pattern_form import Form, PatternQuery
from coevolve_environments.plugins.intercode_sql.profile import Profile
from coevolve_environments.plugins.intercode_sql.table_forms import TABLE_FORMS


class Pattern(NamedTuple):
    difficulty: int
    forms: tuple[Form, ...]
    of_links: bool

    def write(self, profile: Profile) -> Iterator[PatternQuery]:
        """Writes every form for every table, or for every link of two tables."""
        links = ({"link": link, "a": link.child, "b": link.parent} for link in profile.links)
        tables = ({"e": entity} for entity in profile.entities)
        for parts in links if self.of_links else tables:
            for form in self.forms:
                yield from form.queries(parts)


def _patterns() -> dict[str, Pattern]:
    forms = sorted((*TABLE_FORMS, *LINK_FORMS), key=lambda form: form.difficulty)
    grouped = ((name, tuple(same)) for name, same in groupby(forms, key=lambda form: form.pattern))
    return {name: Pattern(same[0].difficulty, same, same[0] in LINK_FORMS) for name, same in grouped}


PATTERNS = _patterns()
