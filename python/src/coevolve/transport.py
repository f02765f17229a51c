"""Requests to the API: tokens, repetitions, pages, and the columns of its OpenAPI document."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from coevolve.errors import ApiError, CoevolveError, NotConnectedError

Row = dict[str, Any]
Filter = str | int | float | bool | None

PAGE_ROWS = 1000
"""The most that the server returns at once."""

TRIES = 4
"""Requests before a failure is reported. All requests may be repeated: orders have an id."""


class Transport:
    """Sends requests to one server. `read` and `operate` are the tokens of the two roles, or None."""

    def __init__(self, url: str, read: str | None, operate: str | None, timeout: float = 30) -> None:
        self.url = url.rstrip("/")
        self._tokens = {"read": read or operate, "operate": operate}
        self._http = httpx.Client(base_url=self.url, timeout=timeout, follow_redirects=False)
        self._document: dict[str, Any] | None = None

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, filters: Mapping[str, Filter] | None = None) -> Row:
        """Returns the JSON of a path below `/api/v1`. A filter of None is left out."""
        given = {name: value for name, value in (filters or {}).items() if value is not None}
        shown = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
        }
        return self._request("GET", path, "read", params=shown)

    def post(self, path: str, body: Mapping[str, Any]) -> Row:
        return self._request("POST", path, "operate", json=dict(body))

    def rows(self, template: str, names: Mapping[str, str], filters: Mapping[str, Filter]) -> Iterator[Row]:
        """Returns the rows of a list, a page at a time: all, or the first `limit` ones.

        Raises CoevolveError for a filter that the list does not have, before any request for rows.
        """
        self._check_filters(template, filters)
        path = filled(template, names)
        left = math.inf if filters.get("limit") is None else int(filters["limit"] or 0)
        cursor: str | None = None
        while True:
            page = self.get(path, {**filters, "limit": min(left, PAGE_ROWS), "cursor": cursor})
            yield from page["rows"]
            left -= len(page["rows"])
            cursor = page["next"]
            if cursor is None or left == 0:
                return

    def lines(self, path: str, filters: Mapping[str, Filter]) -> Iterator[Row]:
        """Returns the rows of an answer in JSON lines, while they arrive.

        Raises NotConnectedError, if the server does not answer or the answer ends before its last row.
        """
        given = {name: value for name, value in filters.items() if value is not None}
        rest = b""
        try:
            with self._http.stream(
                "GET", f"/api/v1{path}", headers=self._authorization("read"), params=given
            ) as response:
                if not response.is_success:
                    response.read()
                    raise problem_of(response)
                for part in response.iter_bytes():  # other ends of lines than \n are part of a text
                    *complete, rest = (rest + part).split(b"\n")
                    yield from map(json.loads, complete)
        except httpx.TransportError as error:
            raise NotConnectedError(
                f"{self.url}: the answer is not complete: {error}\n  next: the same call"
            ) from error

    def columns(self, template: str, detail: bool = False) -> dict[str, str]:
        """Returns the type of each column of a list: integer, number, boolean, date-time or object."""
        page = self._operation(template)["responses"]["200"]["content"]["application/json"]["schema"]
        row = self._resolved(page["properties"]["rows"]["items"])
        required = set(row.get("required", []))
        return {
            name: column_type(self._resolved(schema))
            for name, schema in row["properties"].items()
            if detail or name in required
        }

    def _check_filters(self, template: str, filters: Mapping[str, Filter]) -> None:
        parameters = self._operation(template).get("parameters", [])
        known = sorted(p["name"] for p in parameters if p["in"] == "query" and p["name"] != "cursor")
        for name in filters:
            if name not in known:
                raise CoevolveError(
                    f"{template}: found the filter {name}, expected one of {', '.join(known)}"
                )

    def _operation(self, template: str) -> dict[str, Any]:
        self._document = self._document or self._request("GET", "/openapi.json", None)
        operation: dict[str, Any] = self._document["paths"][f"/api/v1{template}"]["get"]
        return operation

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        reference = schema.get("$ref")
        if reference is None or self._document is None:
            return schema
        found: dict[str, Any] = self._document["components"]["schemas"][reference.rsplit("/", 1)[1]]
        return found

    def _request(self, method: str, path: str, role: str | None, **content: Any) -> Row:
        headers = self._authorization(role) if role else {}
        for attempt in range(1, TRIES + 1):
            try:
                response = self._http.request(method, f"/api/v1{path}", headers=headers, **content)
            except httpx.TransportError as error:
                if attempt == TRIES:
                    raise NotConnectedError(
                        f"{self.url} does not answer: {error}\n  next: coevolve up"
                    ) from error
                time.sleep(0.2 * 2**attempt)
                continue
            if response.status_code in (429, 503) and attempt < TRIES:
                time.sleep(min(10.0, float(response.headers.get("retry-after", 0.2 * 2**attempt))))
                continue
            return answer_of(response)
        raise AssertionError("the last try returns or raises")

    def _authorization(self, role: str) -> dict[str, str]:
        token = self._tokens[role]
        if token is None:
            raise NotConnectedError(f"no token of the role {role}\n  next: coevolve.connect(url, token)")
        return {"authorization": f"Bearer {token}"}


def answer_of(response: httpx.Response) -> Row:
    if response.is_success:
        answer: Row = response.json()
        return answer
    raise problem_of(response)


def problem_of(response: httpx.Response) -> ApiError:
    try:
        problem: Row = response.json()
    except ValueError:
        problem = {"error": f"{response.url}: HTTP {response.status_code}"}
    return ApiError(
        response.status_code,
        problem.get("code", "Unknown"),
        problem.get("error", ""),
        problem.get("next"),
    )


def filled(template: str, names: Mapping[str, str]) -> str:
    """Returns a path with its parameters, whose slashes are encoded."""
    return template.format(**{name: quote(value, safe="") for name, value in names.items()})


def column_type(schema: dict[str, Any]) -> str:
    if schema.get("format") == "date-time":
        return "date-time"
    declared = schema.get("type")
    types = [declared] if isinstance(declared, str) else list(declared or [])
    types += [column_type(one) for one in schema.get("anyOf", [])]
    found = [kind for kind in types if kind != "null"]
    return (
        found[0]
        if len(found) == 1 and found[0] in ("integer", "number", "boolean", "date-time")
        else "object"
    )
