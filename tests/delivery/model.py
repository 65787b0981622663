"""A model of the protocol for targets with transactions, small enough to visit every state it can come to.

Drivers plan, fence, read the ledger, send rows, commit and log, one step at a time; any of them may be killed at any
step, stand still while its successors work, or lose the answer to its commit; a commit may arrive long after. The
decisions are those of `engine.delivery.ledger.decide`. A `Design` is the way we do it, or one that leaves something
out: the mutants that a search has to find fault with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from engine.delivery.epoch import Epoch
from engine.delivery.ledger import Decision, LedgerEntry, Skip, StandDown, Stop, WriteAfter, decide

ROWS = (0, 1)
"""The rows of every epoch: two, so that it can be torn."""


@dataclass(frozen=True, slots=True)
class Design:
    """What a mutant does differently."""

    has_ledger: bool = True
    fences_first: bool = True
    ledger_in_transaction: bool = True
    fresh_producers: bool = True
    knows_lineage: bool = True
    compares_offsets: bool = True
    width_is_kept: bool = True
    rows_stay_in_place: bool = True


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may happen."""

    epochs: int = 2
    generations: int = 3
    late: int = 1
    restores: int = 1
    damages: int = 1
    width: int = 1


class Output(NamedTuple):
    """A row that readers see."""

    lineage: int
    epoch: int
    variant: int
    row: int


Owner: TypeAlias = tuple[int, int]


class Partition(NamedTuple):
    """One partition of the target: who may write, what is in the open transaction, what readers see, the ledger."""

    owner: Owner | None = None
    open: tuple[Output, ...] = ()
    open_ledger: LedgerEntry | None = None
    output: tuple[Output, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()


Step = Literal["plan", "fence", "read", "send", "commit", "note", "log"]


class Driver(NamedTuple):
    """A driver, between two steps. `sent` counts the rows it has sent to its partition."""

    generation: int
    lineage: int
    epoch: int
    step: Step = "plan"
    partition: int = 0
    sent: int = 0
    owner: Owner | None = None


class State(NamedTuple):
    """Everything there is: Spark's logs, the target, the drivers, commits under way, and what may still happen."""

    target: tuple[Partition, ...]
    bounds: tuple[int, int, int]
    """Late commits, restores and damages that are left."""
    offsets: tuple[int, ...] = ()
    commits: int = 0
    lineage: int = 0
    restored: int = -1
    drivers: tuple[Driver, ...] = ()
    late: tuple[tuple[int, Owner], ...] = ()
    generation: int = 0
    is_damaged: bool = False


class Violation(Exception):  # noqa: N818 - it is what one looks for
    """Something that must never be."""


def search(design: Design, bounds: Bounds) -> tuple[int, str | None, tuple[str, ...]]:
    """Visit every state: how many there are, the first thing that must not be, and the way there."""
    first = State((Partition(),) * bounds.width, (bounds.late, bounds.restores, bounds.damages))
    came: dict[State, tuple[State, str] | None] = {first: None}
    todo = [first]
    while todo:
        next_states: list[State] = []
        for state in todo:
            try:
                for name, after in steps(state, design, bounds):
                    if after not in came:
                        came[after] = (state, name)
                        check(after)
                        next_states.append(after)
            except Violation as wrong:
                return len(came), str(wrong), _way(came, next_states[-1] if after is not None else state)
        todo = next_states
    return len(came), None, ()


def _way(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    way = list[str]()
    while before := came[state]:
        state, name = before
        way.append(name)
    return tuple(reversed(way))


def steps(state: State, design: Design, bounds: Bounds) -> Iterator[tuple[str, State]]:
    """All that may happen next."""
    if len(state.drivers) < 2 and state.generation < bounds.generations and state.commits < bounds.epochs:
        started = Driver(state.generation + 1, state.lineage, state.commits)
        yield "start", state._replace(drivers=(*state.drivers, started), generation=state.generation + 1)
    for at, driver in enumerate(state.drivers):
        name = f"{driver.step} {driver.generation}"
        yield f"kill {driver.generation}", _without(state, at)
        for after in _step(state, at, driver, design, bounds):
            yield name, after
    for number, partition in enumerate(state.target):
        if partition.open:
            # the broker gives up on a transaction that takes too long, and its producer may not go on
            yield "time out", _with(state, number, partition._replace(open=(), open_ledger=None, owner=None))
    for request in state.late:
        requests = list(state.late)
        requests.remove(request)
        yield "late commit", _commit(state._replace(late=tuple(requests)), *request)
    late, restores, damages = state.bounds
    if not state.drivers and restores:
        for last_epoch in range(state.commits - 1):
            yield (
                "restore",
                state._replace(
                    bounds=(late, restores - 1, damages),
                    offsets=state.offsets[: last_epoch + 1],
                    commits=last_epoch + 1,
                    lineage=state.lineage + 1,
                    restored=last_epoch,
                ),
            )
    if not state.drivers and damages and len(state.offsets) > state.commits:
        left_over = state.offsets[:-1]
        yield "lose offsets", state._replace(bounds=(late, restores, damages - 1), offsets=left_over, is_damaged=True)


def _step(state: State, at: int, driver: Driver, design: Design, bounds: Bounds) -> Iterator[State]:
    width = bounds.width if design.width_is_kept else 1 + driver.generation % bounds.width
    match driver.step:
        case "plan":
            if driver.epoch >= bounds.epochs:
                yield _without(state, at)
                return
            offsets = state.offsets
            if driver.epoch == len(offsets):
                offsets = (*offsets, int(state.is_damaged))
            next_driver = _begin(driver, 0, design)
            yield _move(state._replace(offsets=offsets), at, next_driver)
        case "fence":
            owner = (driver.generation, driver.epoch if design.fresh_producers else 0)
            partition = state.target[driver.partition]
            if design.fresh_producers or partition.owner != owner:
                state = _with(state, driver.partition, partition._replace(owner=owner, open=(), open_ledger=None))
            step: Step = "read" if design.fences_first else "send"
            yield _move(state, at, driver._replace(owner=owner, step=step))
        case "read":
            yield from _read(state, at, driver, design, width)
        case "send":
            yield _send(state, at, driver, design, width)
        case "commit":
            yield from _end(state, at, driver, design, width)
        case "note":
            partition = state.target[driver.partition]
            noted = partition._replace(ledger=(*partition.ledger, _entry(state, driver)))
            yield _on(_with(state, driver.partition, noted), at, driver, design, width)
        case "log":
            if state.commits != driver.epoch:
                yield _without(state, at)
                return
            logged = state._replace(commits=state.commits + 1)
            yield _move(logged, at, driver._replace(epoch=driver.epoch + 1, step="plan"))


def _begin(driver: Driver, partition: int, design: Design) -> Driver:
    return driver._replace(step="fence" if design.fences_first else "read", partition=partition, sent=0)


def _read(state: State, at: int, driver: Driver, design: Design, width: int) -> Iterator[State]:
    ledger = state.target[driver.partition].ledger
    if not design.ledger_in_transaction or not design.has_ledger:
        ledger = ledger[-1:]
    match _decide(ledger, _epoch(state, driver, design), len(state.offsets), design):
        case WriteAfter():
            yield _move(state, at, driver._replace(step="send" if design.fences_first else "fence"))
        case Skip():
            yield _on(state, at, driver, design, width)
        case StandDown():
            yield _without(state, at)
        case Stop(error):
            if not state.is_damaged:
                raise Violation(f"stopped without a reason: {error.code}")
            yield _without(state, at)


@lru_cache(maxsize=100_000)
def _decide(ledger: tuple[LedgerEntry, ...], epoch: Epoch, planned: int, design: Design) -> Decision:
    if not design.has_ledger:
        return WriteAfter(None)
    parents = dict(epoch.parents)
    if not design.knows_lineage:
        ledger = tuple(LedgerEntry(epoch.lineage, entry.epoch, entry.offsets, entry.generation) for entry in ledger)
    if not design.compares_offsets:
        ledger = tuple(LedgerEntry(entry.lineage, entry.epoch, epoch.offsets, entry.generation) for entry in ledger)
    restored = next(iter(parents.values()), -1)
    return decide(
        ledger,
        epoch,
        ever_committed=epoch.number > restored + 1 or bool(parents),
        is_newer_known=bool(ledger) and ledger[-1].epoch < planned,
        takes_back=False,
    )


def _send(state: State, at: int, driver: Driver, design: Design, width: int) -> State:
    partition = state.target[driver.partition]
    rows = _rows(driver, design, width)
    if partition.owner != driver.owner:
        return _without(state, at)
    if driver.sent < len(rows):
        row = Output(driver.lineage, driver.epoch, state.offsets[driver.epoch], rows[driver.sent])
        partition = partition._replace(open=(*partition.open, row))
        return _move(_with(state, driver.partition, partition), at, driver._replace(sent=driver.sent + 1))
    if design.ledger_in_transaction:
        partition = partition._replace(open_ledger=_entry(state, driver))
    return _move(_with(state, driver.partition, partition), at, driver._replace(step="commit"))


def _end(state: State, at: int, driver: Driver, design: Design, width: int) -> Iterator[State]:
    assert driver.owner is not None
    if state.target[driver.partition].owner != driver.owner:
        yield _without(state, at)
        return
    after_commit = _commit(state, driver.partition, driver.owner)
    if design.ledger_in_transaction:
        yield _on(after_commit, at, driver, design, width)
    else:
        yield _move(after_commit, at, driver._replace(step="note"))
    late, restores, damages = state.bounds
    if late:
        # the request is repeated when no answer comes; the first one is still under way
        request = (driver.partition, driver.owner)
        waiting = after_commit._replace(bounds=(late - 1, restores, damages), late=(*state.late, request))
        yield _on(waiting, at, driver, design, width)
        # or its driver dies of the timeout, and nobody knows what has become of it
        yield _without(state._replace(bounds=(late - 1, restores, damages), late=(*state.late, request)), at)


def _commit(state: State, number: int, owner: Owner) -> State:
    """The target ends the open transaction of an owner; it does nothing for any other, nor without one."""
    partition = state.target[number]
    if partition.owner != owner or not partition.open:
        return state
    ledger = partition.ledger if partition.open_ledger is None else (partition.open_ledger,)
    output = (*partition.output, *partition.open)
    return _with(state, number, partition._replace(open=(), open_ledger=None, output=output, ledger=ledger))


def _on(state: State, at: int, driver: Driver, design: Design, width: int) -> State:
    """The driver is done with a partition."""
    if driver.partition + 1 < width:
        return _move(state, at, _begin(driver, driver.partition + 1, design))
    return _move(state, at, driver._replace(step="log", partition=0, sent=0))


def _rows(driver: Driver, design: Design, width: int) -> list[int]:
    turn = 0 if design.rows_stay_in_place else driver.generation
    return [row for row in ROWS if (row + turn) % width == driver.partition]


def _epoch(state: State, driver: Driver, design: Design) -> Epoch:
    parents = ((str(driver.lineage - 1), state.restored),) if driver.lineage else ()
    entry = _entry(state, driver)
    return Epoch(entry.epoch, entry.lineage, entry.generation, entry.offsets, parents)


def _entry(state: State, driver: Driver) -> LedgerEntry:
    return LedgerEntry(str(driver.lineage), driver.epoch, str(state.offsets[driver.epoch]), driver.generation)


def _with(state: State, number: int, partition: Partition) -> State:
    target = tuple(partition if at == number else other_partition for at, other_partition in enumerate(state.target))
    return state._replace(target=target)


def _move(state: State, at: int, driver: Driver) -> State:
    drivers = tuple(driver if number == at else other_driver for number, other_driver in enumerate(state.drivers))
    return state._replace(drivers=drivers)


def _without(state: State, at: int) -> State:
    return state._replace(
        drivers=tuple(other_driver for number, other_driver in enumerate(state.drivers) if number != at)
    )


def check(state: State) -> None:
    """Raise when something is there twice, is torn or out of order, or is not there although it was logged."""
    for partition in state.target:
        order = [(row.lineage, row.epoch) for row in partition.output]
        if order != sorted(order):
            raise Violation("out of order")
    rows = [row for partition in state.target for row in partition.output]
    named = [(row.lineage, row.epoch, row.row) for row in rows]
    if len(set(named)) < len(named):
        raise Violation("doubled")
    for epoch in range(state.commits):
        lineage = state.lineage if epoch > state.restored else state.lineage - 1
        written_rows = {
            row.row for row in rows if (row.lineage, row.epoch, row.variant) == (lineage, epoch, state.offsets[epoch])
        }
        if written_rows != set(ROWS):
            raise Violation("lost")
    if len(state.target) == 1:
        for lineage, epoch in {(row.lineage, row.epoch) for row in rows}:
            if sum((row.lineage, row.epoch) == (lineage, epoch) for row in rows) < len(ROWS):
                raise Violation("torn")
