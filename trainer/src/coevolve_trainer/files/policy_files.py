"""A policy directory: model, tokenizer, and a manifest whose sha256 is the policy hash.

The manifest contains no time and no path, so that the same job gives the same bytes and the same policy hash.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from ..failures import JobFailure, bad_input
from .atomic_files import canonical_json, sha256_of_file, write_synced

MANIFEST = "manifest.json"
FORMAT = 1


def write_manifest(policy: Path, fields: Mapping[str, object]) -> str:
    """Completes a policy directory with its manifest; returns the policy hash (64 hex digits)."""
    files = [
        {"path": file.name, "sha256": sha256_of_file(file), "bytes": file.stat().st_size}
        for file in sorted(policy.iterdir())
        if file.name != MANIFEST
    ]
    data = canonical_json({"format": FORMAT, "files": files, **fields})
    write_synced(policy / MANIFEST, data)
    return hashlib.sha256(data).hexdigest()


def read_manifest(policy: Path) -> dict[str, object]:
    manifest: dict[str, object] = json.loads((policy / MANIFEST).read_bytes())
    return manifest


def verify_policy(policy: Path, expected_hash: str | None = None, *, field: str = "policy") -> str:
    """Verifies every file of a policy against its manifest; returns the policy hash.

    Raises:
        JobFailure: `bad-input` when the manifest has another hash, or a file is missing or changed.
    """
    manifest_path = policy / MANIFEST
    if not manifest_path.is_file():
        raise bad_input(field, f"no {MANIFEST} in {policy}", "a policy directory")
    data = manifest_path.read_bytes()
    policy_hash = hashlib.sha256(data).hexdigest()
    if expected_hash is not None and policy_hash != expected_hash:
        raise bad_input(f"{field}_hash", policy_hash, f"{expected_hash}, the hash of {manifest_path}")
    try:
        manifest = json.loads(data)
    except ValueError as error:
        raise bad_input(f"{field}: {manifest_path}", f"invalid JSON ({error})", "a manifest") from None
    found_format = manifest.get("format") if isinstance(manifest, dict) else None
    if found_format != FORMAT:
        raise bad_input(f"{field}: {manifest_path}: format", found_format, str(FORMAT))
    for entry in manifest["files"]:
        path = policy / entry["path"]
        if not path.is_file():
            raise bad_input(f"{field}: {path}", "no such file", "the file in the manifest")
        found = sha256_of_file(path)
        if found != entry["sha256"]:
            raise bad_input(f"{field}: {path}: sha256", found, entry["sha256"])
    return policy_hash


def is_intact(policy: Path, expected_hash: str) -> bool:
    """Returns whether the policy of that hash exists with all of its files."""
    try:
        return verify_policy(policy, expected_hash) == expected_hash
    except JobFailure:
        return False


def remove_if_damaged(policy: Path, report: Callable[[str], None], expected_hash: str | None = None) -> None:
    """Reports and removes a policy with a missing or changed file."""
    if not policy.exists():
        return
    try:
        verify_policy(policy, expected_hash, field=str(policy))
    except JobFailure as failure:
        report(failure.message)
        shutil.rmtree(policy)


def positions_of(policy: Path) -> int:
    """Returns the maximum tokens of a sequence of the policy.

    Raises:
        JobFailure: `bad-input` when its configuration does not state them.
    """
    path = base_model_of(policy) / "config.json"
    positions = json.loads(path.read_bytes()).get("max_position_embeddings")
    if not isinstance(positions, int):
        raise bad_input(f"max_position_embeddings of {path}", repr(positions), "an integer")
    return positions


def base_model_of(policy: Path) -> Path:
    """Returns the folder of an adapter's base model, which lies beside the adapter; else the policy itself.

    Raises:
        JobFailure: `bad-input` when there is no such folder.
    """
    if not (policy / MANIFEST).is_file():
        return policy
    model_hash = read_manifest(policy).get("model_hash")
    if model_hash is None:
        return policy
    folder = policy.parent / str(model_hash)
    if not (folder / MANIFEST).is_file():
        raise bad_input(f"model_hash of {policy}", model_hash, f"the hash of a model in {policy.parent}")
    return folder
