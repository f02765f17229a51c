"""A server that hosts the tests' own environment under the name `counting`."""

import time
from collections.abc import Callable
from pathlib import Path

import yaml

from conftest import Client, Serve, start_server

PLUGIN = Path(__file__).parent / "counting_environment.py"


def serve_counting(serve: Serve, folder: Path, *arguments: str, **section: object) -> Client:
    """
    Args:
        section: of the settings file, beside `plugin`.
    """
    return serve(*_options(folder, "counting,bfcl", section), *arguments)


def start_counting(folder: Path, **section: object) -> Client:
    """The same beside the two built-in environments, for whoever stops it himself."""
    return start_server(folder, *_options(folder, "counting,bfcl,intercode-sql", section))


def _options(folder: Path, environments: str, section: dict[str, object]) -> list[str]:
    file = folder / "settings.yaml"
    file.write_text(yaml.safe_dump({"hosted": {"counting": {"plugin": str(PLUGIN), **section}}}))
    state = str(folder / "state")
    return ["--environments", environments, "--settings", str(file), "--state", state]


def sessions_of(client: Client) -> int:
    return int(client.http.get("/health").json()["environments"]["counting"]["sessions"])


def metric(client: Client, name: str, **labels: str) -> float:
    """One value of /metrics; 0 where there is none yet."""
    shown = ",".join(f'{label}="{value}"' for label, value in labels.items())
    key = f"coevolve_environment_{name}" + (f"{{{shown}}}" if shown else "")
    lines = client.http.get("/metrics").text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{key} ")), 0.0)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
