"""Thinking is masked token by token, and rows without earlier thinking are the prompts that were served."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from coevolve_trainer.chat.encoder import ChatEncoder, Message, Segment
from coevolve_trainer.chat.named_formats import named_format
from coevolve_trainer.data.dataset import Dataset, read_dataset
from coevolve_trainer.data.rollout_batch import read_rollouts
from coevolve_trainer.data.segments import RecordedTurn, merge_turns
from coevolve_trainer.data.thinking import (
    action_mask,
    action_tokens,
    mask_thinking,
    old_action,
    segments_without_earlier_thinking,
)
from coevolve_trainer.failures import JobFailure
from job_folder import write_rows

THOUGHT = "<think>\nHow many?\n</think>\n\n"


@pytest.fixture(scope="module", params=["text", "added tokens"])
def encoder(request: pytest.FixtureRequest, base: Path) -> ChatEncoder:
    """Tags of a policy from scratch are text; Qwen3's are tokens of their own, which are not special."""
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    if request.param == "added tokens":
        tags = ["<think>", "</think>", "<tool_response>", "</tool_response>"]
        tokenizer.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in tags])
    return ChatEncoder(tokenizer, named_format("qwen3", tokenizer))


@pytest.mark.parametrize("has_action", [True, False])
@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (" SELECT 1 ", " SELECT 1 "),
        (f"{THOUGHT}SELECT 1", "SELECT 1"),
        ("How many?</think>SELECT 1", "SELECT 1"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>How many", ""),
        ("<think>a</think><think>b", ""),
        ("</think>SELECT 1", "SELECT 1"),
        ("The tag <think> starts it", "The tag <think> starts it"),
    ],
)
def test_the_action_and_the_trained_tokens_are_those_after_the_thinking(
    encoder: ChatEncoder, answer: str, action: str, has_action: bool
) -> None:
    given = action if has_action and action != answer else None
    assert old_action(answer) == action  # of a row of release 0.1.0
    row = encoder.segment([{"role": "user", "content": "q"}, {"role": "assistant", "content": answer}])
    masked = mask_thinking(row, encoder.decode, [given])
    trained = [id for id, acts in zip(masked.input_ids, masked.action_mask, strict=True) if acts]
    assert encoder.decode(trained).strip() == action.strip()
    assert masked.input_ids == row.input_ids
    assert all(new <= old for new, old in zip(masked.action_mask, row.action_mask, strict=True))


@given(st.text(alphabet="a<>/think\n é😀"), st.text(alphabet="b\n é😀"))
def test_the_masked_tokens_end_with_the_tag(base: Path, thought: str, action: str) -> None:
    encoder = ChatEncoder.load(base)
    ids = encoder.tokenizer.encode(f"<think>{thought}</think>{action}", add_special_tokens=False).ids
    count = action_tokens(ids, encoder.decode, None).start
    assert encoder.decode(ids[:count]).count("</think>") == f"{thought}</think>".count("</think>")
    assert "</think>" not in encoder.decode(ids[count:])


@pytest.mark.parametrize(
    "text", ["{}", "<think>a</think>{}", "{} ", "é<think>b</think>\n\n{}\n<think>c", "{}\n<think>"]
)
@given(st.text(alphabet="b \n😀", min_size=1))
def test_the_tokens_of_an_action_contain_its_text_and_no_tag(base: Path, text: str, action: str) -> None:
    encoder = ChatEncoder.load(base)
    action = action.strip()
    ids = encoder.tokenizer.encode(text.format(action), add_special_tokens=False).ids
    tokens = action_tokens(ids, encoder.decode, action)
    trained = encoder.decode(ids[tokens.start : tokens.stop])
    assert trained.strip() == action
    assert bool(tokens) == bool(action)


def test_an_action_that_its_tokens_do_not_contain_begins_after_the_last_tag(encoder: ChatEncoder) -> None:
    ids = encoder.tokenizer.encode("<think>a</think>[ls()]", add_special_tokens=False).ids
    tokens = action_tokens(ids, encoder.decode, "<tool_call>\n{}\n</tool_call>")  # rewritten by a server
    assert encoder.decode(ids[tokens.start :]) == "[ls()]"


def test_log_probabilities_of_masked_tokens_are_0(encoder: ChatEncoder) -> None:
    ids = encoder.tokenizer.encode(f"{THOUGHT}b", add_special_tokens=False).ids
    turn: RecordedTurn = {
        "prompt_token_ids": [1],
        "token_ids": ids,
        "logprobs": [-0.5] * len(ids),
        "action": "b",
    }
    (row,) = merge_turns([turn], lambda turn: action_mask(turn, encoder.decode))
    assert 0 < sum(row.action_mask) < len(ids)
    assert row.old_logp == [-0.5 * acts for acts in row.action_mask]


def test_each_row_without_earlier_thinking_is_a_served_prompt_with_its_action(encoder: ChatEncoder) -> None:
    messages: list[Message] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": f"{THOUGHT}a1"},
        {"role": "user", "content": "o1"},
        {"role": "assistant", "content": "a2"},
        {"role": "user", "content": "o2"},
        {"role": "assistant", "content": f"{THOUGHT}a3"},
    ]
    rows = segments_without_earlier_thinking(encoder, [dict(message) for message in messages])
    dropped: list[Message] = [{**m, "content": old_action(m["content"])} for m in messages]
    assert len(rows) == 2  # the second action extends no row; the third extends the second's
    first = encoder.prompt_ids(messages[:1])
    last = encoder.prompt_ids(dropped[:5])
    assert rows[0].input_ids[: len(first)] == first
    assert rows[1].input_ids[: len(last)] == last
    assert [action_texts(encoder, row) for row in rows] == [[f"{THOUGHT}a1"], ["a2", f"{THOUGHT}a3"]]


def test_the_rows_of_odd_answers_are_the_prompts_that_were_served(encoder: ChatEncoder) -> None:
    """`test/training/data/dataset-rows.test.ts` compares these rows and prompts with the program's."""
    cases = [
        json.loads(line) for line in (Path(__file__).parent / "odd_answers.jsonl").read_text().splitlines()
    ]
    assert len(cases) == 9
    for case in cases:
        first, second = segments_without_earlier_thinking(encoder, case["row"]["messages"]), case["served"][1]
        row = next(row for row in first if action_texts(encoder, row)[-1:] == ["SELECT 2"])
        prompt = encoder.prompt_ids(second)
        assert row.input_ids[: len(prompt)] == prompt, case["row"]["messages"][1]["content"]


def action_texts(encoder: ChatEncoder, row: Segment) -> list[str]:
    texts: list[str] = []
    for index, (id, acts) in enumerate(zip(row.input_ids, row.action_mask, strict=True)):
        if acts and not row.action_mask[index - 1]:
            texts.append("")
        if acts:
            texts[-1] += encoder.decode([id])
    return texts


def read(tmp_path: Path, base: Path, rows: list[dict[str, Any]], thinking: str) -> Dataset:
    path = write_rows(tmp_path / "rows.jsonl", rows)
    encoder = ChatEncoder.load(base)
    return read_dataset(path, encoder, pairs=False, demonstrations=True, max_length=512, thinking=thinking)


def test_a_dataset_masks_thinking_and_drops_an_example_of_thinking_alone(tmp_path: Path, base: Path) -> None:
    question = {"role": "user", "content": "q"}
    rows = [
        {"messages": [question, {"role": "assistant", "content": f"{THOUGHT}a"}]},
        {"messages": [question, {"role": "assistant", "content": "<think>How"}]},
    ]
    trained, masked = (read(tmp_path, base, rows, thinking) for thinking in ("train", "mask"))
    assert (len(trained.examples), trained.truncation.examples_dropped) == (2, 0)
    assert (len(masked.examples), masked.truncation.examples_dropped) == (1, 1)
    assert masked.examples[0].chosen[0].input_ids == trained.examples[0].chosen[0].input_ids
    assert sum(masked.examples[0].chosen[0].action_mask) < sum(trained.examples[0].chosen[0].action_mask)


def test_a_row_may_say_that_earlier_thinking_was_dropped(tmp_path: Path, base: Path) -> None:
    question, answer = {"role": "user", "content": "q"}, {"role": "assistant", "content": f"{THOUGHT}a"}
    conversation = [question, answer, question, answer]
    kept = read(tmp_path, base, [{"messages": conversation}], "train")
    dropped = read(tmp_path, base, [{"messages": conversation, "thinking": "drop"}], "train")
    assert (len(kept.examples[0].chosen), len(dropped.examples[0].chosen)) == (1, 2)
    with pytest.raises(JobFailure, match=r"line 1\.thinking"):
        read(tmp_path, base, [{"messages": conversation, "thinking": "later"}], "train")


def test_a_rollout_of_thinking_alone_has_no_part_in_an_update(tmp_path: Path, base: Path) -> None:
    encoder = ChatEncoder.load(base)

    def rollout(name: str, text: str) -> dict[str, Any]:
        ids = encoder.tokenizer.encode(text, add_special_tokens=False).ids
        turn = {"prompt_token_ids": [3, 4], "token_ids": ids, "logprobs": [-0.5] * len(ids)}
        return {"trajectory_id": name, "group": "task", "advantage": 1.0, "turns": [turn]}

    rows = [rollout("cut", "<think>How"), rollout("whole", f"{THOUGHT}a")]
    path = write_rows(tmp_path / "batch.jsonl", rows)
    batches = [
        read_rollouts(path, encoder, name="batch 1", score="advantage", max_length=512, thinking=thinking)
        for thinking in ("train", "mask")
    ]
    assert [len(batch.score) for batch in batches] == [2, 1]
    assert len(batches[1].old_logp) < len(batches[0].old_logp)
    assert set(batches[1].old_logp.tolist()) == {-0.5}
