"""`python -m coevolve_exports parquet|inspect`: reads a request from stdin, writes files, prints their sizes.

`python -m coevolve_exports mirror <tracker> <folder>`: writes rows from stdin, prints their count.
The caller has checked everything that a user may mistake; other errors end with a traceback.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    command = sys.argv[1]
    written: Any
    if command == "parquet":
        from coevolve_exports.parquet import write_files

        written = write_files(json.load(sys.stdin))
    elif command == "inspect":
        from coevolve_exports.inspect_logs import write_logs

        written = write_logs(sys.stdin)
    elif command == "mirror":
        from coevolve_exports.trackers.mirror import mirror

        written = mirror(sys.argv[2], Path(sys.argv[3]), sys.stdin)
    else:
        sys.exit(f"coevolve_exports: found {command}, expected parquet, inspect or mirror")
    json.dump(written, sys.stdout)


if __name__ == "__main__":
    main()
