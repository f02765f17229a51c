"""The version of the trainer changes with its code and not between two processes."""

from pathlib import Path

import pytest

from coevolve_trainer import version


def test_the_version_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "__file__", str(tmp_path / "version.py"))
    (tmp_path / "losses").mkdir()
    loss = tmp_path / "losses" / "dpo.py"
    loss.write_text("beta = 0.1\n")
    before = version.trainer_version()
    assert len(before) == 64
    assert version.trainer_version() == before
    loss.write_text("beta = 0.2\n")
    assert version.trainer_version() != before
    loss.rename(tmp_path / "dpo.py")
    loss = tmp_path / "dpo.py"
    loss.write_text("beta = 0.1\n")
    assert version.trainer_version() != before
