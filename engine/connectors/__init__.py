"""Where rows come from and go to, one connector a module, all of them in CONNECTORS."""

from __future__ import annotations

from engine.connectors.base import Connector

CONNECTORS: tuple[Connector, ...] = ()
