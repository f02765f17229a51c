"""Actions with and without the ReAct form are equal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.react import action_of, react


@pytest.mark.parametrize(
    ("content", "action"),
    [
        ("look around", "look around"),
        ("Thought: a door\nAction: open door", "open door"),
        ("  action : open door  ", "open door"),
        ("Action: one\nThought: no, rather\nAction: two", "two"),
        ("Action:\nprint(1)\nprint(2)", "print(1)\nprint(2)"),
        ("the word Action: inside a line is not one", "the word Action: inside a line is not one"),
        ("", ""),
    ],
)
def test_the_action_is_the_text_after_the_last_mark(content: str, action: str) -> None:
    assert action_of(content) == action


@settings(derandomize=True)
@given(action=st.text(), thought=st.none() | st.text())
def test_an_action_is_unchanged_by_the_react_form(action: str, thought: str | None) -> None:
    bare = action_of(action)  # as every environment reads it
    assert action_of(react(bare, thought)) == bare
