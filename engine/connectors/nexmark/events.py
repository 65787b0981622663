"""Nexmark events as a pure function of seed and event number, vectorised.

Proportions, hot keys and sizes are those of the generator in Apache Beam, to which the published queries are tuned.
Beam's random numbers come from a stateful generator; ours are hashes of the event number, so that any range of events
can be generated without the events before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.generated import Numbers, timestamps

_PERIOD, _AUCTIONS = 50, 3
_FIRST_ID = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_ACTIVE_PEOPLE, _PERSON_LEAD = 1000, 10
_IN_FLIGHT_AUCTIONS, _AUCTION_LEAD = 100, 10
_HOT_AUCTION, _HOT_SELLER, _HOT_BIDDER = 2, 4, 4
_HOT_SPAN = 100
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_POOL = 4096

Words = npt.NDArray[np.uint64]
Random = Callable[[int, "Numbers | int"], Numbers]


@dataclass(frozen=True, slots=True)
class Pools:
    """Texts from which the events of one seed are made."""

    words: pa.StringArray
    digits: pa.StringArray
    items: pa.StringArray
    descriptions: pa.StringArray
    channels: pa.StringArray
    urls: pa.StringArray
    person_extras: pa.StringArray
    auction_extras: pa.StringArray
    bid_extras: pa.StringArray


@cache
def pools(seed: int) -> Pools:
    """Return the pools of texts, which are created once per process and seed: that takes as long as a hundred thousand
    events."""
    words = _texts(seed, 201, 3, 7)
    return Pools(
        words=words,
        digits=pa.array([f"{number:04d}" for number in range(10_000)]),
        items=_texts(seed, 202, 3, 20),
        descriptions=_texts(seed, 203, 3, 100),
        channels=pa.array([*(f"channel-{number}" for number in range(_CHANNELS)), *_HOT_CHANNELS]),
        urls=_urls(seed, words),
        person_extras=_texts(seed, 205, 100, 150),
        auction_extras=_texts(seed, 206, 300, 450),
        bid_extras=_texts(seed, 204, 54, 81),
    )


def _urls(seed: int, words: pa.StringArray) -> pa.StringArray:
    """Return a URL for each channel; nine of ten contain the channel's number."""
    numbers = np.arange(_CHANNELS + len(_HOT_CHANNELS), dtype=np.int64)
    ids, has_id = _below(numbers, seed, 101, 1 << 31), _below(numbers, seed, 102, 10) > 0
    picked = [words.take(_index(_below(numbers, seed, lane, _POOL))).to_pylist() for lane in (103, 104, 105)]
    return pa.array(
        f"https://www.nexmark.com/{'/'.join(parts)}/item.htm?query=1" + (f"&channel_id={number}" if shown else "")
        for *parts, number, shown in zip(*picked, ids.tolist(), has_id.tolist(), strict=True)
    )


class EventMaker:
    """Makes the requested columns of some events. A column is null in events of another kind."""

    def __init__(self, names: tuple[str, ...], seed: int, spacing_micros: float) -> None:
        self._names = names
        self._seed = seed
        self._pools = pools(seed)
        self._spacing = spacing_micros

    def __call__(self, numbers: Numbers, micros: Numbers) -> pa.RecordBatch:
        """Return one event per number; the same numbers and times give the same events."""
        offsets = numbers % _PERIOD
        kinds = {
            "person": (offsets == 0, self._people),
            "auction": ((offsets > 0) & (offsets <= _AUCTIONS), self._auctions),
            "bid": (offsets > _AUCTIONS, self._bids),
        }
        columns = [_scatter(*kinds[name.lower()], numbers, micros) for name in self._names]
        return pa.RecordBatch.from_arrays(columns, names=list(self._names))

    def _people(self, numbers: Numbers, micros: Numbers) -> pa.StructArray:
        random = self._random(numbers)
        user, host = (self._pools.words.take(_index(random(lane, _POOL))) for lane in (1, 2))
        return _struct(
            id=pa.array(_last_person(numbers) + _FIRST_ID),
            name=_join(_pick(_FIRST_NAMES, random(3, 11)), " ", _pick(_LAST_NAMES, random(4, 9))),
            email_address=_join(user, "@", host, ".com"),
            credit_card=_join(
                *_spaced([self._pools.digits.take(_index(random(5 + part, 10_000))) for part in range(4)])
            ),
            city=_pick(_CITIES, random(9, 10)),
            state=_pick(_STATES, random(10, 6)),
            datetime=timestamps(micros),
            extra=self._pools.person_extras.take(_index(random(11, _POOL))),
        )

    def _auctions(self, numbers: Numbers, micros: Numbers) -> pa.StructArray:
        random = self._random(numbers)
        hot_seller = _last_person(numbers) // _HOT_SPAN * _HOT_SPAN
        seller = np.where(random(1, _HOT_SELLER) > 0, hot_seller, _next_person(numbers, random, 2))
        price = _price(random, 3)
        horizon = int(_IN_FLIGHT_AUCTIONS * _PERIOD / _AUCTIONS * self._spacing / 1000)
        open_for = (1 + random(4, max(2 * horizon, 1))) * 1000
        return _struct(
            id=pa.array(_last_auction(numbers) + _FIRST_ID),
            description=self._pools.descriptions.take(_index(random(5, _POOL))),
            item_name=self._pools.items.take(_index(random(6, _POOL))),
            initial_bid=pa.array(price),
            reserve=pa.array(price + _price(random, 7)),
            datetime=timestamps(micros),
            expires=timestamps(micros + open_for),
            seller=pa.array(seller + _FIRST_ID),
            category=pa.array(random(8, _CATEGORIES) + _FIRST_CATEGORY),
            extra=self._pools.auction_extras.take(_index(random(9, _POOL))),
        )

    def _bids(self, numbers: Numbers, micros: Numbers) -> pa.StructArray:
        random = self._random(numbers)
        last = _last_auction(numbers)
        lowest = np.maximum(last - _IN_FLIGHT_AUCTIONS, 0)
        cold = lowest + random(1, last - lowest + 1 + _AUCTION_LEAD)
        auction = np.where(random(2, _HOT_AUCTION) > 0, last // _HOT_SPAN * _HOT_SPAN, cold)
        hot_bidder = _last_person(numbers) // _HOT_SPAN * _HOT_SPAN + 1
        bidder = np.where(random(3, _HOT_BIDDER) > 0, hot_bidder, _next_person(numbers, random, 4))
        channel = _index(np.where(random(5, 2) > 0, _CHANNELS + random(6, len(_HOT_CHANNELS)), random(7, _CHANNELS)))
        return _struct(
            auction=pa.array(auction + _FIRST_ID),
            bidder=pa.array(bidder + _FIRST_ID),
            price=pa.array(_price(random, 8)),
            channel=self._pools.channels.take(channel),
            url=self._pools.urls.take(channel),
            datetime=timestamps(micros),
            extra=self._pools.bid_extras.take(_index(random(9, _POOL))),
        )

    def _random(self, numbers: Numbers) -> Random:
        """Return random numbers below a limit, a different one for each lane, for each event."""
        return partial(_below, numbers, self._seed)


def _scatter(
    mask: npt.NDArray[np.bool_], make: Callable[[Numbers, Numbers], pa.StructArray], numbers: Numbers, micros: Numbers
) -> pa.StructArray:
    """Return the structs of the events where `mask` holds, null elsewhere."""
    events = make(numbers[mask], micros[mask])
    return events.take(pa.array(np.cumsum(mask) - 1, pa.int64(), mask=~mask))


def _last_person(numbers: Numbers) -> Numbers:
    return numbers // _PERIOD


def _last_auction(numbers: Numbers) -> Numbers:
    """Return the newest auction at the time of an event; -1 before the first, which only the first person sees."""
    return numbers // _PERIOD * _AUCTIONS + np.clip(numbers % _PERIOD, 0, _AUCTIONS) - 1


def _next_person(numbers: Numbers, random: Random, lane: int) -> Numbers:
    people = _last_person(numbers) + 1
    active = np.minimum(people, _ACTIVE_PEOPLE)
    return people - active + random(lane, active + _PERSON_LEAD)


def _price(random: Random, lane: int) -> Numbers:
    share = random(lane, 1 << 53) / float(1 << 53)
    return np.rint(np.power(10.0, share * 6.0) * 100.0).astype(np.int64)


def _below(numbers: Numbers, seed: int, lane: int, limit: Numbers | int) -> Numbers:
    """Return a number from 0 to below `limit` for each event: splitmix64 of event, lane and seed."""
    with np.errstate(over="ignore"):
        start = np.uint64((lane * 0xD1342543DE82EF95 + seed * 0x2545F4914F6CDD1D) % (1 << 64))
        word: Words = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    # 63 bits, so that the rest of the arithmetic can stay signed
    remainder: Numbers = (word >> np.uint64(1)).astype(np.int64) % limit
    return remainder


def _texts(seed: int, lane: int, shortest: int, longest: int) -> pa.StringArray:
    """Return a pool of random words in lower case."""
    numbers = np.arange(_POOL, dtype=np.int64)
    lengths = (shortest + _below(numbers, seed, lane, longest - shortest + 1)).tolist()
    letters = _below(np.arange(sum(lengths), dtype=np.int64), seed, lane + 50, 26) + ord("a")
    text = letters.astype(np.uint8).tobytes().decode()
    ends = np.cumsum(lengths).tolist()
    return pa.array([text[end - length : end] for end, length in zip(ends, lengths, strict=True)])


def _index(numbers: Numbers) -> pa.Int64Array:
    return pa.array(numbers)


def _pick(words: tuple[str, ...], numbers: Numbers) -> pa.StringArray:
    return pa.array(words).take(_index(numbers))


def _join(*parts: pa.StringArray | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, "")


def _spaced(parts: list[pa.StringArray]) -> list[pa.StringArray | str]:
    return [text for part in parts for text in (" ", part)][1:]


def _struct(**columns: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))
