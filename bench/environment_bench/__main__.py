"""`npm run bench:environments`: what environments cost on our server, and BFCL on the official one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .compare import compare
from .measure import measure
from .report import sentence, table
from .servers import our_server


def main() -> None:
    options = _options()
    server_options = [
        word
        for name in ("settings", "state")
        if (value := getattr(options, name))
        for word in (f"--{name}", value)
    ]
    rows = [_row(name, server_options, options.seconds) for name in _wanted(options, server_options)]
    comparison = compare(options.rounds, options.tasks, options.attempts) if options.rounds else None
    if options.json:
        print(json.dumps([*rows, *([{"comparison": comparison}] if comparison else [])], indent=2))
    else:
        print(
            "\n\n".join([*([table(rows)] if rows else []), *([sentence(comparison)] if comparison else [])])
        )


def _wanted(options: argparse.Namespace, server_options: list[str]) -> list[str]:
    if options.environments is not None:
        return [name for name in options.environments.split(",") if name]
    with our_server(None, server_options, 1) as server:
        health = server.get("/health")
    for name, lack in health["unavailable"].items():
        print(f"bench: {name} is left out: {lack}", file=sys.stderr)
    return list(health["environments"])


def _row(name: str, server_options: list[str], seconds: float) -> dict[str, Any]:
    print(f"bench: {name} ...", file=sys.stderr)
    try:
        return measure(name, server_options, seconds)
    except (RuntimeError, OSError, LookupError) as error:  # the others are measured all the same
        return {"environment": name, "error": f"{type(error).__name__}: {error}"}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="npm run bench:environments --", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object per environment, then the comparison")
    parser.add_argument("--environments", help="comma-separated; default: all that this machine can host")
    parser.add_argument("--settings", help="the environments' settings file (YAML)")
    parser.add_argument("--state", help="folder for what environments keep; default: one of the bench's own")
    parser.add_argument("--seconds", type=float, default=10, help="of each load on an environment")
    parser.add_argument("--rounds", type=int, default=3, help="turns of the comparison; 0 leaves it out")
    parser.add_argument("--tasks", type=int, default=400, help="different BFCL tasks of a turn")
    parser.add_argument("--attempts", type=int, default=2, help="at each of them")
    return parser.parse_args()


if __name__ == "__main__":
    main()
