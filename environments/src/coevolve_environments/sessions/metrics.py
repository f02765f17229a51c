"""Prometheus metrics of the server. No label and no value identifies a task or a holder."""

from collections.abc import Callable, Iterable
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coevolve_environments.sessions.leases import EndReason

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_PREFIX = "coevolve_environment_"


class Metrics:
    """All metrics of one server, in a separate registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(_PREFIX + name, text, ["environment", *labels], registry=self._registry)
            for name, text, labels in (
                ("turns", "Actions with an observation", []),
                ("episodes", "Opened episodes", []),
                ("faults", "Faults of the environment, by kind", ["kind"]),
                ("worlds_ended", "Episodes whose action ended its own world, by kind", ["kind"]),
                ("leases_ended", "Ended sessions, by reason", ["reason"]),
                ("refused", "Refused sessions, by reason", ["reason"]),
            )
        }
        self._latencies = {
            name: Histogram(_PREFIX + name, text, ["environment"], buckets=_SECONDS, registry=self._registry)
            for name, text in (
                ("reset_seconds", "Seconds from a reset to its observation"),
                ("turn_seconds", "Seconds from an action to its observation"),
            )
        }

    def for_environment(self, environment: str) -> "EnvironmentMetrics":
        return EnvironmentMetrics(environment, self._counters, self._latencies)

    def watch(self, gauges: Callable[[], Iterable["Gauge"]]) -> None:
        """Adds gauges that are read on each request."""
        self._registry.register(_Gauges(gauges))

    def render(self) -> bytes:
        return generate_latest(self._registry)


class EnvironmentMetrics:
    """Metrics of one environment with bound labels, because every action updates them."""

    def __init__(
        self, environment: str, counters: dict[str, Counter], latencies: dict[str, Histogram]
    ) -> None:
        self._environment = environment
        self._counters = counters
        self._turns = counters["turns"].labels(environment)
        self._episodes = counters["episodes"].labels(environment)
        self._reset_seconds = latencies["reset_seconds"].labels(environment)
        self._step_seconds = latencies["turn_seconds"].labels(environment)

    def reset(self, seconds: float) -> None:
        self._episodes.inc()
        self._reset_seconds.observe(seconds)

    def step(self, seconds: float) -> None:
        self._turns.inc()
        self._step_seconds.observe(seconds)

    def fault(self, error: Exception) -> None:
        self._counters["faults"].labels(self._environment, kind_of(error)).inc()

    def world_ended(self, error: Exception) -> None:
        self._counters["worlds_ended"].labels(self._environment, kind_of(error)).inc()

    def lease_ended(self, reason: EndReason) -> None:
        self._counters["leases_ended"].labels(self._environment, reason).inc()

    def refused(self, reason: Literal["capacity", "draining"]) -> None:
        self._counters["refused"].labels(self._environment, reason).inc()


def kind_of(error: Exception) -> str:
    """Returns the kind of a child's fault, `timeout` for a call in a thread, otherwise `error`."""
    return str(getattr(error, "kind", "timeout" if isinstance(error, TimeoutError) else "error"))


class Gauge(GaugeMetricFamily):
    """A gauge with one value per environment or child pool; gauges of the server have no label."""

    def __init__(
        self, name: str, text: str, values: dict[str, float] | float, label: str = "environment"
    ) -> None:
        if isinstance(values, dict):
            super().__init__(_PREFIX + name, text, labels=[label])
            for labelled, value in values.items():
                self.add_metric([labelled], value)
        else:
            super().__init__(_PREFIX + name, text, value=values)


class _Gauges(Collector):
    def __init__(self, gauges: Callable[[], Iterable[Gauge]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        return self._gauges()

    def describe(self) -> Iterable[Metric]:
        return []  # reads no values before the server has started
