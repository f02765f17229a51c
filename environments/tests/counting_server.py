"""A server with the tests' own environment under the name `counting`."""

from pathlib import Path
from typing import Any

import psutil
import yaml

from conftest import TESTS, Client, Serve, start_server

PLUGIN = TESTS / "counting_environment.py"
TASK: dict[str, Any] = {"task": {}}
"""Data of a reset."""


def serve_counting(serve: Serve, folder: Path, *arguments: str, **section: object) -> Client:
    """
    Args:
        section: settings in addition to `plugin`.
    """
    return serve(*_options(folder, "counting,bfcl", section), *arguments)


def start_counting(folder: Path, **section: object) -> Client:
    """Starts it with two built-in environments; the caller stops it."""
    return start_server(folder, *_options(folder, "counting,bfcl,intercode-sql", section))


def _options(folder: Path, environments: str, section: dict[str, object]) -> list[str]:
    file = folder / "settings.yaml"
    file.write_text(yaml.safe_dump({"hosted": {"counting": {"plugin": str(PLUGIN), **section}}}))
    state = str(folder / "state")
    return ["--environments", environments, "--settings", str(file), "--state", state]


def sessions_of(client: Client) -> int:
    return int(client.http.get("/health").json()["environments"]["counting"]["sessions"])


def metric(client: Client, name: str, **labels: str) -> float:
    """Returns one value of /metrics; 0 if it is missing."""
    text = ",".join(f'{label}="{value}"' for label, value in labels.items())
    key = f"coevolve_environment_{name}" + (f"{{{text}}}" if text else "")
    lines = client.http.get("/metrics").text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{key} ")), 0.0)


def children_of(client: Client) -> list[psutil.Process]:
    """Returns the child processes without the reaper, which runs as long as the server."""
    found = psutil.Process(client.process.pid).children(recursive=True)
    return [child for child in found if not any("reaper" in word for word in child.cmdline())]
