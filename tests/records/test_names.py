"""Names of the joined result: any text, suffixes on collisions, and no two alike."""

import pyarrow as pa
import pytest

from panjoin.errors import DataError, ParameterError
from panjoin.names import joined_names, joined_schema


def schema(*names):
    return pa.schema([pa.field(name, pa.int64(), nullable=False) for name in names])


def test_a_name_on_one_side_stays_and_a_name_on_both_gets_suffixes():
    left, right = joined_names(schema("id", "price", "ts"), schema("id", "qty", "ts"))
    assert left == ["id_left", "price", "ts_left"]
    assert right == ["id_right", "qty", "ts_right"]
    assert joined_names(schema("id"), schema("id"), ("", "_r")) == (["id"], ["id_r"])


def test_names_with_spaces_dots_backticks_and_underscores_are_names():
    odd = ["_x", "a b", "a.b", "`q`", "class", "", "ünï", "'", '"', "SELECT"]
    left, right = joined_names(schema(*odd), schema(*odd))
    assert left == [name + "_left" for name in odd]
    assert right == [name + "_right" for name in odd]
    assert joined_schema(schema(*odd), schema("x")).names == [*odd, "x"]


@pytest.mark.parametrize(
    ("left", "right", "suffixes", "message"),
    [
        (["x", "x_left"], ["x"], ("_left", "_right"), "'x' is on both sides, and the suffix '_left' makes it 'x_left'"),
        (["x"], ["x", "x_left"], ("_left", "_right"), "'x' is on both sides, and the suffix '_left' makes it 'x_left'"),
        (
            ["x", "x_right"],
            ["x"],
            ("_left", "_right"),
            "'x' is on both sides, and the suffix '_right' makes it 'x_right'",
        ),
        (["x"], ["x"], ("_s", "_s"), "the suffix '_s' makes it 'x_s', which another column of the result has as well"),
        (["x"], ["x"], ("", ""), r"choose other suffixes, such as suffixes=\('_l', '_r'\)"),
    ],
)
def test_a_suffix_that_collides_again_is_refused_with_the_remedy(left, right, suffixes, message):
    with pytest.raises(ParameterError, match=message):
        joined_names(schema(*left), schema(*right), suffixes)


def test_case_tells_names_apart_only_where_it_counts():
    left, right = schema("Price"), schema("price")
    assert joined_names(left, right) == (["Price"], ["price"])
    assert joined_names(left, right, case_sensitive=False) == (["Price_left"], ["price_right"])
    assert joined_names(schema("a", "A"), schema("b")) == (["a", "A"], ["b"])
    with pytest.raises(DataError, match=r"left batch has more than one column 'a' \(upper and lower case are the same"):
        joined_names(schema("a", "A"), schema("b"), case_sensitive=False)
    with pytest.raises(ParameterError, match="'X' is on both sides"):
        joined_names(schema("X", "x_LEFT"), schema("x"), case_sensitive=False)


def test_duplicates_within_a_side_are_refused():
    with pytest.raises(DataError, match="right batch has more than one column 'a'; rename all but one of them"):
        joined_names(schema("x"), schema("a", "a"))
    with pytest.raises(DataError, match="left batch has more than one column 'a'"):
        joined_schema(schema("a", "a"), schema("x"), "left_semi")


@pytest.mark.parametrize(
    ("how", "nullable"),
    [
        ("inner", [False, False, False, False]),
        ("left", [False, False, True, True]),
        ("right", [True, True, False, False]),
        ("full", [True, True, True, True]),
    ],
)
def test_what_an_outer_join_may_leave_empty_is_nullable(how, nullable):
    result = joined_schema(schema("k", "a"), schema("k", "b"), how)
    assert result.names == ["k_left", "a", "k_right", "b"]
    assert [field.nullable for field in result] == nullable


def test_semi_and_anti_joins_have_the_left_columns_as_they_are():
    for how in ("left_semi", "left_anti"):
        assert joined_schema(schema("k", "a"), schema("k", "k_left"), how) == schema("k", "a")
