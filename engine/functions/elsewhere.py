"""Functions of Flink, Spark and Postgres that are not declared here, each with how to write it.

An unknown function in a script is answered with this text, and the reference prints it beside the function's name.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTEAD: Mapping[str, str] = {
    "array": "write ARRAY[a, b], or make_array(a, b)",
    "explode": "write unnest(array) in the SELECT list, or CROSS JOIN UNNEST(array) AS t(x)",
    "from_json": "read members with ->, ->> and the json_get functions",
    "get_json_object": "write get_first_json_object(json, path), or json ->> 'key'",
    "monotonically_increasing_id": "write uuid(), or row_number() OVER (...)",
    "proctime": "write now(), or declare no WATERMARK: the event time is the time of arrival then",
    "rowtime": "write row_time()",
    "safe_cast": "write TRY_CAST(value AS type)",
    "try_to_number": "write TRY_CAST(text AS DECIMAL(18, 2))",
    "window": "write tumble(width), hop(slide, width) or session(gap) in GROUP BY",
}


def instead_of(name: str) -> str | None:
    """Return how to write a function of another dialect here; None for every other name."""
    return INSTEAD.get(name.lower())
