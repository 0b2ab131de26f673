"""Records as a data frame, as labelled arrays, as a Parquet file. What that needs is loaded where it is asked for."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from experiments.column_units import unit_of
from patterns.errors import UnknownName, UserError

if TYPE_CHECKING:
    import pandas
    import xarray

Records = Sequence[Mapping[str, Any]]


def to_dataframe(records: Records, keys: Sequence[str] = ()) -> pandas.DataFrame:
    """A row a record; columns of whole numbers stay whole where some rows have none. keys: columns that become the
    index. `attrs["units"]` has the unit of each column of numbers that says one. Raises UserError without the extra
    `analysis`.
    """
    pandas_module = needed("pandas", "analysis")
    frame = pandas_module.DataFrame.from_records([dict(record) for record in records])
    whole = [name for name in frame.columns if _is_whole([record.get(name) for record in records])]
    empty = [name for name in frame.columns if all(record.get(name) is None for record in records)]
    frame = frame.astype({**dict.fromkeys(whole, "Int64"), **dict.fromkeys(empty, "float64")})
    texts = {name for record in records for name, value in record.items() if isinstance(value, str)}
    frame.attrs["units"] = {name: unit for name in frame.columns if name not in texts and (unit := unit_of(name))}
    return cast("pandas.DataFrame", frame.set_index(list(keys)) if keys else frame)


def to_xarray(records: Records, dims: Sequence[str]) -> xarray.Dataset:
    """Labelled arrays over `dims`, columns whose values name each record once; NaN where a combination has no record.

    Raises UserError where two records have the same values of the dims, without dims, or without the extra `analysis`;
    UnknownName for a column that there is not.
    """
    needed("xarray", "analysis")
    frame = to_dataframe(records)
    if not dims:
        raise UserError("no field differs from row to row: name the columns that are to be dims")
    if records and (unknown := [dim for dim in dims if dim not in frame.columns]):
        raise UnknownName("column", unknown[0], frame.columns)
    frame = frame.reindex(columns=list(dims)) if not records else frame
    # Arrays know no whole numbers with gaps: these become floats.
    numbers = [name for name in frame.columns if name not in dims and str(frame[name].dtype) in ("Int64", "Float64")]
    frame = frame.astype(dict.fromkeys(numbers, "float64"))
    if frame.duplicated(list(dims)).any():
        raise UserError(f"several rows have the same {', '.join(dims)}: name the columns that tell them apart")
    units = frame.attrs.get("units", {})
    found = cast("xarray.Dataset", frame.set_index(list(dims)).to_xarray())
    for name in found.data_vars:
        if name in units:
            found[name].attrs["units"] = units[name]
    return found


def to_parquet(records: Records) -> bytes:
    """The records as a Parquet file. Raises UserError without the extra `analysis`."""
    pyarrow = needed("pyarrow", "analysis")
    parquet = needed("pyarrow.parquet", "analysis")
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: _alike([record.get(name) for record in records]) for name in names}
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content, compression="zstd")
    return content.getvalue()


def _is_whole(values: list[Any]) -> bool:
    """Whether a column has whole numbers, and else nothing."""
    return {type(value) for value in values} - {type(None)} == {int}


def _alike(values: list[Any]) -> list[Any]:
    """A column's values as one type: whole numbers beside others as floats, numbers beside texts as texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return values
    kind = float if kinds <= {int, float} else str
    return [None if value is None else kind(value) for value in values]


def needed(module: str, extra: str) -> Any:
    """A module of an optional package. Raises UserError, which names the extra that brings it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UserError(f"this needs the package {package}: pip install 'patternloom[{extra}]'") from None
