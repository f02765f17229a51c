"""Weight files of a policy's folder."""

import json
from pathlib import Path

import pytest

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.weight_files import INDEX, weight_paths


@pytest.mark.parametrize("shard", ["../other.safetensors", "/etc/passwd", "a/b.safetensors", "..", ""])
def test_a_shard_outside_the_folder_is_refused(tmp_path: Path, shard: str) -> None:
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"first": "model.safetensors", "second": shard}}))
    with pytest.raises(JobFailure, match="expected names of files beside it"):
        weight_paths(tmp_path)
