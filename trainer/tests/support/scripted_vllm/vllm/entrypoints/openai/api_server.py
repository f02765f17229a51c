"""Stands where vLLM is started: says what it was started with, and answers when it is told to.

For what the front does around vLLM, which the real one, a minute a start, would show too slowly. That vLLM
itself behaves so is asked by `npm run test:vllm`. The file at COEVOLVE_SCRIPT gets a line of JSON per start
and per request. A request with the stop text `slow` is answered once a file `release` lies beside it.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCRIPT = Path(os.environ["COEVOLVE_SCRIPT"])
WORDS = sys.argv[1:]


def note(**fact: Any) -> None:
    with SCRIPT.open("a") as file:
        file.write(json.dumps(fact) + "\n")


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        note(path=self.path, body=body)
        if self.headers["authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            self._send(401, {"error": {"message": "Unauthorized"}})
        elif self.path == "/v1/load_lora_adapter" and "--enable-lora" not in WORDS:
            self._send(400, {"error": {"message": "LoRA is not enabled"}})
        elif self.path == "/v1/completions":
            self._complete(body)
        else:
            self._send(200, {})

    def _complete(self, body: dict[str, Any]) -> None:
        while "slow" in body["stop"] and not SCRIPT.with_name("release").exists():
            time.sleep(0.01)
        if "refuse" in body["stop"]:
            self._send(400, {"error": {"message": "this cannot be asked"}})
            return
        choice = {"token_ids": [5], "logprobs": {"token_logprobs": [-0.5]}, "finish_reason": "length"}
        self._send(200, {"choices": [choice]})

    def _send(self, status: int, body: object) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    note(start=WORDS)
    if "--fail" in WORDS:
        sys.exit(3)
    ThreadingHTTPServer(("127.0.0.1", int(WORDS[WORDS.index("--port") + 1])), Answers).serve_forever()
