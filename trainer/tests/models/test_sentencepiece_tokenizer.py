"""Tokenizers of GGUF files encode as the SentencePiece model from which the file was converted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.models.gguf_tokenizer import gguf_tokenizer, special_tokens
from sentencepiece_models import LLAMA, MISTRAL_V3, NO_SPACE, SPACE, gguf_fields, sentencepiece_model
from template_families import TEMPLATES

KINDS = {"llama": LLAMA, "no-space": NO_SPACE}
PREFIX = "tokenizer.ggml."

PIECES = ["SELECT", " COUNT", "(*)", "12345", "  ", "\n", "\t", "aaa", "bcb", "===", "naïve", "東京", "🦜"]
SPECIAL = ["</s>", "<s>", "<unk>", "<0x0A>", "[INST]"]
RARE = [SPACE, " " * 7, " " * 15, "\x00", "\u0301", "\ufeff", "\uff21", "\ue000"]
texts = st.one_of(
    st.text(max_size=40),
    st.text(" abc1=\n" + SPACE, max_size=60),
    st.lists(st.sampled_from([*PIECES, *SPECIAL, *RARE])).map("".join),
)


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda kind: gguf_fields(kind, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def built(fields: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Tokenizer]:
    """Tokenizers that read special tokens in texts as text, as SentencePiece does."""
    tokenizers = {name: gguf_tokenizer(fields(kind)) for name, kind in KINDS.items()}
    for tokenizer in tokenizers.values():
        tokenizer.encode_special_tokens = True
    return tokenizers


@pytest.mark.parametrize("name", KINDS)
def test_every_text_has_sentencepieces_ids(name: str, built: dict[str, Tokenizer]) -> None:
    original, tokenizer = sentencepiece_model(KINDS[name]), built[name]

    @given(texts)
    @example("")
    @example(" ")
    @example(" </s> [INST]<0x0A> \n\n x")
    def compare(text: str) -> None:
        ids = original.encode(text)
        assert ids_of(tokenizer, text) == ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == original.decode(ids)

    compare()


@pytest.mark.parametrize("name", KINDS)
def test_runs_have_sentencepieces_ids_although_their_pieces_have_one_score(
    name: str, built: dict[str, Tokenizer]
) -> None:
    original, tokenizer = sentencepiece_model(KINDS[name]), built[name]
    for character in " a=-.#\n7é🦜":
        for length in range(120):
            for text in (character * length, f"b{character * length}c", f" b {character * length}\n"):
                assert ids_of(tokenizer, text) == original.encode(text), repr(text)


def test_special_tokens_of_a_prompt_are_tokens_with_a_space_before_each_text(
    fields: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    original, tokenizer = sentencepiece_model(LLAMA), gguf_tokenizer(fields(LLAMA))
    first, second = "[INST]  How many? [/INST]", " 7 "
    expected = [1, *original.encode(first), 2, 1, *original.encode(second), 0]
    assert ids_of(tokenizer, f"<s>{first}</s><s>{second}<unk>") == expected


def test_a_template_that_writes_the_space_itself_gets_no_second_one(
    fields: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    template = (TEMPLATES / "mistral_v3.jinja").read_text()
    tokenizer = gguf_tokenizer(fields(MISTRAL_V3) | {"tokenizer.chat_template": template})
    original = sentencepiece_model(MISTRAL_V3)
    start, end = (original.piece_to_id(token) for token in ("[INST]", "[/INST]"))
    for content in ("How many?", "  two\n\n", "[DOCUMENT_1] says 7[DOCUMENT_1]", "東京"):
        expected = [1, start, *original.encode(content), end, *original.encode("7"), 2]
        assert ids_of(tokenizer, f"<s>[INST] {content}[/INST] 7</s>") == expected


def test_a_file_without_ids_of_special_tokens_has_sentencepieces_own(
    fields: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    old = {name: value for name, value in fields(LLAMA).items() if not name.endswith("_token_id")}
    assert special_tokens(old) == {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def _with_score(piece: str, score: float) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields[f"{PREFIX}scores"][fields[f"{PREFIX}tokens"].index(piece)] = score

    return change


def _with_kind(piece: str, kind: int) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields[f"{PREFIX}token_type"][fields[f"{PREFIX}tokens"].index(piece)] = kind

    return change


def _with_token(piece: str, other: str) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields[f"{PREFIX}tokens"][fields[f"{PREFIX}tokens"].index(piece)] = other

    return change


def _with(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields.update({name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_with("general.architecture", "gemma2"), "general.architecture: found gemma2, expected llama for"),
        (
            _with(f"{PREFIX}precompiled_charsmap", [1, 2]),
            "precompiled_charsmap: found a table .*, expected none",
        ),
        (
            _with(f"{PREFIX}remove_extra_whitespaces", True),
            "remove_extra_whitespaces: found true, expected none",
        ),
        (_with(f"{PREFIX}scores", []), r"scores: found 0 values, expected one for each of 700 tokens"),
        (_with(f"{PREFIX}token_type", [1]), r"token_type: found 1 values, expected one for each of 700"),
        (_with_score("▁row", -3.25), r"scores: found -3.25, expected whole numbers"),
        (_with_score("▁row", float("nan")), r"scores: found nan, expected whole numbers"),
        (
            _with_score("▁row", 0.0),
            "scores: found 0 for 2 pieces, such as .* expected another score for each",
        ),
        (
            _with_token("<0x41>", "<0x4>"),
            "token_type: found 255 of the byte tokens <0x00> to <0xFF>, expected all",
        ),
        (_with_token("▁row", "▁rows"), "tokens: found '▁rows' 2 times, expected every token once"),
        (_with_token("é", "ê"), "tokens: found .* without its character 'é'"),
        (_with_kind("▁row", 5), "token_type: found 5 .unused. for '▁row', which merges can make"),
    ],
)
def test_a_vocabulary_that_cannot_be_built_exactly_is_refused(
    change: Callable[[dict[str, Any]], None],
    message: str,
    fields: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    changed = fields(LLAMA)
    change(changed)
    with pytest.raises(JobFailure, match=message) as raised:
        gguf_tokenizer(changed)
    assert raised.value.type == "bad-input"


def test_a_vocabulary_without_bytes_needs_an_unknown_token(tmp_path: Path) -> None:
    fields = gguf_fields(LLAMA, tmp_path)
    fields[f"{PREFIX}token_type"] = [1 if kind in (2, 6) else kind for kind in fields[f"{PREFIX}token_type"]]
    with pytest.raises(JobFailure, match=r"token_type: found neither, expected an unknown token \(type 2\)"):
        gguf_tokenizer(fields)


def test_a_user_defined_piece_is_refused_where_every_text_gets_a_space(tmp_path: Path) -> None:
    with pytest.raises(JobFailure, match=r"found the user-defined piece '\[DOCUMENT_1\]', expected none"):
        gguf_tokenizer(gguf_fields(MISTRAL_V3, tmp_path))
    fields = gguf_fields({**MISTRAL_V3, "adds_space": False}, tmp_path)
    tokenizer, original = gguf_tokenizer(fields), sentencepiece_model({**MISTRAL_V3, "adds_space": False})
    for text in ("[DOCUMENT_1]", "[DOCUMENT_1] a[DOCUMENT_1]b  ", "x[DOCUMENT_1]"):
        assert ids_of(tokenizer, text) == original.encode(text)
