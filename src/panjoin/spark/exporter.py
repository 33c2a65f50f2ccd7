"""A Prometheus endpoint for all joins of a session, on this machine alone unless told otherwise.

    exporter = serve(spark, port=9406)           http://127.0.0.1:9406/metrics
    exporter.close()

Counters run since the exporter listens. What is held now (bytes, subwindows) is told while its query runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
except ImportError as missing:
    raise ImportError("the endpoint needs prometheus-client; run: pip install 'panjoin[metrics]'") from missing

from panjoin.errors import ParameterError
from panjoin.spark.listener import Watch, Watched
from panjoin.spark.metrics import SIDES, Progress

LOOPBACK = "127.0.0.1"
#: Not in Prometheus' list of ports that other exporters use.
PORT = 9406

_LABELS = ("query", "join")
#: (name in `Watched.totals`, name of the counter, its help, the label beside query and join)
_COUNTERS = (
    ("micro_batches", "panjoin_micro_batches", "Micro-batches that were committed.", None),
    ("tuples", "panjoin_tuples", "Tuples that came in, each counted once.", "side"),
    ("late", "panjoin_late_tuples", "Tuples behind the watermark, dropped.", "side"),
    ("quarantined", "panjoin_quarantined_tuples", "Tuples dated too far ahead, set aside.", "side"),
    ("pairs", "panjoin_pairs", "Matches.", None),
    ("rows", "panjoin_rows", "Rows of result, as the workers gave them.", None),
    ("seconds", "panjoin_step_seconds", "Seconds of the slowest worker of each micro-batch, by step.", "step"),
)


class Collector:
    """What prometheus-client asks when somebody looks."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def collect(self) -> Iterator[Any]:
        """All metrics, as of now."""
        joins = [each for each in self._watch.joins() if each.history]
        yield from _counters(joins)
        yield from _gauges([_latest(each) for each in joins if each.running])


def _latest(watched: Watched) -> Progress:
    """Of the last micro-batch in which a worker was called: what it held then, it holds now."""
    return next((each for each in reversed(watched.history) if each.workers), watched.history[-1])


def _counters(joins: list[Watched]) -> Iterator[Any]:
    sums: dict[tuple[str, str, tuple[str, ...]], float] = {}  # a query's next run goes on counting
    for each in joins:
        for (what, which), amount in each.totals.items():
            key = (what, which, _labels(each.history[-1]))
            sums[key] = sums.get(key, 0) + amount
    for what, name, text, label in _COUNTERS:
        family = CounterMetricFamily(name, text, labels=[*_LABELS, *([] if label is None else [label])])
        for (counted, which, labels), amount in sums.items():
            if counted == what:
                family.add_metric([*labels, *([] if label is None else [which])], amount)
        yield family


def _gauges(now: list[Progress]) -> Iterator[Any]:
    def family(name: str, text: str, *labels: str) -> Any:
        return GaugeMetricFamily(name, text, labels=[*_LABELS, *labels])

    resident = family("panjoin_resident_bytes", "Bytes of windows in memory.", "worker")
    state = family("panjoin_state_bytes", "Bytes of windows in Spark's state store.", "worker")
    held = family("panjoin_window_tuples", "Tuples held.", "side")
    subwindows = family("panjoin_subwindows", "Subwindows held.", "side", "structure")
    watermark = family("panjoin_watermark_seconds", "Event time that has been reached, in seconds since 1970.")
    selectivity = family("panjoin_selectivity", "Matches per tuple, in the last micro-batch.")
    for each in now:
        labels = _labels(each)
        for worker in each.workers:
            resident.add_metric([*labels, str(worker.worker)], worker.bytes_resident)
            state.add_metric([*labels, str(worker.worker)], worker.bytes_state)
        for side in SIDES:
            held.add_metric([*labels, side], sum(one.size + one.late for one in each.chain(side)))
            for structure, number in each.structures(side).items():
                subwindows.add_metric([*labels, side, structure], number)
        if each.watermark is not None:
            watermark.add_metric(labels, each.watermark / 1e6)
        if each.selectivity is not None:
            selectivity.add_metric(labels, each.selectivity)
    yield from (resident, state, held, subwindows, watermark, selectivity)


def _labels(progress: Progress) -> tuple[str, ...]:
    return progress.name or progress.query, progress.join


class Exporter:
    """A running endpoint."""

    def __init__(self, spark: Any, watch: Watch, server: Any, thread: Any) -> None:
        self._spark, self._server, self._thread = spark, server, thread
        self.watch = watch
        self.address, self.port = server.server_address[:2]

    def close(self) -> None:
        """Stop listening and serving."""
        self._spark.streams.removeListener(self.watch)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Exporter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(spark: Any, *, port: int = PORT, host: str = LOOPBACK) -> Exporter:
    """Listen to a session's queries and serve what they tell; port 0 takes a free one."""
    watch = Watch()
    registry = CollectorRegistry()
    registry.register(Collector(watch))
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise ParameterError(f"port {port} on {host} cannot be served ({error.strerror}); give another port=") from None
    spark.streams.addListener(watch)
    return Exporter(spark, watch, server, thread)
