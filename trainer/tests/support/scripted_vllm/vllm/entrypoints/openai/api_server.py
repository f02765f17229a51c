"""A scripted replacement for vLLM that records its command line and requests.

Tests of the backend use it, because the real vLLM takes a minute to start; `npm run test:vllm` verifies the
behavior of the real one. The file at COEVOLVE_SCRIPT gets one line of JSON per start and per request. The
response to a request with the stop string `slow` is delayed until a file `release` appears beside it.

Sleep, wake and weights behave as in vLLM 0.32: a process that sleeps at level 2 needs its weights again. With
`--without-sleep` it has none of these routes, as an older one or one without development mode. With
`--stale-weights` it answers differently after it has loaded weights, as one that keeps a part of the old
ones.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCRIPT = Path(os.environ["COEVOLVE_SCRIPT"])
ARGUMENTS = sys.argv[1:]


def record(**entry: Any) -> None:
    with SCRIPT.open("a") as file:
        file.write(json.dumps(entry) + "\n")


CONTROL_ROUTES = ("/sleep", "/wake_up", "/pause", "/resume", "/collective_rpc")
state = {"asleep": False, "weights": ARGUMENTS[ARGUMENTS.index("--model") + 1], "logprob": -0.5}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        record(path=self.path, body=body)
        if self.headers["authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            self._send(401, {"error": {"message": "Unauthorized"}})
        elif self.path == "/v1/load_lora_adapter" and "--enable-lora" not in ARGUMENTS:
            self._send(400, {"error": {"message": "LoRA is not enabled"}})
        elif self.path == "/v1/completions":
            self._complete(body)
        elif self.path.partition("?")[0] in CONTROL_ROUTES:
            self._control(body)
        else:
            self._send(200, {})

    def _control(self, body: dict[str, Any]) -> None:
        path, _, query = self.path.partition("?")
        if "--without-sleep" in ARGUMENTS:
            self._send(404, {"error": {"message": "Not Found"}})
            return
        if path == "/sleep":
            state["asleep"] = True
            state["weights"] = None if "level=2" in query else state["weights"]
        elif path == "/wake_up":
            state["asleep"] = state["asleep"] and query == "tags=weights"  # until the rest is awake too
        elif path == "/collective_rpc":
            state["weights"] = body["kwargs"]["weights_path"]
            state["logprob"] = -2.0 if "--stale-weights" in ARGUMENTS else -0.5
        self._send(200, {})

    def _complete(self, body: dict[str, Any]) -> None:
        if state["asleep"] or state["weights"] is None:
            self._send(500, {"error": {"message": f"asleep: {state}"}})
            return
        while "slow" in body.get("stop", ()) and not SCRIPT.with_name("release").exists():
            time.sleep(0.01)
        if "invalid" in body.get("stop", ()):
            self._send(400, {"error": {"message": "the request is invalid"}})
            return
        choice = {
            "token_ids": [5],
            "logprobs": {"token_logprobs": [state["logprob"]]},
            "finish_reason": "length",
        }
        self._send(200, {"choices": [choice]})

    def _send(self, status: int, body: object) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    record(start=ARGUMENTS, devices=os.environ.get("CUDA_VISIBLE_DEVICES"))
    if "--fail" in ARGUMENTS:
        sys.exit(3)
    port = int(ARGUMENTS[ARGUMENTS.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
