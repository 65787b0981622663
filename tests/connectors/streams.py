"""A stream in memory, with what moto lacks: shards that end, empty answers, records that leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST_NUMBER = 49590338271490256608559692538361571095921575989136588898


@dataclass
class FakeShard:
    """A shard. Its first answers are empty, as Kinesis may answer at any time."""

    name: str
    parents: tuple[str, ...] = ()
    is_open: bool = True
    empty_answers: int = 0
    records: list[tuple[int, bytes]] = field(default_factory=list)


@dataclass
class FakeStream:
    """The client of one stream. `refusals` has for each PutRecords request the indices that are not accepted."""

    shards: dict[str, FakeShard] = field(default_factory=dict)
    number: int = FIRST_NUMBER
    at_once: int = 10_000
    refusals: list[set[int]] = field(default_factory=list)
    requests: list[list[dict[str, Any]]] = field(default_factory=list)
    expired: bool = False

    def open(self, name: str, *parents: str) -> FakeShard:
        """Add a shard. Its parents end."""
        for parent in parents:
            self.shards[parent].is_open = False
        self.shards[name] = FakeShard(name, parents)
        return self.shards[name]

    def add(self, shard: str, *contents: bytes) -> None:
        """Add records to a shard."""
        assert self.shards[shard].is_open
        for data in contents:
            self.number += 3
            self.shards[shard].records.append((self.number, data))

    def list_shards(self, **_: Any) -> dict[str, Any]:
        """As Kinesis lists them."""
        listed = []
        for shard in self.shards.values():
            parents = dict(zip(("ParentShardId", "AdjacentParentShardId"), shard.parents, strict=False))
            numbers = {"StartingSequenceNumber": "0"} | ({} if shard.is_open else {"EndingSequenceNumber": "9" * 56})
            listed.append({"ShardId": shard.name, "SequenceNumberRange": numbers, **parents})
        return {"Shards": listed}

    def get_shard_iterator(self, **request: Any) -> dict[str, Any]:
        """An iterator has the shard, the number after which it reads, and how many answers it had."""
        shard = request["ShardId"]
        if shard not in self.shards:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": shard}}, "GetShardIterator")
        number = int(request.get("StartingSequenceNumber", 0))
        return {"ShardIterator": f"{shard} {number - (request['ShardIteratorType'] == 'AT_SEQUENCE_NUMBER')} 0"}

    def get_records(self, **request: Any) -> dict[str, Any]:
        """The next records."""
        if self.expired:
            self.expired = False
            raise ClientError({"Error": {"Code": "ExpiredIteratorException", "Message": "late"}}, "GetRecords")
        name, after, answers = request["ShardIterator"].split()
        shard = self.shards[name]
        left = [record for record in shard.records if record[0] > int(after)]
        found = [] if int(answers) < shard.empty_answers else left[: self.at_once]
        last = found[-1][0] if found else int(after)
        is_end = not shard.is_open and len(found) == len(left)
        return {
            "Records": [
                {"SequenceNumber": str(number), "Data": data, "PartitionKey": "k", "ApproximateArrivalTimestamp": NOW}
                for number, data in found
            ],
            "MillisBehindLatest": 0 if len(found) == len(left) else 1000,
            **({} if is_end else {"NextShardIterator": f"{name} {last} {int(answers) + 1}"}),
        }

    def put_records(self, **request: Any) -> dict[str, Any]:
        """Take the records, but those that are to be refused."""
        records = request["Records"]
        self.requests.append(records)
        refused = self.refusals.pop(0) if self.refusals else set()
        code = "ProvisionedThroughputExceededException"
        return {"Records": [{"ErrorCode": code} if i in refused else {"ShardId": "0"} for i in range(len(records))]}
