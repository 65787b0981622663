"""Up to where the input was read that a certificate stands on."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE certificates ADD COLUMN offsets TEXT",)
