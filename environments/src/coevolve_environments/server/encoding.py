"""Messages as JSON text."""

import json

import orjson

from coevolve_environments.protocol import Json


def encode(message: Json) -> str:
    """A BFCL task's functions are 21,000 characters: 0.2 ms for `json`, 0.03 ms for `orjson`."""
    try:
        return orjson.dumps(message).decode()
    except TypeError:  # half a surrogate pair or an integer past 64 bits, which `json` writes
        return json.dumps(message)
