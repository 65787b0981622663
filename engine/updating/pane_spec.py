"""Specification of windows that are stored by pane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.schema import Schema
from engine.updating.accumulators import Measure


@dataclass(frozen=True, slots=True)
class PaneSpec:
    """`schema` has keys, window, results and event time, in this order. A window of `width` begins every `slide`; all
    rows of a `pane` are in the same windows; all three in microseconds. Input rows have the columns `_id`, `k0`..., and
    for each measure its arguments `a0_0`...; pre-aggregated rows have their number in `n`, and merged values in
    `a0_0`... `form` has a text per measure, `formerly` the texts with narrower numbers."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    slide: int
    width: int
    pane: int
    form: tuple[str, ...]
    is_merged: bool = False
    formerly: tuple[tuple[str, ...], ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    def place_in(self, form: Sequence[str], index: int) -> int | None:
        """The place that a measure has in another form."""
        texts = (self.form[index], *(self.formerly[index] if self.formerly else ()))
        return next((form.index(text) for text in texts if text in form), None)
