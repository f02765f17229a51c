"""Further checks of Schemathesis."""

import schemathesis


@schemathesis.check
def valid_requests(context, response, case):
    """Lists refuse a valid request only for a cursor of no page, or a sort without its filter."""
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    if is_valid and case.method == "GET" and response.status_code == 400:
        assert response.json()["code"] in {"InvalidCursor", "SortNeedsFilter"}, response.text


@schemathesis.check
def without_temporal(context, response, case):
    """Only orders need Temporal, which does not run here."""
    if response.status_code == 503:
        assert (case.method, response.json()["code"]) == ("POST", "StackError"), response.text
