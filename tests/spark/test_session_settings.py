"""What settings of the session mean to a condition: its time zone is Spark's own meaning, its ANSI switch changes nothing."""

import datetime as dt
from functools import reduce

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import panjoin as pj
from panjoin.errors import ConditionError, StateError
from panjoin.options import Options
from panjoin.predicate import parse
from panjoin.spark import stream_join
from panjoin.spark.plan import JoinPlan

NOON = dt.datetime(2024, 3, 30, 12)
HOURS = [-25, -14, -13, -12, -11, -1, 0, 11, 12, 13, 23, 36]
TABLE = pa.table(
    {
        "no": pa.array(range(len(HOURS)), pa.int32()),
        "day": pa.array([dt.date(2024, 3, 28 + at % 4) for at in range(len(HOURS))], pa.date32()),
        "ts": pa.array([NOON.replace(tzinfo=dt.UTC) + dt.timedelta(hours=hour) for hour in HOURS], pa.timestamp("us", "UTC")),
        "ntz": pa.array([NOON + dt.timedelta(hours=hour) for hour in range(-6, len(HOURS) - 6)], pa.timestamp("us")),
    }
)  # fmt: skip
CONDITIONS = (
    "left.day < right.ts",
    "left.ts BETWEEN right.day AND right.day + INTERVAL 36 HOURS",
    "left.ntz = right.ts",
    "left.ntz >= right.ts - INTERVAL 30 MINUTES",
    "left.ts - right.ts <= INTERVAL 5 HOURS",
)


@pytest.fixture
def session(spark):
    """A session beside the shared one, with settings of its own."""
    return spark.newSession()


def frame_of(session):
    frame = session.createDataFrame(TABLE)
    return frame.withColumn("ntz", frame["ntz"].cast("timestamp_ntz"))


@pytest.mark.parametrize("zone", ["+02:00", "-11:00"])
def test_dates_and_local_times_meet_timestamps_as_in_sparks_batch_join(session, zone):
    session.conf.set("spark.sql.session.timeZone", zone)
    frame = frame_of(session)
    wanted, found = [], []
    for number, on in enumerate(CONDITIONS):
        pairs = frame.alias("left").join(frame.alias("right"), sf.expr(on))
        wanted.append(pairs.select(sf.lit(number), "left.no", "right.no"))
        ours = stream_join(frame, frame, on=on, window=pj.CountWindow(100), workers=1)
        found.append(ours.select(sf.lit(number), "no_left", "no_right"))
    expected, answers = (sorted(map(tuple, reduce(DataFrame.unionAll, each).collect())) for each in (wanted, found))
    assert answers == expected
    assert {number for number, _, _ in expected} == set(range(len(CONDITIONS)))


def test_where_clocks_change_such_conditions_are_refused_at_the_call_with_the_setting_to_change(session):
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = frame_of(session)
    for on in CONDITIONS:
        with pytest.raises(ConditionError, match=r"(?s)America/New_York.*set spark.sql.session.timeZone to UTC"):
            stream_join(frame, frame, on=on, window=pj.CountWindow(100))
    near = "left.ts BETWEEN right.ts - INTERVAL 5 HOURS AND right.ts"
    assert stream_join(frame, frame, on=near, window=pj.CountWindow(100)).count() > len(HOURS)


def test_conditions_keep_the_rules_of_ansi_mode_where_the_session_has_it_off(session):
    left = session.createDataFrame(pa.table({"x": pa.array([2**24 + 1], pa.int32())}))
    right = session.createDataFrame(pa.table({"f": pa.array([2.0**24], pa.float32())}))
    for ansi in ("true", "false"):
        session.conf.set("spark.sql.ansi.enabled", ansi)
        assert stream_join(left, right, on="left.x > right.f", window=pj.CountWindow(5)).count() == 1


def plan(on, zone):
    options = Options(workers=1, timezone=zone)
    return JoinPlan.of(parse(on), pj.CountWindow(5), (TABLE.schema, TABLE.schema), options, "the join")


def test_a_restart_in_another_zone_is_refused_only_where_the_condition_depends_on_it():
    stored = plan("left.day < right.ts", "UTC").parameters
    with pytest.raises(StateError, match=r"timezone was 'UTC' and is now '\+02:00'. Give it the timezone that it had"):
        plan("left.day < right.ts", "+02:00").refuse_other(stored)
    same = plan("left.ts < right.ts", "UTC").parameters
    plan("left.ts < right.ts", "+02:00").refuse_other(same)
    plan("left.day < right.ntz", "Europe/Berlin").refuse_other(plan("left.day < right.ntz", "UTC").parameters)


def test_without_spark_the_zone_is_an_option():
    day, moment = dt.date(2024, 3, 31), dt.datetime(2024, 3, 30, 22, tzinfo=dt.UTC)
    for zone, found in (("UTC", 0), ("+02:00", 1)):
        with pj.StreamJoin(on="left.day = right.ts", window=pj.CountWindow(5), timezone=zone) as join:
            join.push("left", {"day": [day]})
            assert join.push("right", {"ts": [moment]}).count == found
    with pytest.raises(pj.ParameterError, match="timezone must be a name such as 'UTC' or 'Europe/Berlin', not 2"):
        pj.StreamJoin(on="left.day = right.ts", window=pj.CountWindow(5), timezone=2)
