"""Builds the tokenizer of a GGUF file whose vocabulary is SentencePiece's BPE, as Llama 2's and Mistral's.

SentencePiece merges the pair whose piece has the highest score, and of equal scores the leftmost pair. The
BPE of tokenizers merges by rank, so pieces of one score are possible for runs of one character only: Llama's
runs of spaces. The file lacks SentencePiece's normalizer. Llama's and Mistral's is the identity, therefore
other architectures are refused, as is everything else that this BPE would encode in another way.

transformers' own reader of these files is not used: it adds no space to a text after `<s>`, where Llama 2 was
trained with one, or to a text that starts with a space. Its search for merges is used, with normal pieces,
because SentencePiece never makes a control token of text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from ..chat.format import Message
from ..chat.template_renderer import render_template
from ..failures import JobFailure, bad_input

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # token types of GGUF
_SPACE = "\u2581"
_BYTES = {f"<0x{byte:02X}>" for byte in range(256)}
_ROLES = ("user", "assistant", "user")
_PROBE = [Message(role=role, content="text") for role in _ROLES]
_REMEDY = "import the model's folder in the format of transformers instead"


class _Vocabulary(NamedTuple):
    tokens: list[str]
    scores: list[float]
    kinds: list[int]

    def of_kind(self, *kinds: int) -> list[str]:
        return [token for token, kind in zip(self.tokens, self.kinds, strict=True) if kind in kinds]


def sentencepiece_tokenizer(fields: Mapping[str, Any], names: Mapping[str, str]) -> Tokenizer:
    """Builds the tokenizer described by a GGUF file's `tokenizer.ggml.*` fields.

    Args:
        names: the special tokens by their names in templates, such as `bos_token`.

    Raises:
        JobFailure: `bad-input` when it would not encode as SentencePiece does.
    """
    vocabulary = _read_vocabulary(fields)
    merges = _merges(vocabulary)
    made = {first + second for first, second in merges}
    user_defined = _user_defined(vocabulary, made)
    _require_one_order(vocabulary, made, user_defined)
    unknown, control = vocabulary.of_kind(UNKNOWN), vocabulary.of_kind(CONTROL)
    model: Any = models.BPE(
        {token: id for id, token in enumerate(vocabulary.tokens)},
        merges,
        unk_token=unknown[0] if unknown else None,
        fuse_unk=True,
        byte_fallback=bool(vocabulary.of_kind(BYTE)),
    )
    tokenizer = Tokenizer(model)
    for special, tokens in ((True, unknown + control), (False, user_defined)):
        added = [AddedToken(token, special=special, normalized=False) for token in tokens]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    adds_space = fields.get("tokenizer.ggml.add_space_prefix", True)
    once = _writes_spaces(fields, names, vocabulary)
    if adds_space and not once:
        _require_whole_texts(vocabulary, user_defined)
    _set_spaces(tokenizer, adds_space=adds_space, once=once)
    _set_ends(tokenizer, fields, names)
    return tokenizer


def default_special_ids(fields: Mapping[str, Any]) -> dict[str, int]:
    """Returns SentencePiece's own ids, which old files do not state; llama.cpp assumes them too."""
    kinds = fields.get("tokenizer.ggml.token_type", [])
    defaults = {"unk_token": (0, UNKNOWN), "bos_token": (1, CONTROL), "eos_token": (2, CONTROL)}
    return {name: id for name, (id, kind) in defaults.items() if list(kinds[id : id + 1]) == [kind]}


def _read_vocabulary(fields: Mapping[str, Any]) -> _Vocabulary:
    prefix, architecture = "tokenizer.ggml.", fields.get("general.architecture")
    if architecture != "llama":
        expected = "llama for a SentencePiece vocabulary, because the file lacks the normalizer of others"
        raise bad_input("general.architecture", architecture, f"{expected}; {_REMEDY}")
    for name in ("precompiled_charsmap", "remove_extra_whitespaces"):
        if fields.get(prefix + name):
            found = "true" if fields[prefix + name] is True else "a table of characters"
            raise bad_input(prefix + name, found, f"none, as in Llama's vocabularies; {_REMEDY}")
    tokens = list(fields.get(f"{prefix}tokens", []))
    lists = [list(fields.get(prefix + name, [])) for name in ("scores", "token_type")]
    for name, values in zip(("scores", "token_type"), lists, strict=True):
        if len(values) != len(tokens):
            raise bad_input(prefix + name, f"{len(values)} values", f"one for each of {len(tokens)} tokens")
    vocabulary = _Vocabulary(tokens, *lists)
    if len(set(tokens)) != len(tokens):
        ((token, count),) = Counter(tokens).most_common(1)
        raise bad_input(f"{prefix}tokens", f"{token!r} {count} times", f"every token once; {_REMEDY}")
    fraction = next((score for score in vocabulary.scores if not float(score).is_integer()), None)
    if fraction is not None:
        expected = f"whole numbers, the ranks of a BPE (a unigram model has probabilities); {_REMEDY}"
        raise bad_input(f"{prefix}scores", fraction, expected)
    found_bytes = set(vocabulary.of_kind(BYTE))
    if found_bytes and found_bytes != _BYTES:
        found = f"{len(found_bytes & _BYTES)} of the byte tokens <0x00> to <0xFF>"
        raise bad_input(f"{prefix}token_type", found, f"all 256 or none; {_REMEDY}")
    if not found_bytes and not vocabulary.of_kind(UNKNOWN):
        expected = f"an unknown token (type {UNKNOWN}) or byte tokens (type {BYTE}); {_REMEDY}"
        raise bad_input(f"{prefix}token_type", "neither", expected)
    return vocabulary


def _merges(vocabulary: _Vocabulary) -> list[tuple[str, str]]:
    """Returns the pairs of which a piece can be made, best first; control and byte tokens are never made."""
    from transformers.tokenization_utils_base import generate_merges

    rows = enumerate(zip(*vocabulary, strict=True))
    pieces = {token: (id, score) for id, (token, score, kind) in rows if kind in (NORMAL, UNUSED)}
    ids = {piece: id for piece, (id, _) in pieces.items()}
    return list(generate_merges(ids, {piece: score for piece, (_, score) in pieces.items()}))


def _user_defined(vocabulary: _Vocabulary, made: set[str]) -> list[str]:
    """Returns the tokens that are matched as a whole in any text.

    Converters write SentencePiece's own as normal pieces. Their score is 0, and no merge makes them.
    """
    rows = zip(*vocabulary, strict=True)
    normal = [token for token, score, kind in rows if kind == NORMAL and score == 0 and len(token) > 1]
    return [*vocabulary.of_kind(USER_DEFINED), *(token for token in normal if token not in made)]


def _require_one_order(vocabulary: _Vocabulary, made: set[str], user_defined: list[str]) -> None:
    """Raises `bad-input` when merges in the order of ranks may differ from SentencePiece's."""
    score_of = dict(zip(vocabulary.tokens, vocabulary.scores, strict=True))
    for piece in set(vocabulary.of_kind(NORMAL)).difference(user_defined):
        missing = next((letter for letter in piece if letter not in score_of), None)
        if missing is not None:
            found = f"{piece!r} without its character {missing!r}"
            raise bad_input("tokenizer.ggml.tokens", found, f"every character of a piece; {_REMEDY}")
    tied: dict[float, list[str]] = defaultdict(list)
    for piece in sorted(made):
        tied[score_of[piece]].append(piece)
    for score, pieces in tied.items():
        if len(pieces) > 1 and len(set("".join(pieces))) > 1:
            found = f"{score + 0.0:g} for {len(pieces)} pieces, such as {pieces[0]!r} and {pieces[1]!r}"
            expected = f"another score for each piece, because it orders the merges; {_REMEDY}"
            raise bad_input("tokenizer.ggml.scores", found, expected)
    unused = made.intersection(vocabulary.of_kind(UNUSED))
    if unused:
        found = f"{UNUSED} (unused) for {min(unused)!r}, which merges can make"
        raise bad_input("tokenizer.ggml.token_type", found, f"unused tokens apart from pieces; {_REMEDY}")


def _require_whole_texts(vocabulary: _Vocabulary, user_defined: list[str]) -> None:
    """Raises `bad-input` for a piece that divides a text and is not followed by a space, as added tokens are.

    Converters give added tokens, which SentencePiece does not know, a score below 0.
    """
    score_of = dict(zip(vocabulary.tokens, vocabulary.scores, strict=True))
    piece = next((token for token in user_defined if score_of[token] == 0), None)
    if piece is not None:
        found = f"the user-defined piece {piece!r}"
        expected = f"none in a vocabulary that adds a space before every text; {_REMEDY}"
        raise bad_input("tokenizer.ggml.tokens", found, expected)


def _writes_spaces(fields: Mapping[str, Any], names: Mapping[str, str], vocabulary: _Vocabulary) -> bool:
    """Returns whether the chat template itself writes the space that SentencePiece adds to every text.

    Mistral's templates do it since its version 2, after `[INST]`: the tokenizer adds no second one there.
    """
    template = fields.get("tokenizer.chat_template")
    if not template:
        return False
    try:
        text = render_template(template, _PROBE, add_generation_prompt=True, variables=names)
    except JobFailure:
        return False  # a fault of the template, which the import reports when it checks it
    others = set(vocabulary.of_kind(CONTROL, USER_DEFINED)) - set(names.values())
    return any(f"{token} " in text for token in others)


def _set_spaces(tokenizer: Tokenizer, *, adds_space: bool, once: bool) -> None:
    """Writes spaces as SentencePiece does, with one before a text if `adds_space`.

    The texts of a conversation are those between special tokens, as in llama.cpp; with `once` only the first
    text of all gets a space, as in the tokenizer.json of Mistral's version 3.
    """
    replaced = normalizers.Replace(" ", _SPACE)
    decoder: Sequence[Any] = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    pipeline: Any = tokenizer
    if not adds_space:
        pipeline.normalizer = replaced
    elif once:
        pipeline.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        pipeline.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), replaced])
    pipeline.decoder = decoders.Sequence([*decoder, *([decoders.Strip(" ", 1, 0)] if adds_space else [])])


def _set_ends(tokenizer: Tokenizer, fields: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Begins texts outside of chats with `<s>`, unless the file sets it otherwise, as llama.cpp does."""
    bos = names.get("bos_token") if fields.get("tokenizer.ggml.add_bos_token", True) else None
    eos = names.get("eos_token") if fields.get("tokenizer.ggml.add_eos_token", False) else None
    single = [f"{token}:0" for token in (bos, "$A", eos) if token]
    pair = [f"{token}:1" for token in (bos, "$B", eos) if token]
    special: Any = [(token, tokenizer.token_to_id(token)) for token in (bos, eos) if token]
    pipeline: Any = tokenizer
    pipeline.post_processor = processors.TemplateProcessing(single, [*single, *pair], special)
