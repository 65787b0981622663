"""Completeness of committed output, at once or as soon as it is complete up to an instant."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.authentication import is_let_in
from engine.api.http.problems import ContextDep, refusals
from engine.api.http.query_parameters import read_instant
from engine.checkpoints.spark_log import offsets_of_epoch
from engine.control.changes import Reading
from engine.control.context import Context
from engine.control.preview_room import run_behind
from engine.errors import AuthError, PipelineDeletedError, PipelineNotFoundError
from engine.jobs import disk
from engine.jobs.decisions.effects import Gate, GateTime, is_passed, promised, reached
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.states import State
from engine.store.database import Database
from engine.store.jobs.records import read_named, read_record
from engine.store.partitions import certificates
from engine.store.partitions.certificates import Certificate
from engine.store.pipelines import pipelines
from engine.store.pipelines.lineages import giving_up_state, is_state_given_up
from engine.values.instants import FAR_FUTURE

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/watermark", tags=["watermark"], responses=refusals(404))
CERTIFICATES = APIRouter(prefix="/pipelines/{pipeline}/certificates", tags=["watermark"], responses=refusals(404))


@ROUTER.get("")
async def get(
    pipeline: str,
    request: Request,
    context: ContextDep,
    past: Annotated[str | None, Query(description="Microseconds since 1970, or an ISO 8601 instant.")] = None,
    timeout_seconds: Annotated[float, Query(ge=0, le=55)] = 0,
    table: Annotated[str | None, Query(description="The sink that is waited for; all of them without it.")] = None,
    by: Annotated[
        GateTime,
        Query(description="`input`: all rows read before `past` are written. `output`: all rows before it are."),
    ] = "input",
    dag_id: Annotated[str | None, Query(max_length=250, description="The DAG whose run relies on the answer.")] = None,
    run_id: Annotated[str | None, Query(max_length=250, description="That run: it is given a certificate.")] = None,
) -> answers.Watermark:
    """Show how far the committed output is complete. With `past`, the response waits until it is complete up to that
    instant, the job stops, or a timeout. A DAG run that names itself gets a certificate, which is stored."""
    gate = None if past is None else Gate(read_instant("past", past), table, by)
    asker = None if dag_id is None or run_id is None else (dag_id, run_id)
    loop = asyncio.get_running_loop()
    end = loop.time() + min(timeout_seconds, context.long_poll_max.total_seconds())
    reading = await _read(context, pipeline)
    if not is_final(reading, gate) and loop.time() < end:
        try:
            reading = await _held(context, reading.record.pipeline.id, gate, end)
        except PipelineNotFoundError as error:
            raise _deleted(reading) from error
        if not is_let_in(request):
            raise AuthError("the token has ended while the request was held", hint="ask for another token")
    answer = answers.watermark(reading.record, gate, is_given_up=reading.is_state_given_up)
    pipeline_id = reading.record.pipeline.id
    if answer.passed and gate is not None and asker is not None:
        return await run_in_threadpool(_certify, context, pipeline_id, gate, asker)
    return answer


@CERTIFICATES.get("")
def list_all(
    pipeline: str, context: ContextDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[answers.Certificate]:
    """List the certificates of gates that DAG runs have passed, newest first."""
    with context.database.reading() as connection:
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        page = certificates.page(connection, record.pipeline.id, limit + 1)
        data = [
            answers.certificate(stored, run_behind(connection, context.lineage_namespace, record, stored))
            for stored in page[:limit]
        ]
    return Page(data=data, has_more=len(page) > limit)


def _certify(context: Context, pipeline_id: str, gate: Gate, asker: tuple[str, str]) -> answers.Watermark:
    """Return the answer again, in the transaction that stores the certificate: the state may have been discarded
    since."""
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        answer = answers.watermark(record, gate, is_given_up=is_state_given_up(connection, record))
        if not answer.passed:
            return answer
        status, progress = record.status, record.status.progress
        until = FAR_FUTURE if status.state is State.FINISHED else reached(gate, progress)
        certificate = Certificate(
            id=disk.make("gate"),
            pipeline_id=pipeline_id,
            version=status.version,
            lineage=progress.lineage,
            epoch=progress.epoch,
            past=gate.past,
            complete_until=until or gate.past,
            sink=gate.table,
            by_time=gate.by,
            dag_id=asker[0],
            run_id=asker[1],
            at=context.clock(),
            offsets=offsets_of_epoch(context.directory.state(pipeline_id), progress.lineage, progress.epoch),
        )
        stored = certificates.give(connection, certificate)
        run = run_behind(connection, context.lineage_namespace, record, stored)
    return answer.model_copy(update={"certificate": answers.certificate(stored, run)})


async def _held(context: Context, pipeline_id: str, gate: Gate | None, end: float) -> Reading:
    """Return the pipeline once it has passed the gate, or its current state at the timeout."""
    wait = context.changes.watch(pipeline_id, lambda reading: is_final(reading, gate))
    try:
        reading = await _read(context, pipeline_id)
        remaining = end - asyncio.get_running_loop().time()
        if is_final(reading, gate) or remaining <= 0:
            return reading
        ended, _ = await asyncio.wait([wait.answer], timeout=remaining)
        if ended and not wait.answer.cancelled():
            return wait.answer.result()
        return await _read(context, pipeline_id)
    finally:
        context.changes.forget(pipeline_id, wait)


def _deleted(reading: Reading) -> PipelineDeletedError:
    pipeline = reading.record.pipeline
    return PipelineDeletedError(
        f"pipeline {pipeline.name!r} ({pipeline.id}) was deleted while this request waited for it",
        hint="ask again once a pipeline of this name is deployed",
    )


async def _read(context: Context, pipeline: str) -> Reading:
    return await context.changes.reads.read(pipeline, partial(read_all, context.database))


def read_all(database: Database, asked: Sequence[str]) -> Mapping[str, Reading | Exception]:
    """Read pipelines, by id or by name, for the requests that wait for them: the number of statements does not depend
    on the number of pipelines. A missing one is an error in its place."""
    with database.reading() as connection:
        records = read_named(connection, asked)
        given_up = giving_up_state(connection, list(records.values()))
    readings = {name: Reading(record, record.pipeline.id in given_up) for name, record in records.items()}
    return {name: readings.get(name) or pipelines.not_found(name) for name in asked}


def is_final(reading: Reading, gate: Gate | None) -> bool:
    """Whether there is nothing more to wait for: the gate is passed, or the job has stopped. Raise if it can never be
    passed."""
    status = reading.record.status
    if gate is None or (status.state is State.FINISHED and not reading.is_state_given_up):
        return True
    progress = promised(status, is_given_up=reading.is_state_given_up)
    return is_passed(gate, progress) or (status.state.is_terminal and is_settled(reading.record.pipeline, status))
