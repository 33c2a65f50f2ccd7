"""The program in the Spark guide is submitted as the guide says, and joins."""

import re
import shlex
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.test_clusters import SPARK_HOME, environment

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text()
ORDERS, QUOTES = [100, 205, 310], [103, 110, 200, 400]


@pytest.mark.slow
def test_the_program_of_the_guide_is_submitted_and_gives_the_matches(tmp_path: Path) -> None:
    (program,) = re.findall(r'^```python title="job.py"\n(.*?)^```', GUIDE, flags=re.DOTALL | re.MULTILINE)
    (command,) = re.findall(r"^(spark-submit --master 'local.*job\.py) /data$", GUIDE, flags=re.MULTILINE)
    (tmp_path / "job.py").write_text(program)
    for name, prices in (("orders", ORDERS), ("quotes", QUOTES)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"price": pa.array(prices, pa.int32())}), tmp_path / name / "1.parquet")
    words = [SPARK_HOME / "bin" / "spark-submit", *shlex.split(command)[1:], tmp_path]
    answer = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-5000:]
    rows = pq.read_table(tmp_path / "out", partitioning=None).to_pylist()
    found = sorted((row["price_left"], row["price_right"]) for row in rows)
    assert found == [(order, quote) for order in ORDERS for quote in QUOTES if abs(order - quote) <= 5]
