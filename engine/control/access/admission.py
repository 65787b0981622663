"""Which tokens are let in, and whose they are. Kept in memory: every request asks."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.jobs.controller import hash_key
from engine.store.access.tokens import NamedToken
from engine.values.instants import Clock

ADMIN = "admin"
"""Who asks with the control plane's first token."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who was let in, and by which token."""

    name: str
    token_hash: str = field(repr=False)


@dataclass(slots=True)
class Admission:
    """The named tokens of this control plane; the only writer of them is in this process."""

    _named: Mapping[str, NamedToken] = field(default_factory=dict, repr=False)

    def load(self, tokens: Iterable[NamedToken]) -> None:
        """Let these in and no others; safe from any thread."""
        self._named = {token.hash: token for token in tokens}

    def caller(self, token: str, admin_hashes: frozenset[str], clock: Clock) -> Caller | None:
        """Whom a token lets in; None when it does not."""
        return self.caller_of(hash_key(token), admin_hashes, clock) if token else None

    def caller_of(self, token_hash: str, admin_hashes: frozenset[str], clock: Clock) -> Caller | None:
        """Return the caller with a token of this hash. Takes equally long for every admin's token."""
        if sum(hmac.compare_digest(token_hash, admitted) for admitted in admin_hashes) > 0:
            return Caller(ADMIN, token_hash)
        named = self._named.get(token_hash)
        return Caller(named.name, token_hash) if named is not None and named.is_valid(clock()) else None
