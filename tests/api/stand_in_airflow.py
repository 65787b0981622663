"""An Airflow that has one asset and stores its events, in memory; what goes wrong next can be said."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import httpx

PASSWORD = "open sesame"


@dataclass
class StandInAirflow:
    """Takes events of the asset `hours`, by URI `x://hours`. `faults` is what befalls the next requests that would
    store one; `away` what befalls all."""

    events: list[dict[str, Any]] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    faults: deque[str] = field(default_factory=deque)
    away: str | None = None
    cannot_list: bool = False
    """As it is while a run is queued that an event has started."""
    repeats: bool = False
    """Whether it refuses a login as what checks bodies does, with the body."""
    valid: str = "token-1"
    logins: int = 0
    listed: int = 0
    """How often events were listed."""
    has_asset: bool = True

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    @property
    def told(self) -> list[str]:
        """The hours of the events, and what they say."""
        return [f"{event['extra']['kind']} {event['extra']['key'][11:13]}" for event in self.events]

    def posted(self) -> int:
        """How often an event was to be made."""
        return sum(request.method == "POST" and request.url.path.endswith("events") for request in self.requests)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.away == "refused":
            raise httpx.ConnectError("refused")
        if self.away is not None:
            return httpx.Response(int(self.away), text="away", headers={"location": "http://elsewhere/"})
        if request.url.path.endswith("/auth/token"):
            return self._log_in(request)
        if request.headers.get("authorization") != f"Bearer {self.valid}":
            return httpx.Response(401, json={"detail": "who are you?"})
        if request.method == "POST":
            return self._store(json.loads(request.content))
        if request.url.path.endswith("/assets"):
            last = {"id": self.events[-1]["id"]} if self.events else None
            found = {"id": 7, "name": "hours", "uri": "x://hours", "last_asset_event": last}
            other = {"id": 8, "name": "hours and more", "uri": "x://hours/more", "last_asset_event": None}
            return httpx.Response(200, json={"assets": [other, *([found] if self.has_asset else [])]})
        if self.cannot_list:
            return httpx.Response(500, text="Internal Server Error")
        self.listed += 1
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        return httpx.Response(200, json={"asset_events": self.events[::-1][offset : offset + limit]})

    def _log_in(self, request: httpx.Request) -> httpx.Response:
        if self.repeats:
            return httpx.Response(422, json={"detail": [{"type": "missing", "input": json.loads(request.content)}]})
        if request.method == "POST" and json.loads(request.content) != {"username": "me", "password": PASSWORD}:
            return httpx.Response(401, json={"detail": "invalid"})
        self.logins += 1
        return httpx.Response(201, json={"access_token": self.valid})

    def _store(self, body: dict[str, Any]) -> httpx.Response:
        assert body["asset_id"] == 7
        fault = self.faults.popleft() if self.faults else ""
        if fault == "lost request":
            raise httpx.ReadTimeout("lost on the way there")
        if fault == "no connection":
            raise httpx.ConnectError("refused")
        if fault.isdigit():
            return httpx.Response(int(fault), text="no", headers={"location": "http://elsewhere/"})
        self.events.append({"id": len(self.events) + 1, **body})
        if fault == "lost answer":
            raise httpx.ReadError("lost on the way back")
        if fault == "stored, then 502":
            return httpx.Response(502, text="bad gateway")
        return httpx.Response(200, json={"id": len(self.events)})
