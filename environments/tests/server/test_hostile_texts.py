"""Texts of any form in the environments that parse them: an observation or an end with 0, never a fault."""

import pytest

from conftest import Client
from hostile_texts import play_hostile_texts

IN_ALL = pytest.param("scienceworld", marks=pytest.mark.of_all)


@pytest.mark.parametrize("name", ["intercode-sql", "bfcl", "warehouse", "textworld-express", IN_ALL])
def test_a_text_of_any_form_is_never_a_fault(server: Client, name: str) -> None:
    task = server.draw(name, "train", 1)[0]["definition"]
    with server.session(name) as session:
        play_hostile_texts(session, task)
