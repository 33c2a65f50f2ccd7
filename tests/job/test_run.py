"""Job files run on real Spark, from the command line to the rows."""

import json
import re
import signal
import socketserver
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panjoin.cli.app import app, main
from panjoin.cli.codes import FAILED, TOLD
from panjoin.cli.views import Lines as Told
from panjoin.errors import ParameterError

ORDERS = "ts,k,x\n2026-01-05T09:30:00Z,a,10\n2026-01-05T09:31:00Z,b,20\n2026-01-05T09:55:00Z,a,11\n"
QUOTES = "ts,k,x\n2026-01-05T09:32:00Z,a,14\n2026-01-05T09:32:30Z,b,26\n2026-01-05T09:52:00Z,a,12\n"


def invoke(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def refused(monkeypatch, capsys, *arguments: object) -> str:
    """What the program says when it starts nothing."""
    monkeypatch.setattr("sys.argv", ["panjoin", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    return capsys.readouterr().err


def rows(directory: Path) -> list[dict]:
    return sorted(
        (json.loads(line) for path in directory.glob("part-*") for line in path.read_text().splitlines()), key=str
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "orders").mkdir()
    (tmp_path / "quotes").mkdir()
    (tmp_path / "orders" / "1.csv").write_text(ORDERS)
    (tmp_path / "quotes" / "1.csv").write_text(QUOTES)
    (tmp_path / "job.yaml").write_text(
        """\
name: files
left:  {format: csv, path: orders, schema: "ts timestamp, k string, x int", watermark: 1 min, options: {header: true}}
right:
  {format: csv, path: quotes, schema: "ts timestamp, k string, x int", watermark: 1 min, options: {header: true},
   select: [ts, x, k], rename: {x: y}}
join:
  {on: "left.k = right.k AND left.x BETWEEN right.y - 5 AND right.y + 5", workers: 1}
window: {time: 10 minutes, on: ts}
sink: {format: json, path: out}
"""
    )
    return tmp_path


def test_what_init_writes_runs_as_it_is_and_goes_on_when_there_is_more(spark, tmp_path):
    said = invoke("init", tmp_path / "new")
    assert f"now: panjoin run {tmp_path}/new/job.toml" in said
    report = tmp_path / "report.html"
    said = invoke("run", tmp_path / "new" / "job.toml", "--report", report)
    assert "9 tuples, 4 matches" in said
    assert f"report     {report}: the run in charts, for a browser" in said
    told = reported(report)
    assert (told["state"], told["total"]["pairs"], told["live"]) == ("done", 4, False)
    assert sum(each["pairs"] for each in told["moments"]) == 4
    assert told["facts"]["sink"] == f"json {tmp_path}/new/matches"
    assert f"output     {tmp_path}/new/matches\ncheckpoint {tmp_path}/new/checkpoint" in said
    found = rows(tmp_path / "new" / "matches")
    assert [(row["symbol_left"], row["price_left"], row["price_right"]) for row in found] == [
        ("ACME", 1000, 998), ("ACME", 1012, 1015), ("BOLT", 250, 249), ("ACME", 1004, 1001),
    ]  # fmt: skip
    more = tmp_path / "new" / "orders" / "2.csv"
    more.write_text("ts,symbol,price\n2026-01-05T09:51:00Z,ACME,1003\n2026-01-05T09:00:00Z,ACME,1003\n")
    said = invoke("run", tmp_path / "new" / "job.toml", "--ui")
    assert "2 tuples, 1 too late, 1 matches" in said
    assert re.search(r"^page       http://127\.0\.0\.1:\d+/[\w-]{32}/$", said, flags=re.MULTILINE)
    assert len(rows(tmp_path / "new" / "matches")) == 5


def reported(report: Path) -> dict:
    """The data of a saved page."""
    return json.loads(report.read_text().split('<script type="application/json" id="data">')[1].split("</script>")[0])


def test_the_endless_file_of_init_is_right(tmp_path):
    invoke("init", "--rate", tmp_path)
    said = invoke("run", tmp_path / "job.toml", "--dry-run")
    assert "left       rate stream\n           `ts` timestamp, `x` bigint\n" in said
    assert "trigger    2 seconds" in said


def test_init_overwrites_nothing(tmp_path, monkeypatch, capsys):
    invoke("init", tmp_path)
    assert f"{tmp_path}/job.toml is there already; name another directory" in refused(
        monkeypatch, capsys, "init", tmp_path
    )


def test_json_has_an_object_for_each_micro_batch_and_one_for_the_end(spark, files):
    events = [json.loads(line) for line in invoke("run", files / "job.yaml", "--json").splitlines()]
    first, last = events[0], events[-1]
    assert (first["event"], first["left"], first["right"], first["pairs"], first["late"]) == ("micro-batch", 3, 3, 2, 0)
    assert [each["size"] for each in first["chains"]["left"]] == [3]
    assert sum(first["split"].values()) == pytest.approx(first["seconds"])
    assert first["state_bytes"] > 0
    assert (last["event"], last["code"], last["pairs"], last["left"], last["right"]) == ("end", 0, 2, 3, 3)
    assert [sorted(row) for row in rows(files / "out")] == [["k_left", "k_right", "ts_left", "ts_right", "x", "y"]] * 2


def test_two_tables_are_joined_at_once(spark, files):
    text = (files / "job.yaml").read_text().replace("watermark: 1 min", "streaming: false")
    (files / "tables.yaml").write_text(text)
    assert "done: 2 rows" in invoke("run", files / "tables.yaml")
    assert len(rows(files / "out")) == 2
    with pytest.raises(ParameterError, match=r"tables\.yaml joins two tables at once, so there is nothing to watch"):
        CliRunner().invoke(app, ["run", str(files / "tables.yaml"), "--ui"], catch_exceptions=False)
    again = CliRunner().invoke(app, ["run", str(files / "tables.yaml")])
    assert again.exit_code == FAILED
    assert "already exists" in again.stderr


def test_a_query_that_fails_says_why_in_our_own_words(spark, files):
    invoke("run", files / "job.yaml")
    text = (files / "job.yaml").read_text()
    (files / "job.yaml").write_text(text.replace("right.y - 5", "right.y - 6"))
    (files / "orders" / "2.csv").write_text(ORDERS)
    report = files / "report.html"
    result = CliRunner().invoke(app, ["run", str(files / "job.yaml"), "--report", str(report)])
    assert result.exit_code == FAILED
    why = "files cannot go on from this checkpoint: condition was "
    assert result.stderr.startswith(f"error: {why}")
    told = reported(report)
    assert told["state"] == "failed"
    assert told["said"].startswith(why)


def test_kafka_without_its_connector_says_how_to_get_it(spark, files, monkeypatch, capsys):
    text = (files / "job.yaml").read_text()
    kafka = "left: {format: kafka, bootstrap_servers: localhost:9, topic: t, schema: 'ts timestamp, k string, x int', watermark: 1 s}"
    (files / "job.yaml").write_text(
        "\n".join(kafka if line.startswith("left:") else line for line in text.splitlines())
    )
    said = refused(monkeypatch, capsys, "run", files / "job.yaml")
    assert "the left side cannot be read: " in said
    assert "add --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3" in said


class Lines(socketserver.StreamRequestHandler):
    """Sends lines as soon as somebody connects, and waits for him to go."""

    def handle(self):
        self.wfile.write(b"a,1\nb,2\n")
        self.wfile.flush()
        self.rfile.read()


def test_lines_from_a_socket_are_joined_with_themselves_into_memory_until_somebody_stops_it(
    spark, tmp_path, monkeypatch
):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        side = f"format = 'socket'\nport = {server.server_address[1]}\nvalue = 'csv'\nschema = 'k string, x int'\n"
        (tmp_path / "job.toml").write_text(
            f"name = 'lines'\n[left]\n{side}[right]\n{side}[join]\non = 'left.x < right.x'\nworkers = 1\n"
            "[window]\ncount = 10\n[sink]\nformat = 'memory'\n[run]\ntrigger = '100 ms'\n"
        )
        stop_after_a_match(monkeypatch)
        said = invoke("run", tmp_path / "job.toml", code=130)
        server.shutdown()
    assert "1 matches" in said
    assert "stopped; the same command goes on from there" in said
    assert [tuple(row) for row in spark.table("lines").collect()] == [("a", 1, "b", 2)]


def stop_after_a_match(monkeypatch) -> None:
    """As if somebody pressed Ctrl-C then."""

    def moment(self, moment):
        if moment.pairs:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Told, "moment", moment)


def test_mistakes_are_told_before_spark_starts(tmp_path, monkeypatch, capsys):
    (tmp_path / "job.toml").write_text("name = 'x'\n[lfet]\n")
    said = refused(monkeypatch, capsys, "run", tmp_path / "job.toml").splitlines()
    assert said[0].startswith(f"error: {tmp_path}/job.toml: 'left' is missing")
    assert any("job.toml:2: lfet: no table of a job file is called 'lfet'" in line for line in said)
    assert "--conf 'x' is no KEY=VALUE" in refused(monkeypatch, capsys, "run", tmp_path / "job.toml", "--conf", "x")


def test_a_report_that_would_overwrite_something_else_is_refused_before_spark_starts(tmp_path, monkeypatch, capsys):
    invoke("init", tmp_path)
    said = refused(monkeypatch, capsys, "run", tmp_path / "job.toml", "--report", tmp_path / "job.toml")
    assert f"--report {tmp_path}/job.toml is there, and no report of PanJoin; name another file" in said


def test_explain_shows_what_is_indexed(monkeypatch, capsys, tmp_path):
    said = invoke(
        "explain", "--on", "left.k = right.k AND left.x < right.x", "--time", "10 min",
        "--left", "k string, x int, ts timestamp", "--right", "k string, x int, ts timestamp",
    )  # fmt: skip
    assert "equality   left.k = right.k\n" in said
    assert "key        int64 key: equality" in said
    assert "a left tuple can be joined for 10 minutes of event time after it" in said
    invoke("init", tmp_path)
    assert "band       left.price - right.price in [-5, 5]" in invoke("explain", tmp_path / "job.toml")
    assert "give a window" in refused(monkeypatch, capsys, "explain", "--on", "left.x < right.x")
    assert "give a job file, or a condition" in refused(monkeypatch, capsys, "explain")
    assert "--left is no list of columns" in refused(
        monkeypatch, capsys, "explain", "--on", "left.x < right.x", "--count", "5", "--left", "x"
    )


def test_the_help_says_the_exit_codes():
    said = " ".join(invoke("run", "--help").replace("│", " ").split())
    assert " ".join(TOLD.split()) in said
