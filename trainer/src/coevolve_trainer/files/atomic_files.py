"""Files that survive a crash: complete under their name, or absent."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from ..failures import bad_input


def write_atomically(path: Path, data: bytes, *, sync: bool = True, staging: str = "staging") -> None:
    """Replaces a file in one step: readers see the old or the new content, with `sync` even after power loss.

    Two processes that write the same file at the same time need different `staging` suffixes.
    """
    staged = path.with_name(f".{path.name}.{staging}")
    write_synced(staged, data) if sync else staged.write_bytes(data)
    os.replace(staged, path)
    if sync:
        sync_path(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def publish_directory(staging: Path, final: Path) -> None:
    """Renames a complete staging directory to its final name."""
    sync_path(staging)
    os.rename(staging, final)
    sync_path(final.parent)


def create_empty_directory(path: Path) -> Path:
    """Creates `path` without content; removes the files of a killed process."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def sync_path(path: Path) -> None:
    """Flushes a file or a directory to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_file(path: Path, expected_sha256: str, *, field: str) -> None:
    """Raises `bad-input` when the file is missing or has another hash."""
    if not path.is_file():
        raise bad_input(field, f"no file {path}", "a file")
    found = sha256_of_file(path)
    if found != expected_sha256:
        raise bad_input(f"{field}_sha256", found, f"{expected_sha256}, the hash of {path}")


def canonical_json(value: object) -> bytes:
    """Serializes equal values to equal bytes, so that they have equal hashes."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
