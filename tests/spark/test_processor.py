"""The processor without a JVM: replayed, moved and killed at random it answers as the nested loop (see also runtimes.py)."""

import pickle

import pyarrow as pa
import pytest

from panjoin.errors import DamageError, DataError, StateError
from panjoin.spark import keeper, resident, state
from panjoin.spark import processor as processors
from panjoin.spark.chunk import Chunk
from panjoin.spark.state import Header
from tests import registry
from tests.oracle import nested
from tests.spark.fake_spark import FakeSpark
from tests.spark.questions import NO, answer_of, micro_batches, plan_of, with_plan
from tests.spark.runtimes import FAR

CHUNKS, HEADER = "chunks", "header"


def fed(question, *, until=None, **options):
    """A query after some micro-batches, and its rows."""
    spark = FakeSpark(plan_of(question, **options))
    rows = []
    for left, right in micro_batches(question)[:until]:
        rows += spark.micro_batch([left], [right])
    return spark, rows


def header_of(spark, number=0) -> Header:
    return Header.of(spark.handles[number].values[HEADER][0])


@pytest.mark.parametrize("how", ["inner", "left", "full", "left_semi", "left_anti"])
@pytest.mark.parametrize("forget", [0.0, 1.0])
def test_late_tuples_are_dropped_and_the_rest_is_joined(how, forget):
    question = registry.question("band", "seconds", how, size=60, batch=5)
    spark = FakeSpark(plan_of(question), forget=forget, die=0.3, seed=len(how))
    batches, rows, marks = micro_batches(question), [], []
    for at, (left, right) in enumerate(batches):
        mark = (95 + 5 * at) * 1000 if at else 0
        marks += [mark * 1000 or None] * 2
        rows += spark.micro_batch([left], [right], mark)
    assert answer_of(rows + spark.micro_batch([], [], FAR)) == nested.join(question, marks)
    late = nested.look(question, marks).late
    counted = header_of(spark).late
    assert {side: sum(each == side for each, _ in late) for side in counted} == counted
    assert late


def test_state_holds_the_window_and_no_more():
    question = registry.question("equal", "last_7_and_20", size=400, batch=10)
    spark, _ = fed(question)
    for handle in spark.handles:
        subwindows = {(side, number) for side, number, _ in handle.maps[CHUNKS]}
        assert len([side for side, _ in subwindows if side == "left"]) <= 2
        assert len([side for side, _ in subwindows if side == "right"]) <= 4


def test_after_all_has_expired_no_chunk_is_left():
    question = registry.question("equal", "seconds", "full", size=40)
    spark, _ = fed(question)
    assert len(spark.handles[0].maps[CHUNKS]) > 1
    spark.micro_batch([], [], FAR)
    assert set(spark.handles[0].maps[CHUNKS]) == {state._BORN}
    assert not spark.handles[0].timers


def test_an_inner_join_asks_to_be_called_when_its_oldest_subwindow_is_past():
    question = registry.question("equal", "seconds", size=40)
    spark, _ = fed(question)
    for handle in spark.handles:
        (due,) = handle.timers
        before = len(handle.maps[CHUNKS])
        spark.micro_batch([], [], due - 1)
        assert len(spark.handles[spark.handles.index(handle)].maps[CHUNKS]) == before
    first = min(min(handle.timers) for handle in spark.handles)
    held = sum(len(handle.maps[CHUNKS]) for handle in spark.handles)
    spark.micro_batch([], [], first)
    assert sum(len(handle.maps[CHUNKS]) for handle in spark.handles) < held


def test_a_worker_without_a_timer_agrees_with_one_that_had_one():
    """Only some workers are called when the watermark moves; the next data must still go to the same subwindows."""
    question = registry.question("equal", "seconds", size=60, batch=5)
    spark = FakeSpark(plan_of(question, workers=3), forget=0.5)
    rows = []
    for at, (left, right) in enumerate(micro_batches(question)):
        rows += spark.micro_batch([left], [right], (93 + 5 * at) * 1000)
        rows += spark.micro_batch([], [], (94 + 5 * at) * 1000)
        books = [header_of(spark, number).books for number in range(3)]
        assert len({str(each["next_number"]) for each in books}) == 1
    marks = [(93 + 5 * at) * 1_000_000 for at in range(len(micro_batches(question))) for _ in range(2)]
    # the watermark of an empty micro-batch is behind that of the next one, so it makes nobody late
    assert answer_of(rows) == nested.join(question, marks)


def test_chunks_are_cut_at_their_limit_and_come_back(monkeypatch):
    monkeypatch.setattr(state, "CHUNK_BYTES", 40)
    question = registry.question("equal_string", "last_7_and_20", size=60, batch=20)
    spark = FakeSpark(plan_of(question), forget=1.0)
    rows = [row for left, right in micro_batches(question) for row in spark.micro_batch([left], [right])]
    assert answer_of(rows) == nested.join(question)
    assert max(part for handle in spark.handles for _, _, part in handle.maps[CHUNKS]) > 1


def test_cutting_the_tuples_of_one_side_changes_no_result(monkeypatch):
    monkeypatch.setattr(resident, "BATCH_ROWS", 3)
    question = registry.question("band", "last_7_and_20", size=60, batch=20)
    spark = FakeSpark(plan_of(question))
    rows = []
    for left, right in micro_batches(question):
        pieces = [[table.slice(first, 2) for first in range(0, table.num_rows, 2)] for table in (left, right)]
        rows += spark.micro_batch(*pieces)
    assert answer_of(rows) == nested.join(question)


def test_counts_are_those_of_the_oracle_also_after_a_rebuild():
    question = registry.question("band", "last_7_and_20", size=60)
    spark = FakeSpark(plan_of(question, emit="counts"), forget=1.0)
    rows = [row for left, right in micro_batches(question) for row in spark.micro_batch([left], [right])]
    assert {(row["side"], row["id"]): row["count"] for row in rows} == nested.counts(question)


# ---- going on with other parameters ----


def test_index_subwindow_suffixes_and_emit_may_change_where_columns_are_kept():
    question = registry.question("band", "last_7_and_20", size=60)
    spark, rows = fed(question, until=8)
    spark.plan = with_plan(spark.plan, index="wib-tree", suffixes=("_left", "_right"), partitions=4)
    for left, right in micro_batches(question)[8:]:
        rows += spark.micro_batch([left], [right])
    assert answer_of(rows) == nested.join(question)


@pytest.mark.parametrize(
    ("predicate", "window", "options", "message"),
    [
        ("equal", "everything", {}, r"condition was 'left.x >= .*' and is now 'left.k = right.k'. Give it the"),
        ("band", "last_1", {}, r"window was 'CountWindow\(.*' and is now 'CountWindow\(left=1, right=1\)'"),
        ("band", "everything", {"workers": 3}, "workers was 2 and is now 3"),
        ("band", "everything", {"workers": 1}, "workers was 2 and is now 1"),
        ("band", "everything", {"how": "left"}, "how was 'inner' and is now 'left'"),
    ],
)
def test_another_join_on_the_same_checkpoint_is_refused(predicate, window, options, message):
    spark, _ = fed(registry.question("band", "everything"), until=2)
    other = registry.question(predicate, window)
    if "how" in options:
        other = other._replace(how=options.pop("how"))
    spark.plan = plan_of(other, **options)
    left, right = micro_batches(other)[0]
    spark.handles = [spark.handles[0]] * spark.plan.workers
    with pytest.raises(StateError, match=message):
        spark.micro_batch([left], [right])


def test_another_type_of_a_column_is_refused_and_so_is_one_that_was_not_kept():
    question = registry.question("band", "everything")
    spark, _ = fed(question, emit="counts")
    wide = question._replace(right=question.right.set_column(0, "x", question.right["x"].cast(pa.int64())))
    with pytest.raises(StateError, match="right column 'x' was int32 and is now int64"):
        plan_of(wide, emit="counts").refuse_other(spark.plan.parameters)
    with pytest.raises(StateError, match=f"do not keep column '{NO}' of the left side"):
        plan_of(question).refuse_other(spark.plan.parameters)


# ---- damage ----


def _damaged(spark, change):
    key = max(spark.handles[0].maps[CHUNKS])
    change(spark.handles[0].maps[CHUNKS], key)
    spark.other_process(files=False)
    return f"part {key[2]} of {key[0]} subwindow {key[1]}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda chunks, key: chunks.pop(key), "is damaged: it is missing"),
        (lambda chunks, key: chunks.update({key: (chunks[key][0][:-8],)}), "is damaged: it should have"),
        (lambda chunks, key: chunks.update({key: (chunks[key][0][:-8] + bytes(8),)}), "is damaged: its checksum"),
    ],
)
def test_a_damaged_chunk_is_an_error_that_names_it_and_never_a_wrong_row(change, message):
    question = registry.question("band", "everything", size=60)
    spark, _ = fed(question, until=4)
    what = _damaged(spark, change)
    left, right = micro_batches(question)[4]
    with pytest.raises(DamageError, match=f"{what} in the state {message}"):
        spark.micro_batch([left], [right])


def test_chunks_that_contradict_the_books_are_an_error():
    question = registry.question("band", "everything", size=60)
    spark, _ = fed(question, until=4)
    chunks, schema = spark.handles[0].maps[CHUNKS], spark.plan.schema("left")
    chunk = Chunk.of(chunks["left", 0, 0][0], schema, "it")
    chunks["left", 0, 0] = (Chunk(chunk.rows.slice(1), chunk.first_no + 1).to_bytes(),)
    spark.other_process(files=False)
    left, right = micro_batches(question)[4]
    with pytest.raises(
        DamageError, match="left subwindow 0 has 7 tuples and 0 late ones in the state, but the books say 8"
    ):
        spark.micro_batch([left], [right])


def test_a_damaged_header_is_an_error():
    question = registry.question("band", "everything")
    spark, _ = fed(question, until=2)
    blob = spark.handles[0].values[HEADER][0]
    spark.handles[0].values[HEADER] = (blob[:-1] + b"?",)
    with pytest.raises(DamageError, match="the header of the join in the state is damaged: its checksum"):
        spark.micro_batch(*([table] for table in micro_batches(question)[2]))


def test_a_header_that_is_gone_is_an_error_and_not_a_new_beginning_also_when_all_has_expired():
    question = registry.question("equal", "seconds", size=40)
    spark, _ = fed(question)
    spark.micro_batch([], [], FAR)
    for handle in spark.handles:
        del handle.values[HEADER]
    with pytest.raises(DamageError, match="the header of the join in the state is damaged: it is missing"):
        spark.micro_batch(*([table] for table in micro_batches(question)[0]))


# ---- what is kept in the process ----


def test_windows_are_taken_from_the_process_when_they_equal_the_state_and_only_then(monkeypatch):
    question = registry.question("band", "everything")
    made = []
    real = keeper.rebuilt
    monkeypatch.setattr(keeper, "rebuilt", lambda *arguments: made.append(arguments[1]) or real(*arguments))
    spark, _ = fed(question, until=3)
    assert made == []
    before = FakeSpark(spark.plan)
    before.handles = [pickle.loads(pickle.dumps(handle)) for handle in spark.handles]
    batches = micro_batches(question)
    spark.micro_batch([batches[3][0]], [batches[3][1]])
    assert made == []
    before.micro_batch([batches[3][0]], [batches[3][1]])  # the state of before: windows of after must not be used
    assert made == [0, 1]


def test_a_result_larger_than_spark_can_take_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(processors, "MOST_OUTPUT", 100)
    with pytest.raises(DataError, match=r"more than 100 bytes of result .* let micro-batches bring less"):
        fed(registry.question("band", "everything"))
