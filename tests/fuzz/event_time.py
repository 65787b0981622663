"""OVER by event time: functions over the earlier and the next rows of a partition, each row once."""

from __future__ import annotations

from random import Random

from tests.fuzz.data import SCALARS
from tests.fuzz.queries import HIDDEN, Builder, Relation, quoted
from tests.fuzz.windows import is_plain, total_order

_FRAMES = (
    "",
    "",
    " ROWS UNBOUNDED PRECEDING",
    " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING",
    " ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
    " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
)
_INTERVALS = (
    "",
    " RANGE BETWEEN INTERVAL '10 seconds' PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN INTERVAL '500 milliseconds' PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN CURRENT ROW AND CURRENT ROW",
    " RANGE BETWEEN CURRENT ROW AND INTERVAL '5 seconds' FOLLOWING",
    " RANGE BETWEEN INTERVAL '1 second' PRECEDING AND INTERVAL '2 seconds' FOLLOWING",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '700 milliseconds' FOLLOWING",
)


def with_time(source: Relation) -> bool:
    """Whether the rows still have their event time, and columns that can be ordered by."""
    return source.columns.get("ts") == "ts" and is_plain(source) and not source.is_updating


def over(builder: Builder, source: Relation) -> Relation:
    """The rows in time, with functions of the rows of their partition."""
    random = builder.random
    keys = random.sample(["k", "g", "b"], random.choice([0, 1, 1, 2]))
    partition = ", ".join(key for key in keys if key in source.columns)
    by_row = random.random() < 0.6
    order = f"ts, {total_order(random, source)}" if by_row else "ts"
    frames = _FRAMES if by_row else _INTERVALS
    by = f"{f'PARTITION BY {partition} ' if partition else ''}ORDER BY {order}"
    calls = [_call(random, source, by_row=by_row) for _ in range(random.randint(1, 4))]
    if all(call == "row_number()" for call, _, _ in calls):
        calls.append(("count(*)", "i", True))  # rankings alone change with every row
    columns, ours, theirs = {**source.columns}, [], []
    for number, (call, kind, has_frame) in enumerate(calls):
        written = f"{call} OVER ({by}{random.choice(frames) if has_frame else ''})"
        ours.append(f"{written} AS o{number}")
        theirs.append(f"CAST({written} AS BIGINT) AS o{number}" if kind == "i" else ours[-1])
        columns[f"o{number}"] = kind
    listed = ", ".join(map(quoted, source.columns))
    in_time = 'WHERE "_wm" IS NULL OR ts >= "_wm"'
    return source.then(
        builder.name(),
        f"SELECT {listed}, {', '.join(ours)} FROM {source.name}",
        f"SELECT {listed}, {', '.join(theirs)}, {HIDDEN} FROM {source.name} {in_time}",
        columns,
        waits=True,
        looks_ahead=any("FOLLOWING" in written or "lead(" in written for written in ours),
    )


def _call(random: Random, source: Relation, *, by_row: bool) -> tuple[str, str, bool]:
    """A call, the kind of its result, and whether it has a frame."""
    name, kind = random.choice(list(source.plain.items()))
    numeric = [name for name, kind in source.plain.items() if kind == "i"]
    choices = [
        ("count(*)", "i", True),
        (f"count({quoted(name)})", "i", True),
        (f"max({quoted(name)})", kind, True),
        (f"min({quoted(name)})", kind, True),
        *((f"sum({quoted(column)})", "i", True) for column in numeric[:2]),
        *((f"avg({quoted(column)})", "d", True) for column in numeric[:1]),
    ]
    if by_row:
        choices += [
            ("row_number()", "i", False),
            (f"lag({quoted(name)})", kind, False),
            (f"lag({quoted(name)}, {random.choice([0, 1, 3])})", kind, False),
            (f"lead({quoted(name)}, {random.choice([0, 1, 2])})", kind, False),
            (f"first_value({quoted(name)} IGNORE NULLS)", kind, True),
            (f"last_value({quoted(name)} IGNORE NULLS)", kind, True),
            (f"first_value({quoted(name)})", kind, True),
            (f"last_value({quoted(name)})", kind, True),
        ]
    return random.choice([choice for choice in choices if choice[1] in SCALARS])


def versions(builder: Builder, left: Relation, right: Relation) -> Relation:
    """The rows of the left, each with the time of the newest row of the right that has the same key and is not newer.
    Of rows of one time any may be the newest, so nothing else is read of it."""
    keys = [key for key in ("k", "g", "b") if key in left.columns and key in right.columns]
    if not keys:
        return left
    key = builder.random.choice(keys)
    kind = builder.random.choice(["", "LEFT "])
    listed = ", ".join(f"l.{quoted(name)}" for name in left.columns)
    on = f"ON l.{key} = r.{key}"
    theirs = f"SELECT {listed}, r.ts AS since, l._at, l._wm FROM (SELECT * FROM {left.name} {_IN_TIME}) AS l "
    theirs += f"ASOF {kind}JOIN (SELECT * FROM {right.name} {_IN_TIME}) AS r {on} AND l._at >= r._at"
    both = Relation((*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", left.columns)
    return both.then(
        builder.name(),
        f"SELECT {listed}, r.ts AS since FROM {left.name} AS l "
        f"{kind}JOIN {right.name} FOR SYSTEM_TIME AS OF l.ts AS r {on}",
        theirs,
        {**left.columns, "since": "ts"},
        waits=True,
    )


_IN_TIME = 'WHERE "_wm" IS NULL OR "_at" >= "_wm"'
