"""A policy directory: model, tokenizer, and a manifest whose sha256 is the policy's name.

The manifest holds no time and no path, so the same job gives the same bytes and the same policy hash.
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


def write_manifest(policy: Path, facts: Mapping[str, object]) -> str:
    """Closes a policy directory with its manifest and returns the policy hash (64 hex digits)."""
    files = [
        {"path": file.name, "sha256": sha256_of_file(file), "bytes": file.stat().st_size}
        for file in sorted(policy.iterdir())
        if file.name != MANIFEST
    ]
    data = canonical_json({"format": FORMAT, "files": files, **facts})
    write_synced(policy / MANIFEST, data)
    return hashlib.sha256(data).hexdigest()


def verify_policy(policy: Path, expected_hash: str | None = None, *, field: str = "policy") -> str:
    """Checks every file of a policy against its manifest; returns the policy hash.

    Raises:
        JobFailure: `bad-input` when the manifest is not `expected_hash`, or a file is missing or changed.
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
        raise bad_input(f"{field}: {manifest_path}", f"no JSON ({error})", "a policy's manifest") from None
    found_format = manifest.get("format") if isinstance(manifest, dict) else None
    if found_format != FORMAT:
        raise bad_input(f"{field}: {manifest_path}: format", found_format, str(FORMAT))
    for entry in manifest["files"]:
        path = policy / entry["path"]
        if not path.is_file():
            raise bad_input(f"{field}: {path}", "no such file", "the file that the manifest lists")
        found = sha256_of_file(path)
        if found != entry["sha256"]:
            raise bad_input(f"{field}: {path}: sha256", found, entry["sha256"])
    return policy_hash


def is_whole(policy: Path, expected_hash: str) -> bool:
    """Whether the policy of that hash is there, with every one of its files."""
    try:
        return verify_policy(policy, expected_hash) == expected_hash
    except JobFailure:
        return False


def discard_damaged(policy: Path, tell: Callable[[str], None], expected_hash: str | None = None) -> None:
    """Removes a policy of which a file is missing or changed, after it told what is wrong with it."""
    if not policy.exists():
        return
    try:
        verify_policy(policy, expected_hash, field=str(policy))
    except JobFailure as failure:
        tell(failure.message)
        shutil.rmtree(policy)


def model_beneath(policy: Path) -> Path:
    """The folder of the whole model that an adapter changes, beside the adapter's; else the policy itself.

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


def read_manifest(policy: Path) -> dict[str, object]:
    manifest: dict[str, object] = json.loads((policy / MANIFEST).read_bytes())
    return manifest
