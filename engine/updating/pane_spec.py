"""What windows that are kept by pane are to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.schema import Schema
from engine.updating.accumulators import Measure


@dataclass(frozen=True, slots=True)
class PaneSpec:
    """What is to be computed: keys, window, results and event time in `schema`, in this order. A window of `width`
    begins every `slide`, a `pane` is as long as all rows are in the same windows; all three in microseconds. The rows
    that come have the columns `_id`, `k0`..., and for each measure its arguments `a0_0`...; those that were merged
    before have how many they are in `n`, and in `a0_0`... what was merged. `form` is a text for what each measure
    means, `formerly` are the texts that it had before its numbers became wider."""

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
