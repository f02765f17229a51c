"""The command line of the policy server."""

from __future__ import annotations

import argparse
import os
import sys
from ipaddress import ip_address
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_policy_server", description="Serves policies over HTTP.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token-file", type=Path, help="file with the token that clients must send")
    parser.add_argument("--slots", type=int, default=32, help="most requests of one policy in flight (32)")
    parser.add_argument(
        "--max-context",
        type=int,
        default=4096,
        help="most tokens of prompt and answer (4096)",
    )
    parser.add_argument(
        "--max-waiting", type=int, default=256, help="requests queued per policy before 429 (256)"
    )
    parser.add_argument("--threads", type=int, default=1, help="torch threads (1)")
    arguments = parser.parse_args()
    for name in ("slots", "max_context", "max_waiting", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')}: found {getattr(arguments, name)}, expected at least 1")

    token = arguments.token_file.read_text().strip() if arguments.token_file else None
    if not token and not _is_loopback(arguments.host):
        parser.error(f"--host {arguments.host} is not loopback: give --token-file")

    # Read by torch and tokenizers when they are imported, so set before that
    os.environ |= {"OMP_NUM_THREADS": str(arguments.threads), "TOKENIZERS_PARALLELISM": "false"}
    import uvicorn

    from .app import create_app
    from .engine import Engine

    engine = Engine(
        slots=arguments.slots, max_context=arguments.max_context, max_waiting=arguments.max_waiting
    )
    uvicorn.run(
        create_app(engine, token=token or None),
        host=arguments.host,
        port=arguments.port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=75,  # longer than any client's, so that no request meets a closing connection
        timeout_graceful_shutdown=2,
    )
    return 0


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
