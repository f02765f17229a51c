"""JSON over HTTP to a server that the operator runs.

Nothing is sent twice: a step changes the world over there. What that server does wrong is a fault of the
environment and never a reward; whoever plays the attempt decides about another try.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from coevolve_environments.protocol import Json, Unavailable
from coevolve_environments.settings import Settings

if TYPE_CHECKING:
    import httpx  # imported at the first request: it takes 0.3 s, and most servers host no adapter

CONNECT_SECONDS = 10.0
RELEASE_SECONDS = 10.0
"""Bound of letting go of something over there, which nobody waits for."""


class RemoteFault(Exception):
    """The server behind the environment failed."""


class RemoteUnreachable(RemoteFault):
    """No answer: nothing listens, the connection broke, or it took too long."""


class RemoteRefused(RemoteFault):
    """An HTTP status other than 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class BadRemoteAnswer(RemoteFault):
    """An answer that its protocol does not allow."""


@dataclass(frozen=True)
class Address:
    """Where the server is and how it is spoken to."""

    url: str
    timeout_seconds: int
    headers: Mapping[str, str] = field(default_factory=dict)


def read_address(settings: Settings, example: str) -> Address:
    """Of `url`, `headers_file` (a YAML or JSON object of header and value) and `timeout_seconds` (60).

    Raises:
        Unavailable: the section names no server.
        ValueError: what it says cannot be used.
    """
    url = settings.text("url")
    file = settings.path("headers_file")
    seconds = settings.integer("timeout_seconds", 60)
    if url is None:
        raise Unavailable(f"no server is known: set hosted.{settings.name}.url, for instance to {example}")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise settings.invalid("url", f"an address such as {example}", url)
    return Address(url.rstrip("/"), seconds, {} if file is None else _read_headers(settings, file))


def _read_headers(settings: Settings, file: Path) -> dict[str, str]:
    """The file and not its content is told when it is wrong: it holds a secret."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf8"))
    except (OSError, ValueError, yaml.YAMLError):
        content = None
    if not isinstance(content, dict) or not all(isinstance(v, str) for pair in content.items() for v in pair):
        raise settings.invalid("headers_file", "a readable file that maps header names to texts", str(file))
    return content


class RemoteClient:
    """One client of the server, for any number of threads."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._opened: httpx.Client | None = None

    def post(self, path: str, body: Json | None = None, seconds: float | None = None) -> Any:
        """The JSON that the server answers.

        Args:
            seconds: for the answer; None: the address's timeout.

        Raises:
            RemoteFault: no answer, not status 200, or not JSON.
        """
        import httpx

        patience = httpx.Timeout(seconds or self._address.timeout_seconds, connect=CONNECT_SECONDS)
        try:
            response = self._client().post(self._address.url + path, json=body, timeout=patience)
        except httpx.HTTPError as error:
            raise RemoteUnreachable(f"{self._address.url}{path}: {type(error).__name__}: {error}") from error
        if response.status_code != 200:
            told = f"{self._address.url}{path} answers {response.status_code}: {_last_line(response)}"
            raise RemoteRefused(told, response.status_code)
        try:
            return response.json()
        except ValueError:
            raise BadRemoteAnswer(
                f"{self._address.url}{path} answers no JSON: {response.text[:80]!r}"
            ) from None

    def close(self) -> None:
        with self._lock:
            client, self._opened = self._opened, None
        if client is not None:
            client.close()

    def _client(self) -> "httpx.Client":
        import httpx

        with self._lock:
            if self._opened is None:
                # Only what the section says counts: no proxy and no password of the process's environment.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
                self._opened = httpx.Client(headers=self._address.headers, limits=limits, trust_env=False)
            return self._opened


def _last_line(response: "httpx.Response") -> str:
    """What went wrong: both protocols put a text or a traceback under `detail`."""
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        detail = response.text
    lines = str(detail).strip().splitlines()
    return lines[-1][:300] if lines else "nothing"
