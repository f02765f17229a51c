"""Starts one JVM with memory limits inside a child. The module imports little, to start fast."""

import os
import sys
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from coevolve_environments.processes.wall import PORT_VARIABLE


def start_jvm(java: str, jar: str, heap_mb: int, compiler_tier: int = 1) -> Any:
    """Starts a JVM with the jar and returns its py4j gateway. The JVM ends with the calling process.

    Without a limit ScienceWorld's JVM grew to 4.4 GB. One compiler tier and the serial collector keep it on
    one core.

    Args:
        compiler_tier: highest tier of the JVM's compilers, 1 to 4. Tier 4 computes faster after some seconds
            of work, in which its compiler needs a core of its own.

    Raises:
        RuntimeError: Java did not start; the reason is on stderr.
    """
    limits = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", f"-XX:TieredStopAtLevel={compiler_tier}"]
    # Exits when the heap is full instead of collecting forever; writes no files to /tmp.
    exit_options = ["-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData"]
    # One identity hash for all objects: hashed sets keep their order of insertion in every episode. With the
    # default hash ScienceWorld repeated its texts in 22 of 30 types and sometimes lit a lamp an action later;
    # with this hash in 30 of 30, for about a quarter more CPU time.
    order_options = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"]
    try:
        port, secret, process = launch_gateway(
            port=int(os.environ.get(PORT_VARIABLE, 0)),
            java_path=java,
            classpath=jar,
            cwd=str(Path(jar).parent),  # the engine searches its data here
            javaopts=limits + exit_options + order_options,
            die_on_exit=True,
            enable_auth=True,  # otherwise any process of this machine could run Java code through the port
            return_proc=True,
            redirect_stderr=sys.stderr,
        )
    except ValueError as error:  # no port on stdout
        raise RuntimeError(f"{java} did not start") from error
    parameters = GatewayParameters(port=port, auth_token=secret, auto_field=True)
    return JavaGateway(gateway_parameters=parameters, java_process=process)
