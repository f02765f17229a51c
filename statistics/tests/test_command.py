"""The command line: JSON in, JSON out, one clear line for an unusable input."""

import io
import json
import sys
from typing import Any

import pytest

from coevolve_statistics.__main__ import main
from tables import Input, analysis_input, constant

VALUE = analysis_input({"random": constant([0.4, 0.5]), "signals": constant([0.5, 0.5])})


class Streams:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def run(self, text: str, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["coevolve_statistics", *arguments])
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        status = main()
        found = self.capsys.readouterr()
        return status, found.out, found.err


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Streams:
    return Streams(monkeypatch, capsys)


def test_equal_inputs_give_equal_bytes_with_sorted_keys_and_no_nan(streams: Streams) -> None:
    status, first, _ = streams.run(json.dumps(VALUE))
    assert status == 0
    assert streams.run(json.dumps(VALUE))[1] == first
    output = json.loads(first)
    assert first == json.dumps(output, sort_keys=True) + "\n"
    assert "NaN" not in first
    assert "Infinity" not in first


def without(field: str) -> Input:
    return {key: value for key, value in VALUE.items() if key != field}


def with_score(**changes: Any) -> Input:
    return {**VALUE, "scores": [{**VALUE["scores"][0], **changes}, *VALUE["scores"][1:]]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (without("alpha"), "alpha: found nothing, expected a value"),
        ({**VALUE, "alpha": 5}, "alpha: found 5, expected a number above 0 and below 1"),
        ({**VALUE, "version": 7}, "version: found 7, expected 3; update the Python packages: npm run setup"),
        ({**VALUE, "looks": [8, 4]}, "looks: found [8, 4], expected one or two numbers of seeds, ascending"),
        ({**VALUE, "metric": "aulc(steps)"}, "metric: found 'aulc(steps)', expected success, reward, "),
        (
            {**VALUE, "primary": {"name": "a - b", "plus": "a", "minus": "random"}},
            "primary.plus: found 'a', expected one of random, signals",
        ),
        ({**VALUE, "cells": VALUE["cells"][:1] * 2}, "cells[1]: found {'arm': 'random', "),
        (with_score(success=1.5), "scores[0].success: found 1.5, expected a number from 0 to 1"),
        (with_score(success=float("nan")), "scores[0].success: found nan, expected a number from 0 to 1"),
        (
            with_score(task="t0001"),
            "scores[1].task: found 't0001', expected each task once for random, seed 1, checkpoint 2",
        ),
        (with_score(arm="other"), "scores[0]: found other-s1, expected a cell of the input"),
        ([], "input: found [], expected an object"),
    ],
)
def test_an_unusable_input_is_refused_in_one_line(streams: Streams, value: Input, message: str) -> None:
    status, output, error = streams.run(json.dumps(value))
    assert (status, output) == (2, "")
    assert error.startswith(f"coevolve_statistics: {message}")
    assert error.count("\n") == 1


def test_text_that_is_no_json_and_unknown_arguments_are_refused(streams: Streams) -> None:
    assert streams.run("{")[0] == 2
    expected = "coevolve_statistics: arguments: found plot, expected none, power, combine or pool\n"
    assert streams.run("{}", "plot")[2] == expected


def test_amounts_that_shrink_are_refused(streams: Streams) -> None:
    rows = [{"checkpoint": n, "effort": {"updates": 9 - n}} for n in (1, 2)]
    value = {**VALUE, "cells": [{**VALUE["cells"][0], "checkpoints": rows}]}
    message = "cells[0].checkpoints[1].effort.updates: found 7, expected at least 8"
    assert message in streams.run(json.dumps(value))[2]


QUESTION = {"alpha": 0.05, "looks": [8, 16], "seeds": [8, 16], "differences": [0.05], "margin": 0.05}


def test_power_before_the_first_cell_has_the_level_of_one_look(streams: Streams) -> None:
    noise = {"kind": "prior", "runSds": [0.025], "discordance": 0.24, "tasks": 500}
    status, output, _ = streams.run(json.dumps({**QUESTION, "noise": noise}), "power")
    assert status == 0
    found = json.loads(output)
    assert found["level"] == pytest.approx(0.0285, abs=5e-5)
    row = found["deviations"][0]
    assert row["sd"] == pytest.approx((2 * 0.025**2 + 0.24 / 500) ** 0.5)
    assert [point["power"] > 0.8 for point in row["power"]] == [False, True]
    assert row["needed"] == [{"difference": 0.05, "seeds": 9}]


def test_a_measured_deviation_stands_for_its_interval_too(streams: Streams) -> None:
    noise = {"kind": "measured", "sd": 0.02, "seeds": 3}
    _, output, _ = streams.run(json.dumps({**QUESTION, "noise": noise}), "power")
    found = [row["sd"] / 0.02 for row in json.loads(output)["deviations"]]
    assert found == pytest.approx([1, 0.5207, 6.2847], abs=1e-4)  # three values: known within 0.52 to 6.3
