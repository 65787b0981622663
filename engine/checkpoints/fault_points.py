"""Named points of work on a state directory, as those of an epoch are (`engine/delivery/faults.py`)."""

from __future__ import annotations

from enum import StrEnum


class StatePoint(StrEnum):
    """A place in the making of a savepoint, or in a swap of states, in their order."""

    WHILE_COPYING = "while_copying"
    """The files of a savepoint are copied, and it has no manifest."""
    AFTER_COPYING = "after_copying"
    """The savepoint has its name, and nobody has heard of it."""
    AFTER_SKELETON = "after_skeleton"
    """Scratch says what the operators of the query are called that takes a state over."""
    WHILE_BUILDING = "while_building"
    """A part of the new state lies beside the old one."""
    BEFORE_SWAP = "before_swap"
    """The new state lies beside the old one."""
    AFTER_SWAP_DECISION = "after_swap_decision"
    """The new state is decided for, and the old one is still in its place."""
    WHILE_SWAPPING = "while_swapping"
    """An old part has gone aside, and the new one is not in its place."""
    AFTER_SWAP = "after_swap"
    """The new state is in its place."""


class MovePoint(StrEnum):
    """A place in the copying of a savepoint to or from somewhere else, in their order."""

    WHILE_EXPORTING = "while_exporting"
    """All files are there, and the manifest is not."""
    AFTER_EXPORT = "after_export"
    """All of it is there, and nobody has heard of it."""
    WHILE_IMPORTING = "while_importing"
    """All files are here, and they have neither a manifest nor a name."""
    AFTER_IMPORT = "after_import"
    """The savepoint has its name, and the records do not say that it is there."""
