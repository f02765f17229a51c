"""Hypothesis strategies for valid and invalid JSON responses of a server."""

from hypothesis import strategies as st

_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(),
    st.just(10**400),
    st.sampled_from(["", "a page", "user", "tool", "assistant"]),
)
_any = st.one_of(_leaves, st.lists(_leaves, max_size=2), st.dictionaries(st.just("result"), _leaves))
_calls = st.one_of(_any, st.lists(st.dictionaries(st.just("result"), _any), max_size=2))
_message = st.one_of(
    _any, st.fixed_dictionaries({"role": _any, "content": _any}, optional={"tool_calls": _calls})
)

json_values = st.one_of(
    _any,
    st.fixed_dictionaries(
        {"state": st.one_of(_any, st.lists(_message, max_size=2))},
        optional={"reward": _leaves, "done": _leaves, "is_terminated": _leaves},
    ),
)
