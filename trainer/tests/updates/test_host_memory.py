"""The memory that a copy of the train state may take."""

from pathlib import Path

from coevolve_trainer.updates.host_memory import MemoryNeed, find_shortage, free_memory


def test_processes_of_a_host_share_its_memory_and_other_hosts_have_their_own() -> None:
    assert find_shortage([MemoryNeed("a", 6, 10), MemoryNeed("b", 6, 10)]) is None
    shortage = find_shortage([MemoryNeed("a", 6, 10), MemoryNeed("b", 1, 10), MemoryNeed("a", 5, 12)])
    assert shortage == "a: a copy needs 11 bytes of memory, 10 are free"


def test_the_limit_of_a_container_counts_without_clean_pages_of_files(tmp_path: Path) -> None:
    unlimited = free_memory(tmp_path)
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 300\nactive_file 100\n")
    (tmp_path / "memory.max").write_text("1000\n")
    assert free_memory(tmp_path) == 400
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path) > 400
    assert unlimited > 400
