"""What can be made of relations whose rows carry a window: functions among their rows, the first rows, joins."""

from __future__ import annotations

from random import Random

from tests.fuzz.queries import HIDDEN, Builder, Relation, quoted, random_window, without_window


def total_order(random: Random, source: Relation) -> str:
    """An order in which only equal rows are peers."""
    names = list(without_window(source.columns))
    random.shuffle(names)
    ends = [random.choice([" NULLS LAST", " NULLS FIRST", " DESC NULLS LAST", " DESC NULLS FIRST"]) for _ in names]
    return ", ".join(f"{quoted(name)}{end}" for name, end in zip(names, ends, strict=True))


def is_plain(source: Relation) -> bool:
    """Whether there are columns to order by, and none that no order is defined for."""
    return 0 < len(source.plain) == len(without_window(source.columns))


def over(builder: Builder, source: Relation) -> Relation:
    """The rows with a function of the other rows of their window."""
    random = builder.random
    if not is_plain(source):
        return source
    order = f"ORDER BY {total_order(random, source)}"
    name, kind = random.choice(list(source.plain.items()))
    numeric = [name for name, kind in source.plain.items() if kind == "i"]
    partition = "".join(f", {quoted(random.choice(list(source.plain)))}" for _ in range(random.choice([0, 0, 1])))
    rows = f" ROWS BETWEEN {random.choice(_STARTS)} AND {random.choice(_ENDS)}"
    call, result, frame = random.choice(
        [
            ("row_number()", "i", ""),
            ("rank()", "i", ""),
            ("dense_rank()", "i", ""),
            ("percent_rank()", "d", ""),
            ("cume_dist()", "d", ""),
            (f"ntile({random.randint(1, 3)})", "i", ""),
            (f"lag({quoted(name)})", kind, ""),
            (f"lead({quoted(name)}, {random.randint(1, 2)})", kind, ""),
            (f"first_value({quoted(name)})", kind, rows),
            (f"last_value({quoted(name)})", kind, rows),
            (f"nth_value({quoted(name)}, 2)", kind, rows),
            ("count(*)", "i", random.choice(["", rows])),
            (f"max({quoted(name)})", kind, random.choice(["", rows])),
            *((f"CAST(sum({quoted(column)})", "i", random.choice(["", rows])) for column in numeric[:2]),
        ]
    )
    if result == "i" and "rank" in call and random.random() < 0.5:
        order = f"ORDER BY {quoted(name)} NULLS LAST"
    spec = f"OVER (PARTITION BY w{partition} {order}{frame})"
    written = f"{call} {spec} AS BIGINT)" if call.startswith("CAST") else f"{call} {spec}"
    listed = ", ".join(map(quoted, source.columns))
    engine_sql = f"SELECT {listed}, {written} AS o FROM {source.name}"
    oracle_sql = f"SELECT {listed}, {written} AS o, {HIDDEN} FROM {source.name}"
    columns = {**source.columns, "o": result}
    return source if "o" in source.columns else source.then(builder.name(), engine_sql, oracle_sql, columns)


_STARTS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW")
_ENDS = ("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")


def ranked(builder: Builder, source: Relation) -> Relation:
    """The first rows of each window by their number, the usual way to write it."""
    if not is_plain(source) or "n" in source.columns:
        return source
    random = builder.random
    listed = ", ".join(map(quoted, source.columns))
    number = f"row_number() OVER (PARTITION BY w ORDER BY {total_order(random, source)}) AS n"
    name, columns = builder.name(), {**source.columns, "n": "i"}
    numbered = source.then(
        name,
        f"SELECT {listed}, {number} FROM {source.name}",
        f"SELECT {listed}, {number}, {HIDDEN} FROM {source.name}",
        columns,
    )
    clause = f"FROM {name} WHERE n <= {random.randint(1, 3)}"
    return numbered.then(
        builder.name(), f"SELECT {listed}, n {clause}", f"SELECT {listed}, n, {HIDDEN} {clause}", columns
    )


def top(builder: Builder, source: Relation) -> Relation:
    """The first rows of each window by ORDER BY and LIMIT."""
    if not is_plain(source):
        return source
    random = builder.random
    listed, order, most = ", ".join(map(quoted, source.columns)), total_order(random, source), random.randint(1, 3)
    numbered = f"SELECT *, row_number() OVER (PARTITION BY w ORDER BY {order}) AS _place FROM {source.name}"
    return source.then(
        builder.name(),
        f"SELECT {listed} FROM {source.name} ORDER BY {order} LIMIT {most}",
        f"SELECT {listed}, {HIDDEN} FROM ({numbered}) WHERE _place <= {most}",
        source.columns,
    )


def joined(builder: Builder, *, chain: bool = False) -> Relation:
    """Two aggregations of the same window, joined by it and perhaps by more."""
    random = builder.random
    window = random_window(random, sessions=not builder.has_late_rows)
    left, right = (builder.windowed(builder.base(), window) for _ in range(2))
    pairs = [
        (left_name, right_name)
        for left_name, kind in left.plain.items()
        for right_name, other_kind in right.plain.items()
        if kind == other_kind
    ]
    on = "l.w = r.w"
    for left_name, right_name in random.sample(pairs, min(len(pairs), random.choice([0, 1, 1]))):
        if left.plain[left_name] != "d":  # the last digits of a floating point number are nobody's promise
            on += f" AND l.{quoted(left_name)} = r.{quoted(right_name)}"
    kind = "inner" if chain else random.choice(["inner", "left", "right", "full"])
    sides = {"l": left, "r": right}
    items, columns = [], {}
    for side, relation in sides.items():
        for name, of in relation.columns.items():
            alias = "w" if kind == "inner" and name == "w" else f"{side}_{name}"
            if alias not in columns:
                items.append(f"{side}.{quoted(name)} AS {quoted(alias)}")
                columns[alias] = of
    listed, joining = ", ".join(items), f"FROM {left.name} l {kind} JOIN {right.name} r ON {on}"
    both = Relation((*left.engine_sql, *right.engine_sql), (*left.oracle_sql, *right.oracle_sql), "", columns, window)
    hidden = 'coalesce(l."_at", r."_at") AS "_at", CAST(NULL AS TIMESTAMP) AS "_wm"'
    return both.then(
        builder.name(),
        f"SELECT {listed} {joining}",
        f"SELECT {listed}, {hidden} {joining}",
        columns,
        window=window if "w" in columns else None,
    )
