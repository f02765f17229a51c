"""A model's own template is code of another author."""

import threading

import pytest

from coevolve_trainer.chat import template_renderer
from coevolve_trainer.chat.format import Message
from coevolve_trainer.chat.template_renderer import render_template
from coevolve_trainer.failures import JobFailure

ENDLESS = "".join(f"{{% for {name} in range(9999) %}}" for name in "abcd") + "{% endfor %}" * 4
MESSAGES: list[Message] = [{"role": "user", "content": "hi"}]


def test_a_template_that_does_not_end_is_rejected_in_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_renderer, "RENDER_SECONDS", 0.1)
    failures: list[JobFailure] = []

    def render() -> None:
        try:
            render_template(ENDLESS, MESSAGES, add_generation_prompt=True, variables={})
        except JobFailure as failure:
            failures.append(failure)

    thread = threading.Thread(target=render)
    thread.start()
    render()
    thread.join()
    assert ["needs more than 0.1 s for 1 messages" in str(failure) for failure in failures] == [True, True]
    text = "{{ messages[0]['content'] }}"
    assert render_template(text, MESSAGES, add_generation_prompt=True, variables={}) == "hi"
