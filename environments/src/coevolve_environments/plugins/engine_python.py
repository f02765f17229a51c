"""Interpreters of engines whose packages conflict with the server's: each has a virtual environment."""

import sys
from pathlib import Path

from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings


def engine_python(settings: Settings, engine: str, package: str) -> Path:
    """Returns the setting `python`, or the interpreter of `.venv-<engine>` next to the server's environment.

    Args:
        package: file or folder below site-packages that proves the installation.

    Raises:
        Unavailable: the engine is not installed; the message contains the installation command.
    """
    python = settings.program("python") or Path(sys.prefix).with_name(f".venv-{engine}") / "bin" / "python"
    found = python.parent.parent.glob(f"lib/python3*/site-packages/{package}")
    if python.exists() and next(found, None) is not None:
        return python
    raise Unavailable(
        f"its engine is not installed in {python.parent.parent}: run `coevolve env install {engine}`, "
        f"or set hosted.{settings.name}.python to the interpreter of an environment with the engine"
    )
