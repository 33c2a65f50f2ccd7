"""Windows as files: taken over without the state, made again when they are not as written, gone when they have expired."""

import errno
import os
import shutil

import pytest

from panjoin.errors import SpaceError
from panjoin.spark import keeper, shelf
from panjoin.spark.keeper import Keeper
from panjoin.spark.processor import RESIDENTS_KEPT
from panjoin.spark.residence import LOCK
from tests import registry
from tests.oracle import nested
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import answer_of, micro_batches, plan_of, with_plan
from tests.spark.runtimes import FAR


@pytest.fixture
def rebuilds(monkeypatch):
    """Workers whose windows were made from the state."""
    made, real = [], keeper.rebuilt
    monkeypatch.setattr(keeper, "rebuilt", lambda *arguments: made.append(arguments[1]) or real(*arguments))
    return made


def fed(question, until, **options):
    spark = FakeSpark(plan_of(question, **options))
    return spark, [row for left, right in micro_batches(question)[:until] for row in spark.micro_batch([left], [right])]


def go_on(spark, question, since):
    return [row for left, right in micro_batches(question)[since:] for row in spark.micro_batch([left], [right])]


def files(spark, pattern="*"):
    return [path for path in sorted(spark.directory.rglob(pattern)) if path.is_file() and path.name != LOCK]


@pytest.mark.parametrize("index", registry.INDEXES)
@pytest.mark.parametrize("window", ["last_7_and_20", "seconds"])
def test_every_process_of_an_executor_goes_on_without_the_state(window, index, rebuilds):
    question = registry.question("band", window, size=90)
    spark = FakeSpark(plan_of(question, index=index))
    rows = []
    for left, right in micro_batches(question):
        spark.other_process()
        rows += spark.micro_batch([left], [right])
    assert answer_of(rows) == nested.join(question)
    assert rebuilds == []


def test_sealed_subwindows_are_held_in_maps_of_their_files():
    question = registry.question("band", "everything", size=60)
    spark, _ = fed(question, 12, index="bi-sort")
    (_, resident), *_ = spark.process._held.values()
    sealed = [subwindow for subwindow, late in resident.subwindows() if subwindow.sealed]
    assert len(sealed) > 2
    for subwindow in sealed:
        arrays = [subwindow.arrays()[name] for name in ("index keys", "index ids", "index index")]
        assert all(not array.flags.owndata and not array.flags.writeable for array in arrays)


def test_a_file_that_was_cut_while_this_process_held_it_is_not_read_any_more(rebuilds):
    """Reading a map past the end of its file would kill the process."""
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 12)
    for path in files(spark, "*.sealed"):
        os.truncate(path, 0)
    assert answer_of(rows + go_on(spark, question, 12)) == nested.join(question)
    assert rebuilds == [0, 1]


@pytest.mark.parametrize("pattern", ["*.sealed", "*.run", "manifest-*"])
@pytest.mark.parametrize("harm", ["remove", "empty", "flip"])
def test_windows_with_a_damaged_file_are_made_again_and_written_again(pattern, harm, rebuilds, caplog):
    question = registry.question("equal", "everything", "full", size=60, batch=5)
    spark, rows = fed(question, 9)
    for path in files(spark, pattern):
        blob = path.read_bytes()
        path.unlink()
        if harm != "remove":
            path.write_bytes(b"" if harm == "empty" else blob[:-70] + bytes([blob[-70] ^ 1]) + blob[-69:])
    spark.other_process()
    rows += go_on(spark, question, 9)
    assert rebuilds == [0]
    assert "makes its windows from the state" in caplog.text or (pattern, harm) == ("manifest-*", "remove")
    spark.other_process()
    assert answer_of(rows + spark.micro_batch([], [], FAR)) == _pairs_of(question)
    assert rebuilds == [0]


def _pairs_of(question):
    """A count window hands nobody out alone before its end, which streams do not have."""
    return {pair: n for pair, n in nested.join(question).items() if None not in pair}


def test_a_torn_file_leads_to_the_state_and_a_torn_state_to_an_error_only_then(rebuilds):
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    for handle in spark.handles:
        handle.maps["chunks"] = {key: (value[0][:-1],) for key, value in handle.maps["chunks"].items()}
    spark.other_process()
    left, right = micro_batches(question)[9]
    rows += spark.micro_batch([left], [right])
    assert rebuilds == []


def test_files_of_expired_subwindows_are_removed():
    question = registry.question("equal", "last_7_and_20", size=200, batch=10)
    spark, _ = fed(question, None)
    for directory in {path.parent for path in files(spark)}:
        names = [path.name for path in directory.glob("left-*")]
        assert len({name.split("-")[1] for name in names}) <= 4  # two versions of a window of at most three


def test_attempts_of_one_task_do_not_disturb_each_other(rebuilds):
    """Two run side by side from one committed state; either may be the one that counts."""
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    for left, right in micro_batches(question)[9:]:
        spark.doomed = [(Keeper(RESIDENTS_KEPT), None), (spark.process, None), (Keeper(RESIDENTS_KEPT), 1)]
        rows += spark.micro_batch([left], [right])
    assert answer_of(rows) == nested.join(question)
    assert rebuilds == []


def test_two_queries_in_one_directory_do_not_disturb_each_other(rebuilds):
    questions = [registry.question("band", "last_7_and_20", size=60, seed=seed) for seed in (1, 2)]
    sparks = [FakeSpark(plan_of(question)) for question in questions]
    shutil.rmtree(sparks[1].directory)
    sparks[1].directory = sparks[0].directory
    rows = [[], []]
    for pair in zip(*map(micro_batches, questions), strict=True):
        for query, (left, right) in enumerate(pair):
            sparks[query].other_process()
            rows[query] += sparks[query].micro_batch([left], [right])
    assert [answer_of(each) for each in rows] == [nested.join(question) for question in questions]
    assert rebuilds == []


def test_files_that_were_swept_while_a_micro_batch_ran_come_back(monkeypatch, rebuilds):
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    real = keeper.Keeper.keep

    def swept(self, *arguments):
        for path in list(spark.directory.glob("*/*/*")):
            shutil.rmtree(path)
        real(self, *arguments)

    left, right = micro_batches(question)[9]
    with monkeypatch.context() as patch:
        patch.setattr(keeper.Keeper, "keep", swept)
        rows += spark.micro_batch([left], [right])
    rows += go_on(spark, question, 10)
    assert answer_of(rows) == nested.join(question)
    assert sorted(rebuilds) == [0, 1]


def test_windows_with_other_options_are_made_again(rebuilds):
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    spark.plan = with_plan(spark.plan, index="rap-table")
    rows += go_on(spark, question, 9)
    assert answer_of(rows) == nested.join(question)
    assert rebuilds == [0, 1]
    (_, resident), *_ = spark.process._held.values()
    assert {subwindow.index.name for subwindow, late in resident.subwindows() if not late} == {"rap-table"}


def test_a_limit_is_kept_and_said(monkeypatch):
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    taken = sum(path.stat().st_size for path in files(spark))
    real = shelf.Shelf.__init__
    monkeypatch.setattr(shelf.Shelf, "__init__", lambda self, *rest: real(self, *rest[:2], taken, *rest[3:]))
    spark.other_process()
    with pytest.raises(
        SpaceError,
        match=rf"panjoin-\d+/.* is full: it would hold \d+ bytes, and the limit is {taken}; raise it, or name",
    ):
        go_on(spark, question, 9)
    monkeypatch.undo()
    assert answer_of(rows + go_on(spark, question, 9)) == nested.join(question)


def test_a_full_disk_is_said_and_leaves_nothing_half_written(monkeypatch):
    question = registry.question("band", "everything", size=60)
    spark, rows = fed(question, 9)
    before = files(spark)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("panjoin.spark.mapped._write_all", full)
        with pytest.raises(SpaceError, match=r"is full: No space left on device; make room there, or name another"):
            go_on(spark, question, 9)
    assert files(spark) == before
    assert answer_of(rows + go_on(spark, question, 9)) == nested.join(question)


def test_texts_nulls_and_numbers_with_gaps_come_back_from_files(rebuilds):
    question = registry.question("equal_string", "seconds", "full", size=60, batch=5)
    spark, rows, marks = FakeSpark(plan_of(question)), [], []
    for at, (left, right) in enumerate(micro_batches(question)):
        mark = (95 + 5 * at) * 1000 if at else 0
        marks += [mark * 1000 or None] * 2
        spark.other_process()
        rows += spark.micro_batch([left], [right], mark)
    assert answer_of(rows + spark.micro_batch([], [], FAR)) == nested.join(question, marks)
    assert rebuilds == []
    assert nested.look(question, marks).late


def test_late_tuples_beside_old_subwindows_come_back_from_files(rebuilds):
    question = registry.question("band", "seconds", "left", size=120, batch=10)
    spark, rows = FakeSpark(plan_of(question)), []
    beside = set()
    for left, right in micro_batches(question):
        spark.other_process()
        rows += spark.micro_batch([left], [right])
        beside |= {path.name for path in files(spark, "*-late-*")}
    assert beside and rebuilds == []
    assert answer_of(rows + spark.micro_batch([], [], FAR)) == nested.join(question)


def test_few_runs_hold_a_subwindow_that_took_in_many_batches():
    question = registry.question("band", "everything", size=120, batch=1)
    spark, _ = fed(question, None, workers=1, subwindow=1000)
    runs = files(spark, "left-0-*.run")
    assert 1 < len(runs) <= 2 * 7 + 2  # two versions of at most log2(120) runs
