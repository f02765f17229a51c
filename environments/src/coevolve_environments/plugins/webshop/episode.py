"""One attempt at one goal of the shop."""

import re

from coevolve_environments.plugins.remote.client import RemoteFault
from coevolve_environments.plugins.remote.episode import RemoteEpisode
from coevolve_environments.plugins.spellings import action_text, bare_answer, only_call
from coevolve_environments.plugins.webshop.instructions import Instructions, find_instruction
from coevolve_environments.plugins.webshop.shop import Page, Shop, ShopSession
from coevolve_environments.protocol import Json, Observation, StopReason

ACTION_FORM = "search[<keywords>] or click[<a value on the page>]"
_ACTION = re.compile(r"(search|click)\s*\[(.+)\]", re.IGNORECASE)
_MENTION = re.compile(r"\b(search|click)\s*\[([^\[\]\n]+)\]", re.IGNORECASE)
_NAMES = ("search", "click")
_ARGUMENTS = ("action", "command")
_INSTRUCTION = (
    "You shop in a web shop and buy the product that best fits the instruction. Each turn shows you a page, "
    "its parts divided by [SEP]. Answer with a thought and one action: search[keywords] where the page has a "
    "search bar, or click[value] with a button, product or option of the page. click[buy now] buys and ends "
    "the episode.\n\nThought: <why>\nAction: <the action>"
)


class WebShopEpisode(RemoteEpisode):
    """The reward is the shop's, given at the purchase: 1 if type, attributes, options and price all fit.

    As in ETO, an invalid action costs a step, and an episode without a purchase has reward 0.
    """

    def __init__(self, shop: Shop, instructions: Instructions, definition: Json) -> None:
        super().__init__()
        self.task_id = definition["task_id"]
        self.split = definition["split"]
        self._goal: int = definition["goal"]
        self._limit: int = definition["max_turns"]
        self._instruction: str | None = definition.get("instruction")
        self._shop, self._instructions = shop, instructions
        self._session: ShopSession | None = None
        self._steps = 0

    def _begin(self) -> Observation:
        self._session, page = self._instructions.enter(self._goal, self._instruction)
        messages = [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": page.text}]
        return Observation(messages, turn=0, instruction=find_instruction(page.text))

    def _continue(self, content: str) -> Observation:
        self._steps += 1
        action = shop_action(content)
        if action is None:
            return self._observe(
                Page(f"Invalid format: an action is {ACTION_FORM}, after `Action:`."), "bad-format"
            )
        if self._session is None:
            raise RemoteFault("the episode is not open")
        return self._observe(self._shop.step(self._session, action), None)

    def _release(self) -> None:
        if self._session is not None:
            self._shop.leave(self._session, reusable=self._is_reusable)

    def _observe(self, page: Page, error: str | None) -> Observation:
        messages = [{"role": "user", "content": f"Observation:\n{page.text}"}]
        if page.done:
            return self._finish(messages, page.reward, "completed", None)
        if self._steps >= self._limit:
            return self._finish(messages, 0.0, "turn-limit", error or "no-purchase")
        return Observation(messages, self._steps)

    def _finish(
        self, messages: list[dict[str, str]], reward: float, stop_reason: StopReason, error: str | None
    ) -> Observation:
        return Observation.final(
            messages,
            self._steps,
            reward=reward,
            raw_score=reward,
            success=reward == 1.0,
            stop_reason=stop_reason,
            error_type=error,
        )


def shop_action(content: str) -> str | None:
    """Returns `search[...]` or `click[...]` from the first line of the action, in the shop's spelling.

    An answer may instead mention one action alone, at its end, or call it as JSON with one argument. Returns
    None if the text has no such action: the shop would ignore it, so no request is needed.
    """
    answer = bare_answer(content)
    if (call := only_call(answer)) is not None and call.name.lower() in _NAMES:
        values = list(call.arguments.values())
        return _spelled(call.name, values[0]) if len(values) == 1 and isinstance(values[0], str) else None
    text = action_text(content, _ARGUMENTS)
    lines = text.splitlines()
    found = _ACTION.fullmatch(lines[0].strip()) if lines else None
    if found is not None:
        return _spelled(found[1], found[2])
    mentioned = list(_MENTION.finditer(text))
    is_end = len(mentioned) == 1 and not text[mentioned[0].end() :].strip(" .!`\n")
    return _spelled(mentioned[0][1], mentioned[0][2]) if is_end else None


def _spelled(name: str, value: str) -> str | None:
    kept = " ".join(value.split())
    return f"{name.lower()}[{kept}]" if kept else None
