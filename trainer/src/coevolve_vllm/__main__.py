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
    arguments = parser.parse_args()
    token = read_token(parser, arguments)
    torch_version = _torch_version_with_vllm(arguments.vllm_python)
    if torch_version is None:
        parser.error(f"--vllm-python {arguments.vllm_python}: expected a Python with vLLM")

    from .backend import VllmBackend
    from .vllm_process import VllmCommand

    command = VllmCommand(
        python=arguments.vllm_python,
        arguments=tuple(arguments.vllm_arguments),
        max_context=arguments.max_context,
        threads=arguments.threads,
        on_cpu=torch_version.endswith("+cpu"),
    )
    serve(VllmBackend(command), arguments, token)
    return 0


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
