"""JSON over HTTP to a server that the operator runs.

No request is retried here, because a step changes the remote state. Errors of that server are faults of the
environment and never rewards; the player of the attempt decides about retries.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from coevolve_environments.json_text import parse_json
from coevolve_environments.protocol import Json, Unavailable
from coevolve_environments.settings import Settings

if TYPE_CHECKING:
    import httpx  # imported at the first request: it takes 0.3 s, and most servers mount no adapter

CONNECT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 16 << 20
RELEASE_SECONDS = 10.0
"""Timeout of the release of a remote resource in the background."""


class RemoteFault(Exception):
    """The server behind the environment failed."""


class RemoteUnreachable(RemoteFault):
    """No response: connection refused, lost, or timed out."""


class RemoteRefused(RemoteFault):
    """An HTTP status other than 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class BadRemoteResponse(RemoteFault):
    """A response that violates the protocol."""


@dataclass(frozen=True)
class Address:
    """URL, timeout and headers of a server."""

    url: str
    timeout_seconds: int
    headers: Mapping[str, str] = field(default_factory=dict)


def read_address(settings: Settings, example: str) -> Address:
    """Reads `url`, `headers_file` (YAML or JSON object of headers) and `timeout_seconds` (60).

    Raises:
        Unavailable: the section has no `url`.
        ValueError: a setting is invalid.
    """
    url = settings.text("url")
    file = settings.path("headers_file")
    seconds = settings.integer("timeout_seconds", 60)
    if url is None:
        raise Unavailable(f"it needs a server: set hosted.{settings.name}.url, for example {example}")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise settings.invalid("url", f"a URL such as {example}", url)
    return Address(url.rstrip("/"), seconds, {} if file is None else _read_headers(settings, file))


def _read_headers(settings: Settings, file: Path) -> dict[str, str]:
    """Reads the headers. Errors name the file but not its content, which is secret."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf8"))
    except (OSError, ValueError, yaml.YAMLError):
        content = None
    if not isinstance(content, dict) or not all(isinstance(v, str) for pair in content.items() for v in pair):
        raise settings.invalid("headers_file", "a readable file that maps header names to strings", str(file))
    return content


class RemoteClient:
    """Thread-safe client of one server."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None

    def post(self, path: str, body: Json | None = None, seconds: float | None = None) -> Any:
        """Returns the JSON of the response.

        Args:
            seconds: timeout; None means the address's timeout.

        Raises:
            RemoteFault: no response, a status other than 200, or no JSON.
        """
        import httpx

        timeout = httpx.Timeout(seconds or self._address.timeout_seconds, connect=CONNECT_SECONDS)
        url = self._address.url + path
        try:
            with self._client().stream("POST", url, json=body, timeout=timeout) as response:
                content = _read(response, url)
        except httpx.HTTPError as error:
            raise RemoteUnreachable(f"{url}: {type(error).__name__}: {error}") from error
        if response.status_code != 200:
            message = f"{url} returned {response.status_code}: {_last_line(content)}"
            raise RemoteRefused(message, response.status_code)
        try:
            return parse_json(content)
        except ValueError as error:
            found = content[:80].decode(errors="replace")
            raise BadRemoteResponse(f"{url} returned {found!r}; expected JSON: {error}") from None

    def close(self) -> None:
        with self._lock:
            client, self._http = self._http, None
        if client is not None:
            client.close()

    def _client(self) -> "httpx.Client":
        import httpx

        with self._lock:
            if self._http is None:
                # Ignores proxies and passwords from environment variables.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
                self._http = httpx.Client(headers=self._address.headers, limits=limits, trust_env=False)
            return self._http


def _read(response: "httpx.Response", url: str) -> bytes:
    """
    Raises:
        BadRemoteResponse: the body is larger than any observation, or endless.
    """
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > MAX_RESPONSE_BYTES:
            raise BadRemoteResponse(f"{url} returned more than {MAX_RESPONSE_BYTES >> 20} MiB")
    return bytes(content)


def _last_line(content: bytes) -> str:
    """Returns the last line of `detail`, where both protocols put a text or a traceback."""
    try:
        detail = parse_json(content)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = content.decode(errors="replace")
    lines = str(detail).strip().splitlines()
    return lines[-1][:300] if lines else "no detail"
