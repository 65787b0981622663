"""`python -m engine.docs`: generate docs/reference below the current directory."""

from __future__ import annotations

from pathlib import Path

from engine.docs import write_pages

write_pages(Path())
