"""Parsed calls are cached, and their arguments are copied for every episode."""

from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.bfcl.calls import Call, NotCalls, parse_calls

literals = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text("ab'\"\\\n([", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(first=literals, second=literals)
def test_a_call_is_parsed_the_same_each_time(first: object, second: object) -> None:
    text = f"[act({first!r}, named={second!r})]"
    for _ in range(3):
        assert parse_calls(text) == [Call("act", (first,), {"named": second})]


def test_a_function_can_change_its_arguments_without_effect_on_later_calls() -> None:
    text = "[act(['a', {'b': ['c']}], {'d'}, named=(['e'], 1))]"
    [changed] = parse_calls(text)
    changed.positional[0][1]["b"].append("x")
    changed.positional[1].add("x")
    changed.keyword["named"][0].append("x")
    changed.keyword["other"] = "x"

    assert parse_calls(text) == [Call("act", (["a", {"b": ["c"]}], {"d"}), {"named": (["e"], 1)})]


def test_prose_is_never_a_call() -> None:
    for text in ("Done.", "I have (nearly) done it.", "See [1].", "`Done`", "Thought: x\nAction: finish"):
        for _ in range(2):
            try:
                parse_calls(text)
            except NotCalls:
                continue
            raise AssertionError(f"{text!r} was read as calls")


def test_empty_text_and_an_empty_list_contain_no_calls() -> None:
    assert [parse_calls(text) for text in ("", "[]", "[ ]", "Action: []")] == [[], [], [], []]
