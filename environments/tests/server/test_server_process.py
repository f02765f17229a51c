"""The command line: invalid arguments, and the stop."""

import pytest

from conftest import Serve, run_server, stop_server


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "1", "--host", "0.0.0.0"], "only loopback"),
        (["--port", "1", "--environments", "chess"], "unknown environment 'chess'"),
        (["--port", "1", "--capacity", "0"], "at least 1"),
        (["--port", "1", "--token-file", "no-such-file"], "no-such-file"),
        (["--port", "1", "--settings", "no-such-file.yaml"], "no-such-file.yaml"),
    ],
)
def test_invalid_arguments_end_the_start_with_their_reason(arguments: list[str], reason: str) -> None:
    completed = run_server(*arguments)
    assert completed.returncode != 0
    assert reason in completed.stderr
    assert "Traceback" not in completed.stderr


def test_a_terminated_server_stops_while_a_session_is_open(serve: Serve) -> None:
    client = serve()
    with client.session() as session:
        session.send({"type": "state"})
        assert stop_server(client) in (0, -15)
