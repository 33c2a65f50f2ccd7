"""The page on operations names every number that a running query tells, and no other."""

import re
from pathlib import Path

from panjoin.spark.exporter import PORT, Collector
from panjoin.spark.listener import Watch
from panjoin.spark.meter import STEPS
from panjoin.spark.metrics import Progress

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text()


def test_it_names_every_metric_of_the_endpoint_with_its_labels() -> None:
    served = {
        f"{family.name}_total" if family.type == "counter" else family.name: set(family._labelnames) - {"query", "join"}
        for family in Collector(Watch()).collect()
    }
    rows = re.findall(r"^\| `(panjoin_\w+)` \|([^|]*)\| [^|]+ \|$", PAGE, flags=re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == served
    assert set(re.findall(r"panjoin_[a-z_]+_(?:total|bytes|seconds)", PAGE)) <= set(served)


def test_it_names_every_step_that_is_measured() -> None:
    table = PAGE[PAGE.index("| step | what a worker does in it |") : PAGE.index("## Prometheus")]
    assert re.findall(r"`(\w+)`", table) == list(STEPS)


def test_it_names_everything_that_a_progress_can_be_asked() -> None:
    table = PAGE[PAGE.index("| of a `Progress` | meaning |") : PAGE.index("| step |")]
    first_cells = re.findall(r"^\| (`[^|]*`) \|", table, flags=re.MULTILINE)
    asked = {name for cell in first_cells for name in re.findall(r"`(\w+)", cell)} - {"Progress"}
    assert asked == {
        name for name in vars(Progress) if not name.startswith("_") and name not in Progress.__annotations__
    }


def test_the_port_is_the_one_that_is_served() -> None:
    assert f"a free port; {PORT} unless given" in PAGE
