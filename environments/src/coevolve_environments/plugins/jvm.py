"""The child's side of Java: one bounded JVM. Imports little, for it is the start of every child."""

import sys
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway


def start_jvm(java: str, jar: str, heap_mb: int) -> Any:
    """A JVM with the jar loaded, as a py4j gateway. It ends with the calling process.

    Unbounded, ScienceWorld's grew to 4.4 GB. One compiler tier and the serial collector keep it to one core.

    Raises:
        RuntimeError: Java did not start; it says why on stderr.
    """
    limits = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    ends = ["-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData"]  # a fault, not a limp; no files in /tmp
    # One identity hash for all objects: hashed sets then keep the order of insertion, whatever the JVM played
    # before. With the usual hash ScienceWorld said the same twice in 22 of 30 types and lit a lamp now and
    # then one action later; with this one in 30 of 30, for about a quarter more CPU.
    order = ["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"]
    try:
        port, secret, process = launch_gateway(
            java_path=java,
            classpath=jar,
            cwd=str(Path(jar).parent),  # where an engine looks for its data
            javaopts=limits + ends + order,
            die_on_exit=True,
            enable_auth=True,  # or any process of this machine could run Java code through the port
            return_proc=True,
            redirect_stderr=sys.stderr,
        )
    except ValueError as error:  # it wrote no port
        raise RuntimeError(f"{java} did not start") from error
    parameters = GatewayParameters(port=port, auth_token=secret, auto_field=True)
    return JavaGateway(gateway_parameters=parameters, java_process=process)
