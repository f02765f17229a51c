"""Runs `openenv validate --url URL --json` for several URLs in one process: the command takes 5 s to load.

Runs in .venv-openenv. Prints exit code and report of the command per URL as one JSON list.
"""

import contextlib
import io
import json
import sys
from typing import Any

from openenv.cli.__main__ import app


def validate(url: str) -> dict[str, Any]:
    code: Any = 0
    with contextlib.redirect_stdout(io.StringIO()) as written:
        try:
            app(["validate", "--url", url, "--json"])
        except SystemExit as exit:
            code = exit.code or 0
    return {"exit_code": code, "report": json.loads(written.getvalue())}


if __name__ == "__main__":
    print(json.dumps([validate(url) for url in sys.argv[1:]]))
