"""Prints Inspect's logs as its own reader returns them, as JSON: read_logs.py <folder>."""

import json
import sys
from pathlib import Path

from inspect_ai.log import read_eval_log

logs = [read_eval_log(str(path)) for path in sorted(Path(sys.argv[1]).glob("*.eval"))]
print(json.dumps([json.loads(log.model_dump_json(exclude_none=True)) for log in logs]))
