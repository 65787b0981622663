"""Fault points of operations on a state directory (see `engine/delivery/faults.py`)."""

from __future__ import annotations

from enum import StrEnum


class StatePoint(StrEnum):
    """Fault points of taking a savepoint, and of swapping states, in their order."""

    WHILE_COPYING = "while_copying"
    """The files of a savepoint are copied, and its manifest is missing."""
    AFTER_COPYING = "after_copying"
    """The savepoint has its name, and has not been reported."""
    AFTER_SKELETON = "after_skeleton"
    """The empty checkpoint of the query that takes over a state is in scratch."""
    WHILE_BUILDING = "while_building"
    """A part of the new state is built, next to the old one."""
    BEFORE_SWAP = "before_swap"
    """The new state is complete, next to the old one."""
    AFTER_SWAP_DECISION = "after_swap_decision"
    """The swap is decided, and the old state is still in place."""
    WHILE_SWAPPING = "while_swapping"
    """An old part is moved away, and its new part is not in place."""
    AFTER_SWAP = "after_swap"
    """The new state is in place."""


class StateMovePoint(StrEnum):
    """A place in the move of an operator state to or from a bucket, in their order."""

    AFTER_PREFIX = "after_prefix"
    """The new prefix is recorded, and nothing is there."""
    AFTER_UPLOAD = "after_upload"
    """The state is in both places, and the pointer is not written."""
    AFTER_POINTER = "after_pointer"
    """The pointer is written, and the local files are still there."""
    AFTER_DOWNLOAD = "after_download"
    """The state is in both places, and the pointer is still there."""
    AFTER_POINTER_REMOVED = "after_pointer_removed"
    """The state is on this disk, and the prefix is not swept."""


class MovePoint(StrEnum):
    """Fault points of exporting and importing a savepoint, in their order."""

    WHILE_EXPORTING = "while_exporting"
    """All files are exported, and the manifest is missing."""
    AFTER_EXPORT = "after_export"
    """The export is complete, and has not been reported."""
    WHILE_IMPORTING = "while_importing"
    """All files are imported, and the manifest and the final name are missing."""
    AFTER_IMPORT = "after_import"
    """The savepoint has its name, and is not in the database."""
