"""What is wrong with the promises of a play, as DuckDB reads the files: too much was promised, or too little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import pairwise

import duckdb

from engine.values.epoch_report import SinkProgress
from tests.gate.plays import Play, PlayedRow
from tests.gate.shapes import DELAY, IDLE, Shape
from tests.streams.play import START

DEFAULT_IDLE = timedelta(minutes=5)
_IS_PROMISED: Mapping[str, str] = {
    "windows": "b < $until",
    "sessions": "e <= $output_until",
    "changes": "TRUE",
    "rows": "{time} < $until",
}


def faults(play: Play) -> list[str]:
    """What does not hold at the moments of a play."""
    with duckdb.connect(config={"threads": 1}) as database:
        _load(database, play)
        wrong = [
            f"after epoch {epoch}, {name}, promised {sinks[name]}: {text}"
            for epoch, sinks in sorted(play.promises.items())
            for name, shape in play.pipeline.shapes.items()
            for text in _broken(database, epoch, name, shape, sinks[name])
        ]
    return [*wrong, *_far_behind(play)]


def _load(database: duckdb.DuckDBPyConnection, play: Play) -> None:
    """The rows of the tables with the epoch that read them, under their names those until `now`; and what was seen."""
    rows = play.rows()
    for table in play.scripts:
        database.execute(
            f"CREATE TABLE all_{table} (id BIGINT, k TEXT, v BIGINT, ts TIMESTAMP, epoch INT, _wm TIMESTAMP)"
        )
        values = [_values(row) for row in rows if row.table == table]
        database.executemany(f"INSERT INTO all_{table} VALUES (?, ?, ?, ?, ?, ?)", values)
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM all_{table} WHERE epoch <= getvariable('now')")
    for name, shape in play.pipeline.shapes.items():
        _load_seen(database, play, name, shape)


def _values(row: PlayedRow) -> tuple[object, ...]:
    mark = row.watermark and row.watermark.replace(tzinfo=None)
    return (*(row.content[name] for name in ("id", "k", "v")), str(row.content["ts"])[:-1], row.epoch, mark)


def _load_seen(database: duckdb.DuckDBPyConnection, play: Play, name: str, shape: Shape) -> None:
    """Each row of a sink with the epoch it came into sight with, and with `weight` -1 where it was taken back."""
    folder = play.folder / "seen" / name
    folder.mkdir(parents=True)
    for number, parts in play.seen().get(name, {}).items():
        content = b"".join((play.folder / "out" / file).read_bytes()[begin:end] for file, (begin, end) in parts.items())
        (folder / f"{number}.json").write_bytes(content)
    types = {column: kind.removesuffix(" NOT NULL") for column, kind in shape.columns.items()}
    listed = ", ".join(types)
    row_type = f"STRUCT({', '.join(f'{column} {kind}' for column, kind in types.items())})"
    is_changing = shape.promise == "changes"
    read = {"before": row_type, "after": row_type} if is_changing else types
    database.execute(
        f"CREATE TABLE seen_{name} ({', '.join(f'{column} {kind}' for column, kind in types.items())},"
        " epoch INT, weight INT)"
    )
    if not any(folder.iterdir()):
        return
    source = f"read_json('{folder}/*.json', format = 'newline_delimited', columns = {read}, filename = true)"
    epoch = "CAST(regexp_extract(filename, '([0-9]+).json$', 1) AS INT)"
    selects = (
        [f"SELECT after.*, {epoch}, 1 FROM {source} WHERE after IS NOT NULL",
         f"SELECT before.*, {epoch}, -1 FROM {source} WHERE before IS NOT NULL"]
        if is_changing
        else [f"SELECT {listed}, {epoch}, 1 FROM {source}"]
    )  # fmt: skip
    for select in selects:
        database.execute(f"INSERT INTO seen_{name} {select}")


def _broken(
    database: duckdb.DuckDBPyConnection, epoch: int, name: str, shape: Shape, sink: SinkProgress
) -> Iterator[str]:
    """What a reader misses, and what is there that should not be."""
    limits = {"until": _naive(sink.complete_until), "output_until": _naive(sink.output_until)}
    promised = _IS_PROMISED[shape.promise].format(time=shape.time)
    for limit, instant in limits.items():
        promised = promised.replace(f"${limit}", f"TIMESTAMP '{instant}'" if instant else "NULL")
    database.execute(f"SET VARIABLE now = {epoch}")
    listed = ", ".join(shape.columns)
    seen = (
        f"SELECT {listed}, sum(weight) AS times FROM seen_{name} WHERE epoch <= {epoch} GROUP BY ALL HAVING times <> 0"
    )
    answer = f"SELECT {listed}, count(*) AS times FROM ({shape.oracle_sql}) GROUP BY ALL"
    # rows without a window are there as soon as they are read, so of them more may be seen than was promised
    at_most = "TRUE" if shape.promise == "rows" else promised
    missing = database.execute(f"FROM ({answer}) WHERE {promised} EXCEPT FROM ({seen})").fetchall()
    invented = database.execute(f"FROM ({seen}) WHERE {at_most} EXCEPT FROM ({answer})").fetchall()
    if missing:
        yield f"{len(missing)} rows are missing, among them {missing[:3]}"
    if invented:
        yield f"{len(invented)} rows are there that should not be, among them {invented[:3]}"


def _far_behind(play: Play) -> Iterator[str]:
    """Where output is behind the input by more than the windows, the delay, idle_time and two epochs. Open files may
    hold it back for longer."""
    fronts = {table: _fronts(play, table) for table in play.scripts}
    for epoch, sinks in sorted(play.promises.items()):
        for name, shape in play.pipeline.shapes.items():
            front = min(fronts[table].get(epoch - 2) or START - DEFAULT_IDLE for table in fronts)
            promise = sinks[name].output_until if shape.promise == "sessions" else sinks[name].complete_until
            least = front - DELAY - shape.windows
            if name not in play.policies and least >= START and (promise is None or promise < least):
                yield f"after epoch {epoch}, {name}, promised {promise}: it could have been {least}"


def _fronts(play: Play, table: str) -> Mapping[int, datetime]:
    """How far the input of a table is after each epoch: every partition is at the oldest row of an epoch, the newest of
    those, and the table at the least of its partitions that are not idle when the next epoch is planned."""
    limit = IDLE if "idle_time" in play.pipeline.options.get(table, "") else DEFAULT_IDLE
    partitions, oldest, times = play.pipeline.tables[table], _oldest(play, table), _times(play, table)
    epochs = sorted(play.ends)
    # idle_time begins anew when a run starts again; the epoch after the stop may have been planned before it
    starts = () if play.stopped_after is None else (play.stopped_after, play.stopped_after + 1)
    shown: dict[str, datetime] = {}
    last = dict.fromkeys(partitions, times[epochs[0]])
    fronts: dict[int, datetime] = {}
    front = None
    for epoch, following in pairwise(epochs):
        for partition in partitions:
            if (instant := oldest.get((epoch, partition))) is not None:
                shown[partition] = max(shown.get(partition, instant), instant)
            if (following, partition) in oldest or epoch in starts:
                last[partition] = times[following]
        active = [partition for partition in partitions if times[following] - last[partition] <= limit]
        if active and all(partition in shown for partition in active):
            least = min(shown[partition] for partition in active)
            front = max(least, front or least)
        if front is not None:
            fronts[epoch] = front
    return fronts


def _oldest(play: Play, table: str) -> Mapping[tuple[int, str], datetime]:
    """The oldest row that each epoch has read of each partition."""
    oldest: dict[tuple[int, str], datetime] = {}
    for row in play.rows():
        if row.table == table:
            place, instant = (row.epoch, row.partition), datetime.fromisoformat(str(row.content["ts"]))
            oldest[place] = min(oldest.get(place, instant), instant)
    return oldest


def _times(play: Play, table: str) -> dict[int, datetime]:
    """The time on the planner's clock when each epoch was read: that of the step whose rows its first partition had."""
    partition, script = play.pipeline.tables[table][0], play.scripts[table]
    times, count, step = {}, 0, -1
    for epoch in sorted(play.ends):
        end = play.ends[epoch].get(table)
        until = int(str(end.positions.get(partition, 0))) if end else 0
        while count < until:
            step += 1
            count += len(script[step].rows.get(partition, ()))
        times[epoch] = START + script[max(step, 0)].now
    return times


def _naive(instant: datetime | None) -> datetime | None:
    return instant and instant.replace(tzinfo=None)
