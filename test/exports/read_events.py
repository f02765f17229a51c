"""Prints the points of a folder as JSON, read by TensorBoard: [run, tag, step, wall time, value, or text]."""

import json
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util

folder = Path(sys.argv[1])
points = []
for path in sorted(folder.rglob("events.out.tfevents.*")):
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            if value.tag.startswith("_hparams_"):
                continue
            content = tensor_util.make_ndarray(value.tensor).reshape(-1)[0]
            decoded = content.decode() if isinstance(content, bytes) else float(content)
            points.append([path.parent.name, value.tag, event.step, event.wall_time, decoded])
json.dump(points, sys.stdout)
