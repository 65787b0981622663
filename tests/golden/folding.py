"""What a stream of changes comes to: the rows that are left when its changes are made one after the other."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence

KEYS: dict[str, tuple[str, ...]] = {
    "aggregates": (),
    "debezium_agg": ("id",),
    "debezium_pass_through": ("id",),
    "every_aggregate": ("event_type",),
    "grouped_aggregates": ("counter_mod",),
    "updating_inner_join": ("left_count",),
}
"""The cases whose output is a stream of changes, and the columns that name a row of it."""


def fold(lines: Iterable[str], key: Sequence[str]) -> dict[tuple[object, ...], dict[str, object]]:
    """The table that the changes make. Fails when a row is made that is there, or one changed or taken that is not."""
    table: dict[tuple[object, ...], dict[str, object]] = {}
    for line in lines:
        change = json.loads(line)
        before, after = change["before"], change["after"]
        assert (change["op"], before is None, after is None) in _SHAPES, line
        if before is not None:
            assert table.pop(_named(before, key), None) == before, f"there is no such row: {line}"
        if after is not None:
            assert _named(after, key) not in table, f"there is such a row already: {line}"
            table[_named(after, key)] = after
    return table


_SHAPES = {("c", True, False), ("u", False, False), ("d", False, True)}


def _named(row: dict[str, object], key: Sequence[str]) -> tuple[object, ...]:
    return tuple(row[name] for name in key)


def folded_rows(case: str, lines: Iterable[str], near: Iterable[str] = ()) -> Counter[str]:
    """The rows that a case's changes come to. A number that is as near as it must be to the one that the changes
    `near` come to is taken for it."""
    key = KEYS[case]
    expected = fold(near, key)
    rows = {name: _snapped(row, expected.get(name, {})) for name, row in fold(lines, key).items()}
    return Counter(json.dumps(row, sort_keys=True) for row in rows.values())


def _snapped(row: dict[str, object], expected: dict[str, object]) -> dict[str, object]:
    return {name: expected[name] if _is_near(name, value, expected.get(name)) else value for name, value in row.items()}


def _is_near(name: str, value: object, expected: object) -> bool:
    tolerance = 0.02 if name.startswith("approx_") else 1e-4
    both = isinstance(value, int | float) and isinstance(expected, int | float)
    return both and math.isclose(value, expected, rel_tol=tolerance)


def in_seconds(lines: Iterable[str]) -> list[str]:
    """Changes with their `order_date`, which we write in milliseconds, in whole seconds. The golden file holds seconds
    under the name of milliseconds: Arroyo takes the microseconds of the source for nanoseconds."""
    changes = [json.loads(line) for line in lines]
    for change in changes:
        for image in (change["before"], change["after"]):
            if image is not None:
                image["order_date"] //= 1000
    return [json.dumps(change) for change in changes]
