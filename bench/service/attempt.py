"""One attempt at the sleeping servers, in turns that each system of bench:service stores in its own way."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypedDict

from aiohttp import ClientSession, ClientWebSocketResponse, TCPConnector

Json = dict[str, Any]


class Turn(TypedDict):
    """The result of a turn, which a system stores: all that the next turn needs."""

    shown: str
    """The observation that the action answers."""
    action: str
    observed: str
    reward: float


class Attempt:
    """Plays a task's turns over one WebSocket, which no system can store.

    The socket opens with the first turn that is played. An attempt that a kill interrupted therefore opens
    another one and repeats the stored actions in it, before it samples the next one.
    """

    def __init__(self, session: ClientSession, servers: "Servers", number: int) -> None:
        self._session, self._servers, self._number = session, servers, number
        self._socket: ClientWebSocketResponse | None = None
        self._shown = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket:
            await self._socket.close()

    async def play_turn(self, earlier: Sequence[Turn]) -> Turn:
        """Samples an action and plays it, after the earlier turns of the attempt."""
        if not self._socket:
            self._socket = await self._session.ws_connect(f"{self._servers.environment}/ws")
            self._shown = await self._repeat(earlier)
        shown = self._shown
        action = await self._sample(earlier, shown)
        observed = await self._ask({"type": "step", "data": {"text": action}})
        self._shown = str(observed["observation"]["text"])
        reward = float(observed["reward"])
        return {"shown": shown, "action": action, "observed": self._shown, "reward": reward}

    async def _repeat(self, earlier: Sequence[Turn]) -> str:
        """Brings the environment to the state after the earlier turns, and returns the last observation."""
        observed = await self._ask({"type": "reset", "data": {"seed": self._number}})
        for turn in earlier:
            observed = await self._ask({"type": "step", "data": {"text": turn["action"]}})
        return str(observed["observation"]["text"])

    async def _sample(self, earlier: Sequence[Turn], shown: str) -> str:
        body = {
            "model": "bench",
            "messages": [message for turn in earlier for message in messages_of(turn)]
            + [{"role": "user", "content": shown}],
            "seed": self._number,
            "max_tokens": 16,
            "logprobs": True,
        }
        async with self._session.post(f"{self._servers.policy}/v1/chat/completions", json=body) as response:
            return str((await response.json())["choices"][0]["message"]["content"])

    async def _ask(self, message: Json) -> Json:
        """Sends a message to the environment and returns its observation."""
        assert self._socket
        await self._socket.send_json(message)
        answer: Json = await self._socket.receive_json()
        return dict(answer["data"])


def messages_of(turn: Turn) -> list[Json]:
    return [{"role": "user", "content": turn["shown"]}, {"role": "assistant", "content": turn["action"]}]


class Servers:
    """The addresses of the sleeping servers, and one pool of connections to them."""

    def __init__(self, environment: str, policy: str) -> None:
        self.environment, self.policy = environment, policy
        self._session: ClientSession | None = None

    def attempt(self, number: int) -> Attempt:
        """Starts an attempt at the task of this number; called in the event loop that plays all attempts."""
        self._session = self._session or ClientSession(connector=TCPConnector(limit=0))
        return Attempt(self._session, self, number)
