"""Which version of what drivers say each run speaks; runs of earlier versions do not say."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE runs ADD COLUMN wire INTEGER",)
