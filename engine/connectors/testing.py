"""Contract of connectors, as checks that the tests of another package can run.

    @pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
    def test_the_source_keeps_the_contract(check, tmp_path):
        check(table(ACME, SCHEMA, {"path": make_rows(tmp_path, 1234)}), 1234)

A check raises AssertionError. The engine's own connectors pass the same checks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from engine.connectors.base import CommitListener, HasMovingStart, KnowsEnd, Position, Sink, SinkContext, Source, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption, read_table_options
from engine.connectors.secret_values import is_secret
from engine.delivery.epoch import Epoch
from engine.errors import TextPosition
from engine.formats import FORMATS
from engine.schema import Schema, arrow_schema
from engine.values.option_values import OptionValue

Row: TypeAlias = dict[str, Any]
SourceCheck: TypeAlias = Callable[[Table, int], None]
"""Called with a table, and the number of its rows. None may be added meanwhile. A source without an end must be a
`KnowsEnd`."""
SinkCheck: TypeAlias = Callable[[Table, Path, Callable[[], object]], None]
"""Called with a table whose target is empty, an empty directory for the sink's own files, and a function that returns
what readers of the target see, to be compared with ==."""
_MOST_EPOCHS = 10_000
_AT = TextPosition(1, 1)


def table(
    connector: Connector,
    schema: Schema | None = None,
    options: Mapping[str, OptionValue] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Table:
    """Return a table as CREATE TABLE declares it; the schema may be the connector's own. Raise the errors of the
    statement."""
    given = [WithOption(name, value, _AT) for name, value in (options or {}).items()]
    read = read_table_options(connector, given, table="t", at=_AT)
    columns = schema or connector.schema
    assert columns is not None, f"{connector.name} has no columns of its own"
    return Table(
        name="t",
        connector=connector.name,
        direction=read.direction,
        options=read.connector,
        schema=columns,
        format=read.format,
        metadata=tuple((metadata or {}).items()),
        bad_data=read.general.bad_data,
        idle_time=read.general.idle_after,
        quiet_after=read.general.quiet_after,
        dead_letter_directory=read.general.dead_letter_path,
        dead_letter_table=read.general.dead_letter_table,
    )


def start(of: Source) -> dict[str, Position]:
    """Return the start position of each partition."""
    if isinstance(of, HasMovingStart):
        return dict(of.begin(of.partitions(), is_first=True))
    return {partition: of.start(partition) for partition in of.partitions()}


def between(
    of: Source, first: Mapping[str, Position], last: Mapping[str, Position], tasks: int = 1
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range, read in slices."""
    for partition, end in last.items():
        for piece in of.slices(partition, first[partition], end, tasks):
            for chunk in of.read(piece):
                yield chunk.rows


def positions(of: Source, max_rows: int | None) -> list[dict[str, Position]]:
    """Return the positions at which the epochs of a source end, beginning with its start: up to its end or, if it has
    none, until it reports that all current rows are read."""
    ends = [start(of)]
    while not _is_read(of, ends[-1]):
        ends.append(dict(of.advance(ends[-1], max_rows)))
        assert len(ends) < _MOST_EPOCHS, "the source has no end"
    return ends


def _is_read(of: Source, at: Mapping[str, Position]) -> bool:
    """Whether a source is read to its end. One without an end must be a `KnowsEnd` to be checked."""
    if not of.bounded and isinstance(of, KnowsEnd):
        return all(of.is_at_end(partition, where) for partition, where in at.items())
    return all(of.is_finished(partition, where) for partition, where in at.items())


def rows(batches: Iterator[pa.RecordBatch] | Sequence[pa.RecordBatch]) -> list[Row]:
    """Return the rows of some batches."""
    return [row for batch in batches for row in batch.to_pylist()]


def epoch(number: int, lineage: str = "one", generation: int = 1, parents: tuple[tuple[str, int], ...] = ()) -> Epoch:
    """Return an epoch like that of a run."""
    return Epoch(number, lineage, generation, f"offsets-{number}", parents)


def take(of: Sink, number: Epoch, *tasks: Sequence[pa.RecordBatch]) -> None:
    """Run an epoch: the tasks write, the driver commits."""
    of.commit(number, stage(of, number, *tasks))


def stage(of: Sink, number: Epoch, *tasks: Sequence[pa.RecordBatch]) -> list[bytes]:
    """Have the tasks of an epoch write, and return their messages."""
    messages = []
    for task, batches in enumerate(tasks):
        writer = of.open(number, task)
        for batch in batches:
            writer.write(batch)
        messages.append(writer.close())
    return messages


def check_declaration(connector: Connector) -> None:
    """Check that a connector and all its options are described, and that no secret is shown."""
    assert connector.summary.endswith("."), "the summary is one sentence"
    assert connector.kinds, "it has no kind of table"
    assert connector.default_format is None or connector.default_format in connector.formats
    assert connector.event_time is None or connector.event_time in connector.metadata
    for direction, model in connector.options.items():
        assert model.__doc__, f"the options of a {direction} have no docstring"
        bare = [name for name, info in model.model_fields.items() if not info.description]
        assert bare == [], f"options of a {direction} without a description"
        secret = {name for name, info in model.model_fields.items() if is_secret(info)}
        plain = [name for name in model.model_fields if "password" in name or name.endswith(("_token", "_secret"))]
        assert set(plain) <= secret, f"options of a {direction} that must be SecretStr"
    assert connector.formats <= {form.name for form in FORMATS}


def rows_have_the_declared_columns(of: Table, count: int) -> None:
    """Check that rows have the columns of the table, then its metadata columns."""
    expected = arrow_schema(of.schema)
    reader = _source(of)
    ends = positions(reader, None)
    for batch in between(_source(of), ends[0], ends[-1]):
        assert pa.schema(list(batch.schema)[: len(expected)]).equals(expected)
        assert batch.schema.names[len(expected) :] == [name for name, _ in of.metadata]


def a_range_reads_the_same_each_time(of: Table, count: int) -> None:
    """Check that a restart reads the same rows between two positions."""
    reader = _source(of)
    ends = positions(reader, None)
    once = rows(between(reader, ends[0], ends[-1]))
    assert len(once) == count
    assert rows(between(_source(of), ends[0], ends[-1])) == once


def an_epoch_has_at_most_the_rows_asked_for(of: Table, count: int) -> None:
    """Check that `advance` respects `max_rows`."""
    ends = positions(_source(of), 100)
    counts = [len(rows(between(_source(of), begin, end))) for begin, end in pairwise(ends)]
    assert max(counts) <= 100
    assert sum(counts) == count


def nothing_follows_the_end(of: Table, count: int) -> None:
    """Check that a source that is read to its end stays there."""
    reader = _source(of)
    last = positions(reader, None)[-1]
    assert dict(reader.advance(last, None)) == last
    assert _is_read(reader, last)
    assert rows(between(reader, last, last)) == []


def any_cut_into_epochs_and_slices_gives_the_same_rows(of: Table, count: int) -> None:
    """Check that neither the size of epochs nor the number of tasks changes the rows."""
    whole = positions(_source(of), None)
    expected = rows(between(_source(of), whole[0], whole[-1]))
    for tasks in (1, 2, 5):
        chance = random.Random(tasks)
        reader, read = _source(of), list[Row]()
        at = start(reader)
        while not _is_read(reader, at):
            following = dict(reader.advance(at, chance.choice([1, 7, 300, 5000])))
            read += rows(between(_source(of), at, following, tasks))
            at = following
        if len(at) == 1:
            assert read == expected
        assert sorted(map(repr, read)) == sorted(map(repr, expected))


def a_range_has_at_most_as_many_slices_as_tasks(of: Table, count: int) -> None:
    """Check that `slices` returns at most one slice for each task, and at least one if there are rows."""
    reader = _source(of)
    for partition, end in positions(reader, None)[-1].items():
        for tasks in (1, 2, 3, 8):
            assert len(reader.slices(partition, reader.start(partition), end, tasks)) <= tasks


def a_commit_may_name_no_partition(of: Table, count: int) -> None:
    """Check that `acknowledge` accepts a commit that names no partition."""
    reader = _source(of)
    if isinstance(reader, CommitListener):
        reader.acknowledge({})
        assert len(rows(between(reader, start(reader), positions(reader, None)[-1]))) == count


SOURCE_CHECKS: tuple[SourceCheck, ...] = (
    rows_have_the_declared_columns,
    a_range_reads_the_same_each_time,
    an_epoch_has_at_most_the_rows_asked_for,
    nothing_follows_the_end,
    any_cut_into_epochs_and_slices_gives_the_same_rows,
    a_range_has_at_most_as_many_slices_as_tasks,
    a_commit_may_name_no_partition,
)


def nothing_shows_before_the_commit(of: Table, directory: Path, read: Callable[[], object]) -> None:
    """Check that readers of the target see nothing of an epoch whose tasks have written and that is not committed."""
    before = read()
    stage(_sink(of, directory), epoch(0), [_batch(of)])
    assert read() == before


def an_epoch_is_written_once(of: Table, directory: Path, read: Callable[[], object]) -> None:
    """Check that an epoch that is run again after its commit changes nothing."""
    before = read()
    take(_sink(of, directory), epoch(0), [_batch(of)], [_batch(of)])
    written = read()
    assert written != before
    take(_sink(of, directory), epoch(0), [_batch(of)], [_batch(of)])
    assert read() == written


def an_epoch_may_be_empty(of: Table, directory: Path, read: Callable[[], object]) -> None:
    """Check that an epoch without rows is taken, and shows nothing."""
    before = read()
    take(_sink(of, directory), epoch(0))
    take(_sink(of, directory), epoch(1))
    assert read() == before


def an_attempt_that_failed_leaves_nothing(of: Table, directory: Path, read: Callable[[], object]) -> None:
    """Check that only the messages of the successful attempt count: a task may run twice, and fail the first time."""
    stage(_sink(of, directory), epoch(0), [_batch(of)])
    before = read()
    take(_sink(of, directory), epoch(0))
    assert read() == before


SINK_CHECKS: tuple[SinkCheck, ...] = (
    nothing_shows_before_the_commit,
    an_epoch_is_written_once,
    an_epoch_may_be_empty,
    an_attempt_that_failed_leaves_nothing,
)


def _source(of: Table) -> Source:
    from engine.connectors import source_kind_of  # noqa: PLC0415 - the connectors import this package

    return source_kind_of(of).open(of)


def _sink(of: Table, directory: Path) -> Sink:
    from engine.connectors import sink_kind_of  # noqa: PLC0415 - see `_source`

    directory.mkdir(parents=True, exist_ok=True)
    return sink_kind_of(of).open(of, SinkContext(directory))


def _batch(of: Table) -> pa.RecordBatch:
    """Return a batch of one row, with 1 or a similar value of each type."""
    schema = arrow_schema(of.schema)
    return pa.RecordBatch.from_arrays([_one(field.type) for field in schema], schema=schema)


def _one(kind: pa.DataType) -> pa.Array:
    if pa.types.is_nested(kind):
        return pa.nulls(1, kind)
    return pa.array(["1"]).cast(kind) if pa.types.is_binary(kind) else pa.array([1]).cast(kind)
