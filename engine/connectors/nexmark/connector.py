"""Source of the Nexmark benchmark's events: auctions, people and bids, generated from a seed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engine import types
from engine.connectors.base import Options, Table
from engine.connectors.kinds import Connector, SourceKind
from engine.connectors.nexmark.options import NATURAL_SPACING, NexmarkOptions
from engine.schema import Field, Schema
from engine.types import BIGINT, TEXT, TIMESTAMP, Member, Struct

if TYPE_CHECKING:
    from engine.connectors.generated import GeneratedSource


def _open_source(table: Table) -> GeneratedSource:
    from engine.connectors.generated import GeneratedSource, Pace  # noqa: PLC0415 - checks must not pay for Arrow
    from engine.connectors.nexmark.events import EventMaker  # noqa: PLC0415

    options = table.options
    assert isinstance(options, NexmarkOptions)
    count = options.message_count
    if options.runtime is not None and options.event_rate is not None:
        by_time = int(options.runtime * options.event_rate)
        count = by_time if count is None else min(count, by_time)
    spacing = options.event_time_interval
    if options.event_rate is None and spacing is None:
        spacing = NATURAL_SPACING
    micros = (spacing or timedelta(seconds=1 / (options.event_rate or 1))) / timedelta(microseconds=1)
    pace = Pace(options.event_rate, count, spacing, options.start_time)
    return GeneratedSource(table, pace, EventMaker(table.schema.names, options.seed, micros))


def _is_by_clock(options: Options) -> bool:
    assert isinstance(options, NexmarkOptions)
    return options.event_rate is not None


PERSON = Struct(
    (
        Member("id", BIGINT),
        Member("name", TEXT),
        Member("email_address", TEXT),
        Member("credit_card", TEXT),
        Member("city", TEXT),
        Member("state", TEXT),
        Member("datetime", TIMESTAMP),
        Member("extra", TEXT),
    )
)
AUCTION = Struct(
    (
        Member("id", BIGINT),
        Member("description", TEXT),
        Member("item_name", TEXT),
        Member("initial_bid", BIGINT),
        Member("reserve", BIGINT),
        Member("datetime", TIMESTAMP),
        Member("expires", TIMESTAMP),
        Member("seller", BIGINT),
        Member("category", BIGINT),
        Member("extra", TEXT),
    )
)
BID = Struct(
    (
        Member("auction", BIGINT),
        Member("bidder", BIGINT),
        Member("price", BIGINT),
        Member("channel", TEXT),
        Member("url", TEXT),
        Member("datetime", TIMESTAMP),
        Member("extra", TEXT),
    )
)

NEXMARK = Connector(
    name="nexmark",
    summary="Generates the events of the Nexmark benchmark: 1 person and 3 auctions for every 46 bids.",
    source=SourceKind(
        options=NexmarkOptions,
        open=_open_source,
        is_by_clock=_is_by_clock,
    ),
    schema=Schema((Field("person", PERSON), Field("auction", AUCTION), Field("bid", BID))),
    metadata={"timestamp": Field("timestamp", types.TIMESTAMP, nullable=False)},
    event_time="timestamp",
)
