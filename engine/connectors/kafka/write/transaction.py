"""Write one part of an epoch to Kafka exactly once: fence, read the ledger, write records and ledger, commit.

    init_transactions    fences off older producers of the name, and aborts their open transactions
    read the ledger      entry 6: epoch 7 is missing            entry 7: another attempt has committed it; done
    write                the records of the part, and entry 7 as the offset of a group
    commit               readers see both or neither

The order matters: if the ledger were read before the fence, an older producer could commit between the two, and the
part would be written twice.

Every attempt has a producer of its own. Its `init_transactions` aborts the open transaction of an older one and gets a
new producer epoch. Without it, a delayed commit request could commit a later transaction. If the result of an attempt
is unknown, the next attempt reads it from the ledger. The first step of an epoch's first attempt is done in advance
(`fenced_ahead.py`). See `docs/decisions/kafka-is-written-in-staged-transactions.md`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from confluent_kafka import KafkaException

from engine.connectors.kafka.client import ClientConfig
from engine.connectors.kafka.write.failures import is_worth_another_try, write_failure
from engine.connectors.kafka.write.fenced_ahead import MadeAhead
from engine.connectors.kafka.write.ledger import SECONDS, KafkaLedger
from engine.connectors.kafka.write.producer import ProducerSession
from engine.connectors.kafka.write.staging import staged_records
from engine.delivery.epoch import Epoch
from engine.delivery.faults import Point, reach
from engine.delivery.fence import check_fence
from engine.delivery.file_ledger import is_planned
from engine.delivery.ledger import LedgerEntry, Skip, StandDown, Stop, WriteAfter, decide
from engine.errors import LedgerLostError, OutputChangedError, UnreadableSegmentError, message_of

ATTEMPTS = 3
_MARGIN = timedelta(seconds=5)
"""Time before the transaction timeout at which a commit is given up: a later response is about an aborted
transaction."""


@dataclass(frozen=True, slots=True)
class TransactionPart:
    """Content of one transaction. `name` is that of the transactions and of the ledger; `must_have_ledger` means that
    this lineage has written the ledger before."""

    name: str
    topic: str
    segments: Sequence[Path]
    rows: int
    must_have_ledger: bool


@dataclass(frozen=True, slots=True)
class FencedProducer:
    """A producer that has fenced off all older ones of its name, and the ledger to read after that."""

    session: ProducerSession
    ledger: KafkaLedger


@dataclass(frozen=True, slots=True)
class Writer:
    """Settings of a run for writing to a topic: client settings, sink, and transaction timeout."""

    client: ClientConfig
    directory: Path
    timeout: timedelta


_AHEAD = MadeAhead[FencedProducer]()


def fence_for_next(writer: Writer, parts: Sequence[TransactionPart], epoch: Epoch) -> None:
    """Create a producer for each part in advance, for the epoch after this one."""
    for part in parts:

        def fenced(part: TransactionPart = part) -> FencedProducer:
            check_fence(writer.directory, epoch)
            ahead = _fenced(writer, part, epoch.number + 1)
            # only the connection is reused, not the entry: the topic may be recreated before the epoch comes
            ahead.ledger.read()
            return ahead

        _AHEAD.make(_key(writer, part, epoch), fenced)


def write_part(writer: Writer, part: TransactionPart, epoch: Epoch) -> None:
    """Ensure that Kafka has the part, once. Raise an error that tells whether another run may succeed."""
    directory = writer.directory
    ahead = _AHEAD.take(_key(writer, part, epoch))
    # whatever is wrong with one that was made before, one that is made now says it
    attempt = 1 if ahead is None else 0
    while True:
        # a run that has been replaced must not fence off the one that has replaced it
        check_fence(directory, epoch)
        try:
            _attempt(ahead if attempt == 0 and ahead else _fenced(writer, part, epoch.number), writer, part, epoch)
        except KafkaException as wrong:
            check_fence(directory, epoch)
            if attempt == ATTEMPTS or (attempt > 0 and not is_worth_another_try(wrong)):
                raise write_failure(wrong, part.topic) from wrong
            attempt += 1
        except OutputChangedError:
            # a run that has taken over drops what it has written, and says so in the ledger
            check_fence(directory, epoch)
            if attempt == ATTEMPTS:
                raise
            attempt += 1
        else:
            return


def _key(writer: Writer, part: TransactionPart, epoch: Epoch) -> object:
    """Return the key by which a producer is reused. Callables are no part of it: a sink that is opened again has a new
    login callable that does the same."""
    client = tuple(sorted((name, value) for name, value in writer.client.items() if not callable(value)))
    return (writer.directory, epoch.generation, part.name, part.topic, client)


def _fenced(writer: Writer, part: TransactionPart, number: int) -> FencedProducer:
    """Return a new producer after its fence, for an epoch of that number."""
    reach(Point.BEFORE_FENCE, number)
    limit = writer.timeout // timedelta(milliseconds=1)
    session = ProducerSession({**writer.client, "transactional.id": part.name, "transaction.timeout.ms": limit})
    session.retry(session.producer.init_transactions, SECONDS)
    reach(Point.AFTER_FENCE, number)
    return FencedProducer(session, KafkaLedger(writer.client, part.name, part.topic))


def _attempt(fenced: FencedProducer, writer: Writer, part: TransactionPart, epoch: Epoch) -> None:
    session, producer = fenced.session, fenced.session.producer
    with fenced.ledger as ledger:
        if not _is_to_be_written(ledger.read(), part, writer.directory, epoch):
            return
        start = time.monotonic()
        producer.begin_transaction()
        try:
            _write(session, part, epoch)
            entry = LedgerEntry(epoch.lineage, epoch.number, epoch.offsets, epoch.generation, part.rows)
            producer.send_offsets_to_transaction([ledger.offset_of(entry)], ledger.group, SECONDS)
            reach(Point.BEFORE_DECISION, epoch.number)
            # it also flushes, and fails if a record did; while the answer may come it is asked for
            remaining = (writer.timeout - _MARGIN).total_seconds() - (time.monotonic() - start)
            session.retry(producer.commit_transaction, max(1.0, remaining))
        except BaseException:
            # readers need not wait for the timeout; a transaction that cannot be aborted now is by the next fence
            with suppress(KafkaException):
                producer.abort_transaction(1)
            raise
    reach(Point.AFTER_DECISION, epoch.number)


def _is_to_be_written(ledger: Sequence[LedgerEntry], part: TransactionPart, directory: Path, epoch: Epoch) -> bool:
    decision = decide(
        ledger,
        epoch,
        ever_committed=part.must_have_ledger,
        is_newer_known=bool(ledger) and is_planned(directory, ledger[-1].epoch),
        takes_back=False,
    )
    match decision:
        case WriteAfter():
            return True
        case Skip():
            return False
        case Stop(LedgerLostError()):
            raise LedgerLostError(
                f"this job has written to {part.topic!r} before, and the group {part.name!r} with its ledger is gone",
                hint="the group or the topic was deleted, or the job stood still for longer than the broker keeps "
                "offsets; restore the newest savepoint, which begins a history that needs no ledger yet: an epoch "
                "that was under way when the job ended may then be written twice",
            )
        case StandDown(error) | Stop(error):
            raise error


def _write(session: ProducerSession, part: TransactionPart, epoch: Epoch) -> None:
    sent = 0
    try:
        for path in part.segments:
            for records in staged_records(path):
                sent += session.send(part.topic, records)
                reach(Point.WHILE_WRITING, epoch.number)
    except (OSError, UnreadableSegmentError) as wrong:
        raise OutputChangedError(
            f"the staged records of epoch {epoch.number} cannot be read: {message_of(wrong)}",
            hint="the state directory was changed; restore a savepoint",
        ) from wrong
    if sent != part.rows:
        raise OutputChangedError(
            f"epoch {epoch.number} was staged with {part.rows} records, and {sent} are there",
            hint="the state directory was changed; restore a savepoint",
        )
