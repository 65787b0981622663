"""Validate offsets that a user sets for the existing partitions. Pure.

orders/0 has 0 to 30, orders/1 has 5 to 9

    {"0": 12, "1": 9}     orders/0 from 12, orders/1 after its last record
    {"0": 12}             refused: orders/1 is missing
    {"0": 12, "1": 4}     refused: orders/1 begins at 5
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.connectors.kafka.read.positions import split_name
from engine.errors import StartPositionError


def stated_offsets(table: str, offsets: Mapping[str, int], ranges: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Return the offset of each partition as named: by its number if the table has one topic, else by topic and number.
    `ranges` has the first and the end offset of each partition. Exactly these partitions must be named, and each must
    have its offset."""
    names = _names(ranges)
    unknown = [name for name in offsets if name not in names]
    if unknown:
        raise StartPositionError(
            f"{table} has no partition {unknown[0]!r}", hint=f"its partitions are {', '.join(sorted(names))}"
        )
    missing = [name for name in names if name not in offsets]
    if missing:
        raise StartPositionError(
            f"no offset is named for partition {missing[0]!r} of {table}", hint="name an offset for every partition"
        )
    for name, partition in names.items():
        first, end = ranges[partition]
        if not first <= offsets[name] <= end:
            raise StartPositionError(
                f"partition {name!r} of {table} has the offsets from {first} to {end}, and not {offsets[name]}",
                hint="name an offset that it has, or where it ends",
            )
    return {partition: offsets[name] for name, partition in names.items()}


def _names(partitions: Mapping[str, object]) -> dict[str, str]:
    """Return the partitions by the names that users may give them."""
    topics = {split_name(partition)[0] for partition in partitions}
    if len(topics) == 1:
        return {str(split_name(partition)[1]): partition for partition in partitions}
    return {partition: partition for partition in partitions}
