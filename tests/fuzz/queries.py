"""Random queries, each written for us and for the oracle.

A relation is a chain of named parts, as in WITH. The oracle's parts carry two columns more, the event time and the
watermark of a row, since with the oracle a window is nothing but a column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from tests.fuzz.aggregates import Aggregate, random_aggregate
from tests.fuzz.data import CHANGES, COLUMNS, MEMBERS, SCALARS
from tests.fuzz.expressions import Columns, condition, expression

HIDDEN = '"_at", "_wm"'
NO_TIME = 'CAST(NULL AS TIMESTAMP) AS "_at", CAST(NULL AS TIMESTAMP) AS "_wm"'


@dataclass(frozen=True)
class Relation:
    """The parts so far, of which the last is the relation. `window` is what it is windowed by, `unique` are columns
    that tell its rows apart. `waits`: rows come out when the watermark has passed them. `looks_ahead`: and when later
    rows have come, which change what comes of them."""

    engine_sql: tuple[str, ...]
    oracle_sql: tuple[str, ...]
    name: str
    columns: Columns
    window: str | None = None
    unique: tuple[str, ...] = ()
    is_updating: bool = False
    waits: bool = False
    looks_ahead: bool = False

    def then(self, name: str, engine_sql: str, oracle_sql: str, columns: Columns, **changes: object) -> Relation:
        """The relation with one more part."""
        return replace(
            self,
            engine_sql=(*self.engine_sql, f"{name} AS ({engine_sql})"),
            oracle_sql=(*self.oracle_sql, f"{name} AS ({oracle_sql})"),
            name=name,
            columns=columns,
            **changes,
        )

    @property
    def plain(self) -> Columns:
        """The columns that expressions can be made of."""
        return {name: kind for name, kind in self.columns.items() if kind in SCALARS}

    def query(self, *, for_engine: bool) -> str:
        """The whole as a query."""
        parts = ",\n".join(self.engine_sql if for_engine else self.oracle_sql)
        return f"WITH {parts}\nSELECT {', '.join(map(quoted, self.columns))} FROM {self.name}"


@dataclass
class Builder:
    """Makes relations; every part gets a name of its own."""

    random: Random
    tables: Sequence[str]
    has_late_rows: bool

    def __post_init__(self) -> None:
        self._numbers = count()

    def name(self) -> str:
        """A name that no part has yet."""
        return f"q{next(self._numbers)}"

    def base(self, table: str | None = None, *, computed: int = 2) -> Relation:
        """Rows of a table: filtered, and with up to so many computed columns."""
        random = self.random
        table = table or random.choice(self.tables)
        all_columns = {name: kind for name, kind in COLUMNS.items() if kind in (*SCALARS, "j")} | MEMBERS
        scalars = [name for name, kind in COLUMNS.items() if kind in SCALARS]
        picked = ["id", *random.sample(scalars[1:], random.randint(2, 5))]
        columns = {name: COLUMNS[name] for name in picked}
        items = [*picked]
        for number in range(random.randint(0, computed)):
            kind = random.choice(["i", "i", "d", "n", "t", "b", "ts"])
            columns[f"x{number}"] = kind
            items.append(f"{expression(random, all_columns, kind)} AS x{number}")
        where = f" WHERE {condition(random, all_columns)}" if random.random() < 0.4 else ""
        if random.random() < 0.15:
            name = random.choice(["xs", "st", "j"])
            columns[name] = COLUMNS[name]
            items.append(name)
        name = self.name()
        listed = ", ".join(items)
        return Relation(
            (f"{name} AS (SELECT {listed} FROM {table}{where})",),
            (f'{name} AS (SELECT {listed}, ts AS "_at", "_wm" FROM {table}{where})',),
            name,
            columns,
            unique=("id",),
        )

    def changes(self) -> Relation:
        """Rows of the table whose rows change."""
        return replace(self.base(CHANGES), is_updating=True)

    def projected(self, source: Relation) -> Relation:
        """Some columns, some expressions, some rows."""
        random = self.random
        names = [name for name in source.columns if name in source.unique or random.random() < 0.8 or name == "w"]
        names = names or [*source.columns][:1]
        columns = {name: source.columns[name] for name in names}
        items = [quoted(name) for name in names]
        if source.plain and "y" not in source.columns and random.random() < 0.6:
            kind = random.choice(["i", "d", "n", "t", "b"])
            columns["y"] = kind
            items.append(f"{expression(random, source.plain, kind)} AS y")
        where = f" WHERE {condition(random, source.plain)}" if source.plain and random.random() < 0.5 else ""
        listed = ", ".join(dict.fromkeys(items))
        engine_sql = f"SELECT {listed} FROM {source.name}{where}"
        oracle_sql = f"SELECT {listed}, {HIDDEN} FROM {source.name}{where}"
        return source.then(self.name(), engine_sql, oracle_sql, columns)

    def united(self, source: Relation) -> Relation:
        """The rows of the relation twice, of which some are left out."""
        listed = ", ".join(map(quoted, source.columns))
        where = f" WHERE {condition(self.random, source.plain)}" if source.plain else ""
        engine_sql = f"SELECT {listed} FROM {source.name} UNION ALL SELECT {listed} FROM {source.name}{where}"
        all_columns = f"SELECT {listed}, {HIDDEN} FROM {source.name}"
        oracle_sql = f"{all_columns} UNION ALL {all_columns}{where}"
        return source.then(self.name(), engine_sql, oracle_sql, source.columns, unique=())

    def unnested(self, source: Relation) -> Relation:
        """A row for every element of an array."""
        array = next((name for name, kind in source.columns.items() if kind.startswith("[")), None)
        if array is None:
            return source
        other_columns = {name: kind for name, kind in source.columns.items() if name != array and name != "e"}
        listed = "".join(f"{quoted(name)}, " for name in other_columns)
        engine_sql = f"SELECT {listed}unnest({quoted(array)}) AS e FROM {source.name}"
        oracle_sql = f"SELECT {listed}unnest({quoted(array)}) AS e, {HIDDEN} FROM {source.name}"
        columns = {**other_columns, "e": source.columns[array][1:-1]}
        return source.then(self.name(), engine_sql, oracle_sql, columns, unique=())

    def windowed(self, source: Relation, window: str | None = None, keys: Sequence[str] | None = None) -> Relation:
        """An aggregation by a time window, and keys."""
        window = window or random_window(self.random, sessions=not self.has_late_rows)
        keys = random_keys(self.random, source) if keys is None else keys
        name = self.name()
        sliced = source.then(name, "", f"{_slices(window, source.name, keys)}", source.columns)
        rows = replace(sliced, engine_sql=source.engine_sql, name=name)
        late = '"_wm" IS NULL OR w."end" > "_wm"'
        oracle_from = name if window.startswith("session") else f"(SELECT * FROM {name} WHERE {late})"
        return self._aggregated(rows, source.name, oracle_from, keys, window, window)

    def nested(self, source: Relation) -> Relation:
        """An aggregation of what is windowed, by the same window."""
        keys = random_keys(self.random, replace(source, columns=without_window(source.columns)))
        may_call = source.window is not None and not source.window.startswith("session")
        by = str(source.window) if may_call and self.random.random() < 0.4 else "w"
        return self._aggregated(source, source.name, source.name, keys, by, source.window)

    def _aggregated(
        self, source: Relation, engine_from: str, oracle_from: str, keys: Sequence[str], by: str, window: str | None
    ) -> Relation:
        random = self.random
        aggregates = [random_aggregate(random, source.plain, source.unique) for _ in range(random.randint(1, 5))]
        named = dict(zip(new_names("a", keys), aggregates, strict=False))
        columns = {**{key: source.columns[key] for key in keys}, "w": "w"}
        columns |= {name: aggregate.kind for name, aggregate in named.items()}
        having = _having(random, aggregates)
        listed = "".join(f"{quoted(key)}, " for key in keys)
        written = "w" if by == "w" else f"{by} AS w"
        engine_sql = (
            f"SELECT {listed}{written}, {_select(named, for_engine=True)} FROM {engine_from} GROUP BY {listed}{by}"
        )
        oracle_sql = (
            f'SELECT {listed}w, {_select(named, for_engine=False)}, w."end" - INTERVAL \'1 microsecond\' AS "_at", '
            f'CAST(NULL AS TIMESTAMP) AS "_wm" FROM {oracle_from} GROUP BY {listed}w'
        )
        return source.then(
            self.name(),
            engine_sql + _spelt(having, for_engine=True),
            oracle_sql + _spelt(having, for_engine=False),
            columns,
            window=window,
            unique=(*keys, "w"),
        )


def new_names(letter: str, existing: Collection[str]) -> Iterator[str]:
    """Names of which none is taken: of two columns of one name the second could not be asked for."""
    return (name for name in (f"{letter}{number}" for number in count()) if name not in existing)


def without_window(columns: Columns) -> Columns:
    """The columns but for windows."""
    return {name: kind for name, kind in columns.items() if kind != "w"}


_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia")


def random_window(random: Random, *, sessions: bool) -> str:
    """A call of a time window."""
    kind = random.choice(["tumble", "tumble", "hop", "cumulate", "calendar", *["session"] * sessions])
    seconds = random.choice([1, 10, 60, 300])
    if kind == "cumulate":
        return f"cumulate(INTERVAL '{seconds} seconds', INTERVAL '{seconds * random.choice([2, 3, 5])} seconds')"
    if kind == "calendar":
        zone, offset = random.choice(_ZONES), random.choice([0, 5, 60, 300])
        unit = random.choice(["1 day", "1 day", "7 days", "1 month", "3 months"])
        return f"tumble(INTERVAL '{unit}', '{zone}', INTERVAL '{offset} seconds')"
    if kind == "hop":
        return f"hop(INTERVAL '{seconds} seconds', INTERVAL '{seconds * random.choice([2, 3, 5])} seconds')"
    return f"{kind}(INTERVAL '{seconds} seconds')"


def random_keys(random: Random, source: Relation) -> list[str]:
    """None, one or two columns to group by."""
    possible = [name for name, kind in source.columns.items() if kind in SCALARS and name != "id"]
    return random.sample(possible, min(len(possible), random.choice([0, 1, 1, 2])))


def _slices(window: str, source: str, keys: Sequence[str]) -> str:
    """The rows with the windows they belong to, as the oracle counts them."""
    lengths = [part.split("'")[0] for part in window.split("INTERVAL '")[1:]]
    epoch = "TIMESTAMP '1970-01-01'"
    if window.startswith("session"):
        over = f"PARTITION BY {', '.join(map(quoted, keys))} " if keys else ""
        gap = f"INTERVAL '{lengths[0]}'"
        return (
            f'SELECT * EXCLUDE (_new, _number), struct_pack("start" := min(_at) OVER ({_also(over, "_number")}), '
            f'"end" := max(_at) OVER ({_also(over, "_number")}) + {gap}) AS w FROM ('
            # of rows at the same time the one that begins a session must be counted first
            f"SELECT *, sum(_new) OVER ({over}ORDER BY _at, _new DESC ROWS UNBOUNDED PRECEDING) AS _number FROM ("
            f"SELECT *, CASE WHEN _at - lag(_at) OVER ({over}ORDER BY _at) < {gap} THEN 0 ELSE 1 END AS _new "
            f"FROM {source}))"
        )
    if "', '" in window:
        return _local(source, lengths[0], window.split("', '")[1].split("'", maxsplit=1)[0], lengths[1])
    if window.startswith("cumulate"):
        return _adding_up(source, *lengths)
    slide, width = (lengths[0], lengths[-1])
    steps = round(float(width.split()[0]) / float(slide.split()[0]))
    start = f"time_bucket(INTERVAL '{slide}', _at, {epoch}) - INTERVAL '{slide}' * _step"
    return (
        f'SELECT *, struct_pack("start" := {start}, "end" := {start} + INTERVAL \'{width}\') AS w '
        f"FROM {source}, (SELECT unnest(range({steps})) AS _step)"
    )


def _adding_up(source: str, step: str, width: str) -> str:
    start = f"time_bucket(INTERVAL '{width}', _at, TIMESTAMP '1970-01-01')"
    end = f"time_bucket(INTERVAL '{step}', _at, TIMESTAMP '1970-01-01') + INTERVAL '{step}' * (_step + 1)"
    steps = round(float(width.split(maxsplit=1)[0]) / float(step.split(maxsplit=1)[0]))
    return (
        f'SELECT *, struct_pack("start" := {start}, "end" := {end}) AS w '
        f"FROM {source}, (SELECT unnest(range({steps})) AS _step) WHERE {end} <= {start} + INTERVAL '{width}'"
    )


def _local(source: str, width: str, zone: str, offset: str) -> str:
    shown = f"_at AT TIME ZONE 'UTC' AT TIME ZONE '{zone}' - INTERVAL '{offset}'"
    start = f"time_bucket(INTERVAL '{width}', {shown}, TIMESTAMP '1970-01-01') + INTERVAL '{offset}'"
    first, last = (
        f"({bound}) AT TIME ZONE '{zone}' AT TIME ZONE 'UTC'" for bound in (start, f"{start} + INTERVAL '{width}'")
    )
    return f'SELECT *, struct_pack("start" := {first}, "end" := {last}) AS w FROM {source}'


def _also(over: str, column: str) -> str:
    return f"{over}, {column}" if over else f"PARTITION BY {column}"


def _select(named: dict[str, Aggregate], *, for_engine: bool) -> str:
    return ", ".join(
        f"{aggregate.engine_sql if for_engine else aggregate.oracle_sql} AS {name}" for name, aggregate in named.items()
    )


def _having(random: Random, aggregates: Sequence[Aggregate]) -> Aggregate | None:
    numbers = [aggregate for aggregate in aggregates if aggregate.kind == "i"]
    return random.choice(numbers) if numbers and random.random() < 0.3 else None


def _spelt(having: Aggregate | None, *, for_engine: bool) -> str:
    return "" if having is None else f" HAVING {having.engine_sql if for_engine else having.oracle_sql} > 0"


def pairs_of(left: Relation, right: Relation) -> list[tuple[str, str]]:
    """The columns of two relations that can be compared for being equal."""
    return [
        (left_name, right_name)
        for left_name, kind in left.plain.items()
        for right_name, other_kind in right.plain.items()
        if kind == other_kind and kind in ("i", "t", "b", "n")
    ]


def quoted(name: str) -> str:
    """The name as both dialects take it."""
    return f'"{name}"'
