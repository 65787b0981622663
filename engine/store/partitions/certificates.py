"""Certificates: epochs that DAG runs rely on after they have passed a gate, and which of them are void.

    epoch 5   run "mon" passes a gate        g1: lineage a, epoch 5, complete until 05:00
    epoch 9   run "tue" passes a gate        g2: lineage a, epoch 9, complete until 09:00
    restore of the savepoint of epoch 7      voids g2: output that "tue" has read is written again; g1 stays valid
    --force                                  voids g1, too

`would_void` computes which certificates a new lineage from an epoch on would void, and `void` voids them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    and_,
    insert,
    literal_column,
    or_,
    select,
)
from sqlalchemy import update as update_rows

from engine.jobs.decisions.effects import GateTime
from engine.store.columns import Instant, Offsets
from engine.store.database import METADATA
from engine.store.jobs.checkpoints import History

CERTIFICATES = Table(
    "certificates",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("pipeline_id", Text, nullable=False, index=True),
    Column("version", Integer),
    Column("lineage", Text),
    Column("epoch", BigInteger),
    Column("past", Instant, nullable=False),
    Column("complete_until", Instant, nullable=False),
    Column("sink", Text),
    Column("by_time", Text, nullable=False),
    Column("dag_id", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("voided_at", Instant),
    Column("offsets", Offsets),
)


_numbered = literal_column("certificates.rowid", BigInteger)
"""Number of each certificate, increasing."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A DAG run has passed a gate, on this epoch. `sink` is None for a gate on all sinks; `offsets` are the positions
    in each source table that the epoch has read."""

    id: str
    pipeline_id: str
    version: int | None
    lineage: str | None
    epoch: int | None
    past: datetime
    complete_until: datetime
    sink: str | None
    by_time: GateTime
    dag_id: str
    run_id: str
    at: datetime
    voided_at: datetime | None = None
    offsets: Mapping[str, object] | None = None


def give(connection: Connection, certificate: Certificate) -> Certificate:
    """Store a certificate. A run that asks again for the same gate, on the same lineage, gets its previous one."""
    same = ("pipeline_id", "lineage", "past", "sink", "by_time", "dag_id", "run_id")
    alike = [CERTIFICATES.c[name].is_not_distinct_from(getattr(certificate, name)) for name in same]
    for earlier in _select(connection, and_(*alike, CERTIFICATES.c.voided_at.is_(None))):
        return earlier
    connection.execute(insert(CERTIFICATES).values(_row(certificate)))
    return certificate


def add(connection: Connection, certificates: Sequence[Certificate]) -> None:
    """Store new certificates."""
    if certificates:
        connection.execute(insert(CERTIFICATES), [_row(certificate) for certificate in certificates])


def page(connection: Connection, pipeline_id: str, limit: int) -> Sequence[Certificate]:
    """Return the newest certificates of a pipeline that DAG runs were given, newest first. Those of consumers of time
    buckets are listed with their deliveries."""
    newest = select(CERTIFICATES).order_by(CERTIFICATES.c.at.desc(), CERTIFICATES.c.id.desc()).limit(limit)
    is_of_run = CERTIFICATES.c.id.not_like("part\\_%", escape="\\")
    rows = connection.execute(newest.where(CERTIFICATES.c.pipeline_id == pipeline_id, is_of_run)).mappings()
    return [Certificate(**row) for row in rows]


def given_since(connection: Connection, number: int) -> tuple[int, Sequence[str]]:
    """Return the pipelines with certificates after a number, and the newest number. Numbers hold until the table is
    rebuilt."""
    query = select(_numbered, CERTIFICATES.c.pipeline_id).where(_numbered > number).order_by(_numbered)
    given = connection.execute(query).all()
    return (given[-1][0] if given else number), list(dict.fromkeys(pipeline_id for _, pipeline_id in given))


def after(
    connection: Connection, pipeline_id: str, at: datetime | None, number: int, limit: int
) -> Sequence[tuple[Certificate, int]]:
    """Return the oldest certificates of a pipeline after an instant, or at the instant with a larger number; without
    it, the oldest of all. Each with its number."""
    wanted = CERTIFICATES.c.pipeline_id == pipeline_id
    if at is not None:
        wanted = and_(wanted, or_(CERTIFICATES.c.at > at, and_(CERTIFICATES.c.at == at, _numbered > number)))
    query = select(CERTIFICATES, _numbered.label("number")).where(wanted).order_by(CERTIFICATES.c.at, _numbered)
    rows = [dict(row) for row in connection.execute(query.limit(limit)).mappings()]
    numbers = [row.pop("number") for row in rows]
    return [(Certificate(**row), number) for row, number in zip(rows, numbers, strict=True)]


def would_void(connection: Connection, pipeline_id: str, after_epoch: int | None) -> Sequence[Certificate]:
    """Return the certificates that a new lineage of a pipeline's state voids, oldest first: those of epochs after the
    one it continues from, or all for None, when it starts empty."""
    return _select(connection, _voided_by(pipeline_id, after_epoch))


def would_void_each(
    connection: Connection, given_up: Set[str], repeated: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[Certificate]]:
    """Return the certificates that requests to several pipelines would void, in one statement: all of those that start
    empty, and those that `would_void_of` finds for the sinks in `repeated`."""
    ids = {*given_up, *repeated}
    of_pipelines = and_(CERTIFICATES.c.pipeline_id.in_(ids), CERTIFICATES.c.voided_at.is_(None))
    voided: dict[str, list[Certificate]] = {}
    for certificate in _select(connection, of_pipelines):
        sinks = repeated.get(certificate.pipeline_id, ())
        is_repeated = bool(sinks) and (certificate.sink is None or certificate.sink in sinks)
        if is_repeated or certificate.pipeline_id in given_up:
            voided.setdefault(certificate.pipeline_id, []).append(certificate)
    return voided


def would_void_others(connection: Connection, pipeline_id: str, history: History) -> Sequence[Certificate]:
    """Return the certificates of epochs that do not belong to a lineage, oldest first."""
    return _select(connection, _of_others(pipeline_id, history))


def would_void_of(connection: Connection, pipeline_id: str, sinks: Sequence[str]) -> Sequence[Certificate]:
    """Return the certificates that become invalid if some sinks get rows again, oldest first."""
    return _select(connection, _of_sinks(pipeline_id, sinks)) if sinks else ()


def void_of(
    connection: Connection, pipeline_id: str, sinks: Sequence[str], before_version: int, at: datetime
) -> Sequence[Certificate]:
    """Void the certificates that were given while earlier versions ran; return them, oldest first."""
    is_earlier = CERTIFICATES.c.version < before_version
    return _void(connection, and_(_of_sinks(pipeline_id, sinks), is_earlier), at) if sinks else ()


def void(connection: Connection, pipeline_id: str, after_epoch: int | None, at: datetime) -> Sequence[Certificate]:
    """Void certificates; return them, oldest first."""
    return _void(connection, _voided_by(pipeline_id, after_epoch), at)


def void_others(connection: Connection, pipeline_id: str, history: History, at: datetime) -> Sequence[Certificate]:
    """Void the certificates of epochs that do not belong to the new lineage."""
    return _void(connection, _of_others(pipeline_id, history), at)


def _void(connection: Connection, condition: ColumnElement[bool], at: datetime) -> Sequence[Certificate]:
    certificates = _select(connection, condition)
    if certificates:
        connection.execute(update_rows(CERTIFICATES).where(condition).values(voided_at=at))
    return certificates


def _voided_by(pipeline_id: str, after_epoch: int | None) -> ColumnElement[bool]:
    of_pipeline = and_(CERTIFICATES.c.pipeline_id == pipeline_id, CERTIFICATES.c.voided_at.is_(None))
    return of_pipeline if after_epoch is None else and_(of_pipeline, CERTIFICATES.c.epoch > after_epoch)


def _of_others(pipeline_id: str, history: History) -> ColumnElement[bool]:
    return and_(_voided_by(pipeline_id, None), history.lacks(CERTIFICATES.c.lineage, CERTIFICATES.c.epoch))


def _of_sinks(pipeline_id: str, sinks: Sequence[str]) -> ColumnElement[bool]:
    """Return the certificates of some sinks, and those of all sinks."""
    of_sinks = or_(CERTIFICATES.c.sink.is_(None), CERTIFICATES.c.sink.in_(sinks))
    return and_(_voided_by(pipeline_id, None), of_sinks)


def _select(connection: Connection, condition: ColumnElement[bool]) -> list[Certificate]:
    query = select(CERTIFICATES).where(condition).order_by(CERTIFICATES.c.at, CERTIFICATES.c.id)
    return [Certificate(**row) for row in connection.execute(query).mappings()]


def _row(certificate: Certificate) -> dict[str, object]:
    return {field.name: getattr(certificate, field.name) for field in fields(certificate)}
