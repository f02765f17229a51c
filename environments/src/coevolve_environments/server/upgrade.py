"""uvicorn's HTTP protocol, handing a WebSocket over with the handshake that it has read."""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha1
from typing import Any
from urllib.parse import unquote

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from coevolve_environments.server.frame_socket import FrameSocket

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_KEY_BYTES = 16


class Upgrading(HttpToolsProtocol):
    def handle_websocket_upgrade(self) -> None:
        self.connections.discard(self)
        # Else the two would refer to each other until a garbage collection.
        self.parser = None  # type: ignore[assignment]
        given = dict(self.headers)
        if self.scope["method"] != "GET" or not _is_key(key := given.get(b"sec-websocket-key", b"")):
            self._refuse(b"400 Bad Request")
        elif given.get(b"sec-websocket-version") != b"13":
            self._refuse(b"426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13")
        else:
            answer = b64encode(sha1(key + _GUID).digest())
            headers = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + answer
            accepted = b"HTTP/1.1 101 Switching Protocols\r\n" + headers + b"\r\n\r\n"
            self.transport.set_protocol(
                FrameSocket(self.config, self.server_state, self.transport, self._scope(), accepted)
            )

    def _scope(self) -> dict[str, Any]:
        path, _, query = self.url.partition(b"?")
        return {
            **self.scope,
            "type": "websocket",
            "scheme": "wss" if self.scheme == "https" else "ws",
            "path": self.root_path + unquote(path.decode("latin-1")),
            "raw_path": self.root_path.encode("ascii") + path,
            "query_string": query,
            "subprotocols": [],
            "extensions": {},
        }

    def _refuse(self, status: bytes) -> None:
        self.transport.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.transport.close()


def _is_key(key: bytes) -> bool:
    try:
        return len(b64decode(key, validate=True)) == _KEY_BYTES
    except binascii.Error:
        return False
