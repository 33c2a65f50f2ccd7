"""Arrow's layouts of the same values: in which one a column is kept, and how it gets there.

    polars, DuckDB   string_view            kept as  large_string      Arrow cannot pick rows out of views ...
    run_end_encode   run_end_encoded<int64>          int64             ... nor out of runs
    small enums      dictionary<int8, ...>           dictionary<int32> batches with words of their own would outgrow it
    all else         any type                        as it is, the very memory

The same holds inside lists, structs and maps. Invariant: another layout never changes a value.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panjoin.errors import DataError

_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_BYTESTRINGS = (pa.binary(), pa.large_binary(), pa.binary_view())


def kept(kind: pa.DataType) -> pa.DataType:
    """The type that a column of this type is kept in; itself for all but the few above."""
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return kept(kind.value_type)
    if pa.types.is_dictionary(kind):
        index = kind.index_type if kind.index_type.bit_width >= 32 else pa.int32()
        return _changed(kind, pa.dictionary(index, kept(kind.value_type), kind.ordered))
    if pa.types.is_struct(kind):
        return _changed(kind, pa.struct([_kept_field(field) for field in kind]))
    if pa.types.is_map(kind):
        return _changed(kind, pa.map_(_kept_field(kind.key_field), _kept_field(kind.item_field), kind.keys_sorted))
    if pa.types.is_fixed_size_list(kind):
        return _changed(kind, pa.list_(_kept_field(kind.value_field), kind.list_size))
    if pa.types.is_list(kind):
        return _changed(kind, pa.list_(_kept_field(kind.value_field)))
    if pa.types.is_large_list(kind):
        return _changed(kind, pa.large_list(_kept_field(kind.value_field)))
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        _refuse_to_change(kind)
    return kind


def _refuse_to_change(kind: pa.DataType) -> None:
    """Views of lists are kept; what is inside them is not converted, because Arrow's own casts of them lose values."""
    if kept(kind.value_type) != kind.value_type:
        raise DataError(f"a column of type {kind} cannot be kept; give it as {pa.list_(kept(kind.value_type))}")


def _kept_field(field: pa.Field) -> pa.Field:
    return field.with_type(kept(field.type))


def _changed(kind: pa.DataType, new: pa.DataType) -> pa.DataType:
    """`kind` itself where nothing inside has changed, so that its memory is kept as well."""
    return kind if new == kind else new


def same_values(one: pa.DataType, other: pa.DataType) -> bool:
    """True when two types are layouts of the same values, so that a conversion between them changes nothing."""
    if pa.types.is_null(one):
        return True
    one, other = _values(one), _values(other)
    return one == other or any(one in group and other in group for group in (_TEXTS, _BYTESTRINGS))


def _values(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, kept."""
    encoded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return _values(kind.value_type) if encoded else kept(kind)


def in_layout(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values in another layout. Arrow casts between a dictionary and the very type of its values alone."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    elif pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        column = column.cast(kind.value_type)
    return column if column.type == kind else column.cast(kind)
