"""Open lookup tables of a worker process. They outlive tasks, so that later tasks use their caches."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors import connector_of
from engine.connectors.base import Lookup, Table, narrowed, row_schema
from engine.connectors.lookup_cache import CachedLookup
from engine.schema import Schema, arrow_schema

_MOST = 16


@dataclass(frozen=True, slots=True)
class LookupSpec:
    """A lookup table, and the requested columns in order. `start` identifies the start of a query, which begins with
    empty caches."""

    table: Table
    columns: Schema
    start: str


_OPEN: OrderedDict[LookupSpec, Lookup] = OrderedDict()


def open_lookup(spec: LookupSpec) -> Lookup:
    """Return the refreshed lookup of a table, opened now or by an earlier task of this process."""
    lookup = _OPEN.pop(spec, None) or _open(spec.table)
    _OPEN[spec] = lookup
    if len(_OPEN) > _MOST:
        _OPEN.popitem(last=False)[1].close()
    lookup.refresh()
    return lookup


def look_up(lookup: Lookup, columns: Schema, keys: pa.Array) -> pa.StructArray:
    """Return a struct of the requested columns of the row of each key; NULL if the key is NULL or has no row."""
    encoded = keys.dictionary_encode()
    schema = arrow_schema(columns)
    result = lookup.fetch(encoded.dictionary)
    row_of_key = pc.index_in(pa.array(range(len(encoded.dictionary)), pa.int64()), value_set=result.keys)
    rows = row_of_key.take(encoded.indices)
    values = [result.rows.column(field.name).cast(field.type).take(rows) for field in schema]
    return pa.StructArray.from_arrays(values, fields=list(schema), mask=rows.is_null())


def narrow_table(table: Table, columns: Schema) -> Table:
    """Return the table with only the columns that are read, and its key."""
    needed = {*columns.names, *table.primary_key}
    fields = tuple(field for field in table.schema if field.name in needed)
    metadata = tuple(pair for pair in table.metadata if pair[0] in needed)
    # a record without any column could not be decoded, so one stays
    return replace(narrowed(table, Schema(fields or table.schema.fields[:1])), metadata=metadata)


def _open(table: Table) -> Lookup:
    kind = connector_of(table).lookup
    assert kind is not None, table.connector
    assert table.cache is not None, table.name
    lookup = kind.open(table)
    if lookup.is_local or not table.cache.max_bytes:
        return lookup
    schema = row_schema(table, connector_of(table).metadata)
    return CachedLookup(lookup, schema, table.cache, time.monotonic)
