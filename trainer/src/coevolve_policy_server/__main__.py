"""The command line of the policy server."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app import Backend


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_policy_server", description="Serves policies over HTTP.")
    add_address(parser)
    for name, default, meaning in (
        ("--slots", 32, "most requests of one policy in flight"),
        ("--max-context", 4096, "most tokens of prompt and answer"),
        ("--max-waiting", 256, "requests queued per policy before 429"),
        ("--threads", 1, "torch threads"),
    ):
        parser.add_argument(name, type=positive_integer, default=default, help=f"{meaning} ({default})")
    arguments = parser.parse_args()
    token = read_token(parser, arguments)

    # Read by torch and tokenizers when they are imported, so set before that
    os.environ |= {"OMP_NUM_THREADS": str(arguments.threads), "TOKENIZERS_PARALLELISM": "false"}
    gc.set_threshold(50_000)  # what is imported stays, and is not worth a look for garbage
    from .engine import Engine

    engine = Engine(
        slots=arguments.slots, max_context=arguments.max_context, max_waiting=arguments.max_waiting
    )
    serve(engine, arguments, token)
    return 0


def add_address(parser: argparse.ArgumentParser) -> None:
    """Where a policy server listens, and the token that it wants."""
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token-file", type=Path, help="file with the token that clients must send")


def read_token(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> str | None:
    """The token in the file that was given; ends the program when a server without one would be reachable."""
    token = arguments.token_file.read_text().strip() if arguments.token_file else None
    if not token and not _is_loopback(arguments.host):
        parser.error(f"--host {arguments.host} is not loopback: give --token-file")
    return token or None


def serve(backend: Backend, arguments: argparse.Namespace, token: str | None) -> None:
    """Answers at the address of `add_address` until the process is told to end."""
    import uvicorn

    from .app import create_app

    uvicorn.run(
        create_app(backend, token=token),
        host=arguments.host,
        port=arguments.port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=75,  # longer than any client's, so that no request meets a closing connection
        timeout_graceful_shutdown=2,
    )


def positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected an integer of at least 1")
    return int(text)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())
