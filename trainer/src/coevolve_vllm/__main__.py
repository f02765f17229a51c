"""Command line of the policy server that uses vLLM."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from coevolve_policy_server.__main__ import add_server_options, positive_integer, read_token, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_vllm", description="Serves policies with vLLM.")
    add_server_options(parser)
    parser.add_argument(
        "--vllm-python", type=Path, default=Path(sys.executable), help="interpreter with vLLM (this one)"
    )
    parser.add_argument(
        "--vllm-arguments",
        type=shlex.split,
        default=[],
        help="further arguments for vLLM, quoted as in a shell",
    )
    parser.add_argument(
        "--max-context",
        type=positive_integer,
        default=8192,
        help="max tokens of prompt plus completion (8192)",
    )
    parser.add_argument("--threads", type=positive_integer, help="threads of vLLM's CPU build")
    parser.add_argument(
        "--devices",
        type=_indices,
        action="append",
        help="GPU indices of a vLLM process, such as 6,7; one process per use (one, on vLLM's choice)",
    )
    parser.add_argument("--leases", type=Path, help="folder with the device leases of training jobs")
    arguments = parser.parse_args()
    token = read_token(parser, arguments)
    torch_version = _torch_version_with_vllm(arguments.vllm_python)
    if torch_version is None:
        parser.error(f"--vllm-python {arguments.vllm_python}: expected a Python with vLLM")

    from .backend import VllmBackend
    from .device_leases import DeviceLeases
    from .routes import routes
    from .vllm_command import VllmCommand

    command = VllmCommand(
        python=arguments.vllm_python,
        arguments=tuple(arguments.vllm_arguments),
        max_context=arguments.max_context,
        threads=arguments.threads,
        on_cpu=torch_version.endswith("+cpu"),
    )
    devices = arguments.devices or [[]]
    backend = VllmBackend(command, devices=devices, leases=DeviceLeases(arguments.leases))
    serve(backend, arguments, token, routes(backend))
    return 0


def _indices(text: str) -> list[int]:
    return [int(index) for index in text.split(",")]


def _torch_version_with_vllm(python: Path) -> str | None:
    """Returns the torch version of an interpreter with vLLM; None if it has no vLLM."""
    script = (
        "from importlib import metadata as m, util; assert util.find_spec('vllm'); print(m.version('torch'))"
    )
    try:
        result = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip() or None


if __name__ == "__main__":
    sys.exit(main())
