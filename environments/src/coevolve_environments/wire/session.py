"""The WebSocket of one episode: OpenEnv 0.10's messages in, observations and typed errors out."""

import asyncio
import json
import logging
import traceback
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from coevolve_environments.hosting.host import CapacityReached, Host
from coevolve_environments.protocol import SPLITS, Answer, BadRequest, Episode, Json

log = logging.getLogger(__name__)


class _Refused(Exception):
    """A message that gets a typed error and leaves the session as it was."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def serve_session(socket: WebSocket, host: Host, idle_seconds: float) -> None:
    """Answers one socket until it closes, says `close`, or is silent for `idle_seconds`."""
    await socket.accept()
    try:
        host.take()
    except CapacityReached as reached:
        counts = {"active_sessions": host.sessions, "max_sessions": host.capacity}
        await _send_error(socket, "CAPACITY_REACHED", str(reached), counts)
        await socket.close(1013)
        return
    session = _Session(host)
    try:
        await _converse(socket, session, idle_seconds)
    except WebSocketDisconnect:
        pass
    finally:
        session.end()
        host.give_back()


async def _converse(socket: WebSocket, session: "_Session", idle_seconds: float) -> None:
    while True:
        try:
            text = await asyncio.wait_for(_receive(socket), idle_seconds)
        except TimeoutError:
            await _send_error(socket, "SESSION_ERROR", f"session was idle for {idle_seconds:g} s")
            await socket.close(1001)
            return
        try:
            message = _parse(text)
            if message["type"] == "close":
                await socket.close(1000)
                return
            await socket.send_text(json.dumps(await session.answer(message)))
        except _Refused as refused:
            await _send_error(socket, refused.code, str(refused))


async def _receive(socket: WebSocket) -> str:
    event = await socket.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(event.get("code", 1006))
    text = event.get("text")
    return text if isinstance(text, str) else ""  # a binary frame is not JSON


def _parse(text: str) -> Json:
    try:
        message = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _Refused("INVALID_JSON", f"not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("data", {}), dict):
        raise _Refused("VALIDATION_ERROR", "a message is an object with `type` and an object `data`")
    if message.get("type") not in ("reset", "step", "state", "close"):
        raise _Refused("UNKNOWN_TYPE", f"unknown message type: {message.get('type')!r}")
    return message


class _Session:
    """At most one episode at a time; a new reset ends the one before."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._episode: Episode | None = None
        self._episode_id: str | None = None
        self._steps = 0
        self._done = False

    async def answer(self, message: Json) -> Json:
        data = message.get("data", {})
        try:
            if message["type"] == "state":
                return {"type": "state", "data": self._state()}
            answer = await (self._reset(data) if message["type"] == "reset" else self._step(data))
        except BadRequest as error:
            raise _Refused("VALIDATION_ERROR", str(error)) from error
        except _Refused:
            raise
        except Exception as error:  # a fault of the environment: reported as one, never scored
            log.error("%s: %s failed: %s", self._host.environment.name, message["type"], _one_line(error))
            self.end()
            raise _Refused("EXECUTION_ERROR", f"{type(error).__name__}: {error}") from error
        return {"type": "observation", "data": self._observation(answer)}

    def end(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.close()

    async def _reset(self, data: Json) -> Answer:
        seed = data.get("seed", 0)
        if seed is None:
            seed = 0
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise BadRequest("`seed` must be an integer")
        definition = self._definition(data)
        self.end()
        self._episode = await self._make(definition, seed)
        try:
            answer = await self._host.call(self._episode.open)
        except BadRequest:
            self.end()
            raise
        self._episode_id, self._steps, self._done = data.get("episode_id"), 0, answer.done
        return answer

    async def _make(self, definition: Json, seed: int) -> Episode:
        environment = self._host.environment
        try:
            return await self._host.call(lambda: environment.start(definition, seed))
        except BadRequest:
            raise
        except Exception as error:
            log.error("%s: no episode could be made: %s", environment.name, _one_line(error))
            raise _Refused("FACTORY_ERROR", f"{type(error).__name__}: {error}") from error

    async def _step(self, data: Json) -> Answer:
        content = data.get("content")
        if not isinstance(content, str):
            raise BadRequest('an action is {"content": "<text>"}')
        episode = self._episode
        if episode is None:
            raise _Refused("SESSION_ERROR", "reset first: no episode is open")
        if self._done:
            raise _Refused("SESSION_ERROR", "the episode is done: reset to play again")
        answer = await self._host.call(lambda: episode.act(content))
        self._steps += 1
        self._done = answer.done
        return answer

    def _definition(self, data: Json) -> Json:
        if "task" in data:
            if not isinstance(data["task"], dict):
                raise BadRequest("`task` must be a task definition")
            return data["task"]
        task_id = data.get("task_id")
        for split in SPLITS:
            for record in self._host.environment.published(split):
                if record.task_id == task_id:
                    return record.definition
        raise BadRequest(f"no published task {task_id!r}: give a known `task_id` or a `task` definition")

    def _state(self) -> Json:
        task_id = self._episode.task_id if self._episode else None
        return {
            "episode_id": self._episode_id,
            "step_count": self._steps,
            "task_id": task_id,
            "done": self._done,
        }

    def _observation(self, answer: Answer) -> Json:
        assert self._episode is not None
        info: Json = {
            "task_id": self._episode.task_id,
            "env": self._host.environment.name,
            "split": self._episode.split,
            "turn": answer.turn,
        }
        if answer.score is not None:
            info["score"] = answer.score
        observation: Json = {"messages": answer.messages, "info": info}
        if answer.tools is not None:
            observation["tools"] = answer.tools
        data: Json = {"observation": observation, "reward": answer.reward, "done": answer.done}
        return {**data, "metadata": answer.metadata} if answer.done else data


def _one_line(error: Exception) -> str:
    """The error and the line that raised it, for a log of one line per event."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {error} ({frames[-1].filename}:{frames[-1].lineno})"


async def _send_error(
    socket: WebSocket, code: str, message: str, extra: dict[str, Any] | None = None
) -> None:
    await socket.send_text(
        json.dumps({"type": "error", "data": {"message": message, "code": code, **(extra or {})}})
    )
