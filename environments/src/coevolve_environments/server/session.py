"""One session on a WebSocket: OpenEnv 0.10 messages in, observations and typed errors out."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any

from coevolve_environments.protocol import SPLITS, BadRequest, CapacityReached, Episode, Json, Observation
from coevolve_environments.server.composed_episode import start_episode
from coevolve_environments.server.failed_action import (
    PlayedActions,
    end_of_world,
    episode_seconds,
    is_result_of_text,
)
from coevolve_environments.server.log_lines import escape, one_line
from coevolve_environments.server.messages import MessageRefused, encode, parse_message, send_error
from coevolve_environments.server.session_socket import Disconnected, SessionSocket
from coevolve_environments.server.task_routes import LISTING_SECONDS
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.leases import Lease

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 1.0
_MAX_HOLDER_CHARACTERS = 200


async def serve_session(socket: SessionSocket, host: HostedEnvironment) -> None:
    """Serves one socket until a `close` message arrives or its lease ends.

    Raises:
        Disconnected: the socket has closed.
    """
    try:
        lease = host.open_session()
    except CapacityReached as error:
        counts = {"active_sessions": host.session_count, "max_sessions": host.capacity}
        await send_error(socket, "CAPACITY_REACHED", str(error), counts)
        await socket.close(1013)
        return
    session = _Session(host, lease)
    try:
        await _serve_messages(socket, session, lease)
    except asyncio.CancelledError:
        if lease.ended is None:  # cancelled by the server, not by the lease
            raise
        _current_task().uncancel()
        await _send_end(socket, lease)
    finally:
        await session.end()
        host.close_session(lease)


async def _serve_messages(socket: SessionSocket, session: "_Session", lease: Lease) -> None:
    inline = session.inline
    while True:
        text = await socket.receive_text()
        lease.set_busy(True)
        try:
            message = parse_message(text)
            if message["type"] == "close":
                return
            call = session.handle(message)
            reply = await call if inline else await socket.run_while_connected(call)
            lease.set_busy(False)  # before the reply is sent: a client that does not read it is idle too
            await socket.send_text(encode(reply))
        except MessageRefused as refused:
            lease.set_busy(False)
            await send_error(socket, refused.code, str(refused))


async def _send_end(socket: SessionSocket, lease: Lease) -> None:
    """Sends the reason and closes. Does not wait for a client that is disconnected or does not read."""
    with suppress(TimeoutError, Disconnected):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await send_error(socket, "SESSION_ERROR", lease.end_message(), {"reason": lease.ended})
            await socket.close(1001)


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


class _Session:
    """Plays at most one episode at a time; a reset ends the previous one."""

    def __init__(self, host: HostedEnvironment, lease: Lease) -> None:
        self.inline = host.environment.inline
        self._host = host
        self._lease = lease
        self._episode: Episode | None = None
        self._episode_id: str | None = None
        self._played = PlayedActions()
        self._task: Json = {}
        self._done = False

    async def handle(self, message: Json) -> Json:
        data = message.get("data", {})
        try:
            if message["type"] == "state":
                return {"type": "state", "data": self._state()}
            observation = await (self._reset(data) if message["type"] == "reset" else self._step(data))
        except BadRequest as error:
            raise MessageRefused("VALIDATION_ERROR", str(error)) from error
        except MessageRefused:
            raise
        except Exception as error:  # a fault of the environment, never a reward
            log.error("%s: %s failed: %s", self._subject, message["type"], one_line(error))
            self._host.metrics.fault(error)
            await self.end()
            raise MessageRefused("EXECUTION_ERROR", f"{type(error).__name__}: {error}") from error
        return {"type": "observation", "data": self._observation_data(observation)}

    @property
    def _subject(self) -> str:
        """The environment and the holder, such as `bfcl of campaign/7`, for `coevolve logs`."""
        name, holder = self._host.environment.name, self._lease.holder
        return name if holder is None else f"{name} of {escape(holder)}"

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
        self._set_holder(data.get("lease", {}))
        await self.end()
        began = time.perf_counter()
        self._lease.begin_episode()
        self._episode = await self._start_episode(definition, seed)
        try:
            observation = await self._host.call(self._episode.open)
        except BadRequest:
            await self.end()
            raise
        self._host.metrics.reset(time.perf_counter() - began)
        self._episode_id, self._done = data.get("episode_id"), observation.done
        limit = episode_seconds(data.get("lease"), self._host.timeouts.episode_seconds)
        self._played = PlayedActions(definition, seed, limit)
        self._task = {"task_id": self._episode.task_id, "env": self._host.environment.name}
        self._task["split"] = self._episode.split
        return observation

    async def _start_episode(self, definition: Json, seed: int) -> Episode:
        environment = self._host.environment
        try:
            return await self._host.call(lambda: start_episode(environment, definition, seed), discard=_close)
        except BadRequest:
            self._lease.end_episode()
            raise
        except CapacityReached as error:
            self._lease.end_episode()
            raise MessageRefused("CAPACITY_REACHED", str(error)) from error
        except Exception as error:
            self._lease.end_episode()
            log.error("%s: starting an episode failed: %s", self._subject, one_line(error))
            self._host.metrics.fault(error)
            raise MessageRefused("FACTORY_ERROR", f"{type(error).__name__}: {error}") from error

    async def _step(self, data: Json) -> Observation:
        content = data.get("content")
        if not isinstance(content, str):
            raise BadRequest('invalid action; expected {"content": "<text>"}')
        episode = self._episode
        if episode is None:
            raise MessageRefused("SESSION_ERROR", "no episode is open; send a reset")
        if self._done:
            raise MessageRefused("SESSION_ERROR", "the episode is done; send a reset")
        began = time.perf_counter()
        try:
            observation = await self._host.call(lambda: episode.act(content))
        except Exception as error:
            observation = await self._end_world(content, error)
        seconds = time.perf_counter() - began
        self._host.metrics.step(seconds)
        self._played.add(content, seconds)
        if self._host.environment.runs_code and self._played.is_slow() and not observation.done:
            await self.end()
            observation = end_of_world(TimeoutError(), observation.turn)
        self._done = observation.done
        if observation.done:
            self._lease.end_episode()
        return observation

    async def _end_world(self, content: str, error: Exception) -> Observation:
        """Returns the end of an episode whose text has ended its world; otherwise raises the error."""
        await self.end()  # its child is free before another one is needed
        if not await is_result_of_text(self._host, self._played, content, error):
            raise error
        log.warning("%s: an action ended its world: %s", self._subject, one_line(error))
        self._host.metrics.world_ended(error)
        return end_of_world(error, len(self._played.texts) + 1)

    def _set_holder(self, lease: Any) -> None:
        holder = lease.get("holder") if isinstance(lease, dict) else 0
        if holder is None:
            return
        if not isinstance(holder, str) or not 0 < len(holder) <= _MAX_HOLDER_CHARACTERS:
            raise BadRequest(
                f'invalid `lease`; expected {{"holder": "<at most {_MAX_HOLDER_CHARACTERS} characters>"}}'
            )
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
        raise BadRequest(f"unknown task {task_id!r}; expected a published `task_id` or a `task` definition")

    def _state(self) -> Json:
        return {
            "episode_id": self._episode_id,
            "step_count": len(self._played.texts),
            "task_id": self._task.get("task_id") if self._episode or self._done else None,
            "done": self._done,
        }

    def _observation_data(self, observation: Observation) -> Json:
        info: Json = {**self._task, "turn": observation.turn}
        if observation.score is not None:
            info["score"] = observation.score
        content: Json = {"messages": observation.messages, "info": info}
        if observation.tools is not None:
            content["tools"] = observation.tools
        data: Json = {"observation": content, "reward": observation.reward, "done": observation.done}
        return {**data, "metadata": observation.metadata} if observation.done else data


def _close(episode: Episode) -> None:
    episode.close()
