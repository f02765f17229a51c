"""`openenv validate --url URL --json` for several addresses in one process, as the command takes 5 s to load.

Run by the Python of .venv-openenv; prints the command's exit code and report per address, as one JSON list.
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
