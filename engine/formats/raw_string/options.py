"""Options of raw text: there are none."""

from __future__ import annotations

from pydantic import Field

from engine.formats.base import FormatOptions


class RawStringOptions(FormatOptions):
    """Raw text has no options."""

    format: str = Field("raw_string", description="`raw_string`.")
