"""Parsed calls are cached, and their arguments are copied for every episode."""

import json
import keyword
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.bfcl.calls import Call, parse_calls
from coevolve_environments.plugins.bfcl.literals import NotCalls
from published_bfcl import published_helpers

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
    for text in ("", "[]", "[ ]", "Action: []"):
        assert parse_calls(text) == []


names = st.from_regex(r"[a-z_]{1,6}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab ()[]{}'\"\\\n,", max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)
calls = st.lists(
    st.builds(Call, names, st.just(()), st.dictionaries(names, values, max_size=3)), min_size=1, max_size=3
)


def python(of: list[Call], literal: Any = repr) -> str:
    written = (f"{c.name}({', '.join(f'{k}={literal(v)}' for k, v in c.keyword.items())})" for c in of)
    return f"[{', '.join(written)}]"


def as_json(of: list[Call], name: str = "name", arguments: str = "arguments") -> list[str]:
    return [json.dumps({name: c.name, arguments: c.keyword}) for c in of]


def before_json(form: str) -> Any:
    return lambda of: "".join(form.format(c.name, json.dumps(c.keyword)) for c in of)


def indented(of: list[Call]) -> str:
    return json.dumps([{"name": call.name, "arguments": call.keyword} for call in of], indent=2)


SPELLINGS: dict[str, Any] = {
    "a Python list": python,
    "a list without brackets": lambda of: python(of)[1:-1],
    "an unclosed list": lambda of: python(of)[:-1],
    "a list with constants of JSON": lambda of: python(of, json.dumps),
    "one call per line": lambda of: "\n".join(python([call])[1:-1] for call in of),
    "ReAct": lambda of: f"Thought: ls() may help.\nAction: {python(of)}",
    "a sentence": lambda of: f"I will look [first] at the files: {python(of)}",
    "a sentence and calls without brackets": lambda of: f"I look first.\n\n{python(of)[1:-1]}",
    "a sentence and JSON": lambda of: f"Let me see.\n[{', '.join(as_json(of))}]",
    "a code fence": lambda of: f"```python\n{python(of)}\n```",
    "a sentence and code fences": lambda of: (
        "First this:\n" + "\n".join(f"```python\n{python([call])[1:-1]}\n```" for call in of)
    ),
    "a JSON fence": lambda of: f"```json\n[{', '.join(as_json(of, 'function', 'parameters'))}]\n```",
    "tags": lambda of: "".join(f"<tool_call>\n{call}\n</tool_call>\n" for call in as_json(of)),
    "a sentence and an unclosed tag": lambda of: (
        "Sure.\n" + "".join(f"<tool_call>{call}" for call in as_json(of[:1]))
    ),
    "JSON objects": lambda of: "\n".join(as_json(of)),
    "indented JSON": lambda of: indented(of),
    "indented JSON in a fence": lambda of: f"Let me see.\n```json\n{indented(of)}\n```",
    "indented JSON in a tag": lambda of: f"<tool_call>\n{indented(of)}\n</tool_call>",
    "Anthropic's form": lambda of: json.dumps(
        [{"type": "tool_use", "id": "toolu_1", "name": c.name, "input": c.keyword} for c in of]
    ),
    "OpenAI's form": lambda of: json.dumps(
        [{"type": "function", "function": {"name": c.name, "arguments": json.dumps(c.keyword)}} for c in of]
    ),
    "Llama's tag": lambda of: "<|python_tag|>" + "; ".join(as_json(of, arguments="parameters")),
    "Mistral's tag": lambda of: f"[TOOL_CALLS] [{', '.join(as_json(of))}]",
    "a token that ends the answer": lambda of: "<|python_tag|>" + "; ".join(as_json(of)) + "<|eom_id|>",
    "objects with a name as key": lambda of: json.dumps([{c.name: c.keyword} for c in of]),
    "OpenAI's message": lambda of: json.dumps(
        {"tool_calls": [{"function": {"name": c.name, "arguments": json.dumps(c.keyword)}} for c in of]}
    ),
    "Llama's function tag": before_json("<function={}>{}</function>"),
    "Mistral's tag, name and arguments": before_json("[TOOL_CALLS]{}[ARGS]{}"),
    "Mistral's without special tokens": before_json("{}{}"),
    "GLM's name and arguments": before_json("{}\n{}\n"),
    "Kimi's tokens": before_json(
        "<|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    ),
    "Kimi's without special tokens": before_json("functions.{}:0{}"),
    "DeepSeek's tokens": before_json(
        "<\uff5ctool\u2581call\u2581begin\uff5c>{}<\uff5ctool\u2581sep\uff5c>{}<\uff5ctool\u2581call\u2581end\uff5c>"
    ),
    "DeepSeek's tokens and a fence": before_json(
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>{}\n```json\n{}\n```"
        "<\uff5ctool\u2581call\u2581end\uff5c>"
    ),
    "GPT's channel": before_json(
        "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>{}<|call|>"
    ),
    "Phi's tag": lambda of: f"<|tool_call|>[{', '.join(as_json(of))}]<|/tool_call|>",
    "Phi's function": lambda of: f"functools[{', '.join(as_json(of))}]",
    "Granite's tag": lambda of: " ".join(f"<function_call> {call}" for call in as_json(of)),
    "MiniCPM's fence in a tag": lambda of: (
        "<|tool_call_start|>\n```python\n"
        + "\n".join(python([call])[1:-1] for call in of)
        + "\n```\n<|tool_call_end|>\n"
    ),
    "Falcon's JSON fence in a tag": lambda of: (
        f"<tool_call>\n```json\n[{', '.join(as_json(of))}]\n```\n</tool_call>"
    ),
    "a list and an explanation": lambda of: f"{python(of)}\n\nThis looks (first) at [the files].",
    "a list and a line": lambda of: f"{python(of)}\nThat is all.",
    "bullets": lambda of: "\n".join(f"- {python([call])[1:-1]}" for call in of),
    "bullets in backticks": lambda of: "\n".join(f"* `{python([call])[1:-1]}`" for call in of),
    "numbers": lambda of: "\n".join(f"{n}. {python([call])[1:-1]}" for n, call in enumerate(of, 1)),
    "printed results": lambda of: (
        "```python\n" + "\n".join(f"print({python([call])[1:-1]})" for call in of) + "\n```"
    ),
    "named results": lambda of: (
        "```python\n"
        + "\n".join(f"RESULT_{n} = {python([call])[1:-1]}" for n, call in enumerate(of))
        + "\n```"
    ),
    "dicts in Python's quotes": lambda of: repr([{"name": c.name, "arguments": c.keyword} for c in of]),
    "tags with Python's quotes": lambda of: "\n".join(
        f"<tool_call>\n{ {'name': c.name, 'arguments': c.keyword}!r}\n</tool_call>" for c in of
    ),
    "the package's tag": lambda of: f"<TOOLCALL>{python(of)}</TOOLCALL>",
}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def escaped(value: Any) -> str:
    if isinstance(value, str):
        return f"<escape>{value}<escape>"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{escaped(item)}' for key, item in value.items())}}}"
    return f"[{','.join(map(escaped, value))}]" if isinstance(value, list) else json.dumps(value)


TAGS: dict[str, Any] = {
    "Qwen3-Coder's parameters": lambda c: (
        f"<tool_call>\n<function={c.name}>\n"
        + "".join(f"<parameter={key}>\n{as_text(value)}\n</parameter>\n" for key, value in c.keyword.items())
        + "</function>\n</tool_call>"
    ),
    "GLM's pairs": lambda c: (
        f"<tool_call>{c.name}\n"
        + "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{as_text(value)}</arg_value>\n"
            for key, value in c.keyword.items()
        )
        + "</tool_call>"
    ),
    "FunctionGemma's marks": lambda c: (
        f"<start_function_call>call:{c.name}{escaped(c.keyword)}<end_function_call>"
    ),
}
# Without a schema, a text that is JSON, such as 12, is no text in these formats.
words = st.from_regex(r"[a-z ]{1,3}[<>{}\"'\n,:]?[a-z]{1,3}", fullmatch=True).filter(
    lambda text: text != "null"
)
tag_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
tag_calls = st.lists(
    st.builds(Call, names, st.just(()), st.dictionaries(names, tag_values, max_size=3)),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("format", TAGS)
@settings(max_examples=50, derandomize=True, deadline=None)
@given(written=tag_calls)
def test_formats_of_model_families_are_calls(format: str, written: list[Call]) -> None:
    text = "\n".join(TAGS[format](call) for call in written)
    assert parse_calls(text) == written
    assert parse_calls(f"Let me see.\n{text}") == written


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS]cd[ARGS]{"folder": "a"',
        'ls{}\nThen I call cd{"folder": "a"}.',
        'I call cd{"folder": "a"}',
        "<tool_call>I am done</tool_call>",
        "<start_function_call>call:cd{folder:<escape>a}<end_function_call>",
    ],
)
def test_a_damaged_call_or_one_within_a_sentence_is_none(text: str) -> None:
    with pytest.raises(NotCalls):
        parse_calls(text)


@pytest.mark.parametrize("spelling", SPELLINGS)
@settings(max_examples=25, derandomize=True, deadline=None)
@given(written=calls)
def test_natural_spellings_are_calls(spelling: str, written: list[Call]) -> None:
    expected = written[:1] if "unclosed tag" in spelling else written
    assert parse_calls(SPELLINGS[spelling](written)) == expected


@pytest.mark.parametrize("format", ["Qwen3-Coder's parameters", "GLM's pairs"])
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "94016", "94016"),
        ("string", "null", "null"),
        ("string", '["a"]', '["a"]'),
        ("integer", "94016", 94016),
        ("boolean", "True", True),
        ("array", "['a', 1]", ["a", 1]),
        ("array", '["a", 1]', ["a", 1]),
        ("number", "two", "two"),
        ("number", "9" * 400, None),
        ("array", "[" * 300 + "]" * 300, None),
    ],
)
def test_an_argument_written_as_text_has_its_schemas_type(
    format: str, kind: str, text: str, value: Any
) -> None:
    written = TAGS[format](Call("f", (), {"a": text}))
    schemas = {"f": {"a": {"type": kind}}}
    if value is None:
        with pytest.raises(NotCalls):
            parse_calls(written, schemas)
    else:
        [call] = parse_calls(written, schemas)
        assert (call.keyword, type(call.keyword["a"])) == ({"a": value}, type(value))


def test_arguments_of_json_calls_have_any_name_and_number() -> None:
    written = '{"name": "f", "arguments": {"from": "a", "user-id": NaN, "b c": 1e999}}'
    for text in (written, f"<tool_call>{written}</tool_call>", f"```json\n[{written}]\n```"):
        [call] = parse_calls(text)
        assert repr(call) == "f(from='a', user-id=nan, b c=inf)"


@pytest.mark.parametrize(
    "text",
    [
        "I used [ls()] to list the files.",
        "[ls()] lists the files.\nThen I stop.",
        "- ls() to list the files\n- Done",
        "1. First the files\n2. ls()",
        "r = cd(folder='a')\nls(path=r)",
        "a, b = ls()",
        "{'answer': 'ls()'}",
        "I look first.\n\nThen I call ls() and stop.",
        "The file is in the folder.\n\nDone",
        "```\nno call\n```",
        '{"answer": 1}',
        "[f(a=lambda: 1)]",
        "[f(a=9**9**9)]",
        "[f(a='x' * 10**9)]",
        "[f(a='%9999d' % 1)]",
        "[f(a=x + y)]",
        "[f(**{'a': 1})]",
        "[f(a=[g(b=1)])]",
        "[f(a={[]: 1})]",
        '[{"name": "cd", "folder": "a"}]',
        '[{"name": "cd", "values": {"folder": "a"}}]',
    ],
)
def test_answers_that_mention_a_call_or_compute_are_not_calls(text: str) -> None:
    with pytest.raises(NotCalls):
        parse_calls(text)


@pytest.mark.parametrize(
    "text",
    [
        "[cd(folder='a'), ls(a=True)]",
        "cd(folder='a')",
        "[cd(folder='a')",
        "`[ls()]`",
        "```[ls(), pwd()]```",
        "[f(a=-1, b=1.5, c=[1, 'x'], d={'k': (1, 2)})]",
        "[f(a=1 + 2 * 3)]",
        "[f(a=document)]",
        "[f(a=g())]",
        "[f(a=g(1, 'x'))]",
        "[f(a=g(b=h(c=1)))]",
        "[f(a=items[0], b=[pwd()], c=...)]",
        "[f(a=2**10, b=7 // 2, c=7 % 2, d='x' + 'y', e='ab' * 3)]",
        "[f(a=10**20)]",
        "\n[ls()]\n",
        "[a.f(x=1)]",
    ],
)
def test_what_the_published_decoder_accepts_is_the_same_calls(text: str) -> None:
    published = [parse_calls(call)[0] for call in published_helpers().default_decode_execute_prompting(text)]
    assert parse_calls(text) == published
