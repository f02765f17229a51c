"""`python -m coevolve_statistics [command] < input.json > output.json`. Equal inputs give equal bytes.

Commands: none (an analysis), `power`, `combine`, `pool`.
"""

import json
import math
import sys

from .analysis import analyze
from .checked import InputProblem
from .combine import combine
from .plan import plan_power
from .pool import pool

COMMANDS = {(): analyze, ("power",): plan_power, ("combine",): combine, ("pool",): pool}


def main() -> int:
    command = COMMANDS.get(tuple(sys.argv[1:]))
    if command is None:
        return _fail(f"arguments: found {' '.join(sys.argv[1:])}, expected none, power, combine or pool")
    try:
        value = json.loads(sys.stdin.buffer.read())  # UTF-8 in every locale
    except ValueError as error:
        return _fail(f"input: found no JSON ({error}), expected an object")
    try:
        output = command(value)
    except InputProblem as problem:
        return _fail(str(problem))
    text = json.dumps(_finite(output), sort_keys=True, allow_nan=False, ensure_ascii=False)
    sys.stdout.buffer.write(f"{text}\n".encode())
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"coevolve_statistics: {' '.join(message.split())}\n")
    return 2


def _finite(value: object) -> object:
    """Replaces numbers that JSON lacks by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    sys.exit(main())
