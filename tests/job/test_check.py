"""A job file is checked before Spark starts, and everything that is wrong is told at once, with its place."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panjoin.job.check import checked
from panjoin.job.document import parsed
from panjoin.job.places import Places
from panjoin.job.settings import ALLOWED
from panjoin.window import CountWindow, MixedWindow, TimeWindow
from tests.job.files import HOME, RIGHT, changed, job, problems

WRONG = """\
name = "a b"
surprise = 1
[left]
format = "csv"
path = "../x"
schema = "ts timestamp, price it"
watermark = "1 minut"
steaming = true
[right]
format = "csv"
path = "quotes"
schema = "ts timestamp, price int"
files_per_batch = "3"
[join]
on = "left.price BETWEEN right.prize - 5 AND right.price + 5"
how = "lefty"
emit = 5
[window]
time = { left = "1 day", rigth = 3 }
on = "tss"
[sink]
format = "parquet"
[run]
trigger = "soon"
[spark]
"spark.jars" = "x.jar"
"spark.sql.shuffle.partition" = 5
"""


def test_a_job_that_is_right_has_every_part():
    made = job(RIGHT)
    assert made.window == TimeWindow("10 minutes", on="ts")
    assert [schema.names for schema in made.schemas] == [["ts", "k", "x"]] * 2
    assert (made.name, made.streaming, made.bounded, made.options.how) == ("job", True, True, "inner")


def test_yaml_says_the_same():
    text = (
        "name: job\nleft:\n"
        "  {format: csv, path: orders, schema: 'ts timestamp, k string, x int', watermark: 1 minute}\n"
        "right:\n  {format: csv, path: quotes, schema: 'ts timestamp, k string, x int', watermark: 1 minute}\n"
        "join:\n  on: left.k = right.k AND left.x BETWEEN right.x - 5 AND right.x + 5\n"
        "window: {time: 10 minutes, on: ts}\n"
        "sink: {format: parquet, path: out}\n"
    )
    assert checked(parsed("job.yaml", text, yaml_text=True), Places(HOME)) == job(RIGHT)


def test_all_problems_come_at_once_each_with_its_line_and_what_was_expected():
    told = problems(WRONG)
    wanted = [
        "job.toml:1: name: must be letters, digits, '_' and '-', at most 64 of them, not 'a b'",
        "job.toml:2: surprise: no table of a job file is called 'surprise'; there are 'name', 'left', ",
        "job.toml:5: left.path: '../x' goes up with '..'",
        "job.toml:6: left.schema: schema is no list of columns such as",
        "job.toml:7: left.watermark: this length of time is '1 minut', and 'minut' is no unit of time",
        "job.toml:8: left.steaming: unknown key; there are ",
        "job.toml:13: right.files_per_batch: must be a whole number, not '3'",
        "job.toml:15: join.on: the right side has no column 'prize'; there are 'ts', 'price'; did you mean 'price'?",
        "job.toml:16: join.how: how='lefty' is no join type; ",
        "job.toml:17: join.emit: must be a text in quotes, not 5; or must be a list, not 5",
        "job.toml:19: window.time.rigth: unknown key; there are 'left', 'right'; did you mean 'right'?",
        "job.toml:21: sink.path: is missing; the directory, seen from the job file",
        "job.toml:24: run.trigger: the trigger is 'soon', which is not a duration; ",
        "job.toml:26: spark.spark.jars: a job file may not give this setting unless the command line says --allow-conf",
        "job.toml:27: spark.spark.sql.shuffle.partition: ",
    ]
    assert len(told) == len(wanted)
    for line in wanted:
        assert any(said.startswith(line) for said in told), (line, told)
    numbers = [int(said.split(":")[1]) for said in told]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"name": ""}, "job.toml: 'name' is missing; name = 'my-join' names the query"),
        ({"name": "name = 'x`; drop table y'"}, "name: must be letters, digits"),
        ({"left__format": ""}, "job.toml:2: left.format: is missing; there are 'parquet', 'csv', "),
        ({"left__format": "format = 3"}, "left.format: must be a text, not 3"),
        ({"left__format": "format = 'a b'"}, "left.format: must be the name of a Spark data source, not 'a b'"),
        ({"left__schema": ""}, "job.toml:2: left.schema: is missing; name the columns"),
        ({"left__watermark": ""}, "job.toml:2: left.watermark: is missing; a stream in a time window needs it"),
        ({"left__select": "select = ['tss']"}, "left.select: there is no column 'tss'; there are 'ts', 'k', 'x'; did you mean 'ts'"),
        ({"left__rename": "rename = {k = 'ts'}"}, "left.rename: makes two columns 'ts'"),
        ({"left__rename": "rename = {k = 'key'}"}, "join.on: the left side has no column 'k'; there are 'ts', 'key', 'x'"),
        ({"join__on": "on = 'left.x ='"}, "job.toml:13: join.on: "),
        ({"join__on": "on = 'left.x = 3'"}, "does not mention the right side"),
        ({"join__on": "on = 'left.x = right.k'"}, "job.toml:13: join.on: "),
        ({"join__index": "index = 'btree'"}, "join.index: no index structure is called 'btree'"),
        ({"join__emit": "emit = ['sum(price)']"}, "join.emit: "),
        ({"join__emit": "emit = 'counts'\nhow = 'left'"}, "join: emit='counts' is for inner joins"),
        ({"join__workers": "workers = 0"}, "join.workers: must be at least 1, not 0"),
        ({"join__suffixes": "suffixes = ['_a']"}, "join.suffixes: must be a list of two"),
        ({"window__on": ""}, "job.toml:14: window: a time window needs the event-time column"),
        ({"window__on": "on = 'k'"}, "window.on: left.k is string, but event time must be a timestamp"),
        ({"window__on": "on = 't'"}, "window.on: the left side has no column 't'; there are 'ts', "),
        ({"window__time": "time = 5"}, "window.time: must be a text in quotes, not 5"),
        ({"window__count": "count = 3"}, "window: the left side has a time and a count; give each side one of them"),
        ({"sink__format": ""}, "sink.format: is missing; there are "),
        ({"more": "[run]\ntrigger = 'now'"}, "run.trigger: the trigger is 'now', which is not a duration"),
        ({"more": "[run]\nmaster = 'spark://elsewhere:7077'"}, "run.master: must be local, local[2] or local[*]"),
        ({"more": "[spark]\n'spark.driver.extraJavaOptions' = '-javaagent:x'"}, "may not give this setting unless"),
        ({"more": "[spark.sql]\nextensions = 'x'"}, "job.toml:21: spark.sql.extensions: a job file may not give"),
        ({"more": "[spark]\n'spark.sql.shuffle.partitions' = []"}, "must be a text, a number or a boolean, not []"),
        ({"left__format": "format = 'kafka'"}, "left.path: unknown key; there are "),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_key_and_the_remedy(line, said):
    told = problems(changed(**line))
    assert any(said in each for each in told), told


def test_a_condition_that_cannot_be_read_hides_no_mistake_beside_it():
    text = WRONG.replace("BETWEEN", "BETWEEEN").replace("emit = 5", "index = 'b-tree'\nworkers = 0")
    said = [line.split(": ", 2)[1] for line in problems(text)]
    assert [each for each in said if each.startswith("join")] == ["join.on", "join.how", "join.index", "join.workers"]


def test_a_mistake_in_one_key_is_told_once():
    assert len(problems(changed(left__schema="schema = 'ts timestamp, x it'"))) == 1
    assert len(problems(changed(window__time="time = 'long'"))) == 1
    assert len(problems(changed(left__watermark="watermark = 5"))) == 1


@pytest.mark.parametrize(
    ("lines", "window"),
    [
        (["count = 7"], CountWindow(7)),
        (["count = {left = 7, right = 8}"], CountWindow(left=7, right=8)),
        (
            ["time = {left = '1 hour', right = '0 s'}", "on = ['ts', 'ts']"],
            TimeWindow(left="1 hour", right="0 s", on="ts"),
        ),
        (
            ["count = {left = 7}", "time = {right = '1 hour'}", "on = 'ts'"],
            MixedWindow(left=CountWindow(7), right=TimeWindow("1 hour", on="ts")),
        ),
    ],
)
def test_windows_of_every_kind(lines, window):
    drop = {} if window.timed else {"left__watermark": "", "right__watermark": ""}
    assert job(changed(window__time="\n".join(lines), window__on="", **drop)).window == window


def test_a_watermark_beside_a_count_window_is_refused():
    told = problems(changed(window__time="count = 5", window__on=""))
    assert len(told) == 2
    assert "left.watermark: is about event time, which a count window has none of; leave it out" in told[0]


def test_settings_of_the_list_are_passed_on_and_others_only_when_the_command_line_says_so():
    text = changed(
        more="[spark]\n'spark.sql.shuffle.partitions' = 4\nexecutor.memory = '2g'\n'spark.sql.ansi.enabled' = true"
    )
    expected = {"spark.sql.shuffle.partitions": "4", "spark.executor.memory": "2g", "spark.sql.ansi.enabled": "true"}
    assert job(text).settings == expected
    assert job(changed(more="[spark]\n'spark.jars' = 'x'"), allow_conf=True).settings == {"spark.jars": "x"}


def test_no_setting_of_the_list_loads_code_or_names_a_place():
    bad = (
        "jars",
        "class",
        "plugin",
        "listener",
        "extension",
        "dir",
        "java",
        "path",
        "location",
        "catalog",
        "uri",
        "host",
    )
    assert [
        name
        for name in ALLOWED
        if any(word in name.lower().removeprefix("spark.").replace("pyspark", "") for word in bad)
    ] == []


def test_parquet_files_tell_their_columns_themselves(tmp_path):
    (tmp_path / "in").mkdir()
    text = changed(left__format="format = 'parquet'", left__path="path = 'in'", left__schema="")
    (said,) = problems(text, home=tmp_path)
    assert "left.schema: there are no Parquet files in" in said
    pq.write_table(
        pa.table({"ts": pa.array([0], pa.timestamp("ns", tz="UTC")), "k": ["a"], "x": [1]}),
        tmp_path / "in" / "1.parquet",
    )
    assert str(job(text, home=tmp_path).schemas[0].field("ts").type) == "timestamp[us, tz=UTC]"
