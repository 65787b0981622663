"""Access: named tokens, and browser sessions.

Valid tokens and their names, in memory, because every request needs them.

Browser sessions: a cookie stands for a token, and a one-time link for the cookie.

A session is not stored: its cookie contains the hash of the token and the expiry, sealed with a key of this control
plane, so that it survives a restart and ends with its token. After a logout the hash of the seal is remembered, and
stored by the caller (`engine/store/access/tokens.py`).
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from engine.jobs.controller import hash_key
from engine.store.access.tokens import NamedToken
from engine.values.instants import Clock, from_micros, to_micros

ADMIN = "admin"
"""Name of the control plane's first token."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Name and token of an authenticated client."""

    name: str
    token_hash: str = field(repr=False)


@dataclass(slots=True)
class Admission:
    """Named tokens of this control plane. Only this process changes them."""

    _named: Mapping[str, NamedToken] = field(default_factory=dict, repr=False)

    def load(self, tokens: Iterable[NamedToken]) -> None:
        """Replace the accepted tokens by these; safe from any thread."""
        self._named = {token.hash: token for token in tokens}

    def caller(self, token: str, admin_hashes: frozenset[str], clock: Clock) -> Caller | None:
        """Return the caller that a token identifies; None if it identifies none."""
        return self.caller_of(hash_key(token), admin_hashes, clock) if token else None

    def caller_of(self, token_hash: str, admin_hashes: frozenset[str], clock: Clock) -> Caller | None:
        """Return the caller with a token of this hash. Takes equally long for every admin's token."""
        if sum(hmac.compare_digest(token_hash, admitted) for admitted in admin_hashes) > 0:
            return Caller(ADMIN, token_hash)
        named = self._named.get(token_hash)
        return Caller(named.name, token_hash) if named is not None and named.is_valid(clock()) else None


LENGTH = timedelta(hours=12)
"""Lifetime of a session."""
LINK_LENGTH = timedelta(minutes=2)
"""Lifetime of a one-time link."""


@dataclass(slots=True)
class Sessions:
    """Sessions of one control plane."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _links: dict[str, tuple[str, datetime]] = field(default_factory=dict, repr=False)
    _ended: dict[str, datetime] = field(default_factory=dict, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Lock: removing expired entries must not restore a link that another request has used up."""

    def begin(self, token_hash: str, now: datetime) -> tuple[str, datetime]:
        """Return a session cookie for a token, and when it expires."""
        ends = now + LENGTH
        text = f"{token_hash}.{to_micros(ends)}.{secrets.token_hex(8)}"
        return f"{text}.{self._seal(text)}", ends

    def token_hash(self, cookie: str, now: datetime) -> str | None:
        """Return the hash of a cookie's token; None if the cookie is not ours, or has expired."""
        text, _, seal = cookie.rpartition(".")
        if not hmac.compare_digest(seal.encode(), self._seal(text).encode()) or _hashed(seal) in self._ended:
            return None
        token_hash, ends, _ = text.split(".")
        return token_hash if now < from_micros(int(ends)) else None

    def end(self, cookie: str, now: datetime) -> tuple[str, datetime] | None:
        """End the session of a cookie; return the hash of its seal, and until when that must be remembered. None if the
        cookie is invalid anyway."""
        with self._turn:
            self._ended = {seal_hash: until for seal_hash, until in self._ended.items() if now < until}
            if self.token_hash(cookie, now) is None:
                return None
            ended = _hashed(cookie.rpartition(".")[2]), now + LENGTH
            self._ended |= dict([ended])
        return ended

    def remember(self, ended: Mapping[str, datetime]) -> None:
        """Reject the sessions that were ended before a restart."""
        with self._turn:
            self._ended |= ended

    def make_link(self, token_hash: str, now: datetime) -> tuple[str, datetime]:
        """Return a code that can be exchanged once for a session of the same token, and when it expires."""
        code = secrets.token_urlsafe(24)
        with self._turn:
            self._links = {code: link for code, link in self._links.items() if now < link[1]}
            self._links[_hashed(code)] = token_hash, now + LINK_LENGTH
        return code, now + LINK_LENGTH

    def redeem(self, code: str, now: datetime) -> str | None:
        """Return the hash of the token of a code; None the second time, and after its expiry."""
        with self._turn:
            token_hash, ends = self._links.pop(_hashed(code), (None, now))
        return token_hash if now < ends else None

    def _seal(self, text: str) -> str:
        return hmac.new(self.key, text.encode(), sha256).hexdigest()


def _hashed(code: str) -> str:
    return sha256(code.encode()).hexdigest()
