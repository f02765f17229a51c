"""Gauges that are measured at each request of the metrics."""

from collections.abc import Iterable, Mapping

import psutil

from coevolve_environments.processes.child_pool import usage_by_pool
from coevolve_environments.sessions.hosted_environment import HostedEnvironment
from coevolve_environments.sessions.metrics import Gauge


def server_gauges(hosts: Mapping[str, HostedEnvironment]) -> Iterable[Gauge]:
    """Yields sessions, capacity and children of each environment; memory, threads and files of the server."""
    yield Gauge("sessions", "Open sessions", {name: host.session_count for name, host in hosts.items()})
    yield Gauge(
        "capacity", "Maximum number of sessions", {name: host.capacity for name, host in hosts.items()}
    )
    yield Gauge(
        "stuck_calls",
        "Running calls past their timeout",
        {name: host.stuck_calls for name, host in hosts.items()},
    )
    usage = usage_by_pool()
    counts: dict[str, float] = {pool: len(children) for pool, children in usage.items()}
    resident: dict[str, float] = {
        pool: sum(child.resident_bytes for child in children) for pool, children in usage.items()
    }
    yield Gauge("children", "Child processes", counts, label="pool")
    yield Gauge(
        "children_resident_bytes", "Resident bytes of children and their descendants", resident, label="pool"
    )
    server = psutil.Process()
    yield Gauge("server_resident_bytes", "Resident bytes of the server itself", server.memory_info().rss)
    yield Gauge("server_threads", "Threads of the server", server.num_threads())
    yield Gauge("server_files", "Open files and sockets of the server", server.num_fds())
