"""A template as a chat format: a model's own, if its prompts extend each other, or a named one.

The template reads contents and renders placeholders in their place. Its text is divided at them and at the
special tokens that it writes; contents are inserted as plain text afterwards, so no content can become a
special token, not even together with the template's text around it. A placeholder is surrounded by white
space: where the template trims it, the content is trimmed too.

An assistant's content is inserted as it was sampled: with its thinking, which some templates remove from
earlier turns, and without being trimmed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby

from tokenizers import AddedToken

from ..failures import JobFailure, bad_input
from .contents import Contents
from .format import Message, Piece, Tool, action, plain, special
from .placeholders import (
    REMEDY,
    MissingHeader,
    Rendering,
    TemplateChange,
    common_length,
    mark_tokens,
    readable,
    without_marks,
    written_as,
)
from .template_renderer import render_template

NAME = "template"
ROLES = ("system", "user", "assistant", "tool")
_THINKING = re.compile(
    r"\s*(<(mm:)?think>\s*)?(</(mm:)?think>\s*)?|<\|channel>thought\n<channel\|>"  # MiniMax; Gemma
)
_UNCLOSED_TAG = re.compile(r"</?[\w:]*\Z")


@dataclass(frozen=True)
class RoleMap:
    """The roles that messages get before the template renders them."""

    system: str = "system"
    """`user`: the template takes no system message, so it begins the first user message; needs `merges`."""
    tool: str = "tool"
    """`user`: the template takes no tool results."""
    merges: bool = False
    """Joins consecutive user messages with an empty line, for templates that demand alternating roles."""


@dataclass(frozen=True)
class ActionShape:
    """The text that a template writes around an assistant's content."""

    end_token: str = ""
    margins: tuple[str, str] = ("", "")
    """White space before and after the content, as in Llama 2's ` content </s>`."""
    opening: str = ""
    """`<think>` at the end of a prompt that earlier turns lack; kept before every action, as served."""
    unsampled: str = ""
    """Empty thinking that prompts lack and earlier turns have; left out, as actions stay as sampled."""


@dataclass(frozen=True)
class TemplateFormat:
    template: str
    variables: Mapping[str, str]
    """Special tokens by their names in the template, such as `bos_token`."""
    added_tokens: Collection[AddedToken]
    roles: RoleMap = RoleMap()
    shape: ActionShape = ActionShape()
    name: str = NAME
    """`template` for a model's own template, else the name of one of this package."""
    more_stop_tokens: tuple[str, ...] = ()

    def with_shape(self) -> TemplateFormat:
        """Finds the shape of an action by the difference of two prompts.

        Raises:
            MissingHeader: an action begins with a text of the template.
            JobFailure: `bad-input` when a prompt does not extend the one before it, or no single added token
                of the tokenizer ends an assistant's turn.
        """
        user, assistant = Message(role="user", content="a"), Message(role="assistant", content="a")
        earlier = self._render([user], (), add_generation_prompt=True).text
        rendering = self._render([user, assistant, user], (), add_generation_prompt=True)
        later = rendering.text
        header = common_length(earlier, later)
        if tag := _UNCLOSED_TAG.search(earlier, 0, header):  # `<think>` becomes `</think>`
            header = tag.start() if header < len(earlier) else header
        opening = earlier[header:]
        content = next(match for match, message, _ in rendering.placeholders() if message == 1)
        before, after = later[header : content.start()], later[content.end() :]
        unsampled = before if before.strip() else ""
        is_blank = opening and not opening.strip() and not unsampled
        if not _THINKING.fullmatch(opening) or content.start() < header or is_blank:
            raise TemplateChange(0, "user", earlier, later)
        if not _THINKING.fullmatch(unsampled):
            raise MissingHeader(before)
        margin = after[: len(after) - len(after.lstrip())]
        end = self._control.match(after, len(margin))
        if end is None:
            found = f"one that writes {readable(after[:40])!r} after an assistant's content"
            raise bad_input("chat template", found, f"a special token of the tokenizer there; {REMEDY}")
        before = before.removesuffix(unsampled)
        return replace(self, shape=ActionShape(end[0], (before, margin), opening, unsampled))

    def with_template_shape(self) -> TemplateFormat:
        """Returns the format with the template's own text around earlier actions, to compare both."""
        before, after = self.shape.margins
        shape = replace(self.shape, opening="", margins=(self.shape.unsampled + before, after), unsampled="")
        return replace(self, shape=shape)

    def record(self) -> dict[str, object]:
        """Returns the format for chat_format.json, without its template; the shape is found again."""
        return {"name": NAME, "variables": dict(self.variables), "roles": asdict(self.roles)}

    @property
    def end_token(self) -> str:
        return self.shape.end_token

    @property
    def other_stop_tokens(self) -> tuple[str, ...]:
        """Further tokens at which a server stops, if the tokenizer has them."""
        eos = self.variables.get("eos_token", self.end_token)
        return (*(() if eos == self.end_token else (eos,)), *self.more_stop_tokens)

    @property
    def pad_tokens(self) -> tuple[str, ...]:
        """Candidates for padding; the first that the tokenizer has is used."""
        found = [self.variables.get(f"{name}_token", "") for name in ("pad", "unk", "eos")]
        return tuple(token for token in found if token not in ("", self.end_token))

    def prompt_pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[Piece]:
        turns = self.turns(messages)
        return list(self._split(self._render(turns, tools, add_generation_prompt=True), turns))

    def pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[Piece]:
        """Returns the conversation, which starts with the prompt of its last action, and that action.

        A template may render a last message in another way than later (Qwen3 adds an empty thinking). Then
        the conversation ends with that action.
        """
        turns = self.turns(messages)
        actions = [index for index, turn in enumerate(turns) if turn["role"] == "assistant"]
        start: list[Piece] = []
        if actions:
            start = [*self.prompt_pieces(turns[: actions[-1]], tools), *self._action(turns[actions[-1]])]
        try:
            whole = list(self._split(self._render(turns, tools, add_generation_prompt=False), turns))
        except JobFailure:
            if not start:
                raise
            return start
        return whole if _text(whole).startswith(_text(start)) else start

    def turns(self, messages: Sequence[Message]) -> list[Message]:
        """Returns the messages with the roles that the template gets; raises `bad-input` for another role."""
        for index, message in enumerate(messages):
            if message["role"] not in ROLES and self.name == NAME:
                raise bad_input(f"messages[{index}].role", message["role"], f"one of {', '.join(ROLES)}")
        mapped = {"system": self.roles.system, "tool": self.roles.tool}
        turns = [
            Message(role=mapped.get(message["role"], message["role"]), content=message["content"])
            for message in messages
        ]
        if not self.roles.merges:
            return turns
        merged: list[Message] = []
        for role, run in groupby(turns, key=lambda turn: turn["role"]):
            same = list(run)
            joined = "\n\n".join(turn["content"] for turn in same)
            merged += [Message(role=role, content=joined)] if role == "user" else same
        return merged

    def is_control(self, token: AddedToken) -> bool:
        """Returns whether a token is plain text in contents but the policy's.

        Others are vocabulary, as Gemma's blanks. A named format has none.
        """
        is_blank = not token.content.replace("\u2581", " ").strip()  # SentencePiece's space
        return self.name != NAME or token.special or (not is_blank and token.content in self.template)

    @cached_property
    def _control(self) -> re.Pattern[str]:
        tokens = [token.content for token in self.added_tokens if self.is_control(token)]
        return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))) or "(?!)")

    def _render(
        self, turns: Sequence[Message], tools: Sequence[Tool], *, add_generation_prompt: bool
    ) -> Rendering:
        """Returns the text with a placeholder for each message that is not blank, once and in order."""
        contents = Contents(turns)
        text = render_template(
            self.template,
            contents.messages(),
            [mark_tokens(tool, self._control) for tool in tools],
            add_generation_prompt=add_generation_prompt,
            variables=self.variables,
        )
        rendering = Rendering(text, contents)
        rendering.require_each([turn["role"] for turn in turns])
        return rendering

    def _split(self, rendering: Rendering, turns: Sequence[Message]) -> Iterator[Piece]:
        """Divides a rendered text at its placeholders, and inserts the contents."""
        text = rendering.text
        before, after = self.shape.unsampled + self.shape.margins[0], self.shape.margins[1]
        position = 0
        for match, index, content in rendering.placeholders():
            turn, written = turns[index], text[position : match.start()]
            position = match.end()
            if turn["role"] != "assistant":
                yield from (*self._written(written), plain(written_as(match, content)))
                continue
            ending = after + self.end_token
            if not written.endswith(before) or not text.startswith(ending, position):
                found = f"one that writes {readable(text[position : position + 40])!r} after message {index}"
                raise bad_input("chat template", found, f"{ending!r} after every action; {REMEDY}")
            yield from self._written(written.removesuffix(before) + self.shape.opening)
            yield from self._action(turn)
            position += len(ending)
        yield from self._written(text[position:])

    def _action(self, turn: Message) -> tuple[Piece, Piece]:
        before, after = self.shape.margins
        return action(before + turn["content"] + after, self.end_token)

    def _written(self, text: str) -> Iterator[Piece]:
        """Yields a text of the template itself, divided at its special tokens."""
        position = 0
        for match in self._control.finditer(text):
            yield from (plain(without_marks(text[position : match.start()])), special(match[0]))
            position = match.end()
        yield plain(without_marks(text[position:]))


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)
