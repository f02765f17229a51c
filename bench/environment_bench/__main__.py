"""`npm run bench:environments`: latencies, rates and memory of environments, and a comparison on BFCL."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .compare import compare
from .measure import measure
from .report import format_comparison, table
from .servers import our_server


def main() -> None:
    options = _options()
    server_options = [
        argument
        for name in ("settings", "state")
        if (value := getattr(options, name))
        for argument in (f"--{name}", value)
    ]
    rows = [_row(name, server_options, options.seconds) for name in _environments(options, server_options)]
    comparison = compare(options.rounds, options.tasks, options.attempts) if options.rounds else None
    if options.json:
        print(json.dumps([*rows, *([{"comparison": comparison}] if comparison else [])], indent=2))
    else:
        print(
            "\n\n".join(
                [*([table(rows)] if rows else []), *([format_comparison(comparison)] if comparison else [])]
            )
        )


def _environments(options: argparse.Namespace, server_options: list[str]) -> list[str]:
    if options.environments is not None:
        return [name for name in options.environments.split(",") if name]
    with our_server(None, server_options, 1) as server:
        health = server.get("/health")
    for name, reason in health["unavailable"].items():
        print(f"bench: {name} is omitted: {reason}", file=sys.stderr)
    return list(health["environments"])


def _row(name: str, server_options: list[str], seconds: float) -> dict[str, Any]:
    print(f"bench: {name} ...", file=sys.stderr)
    try:
        return measure(name, server_options, seconds)
    except (RuntimeError, OSError, LookupError) as error:  # the other environments are still measured
        return {"environment": name, "error": f"{type(error).__name__}: {error}"}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="npm run bench:environments --", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON: environments, then the comparison")
    parser.add_argument("--environments", help="comma-separated names (default: all available ones)")
    parser.add_argument("--settings", help="settings file of the environments (YAML)")
    parser.add_argument("--state", help="folder for files of the environments (default: temporary)")
    parser.add_argument("--seconds", type=float, default=10, help="seconds per load of an environment (10)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the comparison, 0 for none (3)")
    parser.add_argument("--tasks", type=int, default=400, help="BFCL tasks per round (400)")
    parser.add_argument("--attempts", type=int, default=2, help="attempts per task (2)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
