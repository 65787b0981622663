"""What an updating aggregate is to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.schema import Schema
from engine.updating.accumulators import Measure, keeps_values


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """What is to be computed: the keys and results in `schema`, keys first. The rows that come have the columns `_id`,
    `k0`..., for each measure its arguments `a0_0`..., its order `o0_0`..., its condition `c0`, and the hash `v0` where
    values are kept. Those that were merged before have how many they are in `n`, and for each measure in `a0_0`... what
    was merged. A query that was changed has `form`, a text for what each measure means, and `began_as`, the form of
    what does not say in which it is; it knows of each key which measures are not known. `formerly` are the texts that a
    measure had before its numbers became wider. With the id of a `retelling` each bucket tells once of all its rows,
    and what goes out has the mark `BEFORE`: whether it is taken back as it was let out before that."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    only_appends: bool
    ttl: int
    is_merged: bool = False
    form: tuple[str, ...] = ()
    began_as: tuple[str, ...] | None = None
    formerly: tuple[tuple[str, ...], ...] = ()
    retelling: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    def place_in(self, form: Sequence[str], index: int) -> int | None:
        """The place that a measure has in another form."""
        texts = (self.form[index], *(self.formerly[index] if self.formerly else ()))
        return next((form.index(text) for text in texts if text in form), None)

    @property
    def kept_values(self) -> tuple[int, ...]:
        """The measures whose values are kept."""
        return tuple(
            index
            for index, measure in enumerate(self.measures)
            if keeps_values(measure, only_appends=self.only_appends)
        )
