"""Interpreters of engines whose packages clash with the server's: each has an environment of its own."""

import sys
from pathlib import Path

from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings


def engine_python(settings: Settings, engine: str, package: str) -> Path:
    """The setting `python`, else the interpreter of `.venv-<engine>` beside the server's own environment.

    Args:
        package: file or folder of the engine below its site-packages, to tell an empty environment.

    Raises:
        Unavailable: there is none, or the engine is not in it; names the command that installs it.
    """
    chosen = settings.path("python")
    python = chosen or Path(sys.prefix).with_name(f".venv-{engine}") / "bin" / "python"
    found = python.parent.parent.glob(f"lib/python3*/site-packages/{package}")
    if python.exists() and next(found, None) is not None:
        return python
    raise Unavailable(
        f"its engine is not installed in {python.parent.parent}: `coevolve env install {engine}`, "
        f"or hosted.{settings.name}.python names the interpreter of an environment that has it"
    )
