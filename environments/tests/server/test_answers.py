"""Answers of composed tasks; src/domain/tasks/answers.ts is tested with the same cases."""

from typing import Any

import pytest
import yaml

from coevolve_environments.server.answers import asks, is_comparable, same_answer, says_nothing
from conftest import TESTS

CASES: dict[str, Any] = yaml.safe_load((TESTS / "composed" / "answers.yaml").read_text(encoding="utf8"))


@pytest.mark.parametrize("request_text", CASES["asks"])
def test_a_question_asks_for_an_answer(request_text: str) -> None:
    assert asks(request_text)


@pytest.mark.parametrize("request_text", CASES["asks_nothing"])
def test_a_command_asks_for_none(request_text: str) -> None:
    assert not asks(request_text)


@pytest.mark.parametrize(("expected", "given", "asked"), CASES["same"])
def test_answers_with_the_same_content_are_the_same(expected: str, given: str, asked: str) -> None:
    assert same_answer(expected, given, asked)


@pytest.mark.parametrize(("expected", "given", "asked"), CASES["different"])
def test_answers_with_another_content_are_different(expected: str, given: str, asked: str) -> None:
    assert not same_answer(expected, given, asked)


def test_an_answer_has_content_and_at_most_20_words() -> None:
    assert all(says_nothing(answer) for answer in CASES["says_nothing"])
    assert not any(says_nothing(answer) for answer in CASES["says_something"])
    assert [is_comparable(answer) for answer in ("", "one", "word " * 20, "word " * 21)] == [
        *(False, True, True, False),
    ]
