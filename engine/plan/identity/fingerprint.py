"""One short text for everything that decides what a plan's state means."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from engine.plan.identity.stable_text import stable_text
from engine.plan.nodes import UpdatingAggregate, UpdatingJoin, UpdatingTop, Write
from engine.plan.tree import walk

UPDATING_FORMAT = 2
"""One more whenever updating operators write their state in another way: the head of a bucket, the columns of chunks,
the hash of keys, the number of buckets or what they are called."""
_MARK = "+"
_BUCKETED = UpdatingAggregate | UpdatingJoin | UpdatingTop


def fingerprint(writes: Sequence[Write], tables: Mapping[str, str]) -> str:
    """Return a text that is equal for equal plans over equal tables and differs for any others. Spelling, comments and
    layout of the script do not matter. `tables` describes each table that is touched. If updating operators keep state,
    its format is part of the text."""
    parts = [stable_text(write) for write in writes] + [f"{name}={tables[name]}" for name in sorted(tables)]
    plain = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    keeps_buckets = any(isinstance(node, _BUCKETED) for write in writes for node in walk(write))
    return f"{plain}{_MARK}{UPDATING_FORMAT}" if keeps_buckets else plain


def differ_in_format(before: str, after: str) -> bool:
    """Whether two different fingerprints are of the same plan, with its state in different formats."""
    return before != after and before.partition(_MARK)[0] == after.partition(_MARK)[0]
