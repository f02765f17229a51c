"""Writes of files that several servers share."""

import os
import threading
from pathlib import Path


def write_atomically(file: Path, content: bytes) -> None:
    """Writes the whole file or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    unfinished.write_bytes(content)
    unfinished.replace(file)
