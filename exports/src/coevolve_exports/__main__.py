"""`python -m coevolve_exports parquet|inspect`: reads a request from stdin, writes files, prints their sizes.

The caller has checked everything that a user may mistake; other errors end with a traceback.
"""

import json
import sys


def main() -> None:
    command = sys.argv[1]
    if command == "parquet":
        from coevolve_exports.parquet import write_files

        written = write_files(json.load(sys.stdin))
    elif command == "inspect":
        from coevolve_exports.inspect_logs import write_logs

        written = write_logs(sys.stdin)
    else:
        sys.exit(f"coevolve_exports: found {command}, expected parquet or inspect")
    json.dump(written, sys.stdout)


if __name__ == "__main__":
    main()
