"""What came late in several epochs becomes one batch when nobody asks: of which epoch the first of it is."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE late_batches ADD COLUMN first_epoch BIGINT NOT NULL DEFAULT 0",
    "UPDATE late_batches SET first_epoch = epoch",
)
