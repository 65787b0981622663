"""Standing still at a place in the code, while somebody else does something."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest


def asleep_before(monkeypatch: pytest.MonkeyPatch, where: str, meanwhile: Callable[[], None]) -> None:
    """Whoever first comes to call what `where` names, as `module:attribute`, stands still until `meanwhile` is over."""
    module, name = where.split(":")
    holder: object = importlib.import_module(module)
    *outer, last = name.split(".")
    for attribute in outer:
        holder = getattr(holder, attribute)
    original = getattr(holder, last)
    is_over = False

    def stand_still(*arguments: object, **named: object) -> object:
        nonlocal is_over
        if not is_over:
            is_over = True
            meanwhile()
        return original(*arguments, **named)

    monkeypatch.setattr(holder, last, stand_still)
