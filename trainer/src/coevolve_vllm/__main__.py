"""The command line of the front of vLLM."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from coevolve_policy_server.__main__ import add_address, positive_integer, read_token, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="coevolve_vllm", description="Serves policies by vLLM.")
    add_address(parser)
    parser.add_argument(
        "--vllm-python", type=Path, default=Path(sys.executable), help="interpreter with vLLM (this one)"
    )
    parser.add_argument(
        "--vllm-arguments",
        type=shlex.split,
        default=[],
        help="added to vLLM's command line, quoted as in a shell",
    )
    parser.add_argument(
        "--max-context", type=positive_integer, default=8192, help="most tokens of prompt and answer (8192)"
    )
    parser.add_argument("--threads", type=positive_integer, help="threads of vLLM's build for CPUs")
    arguments = parser.parse_args()
    token = read_token(parser, arguments)
    torch_version = _torch_beside_vllm(arguments.vllm_python)
    if torch_version is None:
        parser.error(f"--vllm-python {arguments.vllm_python}: no Python with vLLM")

    from .backend import Front
    from .vllm_process import Command

    command = Command(
        python=arguments.vllm_python,
        arguments=tuple(arguments.vllm_arguments),
        max_context=arguments.max_context,
        threads=arguments.threads,
        on_cpu=torch_version.endswith("+cpu"),
    )
    serve(Front(command), arguments, token)
    return 0


def _torch_beside_vllm(python: Path) -> str | None:
    """The version of torch that vLLM runs on; None: the interpreter has no vLLM."""
    look = (
        "from importlib import metadata as m, util; assert util.find_spec('vllm'); print(m.version('torch'))"
    )
    try:
        found = subprocess.run([python, "-c", look], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None


if __name__ == "__main__":
    sys.exit(main())
