"""Files that survive a crash: complete under their name, or absent."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from ..failures import JobFailure, bad_input


def write_atomically(path: Path, data: bytes, *, sync: bool = True, writer: str = "staging") -> None:
    """Readers see the old file or the new one, never a part; with `sync` that holds after power loss too.

    Two processes that write one file at once need names of their own: `writer`.
    """
    staging = path.with_name(f".{path.name}.{writer}")
    write_synced(staging, data) if sync else staging.write_bytes(data)
    os.replace(staging, path)
    if sync:
        sync_directory(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def publish_directory(staging: Path, final: Path) -> None:
    """Makes a finished staging directory appear under its name in one step."""
    sync_directory(staging)
    os.rename(staging, final)
    sync_directory(final.parent)


def fresh_directory(path: Path) -> Path:
    """Makes `path` empty; what a killed process left in it goes."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_file(path: Path, expected_sha256: str, *, field: str) -> None:
    """Raises `bad-input` when there is no such file, or another one than its hash says."""
    if not path.is_file():
        raise bad_input(field, f"no file {path}", "a file")
    found = sha256_of_file(path)
    if found != expected_sha256:
        raise bad_input(f"{field}_sha256", found, f"{expected_sha256}, the hash of {path}")


def canonical_json(value: object) -> bytes:
    """One spelling per value, so that equal content has equal hashes."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def require_free_disk(folder: Path, needed_bytes: int) -> None:
    """Raises `disk-full` before any work is spent when `folder` cannot take `needed_bytes` more."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise JobFailure("disk-full", f"{folder}: {free:,} bytes are free, the job needs {needed_bytes:,}")
