"""Serves the optional model on loopback by the OpenAI protocol until its end (`npm run real-model`)."""

import argparse
import os
import signal
import sys
from pathlib import Path

# With four busy slots, threads that spin between two layers take a third of the speed on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "2000")

FOLDER = Path(__file__).resolve().parents[2] / ".venv-real-model"
MODEL = FOLDER / "model.gguf"
NAME = "qwen2.5-coder-1.5b"


def main() -> None:
    arguments = _arguments()
    if not MODEL.exists():
        sys.exit(f"found no {MODEL}; run `npm run setup -- --with real-model`")
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(MODEL)
    parameters.model_alias = {NAME}
    parameters.port = arguments.port
    parameters.n_parallel = arguments.slots
    parameters.n_ctx = arguments.context * arguments.slots  # the context is divided among the slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = arguments.threads
    server = xllamacpp.Server(parameters)
    url = f"{server.listening_address}/v1"
    print(f"model {NAME} at {url}; the file of COEVOLVE_LLM_PROVIDERS:", flush=True)
    print(f"local: {{ url: {url}, concurrency: {arguments.slots} }}", flush=True)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: os._exit(0))
    signal.pause()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serves the optional model on loopback.")
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--slots", type=int, default=4, help="concurrent calls")
    parser.add_argument("--context", type=int, default=8192, help="tokens of prompt and answer of one call")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


if __name__ == "__main__":
    main()
