"""Validates each line as a trajectory of ATIF, and prints them as JSON: read_atif.py <file>."""

import json
import sys
from pathlib import Path

from atif import Trajectory

lines = Path(sys.argv[1]).read_text().splitlines()
read = [Trajectory.model_validate_json(line, strict=False) for line in lines]
print(json.dumps([trajectory.model_dump(mode="json", exclude_none=True) for trajectory in read]))
