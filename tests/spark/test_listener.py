"""History and sums of what queries tell, and the endpoint that Prometheus reads."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

from panjoin.errors import ParameterError
from panjoin.spark import exporter
from panjoin.spark.listener import Watch
from panjoin.spark.metrics import SIDES, progress_of
from tests import registry
from tests.oracle import nested
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import plan_of
from tests.spark.test_metrics import batches_of, observed

QUESTION = registry.question("band", "last_7_and_20", size=50, batch=10)


@pytest.fixture(scope="module")
def told() -> list[SimpleNamespace]:
    """Spark's progress of each micro-batch."""
    turns = batches_of(FakeSpark(plan_of(QUESTION)), QUESTION)
    return [observed(number, *each) for number, each in enumerate(turns)]


class Streams:
    """As much of Spark's manager of streams as is used."""

    def __init__(self) -> None:
        self.listeners: list = []
        self.addListener, self.removeListener = self.listeners.append, self.listeners.remove


def test_history_is_kept_up_to_a_length_and_sums_for_ever(told):
    watch = Watch(keep=2)
    for each in told:
        watch.onQueryProgress(SimpleNamespace(progress=each))
    assert [each.batch for each in watch.history()] == [len(told) - 2, len(told) - 1]
    assert watch.history("the join") == watch.history()
    assert watch.history("another") == []
    (watched,) = watch.joins()
    assert watched.totals["micro_batches", ""] == len(told)
    assert watched.totals["pairs", ""] == sum(nested.join(QUESTION).values())
    assert [watched.totals["tuples", side] for side in SIDES] == [QUESTION.left.num_rows, QUESTION.right.num_rows]
    assert watched.totals["seconds", "total"] > 0


def test_queries_that_have_ended_make_room_for_others(told):
    watch = Watch(keep=2)
    for run in "abcd":
        watch.onQueryStarted(SimpleNamespace(runId=run))
        watch.onQueryProgress(SimpleNamespace(progress=SimpleNamespace(**{**vars(told[0]), "runId": run})))
        watch.onQueryIdle(SimpleNamespace(runId=run))
        watch.onQueryTerminated(SimpleNamespace(runId=run))
    assert [each.run for each in watch.history()] == ["c", "d"]
    assert not any(each.running for each in watch.joins())


def _scrape(endpoint: exporter.Exporter) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_prometheus_reads_counters_and_what_is_held_now(told):
    spark = SimpleNamespace(streams=Streams())
    with exporter.serve(spark, port=0) as endpoint:
        (watch,) = spark.streams.listeners
        assert _scrape(endpoint) == {}
        for each in told:
            watch.onQueryProgress(SimpleNamespace(progress=each))
        found = _scrape(endpoint)
        labels = 'join="the join",query="q"'
        assert found[f"panjoin_pairs_total{{{labels}}}"] == sum(nested.join(QUESTION).values())
        assert found[f'panjoin_tuples_total{{{labels},side="right"}}'] == QUESTION.right.num_rows
        assert found[f"panjoin_micro_batches_total{{{labels}}}"] == len(told)
        assert found[f'panjoin_step_seconds_total{{{labels},step="probe"}}'] > 0
        assert found[f'panjoin_resident_bytes{{{labels},worker="1"}}'] > 0
        watch.onQueryTerminated(SimpleNamespace(runId="r"))
        after = _scrape(endpoint)
        assert f"panjoin_pairs_total{{{labels}}}" in after
        assert not any(name.startswith("panjoin_resident_bytes") for name in after)
        port = endpoint.port
    assert spark.streams.listeners == []
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")


def test_gauges_are_those_of_the_last_micro_batch_in_which_somebody_worked(told):
    spark = SimpleNamespace(streams=Streams())
    with exporter.serve(spark, port=0) as endpoint:
        watch = endpoint.watch
        busy = [each for each in told if _told(each).workers][-1]
        watch.onQueryProgress(SimpleNamespace(progress=busy))
        watch.onQueryProgress(SimpleNamespace(progress=observed(99)))
        found, held = _scrape(endpoint), _told(busy)
    labels = 'join="the join",query="q"'
    assert found[f'panjoin_state_bytes{{{labels},worker="0"}}'] == held.workers[0].bytes_state > 0
    assert found[f'panjoin_window_tuples{{{labels},side="left"}}'] == sum(each.size for each in held.chain("left"))
    assert found[f'panjoin_subwindows{{{labels},side="left",structure="bi-sort"}}'] == len(held.chain("left"))
    assert found[f"panjoin_selectivity{{{labels}}}"] == held.selectivity


def _told(spark_progress: SimpleNamespace):
    (one,) = progress_of(spark_progress)
    return one


def test_the_endpoint_is_on_this_machine_alone_and_a_taken_port_is_refused():
    spark = SimpleNamespace(streams=Streams())
    with exporter.serve(spark, port=0) as endpoint:
        assert endpoint.address == "127.0.0.1"
        with pytest.raises(
            ParameterError, match=rf"port {endpoint.port} on 127.0.0.1 cannot be served \(Address already"
        ):
            exporter.serve(spark, port=endpoint.port)
        assert spark.streams.listeners == [endpoint.watch]


def test_without_prometheus_client_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "panjoin.spark.exporter")
    with pytest.raises(ImportError, match=r"needs prometheus-client; run: pip install 'panjoin\[metrics\]'"):
        import panjoin.spark.exporter  # noqa: F401, PLC0415
