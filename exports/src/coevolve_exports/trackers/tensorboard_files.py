"""Event files of TensorBoard: a folder per run, a record per row.

A record has a length and checksums, so every reader recognizes a torn one at the end of a file, and it
counts as absent. Written bytes are never changed, because a reader may hold them: a restart continues
in the next file.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import google_crc32c
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.text import metadata as text
from tensorboard.util import tensor_util

from coevolve_exports.trackers.tracker import Key, Row, Run, flat


class TensorBoardFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, IO[bytes]] = {}

    def open(self, run: Run) -> set[Key]:
        folder = self.folder / run["id"]
        folder.mkdir(exist_ok=True)
        seen = {
            key_of(event) for file in event_files(folder) for event in events(file) if event.summary.value
        }
        config = config_event(run)
        if key_of(config) not in seen:
            self.append(run, [config])
        return seen

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        self.append(run, (row_event(row) for row in rows))

    def end(self, run: Run, *, finished: bool) -> None:
        file = self.files.pop(run["id"], None)
        if file:
            file.close()

    def append(self, run: Run, added: Iterable[Event]) -> None:
        file = self.files.get(run["id"])
        if not file:
            folder = self.folder / run["id"]
            # Readers take the files in the order of their names, and do not return to an earlier one.
            number = max((int(path.name.split(".")[3]) for path in event_files(folder)), default=-1) + 1
            name = f"events.out.tfevents.{number:010d}.coevolve"
            file = self.files[run["id"]] = (folder / name).open("xb")
            file.write(framed(Event(file_version="brain.Event:2", wall_time=run["created"])))
        for event in added:
            file.write(framed(event))
        file.flush()


def row_event(row: Row) -> Event:
    event = Event(wall_time=row.at, step=row.step)
    for name, value in row.values.items():
        event.summary.value.add(tag=f"{row.prefix}/{name}", simple_value=value)
    return event


def config_event(run: Run) -> Event:
    """Returns the config as a text, which the first value is, and as hyperparameters."""
    markdown = f"```json\n{json.dumps(run['config'], indent=2)}\n```"
    event = Event(wall_time=run["created"], step=0)
    event.summary.value.append(
        Summary.Value(
            tag="config/text",
            metadata=text.create_summary_metadata("config", ""),
            tensor=tensor_util.make_tensor_proto(markdown),
        )
    )
    settings = hparams.hparams_pb(
        dict(flat(run["config"])), trial_id=run["id"], start_time_secs=run["created"]
    )
    event.summary.value.extend(settings.value)
    return event


def key_of(event: Event) -> Key:
    return Key(event.summary.value[0].tag.rpartition("/")[0], event.step, event.wall_time)


def event_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("events.out.tfevents.*.coevolve"))


def framed(event: Event) -> bytes:
    """Returns a record of TFRecord: length, its checksum, data, their checksum."""
    data = event.SerializeToString()
    length = struct.pack("<Q", len(data))
    return b"".join((length, checksum(length), data, checksum(data)))


def events(path: Path) -> Iterator[Event]:
    """Reads the whole records of a file up to the first torn one, as TensorBoard does."""
    with path.open("rb") as file:
        while True:
            header = file.read(12)
            if len(header) < 12 or header[8:] != checksum(header[:8]):
                return
            data = file.read(struct.unpack("<Q", header[:8])[0])
            if file.read(4) != checksum(data):
                return
            yield Event.FromString(data)


def checksum(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
