"""Errors of the client. Every message ends with the next step where there is one."""


class CoevolveError(Exception):
    """Base of all errors of this package."""


class NotConnectedError(CoevolveError):
    """No address or token is known, or the server does not answer."""


class ApiError(CoevolveError):
    """The server refused a request.

    `status` is the HTTP status, `code` a stable name such as `UnknownCampaign`, `next` the next step or None.
    """

    def __init__(self, status: int, code: str, message: str, next_step: str | None) -> None:
        super().__init__(message if next_step is None else f"{message}\n  next: {next_step}")
        self.status = status
        self.code = code
        self.next = next_step
