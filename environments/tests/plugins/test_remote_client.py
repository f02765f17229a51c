"""Responses of a server of the operator that no session can use."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coevolve_environments.plugins.remote.client import (
    MAX_RESPONSE_BYTES,
    Address,
    BadRemoteResponse,
    RemoteClient,
    RemoteRefused,
)

CHUNK = b" " * 2**16


class Handler(BaseHTTPRequestHandler):
    sent = 0

    def do_POST(self) -> None:
        endless = self.path.endswith("endless")
        self.send_response(500 if "500" in self.path else 200)
        self.end_headers()
        if not endless:
            self.wfile.write(b"[" * 100_000 if "deep" in self.path else b'{"detail": "\xff"}')
            return
        Handler.sent = 0
        try:
            while True:
                Handler.sent += self.wfile.write(CHUNK)
        except OSError:  # the client has closed the connection
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def client() -> Iterator[RemoteClient]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = RemoteClient(Address(f"http://127.0.0.1:{server.server_port}", 10))
    yield client
    client.close()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/endless", "/500/endless"])
def test_an_endless_response_ends_with_an_error(client: RemoteClient, path: str) -> None:
    with pytest.raises(BadRemoteResponse, match="more than 16 MiB"):
        client.post(path)
    assert Handler.sent < MAX_RESPONSE_BYTES + (12 << 20)  # and the buffers of the sockets


@pytest.mark.parametrize("path", ["/deep", "/text"])
def test_a_response_that_is_too_deep_or_no_utf8_ends_with_an_error(client: RemoteClient, path: str) -> None:
    with pytest.raises(BadRemoteResponse, match="expected JSON"):
        client.post(path)


def test_an_error_response_that_cannot_be_read_is_a_refusal(client: RemoteClient) -> None:
    with pytest.raises(RemoteRefused, match="returned 500"):
        client.post("/500/deep")
