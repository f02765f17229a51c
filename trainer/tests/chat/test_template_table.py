"""The table of a folder has a verdict for each chat template."""

from pathlib import Path

from coevolve_trainer.chat.template_table import table_of
from template_families import STABLE, UNSTABLE


def test_a_table_has_the_verdict_and_the_reason_of_each_template(tmp_path: Path) -> None:
    for family in (STABLE["granite"], UNSTABLE["counted"], UNSTABLE["mistral-v3-moved"]):
        (tmp_path / f"{family.template}.jinja").write_text(family.text())
    _, _, counted, granite, moved = table_of(tmp_path)
    assert counted.startswith("| counted | refused | changes an earlier prompt at message 0 (user): ")
    assert "; the date in every prompt is 26 Jul 2024 |" in granite
    assert granite.startswith("| granite | accepted | functions in its format")
    assert moved.startswith("| mistral_v3_moved | accepted with --fold-system | functions as text")
