"""Records of faults, and the table made of them."""

from tests.faults import records
from tests.faults.catalogue import PARTS, classes
from tests.faults.records import Record, Tally


def test_missing_repeated_and_invented_rows_are_told_apart():
    tally = Tally()
    tally.judge({"a": 1, "b": 2, "c": 1}, {"b": 3, "c": 1, "d": 2}, seed=7, what="a flood")
    tally.judge({"a": 1}, {"a": 1}, seed=8)
    assert (tally.cases, tally.lost, tally.duplicated, tally.wrong) == (2, 1, 1, 2)
    assert tally.failed == ["seed 7 (a flood): lost=1 duplicated=1 wrong=2 undetected=0"]
    assert not tally.clean
    assert not Tally().clean


def test_the_table_is_made_of_records_and_stands_between_its_marks(tmp_path):
    document = tmp_path / "reliability.md"
    document.write_text(f"before\n{records.BEGIN}\nold\n{records.END}\nafter\n")
    for part, name in (("inputs", "fuzz"), ("kills", "one kill")):
        tally = Tally()
        tally.case(3)
        tally.case(4, wrong=part == "inputs")
        Record.of(part, name, "It is done.", tally, command="x", seconds=1.0).keep(tmp_path / "records")
    for _ in range(2):
        records.write(document, tmp_path / "records", PARTS)
        lines = document.read_text().splitlines()
        assert lines[0] == "before" and lines[-1] == "after" and "old" not in lines
        rows = [line for line in lines if line.startswith("|")][2:]
        assert rows == [
            "| one kill | 2 | 0 | 0 | 0 | 0 |",
            "| fuzz | 2 | 0 | 0 | 1 | 0 |",
            "| **all** | **4** | **0** | **0** | **1** | **0** |",
        ]


def test_the_document_shows_the_records_that_are_kept():
    assert records.table(records.records(), PARTS) in records.DOCUMENT.read_text()


def test_every_record_that_is_kept_is_of_a_class_that_there_is_and_none_has_failed():
    known = classes()
    for record in records.records():
        assert records.slug(record.name) in known
        assert record.failed == []


def test_every_class_says_how_it_is_judged():
    for name, each in classes().items():
        assert each.part in PARTS, name
        assert each.how.endswith(".") and len(each.how) > 40, name
