"""What can read the objects that the state of a version keeps."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE versions ADD COLUMN objects TEXT",)
