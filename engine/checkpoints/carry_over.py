"""Convert the state of an old query to that of a new one: operators with the same meaning keep their state, all others
start empty.

The old query counts clicks by window (operator 0) and joins orders (1); epoch 41 is committed and 42 is planned. The
new query has a session (0) before the same windows (1), reads another table, and joins no longer:

    operators      {1: 0}: operator 1 of the new query has the state of operator 0 of the old one; several operators can
                   get copies of one
    skeleton       the empty checkpoint of the new query, after an epoch without rows
                   (`spark/upgrade/empty_checkpoint.py`)

    offsets/40, 41, 42   unchanged, with the sources in the order of the new query; a new table at its start
    commits/40, 41       unchanged, with the ids of the state files under the new numbers
    state/0              all from the skeleton; its empty snapshot of version 1 is renamed to 42_....zip
    state/1              names and schemas from the skeleton, data of the old state/0 under their own names
    watermarks           the notes of tables that are still read
    lineage              a new one that descends from epoch 41 of the old one

A new lineage is needed for two reasons. A new sink has an empty ledger, which is valid only in the first epoch of a
lineage. And a sink may have epoch 42 of the old query already: if it can, it takes that back and writes that of the new
query.

The caller guarantees that kept state has the same meaning; this module only checks that it has the same form. The
pipeline must not be running. See docs/decisions/a-state-is-carried-over-on-a-skeleton.md.

Map the sources of a new query to those of the old query, and rewrite the offset log in the new order.

Spark has one source for each place in a plan that reads a table, and plans each separately:

    old query      0: clicks to 9, 1: clicks to 11, 2: orders to 4
    new query      0: orders, 1: clicks, 2: users; the caller maps its source 1 to the old source 0
    offsets/41     orders to 4, clicks to 9, users at its start: nothing was read

If all old sources of a table are at the same position, the caller need not map them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.checkpoints import manifest, spark_log
from engine.checkpoints.claim import StatefulQuery
from engine.checkpoints.doctor import examine
from engine.checkpoints.forms import is_data, operator_numbers, read_form, write_forms, write_panes
from engine.checkpoints.late_batches import write_withheld
from engine.checkpoints.layout import StatePaths, write_json, write_text
from engine.checkpoints.lineage import new_id, read_lineage, write_lineage
from engine.checkpoints.spark_log import CommitRecord, PlannedEpoch
from engine.checkpoints.state_files import link
from engine.checkpoints.swap import StatePoint, begin_swap, commit_swap, finish_swap
from engine.delivery.durable import replace_durably
from engine.delivery.faults import reach
from engine.errors import StateNotKeptError
from engine.plan.state.forms import Forms
from engine.plan.state.withheld import Withheld


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The caller's mapping of new sources to old ones, by number, and the tables to read from their start whatever the
    old query's position."""

    predecessors: Mapping[int, int] = field(default_factory=dict)
    anew: frozenset[str] = frozenset()


def predecessors(tables: Sequence[str], epochs: Sequence[PlannedEpoch], choice: SourceChoice) -> tuple[int | None, ...]:
    """Map each source of the new query, given by its table, to the number of the old source that it continues; None for
    a source that starts from the beginning. `epochs` are the valid epochs of the old state."""
    return tuple(
        None if table in choice.anew else _predecessor(number, table, epochs, choice.predecessors.get(number))
        for number, table in enumerate(tables)
    )


def in_order_of(order: Sequence[int | None], first: Sequence[str], epoch: PlannedEpoch) -> PlannedEpoch:
    """Return a planned epoch of the old query as one of the new query; `first` has where each source of that begins."""
    lines = (begin if old is None else epoch.sources[old] for old, begin in zip(order, first, strict=True))
    return replace(epoch, sources=tuple(lines))


def _predecessor(number: int, table: str, epochs: Sequence[PlannedEpoch], stated: int | None) -> int | None:
    old_tables = [_table_of(epochs, old) for old in range(len(epochs[0].sources))]
    if stated is not None:
        if stated not in range(len(old_tables)) or old_tables[stated] != table:
            raise StateNotKeptError(
                f"source {number} of the new query reads {table}, and source {stated} of the state does not"
            )
        return stated
    candidates = [old for old, old_table in enumerate(old_tables) if old_table == table]
    places = [[epoch.contents[old].get("at") for epoch in epochs] for old in candidates]
    if any(place != places[0] for place in places):
        raise StateNotKeptError(
            f"the old query reads {table} in several places, and has come further in one than in another",
            hint="let the old query read all of its input before it is stopped",
        )
    # of several that stand at one place, that by which the fewest rows are late
    return min(candidates, key=lambda old: _watermark(epochs[-1], old), default=None)


def _table_of(epochs: Sequence[PlannedEpoch], source: int) -> object:
    tables = {epoch.contents[source].get("table") for epoch in epochs} - {None}
    return tables.pop() if len(tables) == 1 else None


def _watermark(epoch: PlannedEpoch, source: int) -> float:
    watermark = epoch.contents[source].get("wm")
    return watermark if isinstance(watermark, int) else float("-inf")


_FIRST_SNAPSHOT = re.compile(r"1_([0-9a-f-]+)\.zip")
_NO_CHOICE = SourceChoice()
_NOTHING_WITHHELD: Withheld = {}
_NO_FORMS: Forms = {}
_TABLES = {"SSTs", "logs"}
"""Folders of the files that snapshots refer to. Their names are unique."""


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """The empty checkpoint of the new query. For the table of each source, `notes` has the folder of its notes, and
    `first` the offset before anything was read."""

    checkpoint: Path
    planned: PlannedEpoch
    committed: CommitRecord
    tables: tuple[str, ...]
    notes: tuple[str, ...]
    first: tuple[str, ...]
    operators: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Old:
    """The existing state: its newest epoch, and the epochs that are needed: that one, the previous one, and a planned
    one."""

    paths: StatePaths
    epoch: int
    plans: Mapping[int, PlannedEpoch]
    commits: Mapping[int, CommitRecord]
    operators: tuple[int, ...]


def carry_over(
    paths: StatePaths,
    skeleton: Path,
    operators: Mapping[int, int],
    query: StatefulQuery,
    *,
    sources: SourceChoice = _NO_CHOICE,
    withheld: Withheld = _NOTHING_WITHHELD,
    forms: Forms = _NO_FORMS,
    panes: Collection[int] = (),
    new_lineage: Callable[[], str] = new_id,
) -> None:
    """Replace the state by one from which the next run starts as the new query. `operators` maps each operator of the
    new query that keeps its state to the number of the old operator; all others start empty. `sources` chooses the
    source where a table has several, and names the tables to read from the start. `withheld` lists the suppressed
    aggregates with their windows, `forms` the aggregates whose state may still have an earlier form, and `panes` the
    operators whose state is stored by pane. Raise StateNotKeptError, with nothing changed, if that is impossible. A
    crash leaves either the old state or the new one."""
    finish_swap(paths)
    if findings := examine(paths):
        raise findings[0].error()
    new = _read_skeleton(skeleton)
    query = replace(query, parallelism=new.planned.parallelism)
    if spark_log.newest_commit(paths.checkpoint) is None:
        _begin_empty(paths, operators, query)
        return
    old = _fitted(_read_old(paths), new)
    _check_forms(old, new, operators)
    order = predecessors(new.tables, list(old.plans.values()), sources)
    staging = begin_swap(paths)
    checkpoint = staging / paths.checkpoint.name
    link(paths.checkpoint / "metadata", checkpoint / "metadata")
    _write_logs(checkpoint, old, new, operators, order)
    for number in new.operators:
        _put_operator(checkpoint, old, new, number, operators.get(number))
    reach(StatePoint.WHILE_BUILDING)
    _put_notes(staging, paths, {name for name, source in zip(new.notes, order, strict=True) if source is not None})
    write_withheld(checkpoint, withheld)
    write_forms(checkpoint, forms)
    write_panes(checkpoint, panes)
    write_json(staging / paths.pipeline.name, query.to_json())
    write_lineage(staging / paths.lineage.name, read_lineage(paths.lineage).forked_at(old.epoch, new_lineage()))
    commit_swap(paths)


def _begin_empty(paths: StatePaths, operators: Mapping[int, int], query: StatefulQuery) -> None:
    """Replace a state without a committed epoch by an empty one; no data is lost. The lineage stays: if a sink has
    taken the first epoch nevertheless, it checks whether the new query's first epoch covers the same input."""
    if operators:
        raise _not_as_expected(f"operator {min(operators)} is to be kept, and no epoch was committed")
    staging = begin_swap(paths)
    for folder in (paths.checkpoint, paths.watermarks):
        (staging / folder.name).mkdir()
    write_json(staging / paths.pipeline.name, query.to_json())
    commit_swap(paths)


def _read_skeleton(folder: Path) -> _Skeleton:
    if spark_log.newest_commit(folder) != 0:
        raise _not_as_expected(f"{folder} has not exactly one epoch")
    planned = spark_log.read_planned(folder, 0)
    if not all({"table", "notes", "first"} <= content.keys() for content in planned.contents):
        raise _not_as_expected(f"{folder} does not say which tables it reads")
    tables = tuple(str(content["table"]) for content in planned.contents)
    notes = tuple(str(content["notes"]) for content in planned.contents)
    first = tuple(json.dumps(content["first"]) for content in planned.contents)
    committed, numbers = spark_log.read_committed(folder, 0), tuple(operator_numbers(folder))
    if set(committed.state_ids_of) != set(numbers):
        raise _not_as_expected(f"{folder} has state that its commit does not name")
    return _Skeleton(folder, planned, committed, tables, notes, first, numbers)


def _read_old(paths: StatePaths) -> _Old:
    checkpoint = paths.checkpoint
    epoch = max(spark_log.numbers(checkpoint / "commits"))
    numbers = [number for number in (epoch - 1, epoch, epoch + 1) if (checkpoint / "offsets" / str(number)).exists()]
    plans = {number: spark_log.read_planned(checkpoint, number) for number in numbers}
    commits = {number: spark_log.read_committed(checkpoint, number) for number in numbers if number <= epoch}
    operators = tuple(operator_numbers(checkpoint))
    if set(commits[epoch].state_ids_of) != set(operators):
        raise StateNotKeptError(
            "the state was written in an old form, in which its files have no ids",
            hint="start empty with --force, which keeps the old state aside",
        )
    if len({len(plan.sources) for plan in plans.values()}) != 1:
        raise _not_as_expected("the epochs of the state have not the same number of sources")
    if any((checkpoint / "sources").rglob("[!.]*.*")) or any((checkpoint / "sources").rglob("[0-9]*/*")):
        raise _not_as_expected(f"{checkpoint / 'sources'} is not empty")
    return _Old(paths, epoch, plans, commits, operators)


def _fitted(old: _Old, new: _Skeleton) -> _Old:
    """Return the old state with the parallelism of the new one, which it must have if it has operators. Everything else
    that Spark has recorded about the state's layout must be equal."""
    width = new.planned.parallelism
    newest = old.plans[old.epoch]
    if old.operators and newest.parallelism != width:
        raise StateNotKeptError(
            f"the state is laid out for {newest.parallelism} tasks, and the new query for {width}",
            hint="change the parallelism of the old query first",
        )
    fitted = {number: plan.cut_into(width) for number, plan in old.plans.items()}
    for plan in fitted.values():
        if (plan.version, plan.about.get("conf")) != (new.planned.version, new.planned.about.get("conf")):
            raise StateNotKeptError(
                "another version of Spark, or other settings of it, have written the state",
                hint="run the old query with this version until it has committed two epochs, then try again",
            )
    if any(commit.version != new.committed.version for commit in old.commits.values()):
        raise _not_as_expected("the commits of the state are written in another form")
    return replace(old, plans=fitted)


def _check_forms(old: _Old, new: _Skeleton, operators: Mapping[int, int]) -> None:
    """Raise unless the kept state has the same physical form in both queries, whatever its meaning."""
    for number, before in operators.items():
        if number not in new.operators or before not in old.operators:
            raise _not_as_expected(f"operator {number} is to keep the state of {before}, and there is none")
        old_form, new_form = read_form(old.paths.checkpoint, before), read_form(new.checkpoint, number)
        if old_form != new_form:
            aspect = "is of another kind" if old_form.name != new_form.name else "has other keys or values"
            raise StateNotKeptError(
                f"the state of operator {before} ({old_form.name}) cannot be kept: operator {number} of the new query "
                f"{aspect}",
                hint="let that operator begin empty, or leave the query as it is",
            )


def _write_logs(
    checkpoint: Path, old: _Old, new: _Skeleton, operators: Mapping[int, int], order: Sequence[int | None]
) -> None:
    for number, plan in old.plans.items():
        # a planned epoch over tables that are all gone need not be repeated
        if number <= old.epoch or any(source is not None for source in order):
            write_text(checkpoint / "offsets" / str(number), in_order_of(order, new.first, plan).text())
    for number, commit in old.commits.items():
        old_ids = commit.state_ids_of
        ids = {kept: old_ids[before] for kept, before in sorted(operators.items()) if before in old_ids}
        if number == old.epoch:
            ids |= {empty: new.committed.state_ids_of[empty] for empty in new.operators if empty not in operators}
        write_text(checkpoint / "commits" / str(number), commit.with_state_ids(ids).text())


def _put_operator(checkpoint: Path, old: _Old, new: _Skeleton, number: int, before: int | None) -> None:
    """Copy an operator of the new query into a checkpoint: Spark's metadata of it, and its data."""
    target, about = checkpoint / "state" / str(number), new.checkpoint / "state" / str(number)
    for path in _files_of_operator(new.checkpoint, 0, number):
        if not is_data(path):
            replace_durably(target / path, (about / path).read_bytes())
    partitions: set[str] = set()
    if before is None:
        for path in filter(is_data, _files_of_operator(new.checkpoint, 0, number)):
            partitions.add(path.parts[0])
            replace_durably(target / _at_version(path, old.epoch + 1), (about / path).read_bytes())
    else:
        for path in filter(is_data, _files_of_operator(old.paths.checkpoint, old.epoch, before)):
            partitions.add(path.parts[0])
            link(old.paths.checkpoint / "state" / str(before) / path, target / path)
    if partitions != {str(partition) for partition in range(new.planned.parallelism)}:
        raise _not_as_expected(f"operator {number} has the partitions {', '.join(sorted(partitions))}")


def _files_of_operator(checkpoint: Path, epoch: int, number: int) -> Iterator[Path]:
    """Yield the files that an epoch needs of an operator, by their paths within its folder."""
    folder = Path("state") / str(number)
    for path in manifest.files_of(checkpoint, epoch):
        if path.is_relative_to(folder):
            yield path.relative_to(folder)


def _at_version(path: Path, version: int) -> Path:
    """Return the name of an empty state's file as that of another version."""
    if path.parent.name in _TABLES:
        return path
    if (match := _FIRST_SNAPSHOT.fullmatch(path.name)) is None:
        raise _not_as_expected(f"the empty state of an operator has a file {path}")
    return path.with_name(f"{version}_{match[1]}.zip")


def _put_notes(staging: Path, paths: StatePaths, folders: set[str]) -> None:
    """Link the notes that readers have left about the tables that the new query still reads."""
    (staging / paths.watermarks.name).mkdir()
    for folder in sorted(folders):
        for path in sorted((paths.watermarks / folder).glob("*")):
            if path.is_file() and path.suffix != ".tmp":
                link(path, staging / path.relative_to(paths.root))


def _not_as_expected(fault: str) -> StateNotKeptError:
    return StateNotKeptError(
        f"the state cannot be carried over to the new query: {fault}",
        hint="give the new query another --state-dir, or start empty with --force, which keeps the old state aside",
    )
