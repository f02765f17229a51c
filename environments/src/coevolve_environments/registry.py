"""Which environments exist, and what each is built from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coevolve_environments.bfcl import Bfcl
from coevolve_environments.intercode_sql import InterCodeSql
from coevolve_environments.protocol import Environment


@dataclass(frozen=True)
class Sources:
    """Data that the operator points at; everything else comes from installed packages."""

    intercode_questions: Path | None = None
    """A file of questions in the form of InterCode's ic_spider_dev.json; the wheel's 23 when None."""


FACTORIES: Mapping[str, Callable[[Sources], Environment]] = {
    "bfcl": lambda sources: Bfcl(),
    "intercode-sql": lambda sources: InterCodeSql(sources.intercode_questions),
}


def build_environments(names: list[str], sources: Sources) -> dict[str, Environment]:
    """Loads the named environments, in order.

    Raises:
        KeyError: a name that is not in `FACTORIES`.
        FileNotFoundError: the package that holds an environment's data is not installed.
    """
    return {name: FACTORIES[name](sources) for name in names}
