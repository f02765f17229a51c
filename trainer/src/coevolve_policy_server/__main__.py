"""Command line of the policy server."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .app import Backend, Handler


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_policy_server", description="Serves policies over HTTP.")
    add_server_options(parser)
    for name, default, meaning in (
        ("--slots", 32, "max concurrent requests per policy"),
        ("--max-waiting", 256, "max queued requests per policy before 429"),
        ("--threads", 1, "torch threads"),
    ):
        parser.add_argument(name, type=positive_integer, default=default, help=f"{meaning} ({default})")
    context = "max tokens of prompt plus completion (4096, or all positions of a small policy)"
    parser.add_argument("--max-context", type=positive_integer, help=context)
    arguments = parser.parse_args()
    token = read_token(parser, arguments)

    # torch and tokenizers read these when they are imported
    os.environ |= {"OMP_NUM_THREADS": str(arguments.threads), "TOKENIZERS_PARALLELISM": "false"}
    gc.set_threshold(50_000)  # imported objects are never freed: collecting them is useless
    from .engine import Engine

    engine = Engine(
        slots=arguments.slots, max_context=arguments.max_context, max_waiting=arguments.max_waiting
    )
    serve(engine, arguments, token)
    return 0


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for address and token."""
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token-file", type=Path, help="file with the clients' bearer token")


def read_token(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> str | None:
    """Returns the token in the file; exits if the host is not loopback and there is no token."""
    token = arguments.token_file.read_text().strip() if arguments.token_file else None
    if not token and not _is_loopback(arguments.host):
        parser.error(f"--host {arguments.host} is not loopback: add --token-file")
    return token or None


def serve(
    backend: Backend,
    arguments: argparse.Namespace,
    token: str | None,
    more: Mapping[str, Handler] | None = None,
) -> None:
    """Serves requests until the process is terminated."""
    import uvicorn

    from .app import create_app

    uvicorn.run(
        create_app(backend, token=token, more=more),
        host=arguments.host,
        port=arguments.port,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=75,  # longer than any client's, so that no request reaches a closing connection
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
