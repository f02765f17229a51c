"""The WebSocket of one episode: OpenEnv 0.10's messages in, observations and typed errors out."""

import asyncio
import logging
import time
import traceback
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocketDisconnect

from coevolve_environments.protocol import SPLITS, BadRequest, CapacityReached, Episode, Json, Observation
from coevolve_environments.server.encoding import encode
from coevolve_environments.server.inbox import Inbox
from coevolve_environments.server.messages import MessageRefused, parse_message, send_error
from coevolve_environments.server.session_socket import SessionSocket
from coevolve_environments.server.task_routes import LISTING_SECONDS
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Lease

log = logging.getLogger(__name__)

_FAREWELL_SECONDS = 1.0
_HOLDER_CHARACTERS = 200


async def serve_session(socket: SessionSocket, host: HostedEnvironment) -> None:
    """Answers one socket until it closes, says `close`, or its lease ends."""
    await socket.accept()
    try:
        lease = host.open_session()
    except CapacityReached as reached:
        counts = {"active_sessions": host.session_count, "max_sessions": host.capacity}
        await send_error(socket, "CAPACITY_REACHED", str(reached), counts)
        await socket.close(1013)
        return
    inbox, session = Inbox(socket), _Session(host, lease)
    try:
        await _converse(socket, inbox, session, lease)
    except WebSocketDisconnect:
        pass
    except asyncio.CancelledError:
        if lease.ended is None:  # the server cancels it, not its lease
            raise
        _current_task().uncancel()
        await _tell_end(socket, lease)
    finally:
        inbox.close()
        await session.end()
        host.close_session(lease)


async def _converse(socket: SessionSocket, inbox: Inbox, session: "_Session", lease: Lease) -> None:
    inline = session.inline
    while True:
        text = await inbox.next()
        lease.working(True)
        try:
            message = parse_message(text)
            if message["type"] == "close":
                await socket.close(1000)
                return
            answering = session.answer(message)
            answer = await answering if inline else await inbox.unless_gone(answering)
            lease.working(False)  # before it is sent: a client that does not read is silent too
            await socket.send_text(encode(answer))
        except MessageRefused as refused:
            lease.working(False)
            await send_error(socket, refused.code, str(refused))


async def _tell_end(socket: SessionSocket, lease: Lease) -> None:
    """Tells a client that may be gone or not reading, and does not wait for it."""
    with suppress(TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(_FAREWELL_SECONDS):
            await send_error(socket, "SESSION_ERROR", lease.explain(), {"reason": lease.ended})
            await socket.close(1001)


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


class _Session:
    """At most one episode at a time; a new reset ends the one before."""

    def __init__(self, host: HostedEnvironment, lease: Lease) -> None:
        self.inline = host.environment.inline
        self._host = host
        self._lease = lease
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
            raise MessageRefused("VALIDATION_ERROR", str(error)) from error
        except MessageRefused:
            raise
        except Exception as error:  # a fault of the environment: reported as one, never scored
            log.error("%s: %s failed: %s", self._host.environment.name, message["type"], _one_line(error))
            self._host.metrics.fault(error)
            await self.end()
            raise MessageRefused("EXECUTION_ERROR", f"{type(error).__name__}: {error}") from error
        return {"type": "observation", "data": self._observation(answer)}

    async def end(self) -> None:
        episode, self._episode = self._episode, None
        self._lease.end_episode()
        if episode is not None:
            await self._host.end_episode(episode.close)

    async def _reset(self, data: Json) -> Observation:
        seed = data.get("seed", 0)
        if seed is None:
            seed = 0
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise BadRequest("`seed` must be an integer")
        definition = await self._definition(data)
        self._hold(data.get("lease", {}))
        await self.end()
        began = time.perf_counter()
        self._lease.begin_episode()
        self._episode = await self._make(definition, seed)
        try:
            answer = await self._host.call(self._episode.open)
        except BadRequest:
            await self.end()
            raise
        self._host.metrics.reset(time.perf_counter() - began)
        self._episode_id, self._steps, self._done = data.get("episode_id"), 0, answer.done
        return answer

    async def _make(self, definition: Json, seed: int) -> Episode:
        environment = self._host.environment
        try:
            return await self._host.call(lambda: environment.start(definition, seed), discard=_close)
        except BadRequest:
            self._lease.end_episode()
            raise
        except CapacityReached as reached:
            self._lease.end_episode()
            raise MessageRefused("CAPACITY_REACHED", str(reached)) from reached
        except Exception as error:
            self._lease.end_episode()
            log.error("%s: no episode could be made: %s", environment.name, _one_line(error))
            self._host.metrics.fault(error)
            raise MessageRefused("FACTORY_ERROR", f"{type(error).__name__}: {error}") from error

    async def _step(self, data: Json) -> Observation:
        content = data.get("content")
        if not isinstance(content, str):
            raise BadRequest('an action is {"content": "<text>"}')
        episode = self._episode
        if episode is None:
            raise MessageRefused("SESSION_ERROR", "reset first: no episode is open")
        if self._done:
            raise MessageRefused("SESSION_ERROR", "the episode is done: reset to play again")
        began = time.perf_counter()
        answer = await self._host.call(lambda: episode.act(content))
        self._host.metrics.step(time.perf_counter() - began)
        self._steps += 1
        self._done = answer.done
        if answer.done:
            self._lease.end_episode()
        return answer

    def _hold(self, lease: Any) -> None:
        holder = lease.get("holder") if isinstance(lease, dict) else 0
        if holder is None:
            return
        if not isinstance(holder, str) or not 0 < len(holder) <= _HOLDER_CHARACTERS:
            raise BadRequest(f'`lease` is {{"holder": "<at most {_HOLDER_CHARACTERS} characters>"}}')
        self._lease.holder = holder

    async def _definition(self, data: Json) -> Json:
        if "task" in data:
            if not isinstance(data["task"], dict):
                raise BadRequest("`task` must be a task definition")
            return data["task"]
        task_id = data.get("task_id")
        return await self._host.call(lambda: self._published(task_id), LISTING_SECONDS)

    def _published(self, task_id: Any) -> Json:
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

    def _observation(self, answer: Observation) -> Json:
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


def _close(episode: Episode) -> None:
    episode.close()


def _one_line(error: Exception) -> str:
    """The error and the line that raised it, for a log of one line per event."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {error} ({frames[-1].filename}:{frames[-1].lineno})"
