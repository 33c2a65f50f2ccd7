"""`session()` adds to the settings that there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.spark import session
from panjoin.spark.session_builder import SUITABLE

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def test_a_session_that_runs_is_taken_and_given_what_is_not_set(spark):
    ours = (CHANGELOG, "spark.sql.ansi.enabled")
    for name in ours:  # the session is shared: an example of the docs may have asked for it before
        spark.conf.unset(name)
    before = dict(spark.conf.getAll)
    assert CHANGELOG not in before
    try:
        assert session(settings={"spark.sql.shuffle.partitions": "2", "spark.sql.ansi.enabled": "true"}) is spark
        added = {"spark.sql.ansi.enabled": "true", CHANGELOG: "true"}
        assert dict(spark.conf.getAll) == before | added
        spark.conf.set(CHANGELOG, "false")
        session()
        assert spark.conf.get(CHANGELOG) == "false"
    finally:
        for name in ours:
            spark.conf.unset(name)


def test_what_only_a_new_session_can_have_is_refused(spark):
    with pytest.raises(
        ParameterError, match=r"spark.driver.memory is '1g' in the session that runs, .* stop that session"
    ):
        session(settings={"spark.driver.memory": "2g"})
    assert session(settings={"spark.driver.memory": "1g"}) is spark


@pytest.mark.slow
def test_spark_defaults_and_settings_stay_and_ours_are_added(tmp_path: Path):
    (tmp_path / "spark-defaults.conf").write_text(f"{CHANGELOG} false\nspark.sql.shuffle.partitions 7\n")
    program = """
import json, sys
from panjoin.spark import session
spark = session(master="local[1]", settings={"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "5"})
json.dump(dict(spark.conf.getAll), open(sys.argv[1], "w"))
spark.stop()
"""
    out = tmp_path / "settings.json"
    environment = os.environ | {"SPARK_CONF_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program, str(out)], check=True, env=environment, cwd=tmp_path)
    found = json.loads(out.read_text())
    assert found[CHANGELOG] == "false"
    assert found["spark.sql.shuffle.partitions"] == "5"
    (other,) = set(SUITABLE) - {CHANGELOG}
    assert found[other] == SUITABLE[other]
