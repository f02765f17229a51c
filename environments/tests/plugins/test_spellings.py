"""Natural spellings are the same action, per kind of environment; two candidates are none."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve_environments.plugins.appworld.code_action import code_of
from coevolve_environments.plugins.intercode_sql.episode import statement_of
from coevolve_environments.plugins.spellings import command_of
from coevolve_environments.plugins.webshop.episode import shop_action
from coevolve_environments.server.composed_episode import answer_of, is_finish

Spelling = Callable[[str], str]


def fence(language: str) -> Spelling:
    return lambda action: f"```{language}\n{action}\n```"


def call(name: str, argument: str, form: str = "{}") -> Spelling:
    return lambda action: form.format(json.dumps({"name": name, "arguments": {argument: action}}))


def openai(name: str, argument: str) -> Spelling:
    return lambda action: json.dumps(
        [{"type": "function", "function": {"name": name, "arguments": json.dumps({argument: action})}}]
    )


TAG = "<tool_call>\n{}\n</tool_call>"
SHARED: dict[str, Spelling] = {
    "ReAct": lambda action: f"Thought: The last one failed.\nAction: {action}",
    "ReAct in a fence": lambda action: f"Thought: Now.\nAction:\n```\n{action}\n```",
    "a fence behind a sentence": lambda action: f"I will try this:\n```\n{action}\n```\nThen I see.",
    "line ends of Windows": lambda action: f"Now:\r\n```\r\n{action}\r\n```",
    "a tag": call("run", "action", TAG),
    "a tag behind a sentence": call("run", "command", f"Let me see.\n{TAG}"),
    "JSON": call("run", "command"),
    "a JSON fence": call("run", "action", "```json\n{}\n```"),
    "Llama's tag": call("run", "command", "<|python_tag|>{}"),
    "Mistral's tag": call("run", "command", "[TOOL_CALLS] [{}]"),
    "OpenAI's form": openai("run", "command"),
    "Mistral's name and arguments": lambda action: f"[TOOL_CALLS]run[ARGS]{json.dumps({'command': action})}",
    "Qwen3-Coder's parameter": lambda action: (
        f"<tool_call>\n<function=run>\n<parameter=command>\n{action}\n</parameter>\n</function>\n</tool_call>"
    ),
}
SQL: dict[str, Spelling] = SHARED | {
    "the text": lambda action: action,
    "a final semicolon": lambda action: f"{action};\n",
    "a SQL fence": fence("sql"),
    "a SQL fence on one line": lambda action: f"```sql {action}```",
    "backticks": lambda action: f"`{action}`",
    "behind a sentence": lambda action: f"I select by name. This is my query:\n\n{action}",
    "a call": call("execute_sql", "query"),
}
GAMES: dict[str, Spelling] = SHARED | {
    "the text": lambda action: action,
    "backticks": lambda action: f"`{action}`",
}
CODE: dict[str, Spelling] = SHARED | {
    "a Python fence": fence("python"),
    "the text": lambda action: action,
    "a first fence of two": lambda action: (
        f"First:\n```python\n{action}\n```\nThen:\n```python\nprint(1)\n```"
    ),
    "a call": call("python", "code", TAG),
    "Llama's tag before code": lambda action: f"<|python_tag|>{action}",
}
SHOP: dict[str, Spelling] = SHARED | {
    "the text": lambda action: action,
    "a sentence": lambda action: f"None of these fits, so I try {action}.",
    "backticks": lambda action: f"`{action}`",
    "the function": lambda action: json.dumps(
        {"name": action.partition("[")[0], "arguments": {"value": action.partition("[")[2][:-1]}}
    ),
}

words = st.text("abcdefgh ", min_size=1, max_size=12).map(str.strip).filter(bool)
statements = st.one_of(
    st.builds("SELECT {} FROM t WHERE x = '{}'".format, st.just("a"), words),
    st.builds("with q as (select 1)\nselect {} from q".format, st.just("a")),
    st.just("submit"),
)
commands = words.map(lambda text: f"open {' '.join(text.split())}")
codes = st.builds("x = apis.spotify.show(name='{}')\nprint(x)".format, words)
shop_actions = st.builds(
    "{}[{}]".format, st.sampled_from(["search", "click"]), words.map(lambda text: " ".join(text.split()))
)


@pytest.mark.parametrize("spelling", SQL)
@settings(max_examples=15, derandomize=True)
@given(action=statements)
def test_natural_spellings_are_statements(spelling: str, action: str) -> None:
    assert statement_of(SQL[spelling](action)) == action


@pytest.mark.parametrize("spelling", GAMES)
@settings(max_examples=15, derandomize=True)
@given(action=commands)
def test_natural_spellings_are_commands(spelling: str, action: str) -> None:
    assert command_of(GAMES[spelling](action)) == action


@pytest.mark.parametrize("spelling", CODE)
@settings(max_examples=15, derandomize=True)
@given(action=codes)
def test_natural_spellings_are_code(spelling: str, action: str) -> None:
    assert (code_of(CODE[spelling](action)) or "").strip() == action


@pytest.mark.parametrize("spelling", SHOP)
@settings(max_examples=15, derandomize=True)
@given(action=shop_actions)
def test_natural_spellings_are_actions_of_the_shop(spelling: str, action: str) -> None:
    assert shop_action(SHOP[spelling](action)) == action


@pytest.mark.parametrize(
    "spelling",
    [
        *SHARED.values(),
        lambda action: f"`{action}`",
        lambda action: f"There are three.\n\n{action}.",
        lambda action: f"{action}<|im_end|>",
        lambda action: json.dumps({"name": "finish", "arguments": {"answer": action[7:-1]}}),
    ],
)
@pytest.mark.parametrize("answer", ["", "3 boxes [red]"])
def test_natural_spellings_end_a_composed_task(spelling: Spelling, answer: str) -> None:
    written = spelling(f"finish[{answer}]")
    assert (is_finish(written), bool(answer_of(written))) == (True, answer != "")


@pytest.mark.parametrize("text", ["94016", "true", "[1, 2]", "null"])
def test_an_argument_that_looks_like_json_stays_the_text_of_the_action(text: str) -> None:
    def pair(name: str, key: str) -> str:
        return f"<tool_call>{name}<arg_key>{key}</arg_key><arg_value>{text}</arg_value></tool_call>"

    assert command_of(pair("run", "action")) == statement_of(pair("run", "query")) == text
    assert code_of(pair("python", "code")) == text
    assert shop_action(pair("search", "keywords")) == f"search[{text}]"


@pytest.mark.parametrize("text", ["I will finish[] later", "finish[3", "open door\n", "I finish[]", "finish"])
def test_a_text_about_an_end_ends_nothing(text: str) -> None:
    assert not is_finish(text)


@pytest.mark.parametrize(
    "text",
    [
        "```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```",
        "(SELECT a FROM t\nWHERE x = 1)\nUNION\nSELECT b FROM t",
        "use db; It is open.\nSELECT 1",
        "submit 6",
        "I could submit",
        "SELECT 1\nsubmit",
        '{"name": "execute_sql", "arguments": {"query": "SELECT 1", "limit": 3}}',
        '<tool_call>{"name": "a", "arguments": {"query": "SELECT 1"}}</tool_call>'
        '<tool_call>{"name": "a", "arguments": {"query": "SELECT 2"}}</tool_call>',
    ],
)
def test_a_text_without_one_statement_stays_as_it_is(text: str) -> None:
    assert statement_of(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "open", "arguments": {"object": "door"}}',
        "```\nopen door\n```\nor\n```\nclose door\n```",
    ],
)
def test_a_text_without_one_command_stays_as_it_is(text: str) -> None:
    assert command_of(text) == " ".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "Done (really)",
        "I call apis.spotify.login() now.",
        '{"name": "spotify.login", "arguments": {}}',
        '{"name": "spotify.login", "arguments": {"username": "a"}}',
    ],
)
def test_a_text_without_code_has_none(text: str) -> None:
    assert code_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I could do search[a] or click[b]",
        "click[a] was wrong",
        '{"name": "search", "arguments": {"keywords": "a", "page": "2"}}',
        '{"name": "buy", "arguments": {"value": "a"}}',
        "search[]",
    ],
)
def test_a_text_without_one_action_of_the_shop_has_none(text: str) -> None:
    assert shop_action(text) is None
