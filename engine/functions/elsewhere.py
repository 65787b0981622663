"""Functions of Flink, Spark and Postgres that are not declared here, each with how to write it.

An unknown function in a script is answered with this text, and the reference prints it beside the function's name.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTEAD: Mapping[str, str] = {
    "age": "write a - b for the exact INTERVAL, or timestampdiff('month', b, a) for whole months",
    "aggregate": "write unnest(array) in a sub-query, and aggregate around it",
    "array": "write ARRAY[a, b], or make_array(a, b)",
    "arrays_zip": "write unnest for one array after the other",
    "create_map": "use struct(value AS name, ...), or JSON text",
    "current_watermark": "leave late rows to `late_rows`; `arroyo watermark` shows the watermark",
    "exists": "write array_has(array, value), or unnest(array) in a sub-query",
    "explode_outer": "write LEFT JOIN UNNEST(array) AS t(x) ON true",
    "filter": "write unnest(array) in a sub-query with WHERE, and array_agg around it",
    "format_string": "write concat(...) or ||",
    "hash": "write multi_hash(value, ...)",
    "histogram": "write width_bucket(...) as a key, and count(*)",
    "inline": "write unnest(array): the members of a struct have a dot",
    "json_agg": "write array_agg(value); a sink of JSON writes an array",
    "json_arrayagg": "write array_agg(value); a sink of JSON writes an array",
    "json_object": "write struct(value AS name, ...); a sink of JSON writes an object",
    "json_objectagg": "write array_agg(struct(key AS key, value AS value))",
    "json_object_agg": "write array_agg(struct(key AS key, value AS value))",
    "json_tuple": "write json ->> 'a', json ->> 'b'",
    "map": "use struct(value AS name, ...), or JSON text",
    "approx_top_k": "count by the value, and write ORDER BY count DESC LIMIT k around it",
    "months_between": "write timestampdiff('month', b, a)",
    "posexplode": "write unnest(array); a position has no name yet",
    "printf": "write concat(...) or ||",
    "split": "write string_to_array(text, delimiter)",
    "str_to_map": "write string_to_array and split_part",
    "to_json": "write the struct itself; a sink of JSON writes an object",
    "transform": "write unnest(array) in a sub-query, and array_agg around it",
    "xxhash64": "write multi_hash(value, ...)",
    "from_json": "read members with ->, ->> and the json_get functions",
    "monotonically_increasing_id": "write uuid(), or row_number() OVER (...)",
    "safe_cast": "write TRY_CAST(value AS type)",
    "try_to_number": "write TRY_CAST(text AS DECIMAL(18, 2))",
    "window": "write tumble(width), hop(slide, width) or session(gap) in GROUP BY",
}


def instead_of(name: str) -> str | None:
    """Return how to write a function of another dialect here; None for every other name."""
    return INSTEAD.get(name.lower())
