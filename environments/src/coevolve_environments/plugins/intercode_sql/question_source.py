"""The operator's question file, by path or by URL, and the terms under which its questions may be used."""

import hashlib
import logging
import os
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coevolve_environments.plugins.intercode_sql.questions import Question, read_question_file
from coevolve_environments.protocol import BadRequest
from coevolve_environments.settings import Settings

log = logging.getLogger(__name__)

KNOWN_LICENSE = "questions MIT (InterCode), Spider data CC BY-SA 4.0"
"""Of the wheel's questions and of the repository's ic_spider_dev.json, which is what we know to exist."""
MAX_BYTES = 32 * 2**20
FETCH_SECONDS = 60.0
_SILENCE_SECONDS = 15.0
_CHUNK = 2**16


@dataclass(frozen=True)
class QuestionSource:
    """`read` gives the questions; a URL is fetched then, once, so that making the environment stays cheap."""

    location: str
    read: Callable[[], Iterator[Question]]


def question_source(settings: Settings) -> QuestionSource | None:
    """Of `questions`, a path or an http(s) URL of a file in the form of ic_spider_dev.json.

    Raises:
        OSError: the path cannot be read.
    """
    location = settings.text("questions")
    if location is None:
        return None
    if not location.startswith(("http://", "https://")):
        path = settings.path("questions")
        assert path is not None
        path.open("rb").close()  # a wrong path ends the start, not the first draw
        return QuestionSource(location, lambda: read_question_file(path))
    return QuestionSource(location, lambda: read_question_file(fetched(location, settings.state)))


def license_of(settings: Settings) -> str:
    """What `questions_license` says, or what is known of InterCode's."""
    return settings.text("questions_license", KNOWN_LICENSE) or KNOWN_LICENSE


def fetched(url: str, folder: Path, *, most: int = MAX_BYTES, seconds: float = FETCH_SECONDS) -> Path:
    """The file of the URL in `folder`, downloaded unless it was before; its sha256 is logged.

    Raises:
        BadRequest: it cannot be had within `seconds`, or is larger than `most` bytes.
    """
    path = folder / f"questions-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            content = _download(url, most, seconds)
        except (OSError, ValueError) as error:
            raise BadRequest(
                f"{url} cannot be had: {error}; try again, or download the file and name its path"
            ) from error
        staged = path.with_suffix(f".{os.getpid()}")
        staged.write_bytes(content)
        staged.replace(path)
    log.info("%s: %d bytes, sha256 %s", url, len(content), hashlib.sha256(content).hexdigest())
    return path


def _download(url: str, most: int, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    content = bytearray()
    with urllib.request.urlopen(url, timeout=min(seconds, _SILENCE_SECONDS)) as response:
        while chunk := response.read1(_CHUNK):  # read1: a trickle must not outlast the deadline
            content += chunk
            if len(content) > most:
                raise ValueError(f"it is larger than {most} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"it takes more than {seconds:g} s")
    return bytes(content)
