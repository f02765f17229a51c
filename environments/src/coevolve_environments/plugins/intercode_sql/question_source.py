"""The operator's question file, by path or URL, and the license of its questions."""

import hashlib
import logging
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coevolve_environments.plugins.atomic_files import write_atomically
from coevolve_environments.plugins.intercode_sql.questions import Question, read_question_file
from coevolve_environments.protocol import BadRequest
from coevolve_environments.settings import Settings

log = logging.getLogger(__name__)

KNOWN_LICENSE = "questions MIT (InterCode), Spider data CC BY-SA 4.0"
"""License of the wheel's questions and of the repository's ic_spider_dev.json."""
MAX_BYTES = 32 * 2**20
FETCH_SECONDS = 60.0
_READ_TIMEOUT_SECONDS = 15.0
_CHUNK = 2**16


@dataclass(frozen=True)
class QuestionSource:
    """`read` returns the questions. It downloads a URL once, so that making the environment is fast."""

    location: str
    read: Callable[[], Iterator[Question]]


def question_source(settings: Settings) -> QuestionSource | None:
    """Reads `questions`, a path or an http(s) URL of a file in the form of ic_spider_dev.json.

    Raises:
        OSError: the path is not readable.
    """
    location = settings.text("questions")
    if location is None:
        return None
    if not location.startswith(("http://", "https://")):
        path = settings.path("questions")
        assert path is not None
        path.open("rb").close()  # a wrong path fails at the start, not at the first draw
        return QuestionSource(location, lambda: read_question_file(path))
    return QuestionSource(location, lambda: read_question_file(download_once(location, settings.state)))


def license_of(settings: Settings) -> str:
    """Reads `questions_license`; the default is InterCode's."""
    return settings.text("questions_license", KNOWN_LICENSE) or KNOWN_LICENSE


def download_once(
    url: str, folder: Path, *, max_bytes: int = MAX_BYTES, seconds: float = FETCH_SECONDS
) -> Path:
    """Downloads the URL into `folder` unless the file exists, and logs its sha256.

    Raises:
        BadRequest: the download failed, took longer than `seconds`, or exceeded `max_bytes`.
    """
    path = folder / f"questions-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            content = _download(url, max_bytes, seconds)
        except (OSError, ValueError) as error:
            raise BadRequest(
                f"download of {url} failed: {error}; retry, or set the path of a downloaded file"
            ) from error
        write_atomically(path, content)
    log.info("%s: %d bytes, sha256 %s", url, len(content), hashlib.sha256(content).hexdigest())
    return path


def _download(url: str, max_bytes: int, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    content = bytearray()
    with urllib.request.urlopen(url, timeout=min(seconds, _READ_TIMEOUT_SECONDS)) as response:
        while chunk := response.read1(_CHUNK):  # read1: slow data must not exceed the deadline
            content += chunk
            if len(content) > max_bytes:
                raise ValueError(f"the file is larger than {max_bytes} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no complete file within {seconds:g} s")
    return bytes(content)
